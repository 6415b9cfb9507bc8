"""The normal form that codes are made from: every clause once, with all its votes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ethereal.model import Model


class Clauses(NamedTuple):
    """Non-empty clauses that vote, no two with the same literals, in the order of their first occurrence."""

    literals: NDArray[np.int64]  # of all clauses, one clause after the other, ascending within a clause
    offsets: NDArray[np.int64]  # clauses + 1
    weights: NDArray[np.int64]  # clauses x classes

    def take(self, order: NDArray[np.int64]) -> Clauses:
        """Clauses in another order, or some of them."""
        counts = np.diff(self.offsets)[order]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        # Literal i of the new clause j is literal i of the old clause order[j].
        shift = np.repeat(self.offsets[order] - offsets[:-1], counts)
        return Clauses(self.literals[np.arange(offsets[-1]) + shift], offsets, self.weights[order])


def merge(model: Model) -> Clauses:
    """Add up the votes of clauses with the same literals; leave out what never votes.

    >>> from ethereal import Model
    >>> model = Model([1, 1, 0], [0, 1, 1, 2, 3], [[1], [1], [1], [-1]], n_booleans=1, classes=["x"])
    >>> merge(model)  # the second clause is empty
    Clauses(literals=array([1, 0]), offsets=array([0, 1, 2]), weights=array([[ 2], [-1]]))
    """
    whole = Clauses(model.literals.astype(np.int64), model.offsets, model.weights.astype(np.int64))
    weights = whole.weights.copy()
    weights[np.diff(model.offsets) == 0] = 0
    bounds = model.offsets.tolist()
    first_of: dict[bytes, int] = {}
    for j in np.flatnonzero(weights.any(axis=1)).tolist():
        first = first_of.setdefault(model.literals[bounds[j] : bounds[j + 1]].tobytes(), j)
        if first != j:
            weights[first] += weights[j]
            weights[j] = 0
    return whole._replace(weights=weights).take(np.flatnonzero(weights.any(axis=1)))
