"""`ethereal measure`: what a model costs on a microcontroller, executed in an emulator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ethereal.cli import app, learning
from ethereal.cli.console import console
from ethereal.cli.errors import reported

if TYPE_CHECKING:
    from ethereal.device import Measurement

_COLUMNS = ("layout", "instructions", "min", "max", "clauses", "code", "tables", "flash", "RAM", "stack",
            "equal", "est. time", "est. energy")  # fmt: skip


@app.command()
def measure(
    model: Annotated[Path, typer.Argument(help="Model file, as `ethereal train --out m.etm` writes it.")],
    data: Annotated[
        str | None,
        typer.Argument(
            help="Rows: a data set, CSV, Parquet or npz; default: rows drawn near the thresholds."
        ),
    ] = None,
    target: Annotated[
        str, typer.Option(help="cortex-m0plus, m4, m7, m33, riscv32, atmega328p or atmega2560.")
    ] = "cortex-m7",
    layout: Annotated[
        str, typer.Option(help="compact, fast, sliced, auto (the quickest that fits) or all.")
    ] = "all",
    input: Annotated[str, typer.Option(help="Type of the features: float, int16, int8 or uint8.")] = "float",
    label: Annotated[str | None, typer.Option(help="Label column of the rows, to leave it out.")] = None,
    header: learning.Header = True,
    charset: learning.Charset = None,
    decimal: learning.Decimal = ".",
    flash: Annotated[str | None, typer.Option(help="Flash the model may take, such as 8k.")] = None,
    n_rows: Annotated[int, typer.Option("--rows", min=1, help="Most rows to execute.")] = 200,
    redress: Annotated[bool, typer.Option("--redress", help="Also a scan of the REDRESS words.")] = False,
    compiler: Annotated[str, typer.Option(help="zig, or gcc for arm-none-eabi-gcc.")] = "zig",
    optimize: Annotated[str, typer.Option(help="Flag of the compiler.")] = "-Os",
    clock: Annotated[float | None, typer.Option(min=1, help="Clock in Hz; default: 216e6, AVR 16e6.")] = None,
    cpi: Annotated[float, typer.Option(min=0.01, help="Cycles per instruction, for the estimates.")] = 1.0,
    watts: Annotated[
        float | None, typer.Option(min=0, help="Power in watts; default: 0.24, AVR 0.045.")
    ] = None,
    as_json: learning.AsJson = False,
) -> None:
    """Compile a model for a core, execute it on rows, and count instructions, flash, RAM and stack.

    Instructions, bytes and agreement with this computer are measured; time and energy are estimates from the
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
            X, typical = rows_near_thresholds(machine, find_number_type(input), n_rows), None
            there = "rows near the thresholds"
        else:
            X, typical = rows_for(machine, data, label, header=header, charset=charset, decimal=decimal)
            there = f"{len(X):,} rows"
            X = X[evenly(len(X), n_rows)]
        remarks: list[str] = []
        usual = device.Estimate.of(target)
        estimate = device.Estimate(clock or usual.clock_hz, cpi, usual.watts if watts is None else watts)
        options: dict[str, Any] = {"compiler": compiler, "optimize": optimize, "estimate": estimate}
        own: dict[str, Any] = {"input": input, "rows": typical}
        if flash is not None:
            own["flash"] = parse_bytes("--flash", flash)
        if layout == "all":
            found = device.measure_layouts(machine, X, target, remark=remarks.append, **own, **options)
        else:
            one = device.measure(machine, X, target, layout, **own, **options)  # type: ignore[arg-type]
            found = [one]
        if redress:
            found.append(device.measure_program(redress_scan(machine, X), target, **options))
    if as_json:
        typer.echo(json.dumps([m.as_dict() for m in found]))
    else:
        _show(found, model, there)
    for remark in remarks:
        typer.echo(remark, err=True)


def _show(found: list[Measurement], path: Path, there: str) -> None:
    from rich.table import Table

    first = found[0]
    table = Table(title=f"{path} on {first.target}", title_justify="left")
    for column in (first.counted if name == "instructions" else name for name in _COLUMNS):
        table.add_column(column, justify="left" if column == "layout" else "right")
    for m in found:
        table.add_row(
            m.name,
            f"{m.total_instructions:,.0f}",
            f"{m.total_instructions_min:,}",
            f"{m.total_instructions_max:,}",
            f"{m.instructions:,.0f}",
            f"{m.code_bytes:,}",
            f"{m.table_bytes:,}",
            f"{m.flash_bytes:,}",
            f"{m.ram_bytes:,}",
            f"{m.stack_bytes:,}",
            f"{_equal(m):,} of {m.n_rows:,}",
            f"{1e6 * m.estimated_seconds:,.1f} us",
            f"{1e6 * m.estimated_joules:,.2f} uJ",
        )
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
