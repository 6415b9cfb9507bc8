"""Tables of the layout "compact": the compact code of the model's clauses over the Booleans in use."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.ctext import Tables
from ethereal.export.c99.device_rows import Slots, make_cells
from ethereal.export.c99.layouts import Plan, costs_of_cells, costs_of_row
from ethereal.model import Model
from ethereal.model.codes import compact

_CODE = 500  # bytes of instructions that a table of all rows saves
# Instructions, fitted to what ten models of four data sets take.
_PER_LITERAL, _PER_CLAUSE, _PER_BOOLEAN = 60.0, 55.0, 42.0


def plan(slots: Slots, rows: Callable[[], NDArray[np.bool_]], max_bytes: int | None) -> Plan:
    """Arrange the clauses of `slots`, in the same way for all rows."""
    clauses = slots.model.clauses.over(slots.used)
    model = Model.of(clauses, classes=np.arange(clauses.n_classes))  # whatever they answer
    stream = compact.payload(model)  # see docs/codes.md
    cells = make_cells(slots, most_bytes=len(stream.data) + _CODE)

    def write(out: Tables) -> None:
        out.define("ET_USES_LEADING_ZEROS", 1)
        out.define("ET_BOOLEANS", f"{slots.n_booleans}u")
        out.define("ET_SEGMENTS", f"{stream.segments}u")
        out.define("ET_VOTES_PER_CLAUSE", f"{int(stream.votes_per_clause)}u")
        out.define("ET_COUNT_PARAMETER", f"{stream.count_parameter}u")
        out.define("ET_NEGATED_PARAMETER", f"{stream.negated_parameter}u")
        out.define("ET_CLASS_PARAMETER", f"{stream.class_parameter}u")
        out.define("ET_WEIGHT_PARAMETER", f"{stream.weight_parameter}u")
        out.array("uint8_t", "et_stream", [*stream.data, 0, 0, 0, 0], "the clauses")

    per_row = _PER_LITERAL * sum(len(clause.literals) for clause in slots.clauses)
    per_row += _PER_CLAUSE * len(slots.clauses) + _PER_BOOLEAN * slots.n_booleans
    costs = costs_of_cells(slots) if cells else costs_of_row(slots, per_row, 2 * slots.n_booleans)
    return Plan(write, cells, costs, unfolds=not slots.is_binary)
