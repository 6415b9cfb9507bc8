"""Fail the n-th system call of each writer, for every n, in a process that loads `failing_io.c` first.

    cc -shared -fPIC -O1 -o failing_io.so tests/support/failing_io.c -ldl
    LD_PRELOAD=$PWD/failing_io.so python tests/support/failing_io.py save 1

The arguments are the writer, the step of n, and `full` for a disk that is full from the n-th call on. After
every failure there must be the old files or the new ones, nothing else, and an error that names a file.
The next attempt must succeed and leave nothing behind. The last line has the calls that failed, the errors,
and how often something stayed until the next attempt, because removing it was what failed.
"""

import ctypes
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

from ethereal import EtherealClassifier, export
from ethereal.base.atomic import write_text
from ethereal.datasets.dataset import Dataset, write_npz
from ethereal.datasets.sets.errors import DatasetError
from ethereal.runs.folder import RunFolder
from ethereal.study.store import Cell, Store
from ethereal.train.checkpoint import Checkpoint, Progress

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
    run.write_text("report.html", f"<p>{which.literals.tolist()}</p>" * 1000)


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
    from ethereal.tuning.objective import Outcome
    from ethereal.tuning.space import Space
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


def is_whole(found, old, new, together):
    """Whether all files are old or new, each by itself or all `together`."""
    if together:
        return found in (old, new)
    return all(found.get(name) in (old.get(name), new.get(name)) for name in {*found, *old, *new})


def main(what, step, mode=""):
    injected = ctypes.CDLL(None)
    injected.io_failed.restype = ctypes.c_char_p
    injected.io_seen.restype = ctypes.c_long
    injected.fail_io_at.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int]
    write, (first, second) = WRITERS[what], models()
    failed = errors = later = 0
    by_call = {}
    with tempfile.TemporaryDirectory() as root:
        folder, kept = Path(root).resolve() / "work", Path(root).resolve() / "kept"
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
        for over_older in (True, False):
            before, after = (old, new) if over_older else ({}, fresh)
            for n in range(1, 100_000, step):
                shutil.rmtree(folder)
                shutil.copytree(kept, folder) if over_older else folder.mkdir()
                injected.fail_io_at(os.fsencode(folder), n, mode == "full")
                error = None
                try:
                    write(folder, second)
                except (OSError, DatasetError) as caught:
                    error = caught
                call, seen = injected.io_failed().decode(), injected.io_seen()
                injected.fail_io_at(b"", 0, 0)
                if not call:
                    assert error is None, error
                    assert seen < n
                    break
                where = f"{what}: call {n} ({call}) failed"
                found = files_in(folder)
                extra = [name for name in found if name not in {**before, **after}]
                visible = {name: found[name] for name in found if name not in extra}
                assert is_whole(visible, before, after, what in EXPORTS), where
                if extra:  # hidden, and only where removing failed or would not help
                    assert all(name.startswith(".") for name in extra), (where, extra)
                    assert call in ("unlinkat", "unlink", "rmdir", "open", "close"), (where, extra)
                    assert error is None, (where, extra)
                    later += 1
                if error is not None:
                    assert str(folder) in str(error), f"{where}: {error!r} names no file"
                else:
                    assert is_whole(visible, after, after, True), f"{where}: nothing was said"
                failed, errors = failed + 1, errors + (error is not None)
                by_call[call] = by_call.get(call, 0) + 1
                write(folder, second)
                assert files_in(folder) == after, f"{where}: the next attempt left {sorted(files_in(folder))}"
    print(json.dumps(by_call), file=sys.stderr)
    print(failed, errors, later)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:4])
