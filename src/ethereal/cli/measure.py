"""`ethereal measure`: what a model costs on a microcontroller, executed in an emulator."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ethereal.base.options import option
from ethereal.cli import app
from ethereal.cli.console import console, table_of
from ethereal.cli.errors import reported
from ethereal.cli.options import AsJson, ModelFile, grouped
from ethereal.datasets.options import RowsOptions
from ethereal.export.c99.layouts import LAYOUTS
from ethereal.export.options import ProgramOptions

if TYPE_CHECKING:
    from ethereal.device import Measurement

_COLUMNS = ("layout", "instructions", "min", "max", "clauses", "code", "tables", "flash", "RAM", "stack",
            "equal", "est. time", "est. energy")  # fmt: skip


@dataclass(frozen=True)
class MeasureOptions(ProgramOptions):
    """Keywords of `ethereal.device.measure`, with all layouts unless one is asked for."""

    layout: str = option("all", f"{', '.join(LAYOUTS)}, auto (the quickest that fits) or all.")
    compiler: str = option("zig", "zig, or gcc for arm-none-eabi-gcc.")
    optimize: str = option("-Os", "Flag of the compiler.")


@app.command()
@grouped
def measure(
    model: ModelFile,
    options: MeasureOptions,
    reading: RowsOptions,
    data: Annotated[
        str | None,
        typer.Argument(
            help="Rows: a data set, CSV, Parquet or npz. Default: rows drawn near the thresholds."
        ),
    ] = None,
    n_rows: Annotated[int, typer.Option("--rows", min=1, help="Most rows to execute.")] = 200,
    redress: Annotated[bool, typer.Option("--redress", help="Also a scan of the REDRESS words.")] = False,
    clock: Annotated[float | None, typer.Option(min=1, help="Clock in Hz. Default: 216e6, AVR 16e6.")] = None,
    cpi: Annotated[float, typer.Option(min=0.01, help="Cycles per instruction, for the estimates.")] = 1.0,
    watts: Annotated[
        float | None, typer.Option(min=0, help="Power in watts. Default: 0.24, AVR 0.045.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compile a model for a core, execute it on rows, and count instructions, flash, RAM and stack.

    Instructions, bytes and agreement with this computer are measured. Time and energy are estimates from the
    clock, the cycles per instruction and the power given. On an AVR cycles are counted.
    """
    with reported():
        from ethereal import device
        from ethereal.base.quantities import parse_bytes
        from ethereal.cli.rows import rows_for
        from ethereal.export.golden import rows_near_thresholds
        from ethereal.export.numbers import find_number_type
        from ethereal.features.packing import evenly
        from ethereal.model import Model
        from ethereal.study.rivals import redress as redress_scan

        machine = Model.load(model)
        if data is None:
            X, typical = rows_near_thresholds(machine, find_number_type(options.input), n_rows), None
            there = "rows near the thresholds"
        else:
            X, typical = rows_for(machine, data, reading)
            there = f"{len(X):,} rows"
            X = X[evenly(len(X), n_rows)]
        remarks: list[str] = []
        usual = device.Estimate.of(options.target)
        estimate = device.Estimate(clock or usual.clock_hz, cpi, usual.watts if watts is None else watts)
        flash = None if options.flash is None else parse_bytes("--flash", str(options.flash))
        given = vars(replace(options, rows=typical, flash=flash)) | {"estimate": estimate}
        if options.layout == "all":
            del given["layout"]
            found = device.measure_layouts(machine, X, remark=remarks.append, **given)
        else:
            found = [device.measure(machine, X, **given)]
        if redress:
            how: Any = {key: given[key] for key in ("target", "compiler", "optimize", "estimate")}
            found.append(device.measure_program(redress_scan(machine, X), **how))
    if as_json:
        typer.echo(json.dumps([m.as_dict() for m in found]))
    else:
        _show(found, model, there)
    for remark in remarks:
        typer.echo(remark, err=True)


def _show(found: list[Measurement], path: Path, there: str) -> None:
    first = found[0]
    head = (first.counted if name == "instructions" else name for name in _COLUMNS)
    rows = (
        (
            m.name,
            f"{m.total_instructions:,.0f}",
            f"{m.total_instructions_min:,}",
            f"{m.total_instructions_max:,}",
            f"{m.instructions:,.0f}",
            *(f"{n:,}" for n in (m.code_bytes, m.table_bytes, m.flash_bytes, m.ram_bytes, m.stack_bytes)),
            f"{_equal(m):,} of {m.n_rows:,}",
            f"{1e6 * m.estimated_seconds:,.1f} us",
            f"{1e6 * m.estimated_joules:,.2f} uJ",
        )
        for m in found
    )
    table = table_of(f"{path} on {first.target}", head, rows)
    e = first.estimate
    console(width=160).print(table)
    rate = f"{e.cycles_per_instruction:g} cycles per instruction, " if first.counted == "instructions" else ""
    typer.echo(
        f"Answers are equal to this computer's on {min(map(_equal, found)):,} of {first.n_rows:,} rows tried "
        f"of {there}. {first.counted.capitalize()} are per row, from features to class. The column clauses "
        "has those that begin with a Booleanized row. Flash counts a prediction and the check at start-up. "
        f"Time and energy are estimates: {e.clock_hz / 1e6:g} MHz, {rate}{e.watts:g} W."
    )


def _equal(found: Measurement) -> int:
    """Rows with the host's class."""
    return round(found.agreement * found.n_rows)
