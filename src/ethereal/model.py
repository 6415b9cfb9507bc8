"""The trained machine: what every room after training sees.

A `Model` is a list of clauses, each an AND of literals with one small integer weight per class, and the
Booleanizer that makes the Boolean features. Literal `l` of `n` Boolean features is Boolean `l` when
`l < n`, and NOT Boolean `l - n` otherwise. A plain Tsetlin machine is the special case in which every
clause has one weight, +1 or -1, for one class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.booleanize import Booleanizer


@dataclass(frozen=True)
class Clause:
    """One AND-clause: its sorted literals and its vote per class."""

    literals: tuple[int, ...]
    weights: Mapping[int, int]  # class index -> vote, zero votes left out


class Model:
    """Immutable clauses with their Booleanizer, labels and provenance.

    Parameters
    ----------
    literals
        The literals of all clauses, one clause after the other, ascending within a clause.
    offsets
        `literals[offsets[j]:offsets[j + 1]]` are the literals of clause `j`; an empty clause never votes.
    weights
        Votes, clauses x classes.
    n_booleans
        Number of Boolean features; literals run over `2 * n_booleans`.
    classes
        Labels in the order of the class axis.
    booleanizer
        Turns raw rows into Boolean rows; None when the input is Boolean already.
    feature_names
        Names of the raw features (of the Booleans when there is no Booleanizer).
    boolean_rates
        Share of training rows in which each Boolean was true; exporters order tests by it.
    provenance
        How the model was made: parameters, seed, package version.
    """

    def __init__(
        self,
        literals: ArrayLike,
        offsets: ArrayLike,
        weights: ArrayLike,
        *,
        n_booleans: int,
        classes: ArrayLike,
        booleanizer: Booleanizer | None = None,
        feature_names: Sequence[str] | None = None,
        boolean_rates: ArrayLike | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        self.literals: NDArray[np.int32] = _frozen(literals, np.int32)
        self.offsets: NDArray[np.int64] = _frozen(offsets, np.int64)
        self.weights: NDArray[np.int32] = _frozen(weights, np.int32)
        self.n_booleans = int(n_booleans)
        self.classes = _frozen(classes, None)
        self.booleanizer = booleanizer
        self.feature_names = None if feature_names is None else tuple(feature_names)
        self.boolean_rates = None if boolean_rates is None else _frozen(boolean_rates, np.float32)
        self.provenance = dict(provenance or {})

    @property
    def n_clauses(self) -> int:
        """Clauses of all classes together, empty ones included."""
        return len(self.offsets) - 1

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def n_includes(self) -> int:
        """Included literals over all clauses."""
        return len(self.literals)

    def __iter__(self) -> Iterator[Clause]:
        for j in range(self.n_clauses):
            lits = self.literals[self.offsets[j] : self.offsets[j + 1]]
            votes = self.weights[j]
            yield Clause(tuple(int(x) for x in lits), {int(c): int(votes[c]) for c in np.flatnonzero(votes)})


def _frozen(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    array = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array
