"""Boosted trees with a vector of votes per leaf, as code of the generator that writes our own models.

Nobody exports such trees, and they were the strongest baseline found. On the host a leaf is a clause of the
comparisons on its path, with votes for all classes, so the trees are a Model. On the device they are nested
tests of the layout "straight", with its packed sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.device.program import CProgram, on_rows
from ethereal.export.c99.ctext import Tables
from ethereal.export.c99.device_rows import Slots
from ethereal.export.c99.layouts import Costs, Plan
from ethereal.export.c99.layouts.straight import Writer, arrange
from ethereal.export.c99.layouts.straight.tree import (
    Asked,
    Block,
    If,
    SlotTests,
    Test,
    make_fields,
    move_votes,
)
from ethereal.export.c99.program import make_program
from ethereal.features.booleanizer import Booleanizer
from ethereal.features.packing import evenly
from ethereal.features.rounding import round_down
from ethereal.model import Model
from ethereal.trees.grow import Shape, boosted, votes_per_logit
from ethereal_study.baselines.base import best_rate

_MOST_ROWS = 12_000  # that trees are grown on


@dataclass(frozen=True)
class VectorTrees:
    """Fitted trees. Their votes are whole numbers, on the host as on the device."""

    model: Model  # a clause per leaf
    trees: list[tuple[Any, NDArray[np.int64]]]  # of scikit-learn, and the votes of their nodes
    rate: float  # of learning, chosen on rows that were held out

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels in the order of the class axis."""
        return self.model.classes

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the label with the most votes of each row."""
        return self.model.predict(X)


def train_vector_trees(X: ArrayLike, y: ArrayLike, n_trees: int, depth: int, seed: int) -> VectorTrees:
    """Fit trees by gradient boosting on all classes at once. The same seed gives the same trees.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> trees = train_vector_trees(X, y, 4, 3, 0)
    >>> float((trees.predict(X) == y).mean()) > 0.95
    True
    """
    rows, labels = np.asarray(X, dtype=np.float32), np.asarray(y)
    some = evenly(len(rows), _MOST_ROWS)
    rows, labels = rows[some], labels[some]

    def fitted(some_rows: NDArray[Any], of: NDArray[Any], rate: float) -> VectorTrees:
        return vector_trees_of(some_rows, of, Shape(n_trees, rate=rate, depth=depth), seed)

    return fitted(rows, labels, best_rate(fitted, rows, labels, seed))


def vector_trees_of(rows: NDArray[Any], labels: NDArray[Any], shape: Shape, seed: int) -> VectorTrees:
    """Fit trees of a shape. Votes are scaled to whole numbers."""
    classes = np.unique(labels)
    grown = boosted(rows, (labels[:, None] == classes).astype(np.float64), shape, seed)
    if not grown:
        raise ValueError(f"No tree can split the {len(rows)} rows. Give more rows, or rows that differ.")
    scale = votes_per_logit(grown)
    trees = [(tree, np.rint(scale * values).astype(np.int64)) for tree, values in grown]
    return VectorTrees(_model(trees, rows, classes), trees, shape.rate)


def vector_trees(estimator: VectorTrees, X: ArrayLike) -> CProgram:
    """Trees as straight code over floats. `expected` is the class of their whole votes."""
    slots = Slots(estimator.model)
    tests = {
        (test.feature, test.threshold): test for exported in SlotTests(slots).of_slot for test in exported
    }
    code = Block(1.0, np.zeros(len(estimator.classes_), dtype=np.int64))
    for tree, votes in estimator.trees:
        code.items += _nested(tree, votes, tests, round_down(tree.threshold), 0).items
    fields = make_fields([code])
    move_votes(code, fields)
    arrange(code)
    plan = Plan(lambda out: Writer(slots, fields).write(out, [code]), None, Costs(0.0, 0))
    program = make_program(estimator.model, "straight", name="trees")
    exported = on_rows(replace(program, slots=slots, tables=Tables.of_code(plan.write)), X)
    return replace(exported, name="vector trees", is_model=False)


def _nested(
    tree: Any, votes: NDArray[np.int64], tests: dict[tuple[int, float], Test], t: NDArray[Any], node: int
) -> Block:
    """Return a node of a tree as code."""
    share = float(tree.n_node_samples[node] / tree.n_node_samples[0])
    if tree.children_left[node] < 0:
        return Block(share, votes[node].copy())
    below = (tree.children_right[node], tree.children_left[node])
    sides = [_nested(tree, votes, tests, t, int(child)) for child in below]
    asked = Asked("test", tests[int(tree.feature[node]), float(t[node])])
    return Block(share, np.zeros_like(votes[node]), [If(asked, sides[0], sides[1], 1.0)])


def _model(trees: list[tuple[Any, NDArray[np.int64]]], rows: NDArray[Any], classes: NDArray[Any]) -> Model:
    """Return the leaves as clauses."""
    paths = [(path, votes[leaf]) for tree, votes in trees for leaf, path in _leaves(tree)]
    asked = {(f, t) for path, _ in paths for f, t, _ in path}
    thresholds = [sorted(t for of_feature, t in asked if of_feature == f) for f in range(rows.shape[1])]
    booleanizer = Booleanizer(thresholds=thresholds).fit(rows)
    places = [(f, t) for f, of_feature in enumerate(thresholds) for t in of_feature]
    number = {place: i for i, place in enumerate(places)}
    n = len(places)
    literals = [sorted(number[f, t] + n * (not above) for f, t, above in path) for path, _ in paths]
    votes = np.array([of_feature for _, of_feature in paths])
    offsets = np.cumsum([0, *map(len, literals)])
    flat = np.concatenate(literals).astype(np.int64)
    return Model(flat, offsets, votes, n_booleans=n, classes=classes, booleanizer=booleanizer)


def _leaves(tree: Any) -> list[tuple[int, list[tuple[int, float, bool]]]]:
    """Return each leaf with the comparisons on its path: feature, threshold, whether it is above."""
    leaves, left = [], [(0, dict[tuple[int, float], bool]())]
    thresholds = round_down(tree.threshold)
    while left:
        node, path = left.pop()
        if tree.children_left[node] < 0:
            leaves.append((node, [(f, t, above) for (f, t), above in path.items()]))
            continue
        test = int(tree.feature[node]), float(thresholds[node])
        left.append((int(tree.children_left[node]), {**path, test: False}))
        left.append((int(tree.children_right[node]), {**path, test: True}))
    return leaves
