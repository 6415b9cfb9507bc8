"""From normal rows to a `Normal`, and the limit that rows left out in turn ask for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ethereal.base.checks import check_integer, check_number
from ethereal.base.splits import deal_rows
from ethereal.normal.centres import Scales, centres_of, representatives, scales_of
from ethereal.normal.record import MOST_CENTRES, MOST_FEATURES, Normal

LEAST_ROWS = 10
_PARTS, _PARTS_OF_GROUPS = 5, 10
_MANY_CENTRES, _CENTRE_BYTES = 32, 920  # with them all of a score takes less than 1.5 kB
_PER_FEATURE, _ROWS_EACH = 4, 4  # centres for each feature, rows for each centre
_MOST_ROWS = 20_000
FEW_GROUPS = 15
_DRIFT, _LEAST_DRIFT = 3, 0.02
_DRIFTING = 50  # rows of which it can be said


@dataclass(frozen=True)
class NormalOptions:
    """How normal is found. `EtherealDetector` and `Model.with_normal` have them as parameters."""

    false_alarms: float = 0.01
    n_centres: int | Literal["auto"] = "auto"
    n_features: int = 40
    random_state: int = 0

    def __post_init__(self) -> None:
        """Check the values."""
        check_number("false_alarms", self.false_alarms, 0, 0.5)
        if self.n_centres != "auto":
            check_integer("n_centres", self.n_centres, 1, MOST_CENTRES)
        check_integer("n_features", self.n_features, 1, MOST_FEATURES)


@dataclass(frozen=True)
class Spread:
    """How far the rate of false alarms may be trusted."""

    alarms: dict[str, float]  # share of each group's rows, by a detector of the others, above the limit
    drift: float | None  # share of the later half, by a detector of the earlier half, above the usual limit

    def doubts(self, false_alarms: float) -> list[str]:
        """Return why the wanted share may not hold, in sentences."""
        doubts = []
        if 0 < len(self.alarms) < FEW_GROUPS:
            doubts.append(
                f"There are {len(self.alarms)} groups. With less than {FEW_GROUPS}, a new one may have three "
                f"times the wanted {100 * false_alarms:g} % of false alarms. Record more machines or "
                "people, or let each board learn its own normal."
            )
        if self.drift is not None:
            doubts.append(
                "Later rows differ from earlier ones. For a detector of the earlier half, "
                f"{100 * self.drift:.0f} % of the later half are alarms, where {100 * false_alarms:g} % are "
                "wanted. If that goes on, the limit will not hold. Record for longer, or drop what drifts."
            )
        return doubts


def normal_of(
    rows: NDArray[Any],
    groups: NDArray[Any] | None,
    options: NormalOptions,
    features: NDArray[np.intp] | None = None,
    labels: NDArray[Any] | None = None,
) -> tuple[Normal, Spread]:
    """Return what is normal in rows of numbers. Each group is scored by the others for the limit.

    Without groups, a fifth of the rows is left out in turn, of the rows of each label in their order.
    `features` are columns that may be taken.
    """
    if len(rows) < LEAST_ROWS:
        raise ValueError(
            f"X has {len(rows)} rows (n_samples = {len(rows)}). What is normal takes at least {LEAST_ROWS}."
        )
    columns = np.arange(rows.shape[1]) if features is None else features
    fitted = without_limit(rows, columns, options)
    if fitted is None:
        raise ValueError(
            f"None of the {len(columns)} features of X varies, so nothing tells what is normal. Look at the "
            "sensor, or give more rows."
        )
    fifths = _stretches(len(rows), labels, _PARTS)
    if groups is not None:
        parts = list(deal_rows(np.zeros(len(rows)), _PARTS_OF_GROUPS, options.random_state, groups))
    else:
        parts = [np.flatnonzero(fifths == i) for i in range(_PARTS)]
    scores = left_out_scores(rows, parts, columns, options)
    limit = limit_of(scores, options.false_alarms)
    alarms: dict[str, float] = {}
    drift = None
    if groups is None:
        halves = _stretches(len(rows), labels, 2)
        drift = _drift(rows, halves, columns, options, limit)
    else:
        names, codes = np.unique(groups, return_inverse=True)
        of_groups = [scores[codes == i] for i in range(len(names))]
        limit = _widened(limit, of_groups)
        alarms = {
            str(name): float((each > limit).mean()) for name, each in zip(names, of_groups, strict=True)
        }
    return fitted.with_limit(limit), Spread(alarms, drift)


def _widened(limit: int, scores: list[NDArray[np.int64]]) -> int:
    """Return a limit with room for a new group, which may differ more than the few that there are.

    >>> _widened(90, [np.array([8]), np.array([10, 10, 99]), np.array([20])])
    120
    """
    middles = sorted(int(np.sort(each)[len(each) // 2]) for each in scores)
    middle = max(1, middles[len(middles) // 2])
    return limit + limit * (middles[-1] - middle) // (middle * len(middles))


def _stretches(n_rows: int, labels: NDArray[Any] | None, n_stretches: int) -> NDArray[np.int64]:
    """Return which stretch of the rows of its label each row is in.

    >>> _stretches(5, None, 2).tolist(), _stretches(5, np.array([7, 7, 8, 7, 8]), 2).tolist()
    ([0, 0, 0, 1, 1], [0, 0, 0, 1, 1])
    """
    stretch = np.zeros(n_rows, dtype=np.int64)
    for rows in (
        [np.arange(n_rows)] if labels is None else [np.flatnonzero(labels == x) for x in np.unique(labels)]
    ):
        stretch[rows] = n_stretches * np.arange(len(rows)) // len(rows)
    return stretch


def _drift(
    rows: NDArray[Any],
    halves: NDArray[np.int64],
    columns: NDArray[np.intp],
    options: NormalOptions,
    limit: int,
) -> float | None:
    """Return how many of the later half are above the limit by the earlier half, None where that is usual.

    It is usual where a random half of the rows has about as many.
    """

    def above(is_later: NDArray[np.bool_]) -> float:
        half = without_limit(rows[~is_later], columns, options)
        return 0.0 if half is None else float((half.score(rows[is_later]) > limit).mean())

    drift = above(halves == 1) if len(rows) >= _DRIFTING else 0.0
    if drift <= _DRIFT * options.false_alarms + _LEAST_DRIFT:
        return None
    mixed = np.random.default_rng(options.random_state).permutation(halves)
    return drift if drift > _DRIFT * above(mixed == 1) else None


def left_out_scores(
    rows: NDArray[Any],
    parts: list[NDArray[np.intp]],
    columns: NDArray[np.intp],
    options: NormalOptions,
) -> NDArray[np.int64]:
    """Return the score of each row by what is normal in the other parts, -1 where these do not vary."""
    scores = np.full(len(rows), -1, dtype=np.int64)
    for part in parts:
        others = without_limit(np.delete(rows, part, axis=0), columns, options)
        if others is not None:
            scores[part] = others.score(rows[part])
    return scores


def limit_of(scores: NDArray[np.int64], false_alarms: float) -> int:
    """Return the score that all but a share of rows stay below or at.

    >>> limit_of(np.arange(100), 0.05), limit_of(np.array([7, 3]), 0.01)
    (95, 7)
    """
    ranked = np.sort(scores[scores >= 0])
    if len(ranked) == 0:
        return 0
    place = math.ceil((1 - false_alarms) * (len(ranked) + 1)) - 1
    return int(ranked[min(max(place, 0), len(ranked) - 1)])


def without_limit(rows: NDArray[Any], columns: NDArray[np.intp], options: NormalOptions) -> Normal | None:
    """Return what is normal without a limit, None where no feature varies."""
    rng = np.random.default_rng(options.random_state)
    if len(rows) > _MOST_ROWS:
        rows = rows[np.sort(rng.choice(len(rows), _MOST_ROWS, replace=False))]
    scales: Scales = scales_of(rows, columns)
    if len(scales.features) == 0:
        return None
    positions = scales.positions(rows)
    kept = representatives(positions, options.n_features)
    scales, positions = scales.take(kept), np.ascontiguousarray(positions[:, kept])
    most = (_MANY_CENTRES, _CENTRE_BYTES // len(kept), _PER_FEATURE * len(kept), len(rows) // _ROWS_EACH)
    n_centres = max(1, min(most)) if options.n_centres == "auto" else options.n_centres
    return Normal(*scales, centres_of(positions, n_centres, rng), 0)


def separation(normal: NDArray[Any], other: NDArray[Any]) -> float:
    """Return the area under the curve of two kinds of scores: 1 where all the other ones are larger.

    >>> separation(np.array([1, 2]), np.array([2, 3]))
    0.875
    """
    ranked = np.sort(normal)
    below = np.searchsorted(ranked, other, side="left") + np.searchsorted(ranked, other, side="right")
    return int(below.sum()) / (2 * len(normal) * len(other))
