"""The one rule that chooses the program of a model.

`run`, `export`, `measure`, `prune`, `tune` and the report use it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ethereal.base.checks import DoesNotFit
from ethereal.chips.elf import Elf
from ethereal.chips.targets import Target, find_target
from ethereal.chips.toolchain import CompileError, Compiler, compile_elf
from ethereal.export.c99.device_rows import Slots, simplified
from ethereal.export.c99.layouts import MOST_LITERALS, OF_OUTPUTS, OF_PATCHES, REGISTRY, CLayout, find_layout
from ethereal.export.c99.parts import PARTS
from ethereal.export.c99.program import Program, program_of
from ethereal.export.options import ExportOptions, Kept
from ethereal.model import Model
from ethereal.model.needs import NotSupported

_NEAR = 2  # A limit of so many times the upper bound needs no compiler.
_NO_LAYOUT = (
    "No layout fits. Make a smaller model with ethereal.prune(model, X, y, flash={0}) or with "
    "`ethereal tune DATA --flash {0}`, or choose a chip with more flash."
)


class ModelTooLarge(DoesNotFit):
    """A model does not fit the chip, or the flash that it may take."""


def choose(
    model: Model,
    layout: str | None = None,
    *,
    compiler: Compiler = "zig",
    optimize: str = "-Os",
    platform: str = "",
    **keywords: Any,
) -> Program:
    """Return the program of `model` that is exported, measured and reported.

    The layout "auto" is the quickest program that fits. These programs answer row by row and are tried in
    this order:

    1. "straight", code without tables
    2. "fast", whose tables take twice the bytes only where that saves 30 % of the instructions
    3. "fast" with the smallest tables
    4. "compact"

    The first two change places if "straight" takes more flash than its speed is worth. By estimates, twice
    the bytes of "fast" are worth 30 % fewer instructions.

    A program fits if it takes at most `flash` bytes with its code, the check at start-up included.
    Without `flash`, the limit is the flash of the target's chip, less what start-up code or Arduino's
    core takes. A quick program that needs more RAM than the chip has is passed over too. The choice
    depends on the simplified model alone, so that simplifying a model never makes its export slower.
    "sliced" works on 32 rows at a time, and "redress" holds the paper's words. Both are only taken by
    name. An export with `learn` has layouts of its own: "branches", then "lists". The model of
    an `EtherealDetector` always has the layout "distance".

    Parameters
    ----------
    model
        The model to export.
    layout
        "auto", or the layout to use. `NotSupported` is raised when the layout cannot hold the model, and
        `ModelTooLarge` when it does not fit. The message names the layouts that do. "auto" passes over
        layouts that cannot hold the model. With None, a model that was pruned to a bound keeps the layout,
        the flash and the core that it was pruned for (`Model.deployment`), and others take "auto".
    compiler, optimize
        How the program will be compiled. The compiler is asked where an estimate leaves a doubt, if it is
        installed.
    platform
        "arduino" leaves room for Arduino's boot loader and core, and for a sketch that prints.
    keywords
        The other options of `ethereal.export.ExportOptions`. `clause_bytes` replaces the two ways to make
        "fast".

    Examples
    --------
    >>> model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])
    >>> choose(model).layout, choose(model, "sliced").layout
    ('straight', 'sliced')
    """
    return chosen(model, *ExportOptions.for_model("choose", model, {"layout": layout, **keywords}),
                  compiler=compiler, optimize=optimize, platform=platform)  # fmt: skip


def chosen(
    model: Model,
    options: ExportOptions,
    kept: Kept | None = None,
    *,
    compiler: Compiler = "zig",
    optimize: str = "-Os",
    platform: str = "",
) -> Program:
    """Return the program of `choose`, from options that are complete, and what the model kept of them."""
    chip, layout = find_target(options.target), options.layout
    memory = chip.memory_left(platform)
    limit = memory.flash_bytes if options.flash is None else options.flash
    several = replace(options, single_header=False)  # one header is not compiled alone
    for each in PARTS:
        model = each.prepared(model, options)

    size = partial(_size, limit=limit, chip=chip, compiler=compiler, optimize=optimize)
    refused: ModelTooLarge | None = None
    takes: _Size | None = None
    for program, is_last in programs(model, several):
        try:
            takes = size(program)
        except ModelTooLarge as error:
            refused = error
            continue
        needed = program.ram_bytes + program.costs.stack_bytes + _sketch_bytes(program, platform)
        lacks_ram = layout == "auto" and not is_last and needed > memory.ram_bytes
        # Its own layout was measured within its own bound. Without a compiler that cannot be seen again.
        is_known = kept is not None and kept.keeps_layout and not takes.is_measured
        if (takes.bytes <= limit or is_known) and not lacks_ram:
            for part in program.parts:
                if excess := part.excess(program, chip):
                    raise ModelTooLarge(excess)
            _check_sketch(program, chip, platform)
            return replace(program, options=options) if options.single_header else program
    if takes is None and refused is not None:
        raise refused
    assert takes is not None
    beside = "Arduino's core" if platform == "arduino" else "start-up code"
    where = f"of {chip.name} ({chip.chip}) beside {beside}" if options.flash is None else "that it may take"
    if kept is not None and kept.keeps_flash:
        raise ModelTooLarge(
            f"Layout {program.layout!r} takes {takes}, {takes.bytes - limit} more than the {limit} that the "
            f"model was pruned for ({kept.purpose}). Allow more flash, take the layout 'auto', or prune "
            "it again."
        )
    fitting = [] if layout == "auto" else _that_fit(model, limit, size, several)
    raise ModelTooLarge(
        f"Layout {program.layout!r} takes {takes}, {takes.bytes - limit} more than the {limit} {where}. "
        + (f"What fits: {', '.join(fitting)}." if fitting else _NO_LAYOUT.format(limit))
    )


def _sketch_bytes(program: Program, platform: str) -> int:
    """Return the RAM of a row in a sketch for Arduino, and of the numbers that integers are made of."""
    takes_samples = any(part.predicts for part in program.parts)
    if platform != "arduino" or takes_samples:
        return 0
    each = 1 if program.model.fitted is None else np.dtype(program.input.dtype).itemsize
    return program.model.n_features * (each + (4 if program.scales else 0))


def _check_sketch(program: Program, chip: Target, platform: str) -> None:
    """Refuse a model whose rows alone exceed the RAM that Arduino's core leaves."""
    needed, left = program.ram_bytes + _sketch_bytes(program, platform), chip.memory_left(platform).ram_bytes
    if platform == "arduino" and needed > left:
        raise ModelTooLarge(
            f"A row of {program.model.n_features} features and the model's variables take {needed} bytes of "
            f"RAM, but Arduino's core leaves {left} of {chip.name} ({chip.chip}). Use fewer features, or a "
            "chip with more RAM."
        )


