"""What is normal, as a board holds it: integers of some features, centres among them, and a limit.

A feature becomes a whole number of steps, `ceil(value * 2**exponent)` in float32, which is the value itself
where all values are whole numbers. A position is `(steps - middle) * gain`, rounded towards 0 and held
between -127 and 127. The score of a row is the squared distance from its positions to the nearest centre.
Everything is whole numbers, so host and board have the same score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.checks import check_integer
from ethereal.features.rounding import to_float32

FARTHEST = (1 << 23) - 1  # steps
EDGE = 127  # the largest position
MOST_CENTRES = 255
MOST_FEATURES = 4096
_BLOCK = 1 << 22  # numbers of an array of positions that are looked at together
_TYPES = {"features": np.int32, "exponents": np.int8, "middles": np.int32, "gains": np.uint8,
          "centres": np.int8}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Normal:
    """Centres of normal rows, and the largest score that is still normal.

    Parameters
    ----------
    features
        Columns of the rows that are looked at, ascending.
    exponents, middles, gains
        What makes a position of each of them. A gain is a byte: 64 and eight times its lowest three bits,
        divided by two to the power of the others.
    centres
        Positions, centres x features.
    limit
        A row with a larger score is not normal.
    """

    features: NDArray[np.int32]
    exponents: NDArray[np.int8]
    middles: NDArray[np.int32]
    gains: NDArray[np.uint8]
    centres: NDArray[np.int8]
    limit: int

    def __post_init__(self) -> None:
        """Check everything, because it may come from a file."""
        for name, dtype in _TYPES.items():
            array = getattr(self, name)
            shape = self.features.shape if name != "centres" else (len(self.centres), len(self.features))
            if array.dtype != dtype or array.shape != shape or not array.size:
                raise ValueError(
                    f"{name} of what is normal has the type {array.dtype} and the shape {array.shape}. It "
                    f"must be {np.dtype(dtype)} of the shape {shape}, with a feature and a centre or more."
                )
            array.setflags(write=False)
        if len(self.features) > MOST_FEATURES or (np.diff(self.features) <= 0).any() or self.features[0] < 0:
            raise ValueError(f"features of what is normal must be ascending, and {MOST_FEATURES} at most.")
        if len(self.centres) > MOST_CENTRES or (self.centres == -128).any():
            raise ValueError(f"There are {len(self.centres)} centres. At most {MOST_CENTRES} are allowed, "
                             f"each from {-EDGE} to {EDGE}.")  # fmt: skip
        if (np.abs(self.middles.astype(np.int64)) > FARTHEST).any():
            raise ValueError(f"middles of what is normal must be from {-FARTHEST} to {FARTHEST}.")
        if (self.exponents > 60).any() or (self.exponents < -126).any():
            raise ValueError("exponents of what is normal must be from -126 to 60.")
        check_integer("limit", self.limit, 0, 2**31 - 1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Normal) and self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        return hash((self.limit, self.centres.tobytes()))

    def steps(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Return the steps of features, rows x features of the record. A missing value is at the middle."""
        return steps_in(rows[:, self.features], self.exponents, self.middles)

    def positions(self, rows: NDArray[Any]) -> NDArray[np.int8]:
        """Return positions, rows x features of the record."""
        return positions_of(self.steps(rows), self.middles, self.gains)

    def nearest(self, positions: NDArray[np.int8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of the nearest centre of each row, the first of them on a tie, and its score."""
        return nearest(positions, self.centres)

    def score(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Return how far rows of numbers are from what is normal: 0 is at a centre."""
        rows = np.asarray(rows)
        n = max(1, _BLOCK // max(1, rows.shape[1]))
        parts = [self.nearest(self.positions(rows[i : i + n]))[1] for i in range(0, len(rows), n)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def values(self, positions: NDArray[Any]) -> NDArray[np.float64]:
        """Return the values of features that stand for positions, about."""
        steps = self.middles + np.asarray(positions) / factors(self.gains)
        return np.asarray(steps * np.exp2(-self.exponents.astype(np.float64)))

    def with_limit(self, limit: int) -> Normal:
        """Return the same with another limit."""
        return replace(self, limit=int(limit))

    def take(self, columns: NDArray[np.intp]) -> Normal:
        """Return the same for rows that have these ascending columns alone, all that tell among them."""
        features = np.searchsorted(columns, self.features).astype(np.int32)
        return replace(self, features=features)

    @property
    def is_whole(self) -> bool:
        """Whether the steps are the values of features, so that integers need no scale."""
        return not self.exponents.any()

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return its arrays by the names of a model file."""
        return {f"normal_{name}": getattr(self, name) for name in _TYPES}

    def as_dict(self) -> dict[str, Any]:
        """Return everything as lists and numbers."""
        return {name: getattr(self, name).tolist() for name in _TYPES} | {"limit": self.limit}


TENSORS = {f"normal_{name}": dtype for name, dtype in _TYPES.items()}


def steps_of(singles: NDArray[np.float32], exponents: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return `ceil(value * 2**exponent)` held within `FARTHEST`. A value that is missing gives 0.

    >>> steps_of(np.float32([[2.5, -2.5, 1e30]]), np.int8([0, 1, 0])).tolist()
    [[3, -5, 8388607]]
    """
    scaled = singles.astype(np.float64) * np.exp2(exponents.astype(np.float64))
    clipped = np.clip(np.nan_to_num(scaled, nan=0.0, posinf=FARTHEST, neginf=-FARTHEST), -FARTHEST, FARTHEST)
    return np.ceil(clipped).astype(np.int64)


def steps_in(
    columns: NDArray[Any], exponents: NDArray[np.int8], middles: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return the steps of columns of numbers. A missing value is at the middle."""
    singles = to_float32(columns)
    return np.where(np.isnan(singles), middles, steps_of(singles, exponents))


def positions_of(
    steps: NDArray[Any], middles: NDArray[np.int32], gains: NDArray[np.uint8]
) -> NDArray[np.int8]:
    """Return the positions of steps.

    >>> positions_of(np.array([[7, -9]]), np.int32([5, 0]), np.uint8([4 << 3, (5 << 3) + 1])).tolist()
    [[8, -20]]
    """
    away = np.asarray(steps, dtype=np.int64) - middles
    size = np.abs(away) * (64 + 8 * (gains & 7).astype(np.int64)) >> (gains >> 3).astype(np.int64)
    return np.asarray(np.sign(away) * np.minimum(size, EDGE), dtype=np.int8)


def factors(gains: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return what gains multiply steps with."""
    return np.asarray((64 + 8.0 * (gains & 7)) * np.exp2(-(gains >> 3).astype(np.float64)))


def nearest(
    positions: NDArray[np.int8], centres: NDArray[np.int8]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of the nearest of `centres` for each row, and the squared distance."""
    # Sums of so few products of bytes are exact in float64 in whatever order they are added.
    rows, points = positions.astype(np.float64), centres.astype(np.float64)
    squares = (rows * rows).sum(axis=1)[:, None] - 2.0 * (rows @ points.T) + (points * points).sum(axis=1)
    best = squares.argmin(axis=1)
    return best.astype(np.int64), squares[np.arange(len(rows)), best].astype(np.int64)
