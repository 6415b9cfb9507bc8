"""The forest that a run is compared with: grown plain and tuned, and made again for the board.

A forest with as many leaves as it likes is larger than it has to be. So held-out training rows choose how
many trees there are, and how many leaves a tree may have. Half the nodes may cost as much accuracy as half
the flash of our models. Test rows choose nothing.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from ethereal.base.splits import group_folds
from ethereal.datasets.rows import Rows
from ethereal.device.baselines import exported_vote, majority
from ethereal.runs.results import Forest, ForestScores, LeftOut
from ethereal.runs.scores import scores
from ethereal.tuning.budget import Budget, worth_of

SIZES = TREES = (5, 10, 25)  # each plain forest holds the trees of the one before
LEAVES = (8, 16, 32, 64, 128, 256, 512, 1024, 2048)  # of a tree at most, doubled from step to step
DEPTH = 14
_FOLDS = 5
_ENOUGH_ROWS = 2_000  # held-out rows. With groups there are five times as many, because rows are related.
_NODE_BYTES = 6  # of a forest's code, at least
_MOST_NODES = 60_000  # that are compiled, which takes a minute
_AT_LEAST = 10.0  # seconds that a forest may always take

_Rows = TypeVar("_Rows", bound=Rows)


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

    Rows have no missing values. With `groups` whole groups are held out. The shape does not depend on the
    threads. `progress` gets how many of the forests are grown, and how many there are.
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
    return per_halving_of(len(y), len(np.unique(y)))


def per_halving_of(n_rows: int, n_classes: int = 1) -> float:
    """Return the same for so many rows and classes."""
    return Budget().for_rows(n_rows, n_classes).per_halving


def _smaller_forests(
    largest: RandomForestClassifier, X: NDArray[Any]
) -> list[tuple[ForestShape, int, NDArray[np.intp]]]:
    """Return each shape with its number of nodes and its answers, without growing its forest."""
    rows, n_classes = np.ascontiguousarray(X, dtype=np.float32), len(largest.classes_)
    trees = [tree.tree_ for tree in largest.estimators_]
    paths = [_path(tree, rows) for tree in trees]
    classes = [tree.value[:, 0].argmax(axis=1) for tree in trees]
    forests = []
    for leaves in (None, *LEAVES):  # None first: a limit that no tree reaches is not named
        n_nodes = [t.node_count if leaves is None else min(t.node_count, 2 * leaves - 1) for t in trees]
        ends = [np.where(path < n, path, 0).max(axis=0) for path, n in zip(paths, n_nodes, strict=True)]
        votes = [of_tree[end] for of_tree, end in zip(classes, ends, strict=True)]
        forests += [(ForestShape(n, leaves), sum(n_nodes[:n]), majority(votes[:n], n_classes)) for n in TREES]
    return forests


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


def grow(rows: Rows, seed: int, seconds: float, progress: Callable[[int], None]) -> Forest | LeftOut:
    """Return the figures of the tuned forest and of plain ones, or why there are none.

    A comparison must not stop the run. Plain trees are added until there are 25, or until they took more than
    `seconds`. Then the tuned forest is chosen, if there is time left. Without it the plain forest stands
    alone.
    """
    why = why_not(rows)
    if why is not None:
        return LeftOut(why)
    n_missing = _missing(rows)
    rows = without_missing(rows)
    begin = time.perf_counter()
    sizes: list[ForestScores] = []
    price = None
    try:
        for shape, forest in _growing(rows, seed):
            sizes.append(_figures(shape, forest, rows))
            progress(shape.trees)
            if time.perf_counter() - begin > max(seconds, _AT_LEAST):
                break
        else:
            shape = choose_shape(rows.X_train, rows.y_train, rows.groups_train, seed=seed, n_jobs=-1)
            tuned = shape.new(seed, n_jobs=-1).fit(rows.X_train, rows.y_train)
            best = replace(_figures(shape, tuned, rows), tuned=True)  # which may be a plain forest
            sizes = [one for one in sizes if (one.trees, one.leaves) != (shape.trees, shape.leaves)]
            sizes.append(best)
            price = per_halving(rows.y_train)
    except (ValueError, MemoryError) as error:
        if not sizes:
            return LeftOut(str(error))
    return Forest(
        **vars(sizes[-1]),
        sizes=tuple(sizes),
        random_state=seed,
        missing=n_missing,
        seconds=time.perf_counter() - begin,
        per_halving=price,
    )


def _growing(rows: Rows, seed: int) -> Iterator[tuple[ForestShape, RandomForestClassifier]]:
    forest = ForestShape(SIZES[0]).new(seed, n_jobs=-1).set_params(warm_start=True)
    for trees in SIZES:
        forest.set_params(n_estimators=trees)
        yield ForestShape(trees), forest.fit(rows.X_train, rows.y_train)


def _figures(shape: ForestShape, forest: RandomForestClassifier, rows: Rows) -> ForestScores:
    """Return the size of a forest, and how right the vote is that runs on the board."""
    n_nodes = int(sum(tree.tree_.node_count for tree in forest.estimators_))
    answers = forest.classes_[exported_vote(forest, rows.X_test)]
    figures = scores(answers, rows.y_test, rows.groups_test)
    return ForestScores(**vars(figures), trees=shape.trees, leaves=shape.leaves, nodes=n_nodes)


def why_not(rows: Rows) -> str | None:
    """Return why a forest cannot learn from these rows, with the column, or None when it can."""
    for X in (rows.X_train, rows.X_test):
        if X.dtype.kind != "f":
            continue
        beyond = (np.abs(X) > np.finfo(np.float32).max).any(axis=0)  # infinity too, but not NaN
        if beyond.any():
            f = int(np.argmax(beyond))
            name = f"column {f + 1}" if rows.feature_names is None else f"column {rows.feature_names[f]!r}"
            return f"{name} has values that 32-bit floats cannot hold, infinity or beyond 3.4e38"
    return None


def of_features(rows: Rows) -> Rows:
    """Return rows of features, made of the windows where there are windows."""
    return rows if rows.front_end is None else replace(rows, X=rows.front_end.transform(rows.X))


def _missing(rows: Rows) -> int:
    return int(np.isnan(rows.X).sum()) if rows.X.dtype.kind == "f" else 0


def without_missing(rows: _Rows) -> _Rows:
    """Return rows in which a missing value is the median of the feature's training rows, as float32.

    Forests through emlearn know no missing values. A feature without any value becomes 0.

    >>> rows = Rows(np.array([[1.0], [3.0], [np.nan]]), np.arange(3), test=np.array([False, False, True]))
    >>> without_missing(rows).X_test.tolist()
    [[2.0]]
    """
    X = rows.X.astype(np.float32)
    absent = np.isnan(X)
    if absent.any():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a feature without any value
            medians = np.nan_to_num(np.nanmedian(replace(rows, X=X).X_train, axis=0))
        X = np.where(absent, medians, X)
    return replace(rows, X=X)


def again(grown: ForestScores, seed: int, rows: Rows, flash: int) -> RandomForestClassifier:
    """Return a forest of a run, made again from its seed, or say why a board cannot hold it.

    `rows` have no missing values, see `without_missing`.
    """
    if grown.nodes * _NODE_BYTES > flash:  # which a compiler would find out in many minutes
        raise ValueError(f"its {grown.nodes:,} nodes do not fit a flash of {flash:,} bytes")
    if grown.nodes > _MOST_NODES:
        raise ValueError(f"it takes minutes to compile its {grown.nodes:,} nodes")
    shape = ForestShape(grown.trees, grown.leaves)
    return shape.new(seed, n_jobs=-1).fit(rows.X_train, rows.y_train)
