"""Kills, full disks and read-only folders: no half file is taken for a whole one, no finished work is lost.

    python lab/benchmarks/faults.py                     # 100 kills each of save, export, fit, study and tune
    python lab/benchmarks/faults.py --kills 10 save

Work runs in a child that gets SIGKILL at a random moment and is started again in the same folder. What is on
disk is checked after every kill, and the outcome is compared with that of a run without a kill.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

import ethereal.train.checkpoint
from ethereal import EtherealClassifier, Model
from ethereal.base.atomic import RECORD, write_folder
from ethereal.datasets.catalogue import Dataset
from ethereal.export.c99.choose import choose
from ethereal.export.projects.writer import project_files
from ethereal.train.checkpoint import Checkpoint
from ethereal_study.cells import basis
from ethereal_study.run import grid, run
from ethereal_study.sets.npz import write_npz
from ethereal_study.store import Store

X, Y = load_iris(return_X_y=True)
PAGE = resource.getpagesize()
TIMES = {"seconds", "cpu_seconds", "rows_per_second", "exclusion_share"}


def forked(work: Callable[[], object]) -> int:
    """Process id of a child that does the work and ends: 0 done, 1 failed."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException as error:
            print(repr(error), file=sys.stderr)
        finally:
            os._exit(code)
    return pid


def killed_at_random(work: Callable[[], object], longest: float, rng: random.Random) -> bool:
    """Start the work and kill it within so many seconds; False: it was done before."""
    pid = forked(work)
    time.sleep(rng.uniform(0, longest))
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the work failed by itself"
    return os.WIFSIGNALED(status)


def finished(work: Callable[[], object]) -> bool:
    """Do the work in a child to its end."""
    return os.waitpid(forked(work), 0)[1] == 0


def machine(epochs: int, seed: int = 0, n_clauses: int = 20) -> EtherealClassifier:
    return EtherealClassifier.paper(n_clauses, 8, 3.0, epochs=epochs, random_state=seed)


def save(kills: int, folder: Path, rng: random.Random) -> dict[str, int]:
    """A model's file is the old model or the new one, whole."""
    models = [machine(3, seed).fit(X, Y).model_ for seed in (0, 1)]
    path = folder / "m.etm"
    models[0].save(path)

    def work() -> None:
        for i in range(1_000_000):
            models[i % 2].save(path)

    seen = [0, 0]
    for _ in range(kills):
        assert killed_at_random(work, 0.05, rng)
        loaded = Model.load(path)
        assert loaded in models
        seen[models.index(loaded)] += 1
    leftovers = [p for p in folder.iterdir() if p != path]
    assert all(p.name.startswith(".") and p.suffix == ".tmp" for p in leftovers)
    return {"kills": kills, "old or new, whole": sum(seen), "temporary files left": len(leftovers)}


def export(kills: int, folder: Path, rng: random.Random) -> dict[str, int]:
    """An export over an older one is the old folder or the new one, and the user's file stays."""
    models = [machine(3, seed).fit(X, Y).model_ for seed in (0, 1)]
    files = [project_files("c", choose(model, name="m")) for model in models]
    place, mine = folder / "out", "notes.txt"
    wanted = [{n: t.encode() if isinstance(t, str) else t for n, t in one.items()} for one in files]
    write_folder(place, files[0])
    (place / mine).write_bytes(b"mine")

    def work(first: int) -> None:
        for i in range(first, 1_000_000):
            write_folder(place, files[i % 2], force=True)

    start, before, seen, leftovers = time.monotonic(), 0, [0, 0], 0
    write_folder(place, files[0], force=True)
    longest = 4 * (time.monotonic() - start)
    for _ in range(kills):
        assert killed_at_random(partial(work, 1 - before), longest, rng)
        files_there = {p.name: p.read_bytes() for p in place.iterdir()}
        assert (files_there.pop(mine), bool(files_there.pop(RECORD))) == (b"mine", True)
        now = wanted.index(files_there)  # not in it: a mixture
        seen[now != before], before = seen[now != before] + 1, now
        leftovers += len(list(folder.iterdir())) - 1
    write_folder(place, files[0], force=True)
    assert os.listdir(folder) == ["out"]
    return {"kills": kills, "old": seen[0], "new": seen[1], "leftovers until the next": leftovers}


def train(kills: int, folder: Path, rng: random.Random) -> dict[str, int]:
    """A training with checkpoints only goes forward, and ends with the bits of an unbroken one."""
    before = ethereal.train.checkpoint._SECONDS_BETWEEN
    ethereal.train.checkpoint._SECONDS_BETWEEN = 0.0  # as often as it can
    try:
        done, survived = 0, 0
        kept = folder / "kept"

        def work() -> None:
            machine(10**6).fit(X, Y, checkpoint=kept, resume=True)

        start = time.monotonic()
        machine(3).fit(X, Y, checkpoint=folder / "timed")
        longest = 2 * (time.monotonic() - start)
        for _ in range(kills):
            killed_at_random(work, longest, rng)
            if (kept / "checkpoint.safetensors").exists():
                now = epochs_kept(kept)
                assert now >= done, f"{done} epochs were kept, now {now}"
                survived, done = survived + 1, now
        final = machine(done + 5).fit(X, Y, checkpoint=kept, resume=True)
    finally:
        ethereal.train.checkpoint._SECONDS_BETWEEN = before
    whole = machine(done + 5).fit(X, Y)
    assert final.model_ == whole.model_
    assert np.array_equal(final.ta_states_, whole.ta_states_)
    return {"kills": kills, "checkpoints whole": survived, "epochs at the end": done + 5}


