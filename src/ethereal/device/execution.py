"""What executing a program on a chip gives, and what is said when the chip is too small for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ethereal.chips.elf import Elf
from ethereal.chips.targets import Target
from ethereal.export.errors import ModelTooLarge


@dataclass(frozen=True)
class Execution:
    """A program on all rows; the counts are instructions, or cycles on an AVR."""

    clauses_only: Elf  # from a Booleanized row to its class
    whole: Elf  # from features to the class
    classes: NDArray[np.int64]  # by the first
    again: NDArray[np.int64]  # by the second
    counts: NDArray[np.int64]  # per row, of the first
    booleanize_counts: NDArray[np.int64]  # per row
    total_counts: NDArray[np.int64]  # per row, of the second
    stack_bytes: int


def check_flash(elf: Elf, chip: Target, what: str) -> None:
    """Raise `ModelTooLarge` when the program exceeds the chip's flash."""
    needed = elf.code_bytes + elf.table_bytes
    if needed > chip.flash_bytes:
        raise ModelTooLarge(
            f"{what} takes {needed} bytes of flash, {needed - chip.flash_bytes} more than the "
            f"{chip.flash_bytes} of {chip.name} ({chip.chip})"
        )


def ram_exceeded(needed: int, chip: Target) -> ModelTooLarge:
    """The error for a program that needs more RAM than the chip has."""
    return ModelTooLarge(
        f"the model needs {needed} bytes of RAM, {needed - chip.ram_bytes} more than the "
        f"{chip.ram_bytes} of {chip.name} ({chip.chip}). Use another layout, or a chip with more RAM."
    )
