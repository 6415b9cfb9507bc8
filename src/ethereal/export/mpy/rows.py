"""Golden rows of a MicroPython package: rows that every board holds exactly, for its self-test."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.features.feature_map import FeatureMap
from ethereal.features.packing import evenly
from ethereal.model import Model


def golden_rows(
    model: Model, rows: ArrayLike | None = None, n_rows: int = 32
) -> NDArray[np.float32 | np.uint8]:
    """Return at most `n_rows` rows for a self-test, float32, or bytes if the model has no Booleanizer.

    They are taken from `rows`, or made up so that clauses fire and values lie on and next to thresholds, some
    missing if the model knows that. The last two bits of each float are zero, so that boards with 30-bit
    floats hold the same numbers.

    >>> model = Model([0, 3, 1], [0, 2, 3], [[0, 1], [2, -1]], n_booleans=2, classes=["no", "yes"])
    >>> golden_rows(model, n_rows=3).shape
    (3, 2)
    """
    if rows is not None:
        sums = model.class_sums(rows)  # says what is wrong with them
        given = np.asarray(rows)
        if len(given) == 0:
            raise ValueError("rows is empty. Give at least one row, or leave it out.")
        if model.fitted is None:
            return given[evenly(len(given), n_rows)].astype(np.uint8)
        # Rounded to 30 bits, a value next to a threshold may cross it. Such rows are left out.
        rounded = _board_floats(given)
        same = np.flatnonzero((model.class_sums(rounded) == sums).all(axis=1))
        return rounded[same[evenly(len(same), n_rows)]]
    random = np.random.default_rng(0)
    states = _states(model, random, n_rows)
    if model.fitted is None:
        return states.astype(np.uint8)
    values = np.empty(states.shape, dtype=np.float32)
    for f in range(model.n_features):
        values[:, f] = _values(model.feature_map, f, states[:, f], random)
    return values


def _board_floats(values: NDArray[Any]) -> NDArray[np.float32]:
    """Return float32 numbers with their last two bits zero."""
    with np.errstate(over="ignore"):
        singles = np.ascontiguousarray(values, dtype=np.float32)
    return (singles.view(np.uint32) & ~np.uint32(3)).view(np.float32)


def _states(model: Model, random: np.random.Generator, n_rows: int) -> NDArray[np.int64]:
    """Return bins of the features, rows x features. In most rows some clause fires."""
    feature_map = model.feature_map
    options = [feature_map.states(f) for f in range(model.n_features)]  # per feature: states x its Booleans
    rows = random.integers([len(o) for o in options], size=(n_rows, model.n_features))
    used = np.flatnonzero(model.clauses.lengths)
    for row in rows[n_rows // 8 :] if len(used) else []:
        own = model.clauses.take([random.choice(used)])
        features = feature_map.feature[own.boolean]
        for f in np.unique(features):
            here = features == f
            said = options[f][:, own.boolean[here] - feature_map.boolean_offsets[f]]
            fitting = np.flatnonzero((said != own.negated[here]).all(axis=1))
            if len(fitting):
                row[f] = random.choice(fitting)
    return rows


def _values(
    feature_map: FeatureMap, f: int, states: NDArray[np.int64], random: np.random.Generator
) -> NDArray[np.float32]:
    """Return values of a feature at the ends of its bins and within, and NaN for the state after the last."""
    thresholds = feature_map.thresholds_of(f)
    if len(thresholds) == 0:
        thresholds = np.zeros(1)
    width = max(1.0, min(thresholds[-1] / 2 - thresholds[0] / 2, 1e30))
    ends = np.concatenate([[thresholds[0] - width], thresholds, [thresholds[-1] + width]])
    bins = np.minimum(states, len(thresholds))
    share = random.choice([0.0, 0.25, 0.5, 1.0], size=len(states))
    values = _board_floats(ends[bins] * (1 - share) + ends[bins + 1] * share)
    values[states > len(thresholds)] = np.nan
    return values
