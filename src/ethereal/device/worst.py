"""The worst case of a compiled program: no row takes more instructions, and no call takes more stack.

Nothing is executed. The machine code is followed for all rows at once (`ethereal.chips.paths`). So the bound
holds for rows that nobody tried. The stack follows from the calls (`ethereal.chips.flow`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ethereal.chips.elf import Elf
from ethereal.chips.flow import DECODERS, Code
from ethereal.chips.instruction import Unbounded
from ethereal.chips.longest import longest
from ethereal.chips.memory import Input, Memory, row_of
from ethereal.chips.paths import MOST_STEPS, Paths
from ethereal.chips.state import INPUT, OUTPUT
from ethereal.chips.targets import Target, find_target
from ethereal.chips.toolchain import Compiler
from ethereal.device.program import CProgram, bare
from ethereal.export.c99.choose import choose, compiled
from ethereal.export.c99.parts.learn import Learn
from ethereal.export.c99.parts.part import Assumed
from ethereal.model import Model

_ROWS = 32  # of a call of a program that takes many


@dataclass(frozen=True)
class WorstCase:
    """Bounds that hold for every row, or None with the reason."""

    instructions: int | None  # of a row
    stack_bytes: int | None  # of any call
    why_not: str = ""
    calls: dict[str, int] = field(default_factory=dict)  # instructions of other functions, by their names


def worst_case(model: Model, layout: str | None = None, *, compiler: Compiler = "zig", optimize: str = "-Os",
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
    if chip.isa not in DECODERS:
        return _not_followed(chip)
    own = bare(program)
    return worst_of(compiled(own.files, chip, [own.function, *own.beside], **how), chip, own)


def _not_followed(chip: Target) -> WorstCase:
    return WorstCase(
        None, None, f"The code of {chip.name} is not followed, only that of Cortex-M and RISC-V cores."
    )


def worst_of(elf: Elf, chip: Target, program: CProgram, most_steps: int = MOST_STEPS) -> WorstCase:
    """Return the worst case of a program that was compiled, unless it takes more steps to follow it."""
    if chip.isa not in DECODERS:
        return _not_followed(chip)
    code, why_not = Code(elf, chip.isa), []
    stack = instructions = None
    try:
        stack = max(map(code.stack_bytes, (program.function, *program.beside)))
    except Unbounded as error:
        why_not.append(f"The stack has no bound: {error}.")
    try:
        instructions = _instructions(code, program, program.function, most_steps)
    except Unbounded as error:
        why_not.append(f"Instructions have no bound: {error}.")
    calls = {}
    for name in program.streams if instructions is not None else ():
        try:
            if name in elf.symbols:
                calls[name] = _instructions(code, program, name, most_steps)
        except Unbounded as error:
            why_not.append(f"Instructions of {name} have no bound: {error}.")
    return WorstCase(instructions, stack, " ".join(why_not), calls)


def _instructions(code: Code, program: CProgram, function: str, most_steps: int) -> int:
    if program.stand_ins is None:
        raise Unbounded("it does not read features")
    width = program.stand_ins[0].dtype.itemsize
    values = [own.view(f"u{width}").tolist() for own in program.stand_ins]
    if program.call == "batch":
        memory = Memory(code, row_of(values * _ROWS, width))
        graph = Paths(memory, most_steps).follow(function, INPUT, _ROWS, OUTPUT)
        return -(-longest(graph, excludes=False) // _ROWS)
    row = row_of(values, width, code.variable(program.row).address if program.row else INPUT)
    teaches = function.endswith(Learn.bounded)
    makes_row = bool(program.row) and not teaches
    most = 0
    for asked in program.assumed.get(function, [[]]):
        memory = Memory(code, row, *(_assumed(code, asked, always) for always in (False, True)))
        graph = Paths(memory, most_steps).follow(function, INPUT, makes_row=makes_row, keeps_ranges=teaches)
        most = max(most, longest(graph))
    return most


def _assumed(code: Code, asked: list[Assumed], always: bool) -> list[Input]:
    """Return the variables that have values before a call, or those that have them whenever they are read."""
    found = []
    for each in asked:
        if each.always == always and (each.variable in code.elf.symbols or not each.points_to):
            symbol = code.variable(each.variable)
            values = (code.variable(each.points_to).address,) if each.points_to else each.values
            found.append(Input(symbol.address + each.offset, each.width or symbol.size, values))
    return found
