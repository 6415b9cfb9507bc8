"""A random forest as small as its accuracy allows: the baseline of our models.

A forest with as many leaves as it likes is larger than it has to be. So held-out training rows choose how
many trees there are, and how many leaves a tree may have. Half the nodes may cost as much accuracy as half
the flash of our models. Test rows choose nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from ethereal.base.splits import group_folds
from ethereal.device.baselines import majority
from ethereal.tuning.budget import Budget, worth_of

TREES = (5, 10, 25)
LEAVES = (8, 16, 32, 64, 128, 256, 512, 1024, 2048)  # of a tree at most, doubled from step to step
DEPTH = 14
_FOLDS = 5
_ENOUGH_ROWS = 2_000  # held-out rows. With groups there are five times as many, because rows are related.


@dataclass(frozen=True)
class ForestShape:
    """How large a forest may become."""

    trees: int
    leaves: int | None = None  # of a tree, None for as many as the depth allows

    def __str__(self) -> str:
        """Return the shape in words.

        >>> print(ForestShape(25, 32)), print(ForestShape(25))
        25 trees of at most 32 leaves
        25 trees
        (None, None)
        """
        return f"{self.trees} trees" + ("" if self.leaves is None else f" of at most {self.leaves} leaves")

    def new(self, seed: int, n_jobs: int | None = None) -> RandomForestClassifier:
        """Return a forest of this shape to be fitted."""
        return RandomForestClassifier(
            self.trees, max_depth=DEPTH, max_leaf_nodes=self.leaves, random_state=seed, n_jobs=n_jobs
        )


def choose_shape(
    X: NDArray[Any],
    y: NDArray[Any],
    groups: NDArray[Any] | None = None,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> ForestShape:
    """Return the shape with the best accuracy on held-out rows, less the price of its nodes.

    Parameters
    ----------
    X, y
        Training rows without missing values, and their labels.
    groups
        The person, recording or batch of each row. Whole groups are then held out.
    seed
        Seed of the folds and of the forests.
    n_jobs
        Threads that grow trees. The shape does not depend on it.
    progress
        Is told how many of the forests are grown, and how many there are.
    """
    folds = group_folds(y, groups, _FOLDS, seed)
    enough = _ENOUGH_ROWS * (1 if groups is None else _FOLDS)
    n_folds = min(len(folds), math.ceil(enough * len(folds) / len(y)))
    right: dict[ForestShape, float] = {}
    nodes: dict[ForestShape, float] = {}
    for i, held_out in enumerate(folds[:n_folds]):
        progress(i, n_folds)
        rest = np.delete(np.arange(len(y)), held_out)
        # Leaves are split best first, so this one forest holds all smaller ones.
        largest = ForestShape(TREES[-1], 2**DEPTH).new(seed, n_jobs).fit(X[rest], y[rest])
        for shape, n_nodes, votes in _smaller_forests(largest, X[held_out]):
            right[shape] = right.get(shape, 0.0) + float((largest.classes_[votes] == y[held_out]).sum())
            nodes[shape] = nodes.get(shape, 0.0) + n_nodes
    progress(n_folds, n_folds)
    n_rows = sum(map(len, folds[:n_folds]))
    price = per_halving(y)
    return max(right, key=lambda shape: worth_of(right[shape] / n_rows, nodes[shape], price))


def per_halving(y: NDArray[Any]) -> float:
    """Return the accuracy that half the nodes may cost, which is what half the flash may cost our models."""
    return Budget().for_rows(len(y), len(np.unique(y))).per_halving


def _smaller_forests(
    largest: RandomForestClassifier, X: NDArray[Any]
) -> list[tuple[ForestShape, int, NDArray[np.intp]]]:
    """Return each shape with its number of nodes and its answers, without growing its forest."""
    rows, n_classes = np.ascontiguousarray(X, dtype=np.float32), len(largest.classes_)
    trees = [tree.tree_ for tree in largest.estimators_]
    paths = [_path(tree, rows) for tree in trees]
    classes = [tree.value[:, 0].argmax(axis=1) for tree in trees]
    found = []
    for leaves in (None, *LEAVES):  # None first: a limit that no tree reaches is not named
        n_nodes = [t.node_count if leaves is None else min(t.node_count, 2 * leaves - 1) for t in trees]
        ends = [np.where(path < n, path, 0).max(axis=0) for path, n in zip(paths, n_nodes, strict=True)]
        votes = [own[end] for own, end in zip(classes, ends, strict=True)]
        found += [(ForestShape(n, leaves), sum(n_nodes[:n]), majority(votes[:n], n_classes)) for n in TREES]
    return found


def _path(tree: Any, rows: NDArray[np.float32]) -> NDArray[np.intp]:
    """Return the nodes that each row passes, depths x rows. A child has a higher number than its parent.

    A tree of at most k leaves has the first 2k - 1 nodes of a larger one of the same seed.
    """
    path, at, every = [], np.zeros(len(rows), dtype=np.intp), np.arange(len(rows))
    for _ in range(tree.max_depth + 1):
        path.append(at)
        goes_left = rows[every, tree.feature[at]] <= tree.threshold[at]
        child = np.where(goes_left, tree.children_left[at], tree.children_right[at])
        at = np.where(child < 0, at, child)
    return np.stack(path)
