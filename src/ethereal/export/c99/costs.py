"""What a row costs on a Cortex-M7, estimated from the tables of a program: no compiler, no emulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ethereal.export.c99.device_rows import Slots

if TYPE_CHECKING:
    from ethereal.export.c99.cells import Cells
    from ethereal.export.c99.layouts.fast.tables import FastTables
    from ethereal.export.c99.layouts.sliced.tables import SlicedTables

_FRAMES = 100  # bytes of stack for return addresses, saved registers and small variables
# Instructions, fitted to what ten models of four data sets take.
_COMPACT = {"literal": 60.0, "clause": 55.0, "Boolean": 42.0}
_SLICED = {"literal": 5.7, "Boolean": 45.0, "slot": 70.0}  # for 32 rows at once


@dataclass(frozen=True)
class Costs:
    """Estimated costs of one row, from features to class."""

    instructions: float
    stack_bytes: int


def booleanizing(slots: Slots) -> float:
    """Instructions from features to a Booleanized row, fitted as above."""
    if slots.model.booleanizer is None:
        return 7.0 * slots.n_slots
    return sum(18.0 + 2.8 * len(slot.thresholds) for slot in slots.slots)


def reading_a_cell(n_slots: int) -> float:
    """Instructions from a Booleanized row to its class in a table of all rows."""
    return 8.0 * n_slots + 10.0


def costs_of_fast(slots: Slots, tables: FastTables, cells: Cells | None) -> Costs:
    """Costs of the layout "fast"."""
    if cells is not None:
        return _of_cells(slots)
    stack = 0
    if tables.masks is not None:
        stack += 8 * tables.masks.words.shape[2]
    if tables.lists is not None:
        stack += len(tables.lists.votes)
    if tables.nodes is not None:
        words = 2 * tables.nodes.n_literal_words + 2 * tables.nodes.n_leaf_words + 1
        stack += 4 * words + (0 if slots.is_binary else 4 * tables.nodes.n_literal_words)
    return _of_row(slots, tables.instructions, stack)


def costs_of_compact(slots: Slots, cells: Cells | None) -> Costs:
    """Costs of the layout "compact"."""
    if cells is not None:
        return _of_cells(slots)
    instructions = (
        _COMPACT["literal"] * sum(len(clause.literals) for clause in slots.clauses)
        + _COMPACT["clause"] * len(slots.clauses)
        + _COMPACT["Boolean"] * slots.n_booleans
    )
    return _of_row(slots, instructions, 2 * slots.n_booleans)


def costs_of_sliced(slots: Slots, tables: SlicedTables, cells: Cells | None) -> Costs:
    """Costs of the layout "sliced", where 32 rows are on the stack."""
    rows = 32 * _row_bytes(slots) + 64
    if cells is not None:
        return Costs(_of_cells(slots).instructions, rows + _FRAMES)
    planes = 4 * tables.n_planes + 4 * tables.sum_bits * slots.model.n_classes
    of_32 = (
        _SLICED["literal"] * len(tables.literals)
        + _SLICED["Boolean"] * slots.n_booleans
        + _SLICED["slot"] * slots.n_slots
    )
    return Costs(booleanizing(slots) + of_32 / 32, rows + planes + _FRAMES)


def _of_row(slots: Slots, instructions: float, stack: int) -> Costs:
    sums = 4 * slots.model.n_classes
    return Costs(booleanizing(slots) + instructions, _row_bytes(slots) + sums + stack + _FRAMES)


def _of_cells(slots: Slots) -> Costs:
    return Costs(booleanizing(slots) + reading_a_cell(slots.n_slots), _row_bytes(slots) + _FRAMES)


def _row_bytes(slots: Slots) -> int:
    return (slots.n_slots + 3) // 4 * 4
