"""Thresholds as readers see them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def format_thresholds(thresholds: NDArray[np.float64]) -> list[str]:
    """Write the thresholds of a feature with as few digits as keep them different, but at least 6.

    >>> format_thresholds(np.array([0.1 + 0.2, 54.5, 1200000.0]))
    ['0.3', '54.5', '1200000']
    >>> format_thresholds(np.array([1.00000001, 1.00000002]))
    ['1.00000001', '1.00000002']
    """
    whole = [t == round(t) and abs(t) < 1e15 for t in thresholds.tolist()]
    for digits in range(6, 18):
        pairs = zip(thresholds.tolist(), whole, strict=True)
        texts = [str(int(t)) if is_whole else f"{t:.{digits}g}" for t, is_whole in pairs]
        if len(set(texts)) == len(texts):
            break
    return texts
