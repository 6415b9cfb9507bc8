"""C code with rows and answers, compiled and executed in an emulator.

It is an exported model, or a baseline that models are compared with.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.chips.elf import Elf
from ethereal.chips.targets import Target
from ethereal.chips.toolchain import Compiler
from ethereal.device.emulator import DeviceFault, EmulatedCore
from ethereal.export.c99.choose import ModelTooLarge, compiled
from ethereal.export.c99.device_rows import stand_ins
from ethereal.export.c99.parts.part import Assumed
from ethereal.export.c99.program import Program
from ethereal.model.output import Number

# How a function is called. "row": with a row, and it returns the class or the sum. "value": with
# a row, and it returns a float. "32 rows": with 32 rows and room for
# their classes. "batch": with rows, their number and room for the classes. "booleanize": with features and
# room for the Booleanized row.
Call = Literal["row", "value", "32 rows", "batch", "booleanize"]
_PLENTY = 16 << 20  # bytes of RAM, to find out how much is needed
_Results = tuple[NDArray[np.int64], NDArray[np.int64]]  # classes and instructions, per row


@dataclass(frozen=True)
class CProgram:
    """C files with a function that gives the answers of rows: classes, or sums of votes."""

    name: str
    files: dict[str, str]
    function: str
    rows: NDArray[Any]  # rows x what the function reads
    expected: NDArray[np.int64]  # what the host answers: numbers of classes, sums of votes, or bits of floats
    call: Call = "row"
    beside: tuple[str, ...] = ()  # functions that flash is counted for too
    row_bytes: int = 0  # of a Booleanized row, where the function writes one
    # Functions that make up a model's: from a Booleanized row to its class, and from features to such a row.
    steps: tuple[CProgram, ...] = ()
    # What must agree with the host as well, but is not counted: a model's function that gives a number.
    beside_counts: CProgram | None = None
    is_model: bool = False  # else it is a baseline
    # Per feature of a row, values that stand for all others. None where no bound is to be found.
    stand_ins: tuple[NDArray[Any], ...] | None = None
    row: str = ""  # the variable where the function keeps the features that it makes of raw samples
    # Functions that have a bound of their own. One takes a sample and calls `function` once there are enough.
    # Another one teaches a row.
    streams: tuple[str, ...] = ()
    # What is assumed of variables, by functions. A function is followed for each list.
    assumed: dict[str, list[list[Assumed]]] = field(default_factory=dict)

    @property
    def roots(self) -> list[str]:
        """The functions that flash is counted for."""
        return [self.function, *self.beside]


def bare(program: Program) -> CProgram:
    """Return the program without rows, for what follows from its code alone."""
    function, *beside = program.entry_points
    none: NDArray[Any] = np.zeros((0, 0))
    return replace(_alone(program, function, none, none.astype(np.int64)), beside=tuple(beside))


def _alone(program: Program, function: str, rows: NDArray[Any], expected: NDArray[np.int64]) -> CProgram:
    """Return a function of the program, with the values that its bound is found for."""
    call: Call = "row" if program.c_layout.rows_per_call == 1 else "batch"
    alone = CProgram(program.layout, program.files, function, rows, expected, call, is_model=True)
    predicts_rows = alone.function == program.predict_function  # and no raw samples
    parts = [part for part in program.parts if not (predicts_rows and part.predicts)]
    streams = [function for part in parts for function in part.bounded]
    assumed: dict[str, list[list[Assumed]]] = {}
    for function in ("", *streams):
        ways = product(*(part.assumed(program, function) for part in parts))
        lists = [[each for of_part in way for each in of_part] for way in ways]
        if lists != [[]]:
            assumed[f"{program.name}_{function}" if function else alone.function] = lists
    row = "".join(part.row_variable for part in parts)
    names = tuple(f"{program.name}_{function}" for function in streams)
    front_end = program.model.front_end
    is_any = program.model.output.kind == "normal" or (front_end is not None and front_end.frames is not None)
    few = () if is_any else stand_ins(program.slots)  # none where any value may differ
    return replace(alone, stand_ins=few, row=row, streams=names, assumed=assumed)


def on_rows(program: Program, X: ArrayLike) -> CProgram:
    """Return the program of an exported model on every row of `X`, or on every raw window."""
    X = program.read_columns(X)
    features, name = program.features(X), program.name
    if len(features) == 0:
        raise ValueError("X has no rows. Give at least one.")
    by_row: Call = "row" if program.c_layout.rows_per_call == 1 else "32 rows"
    predict, *beside = program.entry_points
    front_end, of_windows = program.model.front_end, np.ndim(X) == 3
    if front_end is not None and not of_windows:  # features that were made before
        predict, beside = program.predict_function, program.entry_points
    expected = program.model._engine.winners(X)  # of the rows before rounding
    alone = whole = _alone(program, predict, features, expected)
    if front_end is not None and of_windows:
        counts = front_end.counts(X)
        whole = replace(alone, rows=counts.reshape(len(counts), -1))
    if isinstance(output := program.model.output, Number):
        bits = output.answers(expected[:, None]).view(np.int32).astype(np.int64)
        value = CProgram(alone.name, alone.files, f"{name}_value", features, bits, "value", is_model=True)
        whole = replace(whole, beside_counts=value)
    if not program.c_layout.has_rows:
        return replace(whole, beside=tuple(beside))
    rows = program.rows(X)
    of_row = f"{name}_{'sum' if program.number else 'predict'}_{by_row.replace(' ', '_')}"
    clauses = replace(alone, function=of_row, rows=rows, call=by_row)
    booleanize = replace(alone, function=f"{name}_booleanize", call="booleanize", row_bytes=rows.shape[1])
    return replace(whole, beside=tuple(beside), steps=(clauses, booleanize))


@dataclass(frozen=True)
class Execution:
    """A program on all its rows. The counts are instructions, or cycles on an AVR."""

    elf: Elf
    classes: NDArray[np.int64]  # per row: the number of the class, or the sum or the bits of a number
    counts: NDArray[np.int64]  # per row
    stack_bytes: int
    mix: dict[str, float] = field(default_factory=dict)  # instructions by kind, mean of a row, not on an AVR


def execute(program: CProgram, chip: Target, *, compiler: Compiler = "zig", optimize: str = "-Os",
            ram_bytes: int | None = None) -> Execution:  # fmt: skip
    """Compile a program for a Cortex-M or RISC-V core and execute it on its rows.

    `ModelTooLarge` says by how much it exceeds the chip. With `ram_bytes` there is that much RAM, and the
    flash of the chip is not a limit either.
    """
    floats = {"with_floats": True} if program.call == "value" else {}
    elf = compiled(program.files, chip, program.roots, optimize=optimize, compiler=compiler, **floats)
    if ram_bytes is None:
        check_flash(elf, chip, program.name)
    core = EmulatedCore(elf, chip, ram_bytes=ram_bytes)
    try:
        results = _call(core, program)
        calls = 32 * -(-len(program.rows) // 32) if program.call == "32 rows" else len(program.rows)
        mix = {kind: n / calls for kind, n in core.mix.items()}
        return Execution(elf, *results, core.stack_bytes, mix)
    except DeviceFault:
        roomy = EmulatedCore(elf, chip, ram_bytes=_PLENTY)
        _call(roomy, program)  # raises when the RAM was not the reason
        raise ram_exceeded(elf.ram_bytes + roomy.stack_bytes, chip) from None


def check_flash(elf: Elf, chip: Target, what: str) -> None:
    """Raise `ModelTooLarge` when the program exceeds the chip's flash."""
    needed = elf.code_bytes + elf.table_bytes
    if needed > chip.flash_bytes:
        raise ModelTooLarge(
            f"{what} takes {needed} bytes of flash, {needed - chip.flash_bytes} more than the "
            f"{chip.flash_bytes} of {chip.name} ({chip.chip}). Prune it, or use a chip with more flash."
        )


