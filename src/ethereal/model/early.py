"""Early answers: after some clauses a row that is clear enough is answered without the others.

A model with early answers has checks. A check stands behind the first clauses, in the order of the model. If
the leading class is then ahead of the next one by more votes than the margin, it is the answer. Class sums
are those of all clauses, so a few answers differ from the largest sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ethereal.model.output import leads

if TYPE_CHECKING:
    from ethereal.model import Model


class Check(NamedTuple):
    """Where a model may answer early."""

    n_clauses: int  # that come before it
    margin: int  # votes by which the leading class must be ahead, and one more


def checks_of(numbers: Iterable[Iterable[Any]], n_clauses: int) -> tuple[Check, ...]:
    """Return checks in their order, each of them possible.

    >>> checks_of([(2, 5)], 3)
    (Check(n_clauses=2, margin=5),)
    """
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
    """Return the models of the clauses up to each check, without checks, and that of all clauses.

    >>> from ethereal import Model
    >>> model = Model([0, 1], [0, 1, 2], [[5, 0], [0, 2]], n_booleans=2, classes=["a", "b"])
    >>> early = model._with(early=checks_of([(1, 2)], 2))
    >>> [part.n_clauses for part in parts_of(early)], early.predict([[True, True], [False, True]])
    ([1, 2], array(['a', 'b'], dtype='<U1'))
    """
    ends = [*(check.n_clauses for check in model.early), model.n_clauses]
    return [model._with(clauses=model.clauses.take(np.arange(n))) for n in ends]


def answers(
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
