"""The code of the layout "straight", which has no tables. See straight.h."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

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
from ethereal.model.output import early_answers, parts_of


def plan(slots: Slots, rows: Callable[[], NDArray[np.bool_]], max_bytes: int | None) -> Plan:
    """Arrange the clauses of `slots`, in the same way whatever bytes there are."""
    model, typical = slots.model, rows()
    builder = Builder(slots, typical)
    votes = np.cumsum(
        (model.clauses.lengths > 0) & model.weights.any(axis=1)
    )  # the others are not in `slots`
    ends = [0, *(int(votes[check.n_clauses - 1]) for check in model.early), len(slots.clauses)]
    parts = [builder.build(first, last) for first, last in pairwise(ends)]
    fields = make_fields(parts)
    for part in parts:
        move_votes(part, fields)
    costs = Estimator(slots, fields).costs(parts, _shares(slots, typical))

    def write(out: Tables) -> None:
        for part in parts:
            arrange(part)
        Writer(slots, fields).write(out, parts)

    return Plan(write, None, costs)


def _shares(slots: Slots, typical: NDArray[np.bool_]) -> list[float]:
    """Return the share of typical rows that comes to each part."""
    if not slots.model.early:
        return [1.0]
    booleans = np.zeros((len(typical), slots.model.n_booleans), dtype=bool)
    booleans[:, slots.used] = typical
    _, known = early_answers(slots.model, parts_of(slots.model), lambda part: part._votes(booleans))
    return [float((known >= i).mean()) for i in range(len(slots.model.early) + 1)]