def epochs_kept(folder: Path) -> int:
    """Epochs in a checkpoint, which must be whole."""
    checkpoint = Checkpoint(folder, "")
    body = checkpoint.path.read_bytes()
    header = int.from_bytes(body[:8], "little")
    about = json.loads(json.loads(body[8 : 8 + header])["__metadata__"]["ethereal"])
    state = Checkpoint(folder, about["identity"]).load()
    assert state is not None
    return state.epochs_done


def study(kills: int, folder: Path, rng: random.Random) -> dict[str, int]:
    """Finished cells stay as they are, and the rest comes out the same."""
    data = folder / "data"
    draw = np.random.default_rng(0)
    labels = (np.arange(120) % 3).astype(np.int16)
    values = (draw.normal(size=(120, 6)) + labels[:, None] * (np.arange(6) < 2)).astype(np.float32)
    names = tuple(f"f{i}" for i in range(6))
    write_npz(
        data / "statlog.npz",
        Dataset(values, labels, draw.random(120) < 0.25, None, names, ("a", "b", "c"), name="statlog"),
    )
    before = os.environ.get("ETHEREAL_DATA")
    os.environ["ETHEREAL_DATA"] = str(data)
    try:
        cells = grid(["statlog"], ["vanilla", "ethereal"], "honest", 5, 30)
        start = time.monotonic()
        whole = run(cells, Store(folder / "whole"), quiet=True)
        longest = (time.monotonic() - start) / 3
        on, studies, kept = basis("statlog"), 0, 0
        for number in range(kills):
            if number % 10 == 0:
                studies += 1
                store, known = Store(folder / f"killed{studies}"), {}
            killed_at_random(partial(run, cells, store, quiet=True), longest, rng)
            for cell, content in known.items():
                assert store.files_of(cell) == content, f"{cell.key} was changed"
            known = {cell: store.files_of(cell) for cell in cells if store.get(cell, on) is not None}
            if number % 10 == 9 or number == kills - 1:
                kept += len(known)
                again = run(cells, store, quiet=True)
                for cell in cells:
                    assert {k: v for k, v in again[cell].items() if k not in TIMES} == {
                        k: v for k, v in whole[cell].items() if k not in TIMES
                    }
                    assert all(store.files_of(cell) == content for cell, content in known.items())
        return {"kills": kills, "studies": studies, "cells finished before the end and kept": kept}
    finally:
        if before is None:
            del os.environ["ETHEREAL_DATA"]
        else:
            os.environ["ETHEREAL_DATA"] = before


