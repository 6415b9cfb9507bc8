"""Thresholds of one feature: how they are written, and the bins that equal ones leave empty."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def format_thresholds(thresholds: NDArray[np.float64]) -> list[str]:
    """Write the thresholds of a feature with as few digits as keep different ones apart, but at least 6.

    >>> format_thresholds(np.array([0.1 + 0.2, 54.5, 1200000.0]))
    ['0.3', '54.5', '1200000']
    >>> format_thresholds(np.array([1.00000001, 1.00000002]))
    ['1.00000001', '1.00000002']
    """
    n_different = len(np.unique(thresholds))
    whole = [t == round(t) and abs(t) < 1e15 for t in thresholds.tolist()]
    for digits in range(6, 18):
        pairs = zip(thresholds.tolist(), whole, strict=True)
        texts = [str(int(t)) if is_whole else f"{t:.{digits}g}" for t, is_whole in pairs]
        if len(set(texts)) == n_different:
            break
    return texts


def empty_bins(thresholds: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which bins between ascending thresholds no value can be in, those between equal ones.

    >>> empty_bins(np.array([1.0, 3.0, 3.0])).tolist()
    [False, False, True, False]
    """
    return np.concatenate([[False], thresholds[1:] == thresholds[:-1], [False][: len(thresholds)]])
