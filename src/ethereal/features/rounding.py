"""Round numbers to float32, as a device holds them, and find short numbers between two others.

The model compares in float32, on the host as on the device. A value is rounded to the nearest float32, as
`(float)value` does in C, and is then compared with a threshold that is a float32 itself. Rounding never
changes the order of two numbers. So a float64 value can be compared without rounding it, with the largest
float64 that still rounds to the threshold (`cuts_of`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

_MANTISSA = 23  # bits of a float32 behind the leading one
_BEYOND = 2.0**128  # what would follow the largest float32


def to_float32(numbers: ArrayLike) -> NDArray[np.float32]:
    """Round to the nearest float32, like a cast in C, without negative zeros.

    >>> to_float32([0.1, -0.0, 1e300])
    array([0.1, 0. , inf], dtype=float32)
    """
    with np.errstate(over="ignore"):
        rounded: NDArray[np.float32] = np.asarray(numbers, dtype=np.float64).astype(np.float32)
    return rounded + np.float32(0.0)


def round_down(numbers: ArrayLike, bits: int = 32) -> NDArray[np.float32]:
    """Round down to float32, or to the float32 numbers that fit in `bits` bits, whose last bits are zero.

    A value of such a type is above the rounded threshold exactly where it is above the threshold.

    >>> round_down([0.1, -0.0, 1e300]), round_down([0.1, -0.1], 30).view(np.uint32) % 4
    (array([9.9999994e-02, 0.0000000e+00, 3.4028235e+38], dtype=float32), array([0, 0], dtype=uint32))
    """
    exact, nearest = np.asarray(numbers, dtype=np.float64), to_float32(numbers)
    with np.errstate(over="ignore", under="ignore"):
        below = np.nextafter(nearest, np.float32(-np.inf))
    down = np.where(nearest > exact, below, nearest) + np.float32(0.0)
    words, spare = down.view(np.uint32), np.uint32((1 << (32 - bits)) - 1)
    short = np.where(np.signbit(down), words + spare, words) & ~spare  # a negative number goes away from zero
    return short.astype(np.uint32).view(np.float32)


def places_of(numbers: ArrayLike) -> NDArray[np.int32]:
    """Return the places of numbers in the order of all float32 numbers, as et_order() in C does.

    >>> places_of([0.0, -0.0, 1.0, -1e-45]).tolist() == [0, 0, 0x3F800000, -2]
    True
    """
    words = round_down(numbers).view(np.int32)
    return np.where(words < 0, -(words & 0x7FFFFFFF) - 1, words).astype(np.int32)


def cuts_of(thresholds: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the largest float64 numbers that round to the thresholds or below them.

    >>> cut = float(cuts_of(np.float32([0.1]))[0])
    >>> bool(np.float32(cut) > np.float32(0.1)), bool(np.float32(np.nextafter(cut, 1.0)) > np.float32(0.1))
    (False, True)
    """
    with np.errstate(over="ignore", under="ignore"):  # the neighbours of zero are very small
        above = np.nextafter(thresholds, np.float32(np.inf)).astype(np.float64)
    middle = (thresholds.astype(np.float64) + np.where(np.isinf(above), _BEYOND, above)) / 2
    # The middle itself rounds to the neighbour whose last bit is zero.
    is_even = np.ascontiguousarray(thresholds, dtype=np.float32).view(np.uint32) % 2 == 0
    return np.where(is_even, middle, np.nextafter(middle, -np.inf))


def shortest_between(low: NDArray[np.float32], high: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the float32 strictly between each pair with the fewest significant bits, or `low` if none is.

    Of several powers of two, the nearest to the middle is taken. Both ends are finite, `low` below `high`.

    >>> shortest_between(np.float32([20.3, 0, -7, 100, -1]), np.float32([20.4, 1, -6, 300, 2]))
    array([ 20.375,   0.5  ,  -6.5  , 256.   ,   0.   ], dtype=float32)
    """
    low, high = to_float32(low), to_float32(high)
    is_negative = high <= 0
    near = np.where(is_negative, -high, low).astype(np.float32) + np.float32(0.0)
    far = np.where(is_negative, -low, high).astype(np.float32)
    # Positive floats are in the order of their bits. A number with more zeros at its end is shorter.
    first = near.view(np.uint32).astype(np.int64)
    last = np.ascontiguousarray(far).view(np.uint32).astype(np.int64) - 1
    # The bits that `first` and `last` share stay, the first bit that differs is set, the rest is zero.
    differ = np.maximum(first ^ last, 1)
    place = np.frexp(differ.astype(np.float64))[1] - 1
    short = np.where(place < _MANTISSA, last >> place << place, _power(first, last))
    short = np.where(last <= first, first, short)
    between = short.astype(np.uint32).view(np.float32)
    between = np.where(is_negative, -between, between)
    # Between neighbours there is no number. Then `low` is taken, which is `far` for negative numbers.
    between = np.where(last <= first, low, between)
    return np.where((low < 0) & (high > 0), np.float32(0), between).astype(np.float32) + np.float32(0.0)


def _power(first: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bits of the power of two in (first, last] that is nearest to the middle."""
    one = 1 << _MANTISSA
    largest = last & -one
    half = largest - one  # half as large, with an exponent one less

    def value(bits: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.maximum(bits, 0).astype(np.uint32).view(np.float32).astype(np.float64)

    middle = value(first) / 2 + value(last) / 2
    is_nearer = np.abs(value(half) - middle) < np.abs(value(largest) - middle)
    return np.where((half > first) & (half > 0) & is_nearer, half, largest)
