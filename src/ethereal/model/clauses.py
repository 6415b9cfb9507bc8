"""Clauses as arrays: in another order, of a plain machine, each once with all its votes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ethereal.model import Model


class Clauses(NamedTuple):
    """Literals, offsets and weights as in a `Model`."""

    literals: NDArray[np.int64]  # of all clauses, one clause after the other, ascending within a clause
    offsets: NDArray[np.int64]  # clauses + 1
    weights: NDArray[np.int64]  # clauses x classes

    @staticmethod
    def of(model: Model) -> Clauses:
        """Those of a model."""
        return Clauses(model.literals.astype(np.int64), model.offsets, model.weights.astype(np.int64))

    def take(self, order: NDArray[np.int64]) -> Clauses:
        """Clauses in another order, or some of them."""
        counts = np.diff(self.offsets)[order]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        # Literal i of the new clause j is literal i of the old clause order[j].
        shift = np.repeat(self.offsets[order] - offsets[:-1], counts)
        return Clauses(self.literals[np.arange(offsets[-1]) + shift], offsets, self.weights[order])


def merge(clauses: Clauses) -> Clauses:
    """Non-empty clauses that vote, no two with the same literals, in the order of their first occurrence.

    Votes of clauses with the same literals are added up.

    >>> from ethereal import Model
    >>> model = Model([1, 1, 0], [0, 1, 1, 2, 3], [[1], [1], [1], [-1]], n_booleans=1, classes=["x"])
    >>> merge(Clauses.of(model))  # the second clause is empty
    Clauses(literals=array([1, 0]), offsets=array([0, 1, 2]), weights=array([[ 2], [-1]]))
    """
    weights = clauses.weights.copy()
    weights[np.diff(clauses.offsets) == 0] = 0  # an empty clause never votes
    bounds = clauses.offsets.tolist()
    first_of: dict[bytes, int] = {}
    for j in np.flatnonzero(weights.any(axis=1)).tolist():
        first = first_of.setdefault(clauses.literals[bounds[j] : bounds[j + 1]].tobytes(), j)
        if first != j:
            weights[first] += weights[j]
            weights[j] = 0
    return clauses._replace(weights=weights).take(np.flatnonzero(weights.any(axis=1)))


def plain_votes(n_classes: int, n_clauses: int) -> NDArray[np.int32]:
    """Votes of a plain machine with so many clauses per class: the first half of a class +1, the others -1.

    >>> plain_votes(2, 2).tolist()
    [[1, 0], [-1, 0], [0, 1], [0, -1]]
    """
    own = np.repeat(np.array([1, -1], dtype=np.int32), n_clauses // 2)[:, None]
    return np.kron(np.eye(n_classes, dtype=np.int32), own)
