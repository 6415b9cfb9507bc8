"""Fail the n-th system call of each writer, for every n, in a process that loads `failing_io.c` first.

    cc -shared -fPIC -O1 -o failing_io.so tests/support/failing_io.c -ldl
    LD_PRELOAD=$PWD/failing_io.so python tests/support/failing_io.py save,run:3

The arguments are writers, each perhaps with the step of n, and `full` for a disk that is full from the n-th
call on. After every failure there must be the old files or the new ones, nothing else, and an error that
names a file. The next attempt must succeed and leave nothing behind. A line for each writer has the calls
that failed, the errors, and how often a hidden folder stayed until the next attempt, because removing it
failed.
"""

import ctypes
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

from ethereal import EtherealClassifier, export
from ethereal.base.atomic import write_text
from ethereal.datasets.catalogue import Dataset, DatasetError
from ethereal.runs.folder import RunFolder
from ethereal.train.checkpoint import Checkpoint, Progress
from ethereal_study.sets.npz import write_npz
from ethereal_study.store import Cell, Store

EXPORTS = {
    "c": export.c,
    "arduino": export.arduino,
    "zephyr": export.zephyr,
    "stm32": export.stm32f746g_disco,
    "micropython": export.micropython,
}


def models():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(200, 4)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    return [EtherealClassifier(n_clauses=10, epochs=2, random_state=seed).fit(X, y).model_ for seed in (0, 1)]


def save(folder, which):
    which.save(folder / "m.etm")


def exporter(write):
    return lambda folder, which: write(which, folder / "out", force=True)


def run_folder(folder, which):
    """As `ethereal run` does: a folder, the result of a stage, and the report."""
    run = RunFolder.open(folder / "runs", "digits", {"epochs": 1})
    run.stage(f"fit{which.n_includes}", lambda: {"literals": which.literals.tolist()})
    run.write("report.html", f"<p>{which.literals.tolist()}</p>" * 1000)


def study(folder, which):
    Store(folder / "cells").put(Cell("statlog", "vanilla", "honest", 0), {}, {"a": which.n_includes}, which)


def checkpoint(folder, which):
    states = np.full((2, 10, 8), which.n_includes % 256, np.uint8)
    Checkpoint(folder / "kept", "id").save(Progress(states, 1, [], []))


def page(folder, which):
    write_text(folder / "m.html", f"<p>{which.literals.tolist()}</p>" * 1000)


def dataset(folder, which):
    X = np.tile(which.literals[:20].astype(np.float32), (20, 1))
    labels = np.arange(20, dtype=np.int16) % 2
    names = tuple(f"f{i}" for i in range(X.shape[1]))
    write_npz(folder / "s.npz", Dataset(X, labels, labels == 0, None, names, ("a", "b"), name="s"))


def tune(folder, which):
    """Open a storage, and tell a trial."""
    from ethereal.tuning.machines import Space
    from ethereal.tuning.search import Outcome
    from ethereal.tuning.storage import Storage

    storage = Storage(folder / "t.db", None, {"data": "a"}, 0)
    try:
        (proposal,) = storage.ask(Space((), 20, False), 1, None)
        storage.tell(proposal, Outcome(0.5, 0.5))
    finally:
        storage.close()


WRITERS = {
    "save": save,
    **{name: exporter(write) for name, write in EXPORTS.items()},
    "run": run_folder,
    "study": study,
    "checkpoint": checkpoint,
    "page": page,
    "dataset": dataset,
}


def files_in(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "run.log"  # lines with a time, added one by one
    }


def is_whole(files_there, old, new, together):
    """Whether all files are old or new, each by itself or all `together`."""
    if together:
        return files_there in (old, new)
    return all(files_there.get(name) in (old.get(name), new.get(name)) for name in {*files_there, *old, *new})


def finished(folder):
    """Trials that a storage has. SQLite undoes here what a failure left half done."""
    import sqlite3

    if not (folder / "t.db").exists():
        return 0
    with sqlite3.connect(folder / "t.db") as base:
        try:
            return base.execute(
                "select count(*) from trials where state in ('COMPLETE', 'PRUNED')"
            ).fetchone()[0]
        except sqlite3.OperationalError:  # no tables yet
            return 0


