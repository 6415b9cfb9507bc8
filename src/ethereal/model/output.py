"""What comes out of a model, the one place where class sums become an answer.

Each kind of answer is a class with the methods of `Classes`. Each consumer says in its `Supports` which kinds
it can give. What a kind does not have, such as the labels of a number, it refuses by name.

A model with early answers has checks. A check stands behind the first clauses, in the order of the model. If
the leading class is then ahead of the next one by more votes than the margin, it is the answer. Class sums
are those of all clauses, so a few answers differ from the largest sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ethereal.base.checks import check_number
from ethereal.model.calibration import softmax
from ethereal.model.linear import Linear
from ethereal.model.needs import NotSupported

if TYPE_CHECKING:
    from ethereal.model import Model

_LEAST_SHARE = 1e-9  # of a class, so that one row that is wrong and sure of it does not decide alone
_SCALES = 2.0**-100, 2.0**100
_LEAST_OFFSET, _MOST_OFFSET = 2.0**-100, 2.0**125
MOST_SUM = 1 << 24  # of the votes for a number, up to which a float32 holds every whole number


@dataclass(frozen=True)
class Number:
    """A number: `offset + scale * votes` in float32, where a clause has one column of votes.

    The scale is a power of two, so the product is exact and only the addition rounds. Therefore a host and a
    board give the same bits, whether or not their compiler fuses the two.

    Parameters
    ----------
    scale
        What one vote is worth, a power of two. `Number.scale_of(step)` gives the one nearest below a step.
    offset
        What the answer is without votes. It is rounded to float32.
    half_width
        Half the width of an interval around the answer that holds 90 % of the true values, None if unknown.
    unit
        Of the number, such as "degC", for texts.
    name
        Of what the number tells, such as "temperature", for texts.

    Examples
    --------
    >>> from ethereal.model import Model, Number
    >>> number = Number(scale=0.5, offset=20.0, half_width=1.5, unit="degC", name="temperature")
    >>> model = Model(
    ...     [0, 3], [0, 1, 2], [[6], [-3]], n_booleans=2, output=number, feature_names=["load", "fan"])
    >>> model.predict([[True, True], [True, False], [False, True]])
    array([23. , 21.5, 20. ], dtype=float32)
    >>> print(model.describe())
    temperature: 20.0 degC, and 2 clauses, 2 includes
      +3 degC IF load
      -1.5 degC IF NOT fan
    """

    scale: float
    offset: float = 0.0
    half_width: float | None = None
    unit: str = ""
    name: str = ""
    kind: ClassVar[str] = "number"

    def __post_init__(self) -> None:
        """Check everything, because it may come from a file."""
        scale = check_number("scale", self.scale, *_SCALES)
        if math.frexp(scale)[0] != 0.5:
            raise ValueError(
                f"scale is {self.scale!r}. It must be a power of two, so that products with votes are exact. "
                f"Use Number.scale_of({self.scale!r}), which is {self.scale_of(scale)!r}."
            )
        offset = check_number("offset", self.offset, -_MOST_OFFSET, _MOST_OFFSET)
        if 0 < abs(offset) < _LEAST_OFFSET:
            raise ValueError(f"offset is {self.offset!r}. It must be 0, or at least {_LEAST_OFFSET:g}.")
        half_width = self.half_width
        if half_width is not None:
            half_width = float(np.float32(check_number("half_width", half_width, 0.0, _MOST_OFFSET)))
        for name in ("unit", "name"):
            if not isinstance(text := getattr(self, name), str) or not text.isprintable():
                raise TypeError(f"{name} is {text!r}. It must be a text in one line.")
        # Adding 0 makes -0.0 a 0.0, which not every compiler tells apart.
        vars(self).update(scale=scale, offset=float(np.float32(offset)) + 0.0, half_width=half_width)

    @staticmethod
    def scale_of(step: float) -> float:
        """Return the largest power of two that is not above a step.

        >>> Number.scale_of(0.3)
        0.25
        """
        step = check_number("step", step, *_SCALES)
        return math.ldexp(0.5, math.frexp(step)[1])

    def codes(self, sums: NDArray[Any]) -> NDArray[np.int64]:
        """Return the sum of the votes of each row."""
        return np.asarray(sums[:, 0], dtype=np.int64)

    def answers(self, sums: NDArray[Any]) -> NDArray[np.float32]:
        """Return the number of each row."""
        return np.float32(self.offset) + np.float32(self.scale) * sums[:, 0].astype(np.float32)

    @property
    def columns(self) -> list[str]:
        """Name of the one column of votes."""
        return [self.name or self.kind]

    def amount(self, votes: float) -> str:
        """Return what votes add to the number, in words.

        >>> Number(scale=0.125, unit="kg").amount(-10)
        '-1.25 kg'
        """
        return f"{self.scale * votes:+.4g} {self.unit}".rstrip()

    def text(self, value: float) -> str:
        """Return a value of the number in words, to about the worth of a vote.

        >>> Number(scale=0.125, unit="kg").text(2.5)
        '2.5 kg'
        """
        return f"{value:.{self.digits}f} {self.unit}".rstrip()

    @property
    def digits(self) -> int:
        """Digits behind the point that are worth telling."""
        return max(0, math.ceil(-math.log10(self._told)))

    @property
    def _told(self) -> float:
        """What is about the least difference worth telling."""
        return self.scale

    def as_dict(self) -> dict[str, Any]:
        """Return its parts, for JSON."""
        return dict(vars(self))

    def without_line(self) -> Number:
        """Return it without its linear part."""
        return self

    @property
    def line(self) -> Linear | None:
        """Its linear part, if there is one."""
        return None

    @property
    def labels(self) -> NDArray[Any]:
        """Refuse, because there are no classes."""
        raise NotSupported("The answer of this model is a number, so it has no classes.")

    @property
    def n_answers(self) -> int:
        """Refuse, because answers are not counted."""
        raise NotSupported("The answer of this model is a number, so its answers cannot be counted.")

    def loss(self, sums: NDArray[Any], wanted: NDArray[Any], scale: float) -> NDArray[np.float32]:
        """Refuse, because this is the loss of classes."""
        raise NotSupported("The answer of this model is a number, and has no shares of classes.")


@dataclass(frozen=True)
class LinearNumber(Number):
    """A number with a linear part, whose votes are added to those of the clauses."""

    linear: Linear | None = None  # always given
    kind: ClassVar[str] = "linear number"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.linear, Mapping):  # from a file
            vars(self).update(linear=Linear(self.linear["step"], tuple(self.linear["slopes"])))
        if not isinstance(self.linear, Linear):
            raise TypeError(f"linear is {self.linear!r}. It must be an ethereal.model.linear.Linear.")
        if not 0 <= self.linear.shift(self.scale) <= 30:
            raise ValueError(
                f"scale is {self.scale!r}. It must be 1 to 2**30 times linear.step, {self.linear.step!r}."
            )

    def without_line(self) -> Number:
        """Return it without its linear part."""
        return Number(**{name: value for name, value in vars(self).items() if name != "linear"})

    def as_dict(self) -> dict[str, Any]:
        """Return its parts, for JSON."""
        return {**vars(self), "linear": self.line.as_dict()}

    @property
    def _told(self) -> float:
        return max(self.scale, (self.half_width or 0.0) / 50)

    @property
    def line(self) -> Linear:
        """Its linear part."""
        assert self.linear is not None
        return self.linear


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
    def columns(self) -> list[str]:
        """Names of the columns of votes, those of the classes."""
        return [str(label) for label in self.labels.tolist()]

    @property
    def n_answers(self) -> int:
        """Number of classes."""
        return len(self.labels)

    def codes(self, sums: NDArray[Any]) -> NDArray[np.int64]:
        """Return the index of each row's class."""
        return np.asarray(sums.argmax(axis=1), dtype=np.int64)

    def answers(self, sums: NDArray[Any]) -> NDArray[Any]:
        """Return each row's label."""
        return np.asarray(self.labels[self.codes(sums)])

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

    def codes(self, sums: NDArray[Any]) -> NDArray[np.int64]:
        """Return the index of each row's class, or the number of classes."""
        return np.where(leads(sums) < self.margin, len(self.labels), Classes.codes(self, sums))

    def answers(self, sums: NDArray[Any]) -> NDArray[Any]:
        """Return each row's label, or what stands for "unknown"."""
        labels = self.labels.astype(np.int64) if self.labels.dtype.kind in "iu" else self.labels
        return np.append(labels, self.unknown)[self.codes(sums)]


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
    winners = model.output.codes(sums_of(last))
    where = np.full(len(winners), len(before), dtype=np.int64)
    for i in reversed(range(len(before))):
        sums = sums_of(before[i])
        is_clear = leads(sums) > model.early[i].margin
        winners = np.where(is_clear, model.output.codes(sums), winners)
        where[is_clear] = i
    return winners, where
