"""Find what is normal in rows of normal: scales of features, which of them to take, and centres.

Scales come from sorted values, and all else is whole numbers, so that the same rows and seed give the same
bits everywhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ethereal.features.rounding import to_float32
from ethereal.normal.record import EDGE, nearest, positions_of, steps_in, steps_of

DEVIATION = 12.0  # positions that are a standard deviation of a feature
_RARE = 200  # one row in so many on either side may be any
_FINE = 12  # bits of the steps of all others
_STARTS, _PASSES = 3, 30
_MOST_ROWS = 20_000  # that centres are made of


class Scales(NamedTuple):
    """How features become positions."""

    features: NDArray[np.int32]
    exponents: NDArray[np.int8]
    middles: NDArray[np.int32]
    gains: NDArray[np.uint8]

    def positions(self, rows: NDArray[Any]) -> NDArray[np.int8]:
        """Return positions, rows x features."""
        steps = steps_in(rows[:, self.features], self.exponents, self.middles)
        return positions_of(steps, self.middles, self.gains)

    def take(self, kept: NDArray[np.intp]) -> Scales:
        """Return those of some of the features."""
        return Scales(self.features[kept], self.exponents[kept], self.middles[kept], self.gains[kept])


def scales_of(rows: NDArray[Any], features: NDArray[np.intp]) -> Scales:
    """Return the scales of those `features` that are not the same in all rows.

    The middle is the mean, and `DEVIATION` positions are a standard deviation. Values beyond all but a few
    rows count as the last that is not.
    """
    singles = to_float32(rows[:, features])
    is_whole = bool((singles == np.rint(singles)).all() and (np.abs(singles) <= 1 << 16).all())
    kept, exponents, middles, gains = [], [], [], []
    for f, column in zip(features.tolist(), np.sort(singles, axis=0).T, strict=True):
        exponent = 0 if is_whole else _finest(column)
        steps = steps_of(column[np.isfinite(column)][:, None], np.array([exponent], dtype=np.int8))[:, 0]
        middle, variance = _moments(steps)
        if variance == 0:
            continue
        fraction, power = np.frexp(DEVIATION / np.sqrt(variance))
        kept.append(f)
        exponents.append(exponent)
        middles.append(middle)
        gains.append((int(fraction * 16) - 8) | min(max(7 - int(power), 0), 31) << 3)
    return Scales(
        np.array(kept, dtype=np.int32),
        np.array(exponents, dtype=np.int8),
        np.array(middles, dtype=np.int32),
        np.array(gains, dtype=np.uint8),
    )


def _finest(column: NDArray[np.float32]) -> int:
    """Return the exponent of steps that are fine enough for ascending values, and not too many."""
    finite = column[np.isfinite(column)].astype(np.float64)
    if len(finite) == 0:
        return 0
    rare = (len(finite) - 1) // _RARE
    wide = float(finite[-1 - rare] - finite[rare]) or float(finite[-1] - finite[0])
    largest = max(abs(float(finite[rare])), abs(float(finite[-1 - rare])))
    finest = min(_FINE - int(np.frexp(wide)[1]), 22 - int(np.frexp(largest)[1]))
    return int(np.clip(finest, -126, 60))


def _moments(steps: NDArray[np.int64]) -> tuple[int, float]:
    """Return the mean and the variance of ascending steps, rare ones held to the next that is not."""
    if len(steps) == 0:
        return 0, 0.0
    rare = (len(steps) - 1) // _RARE
    if steps[rare] < steps[-1 - rare]:
        steps = np.clip(steps, steps[rare], steps[-1 - rare])
    n, total = len(steps), int(steps.sum())
    middle = (2 * total + n) // (2 * n)
    away = steps - middle
    return middle, int((away * away).sum()) / n


def representatives(positions: NDArray[np.int8], most: int) -> NDArray[np.intp]:
    """Return at most so many columns that say most about all columns, ascending.

    A column says of another what their squared correlation is. The next one to be taken adds most to what is
    said of all, the first on a tie. All sums are of whole numbers.
    """
    rows = positions.astype(np.float64)
    n = len(rows)
    if rows.shape[1] <= most:
        return np.arange(rows.shape[1])
    sums = rows.sum(axis=0)
    products = n * (rows.T @ rows) - np.outer(sums, sums)  # below 2**53, so exact
    size = np.diag(products)
    said = np.floor(products * (65536.0 * products) / np.maximum(np.outer(size, size), 1.0)).astype(np.int64)
    best = np.zeros(len(said), dtype=np.int64)
    chosen: list[int] = []
    while len(chosen) < most:
        gains = np.maximum(said - best, 0).sum(axis=1)
        gains[chosen] = -1
        chosen.append(int(gains.argmax()))
        best = np.maximum(best, said[chosen[-1]])
    return np.sort(np.array(chosen))


def centres_of(positions: NDArray[np.int8], n_centres: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Return centres with the least squared distance to the rows, of a few starts."""
    if len(positions) > _MOST_ROWS:
        positions = positions[np.sort(rng.choice(len(positions), _MOST_ROWS, replace=False))]
    best: tuple[int, NDArray[np.int8]] | None = None
    for _ in range(_STARTS if n_centres > 1 else 1):
        centres, total = _improved(positions, _first(positions, n_centres, rng))
        if best is None or total < best[0]:
            best = total, centres
    assert best is not None
    return best[1]


def _first(positions: NDArray[np.int8], n_centres: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Return rows that are far from one another, drawn by their squared distances."""
    chosen = [int(rng.integers(len(positions)))]
    distance = nearest(positions, positions[chosen])[1]
    while len(chosen) < n_centres and (total := int(distance.sum())) > 0:
        place = np.searchsorted(np.cumsum(distance), rng.integers(total), side="right")
        chosen.append(int(place))
        distance = np.minimum(distance, nearest(positions, positions[chosen[-1:]])[1])
    return positions[chosen]


def _improved(positions: NDArray[np.int8], centres: NDArray[np.int8]) -> tuple[NDArray[np.int8], int]:
    """Move each centre to the mean of its rows until none moves, and return the sum of distances too."""
    rows = positions.astype(np.float64)
    for _ in range(_PASSES):
        owner, _ = nearest(positions, centres)
        is_of = (owner == np.arange(len(centres))[:, None]).astype(np.float64)
        sums, counts = (is_of @ rows).astype(np.int64), is_of.sum(axis=1).astype(np.int64)[:, None]
        moved = np.where(counts > 0, (2 * sums + counts) // np.maximum(2 * counts, 1), centres)
        moved = np.clip(moved, -EDGE, EDGE).astype(np.int8)
        if (moved == centres).all():
            break
        centres = moved
    return centres, int(nearest(positions, centres)[1].sum())