def tune(kills: int, folder: Path, rng: random.Random) -> dict[str, int]:
    """Trials that were told stay, and the search ends with the same trials and choice.

    A search is killed and started again until it is done, then the next begins: kills lie all over it. After
    a kill that found no progress it gets more time, so that a slow machine comes to the end, too.
    """
    from ethereal.tuning import tune as search

    trials = 9 if kills > 9 else 5  # three batches, or two

    def work(storage: Path | None = None):
        options = {"flash": "2k", "folds": 1, "epochs": 4, "max_clauses": 12}
        return search(X, Y, trials=trials, storage=storage, **options)

    start = time.monotonic()
    whole = work(folder / "whole.db")
    shortest = longest = 2 * (time.monotonic() - start) / trials
    searches, killed, at = 0, 0, []
    while killed < kills:
        searches, known, done = searches + 1, 0, False
        storage = folder / f"tune{searches}.db"
        while not done and killed < kills:
            done = not killed_at_random(partial(work, storage), longest, rng)
            now = told(storage)
            assert now >= known, f"{known} trials were told, now {now}"
            if not done:
                killed += 1
                at.append(now)
            longest = shortest if now > known else 1.5 * longest
            known = now
        outcome = work(storage)
        assert outcome.model == whole.model
        assert [(t.setup, t.accuracy) for t in outcome.trials] == [
            (t.setup, t.accuracy) for t in whole.trials
        ]
    thirds = np.histogram(at, [0, 1, trials // 3 + 1, 2 * trials // 3 + 1, trials + 1])[0]
    names = ("before the first trial was told", "in the first third", "in the second", "in the last")
    return {"kills": killed, "searches": searches, **dict(zip(names, thirds.tolist(), strict=True))}


def told(storage: Path) -> int:
    """Finished trials in an SQLite file."""
    import sqlite3

    if not storage.exists():
        return 0
    with sqlite3.connect(storage) as base:
        try:
            query = "select count(*) from trials where state in ('COMPLETE', 'PRUNED')"
            return int(base.execute(query).fetchone()[0])
        except sqlite3.OperationalError:  # killed before the tables were made
            return 0


class Attempts:
    """Write over an older model, resume from a checkpoint, and keep a result, all in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.models = [self.machine(3, seed).fit(X, Y).model_ for seed in (0, 1)]
        self.model, self.checkpoint = folder / "m.etm", folder / "kept" / "checkpoint.safetensors"
        self.models[0].save(self.model)
        self.machine(2).fit(X, Y, checkpoint=folder / "kept")
        self.store = Store(folder / "cells")
        self.before = {p: p.read_bytes() for p in (self.model, self.checkpoint)}

    @staticmethod
    def machine(epochs: int, seed: int = 0) -> EtherealClassifier:
        return machine(epochs, seed, n_clauses=400)  # files of many pages

    def each(self) -> list[Callable[[], object]]:
        cell = grid(["statlog"], ["vanilla"], "honest", 1, 1)[0]
        return [
            lambda: self.models[1].save(self.model),
            lambda: self.machine(4).fit(X, Y, checkpoint=self.folder / "kept", resume=True),
            lambda: self.store.put(cell, {}, {"a": [0.5] * 2000}, self.models[1]),
        ]

    def are_refused(self) -> None:
        for attempt in self.each():
            try:
                attempt()
            except OSError as error:
                if error.filename is None:
                    raise AssertionError("the error names no file") from error
            else:
                raise AssertionError("nothing was said")

    def left_all_as_it_was(self) -> None:
        assert all(path.read_bytes() == content for path, content in self.before.items())
        assert not list(self.store.folder.iterdir())
        assert not [p for p in self.folder.rglob(".*")], "a temporary file was left"


def disk(kills: int, folder: Path, rng: random.Random) -> dict[str, int]:
    """Files that cannot grow, and read-only folders: an error that names the file, old files stay whole."""
    attempts = Attempts(folder)

    def small_files(limit: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        attempts.are_refused()

    def read_only() -> None:
        if os.getuid() == 0:
            os.setuid(65534)  # root may write anywhere
        attempts.are_refused()

    for _ in range(kills):
        limit = rng.randrange(min(map(len, attempts.before.values())) // 2)
        assert finished(partial(small_files, limit))
    places = (folder, folder / "kept", attempts.store.folder)
    for place in places:
        place.chmod(0o555)
    refused = finished(read_only)
    for place in places:
        place.chmod(0o755)
    assert refused
    attempts.left_all_as_it_was()
    return {"files that cannot grow": 3 * kills, "read-only folders": 3, "old files whole": 2}


def full(kills: int, folder: Path, rng: random.Random) -> dict[str, int | str]:
    """A disk that is full but for a few pages: the same, and all goes well once there is room."""
    if not finished(partial(mount_small_disk, folder, 2**20)):
        return {"skipped": "only root can mount a small disk, on Linux"}

    def fill_it() -> None:
        mount_small_disk(folder, 2**20)
        attempts = Attempts(folder)
        pages = min(map(len, attempts.before.values())) // PAGE
        for _ in range(kills):
            with open(folder / "filler", "wb", buffering=0) as filler:
                with suppress(OSError):
                    while filler.write(bytes(PAGE)):
                        pass
                filler.truncate(filler.tell() - PAGE * rng.randrange(pages))
            attempts.are_refused()
            (folder / "filler").unlink()
            attempts.left_all_as_it_was()
        for attempt in attempts.each():
            attempt()
        assert Model.load(attempts.model) == attempts.models[1]

    assert finished(fill_it)
    return {"full disks": 3 * kills, "old files whole": 2, "new ones once there is room": 3}


def mount_small_disk(place: Path, size: int) -> None:
    """Mount a disk in memory that only this process sees, and that vanishes with it."""
    libc = ctypes.CDLL(None, use_errno=True)
    new_namespace, private_and_below = 0x20000, 0x44000
    for failed in (
        libc.unshare(new_namespace),
        libc.mount(None, b"/", None, private_and_below, None),
        libc.mount(b"none", bytes(place), b"tmpfs", 0, f"size={size}".encode()),
    ):
        if failed:
            raise OSError(ctypes.get_errno(), "cannot mount")


KINDS = {
    "save": save,
    "export": export,
    "train": train,
    "study": study,
    "tune": tune,
    "disk": disk,
    "full": full,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", help="default: all")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    unknown = set(arguments.kinds) - set(KINDS)
    if unknown:
        parser.error(f"no kind {', '.join(unknown)}; there are {', '.join(KINDS)}")
    for kind in arguments.kinds or KINDS:
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            outcome = KINDS[kind](arguments.kills, Path(folder), random.Random(arguments.seed))
        words = ", ".join(f"{name} {value}" for name, value in outcome.items())
        print(f"{kind:6} {words}  ({time.monotonic() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