def ram_exceeded(needed: int, chip: Target) -> ModelTooLarge:
    """Return the error for a program that needs more RAM than the chip has."""
    return ModelTooLarge(
        f"The model needs {needed} bytes of RAM, {needed - chip.ram_bytes} more than the "
        f"{chip.ram_bytes} of {chip.name} ({chip.chip}). Use another layout, or a chip with more RAM."
    )


def _call(core: EmulatedCore, program: CProgram) -> _Results:
    """Call the function of a program on all its rows."""
    function, rows = program.function, program.rows
    if program.call == "32 rows":
        return _by_32_rows(core, function, rows)
    if program.call == "batch":  # once for all rows
        result = core.buffer(np.zeros(len(rows), dtype=np.uint16), writable=True)
        before = core.instructions
        core.call(function, core.buffer(rows), len(rows), result)
        count = (core.instructions - before) // len(rows)
        classes = np.frombuffer(core.read(result, 2 * len(rows)), dtype="<u2").astype(np.int64)
        return classes, np.full(len(rows), count, dtype=np.int64)
    empty_row = np.zeros(program.row_bytes, dtype=np.uint8)
    more = [core.buffer(empty_row, writable=True)] if program.call == "booleanize" else []
    return core.call_by_row(function, rows, *more)


def _by_32_rows(core: EmulatedCore, function: str, rows: NDArray[Any]) -> _Results:
    """Call `function` for every 32 rows. The first rows fill up the last call."""
    address = core.buffer(np.zeros((32, rows.shape[1]), dtype=rows.dtype))
    result = core.buffer(np.zeros(32, dtype=np.uint16), writable=True)
    classes, counts = np.empty((2, len(rows)), dtype=np.int64)
    for begin in range(0, len(rows), 32):
        some = np.arange(begin, begin + 32) % len(rows)
        core.write(address, rows[some])
        before = core.instructions
        core.call(function, address, result)
        answers = np.frombuffer(core.read(result, 64), dtype="<u2")
        n = min(32, len(rows) - begin)
        classes[begin : begin + n] = answers[:n]
        counts[begin : begin + n] = round((core.instructions - before) / 32)
    return classes, counts
