"""What a model takes on a device: guessed without a compiler, or compiled and executed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.features.packing import evenly
from ethereal.model.codes import compact

if TYPE_CHECKING:
    from ethereal.chips.targets import Target
    from ethereal.export.c99.program import Program
    from ethereal.model import Model
    from ethereal.tuning.budget import Budget

_THRESHOLD_BYTES = 4
MOST_ROWS = 64  # to execute a program on
_NO_ROOM = 1.25  # times the bytes that are allowed. A compiler may leave out some of the tables.
_GATES, _PER_TABLE = 20_000, 3  # literals, from which on they are not laid out, and those that a table ANDs
_PLENTY = 1 << 20  # bytes of RAM, to find out how much a program needs


@dataclass(frozen=True)
class Footprint:
    """What a model takes, from features to class."""

    bytes: int  # flash: code and tables
    instructions: float  # of the most expensive row, unless another number was asked for
    ram: int = 0  # bytes: variables and stack
    layout: str | None = None  # of `ethereal.export.c`, None for an estimate
    clause_bytes: int | None = None  # of `ethereal.export.c`
    worst: int | None = None  # instructions that no row exceeds, where they are bounded
    cycles: float | None = None  # estimated, mean of the rows, where the program was executed


@dataclass(frozen=True)
class GateFootprint(Footprint):
    """What a model takes, with its lookup tables on an FPGA."""

    luts: int = 0  # of four inputs, estimated before place and route


# Gives what a model takes in each form of its export, the fastest first, and nothing if it cannot be
# exported.
Measure = Callable[["Model"], Footprint | Iterable[Footprint]]


def estimate(model: Model) -> Footprint:
    """Estimate without a compiler, from the compact code, the used thresholds and ten instructions per test.

    Literals are tested in turn until one is false. Each is true as often as its Boolean was in the training
    rows, or in half of them if the model does not know. Every Boolean in use is made once. The code that
    reads the tables, some hundred bytes and the same for all models, is left out. A model of windows pays for
    the kernels that its clauses use. A model with a patch takes what `priced` says of its tables.

    >>> from ethereal import Model
    >>> estimate(Model([0, 3], [0, 2], [[1]], n_booleans=2, classes=["x"]))
    Footprint(bytes=2, instructions=35.0, ram=0, layout=None, clause_bytes=None, worst=None, cycles=None)
    """
    if model.patch is not None:
        return next(iter(priced("patches")(model)), Footprint(0, 0.0))
    used = np.unique(model.clauses.boolean)
    stored = len(compact.payload(model).data)
    if model.booleanizer is not None:
        stored += _THRESHOLD_BYTES * len(used)
    rates = np.full(model.n_booleans, 0.5) if model.boolean_rates is None else model.boolean_rates
    rates = np.concatenate([rates, 1 - rates])  # per literal
    tests = 0.0
    for clause in model:
        true_rates = rates[list(clause.literals)]
        tests += np.cumprod(np.concatenate([[1.0], np.sort(true_rates)]))[: len(true_rates)].sum()
    code, work = _features(model, used)
    return Footprint(stored + code, round(10 * float(tests) + 10 * len(used) + work, 1))


def in_gates(model: Model) -> GateFootprint:
    """Estimate without a synthesis, from what `ethereal.export.verilog` would write.

    A machine that no FPGA holds has a bound that is far too low, and large enough.

    >>> from ethereal import Model
    >>> in_gates(Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])).luts
    7
    """
    from ethereal.export.hdl.estimate import luts_of

    takes = estimate(model)
    if model.n_includes > _GATES or not model.simplify().n_clauses:
        return GateFootprint(**vars(takes), luts=model.n_includes // _PER_TABLE)
    return GateFootprint(**vars(takes), luts=luts_of(model))


def _features(model: Model, used: NDArray[np.intp]) -> tuple[int, float]:
    """Return bytes of the kernels that Booleans need, and instructions where these can be counted."""
    front_end = model.front_end
    if front_end is None or len(used) == 0:
        return 0, 0.0
    from ethereal.chips.toolchain import missing_tools
    from ethereal.export.c99.parts.windows import flash_bytes

    kept = front_end.keep(np.unique(front_end.group_of[model.feature_map.feature[used]]).tolist())
    if missing_tools():
        return flash_bytes(kept), 0.0
    from ethereal.device.kernel_prices import kernel_prices

    return flash_bytes(kept), kernel_prices(front_end).instructions(kept)


def priced(layout: str = "auto") -> Callable[[Model], Iterator[Footprint]]:
    """Estimate models by the programs of `ethereal.export.choose`, without a compiler.

    Flash is an upper bound, and instructions are those of an average row, both on a Cortex-M7. A model that
    the layout cannot hold has no footprint.

    >>> from ethereal import Model
    >>> model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])
    >>> [(found.layout, found.instructions < 100) for found in priced("straight")(model)]
    [('straight', True)]
    """
    from ethereal.export import ExportOptions
    from ethereal.export.c99.choose import programs
    from ethereal.model.needs import NotSupported

    options = ExportOptions.of("priced", {"layout": layout})

    def measure(model: Model) -> Iterator[Footprint]:
        if model.simplify().is_constant:
            return
        with suppress(NotSupported):
            for program, _ in programs(model, options):
                costs = program.costs
                takes = program.flash_bytes, costs.instructions, costs.stack_bytes
                yield Footprint(*takes, program.layout, program.clause_bytes)

    return measure


class Disagreement(RuntimeError):
    """A compiled program gave another class than the model on the host."""


def on_device(X: ArrayLike, target: str = "cortex-m7", *,
              of_rows: Callable[[NDArray[np.int64]], float] = np.max, flash: float = math.inf,
              worst: bool = False) -> Measure:  # fmt: skip
    """Measure models by what `ethereal.export.c` writes, compiled for `target` and executed on rows of `X`.

    A model is tried in the programs of `ethereal.export.choose`, the quickest first, on up to 64 rows, spread
    evenly over `X`. `of_rows` makes one number of the instructions of all rows, by default that of the most
    expensive one. A form whose tables or clauses alone take far more than `flash` is not compiled, except for
    the last. A program that gives other classes than the model raises `Disagreement`. With `worst`, the
    instructions that no row exceeds are found, too.

    >>> from ethereal import Model
    >>> model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])
    >>> [(found.layout, found.bytes < 1000) for found in on_device([[True, True], [False, False]])(model)]
    [('straight', True), ('fast', True), ('fast', True), ('compact', True)]
    """
    from ethereal.device import find_core
    from ethereal.export import ExportOptions
    from ethereal.export.c99.choose import programs

    chip = find_core(target)
    rows = np.asarray(X)
    if rows.ndim not in (2, 3) or len(rows) == 0:
        raise ValueError(f"X has shape {rows.shape}. Give rows or windows to execute the model on.")
    rows = rows[evenly(len(rows), MOST_ROWS)]

    def measure(model: Model) -> Iterator[Footprint]:
        if model.simplify().is_constant:
            return
        for program, is_last in programs(model, ExportOptions()):
            if is_last or may_fit(program, flash):
                yield executed(program, rows, chip, of_rows, worst)

    return measure


def usable(X: NDArray[Any], budget: Budget) -> Measure:
    """Return what measures models for a budget, but nothing for one that gives all rows of `X` one class.

    Such a model takes next to nothing, but it is useless. For a board models are compiled, as `on_device`
    does, and for an FPGA their lookup tables are estimated.
    """
    takes = in_gates if budget.is_gates else on_device(X, budget.target, **budget.keywords)

    def measure(model: Model) -> Footprint | Iterable[Footprint]:
        is_constant = np.ptp(model.output.codes(model.class_sums(X))) == 0
        return () if is_constant else takes(model)

    return measure


def may_fit(program: Program, flash: float) -> bool:
    """Whether a program may take at most so many bytes, as far as is known without a compiler."""
    from ethereal.export.c99.parts.windows import code_bytes

    front_end = program.model.front_end
    of_windows = 0 if front_end is None else code_bytes(front_end)
    return program.table_bytes + program.costs.code_bytes + of_windows <= _NO_ROOM * flash


def executed(program: Program, rows: NDArray[Any], chip: Target,
             of_rows: Callable[[NDArray[np.int64]], float], worst: bool = False) -> Footprint:  # fmt: skip
    """Compile a program and execute it on rows as they were given."""
    from ethereal.chips.cycles import estimate_cycles
    from ethereal.device.program import execute, on_rows
    from ethereal.device.worst import require_bounds, worst_of

    if worst:
        require_bounds()
    asked = on_rows(program, rows)
    run = execute(asked, chip, ram_bytes=_PLENTY)
    classes, expected, elf = run.classes, asked.expected, run.elf
    wrong = np.flatnonzero(classes != expected)
    if len(wrong):
        first, what = wrong[0], "sum" if program.number else "class"
        given, wanted = (
            int(codes[first]) if program.number else program.answer_names[codes[first]]
            for codes in (classes, expected)
        )
        raise Disagreement(
            f"The program in layout {program.layout!r} on {chip.name} gives another {what} than the model on "
            f"{len(wrong)} of {len(rows)} rows: {given!r} instead of {wanted!r} on the first of them. "
            "Train the model again with this version. "
            "If that does not help, please report it with the model file and the rows."
        )
    flash, ram = elf.code_bytes + elf.table_bytes, elf.ram_bytes + run.stack_bytes
    bound = worst_of(elf, chip, replace(asked, streams=())).instructions if worst else None
    cycles = estimate_cycles(chip.name, run.mix)
    instructions = float(of_rows(run.counts))
    return Footprint(flash, instructions, ram, program.layout, program.clause_bytes, bound, cycles)