class Injection:
    """What `failing_io.c` offers."""

    def __init__(self, folder, is_full):
        self.library, self.folder, self.is_full = ctypes.CDLL(None), os.fsencode(folder), is_full
        self.library.io_failed.restype = ctypes.c_char_p
        self.library.fail_io_at.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int]

    def attempt(self, n, write, *arguments):
        """Let the n-th call fail. Return the name of the call, None if there were fewer, and the error."""
        error = None
        self.library.fail_io_at(self.folder, n, self.is_full)
        try:
            write(*arguments)
        except (OSError, DatasetError, ValueError) as caught:
            error = caught
        call = self.library.io_failed().decode()
        self.library.fail_io_at(b"", 0, 0)
        assert call or error is None, error
        return call or None, error


def storages(folder, kept, step, injection):
    """As `main`, for a storage: no told trial is lost, and the next search goes on."""
    counts = [0, 0, 0]
    folder.mkdir()
    tune(folder, None)
    shutil.copytree(folder, kept)
    for before in (1, 0):
        for n in range(1, 100_000, step):
            shutil.rmtree(folder)
            shutil.copytree(kept, folder) if before else folder.mkdir()
            call, error = injection.attempt(n, tune, folder, None)
            if call is None:
                break
            where = f"tune: call {n} ({call}) failed"
            assert error is None or f"storage {folder}" in str(error), f"{where}: {error!r}"
            now = finished(folder)
            assert now in (before, before + 1), f"{where}: {now} trials"
            assert error is not None or now == before + 1, f"{where}: nothing was said"
            counts = [counts[0] + 1, counts[1] + (error is not None), 0]
            tune(folder, None)
            assert finished(folder) > now, where
            assert os.listdir(folder) == ["t.db"], f"{where}: {os.listdir(folder)}"
    return counts


def files(what, folder, kept, step, injection):
    """As `main`, for writers of files."""
    write, (first, second) = WRITERS[what], models()
    failed = errors = later = 0
    folder.mkdir()
    write(folder, second)
    fresh = files_in(folder)
    shutil.rmtree(folder)
    folder.mkdir()
    write(folder, first)
    (folder / "mine.txt").write_text("mine")
    old = files_in(folder)
    shutil.copytree(folder, kept)
    write(folder, second)
    new = files_in(folder)
    assert old != new
    for before, after in ((old, new), ({}, fresh)):
        for n in range(1, 100_000, step):
            shutil.rmtree(folder)
            shutil.copytree(kept, folder) if before else folder.mkdir()
            call, error = injection.attempt(n, write, folder, second)
            if call is None:
                break
            where, files_there = f"{what}: call {n} ({call}) failed", files_in(folder)
            extra = [name for name in files_there if name not in {**before, **after}]
            visible = {name: files_there[name] for name in files_there if name not in extra}
            assert is_whole(visible, before, after, what in EXPORTS), where
            if extra:  # a hidden folder, whose removal is what failed
                assert error is None, (where, extra)
                assert all(name.startswith(".out.") for name in extra), (where, extra)
                later += 1
            if error is None:
                assert visible == after, f"{where}: nothing was said"
            else:
                assert str(folder) in str(error), f"{where}: {error!r} names no file"
            failed, errors = failed + 1, errors + (error is not None)
            write(folder, second)
            assert files_in(folder) == after, f"{where}: the next attempt left {sorted(files_in(folder))}"
    return failed, errors, later


def main(writers, mode=""):
    for writer in writers.split(","):
        what, step = writer.split(":") if ":" in writer else (writer, "1")
        with tempfile.TemporaryDirectory() as root:
            folder, kept = Path(root).resolve() / "work", Path(root).resolve() / "kept"
            injection = Injection(folder, mode == "full")
            if what == "tune":
                print(*storages(folder, kept, int(step), injection))
            else:
                print(*files(what, folder, kept, int(step), injection))


if __name__ == "__main__":
    main(*sys.argv[1:3])
