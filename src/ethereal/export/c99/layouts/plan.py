"""A way to lay out the C (`CLayout`), the `Plan` that it makes of a model, and estimates of `Costs`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

from ethereal.model.needs import Supports

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ethereal.export.c99.device_rows import Cells, Slots
    from ethereal.export.c99.tables import Tables


FRAMES = 100  # bytes of stack for return addresses, saved registers and small variables


@dataclass(frozen=True)
class Costs:
    """Costs of one row on a Cortex-M7, from features to class, estimated from the tables alone."""

    instructions: float
    stack_bytes: int
    code_bytes: int = 0  # of the clauses, where they are code, rounded up


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

    Its folder holds its runtime header NAME.h, and `tables.py` with the function `plan`. A layout that takes
    32 rows per call has the templates predict.c.in and batch.c.in too, and one without rows has model.c.in.
    """

    name: str
    about: str  # when to take it, for the help
    supports: Supports
    code_bytes: int  # all instructions on a Cortex-M, Booleanizer and self-check included, rounded up
    rows_per_call: int = 1  # 1 or 32
    by_name: bool = False  # whether it is only taken by name, never by "auto"
    singles_first: bool = False  # whether slots with one threshold come first
    has_rows: bool = True  # whether rows are Booleanized, so that the C can do it in two steps, with tables
    headers: tuple[str, ...] = ()  # folders and names of runtime headers, where its own is not all
    smaller: tuple[int, ...] = ()  # bounds for the clauses that "auto" tries after the layout's own choice

    @property
    def runtime(self) -> dict[str, str]:
        """Runtime headers as the export names them, in their order, and where each lies."""
        paths = self.headers or (f"layouts/{self.name}/{self.name}",)
        return {f"ethereal_{path.split('/')[-1]}.h": f"c99/{path}.h" for path in paths}

    def plan(self, slots: Slots, rows: Callable[[], NDArray[np.bool_]], max_bytes: int | None) -> Plan:
        """Arrange clauses by typical `rows`. `max_bytes` may bound the tables with their code."""
        # Loaded at its first use, so that a command knows the names of the layouts quickly.
        module = import_module(f"ethereal.export.c99.layouts.{self.name}.tables")
        return cast(Plan, module.plan(slots, rows, max_bytes))

    def forms(self, clause_bytes: int | None) -> tuple[int | None, ...]:
        """Return the bounds for the clauses that are tried, the quickest program first."""
        if not self.smaller:
            return (None,)
        return (None, *self.smaller) if clause_bytes is None else (clause_bytes,)


def booleanizing(slots: Slots) -> float:
    """Return the instructions from features to a Booleanized row, fitted to what ten models take."""
    if slots.model.fitted is None:
        return 7.0 * slots.n_slots
    accepts = slots.model.feature_map.accepts_missing  # such a feature is tested for NaN first
    return sum(18.0 + 2.8 * len(own.thresholds) + 15.0 * accepts(own.feature) for own in slots.slots)


def reading_a_cell(n_slots: int) -> float:
    """Return the instructions from a Booleanized row to its class in a table of all rows."""
    return 8.0 * n_slots + 10.0


def costs_of_row(slots: Slots, instructions: float, stack: int) -> Costs:
    """Return the costs if the clauses take `instructions`, and `stack` bytes beside row and sums."""
    sums = 4 * slots.model.n_classes
    return Costs(booleanizing(slots) + instructions, row_bytes(slots) + sums + stack + FRAMES)


def costs_of_cells(slots: Slots) -> Costs:
    """Return the costs if the class of every row is in a table."""
    return Costs(booleanizing(slots) + reading_a_cell(slots.n_slots), row_bytes(slots) + FRAMES)


def row_bytes(slots: Slots) -> int:
    """Return the bytes of a Booleanized row."""
    return (slots.n_slots + 3) // 4 * 4
