"""Number types of the device's features, and thresholds in them.

A float is compared by its place in the order of all floats. A `Scale` of each feature makes integers of the
user's numbers: `ceil((value - offset) * 2**exponent)` in float32, held within the type. Because the factor is
a power of two, `integer > threshold` means exactly `value > threshold` as long as the scaled threshold is a
whole number. Whole numbers need no scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.features.rounding import to_float32

_FINEST, _COARSEST = 60, -126  # exponents of a scale: the largest float32 becomes a number of 8 bits


@dataclass(frozen=True)
class NumberType:
    """A number type of features."""

    name: str
    ctype: str
    threshold_ctype: str
    dtype: str
    low: int = 0
    high: int = 0
    missing: int = 0  # the value that stands for a missing one

    def ends(self, accepts_missing: bool) -> tuple[int, int]:
        """Return the smallest and largest integer that a value can become."""
        low = self.low + (accepts_missing and self.missing == self.low)
        return low, self.high - (accepts_missing and self.missing == self.high)


NUMBER_TYPES: dict[str, NumberType] = {
    "float": NumberType("float", "float", "int32_t", "f4"),
    "int16": NumberType("int16", "int16_t", "int16_t", "i2", -(1 << 15), (1 << 15) - 1, -(1 << 15)),
    "uint16": NumberType("uint16", "uint16_t", "uint16_t", "u2", 0, (1 << 16) - 1, (1 << 16) - 1),
    "int8": NumberType("int8", "int8_t", "int8_t", "i1", -(1 << 7), (1 << 7) - 1, -(1 << 7)),
    "uint8": NumberType("uint8", "uint8_t", "uint8_t", "u1", 0, (1 << 8) - 1, (1 << 8) - 1),
}


def find_number_type(name: str) -> NumberType:
    """Return the number type of that name."""
    if name not in NUMBER_TYPES:
        raise ValueError(f"input is {name!r}. It must be one of {', '.join(NUMBER_TYPES)}.")
    return NUMBER_TYPES[name]


@dataclass(frozen=True)
class Scale:
    """How the values of a feature become integers from `low` to `high`.

    >>> scale = Scale(offset=0.0, exponent=4, low=0, high=255)
    >>> scale.integers([0.1, 5.0, 99.0]).tolist()
    [2, 80, 255]
    """

    offset: float
    exponent: int
    low: int
    high: int
    is_exact: bool = True  # whether `integer > threshold` is `value > threshold` for every value

    @property
    def factor(self) -> float:
        """What a value is multiplied with."""
        return 2.0**self.exponent

    def integers(self, values: Any) -> NDArray[np.int64]:
        """Return the integers of numbers, as the exported C computes them."""
        with np.errstate(all="ignore"):
            shifted = to_float32(values) - np.float32(self.offset)
        # In float64 no number becomes 0 by scaling, so that what is above 0 is rounded up to 1.
        steps = shifted.astype(np.float64) * self.factor
        steps = np.nan_to_num(steps, nan=self.low, posinf=self.high, neginf=self.low)
        whole: NDArray[np.float64] = np.ceil(np.clip(steps, self.low, self.high))
        return whole.astype(np.int64)

    def threshold(self, threshold: float) -> int:
        """Return the integer that stands for a threshold."""
        return math.floor((threshold - self.offset) * self.factor)

    def note(self) -> str:
        """Return the formula for readers.

        >>> Scale(20.0, 4, 0, 255).note(), Scale(0.0, 0, 0, 255).note()
        ('ceil((value - 20) * 16)', 'as it is, fractions rounded up')
        """
        shifted = f"(value - {self.offset:g})" if self.offset else "value"
        if self.exponent:
            return f"ceil({shifted} * {self.factor:g})"
        return f"ceil({shifted})" if self.offset else "as it is, fractions rounded up"


def find_scale(
    thresholds: Sequence[float], kind: NumberType, feature: str, *, accepts_missing: bool
) -> Scale:
    """Return a scale that keeps the thresholds of a feature apart, an exact one if the type has room.

    The simplest exact scale is taken: values as they are, then a power of two, then an offset too. If there
    is none, the finest that has room is taken, with thresholds rounded down. It is exact for the values that
    the integers can hold, such as whole numbers.

    >>> find_scale([2.5, 3.0], NUMBER_TYPES["int8"], "age", accepts_missing=False)
    Scale(offset=0.0, exponent=1, low=-128, high=127, is_exact=True)
    >>> find_scale([1000.25, 1000.5], NUMBER_TYPES["uint8"], "mV", accepts_missing=False)
    Scale(offset=1000.25, exponent=2, low=0, high=255, is_exact=True)
    >>> find_scale([0.001, 1.0, 1e6], NUMBER_TYPES["int16"], "lux", accepts_missing=False)
    Traceback (most recent call last):
      ...
    ValueError: Feature 'lux' has thresholds from 0.001 to 1e+06, some of which are the same in int16. ...
    """
    low, high = kind.ends(accepts_missing)
    if not thresholds:
        return Scale(0.0, 0, low, high)
    needed = max(_exponent_of(t) for t in thresholds)
    plain = _largest_exponent(0.0, thresholds, low, high)
    if needed <= plain:
        return Scale(0.0, min(max(needed, 0), plain), low, high)
    shifted = _with_offset(thresholds, needed, low, high) if needed <= _FINEST else None
    if shifted is not None:
        return shifted
    rounded = Scale(0.0, plain, low, high, is_exact=False)
    for exponent in range(min(needed, _FINEST), plain, -1):
        candidate = _with_offset(thresholds, exponent, low, high)
        if candidate is not None:
            rounded = candidate
            break
    integers = [rounded.threshold(t) for t in thresholds]
    if len(set(integers)) < len(integers) or not all(low <= t < high for t in integers):
        raise ValueError(
            f"Feature {feature!r} has thresholds from {min(thresholds):g} to {max(thresholds):g}, some of "
            f"which are the same in {kind.name}. Use a wider number type or float, or train with fewer bins."
        )
    return rounded


def _exponent_of(threshold: float) -> int:
    """Return the smallest exponent with which a threshold is a whole number.

    >>> _exponent_of(20.375), _exponent_of(6.0), _exponent_of(0.0)
    (3, -1, -126)
    """
    numerator, denominator = float(threshold).as_integer_ratio()
    if numerator == 0:
        return _COARSEST
    return denominator.bit_length() - 1 if denominator > 1 else 1 - (numerator & -numerator).bit_length()


def _largest_exponent(offset: float, thresholds: Sequence[float], low: int, high: int) -> int:
    """Return the largest exponent with which all thresholds lie within the type, below its largest number."""
    for exponent in range(_FINEST, _COARSEST, -1):
        factor = 2.0**exponent
        if all(low <= (t - offset) * factor <= high - 1 for t in thresholds):
            return exponent
    return _COARSEST


def _with_offset(thresholds: Sequence[float], exponent: int, low: int, high: int) -> Scale | None:
    """Return the scale whose smallest threshold becomes the type's smallest number, None without room."""
    step = 2.0**-exponent
    first = math.floor(min(thresholds) / step)
    offset = (first - low) * step
    if not abs(offset) <= 3e38 or float(np.float32(offset)) != offset:
        return None
    # If the next float32 above a threshold becomes a larger integer, every larger one does.
    scale = Scale(offset, exponent, low, high)
    exact = [scale.threshold(t) for t in thresholds]
    if not all(low <= t < high for t in exact):
        return None
    above = np.nextafter(to_float32(thresholds), np.float32(np.inf))
    same = scale.integers(thresholds).tolist() == exact and (scale.integers(above) > exact).all()
    is_exact = bool(same) and all(_exponent_of(t - offset) <= exponent for t in thresholds)
    return scale if is_exact else Scale(offset, exponent, low, high, is_exact=False)
