"""Fail the n-th allocation of native code, for every n, in a process that loads `failing_new.cpp` first.

    c++ -shared -fPIC -O1 -o failing_new.so tests/support/failing_new.cpp
    LD_PRELOAD=$PWD/failing_new.so python tests/support/failing_memory.py fit,2,1 load,2,1

An argument is what to do, the threads, and the step of n. A failure must be a MemoryError or pass unseen,
nothing may be lost, and what follows must be right. Each gets a line: the failures and the MemoryErrors.
"""

import ctypes
import sys

import numpy as np

from ethereal import EtherealClassifier, Model, prune
from ethereal.features.window_features import WindowFeatures
from ethereal.model.file import from_file_bytes, to_file_bytes
from ethereal.tuning import estimate


def data(n_rows=3000, n_features=12):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_rows, n_features)).astype(np.float32)
    return X, (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int) + (X[:, 3] > 1)


def work(what, threads):
    """Return a call that gives bytes, the same ones whenever it succeeds."""
    X, y = data()
    if what == "fit":
        few = X[:400], y[:400]
        return lambda: (
            EtherealClassifier(n_clauses=20, epochs=2, random_state=0, n_jobs=threads)
            .fit(*few)
            .model_.to_bytes("compact")
        )
    if what == "windows":
        windows = np.random.default_rng(0).integers(-3000, 3000, (600, 64, 3)).astype(np.int16)
        front = WindowFeatures(n_jobs=threads).fit(windows)
        return lambda: front.transform(windows).tobytes()
    model = EtherealClassifier(n_clauses=20, epochs=2, random_state=0).fit(X[:400], y[:400]).model_
    if what == "predict":
        many = np.tile(X, (40, 1))
        return lambda: model.class_sums(many, n_jobs=threads).tobytes()
    if what in ("load", "code"):
        kept = to_file_bytes(model) if what == "load" else model.to_bytes("compact")
        read = from_file_bytes if what == "load" else Model.from_bytes
        rows = np.tile(X, (5, 1))
        return lambda: read(kept).class_sums(rows, n_jobs=threads).tobytes()
    rest = X[300:400], y[300:400]
    return lambda: prune(
        model, X[:300], y[:300], flash=2000, measure=estimate, validation=rest
    ).model.to_bytes("compact")


def main(what, threads, step):
    injected = ctypes.CDLL(None)
    injected.fail_at.argtypes = [ctypes.c_long]
    injected.calls_left.restype = ctypes.c_long
    call = work(what, threads)
    expected = call()
    failed = errors = 0
    for n in range(1, 1_000_000, step):
        injected.fail_at(n)
        try:
            got = call()
        except MemoryError:
            got = None
        beyond = injected.calls_left() > 0
        injected.fail_at(0)
        if beyond:
            break
        failed, errors = failed + 1, errors + (got is None)
        assert got in (None, expected), f"{what}: another answer with failure {n}"
        assert call() == expected, f"{what}: another answer after failure {n}"
    print(failed, errors)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        what, threads, step = argument.split(",")
        main(what, int(threads), int(step))
