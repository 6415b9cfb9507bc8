"""All of the native core on small data, with nothing but numpy around it: what valgrind runs.

tools/sanitize.sh valgrind
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np

native = next(Path(p, "ethereal") for p in sys.path if list(Path(p, "ethereal").glob("_native*.so")))
spec = importlib.util.spec_from_file_location("_native", next(native.glob("_native*.so")))
assert spec is not None
assert spec.loader is not None
_native = importlib.util.module_from_spec(spec)
spec.loader.exec_module(_native)

N_CLASSES, N_CLAUSES = 3, 10


def main() -> None:
    rng = np.random.default_rng(0)
    for isa in ("scalar", "auto"):
        _native.set_isa(isa)
        for n_booleans in (1, 31, 70):
            booleans = rng.random((130, n_booleans)) < 0.5
            classes = (booleans.sum(axis=1) % N_CLASSES).astype(np.int32)
            literals, offsets = trained(booleans, classes, rng)
            votes = np.zeros((N_CLASSES * N_CLAUSES, N_CLASSES), np.int32)
            for c in range(N_CLASSES):
                votes[c * N_CLAUSES : c * N_CLAUSES + N_CLAUSES // 2, c] = 1
                votes[c * N_CLAUSES + N_CLAUSES // 2 : (c + 1) * N_CLAUSES, c] = -3
            predict(booleans, literals, offsets, votes, rng)
            prune(booleans, classes, literals, offsets, votes)
    counter = _native.BlockCounter("thumb", 0x1000, bytes(range(64)))
    assert counter.total == 0
    assert len(counter.by_block()) == 32
    print(f"driven: {', '.join(sorted({_native.isa(), 'scalar'}))}")


def trained(booleans, classes, rng):
    rows = _native.pack_literals(booleans)
    for boost, budget in ((True, 2**31 - 1), (False, 3)):
        trainer = _native.Trainer(
            n_classes=N_CLASSES,
            n_clauses=N_CLAUSES,
            n_booleans=booleans.shape[1],
            T=5,
            s=3.3,
            boost_true_positive=boost,
            literal_budget=budget,
            seed=1,
        )
        for epoch in range(4):
            trainer.epoch(rows, classes, rng.random(len(rows)) if epoch == 2 else None, 1 + epoch % 2)
            trainer.exclude()
        trainer.undo_exclusion()
        states = trainer.states
        trainer.states = states
        assert np.array_equal(trainer.states, states)
    return trainer.clauses()


def predict(booleans, literals, offsets, votes, rng):
    n = booleans.shape[1]
    engine = _native.Engine(literals, offsets, votes, n)
    for rows in (booleans, np.asfortranarray(booleans), booleans[::3], booleans[:1]):
        for width, dtype in (((), np.int64), ((N_CLASSES,), np.int32), ((len(votes),), np.bool_)):
            out = np.empty((len(rows), *width), dtype)
            assert engine.run_bools(rows, out, 2)
            packed = np.ascontiguousarray(np.packbits(rows, axis=1, bitorder="little"))
            assert engine.run_packed(packed, out, 1)
    thresholds = np.linspace(-1, 1, n)
    ones = np.arange(n + 1, dtype=np.int64)
    raw = _native.Engine(
        *(literals, offsets, votes, n, thresholds, thresholds.astype(np.float32)),
        *(ones, ones, np.zeros(n, bool), np.zeros(n, bool), True),
    )
    X = rng.normal(size=(70, n))
    sums = np.empty((70, N_CLASSES), np.int32)
    for rows in (X, X.astype(np.float32), (10 * X).astype(np.int16), np.asfortranarray(X)):
        assert raw.run_raw(rows, sums, 2)
    assert raw.run_columns(list(X.T), sums, 1)
    X[7, 0] = np.nan
    assert not raw.run_raw(X, sums, 1)


def prune(booleans, classes, literals, offsets, votes):
    _native.shorten(booleans, literals, offsets)
    targets = np.eye(N_CLASSES, dtype=np.float32)[classes]
    features = np.arange(booleans.shape[1], dtype=np.int32)
    pruner = _native.Pruner(booleans, features, targets, literals, offsets, votes, 5.0, 0)
    for _ in range(3):
        pruner.sweep(0.01, (1.0, 1.0, 0.5, 1.0, 0.5))
    pruner.clauses()


main()
