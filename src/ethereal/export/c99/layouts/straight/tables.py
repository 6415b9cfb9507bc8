"""The code of the layout "straight", which has no tables. See straight.h."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.device_rows import Slots
from ethereal.export.c99.layouts.plan import Plan
from ethereal.export.c99.layouts.straight.costs import Estimator
from ethereal.export.c99.layouts.straight.fields import make_fields, move_votes
from ethereal.export.c99.layouts.straight.order import arrange
from ethereal.export.c99.layouts.straight.tree import Builder
from ethereal.export.c99.layouts.straight.write import Writer
from ethereal.export.c99.tables import Tables


def plan(slots: Slots, rows: Callable[[], NDArray[np.bool_]], max_bytes: int | None) -> Plan:
    """Arrange the clauses of `slots`, in the same way whatever bytes there are."""
    code = Builder(slots, rows()).build()
    fields = make_fields(code)
    move_votes(code, fields)
    costs = Estimator(slots, fields).costs(code)

    def write(out: Tables) -> None:
        arrange(code)
        Writer(slots, fields).write(out, code)

    return Plan(write, None, costs)
