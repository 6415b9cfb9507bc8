"""What only the study does to its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.features.booleanizer import Booleanizer
from ethereal.features.feature_map import FeatureMap


def relabel_unmarked(bits: ArrayLike, y: ArrayLike, *, unmarked: int = 0) -> NDArray[Any]:
    """Give an unmarked row the label of the marked rows with the same bits, the most frequent one.

    The study does this to its EMG windows before it splits them, test rows included: a window outside every
    marked gesture that looks exactly like a marked one counts as that gesture. Other rows keep their label.

    >>> relabel_unmarked([[1, 0], [1, 0], [1, 1]], [0, 3, 0]).tolist()
    [3, 3, 0]
    """
    rows, labels = np.asarray(bits, dtype=np.bool_), np.array(y)
    if rows.ndim != 2 or labels.shape != rows.shape[:1]:
        raise ValueError(
            f"bits and y have the shapes {rows.shape} and {labels.shape}; they must be rows x Booleans and "
            "one label per row"
        )
    keys = np.packbits(rows, axis=1)
    _, pattern = np.unique(keys, axis=0, return_inverse=True)
    pattern = pattern.reshape(-1)  # numpy 2.0 returns a column here
    classes, code = np.unique(labels, return_inverse=True)
    counts = np.zeros((int(pattern.max(initial=-1)) + 1, len(classes)), dtype=np.int64)
    np.add.at(counts, (pattern, code), 1)
    counts[:, classes == unmarked] = 0
    found = (labels == unmarked) & (counts.sum(axis=1) > 0)[pattern]
    labels[found] = classes[counts.argmax(axis=1)[pattern[found]]]
    return labels


def in_the_middle_bin(X: NDArray[Any], feature_map: FeatureMap) -> tuple[NDArray[Any], Booleanizer]:
    """Fill in missing values so that they lie in the middle bin of their feature, as in the study.

    A middle bin between equal thresholds has no room for a value. There the upper threshold, and those equal
    to it, move halfway to the next larger value of the feature, and the bin holds the missing values alone.

    >>> equal = FeatureMap([3, 3], [0, 2], [False], "onehot")
    >>> X, booleanizer = in_the_middle_bin(np.array([[3.0], [np.nan], [4.0]]), equal)
    >>> booleanizer.transform(X).astype(int).tolist()
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    filled, thresholds = X.copy(), feature_map.thresholds.copy()
    for f in np.flatnonzero(np.isnan(X).any(axis=0)).tolist():
        absent = np.isnan(X[:, f])
        own = thresholds[feature_map.threshold_offsets[f] : feature_map.threshold_offsets[f + 1]]
        middle = len(own) // 2  # the bin below this threshold
        if middle > 0 and own[middle] == own[middle - 1]:
            larger = X[~absent & (X[:, f] > own[middle]), f]
            end = float(larger.min()) if len(larger) else float(own[middle]) + 2.0
            upper = own[middle:]
            upper[upper == own[middle]] = (float(own[middle]) + end) / 2
        filled[absent, f] = own[middle]
    exact = FeatureMap(thresholds, feature_map.threshold_offsets, np.zeros(X.shape[1]), feature_map.encoding)
    return filled, Booleanizer.from_feature_map(exact)
