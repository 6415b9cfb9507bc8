"""What equal thresholds of a feature mean for its Booleans: equal ones, and bins that are never true."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.features.feature_map import THRESHOLD, FeatureMap
from ethereal.features.thresholds import empty_bins


def first_of_equals(feature_map: FeatureMap) -> NDArray[Any]:
    """Return the position of every Boolean, for a threshold that of the first equal one of its feature.

    >>> first_of_equals(FeatureMap([1.0, 3.0, 3.0], [0, 3], [False])).tolist()
    [0, 1, 1]
    """
    thresholds, offsets = feature_map.thresholds, feature_map.threshold_offsets
    is_new = np.append(True, thresholds[1:] != thresholds[:-1])[: len(thresholds)]
    is_new[offsets[:-1][np.diff(offsets) > 0]] = True
    first = np.maximum.accumulate(np.where(is_new, np.arange(len(thresholds)), 0))
    own = offsets[feature_map.feature]  # Boolean -> first threshold of its feature
    position: NDArray[Any] = feature_map.position.astype(np.int64)
    levels = feature_map.kind == THRESHOLD
    position[levels] = first[(own + position)[levels]] - own[levels]
    return position


def is_empty(feature_map: FeatureMap) -> NDArray[np.bool_]:
    """Return which Booleans are bins between equal thresholds.

    >>> is_empty(FeatureMap([1.0, 3.0, 3.0], [0, 3], [False], "onehot")).tolist()
    [False, False, True, False]
    """
    result = np.zeros(feature_map.n_booleans, dtype=bool)
    for f in np.flatnonzero(feature_map.is_binned).tolist():
        empty = empty_bins(feature_map.thresholds_of(f))
        result[feature_map.boolean_offsets[f] : feature_map.boolean_offsets[f] + len(empty)] = empty
    return result


def empty_bins_of(feature_map: FeatureMap) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the number of empty bins of every feature and the sum of their positions."""
    empty = is_empty(feature_map)
    feature, n = feature_map.feature[empty], feature_map.n_features
    return np.bincount(feature, minlength=n), np.bincount(
        feature, feature_map.position[empty], minlength=n
    ).astype(np.int64)
