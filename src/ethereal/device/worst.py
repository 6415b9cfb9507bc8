"""The worst case of a compiled program: no row takes more instructions, and no call takes more stack.

Nothing is executed. The machine code is followed for all rows at once (`ethereal_bounds.walk`). So the bound
holds for rows that nobody tried. The stack follows from the calls (`ethereal_bounds.flow`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.chips.elf import Elf
from ethereal.chips.targets import Target, find_target
from ethereal.chips.toolchain import Compiler
from ethereal.device.emulator import EmulatedCore
from ethereal.device.program import CProgram, bare
from ethereal.export.c99.assumed import TEACHES
from ethereal.export.c99.choose import choose, compiled
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
    own = bare(program)
    return worst_of(compiled(own.files, chip, [own.function, *own.beside], **how), chip, own)


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
    found = bound(elf, chip.isa, program.function, inputs, others=others, beside=program.beside, **most)
    return WorstCase(**vars(found))


def _inputs(program: CProgram, function: str) -> Inputs | None:
    """Return what a function of the program reads, None where it does not read features."""
    if program.stand_ins is None:
        return None
    from ethereal_bounds import Inputs

    width = program.stand_ins[0].dtype.itemsize
    values = [own.view(f"u{width}").tolist() for own in program.stand_ins]
    if program.call == "batch":
        return Inputs(values, width, rows=_ROWS)
    teaches = function.endswith(TEACHES)
    return Inputs(
        values,
        width,
        variable=program.row,
        is_read_only=teaches or not program.row,
        keeps_ranges=teaches,
        assumed=program.assumed.get(function, [[]]),
    )


_RAM = 1 << 20


def most_expensive(
    elf: Elf, chip: Target, program: CProgram, calls: int = 2000, seed: int = 0
) -> tuple[int, int]:
    """Return the most instructions per row, and the stack, found by changing rows feature by feature.

    It begins with random rows and keeps each change that takes more instructions. `calls` bounds the
    executions. Of a program of 32 rows it is the mean of the rows of a call. Of a program of raw windows,
    stretches of samples are changed.
    """
    rng = np.random.default_rng(seed)
    if program.row:
        return _most_of_windows(EmulatedCore(elf, chip, ram_bytes=_RAM), program, calls, rng)
    assert program.stand_ins is not None
    values = program.stand_ins
    n_rows = _ROWS if program.call == "batch" else 1
    core = EmulatedCore(elf, chip, ram_bytes=_RAM)
    for each in program.assumed.get(program.function, [[]])[0]:
        if not each.points_to:  # as learned votes, which only count once there are some
            where = elf.symbols[each.variable].address + each.offset
            core.write(where, np.array(each.values[-1:], dtype=f"<u{each.width}"))
    at = core.buffer(_random(rng, values, n_rows))
    more = [n_rows, core.buffer(np.zeros(n_rows, np.uint16), writable=True)] if n_rows > 1 else []

    def cost(rows: NDArray[Any]) -> int:
        core.write(at, rows)
        before = core.instructions
        core.call(program.function, at, *more)
        return core.instructions - before

    most, left = 0, calls
    while left > 0:
        rows = _random(rng, values, n_rows)
        best, left, is_better = cost(rows), left - 1, True
        while is_better and left > 0:  # until no feature of the row can be changed with a gain
            is_better = False
            for f in rng.permutation(len(values)):
                for value in values[f][: max(left, 0)]:
                    other = rows.copy()
                    other[rng.random(n_rows) < 0.7 if n_rows > 1 else 0, f] = value
                    found, left = cost(other), left - 1
                    if found > best:
                        rows, best, is_better = other, found, True
        most = max(most, best)
    return -(-most // n_rows), core.stack_bytes


def _random(rng: np.random.Generator, values: tuple[NDArray[Any], ...], n_rows: int) -> NDArray[Any]:
    return np.stack([rng.choice(own, n_rows) for own in values], axis=1)


def _most_of_windows(
    core: EmulatedCore, program: CProgram, calls: int, rng: np.random.Generator
) -> tuple[int, int]:
    size, most, left = program.rows.shape[1], 0, calls
    at = core.buffer(np.zeros(size, np.int16))

    def cost(samples: NDArray[np.int16]) -> int:
        core.write(at, samples)
        before = core.instructions
        core.call(program.function, at)
        return core.instructions - before

    for kind in range(_KINDS):
        samples = _samples(rng, size, kind)
        best, left = cost(samples), left - 1
        for _ in range(max(1, calls // _KINDS)):
            other, begin = samples.copy(), int(rng.integers(size))
            own = slice(begin, begin + int(rng.integers(1, size + 1)), int(rng.integers(1, 8)))
            other[own] = _samples(rng, size, int(rng.integers(_KINDS)))[own]
            found, left = cost(other), left - 1
            if found > best:
                samples, best = other, found
            if left <= 0:
                break
        most = max(most, best)
    return most, core.stack_bytes


_KINDS = 7


def _samples(rng: np.random.Generator, size: int, kind: int) -> NDArray[np.int16]:
    """Return samples: random, at the ends, alternating, constant, still, smooth, or as low as can be."""
    i = np.arange(size)
    made = (
        rng.integers(-32768, 32768, size),
        rng.choice([-32768, 32767], size),
        np.where(i // int(rng.integers(1, 8)) % 2, 32767, -32768),
        np.full(size, rng.integers(-32768, 32768)),
        rng.integers(-4, 5, size) + rng.integers(-2000, 2000),
        32767 * rng.random() * np.sin(i * 3 * rng.random()),
        np.full(size, -32768),
    )
    return np.asarray(made[kind]).astype(np.int16)
