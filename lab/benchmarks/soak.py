"""Does memory stay flat? Fit, predict, compress, encode, save and export in one process, round after round.

    python lab/benchmarks/soak.py --minutes 60 [--duty 0.5] [--log soak.csv]

Each round trains on other rows with another seed, so that nothing can be reused. Memory is the resident set
of the process after a collection of garbage and after the allocator gave back what it does not use. The first
tenth of the time warms up. The rise of the line through the rest counts. `--duty` is the share of one core,
because the process sleeps between rounds. Take one that warms up with 200 rounds or more. About then the
interpreter's table of interned strings doubles once, by 1.9 MB, because pathlib interns the names of folders
(lab/notes/reliability.md). The exit code is 1 when the line rises by more than `--allow` MB
an hour.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import ethereal
from ethereal import EtherealClassifier, Model

PAGE = os.sysconf("SC_PAGE_SIZE")
LIBC = ctypes.CDLL(None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--duty", type=float, default=1.0, help="share of one core to take")
    parser.add_argument("--allow", type=float, default=2.0, help="megabytes per hour that memory may rise")
    parser.add_argument("--log", type=Path, help="CSV of seconds, megabytes and Python's blocks by round")
    args = parser.parse_args()
    X, y = load_digits(return_X_y=True)
    samples = []
    if args.log:
        args.log.write_text("seconds,megabytes,blocks\n")
    start = time.monotonic()
    while (now := time.monotonic() - start) < 60 * args.minutes:
        cpu = time.process_time()
        a_round(X, y, seed=len(samples))
        give_back()
        samples.append((now, resident()))
        if args.log:
            with args.log.open("a") as log:
                log.write(f"{now:.1f},{samples[-1][1]:.3f},{sys.getallocatedblocks()}\n")
        cpu = time.process_time() - cpu
        time.sleep(cpu / args.duty - cpu)
    seconds, megabytes = np.array(samples).T
    late = seconds >= 6 * args.minutes  # the first tenth warms up
    if late.sum() < 3:
        sys.exit(f"only {late.sum()} rounds after warming up; give more minutes")
    slope = np.polyfit(seconds[late] / 3600, megabytes[late], 1)[0]
    print(
        f"{len(samples)} rounds in {args.minutes:g} min, {time.process_time():.0f} s of CPU; "
        f"{megabytes[0]:.1f} MB after the first round, {megabytes[late][0]:.1f} after {(~late).sum()} "
        f"to warm up, {megabytes[-1]:.1f} at the end, at most {megabytes.max():.1f}; {slope:+.2f} MB per hour"
    )
    sys.exit(int(slope > args.allow))


def give_back() -> None:
    gc.collect()
    LIBC.malloc_trim(0)  # glibc: what is left is in use, or lies between pieces in use


def resident() -> float:
    """Megabytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / 1e6


def a_round(X: np.ndarray, y: np.ndarray, seed: int) -> None:
    rows = np.random.default_rng(seed).permutation(len(X))[:1200]
    clf = EtherealClassifier.paper(n_clauses=40, T=10, s=4.0, epochs=6, random_state=seed, n_jobs=1)
    model = clf.fit(X[rows], y[rows]).model_.simplify()
    expected = clf.predict(X)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.etm")
        model.save(path)
        same(Model.load(path), X, expected)
        same(Model.load(path), X.astype(np.float32), expected)
        for code in ("compact", "redress"):
            Model.from_bytes(model.to_bytes(code))
        for layout in ("fast", "compact", "sliced"):
            ethereal.export.c(model, Path(folder, layout), layout=layout, rows=X[rows][:200])
        ethereal.export.micropython(model, Path(folder, "mp"), rows=X[rows][:50])
    model.explain(X[0])
    model.describe()


def same(model: Model, X: np.ndarray, expected: np.ndarray) -> None:
    if not np.array_equal(model.predict(X), expected):
        sys.exit("a loaded model predicts something else")


if __name__ == "__main__":
    main()
