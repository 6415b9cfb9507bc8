"""`ethereal measure`: what a model costs on a microcontroller, executed in an emulator."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ethereal.base.checks import (
    bytes_text,
    check_integer,
    check_number,
    parse_bytes,
    parse_count,
    seconds_text,
)
from ethereal.base.messages import say, table_of
from ethereal.base.options import option
from ethereal.chips.targets import find_target
from ethereal.cli import app
from ethereal.cli.errors import reported
from ethereal.cli.gates import has_gates, tell_gates
from ethereal.cli.options import AsJson, grouped, was_given
from ethereal.cli.output import console
from ethereal.datasets.options import RowsOptions
from ethereal.export.c99.layouts import LAYOUTS, REGISTRY
from ethereal.export.options import Kept, ProgramOptions

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.table import Table

    from ethereal.datasets.options import TableOptions
    from ethereal.device import Estimate, Measurement
    from ethereal.model import Model

NOT_MET = 3  # exit code when a row could take more instructions than allowed
KEPT = ("layout", "target", "input", "flash", "clause_bytes", "early")  # options that a model may decide
_CYCLES = "est. cycles"
# What a table shows of a measurement. On an AVR the instructions are cycles, and none are estimated.
_SHOWN: dict[str, Callable[[Measurement], str]] = {
    "flash": lambda m: bytes_text(m.flash_bytes),
    "RAM": lambda m: bytes_text(m.ram_bytes + m.stack_bytes),
    "instructions": lambda m: f"{m.total_instructions:,.0f}",
    _CYCLES: lambda m: f"{m.estimated_cycles:,.0f}",
    "est. time": lambda m: seconds_text(m.estimated_seconds),
}
_DETAILS: dict[str, Callable[[Measurement], str]] = {
    "instructions": _SHOWN["instructions"],
    "min": lambda m: f"{m.total_instructions_min:,}",
    "max": lambda m: f"{m.total_instructions_max:,}",
    "clauses": lambda m: f"{m.instructions:,.0f}",
    _CYCLES: _SHOWN[_CYCLES],
    "code": lambda m: f"{m.code_bytes:,}",
    "tables": lambda m: f"{m.table_bytes:,}",
    "flash": lambda m: f"{m.flash_bytes:,}",
    "RAM": lambda m: f"{m.ram_bytes:,}",
    "stack": lambda m: f"{m.stack_bytes:,}",
    "equal": lambda m: f"{_equal(m):,} of {m.n_rows:,}",
    "est. time": lambda m: f"{1e6 * m.estimated_seconds:,.1f} us",
    "est. energy": lambda m: f"{1e6 * m.estimated_joules:,.2f} uJ",
}


@dataclass(frozen=True)
class MeasureOptions(ProgramOptions):
    """Keywords of `ethereal.device.measure`, with all layouts unless one is asked for."""

    layout: str = option(
        "all", f"{', '.join(LAYOUTS)}, auto (the quickest that fits) or all. A pruned model keeps its own."
    )
    compiler: str = option("zig", "zig, or gcc for arm-none-eabi-gcc.")
    optimize: str = option("-Os", "Flag of the compiler.")
    worst: bool = option(True, "Find bounds of instructions and stack that hold for every row.")


@dataclass(frozen=True)
class Rates:
    """What time and energy are estimated with."""

    clock: float | None = option(None, "Clock in Hz. Default: that of the target's chip.")
    wait_states: int = option(0, "Cycles that every jump and every load waits for the flash. Not AVR.")
    watts: float | None = option(None, "Power in watts. Default: that of the target's chip.")

    def __post_init__(self) -> None:
        """Check what was asked for."""
        for name, least, most in (("clock", 1, 1e12), ("wait_states", 0, 1000), ("watts", 0, 1e12)):
            if (value := getattr(self, name)) is not None:
                check_number(f"--{name.replace('_', '-')}", value, least, most)

    def of(self, target: str) -> Estimate:
        """Return the rates for a target."""
        from ethereal.device import Estimate

        usual = Estimate.of(target)
        watts = usual.watts if self.watts is None else self.watts
        return Estimate(self.clock or usual.clock_hz, self.wait_states, watts)


@dataclass(frozen=True)
class Extent:
    """How much is measured and shown."""

    max_rows: int = option(200, "Most rows to execute.")
    redress: bool = option(False, "Also a scan of the REDRESS words as trained. --words has it.", "--redress")
    details: bool = option(False, "Also code, tables, stack, energy, least and most instructions.", "--all")

    def __post_init__(self) -> None:
        """Check what was asked for."""
        check_integer("--max-rows", self.max_rows, 1, 2**31 - 1)


_LINE = 7  # bytes of a word in decimal and of its line's end, on any system


@dataclass(frozen=True)
class WordsOptions:
    """Files of a model in REDRESS words, in place of a model file."""

    words: Path | None = option(None, "REDRESS words, a decimal number per line.", kind=Path | None)
    counts: Path | None = option(None, "Words of each class, a number per line.", kind=Path | None)
    lenient: bool = option(
        False, "Where words of a clause differ in polarity, the last one tells it.", "--lenient"
    )

    def __post_init__(self) -> None:
        """Check that they come together."""
        if (self.words is None) != (self.counts is None):
            has, lacks = ("--words", "--counts") if self.counts is None else ("--counts", "--words")
            raise ValueError(f"{has} is given without {lacks}. Give both files of the model.")
        if self.lenient and self.words is None:
            raise ValueError("--lenient is given without --words. It tells how words are read.")


class Subject(NamedTuple):
    """What is measured."""

    name: str
    model: Model
    X: NDArray[Any] | None
    accuracy: float | None  # on all rows of X, R2 of numbers
    typical: NDArray[Any] | None  # training rows


Sources = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[MODEL] [DATA]",
        help="Model file, as `ethereal train --out m.etm` writes it, but not with --words. Then rows: a data "
        "set, CSV, Parquet or npz. Default: rows drawn near the thresholds.",
    ),
]


@app.command()
@grouped
def measure(
    context: typer.Context,
    options: MeasureOptions,
    published: WordsOptions,
    reading: RowsOptions,
    rates: Rates,
    extent: Extent,
    sources: Sources = None,
    worst_instructions: Annotated[
        str | None,
        typer.Option(help="End with exit code 3 if a row could take more: 20k. Needs a bound, so --worst."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compile a model for a core, execute it on rows, and count instructions, flash, RAM and stack.

    A published model in REDRESS words is measured with --words and --counts in place of a model file.

    Instructions, bytes and agreement with this computer are measured. Cycles are an estimate from the kinds
    of instructions and published tables of the core. Time and energy follow from cycles, clock and power. On
    an AVR cycles are counted.

    An FPGA such as ice40-up5k has gates. They are built by the extra `fpga` and simulated on every row.
    """
    with reported():
        from ethereal.export.c99.device_rows import find_number_type
        from ethereal.export.projects.writer import rows_near_thresholds
        from ethereal.features.packing import evenly

        is_fpga = has_gates(context, options, rates, extent)
        name, machine, X, accuracy, typical = of = _subject(sources or [], published, reading, options)
        if is_fpga:
            return tell_gates(context, of, options, extent.max_rows, as_json)
        options, kept = _keeping(context, machine, options)
        score = "r2" if machine.is_number else "accuracy"
        there = "rows near the thresholds" if X is None else f"{len(X):,} rows"
        if X is None:
            X = rows_near_thresholds(machine, find_number_type(options.input), extent.max_rows)
        X = X[evenly(len(X), extent.max_rows)]
        remarks, most = list[str](), kept.worst_instructions
        if worst_instructions is not None:
            most = parse_count("--worst-instructions", worst_instructions)
        options = replace(options, worst=options.worst or most is not None)
        flash = None if options.flash is None else parse_bytes("--flash", str(options.flash))
        options = replace(options, rows=typical, flash=flash, early=0.0)
        has_scan = extent.redress or published.words is not None
        measurements = _measured(machine, X, options, rates, remarks, has_scan=has_scan)
    if as_json:
        typer.echo(json.dumps([m.as_dict() | {score: accuracy} for m in measurements]))
    else:
        say(f"{name} on {measurements[0].target}")
        console(width=160 if extent.details else None).print(
            _table(measurements, extent.details, accuracy, score)
        )
        say(_closing(measurements, there, accuracy, extent.details, score))
        if kept.keeps_layout:
            say(_pruned_for(measurements[0], kept))
    for remark in remarks:
        say(remark, err=True)
    if most is not None and (over := [m for m in measurements if (m.worst_instructions or math.inf) > most]):
        say(f"error: {_names(over)} may take more than {most:,.0f} instructions, or has no bound.", err=True)
        raise typer.Exit(NOT_MET)


