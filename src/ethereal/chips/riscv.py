"""Decode the instructions of RISC-V cores."""

from __future__ import annotations

from ethereal.chips.instruction import Instruction, Unbounded


def decode(at: int, first: int, second: int) -> Instruction:
    """Return the instruction at address `at`."""
    raise Unbounded("RISC-V is not read yet")
