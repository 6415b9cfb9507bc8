"""Clauses as arrays, the only owner of literals, offsets and weights.

Literal `l` of `n` Booleans is Boolean `l` when `l < n`, and NOT Boolean `l - n` otherwise. With a patch
these are the Booleans of a part of the row. A clause then fires if it matches anywhere (`patch.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.base.checks import check_integer
from ethereal.features.matrices import frozen
from ethereal.model.patch import Patch

# Far more than a machine is trained on. It bounds what a hostile file can make us allocate.
MAX_BOOLEANS = 2**24
# What makes a clause fire, of its literals. An empty clause never fires, whatever its meaning.
MEANINGS = {"and": np.logical_and}


@overload
def decode(literals: int, n_booleans: int) -> tuple[int, bool]: ...
@overload
def decode(literals: NDArray[Any], n_booleans: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]: ...
def decode(literals: Any, n_booleans: int) -> Any:
    """Return the Boolean of a literal, or of an array of them, and whether it is negated."""
    negated = literals >= n_booleans
    return literals - negated * n_booleans, negated


def integers(values: ArrayLike, dtype: Any, name: str, ndim: int) -> NDArray[Any]:
    """Return read-only integers. Floats and numbers beyond the type's range are refused, not cast."""
    array = np.asarray(values)
    if array.ndim != ndim:
        raise ValueError(f"{name} has shape {array.shape}. It must have {ndim} dimension{'s' * (ndim > 1)}.")
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{name} has dtype {array.dtype}. It must hold integers.")
    limits = np.iinfo(dtype)
    if array.size and (array.min() < limits.min or array.max() > limits.max):
        raise ValueError(f"{name} holds values that do not fit {limits.bits} bits")
    return frozen(array, dtype)


@dataclass(frozen=True)
class Clause:
    """One AND-clause: its sorted literals and its vote per class."""

    literals: tuple[int, ...]
    weights: Mapping[int, int]  # class index -> vote, zero votes left out


