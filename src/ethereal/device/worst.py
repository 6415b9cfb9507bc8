"""The worst case of a compiled program: no row takes more instructions, and no call takes more stack.

Nothing is executed. The machine code is followed for all rows at once (`ethereal.chips.paths`). So the bound
holds for rows that nobody tried. The stack follows from the calls (`ethereal.chips.flow`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ethereal.chips.elf import Elf
from ethereal.chips.flow import Code
from ethereal.chips.instruction import Unbounded
from ethereal.chips.longest import longest
from ethereal.chips.paths import Paths
from ethereal.chips.state import INPUT, OUTPUT
from ethereal.chips.targets import Target
from ethereal.device.program import CProgram
from ethereal.export.c99.choose import compiled

_ROWS = 32  # of a call of a program that takes many


@dataclass(frozen=True)
class WorstCase:
    """Bounds that hold for every row, or None with the reason."""

    instructions: int | None
    stack_bytes: int | None
    why_not: str = ""


def worst_case(program: CProgram, chip: Target, **how: Any) -> WorstCase:
    """Return the worst case of a program: of a row, from features to class, and of the stack of any call.

    `how` has the compiler and its optimization, as `ethereal.device.measure` takes them.
    """
    if chip.isa == "avr":
        return WorstCase(None, None, "The code of an AVR is not followed.")
    roots = [program.function, *program.beside]
    return worst_of(compiled(program.files, chip, roots, **how), chip, program)


def worst_of(elf: Elf, chip: Target, program: CProgram) -> WorstCase:
    """Return the worst case of a program that was compiled."""
    code, why_not = Code(elf, chip.isa), []
    stack = instructions = None
    try:
        stack = max(map(code.stack_bytes, (program.function, *program.beside)))
    except Unbounded as error:
        why_not.append(f"The stack has no bound: {error}.")
    if program.stand_ins is None:
        why_not.append("Only the way from features to a class is bounded, not the features of windows.")
    else:
        try:
            instructions = _instructions(code, program, program.stand_ins)
        except Unbounded as error:
            why_not.append(f"Instructions have no bound: {error}.")
    return WorstCase(instructions, stack, " ".join(why_not))


def _instructions(code: Code, program: CProgram, values: Sequence[NDArray[Any]]) -> int:
    width = values[0].dtype.itemsize
    inputs = [own.view(f"u{width}").tolist() for own in values]
    if program.call != "batch":
        return longest(Paths(code, inputs, width).follow(program.function, INPUT))
    graph = Paths(code, inputs * _ROWS, width).follow(program.function, INPUT, _ROWS, OUTPUT)
    return -(-longest(graph, excludes=False) // _ROWS)
