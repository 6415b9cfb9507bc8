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
_MANY_CENTRES, _CENTRES, _FEW_FEATURES = 32, 16, 20
_PER_FEATURE, _ROWS_EACH = 4, 4  # centres for each feature, rows for each centre
_MOST_ROWS = 20_000


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


def normal_of(
    rows: NDArray[Any],
    groups: NDArray[Any] | None,
    options: NormalOptions,
    features: NDArray[np.intp] | None = None,
) -> Normal:
    """Return what is normal in rows of numbers. Each group is scored by the others for the limit.

    Without groups, five stretches of the rows are left out in turn. `features` are columns that may be taken.
    """
    if len(rows) < LEAST_ROWS:
        raise ValueError(
            f"X has {len(rows)} rows (n_samples = {len(rows)}). What is normal takes at least {LEAST_ROWS}."
        )
    columns = np.arange(rows.shape[1]) if features is None else features
    fitted = _fitted(rows, columns, options)
    if fitted is None:
        raise ValueError(
            f"None of the {len(columns)} features of X varies, so nothing tells what is normal. Look at the "
            "sensor, or give more rows."
        )
    scores = left_out_scores(rows, groups, columns, options)
    return fitted.with_limit(limit_of(scores, options.false_alarms))


def left_out_scores(
    rows: NDArray[Any], groups: NDArray[Any] | None, columns: NDArray[np.intp], options: NormalOptions
) -> NDArray[np.int64]:
    """Return the score of each row by what is normal in the other parts, -1 where these do not vary."""
    scores = np.full(len(rows), -1, dtype=np.int64)
    # Neighbours in time are alike, so that stretches of rows are left out and not every fifth row.
    parts = np.array_split(np.arange(len(rows)), _PARTS)
    if groups is not None:
        parts = list(deal_rows(np.zeros(len(rows)), _PARTS_OF_GROUPS, options.random_state, groups))
    for part in parts:
        others = _fitted(np.delete(rows, part, axis=0), columns, options)
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


def _fitted(rows: NDArray[Any], columns: NDArray[np.intp], options: NormalOptions) -> Normal | None:
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
    few = len(kept) <= _FEW_FEATURES
    wanted = (_MANY_CENTRES if few else _CENTRES) if options.n_centres == "auto" else options.n_centres
    if options.n_centres == "auto":
        wanted = max(1, min(wanted, _PER_FEATURE * len(kept), len(rows) // _ROWS_EACH))
    return Normal(*scales, centres_of(positions, wanted, rng), 0)


def separation(normal: NDArray[Any], other: NDArray[Any]) -> float:
    """Return the area under the curve of two kinds of scores: 1 where all the other ones are larger.

    >>> separation(np.array([1, 2]), np.array([2, 3]))
    0.875
    """
    ranked = np.sort(normal)
    below = np.searchsorted(ranked, other, side="left") + np.searchsorted(ranked, other, side="right")
    return int(below.sum()) / (2 * len(normal) * len(other))
