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
from ethereal.chips.memory import row_of
from ethereal.chips.paths import Paths
from ethereal.chips.state import INPUT, OUTPUT
from ethereal.chips.targets import Target, find_target
from ethereal.chips.toolchain import Compiler
from ethereal.device.program import CProgram, bare
from ethereal.export.c99.choose import choose, compiled
from ethereal.model import Model

_ROWS = 32  # of a call of a program that takes many


@dataclass(frozen=True)
class WorstCase:
    """Bounds that hold for every row, or None with the reason."""

    instructions: int | None
    stack_bytes: int | None
    why_not: str = ""


def worst_case(model: Model, layout: str = "auto", *, compiler: Compiler = "zig", optimize: str = "-Os",
               **options: Any) -> WorstCase:  # fmt: skip
    """Return the worst case of a model on a core: of a row, and of the stack of any call.

    The parameters are those of `ethereal.device.measure`. `target` is one of the options.

    >>> from ethereal import Model
    >>> model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])
    >>> found = worst_case(model, "fast")
    >>> 10 < found.instructions < 100, found.stack_bytes < 100
    (True, True)
    """
    how: dict[str, Any] = {"compiler": compiler, "optimize": optimize}
    program = choose(model, layout, **how, **options)
    chip = find_target(program.options.target)
    if chip.isa != "thumb":
        return _not_followed(chip)
    own = bare(program)
    return worst_of(compiled(own.files, chip, [own.function, *own.beside], **how), chip, own)


def _not_followed(chip: Target) -> WorstCase:
    return WorstCase(None, None, f"The code of {chip.name} is not followed, only that of Cortex-M cores.")


def worst_of(elf: Elf, chip: Target, program: CProgram) -> WorstCase:
    """Return the worst case of a program that was compiled."""
    if chip.isa != "thumb":
        return _not_followed(chip)
    code, why_not = Code(elf), []
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
        return longest(Paths(code, row_of(inputs, width)).follow(program.function, INPUT))
    graph = Paths(code, row_of(inputs * _ROWS, width)).follow(program.function, INPUT, _ROWS, OUTPUT)
    return -(-longest(graph, excludes=False) // _ROWS)
