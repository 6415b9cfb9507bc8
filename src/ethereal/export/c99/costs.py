"""What a row costs on a Cortex-M7, estimated from the tables of a program: no compiler, no emulator."""

from __future__ import annotations

from dataclasses import dataclass

from ethereal.export.c99.device_rows import Slots

FRAMES = 100  # bytes of stack for return addresses, saved registers and small variables


@dataclass(frozen=True)
class Costs:
    """Estimated costs of one row, from features to class."""

    instructions: float
    stack_bytes: int


def booleanizing(slots: Slots) -> float:
    """Instructions from features to a Booleanized row, fitted to what ten models take."""
    if slots.model.fitted is None:
        return 7.0 * slots.n_slots
    return sum(18.0 + 2.8 * len(slot.thresholds) for slot in slots.slots)


def reading_a_cell(n_slots: int) -> float:
    """Instructions from a Booleanized row to its class in a table of all rows."""
    return 8.0 * n_slots + 10.0


def costs_of_row(slots: Slots, instructions: float, stack: int) -> Costs:
    """Costs where the clauses of a row take so many instructions, and so many bytes beside row and sums."""
    sums = 4 * slots.model.n_classes
    return Costs(booleanizing(slots) + instructions, row_bytes(slots) + sums + stack + FRAMES)


def costs_of_cells(slots: Slots) -> Costs:
    """Costs where the class of every row is in a table."""
    return Costs(booleanizing(slots) + reading_a_cell(slots.n_slots), row_bytes(slots) + FRAMES)


def row_bytes(slots: Slots) -> int:
    """Size of a Booleanized row."""
    return (slots.n_slots + 3) // 4 * 4
