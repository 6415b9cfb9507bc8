"""Detectors of other kinds as C, to compare ours with on a core: an isolation forest, and one Gaussian."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.device.baselines import support
from ethereal.device.program import CProgram
from ethereal.device.tree_sums import tree_sums_program

_UNIT = 8  # bits below a standard deviation of a feature on the board
_LIMIT = 1 << 28  # a squared distance that is too far, on the board
_GAUSSIAN = """\
#include <stdint.h>

int32_t gaussian_is_odd(const int16_t *x);

/* x: standard deviations from the mean, in 256ths */
int32_t gaussian_is_odd(const int16_t *x)
{
    static const int16_t factor[%(entries)d] = {%(factor)s}; /* lower triangle */
    uint32_t distance = 0;
    unsigned i, k, at = 0;

    for (i = 0; i < %(n)du; i++) {
        int32_t sum = 0;

        for (k = 0; k <= i; k++)
            sum += ((int32_t)factor[at++] * x[k]) >> 8;
        sum = (sum < 0 ? -sum : sum) >> %(shift)d;
        sum = sum > 32767 ? 32767 : sum;
        distance += (uint32_t)(sum * sum);
        if (distance > %(limit)du)
            return 1;
    }
    return 0;
}
"""


def isolation_program(forest: Any, X: ArrayLike) -> CProgram:
    """Return a fitted IsolationForest. A larger sum of leaves is more normal."""
    trees = [
        _isolating(estimator.tree_, columns)
        for estimator, columns in zip(forest.estimators_, forest.estimators_features_, strict=True)
    ]
    return tree_sums_program(trees, 0.0, X, "isolation")


def _isolating(tree: Any, columns: NDArray[np.intp]) -> SimpleNamespace:
    """Return a tree whose leaves hold the length of their path, with that of the rows that end there."""
    depth = np.zeros(tree.node_count)
    for node in range(tree.node_count):
        for child in (tree.children_left[node], tree.children_right[node]):
            if child >= 0:
                depth[child] = depth[node] + 1
    rows = np.maximum(tree.n_node_samples, 1).astype(float)
    rest = np.where(rows > 2, 2 * (np.log(np.maximum(rows - 1, 1)) + np.euler_gamma) - 2 * (rows - 1) / rows,
                    rows == 2)  # fmt: skip
    is_inner = tree.children_left >= 0
    return SimpleNamespace(
        children_left=tree.children_left, children_right=tree.children_right, threshold=tree.threshold,
        feature=np.where(is_inner, columns[np.maximum(tree.feature, 0)], -2), node_count=tree.node_count,
        max_depth=tree.max_depth, value=(depth + rest)[:, None],
    )  # fmt: skip


def gaussian_program(middle: NDArray[Any], covariance: NDArray[Any], limit: float, X: ArrayLike) -> CProgram:
    """Return whether rows are farther than the squared distance `limit` from a Gaussian, in whole numbers."""
    n, deviations = len(middle), np.sqrt(np.maximum(np.diag(covariance), 1e-30))
    correlation = covariance / np.outer(deviations, deviations)
    # The distance is |factor @ row|**2, where a triangular factor halves the products.
    values, vectors = np.linalg.eigh(np.linalg.pinv(correlation, hermitian=True))
    upper = np.asarray(np.linalg.qr((vectors * np.sqrt(np.maximum(values, 0))).T[:, ::-1], mode="r"))
    factor = np.tril(upper[::-1, ::-1])
    bits = int(np.floor(np.log2(32767 / max(1e-9, float(np.abs(factor).max())))))
    shift = max(0, bits - int(np.floor(np.log2(np.sqrt(_LIMIT / max(limit, 1e-9))))))
    factors = np.rint(factor * 2.0**bits).astype(np.int64)
    far = int(min(_LIMIT * 4, round(limit * 4.0 ** (bits - shift))))
    away = (np.asarray(X, dtype=np.float64) - middle) / deviations
    rows = np.clip(np.rint(away * (1 << _UNIT)), -32767, 32767).astype(np.int16)
    distance = np.zeros(len(rows), dtype=np.int64)
    for i in range(n):
        total = (factors[i, : i + 1] * rows[:, : i + 1].astype(np.int64) >> 8).sum(axis=1)
        distance += np.minimum(np.abs(total) >> shift, 32767) ** 2
    text = _GAUSSIAN % {
        "n": n, "entries": n * (n + 1) // 2, "limit": far, "shift": shift,
        "factor": ", ".join(map(str, factors[np.tril_indices(n)].tolist())),
    }  # fmt: skip
    files = {"gaussian.c": text, "support.c": support()}
    return CProgram("gaussian", files, "gaussian_is_odd", rows, (distance > far).astype(np.int64))