def _measured(
    model: Model,
    X: NDArray[Any],
    options: MeasureOptions,
    rates: Rates,
    remarks: list[str],
    *,
    has_scan: bool,
) -> list[Measurement]:
    """Measure one layout or all, and the scan of REDRESS words where it is asked for."""
    from ethereal import device
    from ethereal.device.baselines import redress_scan

    given = vars(options) | {"estimate": rates.of(options.target)}
    if options.layout == "all":
        del given["layout"]
        measurements = device.measure_layouts(model, X, remark=remarks.append, **given)
    else:
        measurements = [device.measure(model, X, **given)]
    if has_scan:
        how: Any = {key: getattr(options, key) for key in ("target", "compiler", "optimize")}
        how["estimate"] = given["estimate"]
        measurements.append(device.measure_program(redress_scan(model, X), **how))
    return measurements


def _keeping(context: typer.Context, model: Model, options: MeasureOptions) -> tuple[MeasureOptions, Kept]:
    """Return the options with those that the model keeps. Its bound on flash refuses no measurement."""
    kept = Kept.of(model, {key: getattr(options, key) for key in KEPT if was_given(context, key)})
    return replace(options, **{key: value for key, value in kept.options.items() if key != "flash"}), kept


def _pruned_for(measurement: Measurement, kept: Kept) -> str:
    """Return why one layout was measured, and which bounds it exceeds."""
    deployment = kept.deployment
    assert deployment is not None
    ram = measurement.ram_bytes + measurement.stack_bytes
    over = deployment.exceeded(
        flash=measurement.flash_bytes, ram=ram, instructions=measurement.total_instructions_max
    )
    pruned_for = f"the model was pruned for {deployment.describe()}"
    lead = f"layout {measurement.name}: {pruned_for}; --layout all shows the others"
    return "\n".join([lead, *(f"note: {text}" for text in over)])


