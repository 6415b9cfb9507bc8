"""Confidence intervals of an accuracy: over independent rows, or over the groups that rows come from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95
LEAST_GROUPS = 5  # below that nobody can tell how much groups differ
_Z = 1.96  # the normal quantile of LEVEL, both sides
# Right answers of one group are alike. Few groups cannot show how much, so this correlation is assumed at
# least.
_LEAST_CORRELATION = 0.05


def wilson(share: float, n: float, z: float = _Z) -> tuple[float, float]:
    """Return both ends of Wilson's interval for a share of `n` independent cases.

    >>> [round(end, 3) for end in wilson(0.969, 360)], [round(end, 3) for end in wilson(1.0, 48)]
    ([0.946, 0.983], [0.926, 1.0])
    """
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def over_groups(right: NDArray[np.bool_], groups: NDArray[Any]) -> tuple[float, float] | None:
    """Return both ends of an interval for groups that were not seen, or None with fewer than five groups.

    This is Wilson's interval for as many independent rows as would vary like these groups do (the effective
    sample size), with the t quantile of the number of groups. `tests/runs/test_intervals.py` checks how
    often it holds the true accuracy.

    >>> groups = np.repeat(np.arange(6), 50)
    >>> [round(end, 2) for end in over_groups(np.arange(300) % 10 > 0, groups)]
    [0.79, 0.96]
    """
    names, of = np.unique(groups, return_inverse=True)
    n_groups, n_rows = len(names), len(right)
    if n_groups < LEAST_GROUPS:
        return None
    from scipy.stats import t  # type: ignore[import-untyped]  # takes a second to import

    share = float(right.mean())
    rows_of = np.bincount(of)
    off = np.bincount(of, weights=right) - share * rows_of  # right answers above or below the mean
    variance = n_groups / (n_groups - 1) * float((off**2).sum()) / n_rows**2
    mean_size = float((rows_of**2).sum()) / n_rows  # of the group of a row
    effective = n_rows / (1 + (mean_size - 1) * _LEAST_CORRELATION)
    if variance:
        effective = min(effective, share * (1 - share) / variance)
    effective = max(effective, n_rows / mean_size)  # rows of a group that are all the same
    return wilson(share, effective, float(t.ppf((1 + LEVEL) / 2, n_groups - 1)))