@dataclass(frozen=True, init=False, eq=False)
class Clauses:
    """Clauses with their votes, immutable and checked.

    >>> clauses = Clauses([0, 3, 1], [0, 2, 3], [[0, 1], [2, -1]], n_booleans=2)
    >>> clauses[0]
    Clause(literals=(0, 3), weights={1: 1})
    >>> clauses.boolean.tolist(), clauses.negated.tolist(), clauses.clause.tolist()
    ([0, 1, 1], [False, True, False], [0, 0, 1])
    """

    literals: NDArray[np.int32]  # of all clauses, one clause after the other, ascending within a clause
    offsets: NDArray[np.int64]  # clauses + 1
    weights: NDArray[np.int32]  # clauses x classes
    n_booleans: int
    meaning: str = "and"  # one of MEANINGS
    patch: Patch | None = None  # the part of a row that literals are about, anywhere in it. None: whole rows

    def __init__(
        self,
        literals: Any,
        offsets: Any,
        weights: Any,
        n_booleans: int,
        meaning: str = "and",
        patch: Patch | None = None,
    ) -> None:
        vars(self).update(
            literals=integers(literals, np.int32, "literals", 1),
            offsets=integers(offsets, np.int64, "offsets", 1),
            weights=integers(weights, np.int32, "weights", 2),
            n_booleans=check_integer("n_booleans", n_booleans, 0, MAX_BOOLEANS),
            meaning=meaning,
            patch=patch,
        )
        if patch is not None and patch.n_booleans != n_booleans:
            raise ValueError(f"n_booleans is {n_booleans}, but clauses over {patch} have {patch.n_booleans}.")
        if meaning not in MEANINGS:
            known = " or ".join(f'"{name}"' for name in MEANINGS)
            raise ValueError(f"meaning is {meaning!r}. It must be {known}.")
        self._check_literals()
        self._check_votes()

    @classmethod
    def _trusted(
        cls,
        literals: Any,
        offsets: Any,
        weights: Any,
        n_booleans: int,
        meaning: str = "and",
        patch: Patch | None = None,
    ) -> Clauses:
        """Return clauses of arrays that are known to be valid. Nothing is copied or checked."""
        for array in (literals, offsets, weights):
            array.setflags(write=False)
        clauses, parts = cls.__new__(cls), (literals, offsets, weights, n_booleans, meaning, patch)
        vars(clauses).update(zip(cls.__annotations__, parts, strict=True))
        return clauses

    def _check_literals(self) -> None:
        literals, offsets, n = self.literals, self.offsets, self.n_booleans
        falls = (offsets[1:] < offsets[:-1]).any()
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(literals) or falls:
            raise ValueError(f"offsets must ascend from 0 to the number of literals, {len(literals)}")
        # A file may be large. Comparisons take a byte per literal where differences would take four.
        if len(literals) and (literals.min() < 0 or literals.max() >= 2 * n):
            place = int(np.argmax((literals < 0) | (literals >= 2 * n)))
            largest = f"With {n} Booleans literals run from 0 to {2 * n - 1}."
            raise ValueError(f"literals[{place}] is {literals[place]}. {largest}")
        may_fall = np.zeros(len(literals) + 1, dtype=bool)
        may_fall[offsets] = True  # a literal may be below its predecessor only where a clause starts
        wrong = literals[1:] <= literals[:-1]
        wrong &= ~may_fall[1:-1]
        if wrong.any():
            j = int(np.searchsorted(offsets, int(np.argmax(wrong)), side="right")) - 1
            raise ValueError(f"the literals of clause {j} are not in strictly ascending order")

    def _check_shape(self, n_classes: int) -> None:
        shape, wanted = self.weights.shape, (len(self), n_classes)
        if shape != wanted:
            why = f"For {len(self)} clauses (from offsets) and {n_classes} classes"
            raise ValueError(f"weights has shape {shape}. {why} it must be {wanted}.")

    def _check_votes(self) -> None:
        weights = self.weights
        self._check_shape(self.n_classes)
        # Sums in 64 bits without a copy of the weights in 64 bits.
        positive = np.sum(weights, axis=0, dtype=np.int64, where=weights > 0)
        negative = np.sum(weights, axis=0, dtype=np.int64, where=weights < 0)
        if (positive - negative).max(initial=0) >= 2**31:
            raise ValueError("weights of a class add up to 2**31 or more. Its votes would overflow 32 bits.")

    @property
    def n_row_booleans(self) -> int:
        """Booleans of a row, which are those of a clause where there is no patch."""
        return self.n_booleans if self.patch is None else self.patch.n_row_booleans

    @property
    def n_classes(self) -> int:
        """Classes that votes can be for."""
        return int(self.weights.shape[1])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Literals per clause."""
        return np.diff(self.offsets)

    @property
    def clause(self) -> NDArray[np.int64]:
        """Clause of each literal."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @property
    def boolean(self) -> NDArray[np.int64]:
        """Boolean of each literal."""
        return decode(self.literals, self.n_booleans)[0]

    @property
    def negated(self) -> NDArray[np.bool_]:
        """Whether each literal is the negation of its Boolean."""
        return self.literals >= self.n_booleans

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, j: int) -> Clause:
        votes = self.weights[j]
        literals = self.literals[self.offsets[j] : self.offsets[j + 1]].tolist()
        return Clause(tuple(literals), {int(c): int(votes[c]) for c in np.flatnonzero(votes)})

    def __iter__(self) -> Iterator[Clause]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        names = Clauses.__annotations__
        return isinstance(other, Clauses) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in names
        )

    def __hash__(self) -> int:
        return hash((self.n_booleans, self.literals.tobytes(), self.weights.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Clauses, tuple(vars(self).values())  # so that the arrays of copies are read-only too

    def literal_counts(self, *, weighted: bool = False) -> NDArray[np.int64]:
        """Return how many clauses include each literal, see `Model.literal_counts`."""
        votes = self.weights[self.clause]  # includes x classes
        votes = votes if weighted else np.sign(votes)
        counts = np.zeros((votes.shape[1], 2, 2 * self.n_booleans), dtype=np.int64)
        for c in range(votes.shape[1]):
            for polarity, part in enumerate((votes[:, c].clip(min=0), -votes[:, c].clip(max=0))):
                counts[c, polarity] = np.bincount(self.literals, part, 2 * self.n_booleans)
        return counts

    def take(self, order: ArrayLike) -> Clauses:
        """Return clauses in another order, some of them, or some of them several times."""
        order = np.asarray(order, dtype=np.int64)
        counts = self.lengths[order]
        offsets = _starts(counts)
        # Literal i of the new clause j is literal i of the old clause order[j].
        place = np.repeat(self.offsets[order] - offsets[:-1], counts)
        place += np.arange(len(place))
        literals, weights = self.literals[place], self.weights[order]
        return self._trusted(literals, offsets, weights, self.n_booleans, self.meaning, self.patch)

    def having(self, clause: NDArray[Any], literal: NDArray[Any], n_booleans: int) -> Clauses:
        """Return these votes for other literals, given as pairs of clause and literal in any order."""
        order = np.lexsort((literal, clause))
        offsets = _starts(np.bincount(clause, minlength=len(self)))
        literals = literal[order].astype(np.int32)
        patch = self.patch if n_booleans == self.n_booleans else None
        return self._trusted(literals, offsets, self.weights, n_booleans, self.meaning, patch)

    def voting(self, weights: NDArray[np.int32]) -> Clauses:
        """Return the same clauses with other votes, clauses x classes, which are not checked."""
        return self._trusted(self.literals, self.offsets, weights, self.n_booleans, self.meaning, self.patch)

    @staticmethod
    def concatenate(parts: Sequence[Clauses]) -> Clauses:
        """Return the clauses of all parts, which must have the same Booleans and classes."""
        if len({(part.n_booleans, part.n_classes, part.meaning, part.patch) for part in parts}) != 1:
            raise ValueError(
                "clauses can be joined when there are some and their meaning, Booleans and classes agree"
            )
        names = "literals", "lengths", "weights"
        literals, lengths, weights = (np.concatenate([getattr(p, name) for p in parts]) for name in names)
        first = parts[0]
        kind = first.n_booleans, first.meaning, first.patch
        joined = first._trusted(literals, _starts(lengths), weights, *kind)
        joined._check_votes()  # the sums may have grown too large
        return joined

    def merged(self) -> Clauses:
        """Return non-empty clauses that vote, no two with the same literals, in the order of their first one.

        Votes of clauses with the same literals are added up.

        >>> clauses = Clauses([1, 1, 0], [0, 1, 1, 2, 3], [[1], [1], [1], [-1]], n_booleans=1)
        >>> list(clauses.merged())  # the second clause is empty
        [Clause(literals=(1,), weights={0: 2}), Clause(literals=(0,), weights={0: -1})]
        """
        weights = self.weights.copy()
        weights[self.lengths == 0] = 0  # an empty clause never votes
        bounds = self.offsets.tolist()
        first_of: dict[bytes, int] = {}
        for j in np.flatnonzero(weights.any(axis=1)).tolist():
            first = first_of.setdefault(self.literals[bounds[j] : bounds[j + 1]].tobytes(), j)
            if first != j:
                weights[first] += weights[j]
                weights[j] = 0
        return self.voting(weights).take(np.flatnonzero(weights.any(axis=1)))

    def over(self, booleans: NDArray[np.int64]) -> Clauses:
        """Return the clauses that can vote, over these Booleans, which must have all that are used."""
        assert self.patch is None
        able = self.take(np.flatnonzero((self.lengths > 0) & self.weights.any(axis=1)))
        number = np.zeros(max(self.n_booleans, 1), dtype=np.int64)
        number[booleans] = np.arange(len(booleans))
        literal = number[able.boolean] + able.negated * len(booleans)
        return able.having(able.clause, literal, len(booleans))

    def fires(self, booleans: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which clauses fire on rows of Booleans, rows x clauses. The reference of every other way."""
        fires = np.zeros((len(booleans), len(self)), dtype=bool)
        for matches in self.matches(booleans):
            fires |= matches
        return fires

    def matches(self, booleans: NDArray[np.bool_]) -> Iterator[NDArray[np.bool_]]:
        """Yield which clauses match at each position, rows x clauses. Without a patch there is one."""
        filled = np.flatnonzero(self.lengths)
        for seen in (booleans,) if self.patch is None else self.patch.windows(booleans):
            matches = np.zeros((len(booleans), len(self)), dtype=bool)
            if len(filled):
                holds = seen[:, self.boolean] != self.negated
                matches[:, filled] = MEANINGS[self.meaning].reduceat(holds, self.offsets[filled], axis=1)
            yield matches

    def redress_words(self) -> NDArray[np.int64]:
        """Return the REDRESS words of each class. A clause of weight w is written w times."""
        return np.abs(self.weights.astype(np.int64)).T @ self.lengths


def _starts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the offsets of clauses with so many literals each."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def plain_votes(n_classes: int, n_clauses: int) -> NDArray[np.int32]:
    """Return the votes of a plain machine. The first half of a class's clauses votes +1, the others -1.

    Of an odd number of clauses, one more votes +1.
    """
    votes_of_class = np.ones((n_clauses, 1), dtype=np.int32)
    votes_of_class[n_clauses - n_clauses // 2 :] = -1
    return np.kron(np.eye(n_classes, dtype=np.int32), votes_of_class)
