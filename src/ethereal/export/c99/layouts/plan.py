"""What a way to lay out the C is: a `CLayout`, and the `Plan` that it makes of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

from ethereal.model.needs import Supports

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ethereal.export.c99.cells import Cells
    from ethereal.export.c99.costs import Costs
    from ethereal.export.c99.device_rows import Slots
    from ethereal.export.c99.tables import Tables


@dataclass(frozen=True)
class Plan:
    """The clauses of one model in one layout."""

    write: Callable[[Tables], None]  # the tables of the clauses
    cells: Cells | None  # the class of every row, when there are few
    costs: Costs  # of a row, estimated
    unfolds: bool = False  # whether the C makes Booleans of the states of a row
    reads_states: bool = False  # whether the C asks how many states a slot has
    may_fuse: bool = False  # whether a state may be used as soon as it is known, without a Booleanized row


@dataclass(frozen=True)
class CLayout:
    """A way to lay out the C.

    Its folder holds its runtime header NAME.h, and `tables.py` with the function `plan`. One that takes 32
    rows per call has the templates predict.c.in and batch.c.in too.
    """

    name: str
    about: str  # when to take it, for the help
    supports: Supports
    code_bytes: int  # all instructions on a Cortex-M, Booleanizer and self-check included, rounded up
    rows_per_call: int = 1  # 1 or 32
    singles_first: bool = False  # whether slots with one threshold come first
    smaller: tuple[int, ...] = ()  # bounds for the clauses that "auto" tries after the layout's own choice

    def plan(self, slots: Slots, rows: Callable[[], NDArray[np.bool_]], max_bytes: int | None) -> Plan:
        """Arrange clauses; `rows` gives typical rows, `max_bytes` may bound the tables with their code."""
        # Loaded when it is used, so that a command knows the names of the layouts quickly.
        module = import_module(f"ethereal.export.c99.layouts.{self.name}.tables")
        return cast(Plan, module.plan(slots, rows, max_bytes))

    def forms(self, clause_bytes: int | None) -> tuple[int | None, ...]:
        """Bounds for the clauses that are tried, the quickest program first."""
        if not self.smaller:
            return (None,)
        return (None, *self.smaller) if clause_bytes is None else (clause_bytes,)

    def entry_points(self, name: str) -> list[str]:
        """What firmware calls, and what the flash is counted for: a prediction and the check at start-up."""
        return [f"{name}_{'predict' if self.rows_per_call == 1 else 'predict_batch'}", f"{name}_check"]
