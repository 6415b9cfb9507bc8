"""The rows that a run learns from. Of a large table it takes a part, and the same part every time.

More rows than these cost minutes and gain less than two runs differ by: docs/performance.md.
"""

from __future__ import annotations

import numpy as np

from ethereal.datasets.rows import Rows

MOST_ROWS = 100_000  # to learn from
_LEAST_OF_CLASS = 100


def sampled(rows: Rows, seed: int, most: int = MOST_ROWS, least_of_class: int = _LEAST_OF_CLASS) -> Rows:
    """Return all test rows, and about `most` of the training rows with the same share of every class.

    Which rows these are depends on the seed and the labels alone. A rare class keeps `least_of_class` rows if
    it has so many.

    >>> rows = Rows(np.zeros((9000, 1)), np.repeat(["a", "b"], [8850, 150]), test=np.arange(9000) % 9 == 0)
    >>> small = sampled(rows, 0, most=1000)
    >>> len(small.y_test), len(small.y_train), int((small.y_train == "b").sum())
    (1000, 1084, 100)
    """
    train = np.arange(len(rows.y)) if rows.test is None else np.flatnonzero(~rows.test)
    n = len(train)
    if n <= most or rows.test is None:
        return rows
    mixed = np.random.default_rng(seed).permutation(train)
    codes = np.unique(rows.y[mixed], return_inverse=True)[1]
    by_class = np.argsort(codes, kind="stable")
    mixed, codes = mixed[by_class], codes[by_class]
    chosen = np.zeros(n, dtype=bool)
    chosen[np.arange(most) * n // most] = True
    is_rare = np.bincount(codes, chosen) < least_of_class
    in_class = np.arange(n) - np.searchsorted(codes, codes)
    chosen = np.where(is_rare[codes], in_class < least_of_class, chosen)
    return rows.drawn(np.sort(mixed[chosen]), np.flatnonzero(rows.test), rows.how)
