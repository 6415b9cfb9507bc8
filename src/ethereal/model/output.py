"""What comes out of a model, the one place where class sums become an answer.

A new kind of answer, such as a number, is another class with these methods. Each consumer says in its
`Supports` which kinds it can give.

A model with early answers has checks. A check stands behind the first clauses, in the order of the model. If
the leading class is then ahead of the next one by more votes than the margin, it is the answer. Class sums
are those of all clauses, so a few answers differ from the largest sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ethereal.model.calibration import softmax

if TYPE_CHECKING:
    from ethereal.model import Model

_LEAST_SHARE = 1e-9  # of a class, so that one row that is wrong and sure of it does not decide alone


@dataclass(frozen=True, eq=False)
class Classes:
    """The label of the largest sum, and of the first of them on a tie."""

    labels: NDArray[Any]
    kind: ClassVar[str] = "classes"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Classes) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def _parts(self) -> tuple[Any, ...]:
        """Return what makes two of them equal."""
        return self.kind, self.labels.dtype.kind, *self.labels.tolist()

    @property
    def n_answers(self) -> int:
        """Number of classes."""
        return len(self.labels)

    def indices(self, sums: NDArray[Any]) -> NDArray[np.int64]:
        """Return the index of each row's class."""
        return np.asarray(sums.argmax(axis=1), dtype=np.int64)

    def answers(self, sums: NDArray[Any]) -> NDArray[Any]:
        """Return each row's label."""
        return np.asarray(self.labels[self.indices(sums)])

    def loss(self, sums: NDArray[Any], wanted: NDArray[Any], scale: float) -> NDArray[np.float32]:
        """Return minus the logarithm of the share of the wanted class, with `scale` logits per vote."""
        shares = softmax(scale * sums)[np.arange(len(wanted)), wanted]
        return np.asarray(-np.log(np.maximum(shares, _LEAST_SHARE)), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class ClassesOrUnknown(Classes):
    """The label of the largest sum if it leads by `margin` votes or more, else `unknown`.

    The number of "unknown" is the one after the last class.
    """

    margin: int
    unknown: Any
    kind: ClassVar[str] = "unknown"

    def _parts(self) -> tuple[Any, ...]:
        return *super()._parts(), self.margin, repr(self.unknown)

    @property
    def n_answers(self) -> int:
        """Number of classes, and one for "unknown"."""
        return len(self.labels) + 1

    def indices(self, sums: NDArray[Any]) -> NDArray[np.int64]:
        """Return the index of each row's class, or the number of classes."""
        return np.where(leads(sums) < self.margin, len(self.labels), Classes.indices(self, sums))

    def answers(self, sums: NDArray[Any]) -> NDArray[Any]:
        """Return each row's label, or what stands for "unknown"."""
        labels = self.labels.astype(np.int64) if self.labels.dtype.kind in "iu" else self.labels
        return np.append(labels, self.unknown)[self.indices(sums)]


@dataclass(frozen=True, eq=False)
class NormalOrNot(Classes):
    """The first label up to a limit, the second above it. The sums are the limit and the score."""

    kind: ClassVar[str] = "normal"


def leads(sums: NDArray[Any]) -> NDArray[np.int64]:
    """Return by how many votes the first class leads in each row, 0 on a tie."""
    if sums.shape[1] < 2:
        return np.zeros(len(sums), dtype=np.int64)
    best = np.partition(sums, -2, axis=1)[:, -2:].astype(np.int64)
    return np.asarray(best[:, 1] - best[:, 0])


class Check(NamedTuple):
    """Where a model may answer early."""

    n_clauses: int  # that come before it
    margin: int  # votes by which the leading class must be ahead, and one more


def checks_of(numbers: Iterable[Iterable[Any]], n_clauses: int) -> tuple[Check, ...]:
    """Return checks in their order, each of them possible."""
    checks = tuple(Check(*map(_whole, pair)) for pair in numbers)
    places = [0, *(check.n_clauses for check in checks), n_clauses]
    if any(one >= other for one, other in pairwise(places)) and checks:
        raise ValueError(
            f"The checks of early answers stand behind {places[1:-1]} clauses of {n_clauses}. Each must "
            "stand behind the one before it, and before the last clause."
        )
    if any(not 0 <= check.margin < 2**31 for check in checks):
        raise ValueError(
            f"The margins of early answers are {[c.margin for c in checks]}. None may be below 0."
        )
    return checks


def _whole(number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
        raise TypeError(f"A check of early answers has {number!r} in place of a whole number.")
    return int(number)


def parts_of(model: Model) -> list[Model]:
    """Return a model of the clauses before each check, then one of all clauses. None has checks."""
    ends = [*(check.n_clauses for check in model.early), model.n_clauses]
    return [model._with(clauses=model.clauses.take(np.arange(n))) for n in ends]


def early_answers(
    model: Model, parts: list[Model], sums_of: Callable[[Model], NDArray[Any]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the class index of each row, and behind which part it is known.

    `parts` are those of `parts_of`, and `sums_of` gives the class sums of a part, rows x classes.
    """
    *before, last = parts
    winners = model.output.indices(sums_of(last))
    where = np.full(len(winners), len(before), dtype=np.int64)
    for i in reversed(range(len(before))):
        sums = sums_of(before[i])
        is_clear = leads(sums) > model.early[i].margin
        winners = np.where(is_clear, model.output.indices(sums), winners)
        where[is_clear] = i
    return winners, where
