"""What a model costs on a core: instructions, flash, RAM, stack, and whether it agrees with the host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.device import avr
from ethereal.device.elf import Elf
from ethereal.device.emulator import DeviceFault, Machine
from ethereal.device.execution import Execution, check_flash, ram_exceeded
from ethereal.device.rivals import Rival
from ethereal.device.targets import Target, find_target
from ethereal.device.toolchain import Compiler, compile_elf
from ethereal.export.program import LAYOUTS, Layout, ModelTooLarge, Program, fitting_program
from ethereal.export.thresholds import Input
from ethereal.model import Model

_NAME = "model"
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
    code_bytes: int  # flash, Booleanizing included
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
        all_of_them = self.instructions + self.booleanize_instructions
        factor = self.estimate.cycles_per_instruction if self.counted == "instructions" else 1.0
        return all_of_them * factor / self.estimate.clock_hz

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
    target: str = "cortex-m7",
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
        "fast", "compact", "sliced" or "auto": "fast" when it fits the target's chip, else "compact".
    input, rows, flash
        See `ethereal.export.c`.
    compiler, optimize
        "zig" or "gcc" (arm-none-eabi-gcc), and its optimization flag. An AVR always takes avr-gcc.
    estimate
        Clock, cycles per instruction and power for the estimates of time and energy. Default:
        `Estimate.of(target)`.

    Examples
    --------
    >>> model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])
    >>> found = measure(model, [[True, True], [False, False]])
    >>> found.name, found.n_rows, found.agreement
    ('fast', 2, 1.0)
    """
    chip = find_target(target)

    def run(one: Layout) -> Measurement:
        program = fitting_program(model, one, flash, name=_NAME, input=input, rows=rows)
        return _measure_program(program, X, chip, compiler, optimize, estimate or Estimate.of(target))

    if layout != "auto":
        try:
            return run(layout)
        except ModelTooLarge as error:
            if flash is not None:
                raise
            raise ModelTooLarge(f"{error}{_what_fits(run, layout)}") from None
    try:
        return run("fast")
    except ModelTooLarge:
        return run("compact")


def measure_layouts(
    model: Model, X: ArrayLike, target: str = "cortex-m7", **keywords: object
) -> list[Measurement]:
    """Every layout that fits the chip; the keywords are those of `measure`."""
    found = []
    for layout in LAYOUTS:
        try:
            found.append(measure(model, X, target, layout, **keywords))  # type: ignore[arg-type]
        except ModelTooLarge:
            continue
    if not found:
        measure(model, X, target, "compact", **keywords)  # type: ignore[arg-type]  # raises, and says by how much
    return found


