"""Thresholds in the number type of the device's features, exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Input = Literal["float", "int16", "int8", "uint8"]


@dataclass(frozen=True)
class InputType:
    """A number type of features."""

    name: str
    ctype: str
    threshold_ctype: str
    dtype: str
    low: int = 0
    high: int = 0
    missing: int = 0  # the value that stands for a missing one


INPUT_TYPES: dict[str, InputType] = {
    "float": InputType("float", "float", "int32_t", "f4"),
    "int16": InputType("int16", "int16_t", "int16_t", "i2", -(1 << 15), (1 << 15) - 1, -(1 << 15)),
    "int8": InputType("int8", "int8_t", "int8_t", "i1", -(1 << 7), (1 << 7) - 1, -(1 << 7)),
    "uint8": InputType("uint8", "uint8_t", "uint8_t", "u1", 0, (1 << 8) - 1, (1 << 8) - 1),
}


def find_input(name: str) -> InputType:
    """Return the input type of that name."""
    if name not in INPUT_TYPES:
        raise ValueError(f"input is {name!r}; it must be one of {', '.join(INPUT_TYPES)}")
    return INPUT_TYPES[name]


def convert(thresholds: Sequence[float], name: str, feature: str, *, can_miss: bool) -> list[int]:
    """Integers t with the same `x > t` for every x of the input type.

    A float is taken by its place in the order of all floats; an integer is above 2.5 when it is above 2.

    >>> convert([2.5, 3.0], "int8", "age", can_miss=False)
    [2, 3]
    >>> convert([0.0, 1.0], "float", "age", can_miss=False) == [0, 0x3F800000]
    True
    >>> convert([300.0], "uint8", "age", can_miss=False)
    Traceback (most recent call last):
      ...
    ValueError: feature 'age' has the threshold 300, which no uint8 value (0 to 255) can be above; ...
    """
    if name == "float":
        return [_order(t) for t in thresholds]
    kind = find_input(name)
    low = kind.low + (can_miss and kind.missing == kind.low)
    high = kind.high - (can_miss and kind.missing == kind.high)
    whole = [math.floor(t) for t in thresholds]
    for t, integer in zip(thresholds, whole, strict=True):
        if not low <= integer < high:
            side = "no" if integer >= high else "every"
            word = "can be" if integer >= high else "is"
            raise ValueError(
                f"feature {feature!r} has the threshold {t:g}, which {side} {name} value ({low} to {high}) "
                f"{word} above; choose a wider input type, or train on features in the device's units"
            )
    return whole


def _order(threshold: float) -> int:
    """Place of a threshold, rounded down to float32, in the order of all floats; see et_order()."""
    with np.errstate(all="ignore"):
        nearest = np.float32(threshold)
        if float(nearest) > threshold:
            nearest = np.nextafter(nearest, np.float32(-np.inf))
    bits = int(np.float32(nearest + np.float32(0.0)).view(np.uint32))  # + 0: no negative zero
    return -(bits & 0x7FFFFFFF) - 1 if bits & 0x80000000 else bits
