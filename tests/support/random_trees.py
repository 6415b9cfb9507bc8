"""Random ensembles of trees, and a walk through them in plain Python."""

from __future__ import annotations

import math

import numpy as np

from ethereal.trees.plain import Ensemble, Listed, Tree

_N_CODES = 5


def random_ensemble(seed, n_trees=6, most_leaves=12, categories=True, missing=True):
    """Return trees over five features, of which the last is a category and two may be missing."""
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 5))
    trees = [_random_tree(rng, n_classes, most_leaves, categories, missing) for _ in range(n_trees)]
    return Ensemble(trees, np.arange(n_classes), 5, base=rng.normal(size=n_classes))


def _random_tree(rng, n_classes, most_leaves, categories, missing):
    left, right, feature, threshold, to_right, listed = [-1], [-1], [0], [0.0], [False], {}
    leaves = [0]
    for _ in range(int(rng.integers(0, most_leaves))):
        node = leaves.pop(int(rng.integers(len(leaves))))
        left[node], right[node] = len(left), len(left) + 1
        feature[node] = int(rng.integers(5 if categories else 4))
        threshold[node] = float(rng.normal())
        to_right[node] = bool(missing and rng.integers(2))
        if feature[node] == 4:
            codes = frozenset(rng.choice(_N_CODES, int(rng.integers(1, _N_CODES)), replace=False).tolist())
            listed[node] = Listed(codes, bool(rng.integers(2)))
        for _ in range(2):
            leaves.append(len(left))
            for column, value in ((left, -1), (right, -1), (feature, 0), (threshold, 0.0), (to_right, False)):
                column.append(value)
    return Tree(left, right, feature, threshold, rng.normal(size=(len(left), n_classes)), to_right, listed)


def float32_rows(ensemble, n, seed, missing=True):
    """Return rows that an ensemble compares as float32 does, codes and unknown codes in the last column."""
    rng = np.random.default_rng(seed + 1000)
    rows = rng.normal(size=(n, 5)).astype(np.float32)
    rows[:, 4] = rng.integers(-1, _N_CODES + 2, n)
    if missing:
        for column in (1, 4):
            rows[rng.random(n) < 0.2, column] = np.nan
    return rows


def walk(ensemble, row):
    """Return the sums of one row, a node after the other."""
    sums = [float(b) for b in (ensemble.base if ensemble.base is not None else [0.0] * len(ensemble.classes))]
    for tree in ensemble.trees:
        node = 0
        while tree.left[node] >= 0:
            value = float(row[tree.feature[node]])
            if math.isnan(value):
                right = bool(tree.missing_right[node])
            elif node in tree.listed:
                right = (value in tree.listed[node].codes) == tree.listed[node].go_right
            else:
                right = value > tree.threshold[node]
            node = int(tree.right[node] if right else tree.left[node])
        sums = [a + float(b) for a, b in zip(sums, tree.values[node], strict=True)]
    return sums
