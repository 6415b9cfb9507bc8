"""Our own boosted trees: few, small, with a vote for every class in each leaf, or one for a number.

A leaf is an AND of comparisons with votes, which is a clause. So such trees are a `Model`, and they can be
pruned as clauses or kept as the trees that they are. They are grown on the codes of the features: how many
thresholds a value exceeds. So missing values, categories and windows mean to them what they mean to machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.compress.least_squares import step_of
from ethereal.features.booleanizer import Booleanizer
from ethereal.features.feature_map import MISSING, FeatureMap
from ethereal.features.packing import evenly
from ethereal.model import Model, Number
from ethereal.model.calibration import softmax
from ethereal.model.clauses import Clauses
from ethereal.model.engine import booleans_of, input_matrix
from ethereal.trees.clauses import Counted, clauses_of, decisive, leaves_of
from ethereal.trees.sklearn_trees import of_sklearn

HEAVIEST = 31  # vote of a leaf. More did not answer better, and takes wider sums.
LEAST_IN_LEAF = 5  # rows
_MOST_ROWS = 6000  # that trees are grown on
_MOST_BINS, _LEAST_BINS, _BOOLEANS = 64, 8, 4096  # of the thresholds that trees choose from
_BLOCK_ROWS = 8192  # whose Booleans are made at a time
_TYPICAL = 256  # rows that a model keeps, to order tests by
_MANY_COLUMNS = 48  # of which each split looks at a third, but at no fewer than these
Floats = NDArray[np.float64]
Codes = NDArray[np.float32]  # rows x columns: how many thresholds of the column are exceeded
Tree = Any  # of scikit-learn


@dataclass(frozen=True)
class Shape:
    """How trees are grown."""

    trees: int
    leaves: int | None = None  # of a tree at most
    rate: float = 0.25  # of learning
    depth: int | None = None  # of a tree at most
    columns: int | None = None  # that a split looks at, None for all

    def for_columns(self, n_columns: int) -> Shape:
        """Return the shape for so many columns. Of many of them a split looks at a part."""
        return (
            replace(self, columns=max(_MANY_COLUMNS, n_columns // 3)) if n_columns > _MANY_COLUMNS else self
        )


def boosted(rows: NDArray[Any], wanted: Floats, shape: Shape, seed: int) -> list[tuple[Tree, Floats]]:
    """Return trees, each with the values of its nodes, nodes x classes, which add up to logits.

    `wanted` has the shares of the classes, rows x classes, which are the labels or somebody's answers. With
    one column it has numbers around 0, and the values add up to them. The same seed gives the same trees, to
    the bit.
    """
    from sklearn.tree import DecisionTreeRegressor

    grown, sums = list[tuple[Tree, Floats]](), np.zeros_like(wanted)
    limits = {"max_depth": shape.depth, "max_leaf_nodes": shape.leaves, "max_features": shape.columns}
    are_numbers = wanted.shape[1] == 1
    for i in range(shape.trees):
        shares = sums if are_numbers else softmax(sums)
        tree = DecisionTreeRegressor(min_samples_leaf=LEAST_IN_LEAF, random_state=seed + i, **limits)
        leaf = tree.fit(rows, wanted - shares).apply(rows)
        if tree.tree_.node_count == 1:  # nothing is left to learn
            break
        steps, curves = (np.zeros((tree.tree_.node_count, wanted.shape[1])) for _ in range(2))
        np.add.at(steps, leaf, wanted - shares)
        np.add.at(curves, leaf, 1.0 if are_numbers else shares * (1 - shares))
        values = shape.rate * steps / (curves + 1.0)  # a step of Newton's method, shrunk where rows are few
        sums += values[leaf]
        grown.append((tree.tree_, values))
    return grown


def votes_per_logit(grown: Sequence[tuple[Tree, Floats]]) -> float:
    """Return the factor that makes whole votes of at most `HEAVIEST` from the values of trees."""
    return HEAVIEST / max(1e-9, *(float(np.abs(values).max()) for _, values in grown))


@dataclass(frozen=True)
class Ground:
    """What trees are grown on: a model without clauses that reads rows, and its Booleans as columns."""

    model: Model
    starts: NDArray[np.intp]  # first Boolean of each column

    @staticmethod
    def like(model: Model, X: NDArray[Any]) -> Ground:
        """Return the ground for the features that a model reads, with fine thresholds from rows."""
        few = X[evenly(len(X), _MOST_ROWS)]
        empty = Clauses([], [0], np.zeros((0, model.n_classes), np.int32), model.n_booleans)
        if model.fitted is None:
            return Ground(model._with(clauses=empty), np.arange(model.n_booleans))
        values = input_matrix(model, few)
        bins = min(_MOST_BINS, max(_LEAST_BINS, _BOOLEANS // model.n_features))
        absent = model.feature_map.missing_policy == "ignore" or bool(np.isnan(values).any())
        booleanizer = Booleanizer(bins, missing="ignore" if absent else "raise").fit(values)
        feature_map = booleanizer.feature_map_.with_categories(model.feature_map.categories)
        fine = Booleanizer.from_feature_map(feature_map, model.feature_names)
        blank = Model(
            [], [0], empty.weights, n_booleans=feature_map.n_booleans, **_answers(model),
            booleanizer=fine, front_end=model.front_end, feature_names=model.feature_names,
            provenance={"source": "trees"},
        )  # fmt: skip
        typical = booleans_of(blank, few)
        blank = blank._with(boolean_rates=typical.mean(axis=0).astype(np.float32))
        return Ground(blank.with_typical_rows(_packed(typical)), _starts(feature_map))

    def codes(self, X: NDArray[Any]) -> Codes:
        """Return the codes of rows."""
        codes = np.empty((len(X), len(self.starts)), dtype=np.float32)
        for begin in range(0, len(X), _BLOCK_ROWS):
            some = slice(begin, begin + _BLOCK_ROWS)
            booleans = booleans_of(self.model, X[some])
            np.add.reduceat(booleans, self.starts, axis=1, dtype=np.float32, out=codes[some])
        return codes

    def grow(self, codes: Codes, y: NDArray[Any], shape: Shape, seed: int) -> Grown:
        """Grow trees that answer the labels."""
        some, shape = evenly(len(y), _MOST_ROWS), shape.for_columns(codes.shape[1])
        if isinstance(self.model.output, Number):
            wanted, offset, spread = standardised(y[some])
            answers = {"output": replace(self.model.output, offset=offset)}
            return Grown(self, answers, boosted(codes[some], wanted, shape, seed), spread)
        classes = np.unique(y)
        wanted = (y[some, None] == classes).astype(np.float64)
        return Grown(self, {"classes": classes}, boosted(codes[some], wanted, shape, seed))


def standardised(y: NDArray[Any]) -> tuple[Floats, float, float]:
    """Return numbers as trees learn them, rows x 1, with the mean and the spread that were taken out."""
    mean, spread = float(np.mean(y)), float(np.std(y)) or 1.0
    return ((y - mean) / spread)[:, None], mean, spread


def _answers(model: Model) -> dict[str, Any]:
    """Return what a model answers, as a keyword of `Model`."""
    return (
        {"output": model.output.without_line()}
        if isinstance(model.output, Number)
        else {"classes": model.classes}
    )


def _packed(booleans: NDArray[np.bool_]) -> NDArray[np.uint8]:
    return np.packbits(booleans[evenly(len(booleans), _TYPICAL)], axis=1, bitorder="little")


def _starts(feature_map: FeatureMap) -> NDArray[np.intp]:
    """Return the first Boolean of each column: the thresholds of a feature are one, other Booleans too."""
    starts = []
    for f in range(feature_map.n_features):
        begin, end = feature_map.boolean_offsets[f : f + 2].tolist()
        for b in range(begin, end):
            if b == begin or feature_map.is_binned[f] or feature_map.kind[b] == MISSING:
                starts.append(b)
    return np.array(starts, dtype=np.intp)


@dataclass(frozen=True)
class Grown:
    """Boosted trees. The first of them are a smaller model."""

    ground: Ground
    answers: dict[str, Any]  # what a `Model` is given as classes or output
    trees: list[tuple[Tree, Floats]]
    spread: float = 1.0  # of numbers, which the values of trees are shares of

    def model(self, n_trees: int | None = None) -> Model:
        """Return the first trees as a model, with a clause for each leaf."""
        blank, answers = self.ground.model, self.answers
        whole = [(tree, decisive(values)) for tree, values in self.trees]
        if blank.is_number:
            largest = self.spread * max((float(np.abs(values).max()) for _, values in whole), default=0.0)
            scale = step_of(largest)
            answers, factor = {"output": replace(answers["output"], scale=scale)}, self.spread / scale
        else:
            factor = votes_per_logit(whole) if whole else 1.0
            answers = {**answers, "temperature": factor}
        # The right side comes first. The order of clauses decides what pruning looks at first.
        columns = Counted(blank.feature_map, self.ground.starts)
        leaves = [
            (columns.literals(path), values[leaf])
            for i, (tree, values) in enumerate(whole[:n_trees])
            for _, leaf, path in reversed([*leaves_of(of_sklearn(tree, values), i, columns)])
        ]
        n_columns = blank.n_classes if blank.is_number else len(answers["classes"])
        votes = np.rint(factor * np.array([values for _, values in leaves]).reshape(-1, n_columns))
        clauses = clauses_of([literals for literals, _ in leaves], votes, blank.n_booleans)
        parts: dict[str, Any] = {
            name: getattr(blank, name)
            for name in ("front_end", "feature_names", "provenance", "boolean_rates", "typical_rows")
        }
        return Model.of(clauses, booleanizer=blank.fitted, **answers, **parts)
