"""Forests and boosted trees of a number as C: the sum of their leaves, to compare models with on a core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.device.baselines import Floats, scaling, support, to_int16
from ethereal.device.program import CProgram

_MOST_LEAF = 32000.0  # of a leaf, so that it is a short constant


def tree_sums_program(trees: Sequence[Any], base: float, X: ArrayLike, name: str = "trees") -> CProgram:
    """Return scikit-learn's trees, whose leaves are added up, as branches over 16-bit features.

    `trees` are `estimator.tree_` of scikit-learn, and `base` is added to their sum. Features and leaves are
    scaled to 16 bits, which makes small code. The function returns the sum in steps of the leaves. A number
    would take a multiplication and an addition more.
    """
    rows = np.asarray(X, dtype=np.float32).astype(np.float64)  # what scikit-learn compares
    n = rows.shape[1]
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    for tree in trees:
        inner = tree.children_left != -1
        np.minimum.at(low, tree.feature[inner], tree.threshold[inner])
        np.maximum.at(high, tree.feature[inner], tree.threshold[inner])
    low, scale = scaling(low, high)
    steps = _MOST_LEAF / max(1e-300, *(float(np.abs(tree.value).max()) for tree in trees))
    whole, sums = [], np.full(len(rows), round(base * steps), dtype=np.int64)
    scaled = to_int16(rows, low, scale)
    for i, tree in enumerate(trees):
        cuts = _cuts(tree, low, scale)
        leaves = np.rint(tree.value.reshape(tree.node_count, -1)[:, 0] * steps).astype(np.int64)
        whole.append(
            f"static int32_t tree{i}(const int16_t *x)\n{{\n{_branches(tree, cuts, leaves, 0, '    ')}}}\n"
        )
        sums += leaves[_leaf_of(tree, cuts, scaled)]
    calls = "".join(f"    sum += tree{i}(x);\n" for i in range(len(trees)))
    head = f"int32_t {name}_sum(const int16_t *x)"
    code = (
        f"#include <stdint.h>\n\n{head};\n\n{''.join(whole)}\n{head}\n{{\n"
        f"    int32_t sum = {round(base * steps)};\n{calls}    return sum;\n}}\n"
    )
    return CProgram(name, {"trees.c": code, "support.c": support()}, f"{name}_sum", scaled, sums)


def _cuts(tree: Any, low: Floats, scale: Floats) -> NDArray[np.int64]:
    """Return whole thresholds, where a row goes left that is not above."""
    inner, cuts = tree.children_left != -1, np.zeros(tree.node_count)
    f = tree.feature[inner]
    cuts[inner] = np.floor((tree.threshold[inner] - low[f]) * scale[f]) - _MOST_LEAF
    return cuts.astype(np.int64)


def _branches(tree: Any, cuts: NDArray[np.int64], leaves: NDArray[np.int64], node: int, pad: str) -> str:
    left, right = int(tree.children_left[node]), int(tree.children_right[node])
    if left == -1:
        return f"{pad}return {leaves[node]};\n"
    inside = _branches(tree, cuts, leaves, left, f"{pad}    ")
    beyond = _branches(tree, cuts, leaves, right, pad)
    return f"{pad}if (x[{tree.feature[node]}] <= {cuts[node]}) {{\n{inside}{pad}}}\n{beyond}"


def _leaf_of(tree: Any, cuts: NDArray[np.int64], rows: NDArray[np.int16]) -> NDArray[np.intp]:
    at, every = np.zeros(len(rows), dtype=np.intp), np.arange(len(rows))
    for _ in range(tree.max_depth):
        is_inner = tree.children_left[at] != -1
        goes_left = rows[every, np.maximum(tree.feature[at], 0)] <= cuts[at]
        child = np.where(goes_left, tree.children_left[at], tree.children_right[at])
        at = np.where(is_inner, child, at)
    return at
