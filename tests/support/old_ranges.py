"""Ranges of features as models of older files have them, to test that these go on answering."""

from __future__ import annotations

import numpy as np

from ethereal.base.splits import deal_rows
from ethereal.features.rounding import to_float32
from ethereal.model.engine import input_matrix
from ethereal.model.seen import Seen, rates_of


def with_ranges(model, X, y=None, groups=None, rare=0.01):
    """Return the model with ranges and rates of rows. Each group is compared with those of the others."""
    rows = to_float32(input_matrix(model, X))
    used = np.zeros(model.n_features, dtype=bool)
    used[model.feature_map.feature[model.clauses.boolean]] = True
    labels = np.asarray(model.predict(X)) if y is None else np.asarray(y)
    parts = deal_rows(labels, 10, 0, None if groups is None else np.asarray(groups))
    counts = np.zeros(len(rows), dtype=np.int64)
    for part in parts if len(parts) > 1 else ():
        counts[part] = Seen(*_ranges(np.delete(rows, part, axis=0), used), 0, ()).outside(rows[part])
    limit = int(np.sort(counts)[int(np.ceil((1 - rare) * len(counts))) - 1])
    return model._with(seen=Seen(*_ranges(rows, used), limit, rates_of(model, labels)))


def _ranges(rows, used):
    used = used & ~np.isnan(rows).all(axis=0)
    low, high = (np.full(rows.shape[1], end, dtype=np.float32) for end in (-np.inf, np.inf))
    low[used], high[used] = np.nanmin(rows[:, used], axis=0), np.nanmax(rows[:, used], axis=0)
    return low, high
