"""Tables of the layout "redress": the words of the model's clauses over the Booleans in use."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.ctext import Tables, unsigned_type
from ethereal.export.c99.device_rows import Slots
from ethereal.export.c99.layouts import Plan, costs_of_row
from ethereal.model import Model
from ethereal.model.codes import redress

# Instructions, fitted to what twelve random models take.
_PER_WORD, _PER_CLAUSE, _PER_CLASS, _PER_BOOLEAN = 13.0, 6.0, 10.0, 17.0


def plan(slots: Slots, rows: Callable[[], NDArray[np.bool_]], max_bytes: int | None) -> Plan:
    """Arrange the clauses of `slots`, in the same way for all rows."""
    model = slots.model
    used = Model.of(model.clauses.over(slots.used), classes=np.arange(model.n_classes))  # whatever it answers
    words, counts = redress.words(used, most=redress.BOARD_WORDS)

    def write(out: Tables) -> None:
        out.define("ET_USES_LEADING_ZEROS", 0)
        out.define("ET_BOOLEANS", f"{slots.n_booleans}u")
        out.array("uint16_t", "et_words", words, "an include of a clause each")
        out.array(unsigned_type(int(counts.max())), "et_counts", counts, "words of each class")

    unfolded = 0 if slots.is_binary else slots.n_booleans
    per_row = _PER_WORD * len(words) + _PER_CLAUSE * float(np.abs(used.weights).sum())
    per_row += _PER_CLASS * model.n_classes + _PER_BOOLEAN * unfolded
    return Plan(write, None, costs_of_row(slots, per_row, unfolded), unfolds=not slots.is_binary)