def _subject(
    sources: list[str], published: WordsOptions, reading: RowsOptions, options: MeasureOptions
) -> Subject:
    """Return the model that the arguments name, and its rows."""
    from ethereal.datasets.reading import read
    from ethereal.export import answering_early
    from ethereal.model import Model

    most = 2 if published.words is None else 1
    if published.words is None and not sources:
        raise ValueError("No model is given. Name a model file, or words with --words and --counts.")
    if len(sources) > most:
        raise ValueError(
            f"{sources[most]!r} is one argument too many. There are "
            + ("a model and rows." if most == 2 else "only rows, because --words is the model.")
        )
    if published.words is not None:
        machine, X, y = read_model(published, sources[0] if sources else None, reading)
        name, typical = str(published.words), None
    else:
        name, *rows = sources
        machine, X, y, typical = Model.load(name), None, None, None
        if rows:
            data = read(rows[0], reading, like=machine)
            X, typical = (data.X, None) if data.test is None else (data.X_test, data.X_train)
            if len(data.y):
                y = data.y if data.test is None else data.y_test
    if options.early:
        machine = answering_early(machine, typical, options.early, input=options.input)
    accuracy = None if X is None or y is None or len(y) == 0 else _accuracy(machine, X, y)
    return Subject(name, machine, X, accuracy, typical)


_SCORES = {"accuracy": "accuracy", "r2": "R2"}  # names in the table


def _accuracy(model: Model, X: NDArray[Any], y: NDArray[Any]) -> float | None:
    """Return the share of right answers, or R2 of numbers. Rows that are unknown have none."""
    from ethereal.cli.predict import Errors, count_right, is_unknown

    if model.is_number:
        errors = Errors()
        errors.add(model.predict(X), y.astype(float))
        return errors.summary()["r2"]

    labels = model.predict(X)
    there = ~is_unknown(model, labels)
    return count_right(labels[there], y[there]) / max(int(there.sum()), 1)


def _table(
    measurements: list[Measurement], details: bool, accuracy: float | None, score: str = "accuracy"
) -> Table:
    """Return one line per program, wide with details, else within 80 columns."""
    counted = measurements[0].counted
    shown = {name: text for name, text in (_DETAILS if details else _SHOWN).items()
             if name != _CYCLES or counted != "cycles"}  # fmt: skip
    lead, first = ["layout" if details else "program"], [[m.name] for m in measurements]
    if not details and accuracy is not None:
        text = f"{accuracy:.3f}" if score == "r2" else f"{100 * accuracy:.1f} %"
        lead, first = [*lead, _SCORES[score]], [[m.name, text] for m in measurements]
    head = [*lead, *(counted if name == "instructions" else name for name in shown)]
    texts = (
        [*cells, *(text(m) for text in shown.values())] for cells, m in zip(first, measurements, strict=True)
    )
    return table_of(None, head, texts)


def _closing(
    measurements: list[Measurement],
    there: str,
    accuracy: float | None,
    details: bool,
    score: str = "accuracy",
) -> str:
    """Return what the table speaks of."""
    first = measurements[0]
    e = first.estimate
    lines = [
        f"Answers equal to this computer's on {min(map(_equal, measurements)):,} of {first.n_rows:,} rows "
        f"tried of {there}.",
        "Booleanizing included. Flash has the check at start-up.",
    ]
    if len(measurements) == 1:
        lines.append(f"The slowest of these rows took {first.total_instructions_max:,} {first.counted}.")
    lines += _worst(measurements)
    how = [f"{find_target(first.target).chip} at {e.clock_hz / 1e6:g} MHz"]
    if first.counted == "instructions":
        how.append(f"cycles by kind of instruction, {e.wait_states} wait states")
    if details:
        lines.append("The column clauses counts from a Booleanized row on. RAM is without the stack.")
        how.append(f"{e.watts:g} W")
    else:
        on = "" if accuracy is None else f"{_SCORES[score].capitalize()} is on all {there}. "
        lines.append(f"{on}RAM has the stack. --all shows more.")
    lines.append(fill(f"Times are estimates: {', '.join(how)}.", 80, subsequent_indent="  "))
    return "\n".join(lines)


