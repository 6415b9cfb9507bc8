"""The rows that a run learns from. Of a large table it takes a part, and the same part every time.

Which rows these are depends on the seed and the labels alone, never on the speed of the machine. What fewer
rows cost is in lab/notes/performance.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.datasets.rows import Rows

MOST_ROWS = 200_000  # to learn from
MOST_ROWS_OF_SPLIT = 100_000  # to learn from where only held-out rows are to be judged
_LEAST_OF_CLASS = 100


def chosen_rows(
    y: NDArray[Any], most: int, seed: int, least_of_class: int = _LEAST_OF_CLASS
) -> NDArray[np.intp]:
    """Return the numbers of about `most` rows, ascending, with the same share of every class.

    A rare class keeps `least_of_class` rows if it has so many.

    >>> chosen = chosen_rows(np.repeat([0, 1], [7850, 150]), 1000, 0)
    >>> len(chosen), int((chosen >= 7850).sum())
    (1082, 100)
    """
    n = len(y)
    if n <= most:
        return np.arange(n)
    mixed = np.random.default_rng(seed).permutation(n)
    codes = np.unique(y[mixed], return_inverse=True)[1]
    by_class = np.argsort(codes, kind="stable")
    mixed, codes = mixed[by_class], codes[by_class]
    chosen = np.zeros(n, dtype=bool)
    chosen[np.arange(most) * n // most] = True
    is_rare = np.bincount(codes, chosen) < least_of_class
    in_class = np.arange(n) - np.searchsorted(codes, codes)
    return np.sort(mixed[np.where(is_rare[codes], in_class < least_of_class, chosen)])


def sampled(rows: Rows, seed: int, most: int = MOST_ROWS, least_of_class: int = _LEAST_OF_CLASS) -> Rows:
    """Return all test rows, and the `chosen_rows` of the training rows."""
    if rows.test is None or np.count_nonzero(~rows.test) <= most:
        return rows
    learn = np.flatnonzero(~rows.test)[chosen_rows(rows.strata[~rows.test], most, seed, least_of_class)]
    return rows.drawn(learn, np.flatnonzero(rows.test), rows.how)
