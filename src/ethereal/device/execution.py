"""Compile a program, execute it on rows in an emulator, and say when the chip is too small for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.chips.elf import Elf
from ethereal.chips.targets import Target
from ethereal.chips.toolchain import Compiler
from ethereal.device.emulator import DeviceFault, EmulatedCore
from ethereal.device.program import CProgram
from ethereal.export.c99.choose import ModelTooLarge, compiled

_PLENTY = 16 << 20  # bytes of RAM, to find out how much is needed


@dataclass(frozen=True)
class Execution:
    """A program on all its rows. The counts are instructions, or cycles on an AVR."""

    elf: Elf
    classes: NDArray[np.int64]  # per row
    counts: NDArray[np.int64]  # per row
    stack_bytes: int
    mix: dict[str, float] = field(default_factory=dict)  # instructions by kind, mean of a row, not on an AVR


def execute(
    program: CProgram,
    chip: Target,
    *,
    compiler: Compiler = "zig",
    optimize: str = "-Os",
    ram_bytes: int | None = None,
) -> Execution:
    """Compile a program for a Cortex-M or RISC-V core and execute it on its rows.

    `ModelTooLarge` says by how much it exceeds the chip. With `ram_bytes` there is that much RAM, and the
    flash of the chip is not a limit either.
    """
    roots = [program.function, *program.beside]
    elf = compiled(program.files, chip, roots, optimize=optimize, compiler=compiler)
    if ram_bytes is None:
        check_flash(elf, chip, program.name)
    core = EmulatedCore(elf, chip, ram_bytes=ram_bytes)
    try:
        found = _call(core, program)
        calls = 32 * -(-len(program.rows) // 32) if program.call == "32 rows" else len(program.rows)
        mix = {kind: n / calls for kind, n in core.mix.items()}
        return Execution(elf, *found, core.stack_bytes, mix)
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


_Results = tuple[NDArray[np.int64], NDArray[np.int64]]  # classes and instructions, per row


def _call(core: EmulatedCore, program: CProgram) -> _Results:
    """Call the function of a program on all its rows."""
    function, rows = program.function, program.rows
    if program.call == "32 rows":
        return _by_32_rows(core, function, rows)
    if program.call == "batch":
        return _batch(core, function, rows)
    room = np.zeros(program.row_bytes, dtype=np.uint8)
    more = [core.buffer(room, writable=True)] if program.call == "booleanize" else []
    return core.call_by_row(function, rows, *more)


def _by_32_rows(core: EmulatedCore, function: str, rows: NDArray[Any]) -> _Results:
    """Call `function` for every 32 rows. The first rows fill up the last call."""
    address = core.buffer(np.zeros((32, rows.shape[1]), dtype=rows.dtype))
    result = core.buffer(np.zeros(32, dtype=np.uint16), writable=True)
    classes, counts = np.empty((2, len(rows)), dtype=np.int64)
    for begin in range(0, len(rows), 32):
        own = np.arange(begin, begin + 32) % len(rows)
        core.write(address, rows[own])
        before = core.instructions
        core.call(function, address, result)
        found = np.frombuffer(core.read(result, 64), dtype="<u2")
        n = min(32, len(rows) - begin)
        classes[begin : begin + n] = found[:n]
        counts[begin : begin + n] = round((core.instructions - before) / 32)
    return classes, counts


def _batch(core: EmulatedCore, function: str, rows: NDArray[Any]) -> _Results:
    """Call `function` once for all rows."""
    result = core.buffer(np.zeros(len(rows), dtype=np.uint16), writable=True)
    before = core.instructions
    core.call(function, core.buffer(rows), len(rows), result)
    count = (core.instructions - before) // len(rows)
    classes = np.frombuffer(core.read(result, 2 * len(rows)), dtype="<u2").astype(np.int64)
    return classes, np.full(len(rows), count, dtype=np.int64)
