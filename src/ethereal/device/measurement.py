"""What a model costs on a core: instructions, flash, RAM, stack, and whether it agrees with the host."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.chips.elf import Elf
from ethereal.chips.targets import Target, find_target
from ethereal.chips.toolchain import Compiler, compile_elf
from ethereal.device import avr
from ethereal.device.emulator import DeviceFault, EmulatedCore
from ethereal.device.execution import Execution, check_flash, ram_exceeded
from ethereal.device.program import CProgram
from ethereal.export.c99.choose import DEFAULT_TARGET, choose
from ethereal.export.c99.program import LAYOUTS, Layout, Program
from ethereal.export.errors import ModelTooLarge
from ethereal.export.numbers import Input
from ethereal.model import Model

_PLENTY = 16 << 20  # bytes of RAM, to find out how much is needed


@dataclass(frozen=True)
class Estimate:
    """How time and energy are estimated from instructions: there is no cycle model.

    Where cycles are counted, `cycles_per_instruction` is not used.
    """

    clock_hz: float = 216e6
    cycles_per_instruction: float = 1.0
    watts: float = 0.24

    @classmethod
    def of(cls, target: str) -> Estimate:
        """The usual figures of a target: an AVR at 16 MHz and 5 V draws about 9 mA.

        >>> Estimate.of("atmega328p").clock_hz
        16000000.0
        """
        return cls(clock_hz=16e6, watts=0.045) if find_target(target).isa == "avr" else cls()


@dataclass(frozen=True)
class Measurement:
    """What was measured, per row where not said otherwise.

    On an AVR the emulator counts cycles and not instructions: `counted` is "cycles", and the fields named
    `instructions...` hold cycles, the call included.
    """

    name: str  # layout or rival
    target: str
    n_rows: int
    instructions: float  # mean, from a Booleanized row to its class
    instructions_min: int
    instructions_max: int
    booleanize_instructions: float  # mean, from features to a Booleanized row; 0 where there is no such step
    total_instructions: float  # mean, from features to class, as firmware calls it
    total_instructions_min: int
    total_instructions_max: int
    code_bytes: int  # flash, Booleanizing and the check at start-up included
    table_bytes: int
    clause_code_bytes: int  # flash without Booleanizing
    clause_table_bytes: int
    ram_bytes: int  # static
    stack_bytes: int
    agreement: float  # share of rows with the host's class
    estimate: Estimate
    counted: Literal["instructions", "cycles"] = "instructions"

    @property
    def flash_bytes(self) -> int:
        """Code and tables."""
        return self.code_bytes + self.table_bytes

    @property
    def clause_flash_bytes(self) -> int:
        """Code and tables without Booleanizing."""
        return self.clause_code_bytes + self.clause_table_bytes

    @property
    def estimated_seconds(self) -> float:
        """Estimated time per row, from features to class."""
        factor = self.estimate.cycles_per_instruction if self.counted == "instructions" else 1.0
        return self.total_instructions * factor / self.estimate.clock_hz

    @property
    def estimated_joules(self) -> float:
        """Estimated energy per row."""
        return self.estimated_seconds * self.estimate.watts

    def as_dict(self) -> dict[str, Any]:
        """Everything, sums and estimates included, as JSON can hold it."""
        derived = "flash_bytes", "clause_flash_bytes", "estimated_seconds", "estimated_joules"
        return asdict(self) | {name: getattr(self, name) for name in derived}


def measure(
    model: Model,
    X: ArrayLike,
    target: str = DEFAULT_TARGET,
    layout: Layout | Literal["auto"] = "auto",
    *,
    input: Input = "float",
    rows: ArrayLike | None = None,
    flash: int | None = None,
    compiler: Compiler = "zig",
    optimize: str = "-Os",
    estimate: Estimate | None = None,
) -> Measurement:
    """Export `model`, compile it for `target` and execute it on every row of `X`.

    Parameters
    ----------
    model, X
        The model and rows of features.
    target
        "cortex-m0plus", "cortex-m4", "cortex-m7", "cortex-m33" or "riscv32"; "m7" is short for "cortex-m7".
        "atmega328p" (Arduino Uno, Nano) and "atmega2560" (Mega) need avr-gcc and simavr, and count cycles.
    layout
        "fast", "compact", "sliced" or "auto", the quickest that fits, see `ethereal.export.choose`.
    input, rows, flash
        See `ethereal.export.c`.
    compiler, optimize
        "zig" or "gcc" (arm-none-eabi-gcc), and its optimization flag. An AVR always takes avr-gcc.
    estimate
        Clock, cycles per instruction and power for the estimates of time and energy; None: those of
        `Estimate.of(target)`.

    Examples
    --------
    >>> model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])
    >>> found = measure(model, [[True, True], [False, False]])
    >>> found.name, found.n_rows, found.agreement
    ('fast', 2, 1.0)
    """
    program = choose(
        model,
        layout,
        flash=flash,
        target=target,
        compiler=compiler,
        optimize=optimize,
        input=input,
        rows=rows,
    )
    return measure_program(program, X, target, compiler=compiler, optimize=optimize, estimate=estimate)


def measure_layouts(
    model: Model,
    X: ArrayLike,
    target: str = DEFAULT_TARGET,
    *,
    remark: Callable[[str], object] | None = None,
    **keywords: Any,
) -> list[Measurement]:
    """Every layout that can hold the model and fits the chip. The keywords are those of `measure`.

    `remark` is called with the reason for each layout that is left out. With None, it is a warning.
    """
    found, left_out = [], []
    for layout in LAYOUTS:
        try:
            found.append(measure(model, X, target, layout, **keywords))
        except ModelTooLarge as error:
            left_out.append(f"Layout {layout!r} is left out: {error}")
    if not found:
        return [measure(model, X, target, **keywords)]  # raises, and says by how much
    for text in left_out:
        if remark is None:
            warnings.warn(text, stacklevel=2)
        else:
            remark(text)
    return found


def measure_rival(
    rival: CProgram,
    target: str = DEFAULT_TARGET,
    *,
    compiler: Compiler = "zig",
    optimize: str = "-Os",
    estimate: Estimate | None = None,
) -> Measurement:
    """Compile and execute a rival on its rows."""
    chip = find_target(target)
    if chip.isa == "avr":
        raise ValueError(
            f"{rival.name} cannot be measured on {chip.name}: rivals run on Cortex-M and RISC-V cores only. "
            "Choose another target, or measure the model alone."
        )
    elf = compile_elf(rival.files, chip, [rival.function], optimize=optimize, compiler=compiler)
    check_flash(elf, chip, rival.name)
    core, classes, counts = _run(elf, chip, lambda m: m.call_by_row(rival.function, rival.rows))
    return Measurement(
        name=rival.name,
        target=chip.name,
        n_rows=len(classes),
        instructions=float(counts.mean()),
        instructions_min=int(counts.min()),
        instructions_max=int(counts.max()),
        booleanize_instructions=0.0,
        total_instructions=float(counts.mean()),
        total_instructions_min=int(counts.min()),
        total_instructions_max=int(counts.max()),
        code_bytes=elf.code_bytes,
        table_bytes=elf.table_bytes,
        clause_code_bytes=elf.code_bytes,
        clause_table_bytes=elf.table_bytes,
        ram_bytes=elf.ram_bytes,
        stack_bytes=core.stack_bytes,
        agreement=float((classes == rival.expected).mean()),
        estimate=estimate or Estimate(),
    )


def measure_program(
    program: Program,
    X: ArrayLike,
    target: str = DEFAULT_TARGET,
    *,
    compiler: Compiler = "zig",
    optimize: str = "-Os",
    estimate: Estimate | None = None,
) -> Measurement:
    """Compile `program` and execute it on every row of `X`; the parameters are those of `measure`."""
    chip = find_target(target)
    features, rows = program.features(X), program.rows(X)
    if len(rows) == 0:
        raise ValueError("X has no rows; give at least one to execute")
    expected = program.model.class_sums(X).argmax(axis=1)  # of the rows as they were given, not as rounded
    if chip.isa == "avr":
        done = avr.execute(program, features, rows, chip, optimize)
    else:
        done = _execute(program, features, rows, chip, compiler, optimize)
    return Measurement(
        name=program.layout,
        target=chip.name,
        n_rows=len(rows),
        instructions=float(done.counts.mean()),
        instructions_min=int(done.counts.min()),
        instructions_max=int(done.counts.max()),
        booleanize_instructions=float(done.booleanize_counts.mean()),
        total_instructions=float(done.total_counts.mean()),
        total_instructions_min=int(done.total_counts.min()),
        total_instructions_max=int(done.total_counts.max()),
        code_bytes=done.whole.code_bytes,
        table_bytes=done.whole.table_bytes,
        clause_code_bytes=done.clauses_only.code_bytes,
        clause_table_bytes=done.clauses_only.table_bytes,
        ram_bytes=done.whole.ram_bytes,
        stack_bytes=done.stack_bytes,
        agreement=float(((done.classes == expected) & (done.again == expected)).mean()),
        estimate=estimate or Estimate.of(target),
        counted="cycles" if chip.isa == "avr" else "instructions",
    )


def _execute(
    program: Program,
    features: NDArray[Any],
    rows: NDArray[Any],
    chip: Target,
    compiler: Compiler,
    optimize: str,
) -> Execution:
    """Compile and execute on a Cortex-M or RISC-V core."""
    is_sliced = program.layout == "sliced"
    by_row = f"{program.name}_predict_32_rows" if is_sliced else f"{program.name}_predict_row"
    by_features = program.entry_points[0]
    booleanize = f"{program.name}_booleanize"

    def build(*roots: str) -> Elf:
        return compile_elf(program.files, chip, roots, optimize=optimize, compiler=compiler)

    clauses_only, whole = build(by_row), build(*program.entry_points)
    check_flash(whole, chip, f"layout {program.layout!r}")
    if is_sliced:
        _, classes, counts = _run(clauses_only, chip, lambda m: _by_32_rows(m, by_row, rows))
        core, again, total = _run(whole, chip, lambda m: _batch(m, by_features, features))
    else:
        _, classes, counts = _run(clauses_only, chip, lambda m: m.call_by_row(by_row, rows))
        core, again, total = _run(whole, chip, lambda m: m.call_by_row(by_features, features))
    _, _, to_row = _run(
        build(booleanize),
        chip,
        lambda m: m.call_by_row(booleanize, features, m.buffer(rows[0], writable=True)),
    )
    return Execution(clauses_only, whole, classes, again, counts, to_row, total, core.stack_bytes)


_Results = tuple[NDArray[np.int64], NDArray[np.int64]]  # classes and instructions, per row


def _by_32_rows(core: EmulatedCore, function: str, rows: NDArray[Any]) -> _Results:
    """Call `function` for every 32 rows; the last ones are filled up with rows from the beginning."""
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


def _run(
    elf: Elf, chip: Target, execute: Callable[[EmulatedCore], _Results]
) -> tuple[EmulatedCore, NDArray[np.int64], NDArray[np.int64]]:
    """Execute on a new core; when the RAM does not suffice, say how much would."""
    core = EmulatedCore(elf, chip)
    try:
        return core, *execute(core)
    except DeviceFault:
        roomy = EmulatedCore(elf, chip, ram_bytes=_PLENTY)
        execute(roomy)  # raises when the RAM was not the reason
        raise ram_exceeded(elf.ram_bytes + roomy.stack_bytes, chip) from None