def measure_rival(
    rival: Rival,
    target: str = "cortex-m7",
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
    machine, classes, counts = _run(elf, chip, lambda m: m.call_by_row(rival.function, rival.rows))
    return Measurement(
        name=rival.name,
        target=chip.name,
        n_rows=len(classes),
        instructions=float(counts.mean()),
        instructions_min=int(counts.min()),
        instructions_max=int(counts.max()),
        booleanize_instructions=0.0,
        code_bytes=elf.code_bytes,
        table_bytes=elf.table_bytes,
        clause_code_bytes=elf.code_bytes,
        clause_table_bytes=elf.table_bytes,
        ram_bytes=elf.ram_bytes,
        stack_bytes=machine.stack_bytes,
        agreement=float((classes == rival.expected).mean()),
        estimate=estimate or Estimate(),
    )


def _measure_program(
    program: Program, X: ArrayLike, chip: Target, compiler: Compiler, optimize: str, estimate: Estimate
) -> Measurement:
    features = program.features(X)
    rows = program.rows(features_for_host := program.host_features(features))
    if len(rows) == 0:
        raise ValueError("X has no rows; give at least one to execute")
    expected = program.model.class_sums(features_for_host).argmax(axis=1)
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
        code_bytes=done.whole.code_bytes,
        table_bytes=done.whole.table_bytes,
        clause_code_bytes=done.clauses_only.code_bytes,
        clause_table_bytes=done.clauses_only.table_bytes,
        ram_bytes=done.whole.ram_bytes,
        stack_bytes=done.stack_bytes,
        agreement=float(((done.classes == expected) & (done.again == expected)).mean()),
        estimate=estimate,
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
    by_row = f"{_NAME}_predict_32_rows" if is_sliced else f"{_NAME}_predict_row"
    by_features = f"{_NAME}_predict_batch" if is_sliced else f"{_NAME}_predict"
    booleanize = f"{_NAME}_booleanize"

    def build(root: str) -> Elf:
        return compile_elf(program.files, chip, [root], optimize=optimize, compiler=compiler)

    clauses_only, whole = build(by_row), build(by_features)
    check_flash(whole, chip, f"layout {program.layout!r}")
    if is_sliced:
        _, classes, counts = _run(clauses_only, chip, lambda m: _by_32_rows(m, by_row, rows))
        machine, again, _ = _run(whole, chip, lambda m: _batch(m, by_features, features))
    else:
        _, classes, counts = _run(clauses_only, chip, lambda m: m.call_by_row(by_row, rows))
        machine, again, _ = _run(whole, chip, lambda m: m.call_by_row(by_features, features))
    _, _, to_row = _run(
        build(booleanize),
        chip,
        lambda m: m.call_by_row(booleanize, features, m.buffer(rows[0], writable=True)),
    )
    return Execution(clauses_only, whole, classes, again, counts, to_row, machine.stack_bytes)


_Results = tuple[NDArray[np.int64], NDArray[np.int64]]  # classes and instructions, per row


def _by_32_rows(machine: Machine, function: str, rows: NDArray[Any]) -> _Results:
    """Call `function` for every 32 rows; the last ones are filled up with rows from the beginning."""
    address = machine.buffer(np.zeros((32, rows.shape[1]), dtype=rows.dtype))
    result = machine.buffer(np.zeros(32, dtype=np.uint16), writable=True)
    classes, counts = np.empty((2, len(rows)), dtype=np.int64)
    for begin in range(0, len(rows), 32):
        own = np.arange(begin, begin + 32) % len(rows)
        machine.write(address, rows[own])
        before = machine.instructions
        machine.call(function, address, result)
        found = np.frombuffer(machine.read(result, 64), dtype="<u2")
        n = min(32, len(rows) - begin)
        classes[begin : begin + n] = found[:n]
        counts[begin : begin + n] = round((machine.instructions - before) / 32)
    return classes, counts


def _batch(machine: Machine, function: str, rows: NDArray[Any]) -> _Results:
    """Call `function` once for all rows."""
    result = machine.buffer(np.zeros(len(rows), dtype=np.uint16), writable=True)
    before = machine.instructions
    machine.call(function, machine.buffer(rows), len(rows), result)
    count = (machine.instructions - before) // len(rows)
    classes = np.frombuffer(machine.read(result, 2 * len(rows)), dtype="<u2").astype(np.int64)
    return classes, np.full(len(rows), count, dtype=np.int64)


def _run(
    elf: Elf, chip: Target, execute: Callable[[Machine], _Results]
) -> tuple[Machine, NDArray[np.int64], NDArray[np.int64]]:
    """Execute on a new machine; when the RAM does not suffice, say how much would."""
    machine = Machine(elf, chip)
    try:
        return machine, *execute(machine)
    except DeviceFault:
        roomy = Machine(elf, chip, ram_bytes=_PLENTY)
        execute(roomy)  # raises when the RAM was not the reason
        raise ram_exceeded(elf.ram_bytes + roomy.stack_bytes, chip) from None


def _what_fits(run: Callable[[Layout], Measurement], layout: Layout) -> str:
    fitting = []
    for other in LAYOUTS:
        if other != layout:
            try:
                found = run(other)
            except ModelTooLarge:
                continue
            ram = found.ram_bytes + found.stack_bytes
            fitting.append(f"{other!r} ({found.flash_bytes} bytes of flash, {ram} of RAM)")
    if not fitting:
        return ". No layout fits: prune the model or choose a larger chip."
    return f". What fits: {', '.join(fitting)}."