def _worst(measurements: list[Measurement]) -> list[str]:
    """Return lines about bounds that hold for every row."""
    known = [m for m in measurements if m.worst_instructions is not None]
    lines = []
    if known:
        at_once = {layout.name: layout.rows_per_call for layout in REGISTRY if layout.rows_per_call > 1}
        bounds = ", ".join(
            ("" if len(measurements) == 1 else f"{m.name} ")
            + f"{m.worst_instructions:,}"
            + (f" (of a call of {at_once[m.name]} rows)" if m.name in at_once else "")
            for m in known
        )
        lines.append(fill(f"No row can take more instructions than: {bounds}.", 80, subsequent_indent="  "))
    for name in dict.fromkeys(name for m in measurements for name in m.worst_calls):
        most = max(m.worst_calls[name] for m in measurements if name in m.worst_calls)
        lines.append(f"No call of {name}() can take more than {most:,}.")
    stacks = [m.worst_stack_bytes for m in measurements if m.worst_stack_bytes is not None]
    if stacks:
        lines.append(f"No call takes more than {bytes_text(max(stacks))} of stack.")
    for why in dict.fromkeys(m.worst_why_not for m in measurements if m.worst_why_not):
        lines.append(f"{_names([m for m in measurements if m.worst_why_not == why])}: {why}")
    return lines


def _names(measurements: list[Measurement]) -> str:
    return ", ".join(m.name for m in measurements)


def _equal(measurement: Measurement) -> int:
    """Rows with the host's class."""
    return round(measurement.agreement * measurement.n_rows)


def read_model(
    options: WordsOptions, source: str | None, reading: TableOptions
) -> tuple[Model, NDArray[Any] | None, NDArray[Any] | None]:
    """Return the model, the rows of `source`, or its test rows, and their labels."""
    import numpy as np

    from ethereal.model.codes.container import CodeError
    from ethereal.model.codes.redress import read_text

    words, counts = _text(options.words), _text(options.counts)
    X, y = (None, None) if source is None else _rows(source, reading)
    n_classes = sum(bool(line.strip()) for line in counts.splitlines())
    labels = None if y is None else np.unique(y)
    if labels is not None and len(labels) != n_classes:
        if labels.dtype.kind not in "iu":
            raise ValueError(
                f"{options.counts}: Has {n_classes} classes, but {source} has {len(labels)} labels. Give "
                "rows with a label of every class, or labels that are numbers from 0 on."
            )
        labels = None  # the classes are 0, 1, ..., and not all of them are there
    n_booleans = None if X is None else X.shape[1]
    try:
        model = read_text(words, counts, n_booleans=n_booleans, classes=labels, lenient=options.lenient)
    except CodeError as error:
        raise ValueError(f"{options.words} with {options.counts}: {error}") from error
    return model, X, y


def _text(path: Path | None) -> str:
    """Return the text of a file, which may not be larger than what a board could hold."""
    from ethereal.model.codes.redress import BOARD_WORDS

    assert path is not None
    try:
        size = path.stat().st_size
        if size > _LINE * BOARD_WORDS:
            raise ValueError(
                f"{path}: Has {size:,} bytes. A board holds {BOARD_WORDS:,} words, so that a file of them "
                f"has at most {_LINE * BOARD_WORDS:,}. Name the file of a model."
            )
        return path.read_text(encoding="ascii")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: Is not a text of numbers. Give a decimal number per line.") from None
    except OSError as error:
        raise ValueError(f"{path}: Cannot be read ({error.strerror}). Name a file of numbers.") from None


def _rows(source: str, reading: TableOptions) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return rows of Booleans and their labels. Sets of the study are Booleanized as the study did."""
    from ethereal.datasets.files import read_table
    from ethereal.features.packing import is_boolean
    from ethereal.runs.paper import papers
    from ethereal.train.paper import PAPER

    for one in papers():
        if (rows := one.test_rows(source)) is not None:
            return rows
    table = read_table(source, reading)
    X, y = (table.X, table.y) if table.test is None else (table.X[table.test], table.y[table.test])
    if not is_boolean(X):
        raise ValueError(
            f"{source}: Has features that are not 0 or 1. Words number Booleans, so give rows of Booleans, "
            f"or the name of a set of the study ({', '.join(PAPER)})."
        )
    return X.astype(bool), y
