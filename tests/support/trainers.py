"""Native trainers, and rows for them to learn."""

import numpy as np

from ethereal import _native


def make_trainer(
    n_classes=2,
    n_clauses=10,
    n_booleans=5,
    T=5,
    s=3.0,
    boost=True,
    budget=None,
    seed=1,
    only=None,
    random_start=False,
):
    return _native.Trainer(
        n_classes=n_classes,
        n_clauses=n_clauses,
        n_booleans=n_booleans,
        T=T,
        s=s,
        boost_true_positive=boost,
        literal_budget=2 * n_booleans if budget is None else budget,
        seed=seed,
        only=only,
        random_start=random_start,
    )


def make_rows(n_rows, n_booleans, n_classes, seed=0):
    """Rows whose class shows in a few of the Booleans."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_rows).astype(np.int32)
    X = rng.random((n_rows, n_booleans)) < 0.3
    for c in range(n_classes):
        X[y == c, c % n_booleans] |= rng.random((y == c).sum()) < 0.8
    return X, y
