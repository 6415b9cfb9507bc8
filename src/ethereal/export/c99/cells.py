"""The class of every different row, when there are few."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.device_rows import Slots
from ethereal.model.clauses import decode

_MOST_CELLS = 1 << 14


@dataclass(frozen=True)
class Cells:
    """Classes of all combinations of states, the last slot varying fastest."""

    data: NDArray[np.uint8]  # the first cell in the lowest bits
    bits: int  # per cell


def make_cells(slots: Slots, most_bytes: int) -> Cells | None:
    """Table of classes, or None when it takes more than `most_bytes`."""
    n_states = [slot.n_states for slot in slots.slots]
    n_cells = math.prod(n_states)
    class_bits = max(1, (slots.model.n_classes - 1).bit_length())
    bits = next((b for b in (1, 2, 4, 8) if b >= class_bits), None)
    if bits is None or n_cells > _MOST_CELLS or n_cells * bits > 8 * most_bytes:
        return None
    states = np.indices(n_states).reshape(len(n_states), -1)  # slots x cells
    sums = np.zeros((n_cells, slots.model.n_classes), dtype=np.int64)
    for clause in slots.clauses:
        fires = np.ones(n_cells, dtype=bool)
        for literal in clause.literals:
            own = states[slots.slot_of_boolean[decode(literal, slots.n_booleans)[0]]]
            fires &= np.isin(own, list(slots.true_states(literal)))
        for vote in clause.votes:
            sums[fires, vote.class_] += vote.weight
    per_byte = 8 // bits
    classes = sums.argmax(axis=1)
    classes = np.pad(classes, (0, -n_cells % per_byte)).reshape(-1, per_byte)
    return Cells((classes << (bits * np.arange(per_byte))).sum(axis=1).astype(np.uint8), bits)
