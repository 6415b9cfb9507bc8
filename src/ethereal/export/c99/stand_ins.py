"""Values of a feature that stand for all others.

A program compares a feature with its thresholds, and asks whether it is missing. So two values with no
threshold between them have the same effect. The values on both sides of every threshold and the ends of the
type stand for all. Of floats, the zeros, the infinities and the first and last bits of NaN do so, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.features.rounding import round_down

if TYPE_CHECKING:
    from ethereal.export.c99.program import Program

_NO_NUMBERS = (0x7F800001, 0x7FFFFFFF, 0xFF800001, 0xFFFFFFFF)


def stand_ins(program: Program) -> tuple[NDArray[Any], ...]:
    """Return such values of every feature, as the program reads them."""
    model = program.model
    if model.fitted is None:
        return (np.array([0, 1, 255], dtype=np.uint8),) * model.n_features
    return tuple(
        _integers(program, f) if program.scales else _floats(program, f) for f in range(model.n_features)
    )


def _floats(program: Program, f: int) -> NDArray[np.float32]:
    limits = round_down(program.slots.thresholds_of(f)).astype(np.float32)
    ends = np.array([-np.inf, -0.0, 0.0, np.inf], dtype=np.float32)
    above = np.nextafter(limits, np.float32(np.inf))
    bits = np.concatenate([limits, above, ends]).view(np.uint32)
    return np.unique(np.append(bits, np.array(_NO_NUMBERS, dtype=np.uint32))).view(np.float32)


def _integers(program: Program, f: int) -> NDArray[Any]:
    kind = program.input
    limits = np.array(
        [program.scales[f].threshold(t) for t in program.slots.thresholds_of(f)], dtype=np.int64
    )
    values = np.concatenate([limits, limits + 1, [kind.low, kind.high, kind.missing]])
    return np.unique(np.clip(values, kind.low, kind.high)).astype(kind.dtype)
