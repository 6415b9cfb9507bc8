"""The worst case of a compiled program: no row takes more instructions, and no call takes more stack.

Nothing is executed. The machine code is followed for all rows at once (`ethereal_bounds.walk`). So the bound
holds for rows that nobody tried. The stack follows from the calls (`ethereal_bounds.flow`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ethereal.chips.elf import Elf
from ethereal.chips.targets import Target, find_target
from ethereal.chips.toolchain import Compiler
from ethereal.device.program import CProgram, bare
from ethereal.export.c99.choose import choose, compiled
from ethereal.export.c99.parts.learn import Learn
from ethereal.model import Model

if TYPE_CHECKING:
    from ethereal_bounds import Inputs


NOT_INSTALLED = (
    "There is no worst case, because the package ethereal_bounds is missing, which follows the code. "
    "Install ethereal-tm again to have it."
)
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
    if why := _not_followed(chip):
        return WorstCase(None, None, why)
    alone = bare(program)
    return worst_of(compiled(alone.files, chip, alone.roots, **how), chip, alone)


def require_bounds() -> None:
    """Tell before the work that a bound on the worst case cannot be kept."""
    if find_spec("ethereal_bounds") is None:
        raise ModuleNotFoundError(NOT_INSTALLED)


def _not_followed(chip: Target) -> str:
    """Return why code for a chip has no worst case, or nothing."""
    if find_spec("ethereal_bounds") is None:
        return NOT_INSTALLED
    from ethereal_bounds import DECODERS

    if chip.isa in DECODERS:
        return ""
    return f"The code of {chip.name} is not followed, only that of Cortex-M and RISC-V cores."


def worst_of(elf: Elf, chip: Target, program: CProgram, most_steps: int | None = None) -> WorstCase:
    """Return the worst case of a program that was compiled, unless it takes more steps to follow it."""
    if why := _not_followed(chip):
        return WorstCase(None, None, why)
    from ethereal_bounds import bound

    most = {} if most_steps is None else {"most_steps": most_steps}
    inputs = _inputs(program, program.function)
    others = {name: _inputs(program, name) for name in program.streams}
    bounds = bound(elf, chip.isa, program.function, inputs, others=others, beside=program.beside, **most)
    return WorstCase(**vars(bounds))


def _inputs(program: CProgram, function: str) -> Inputs | None:
    """Return what a function of the program reads, None where it does not read features."""
    if program.stand_ins is None:
        return None
    from ethereal_bounds import Assumed, Inputs

    width = program.stand_ins[0].dtype.itemsize if program.stand_ins else 4
    values = [each.view(f"u{width}").tolist() for each in program.stand_ins]
    if program.call == "batch":
        return Inputs(values, width, rows=_ROWS)
    teaches = function.endswith(Learn.bounded)
    assumed = [[Assumed(**vars(each)) for each in some] for some in program.assumed.get(function, [[]])]
    flags = {"is_read_only": teaches or not program.row, "keeps_ranges": teaches}
    return Inputs(values, width, variable=program.row, assumed=assumed, **flags)
