"""What a model costs on a core: instructions, estimated cycles, flash, RAM, stack, and whether it agrees."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Literal

from numpy.typing import ArrayLike

from ethereal.chips.cycles import estimate_cycles
from ethereal.chips.targets import TARGETS, find_target
from ethereal.chips.toolchain import Compiler
from ethereal.device import avr
from ethereal.device.kernel_prices import features_program
from ethereal.device.program import CProgram, execute, on_rows
from ethereal.device.worst import WorstCase, worst_of
from ethereal.export.c99.choose import ModelTooLarge, chosen
from ethereal.export.c99.early import answering_early
from ethereal.export.c99.layouts import LAYOUTS
from ethereal.export.options import DEFAULT_TARGET, ExportOptions
from ethereal.features.front_end import FrontEnd
from ethereal.model import Model
from ethereal.model.needs import NotSupported


@dataclass(frozen=True)
class Estimate:
    """How time and energy are estimated: `ethereal.chips.cycles` has the cycles of each kind of instruction.

    On an AVR cycles are counted, and `wait_states` is not used.
    """

    clock_hz: float = TARGETS[DEFAULT_TARGET].clock_hz
    wait_states: int = 0  # cycles that every jump and every load waits
    watts: float = TARGETS[DEFAULT_TARGET].watts

    @classmethod
    def of(cls, target: str) -> Estimate:
        """Return the clock and the power of a target's chip.

        >>> Estimate.of("atmega328p").clock_hz, Estimate.of("cortex-m0plus").clock_hz
        (16000000.0, 64000000.0)
        """
        chip = find_target(target)
        return cls(clock_hz=chip.clock_hz, watts=chip.watts)


@dataclass(frozen=True)
class Measurement:
    """What was measured, per row unless a field says otherwise.

    On an AVR `counted` is "cycles", and the fields named `instructions...` hold cycles, the call included.
    """

    name: str  # layout or baseline
    target: str
    n_rows: int
    instructions: float  # mean, from a Booleanized row to its class
    instructions_min: int
    instructions_max: int
    booleanize_instructions: float  # mean, from features to a Booleanized row, 0 without such a step
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
    mix: dict[str, float] = field(default_factory=dict)  # mean instructions by kind, from features to class
    # Bounds that hold for every row, where they were asked for and follow from the code. Else None, and why.
    worst_instructions: int | None = None  # from features, or from a raw window, to class
    worst_stack_bytes: int | None = None  # of any function that firmware calls
    worst_why_not: str = ""
    worst_calls: dict[str, int] = field(default_factory=dict)  # instructions of functions beside it

    @property
    def flash_bytes(self) -> int:
        """Code and tables."""
        return self.code_bytes + self.table_bytes

    @property
    def clause_flash_bytes(self) -> int:
        """Code and tables without Booleanizing."""
        return self.clause_code_bytes + self.clause_table_bytes

    @property
    def estimated_cycles(self) -> float:
        """Estimated cycles per row, from features to class. On an AVR they are counted."""
        if self.counted == "cycles":
            return self.total_instructions
        return estimate_cycles(self.target, self.mix, self.estimate.wait_states)

    @property
    def estimated_seconds(self) -> float:
        """Estimated time per row, from features to class."""
        return self.estimated_cycles / self.estimate.clock_hz

    @property
    def estimated_joules(self) -> float:
        """Estimated energy per row."""
        return self.estimated_seconds * self.estimate.watts

    def as_dict(self) -> dict[str, Any]:
        """Return all fields, sums and estimates for JSON."""
        derived = ("flash_bytes", "clause_flash_bytes", "estimated_cycles", "estimated_seconds",
                   "estimated_joules")  # fmt: skip
        return asdict(self) | {name: getattr(self, name) for name in derived}


def measure(model: Model, X: ArrayLike, target: str | None = None, layout: str | None = None, *,
            compiler: Compiler = "zig", optimize: str = "-Os", estimate: Estimate | None = None,
            worst: bool | int = False, **options: Any) -> Measurement:  # fmt: skip
    """Export `model`, compile it for `target` and execute it on every row of `X`.

    Parameters
    ----------
    model, X
        The model and rows of features.
    target
        "cortex-m0plus", "cortex-m4", "cortex-m7", "cortex-m33" or "riscv32". "m7" means "cortex-m7".
        "atmega328p" (Arduino Uno, Nano) and "atmega2560" (Mega) need avr-gcc and simavr, and count cycles.
        With None it is the core that the model was pruned for, or "cortex-m7".
    layout
        "straight", "fast", "compact", "sliced", "redress" or "auto", the quickest that fits. See
        `ethereal.export.choose`. With None a model that was pruned to a bound keeps its layout.
    compiler, optimize
        "zig" or "gcc" (arm-none-eabi-gcc), and its optimization flag. An AVR always takes avr-gcc.
    estimate
        Clock, wait states of the flash and power, for time and energy. Default: `Estimate.of(target)`.
    worst
        Whether to find bounds of instructions and stack that hold for every row, see lab/notes/worst-case.md.
        A number is the most steps to follow the code for. A second has about 20,000 steps.
    options
        The other options of `ethereal.export.ExportOptions`, such as `input`, `rows` and `flash`.

    Examples
    --------
    >>> model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])
    >>> found = measure(model, [[True, True], [False, False]])
    >>> found.name, found.n_rows, found.agreement
    ('straight', 2, 1.0)
    """
    how: dict[str, Any] = {"compiler": compiler, "optimize": optimize}
    given = {"layout": layout, "target": target, **options}
    complete, kept = ExportOptions.for_model("measure", model, given)
    if kept.keeps_flash:  # which is reported, but does not keep a program from being measured
        complete = replace(complete, flash=None)
    program = chosen(model, complete, **how)
    return measure_program(on_rows(program, X), program.options.target, estimate=estimate, worst=worst, **how)


def measure_layouts(model: Model, X: ArrayLike, target: str | None = None, *,
                    remark: Callable[[str], object] | None = None,
                    **keywords: Any) -> list[Measurement]:  # fmt: skip
    """Measure every layout that can hold the model and fits the chip. The keywords are those of `measure`.

    `remark` is called with the reason for each layout that is left out. With None, the reason is a warning.
    """
    if early := keywords.pop("early", 0.0):
        model = answering_early(model, keywords.get("rows"), early, input=keywords.get("input", "float"))
    measured, left_out = [], []
    for layout in LAYOUTS:
        try:
            measured.append(measure(model, X, target, layout, **keywords))
        except (ModelTooLarge, NotSupported) as error:
            left_out.append(f"Layout {layout!r} is left out: {error}")
    if not measured:
        return [measure(model, X, target, "auto", **keywords)]  # raises, and says by how much
    for text in left_out:
        if remark is None:
            warnings.warn(text, stacklevel=2)
        else:
            remark(text)
    return measured


def measure_program(program: CProgram, target: str = DEFAULT_TARGET, *, compiler: Compiler = "zig",
                    optimize: str = "-Os", estimate: Estimate | None = None,
                    worst: bool | int = False) -> Measurement:  # fmt: skip
    """Compile a program and execute it on its rows: a baseline, or an exported model (`on_rows`).

    The parameters are those of `measure`.
    """
    chip = find_target(target)
    if chip.isa == "avr" and not program.is_model:
        raise ValueError(
            f"{program.name} cannot be measured on {chip.name}: baselines run on Cortex-M and RISC-V cores "
            "only. Choose another target, or measure the model alone."
        )
    run = partial(execute, compiler=compiler) if chip.isa != "avr" else avr.execute
    whole, *steps = (run(each, chip, optimize=optimize) for each in (program, *program.steps))
    clauses, to_row = steps or (whole, None)
    right = (whole.classes == program.expected) & (clauses.classes == program.expected)
    if (also := program.beside_counts) is not None:
        right &= run(also, chip, optimize=optimize).classes == also.expected
    bound = WorstCase(None, None)
    if worst:
        bound = worst_of(whole.elf, chip, program, None if worst is True else worst)

    return Measurement(
        program.name, chip.name, len(right),
        instructions=float(clauses.counts.mean()),
        instructions_min=int(clauses.counts.min()), instructions_max=int(clauses.counts.max()),
        booleanize_instructions=0.0 if to_row is None else float(to_row.counts.mean()),
        total_instructions=float(whole.counts.mean()),
        total_instructions_min=int(whole.counts.min()), total_instructions_max=int(whole.counts.max()),
        code_bytes=whole.elf.code_bytes, table_bytes=whole.elf.table_bytes,
        clause_code_bytes=clauses.elf.code_bytes, clause_table_bytes=clauses.elf.table_bytes,
        ram_bytes=whole.elf.ram_bytes, stack_bytes=whole.stack_bytes, agreement=float(right.mean()),
        estimate=estimate or Estimate.of(target),
        counted="cycles" if chip.isa == "avr" else "instructions", mix=whole.mix,
        worst_instructions=bound.instructions, worst_stack_bytes=bound.stack_bytes,
        worst_why_not=bound.why_not, worst_calls=bound.calls,
    )  # fmt: skip


def from_samples(measured: Measurement, front_end: FrontEnd, windows: ArrayLike) -> Measurement:
    """Return a measurement from features to class as one from sample to class, on the same windows.

    All features of the front end are computed, one program after the other. So the stack is that of the one
    that needs more, and the rest is added. Instructions from features to class stay what they were.
    """
    features = measure_program(features_program(front_end, windows), measured.target)
    kinds, mixes = {*measured.mix, *features.mix}, (measured.mix, features.mix)
    added = ("total_instructions", "total_instructions_min", "total_instructions_max", "code_bytes",
             "table_bytes", "ram_bytes")  # fmt: skip
    sums = {name: getattr(measured, name) + getattr(features, name) for name in added}
    stack_bytes = max(measured.stack_bytes, features.stack_bytes)
    agreement = min(measured.agreement, features.agreement)
    mix = {kind: sum(mix.get(kind, 0.0) for mix in mixes) for kind in kinds}
    measured = replace(measured, **sums, stack_bytes=stack_bytes, agreement=agreement, mix=mix)
    return replace(measured, worst_instructions=None, worst_stack_bytes=None)
