"""What training saw: how often each class came, and in older files the range of each feature.

A device compares its answers with the rates, and its rows with the ranges. New models know what is normal in
place of ranges (`Model.with_normal`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.checks import check_integer
from ethereal.features.rounding import to_float32

if TYPE_CHECKING:
    from ethereal.model import Model

ONE = 1 << 16  # a rate of 1
SLOWNESS = 7  # a rate forgets half of what was before after about 0.7 * 2**7 answers


@dataclass(frozen=True, eq=False)
class Seen:
    """Ranges of the features that clauses ask for, and rates of all answers.

    A feature that no clause asks for has an infinite range.
    """

    low: NDArray[np.float32]
    high: NDArray[np.float32]
    limit: int  # features outside of their ranges, above which a row is novel
    rates: tuple[int, ...]  # of each answer, in parts of 65536

    def __post_init__(self) -> None:
        """Check everything, because it may come from a file."""
        if self.low.shape != self.high.shape or self.low.ndim != 1 or not (self.low <= self.high).all():
            raise ValueError("ranges need a lowest and a highest value for each feature")
        check_integer("limit", self.limit, 0, 2**31 - 1)
        for rate in self.rates:
            check_integer("rates", rate, 0, ONE)
        for bounds in (self.low, self.high):
            bounds.setflags(write=False)

    @property
    def has_ranges(self) -> bool:
        """Whether any feature has a range, so that there is something to be outside of."""
        return bool(np.isfinite(self.high).any() or np.isfinite(self.low).any())

    def outside(self, features: NDArray[Any]) -> NDArray[np.int64]:
        """Return how many features of each row are outside of their range. A missing value is not."""
        singles = to_float32(features)
        with np.errstate(invalid="ignore"):
            return np.asarray(((singles < self.low) | (singles > self.high)).sum(axis=1), dtype=np.int64)

    def take(self, columns: NDArray[np.intp]) -> Seen:
        """Return what was seen of some features."""
        return Seen(self.low[columns], self.high[columns], self.limit, self.rates)


def rates_of(model: Model, labels: NDArray[Any]) -> tuple[int, ...]:
    """Return the rates of all answers. That of "unknown" is what its calibration expects."""
    shares = np.array([(labels == label).mean() for label in model.classes.tolist()])
    if model.output.n_answers > model.n_classes:
        answered = model.provenance.get("unknown", {}).get("answered", 1.0)
        shares = np.append(shares * answered, 1 - answered)
    return tuple(np.clip(np.rint(shares * ONE), 0, ONE).astype(int).tolist())


class Drift:
    """How far the latest answers of a stream are from the rates of training.

    Whole numbers, as on the device. The distance is 0 at the start, and 1000 when every recent answer is one
    that training never had.

    >>> drift = Drift((32768, 32768))
    >>> [drift.add(0) for _ in range(200)][-1] > 350
    True
    """

    def __init__(self, rates: tuple[int, ...]) -> None:
        self._expected, self._now = rates, list(rates)

    def add(self, answer: int) -> int:
        """Take the number of an answer, and return the distance, from 0 to 1000."""
        distance = 0
        for a, rate in enumerate(self._now):
            rate = rate + ((ONE - rate) >> SLOWNESS) if a == answer else rate - (rate >> SLOWNESS)
            self._now[a] = rate
            distance += abs(rate - self._expected[a])
        return distance * 125 >> 14
