"""Plain trees: what every reader makes of an ensemble, and what clauses are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

_LEAF = -1


class Listed(NamedTuple):
    """A test of a category: rows whose code is listed go to one side, all others to the other."""

    codes: frozenset[int]
    go_right: bool


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree as arrays with an entry per node. The root is node 0.

    A row goes right at an inner node if its value is above the threshold, and else left. A node in `listed`
    tests a category instead.

    Parameters
    ----------
    left, right
        The children of each node, -1 in a leaf.
    feature, threshold
        What an inner node tests. The test is `value > threshold`, in float64.
    values
        What each leaf adds to each class or to the number, nodes x columns. Inner nodes are not read.
    missing_right
        Where a missing value goes right, by default nowhere.
    listed
        The nodes that test a category. Codes are whole numbers from 0 on.

    Examples
    --------
    >>> tree = Tree([1, -1, -1], [2, -1, -1], [0, 0, 0], [0.5, 0, 0], [[0, 0], [1, 0], [0, 1]])
    >>> tree.apply(np.array([[0.0], [1.0]])).tolist(), tree.n_leaves
    ([1, 2], 2)
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    values: NDArray[np.float64]  # nodes x columns
    missing_right: NDArray[np.bool_]
    listed: Mapping[int, Listed] = field(default_factory=dict)

    def __init__(
        self,
        left: ArrayLike,
        right: ArrayLike,
        feature: ArrayLike,
        threshold: ArrayLike,
        values: ArrayLike,
        missing_right: ArrayLike | None = None,
        listed: Mapping[int, Listed] | None = None,
    ) -> None:
        nodes = np.asarray(left, dtype=np.int64)
        nowhere = np.zeros(len(nodes), dtype=bool)
        vars(self).update(
            left=nodes,
            right=np.asarray(right, dtype=np.int64),
            feature=np.asarray(feature, dtype=np.int64),
            threshold=np.asarray(threshold, dtype=np.float64),
            values=np.asarray(values, dtype=np.float64),
            missing_right=nowhere if missing_right is None else np.asarray(missing_right, dtype=bool),
            listed=dict(listed or {}),
        )

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Whether each node is a leaf."""
        return np.asarray(self.left == _LEAF)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(self.is_leaf.sum())

    def apply(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Return the leaf of each row, by numbers as they are, without rounding."""
        node = np.zeros(len(rows), dtype=np.int64)
        going = np.flatnonzero(~self.is_leaf[node])
        while len(going):
            at = node[going]
            value = rows[going, self.feature[at]]
            right = value > self.threshold[at]
            for place in np.flatnonzero(np.isin(at, list(self.listed))) if self.listed else ():
                right[place] = self._is_right(self.listed[int(at[place])], float(value[place]))
            right = np.where(np.isnan(value), self.missing_right[at], right)
            node[going] = np.where(right, self.right[at], self.left[at])
            going = going[~self.is_leaf[node[going]]]
        return node

    @staticmethod
    def _is_right(listed: Listed, value: float) -> bool:
        return (value in listed.codes) == listed.go_right


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees whose values are added up. The answer is the class with the largest sum, or the sum.

    Parameters
    ----------
    trees
        The trees.
    classes
        Labels in the order of the class axis. None where the answer is a number, the sum of the one column.
    n_features
        Columns of a row.
    feature_names
        Their names, or None.
    base
        What every row has for each class before any tree, by default 0.
    logits
        By how much a sum is divided to be a logit, for boosted trees 1. None for shares that are averaged.
    tie_last
        Whether the last of two classes is the answer when they have the same sum.
    whole
        Whether most values are whole numbers, such as depths. They stay exact multiples of each other then.
    float64_rows
        Whether the library compares rows in float64. A model compares in float32.
    float32_sums
        Whether the library adds in float32.
    source
        What the trees are, for people, such as "RandomForestClassifier of scikit-learn".
    """

    trees: Sequence[Tree]
    classes: NDArray[Any] | None
    n_features: int
    feature_names: tuple[str, ...] | None = None
    base: NDArray[np.float64] | None = None
    logits: bool = True
    tie_last: bool = False
    whole: bool = False
    float64_rows: bool = False
    float32_sums: bool = False
    source: str = "trees"

    @property
    def n_columns(self) -> int:
        """Sums that a row has, one for each class."""
        return 1 if self.classes is None else len(self.classes)

    @property
    def n_leaves(self) -> int:
        """Leaves of all trees."""
        return sum(tree.n_leaves for tree in self.trees)

    def sums(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the sums of each row, rows x columns, in float64.

        >>> tree = Tree([1, -1, -1], [2, -1, -1], [0, 0, 0], [0.5, 0, 0], [[0, 0], [1, 0], [0, 1]])
        >>> Ensemble([tree], np.array(["no", "yes"]), 1).sums(np.array([[1.0]]))
        array([[0., 1.]])
        """
        sums = np.zeros((len(rows), self.n_columns))
        if self.base is not None:
            sums += self.base
        for tree in self.trees:
            sums += tree.values[tree.apply(rows)]
        return sums

    def answers(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the label or the number of each row."""
        sums = self.sums(rows)
        if self.classes is None:
            return np.asarray(sums[:, 0])
        if self.tie_last:
            return np.asarray(self.classes[sums.shape[1] - 1 - sums[:, ::-1].argmax(axis=1)])
        return np.asarray(self.classes[sums.argmax(axis=1)])


def refuse_several(what: str, n_answers: int, are: str) -> None:
    """Refuse an ensemble that answers several labels or numbers per row."""
    if n_answers > 1:
        raise ValueError(
            f"{what} answers {n_answers} {are} per row. A Model answers one. Train one ensemble for each."
        )


def refuse_link(what: str, link: str, none: str = "identity") -> None:
    """Refuse an ensemble whose number is a function of the sum of its leaves, unless the link is none."""
    if link != none:
        raise ValueError(
            f"{what} answers a function of the sum of its leaves ({link}). A Model answers the sum. Train "
            "with a squared or an absolute error, on labels that you have transformed before."
        )
