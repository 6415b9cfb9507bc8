"""The layout of models without clauses, which tell what is normal. The part "normal" has the code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.ctext import Tables
from ethereal.export.c99.device_rows import Slots
from ethereal.export.c99.layouts import FRAMES, Costs, Plan

_PER_FEATURE, _PER_NUMBER, _PER_CENTRE = 30.0, 7.0, 8.0  # instructions of a Cortex-M7


def plan(slots: Slots, rows: Callable[[], NDArray[np.bool_]], max_bytes: int | None) -> Plan:
    """Return the costs of a score. There is nothing to arrange."""
    normal = slots.model.normal
    assert normal is not None
    n_centres, n_features = normal.centres.shape
    instructions = n_features * _PER_FEATURE + n_centres * (_PER_CENTRE + n_features * _PER_NUMBER)

    def write(out: Tables) -> None:
        pass

    return Plan(write, None, Costs(instructions, n_features + FRAMES))