def programs(model: Model, options: ExportOptions) -> Iterator[tuple[Program, bool]]:
    """Yield the programs that `choose` tries, and whether each is the last."""
    small = simplified(model)
    if options.layout != "auto":
        layouts = [find_layout(options.layout)]
    else:
        usual = [each for each in reversed(REGISTRY) if each.rows_per_call == 1 and not each.by_name]
        usual = (
            list(OF_OUTPUTS.get(small.output.kind, usual)) if small.patch is None else [*reversed(OF_PATCHES)]
        )
        layouts = [layout for part in PARTS for layout in part.layouts(options)] or usual
        # If no layout can hold the model, the last one says why.
        layouts = [each for each in layouts if each.supports.refusal(small.needs) is None] or layouts[-1:]
    forms = [(layout, bound) for layout in layouts for bound in layout.forms(options.clause_bytes)]
    kept: dict[bool, Slots] = {}
    made = _made(model, small, options, forms, kept)
    # Many literals are taken as code only if they are those of trees, and trees are best as code.
    is_choice = len(forms) > 2 or small.patch is not None
    if is_choice and len({layout.name for layout, _ in forms[:2]}) == 2 and small.n_includes <= MOST_LITERALS:
        made = itertools.chain(sorted(itertools.islice(made, 2), key=lambda each: _price(each[0])), made)
    yield from made


def _made(
    model: Model,
    small: Model,
    options: ExportOptions,
    forms: Sequence[tuple[CLayout, int | None]],
    kept: dict[bool, Slots],
) -> Iterator[tuple[Program, bool]]:
    """Yield the programs of these layouts, and whether each is the last.

    A layout may see only while it arranges the clauses that it does not take them. It is passed over.
    """
    for i, (layout, bound) in enumerate(forms):
        is_last = i == len(forms) - 1
        try:
            yield program_of(model, small, options, layout, bound, kept), is_last
        except NotSupported:
            if is_last:
                raise


def _price(program: Program) -> float:
    """Return what is least if twice the bytes are worth 30 % fewer instructions."""
    return program.flash_bytes * program.costs.instructions**2


@dataclass(frozen=True)
class _Size:
    """Flash of a program."""

    bytes: int
    is_measured: bool  # by a compiler, else it is an upper bound

    def __str__(self) -> str:
        return f"{'' if self.is_measured else 'at most about '}{self.bytes} bytes of flash"


def _size(program: Program, limit: int, chip: Target, compiler: Compiler, optimize: str) -> _Size:
    """Return the flash of a program, compiled if an upper bound does not say whether it fits."""
    bound = _Size(program.flash_bytes, is_measured=False)
    if _NEAR * bound.bytes <= limit:
        return bound
    try:
        elf = compiled(program.files, chip, program.entry_points, optimize=optimize, compiler=compiler)
    except ModuleNotFoundError:  # no compiler
        return bound
    return _Size(elf.code_bytes + elf.table_bytes, is_measured=True)


def compiled(files: Mapping[str, str], chip: Target, roots: Sequence[str], **options: Any) -> Elf:
    """Compile the functions `roots` of a program. Tables that the core cannot read raise `ModelTooLarge`."""
    try:
        return compile_elf(files, chip, roots, **options)
    except CompileError as error:
        beyond = re.search(r'#error "(The tables take .*?)"', str(error))
        if beyond is None:
            raise
        raise ModelTooLarge(beyond[1]) from None


def _that_fit(
    model: Model, limit: int, size: Callable[[Program], _Size], options: ExportOptions
) -> list[str]:
    """Return the layouts that fit, with the least that they take."""
    fitting = []
    for layout in REGISTRY:
        try:
            takes = size(program_of(model, simplified(model), options, layout, 0))
        except (ModelTooLarge, NotSupported):
            continue
        if takes.bytes <= limit:
            fitting.append(f"{layout.name!r} ({takes})")
    return fitting
