"""What training saw: the range of each feature, and how often each class came.

A device compares its rows with the ranges, and its answers with the rates. Both are off unless asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.base.checks import check_integer, check_number
from ethereal.base.splits import deal_rows
from ethereal.features.rounding import to_float32
from ethereal.model.engine import input_matrix
from ethereal.model.needs import ANSWERS, WINDOWS, Supports

if TYPE_CHECKING:
    from ethereal.model import Model

ONE = 1 << 16  # a rate of 1
SLOWNESS = 7  # a rate forgets half of what was before after about 0.7 * 2**7 answers
_MOST_PARTS = 10
SUPPORTS = Supports("with_seen", front_ends=WINDOWS, outputs=ANSWERS, early=True)


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

    def outside(self, features: NDArray[Any]) -> NDArray[np.int64]:
        """Return how many features of each row are outside of their range. A missing value is not."""
        singles = to_float32(features)
        with np.errstate(invalid="ignore"):
            return np.asarray(((singles < self.low) | (singles > self.high)).sum(axis=1), dtype=np.int64)

    def take(self, columns: NDArray[np.intp]) -> Seen:
        """Return what was seen of some features."""
        return Seen(self.low[columns], self.high[columns], self.limit, self.rates)


def seen_in(
    model: Model, X: Any, y: ArrayLike | None = None, groups: ArrayLike | None = None, rare: float = 0.01
) -> Seen:
    """Return what training rows show. See `Model.with_seen`."""
    SUPPORTS.check(model.needs)
    if model.fitted is None:
        raise ValueError("the model reads Booleans, which have no range. Train on numbers.")
    check_number("rare", rare, 0, 1)
    rows = to_float32(input_matrix(model, X))
    if len(rows) == 0:
        raise ValueError("X has no rows. Give the training rows.")
    used = np.zeros(model.n_features, dtype=bool)
    used[model.feature_map.feature[model.clauses.boolean]] = True
    labels = np.asarray(model.predict(X)) if y is None else np.asarray(y)
    parts = deal_rows(labels, _MOST_PARTS, 0, None if groups is None else np.asarray(groups))
    counts = np.zeros(len(rows), dtype=np.int64)
    for part in parts if len(parts) > 1 else ():
        low, high = _ranges(np.delete(rows, part, axis=0), used)
        counts[part] = Seen(low, high, 0, ()).outside(rows[part])
    # The most features outside of their ranges that all but a few rows of unseen groups have.
    limit = int(np.sort(counts)[int(np.ceil((1 - rare) * len(counts))) - 1])
    low, high = _ranges(rows, used)
    return Seen(low, high, limit, _rates(model, labels))


def _ranges(rows: NDArray[np.float32], used: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[Any]]:
    used = used & ~np.isnan(rows).all(axis=0)
    low, high = (np.full(rows.shape[1], end, dtype=np.float32) for end in (-np.inf, np.inf))
    low[used], high[used] = np.nanmin(rows[:, used], axis=0), np.nanmax(rows[:, used], axis=0)
    return low, high


def _rates(model: Model, labels: NDArray[Any]) -> tuple[int, ...]:
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
