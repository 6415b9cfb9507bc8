"""A linear part beside the clauses of a number, in whole numbers.

A feature counts in steps of a power of two: its value over the step, cut towards zero, kept between the
lowest and the highest value of training, and counted from the lowest. A missing value counts as the lowest.
The steps times whole weights are added up in 32 bits. A board needs neither floating point nor a wider
product for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ethereal.features.rounding import to_float32

MOST_STEPS = (1 << 16) - 1  # of a feature
MOST_PLACE = (1 << 23) - 1  # of a value in steps, counted from zero
MOST_FINE = (1 << 31) - 1  # what weights times steps add up to at most, whatever their signs
_EXPONENTS = -100, 100


class Slope(NamedTuple):
    """How one feature counts.

    >>> Slope(feature=2, weight=-3, exponent=-1, low=4, high=10).range
    (2.0, 5.0)
    """

    feature: int
    weight: int  # of a step
    exponent: int  # of two: the step
    low: int  # in steps, as values below it count
    high: int

    @property
    def range(self) -> tuple[float, float]:
        """The values between which it changes the number."""
        return math.ldexp(self.low, self.exponent), math.ldexp(self.high, self.exponent)

    def steps(self, column: NDArray[Any]) -> NDArray[np.int64]:
        """Return how many steps values are above the lowest.

        >>> Slope(0, 1, exponent=-1, low=-4, high=10).steps(np.array([-9.0, -0.9, 1.3, 9.0, np.nan])).tolist()
        [0, 3, 6, 14, 0]
        """
        values = to_float32(column).astype(np.float64) * 2.0**-self.exponent
        known = np.where(np.isnan(values), self.low, values)
        steps: NDArray[np.int64] = np.trunc(np.clip(known, self.low, self.high)).astype(np.int64)
        return steps - self.low


@dataclass(frozen=True)
class Linear:
    """The slopes of features, in the order of the features, and what a weight of one adds to the number.

    >>> part = Linear(2.0**-10, (Slope(0, 300, -2, 0, 40), Slope(1, -200, 0, -5, 5)))
    >>> part.fine(np.array([[1.0, 0.0], [99.0, 7.5]])).tolist()
    [200, 10000]
    >>> part.votes(np.array([[1.0, 0.0], [99.0, 7.5]]), scale=0.5).tolist()
    [0, 20]
    """

    step: float  # a power of two
    slopes: tuple[Slope, ...]

    def __post_init__(self) -> None:
        """Check everything, because it may come from a file."""
        slopes = tuple(Slope(*map(_whole, slope)) for slope in self.slopes)
        if not isinstance(self.step, float) or not self.step > 0 or math.frexp(self.step)[0] != 0.5:
            raise ValueError(f"linear.step is {self.step!r}. It must be a power of two.")
        places = [slope.feature for slope in slopes]
        if not places or places[0] < 0 or any(b <= a for a, b in pairwise(places)):
            raise ValueError(f"linear.slopes are of the features {places}. They must ascend from 0 or more.")
        for slope in slopes:
            if not -MOST_PLACE <= slope.low < slope.high <= MOST_PLACE:
                raise ValueError(f"{slope} has a range that is empty, or beyond {MOST_PLACE} steps.")
            if slope.high - slope.low > MOST_STEPS or not _EXPONENTS[0] <= slope.exponent <= _EXPONENTS[1]:
                raise ValueError(f"{slope} has more than {MOST_STEPS} steps, or an exponent beyond 100.")
        if (most := sum(abs(s.weight) * (s.high - s.low) for s in slopes)) > MOST_FINE:
            raise ValueError(f"linear.slopes add up to {most:,}. At most {MOST_FINE:,} is possible.")
        vars(self).update(slopes=slopes)

    def fine(self, X: NDArray[Any]) -> NDArray[np.int64]:
        """Return the weights times the steps of rows of features, added up."""
        sums = np.zeros(len(X), np.int64)
        for slope in self.slopes:
            sums += slope.weight * slope.steps(X[:, slope.feature])
        return sums

    def shift(self, scale: float) -> int:
        """Return the bits that are dropped to make votes that are worth `scale` each."""
        return math.frexp(scale)[1] - math.frexp(self.step)[1]

    def lift(self, scale: float) -> int:
        """Return the votes that are added first, so that the sum is never below zero, and taken off last."""
        least = sum(min(s.weight, 0) * (s.high - s.low) for s in self.slopes)
        return -(least >> self.shift(scale))

    def votes(self, X: NDArray[Any], scale: float) -> NDArray[np.int64]:
        """Return what the linear part adds to the votes of rows, where a vote is worth `scale`."""
        return self.rounded(self.fine(X), scale)

    def rounded(self, fine: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Return sums of `fine` as votes, the nearest ones."""
        shift = self.shift(scale)
        return np.asarray((fine + (1 << shift >> 1)) >> shift)

    def bounds(self, scale: float) -> tuple[int, int]:
        """Return the least and the most votes that it can give."""
        ends = [sum(side(s.weight, 0) * (s.high - s.low) for s in self.slopes) for side in (min, max)]
        low, high = self.rounded(np.array(ends), scale).tolist()
        return low, high

    def as_dict(self) -> dict[str, Any]:
        """Return its parts, for JSON."""
        return {"step": self.step, "slopes": [list(slope) for slope in self.slopes]}


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"linear has {value!r} in place of a whole number.")
    return int(value)
