"""The one rule that chooses the program of a model.

`run`, `export`, `measure`, `prune`, `tune` and the report use it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ethereal.base.checks import check_integer
from ethereal.export.c99.program import LAYOUTS, Layout, Program, make_program
from ethereal.export.errors import ModelTooLarge
from ethereal.model import Model

if TYPE_CHECKING:
    from ethereal.chips.elf import Elf
    from ethereal.chips.targets import Target

DEFAULT_TARGET = "cortex-m7"
# Programs that answer row by row, the quickest first: layout, and bytes for the clauses in "fast".
FORMS: tuple[tuple[Layout, int | None], ...] = (("fast", None), ("fast", 0), ("compact", None))
_NEAR = 2  # times an estimate that is an upper bound: beyond it, no compiler needs to be asked


def choose(
    model: Model,
    layout: Layout | Literal["auto"] = "auto",
    *,
    flash: int | None = None,
    target: str = DEFAULT_TARGET,
    clause_bytes: int | None = None,
    compiler: Literal["zig", "gcc"] = "zig",
    optimize: str = "-Os",
    **keywords: Any,
) -> Program:
    """Return the program of `model` that is exported, measured and reported.

    The layout "auto" is the quickest program that fits. These programs answer row by row and are tried in
    this order:

    1. "fast", whose tables take twice the bytes only where that saves 30 % of the instructions
    2. "fast" with the smallest tables
    3. "compact"

    A program fits if it takes at most `flash` bytes with its code, the check at start-up included. Without
    `flash`, the flash of the target's chip is the limit. A quick program that needs more RAM than the chip
    has is passed over too. The choice depends on the simplified model alone, so that simplifying a model
    never makes its export slower. "sliced" works on 32 rows at a time and is only taken by name.

    Parameters
    ----------
    model
        The model to export.
    layout
        "auto", or the layout to use. `ModelTooLarge` is raised when the layout cannot hold the model, or does
        not fit. Its message names the layouts that do.
    flash
        Limit in bytes.
    target
        Core whose chip counts, see `ethereal.device.TARGETS`.
    clause_bytes
        Limit for the clauses in "fast", tables and code. It replaces the two ways to make "fast".
    compiler, optimize
        How the program will be compiled. The compiler is asked where an estimate leaves a doubt, if it is
        installed.
    keywords
        Those of `make_program`.

    Examples
    --------
    >>> model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])
    >>> choose(model).layout, choose(model, "sliced").layout
    ('fast', 'sliced')
    """
    from ethereal.chips.targets import find_target  # which imports this module by its package

    if layout not in (*LAYOUTS, "auto"):
        raise ValueError(f"layout is {layout!r}; it must be one of {', '.join(LAYOUTS)} or auto")
    chip = find_target(target)
    limit = chip.flash_bytes if flash is None else check_integer("flash", flash, 1, 2**31 - 1)
    is_single = keywords.pop("single_header", False)  # such a header is not compiled alone

    def size(program: Program) -> _Size:
        return _size(program, limit, chip, compiler, optimize)

    refused: ModelTooLarge | None = None
    takes: _Size | None = None
    for program in programs(model, layout, clause_bytes=clause_bytes, **keywords):
        try:
            takes = size(program)
        except ModelTooLarge as error:
            refused = error
            continue
        needs_ram = (
            layout == "auto" and program.layout == "fast" and program.costs.stack_bytes > chip.ram_bytes
        )
        if takes.bytes > limit or needs_ram:
            continue
        if not is_single:
            return program
        bound = program.clause_bytes
        return make_program(model, program.layout, max_bytes=bound, single_header=True, **keywords)
    if takes is None and refused is not None:
        raise refused
    assert takes is not None
    where = f"of {chip.name} ({chip.chip})" if flash is None else "that it may take"
    fitting = [] if layout == "auto" else _that_fit(model, limit, size, **keywords)
    raise ModelTooLarge(
        f"Layout {program.layout!r} takes {takes}, {takes.bytes - limit} more than the {limit} {where}. "
        + (f"What fits: {', '.join(fitting)}." if fitting else _no_layout(limit))
    )


def programs(
    model: Model,
    layout: Layout | Literal["auto"] = "auto",
    *,
    clause_bytes: int | None = None,
    **keywords: Any,
) -> Iterator[Program]:
    """Programs that `choose` tries, in its order, each made when it is asked for."""
    if layout in ("compact", "sliced"):
        forms: tuple[tuple[Layout, int | None], ...] = ((layout, None),)
    else:
        forms = FORMS if clause_bytes is None else (("fast", clause_bytes), FORMS[-1])
        forms = tuple(form for form in forms if layout in ("auto", form[0]))
    for name, bound in forms:
        yield make_program(model, name, max_bytes=bound, **keywords)


@dataclass(frozen=True)
class _Size:
    """Flash of a program."""

    bytes: int
    is_measured: bool  # by a compiler; else it is an upper bound

    def __str__(self) -> str:
        text = f"{self.bytes} bytes of flash"
        return text if self.is_measured else f"at most about {text}"


def _size(program: Program, limit: int, chip: Target, compiler: Any, optimize: str) -> _Size:
    """Flash of a program; compiled where an upper bound does not say whether it fits."""
    bound = _Size(program.flash_bytes, is_measured=False)
    if _NEAR * bound.bytes <= limit:
        return bound
    try:
        elf = compiled(program, chip, program.entry_points, optimize=optimize, compiler=compiler)
    except ModuleNotFoundError:  # no compiler
        return bound
    return _Size(elf.code_bytes + elf.table_bytes, is_measured=True)


def compiled(program: Program, chip: Target, roots: Sequence[str], **options: Any) -> Elf:
    """Compile the functions `roots` of a program; `ModelTooLarge` when its tables are beyond the core."""
    # Imported here, because the package of devices imports this module.
    from ethereal.chips.toolchain import CompileError, compile_elf

    try:
        return compile_elf(program.files, chip, roots, **options)
    except CompileError as error:
        beyond = re.search(r'#error "(The tables take .*?)"', str(error))
        if beyond is None:
            raise
        raise ModelTooLarge(beyond[1]) from None


def _that_fit(model: Model, limit: int, size: Callable[[Program], _Size], **keywords: Any) -> list[str]:
    """Layouts that fit, with what they take at least."""
    found = []
    for layout in LAYOUTS:
        try:
            takes = size(next(programs(model, layout, clause_bytes=0, **keywords)))
        except ModelTooLarge:
            continue
        if takes.bytes <= limit:
            found.append(f"{layout!r} ({takes})")
    return found


def _no_layout(limit: int) -> str:
    return (
        "No layout fits. Make a smaller model with ethereal.prune(model, X, y, "
        f"max_bytes={limit}) or with `ethereal tune DATA --flash {limit}`, or choose a chip with more flash."
    )
