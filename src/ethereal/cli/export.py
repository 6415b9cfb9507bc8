"""`ethereal export`: a model as code for a board."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ethereal.cli import app, learning
from ethereal.cli.errors import reported

FORMS = ("c", "stm32f746g-disco", "micropython")


@app.command()
def export(
    model: Annotated[Path, typer.Argument(help="Model file, as `ethereal train --out m.etm` writes it.")],
    to: Annotated[str, typer.Option(help=f"What to write: {' or '.join(FORMS)}.")] = "c",
    out: Annotated[Path | None, typer.Option(help="Folder to write; default: named after the model.")] = None,
    name: Annotated[
        str | None, typer.Option(help="Prefix of C names; default: the model's file name.")
    ] = None,
    layout: Annotated[str, typer.Option(help="compact, fast, sliced or auto.")] = "auto",
    input: Annotated[str, typer.Option(help="Type of the features: float, int16, int8 or uint8.")] = "float",
    rows: Annotated[
        str | None,
        typer.Option(help="Typical rows (data set, CSV, Parquet, npz): tests are ordered by them."),
    ] = None,
    label: Annotated[str | None, typer.Option(help="Label column of --rows, to leave it out.")] = None,
    flash: Annotated[str | None, typer.Option(help="Flash the model may take, such as 8k.")] = None,
    names: Annotated[bool, typer.Option("--names", help="Add names of classes and features.")] = False,
    single_header: Annotated[bool, typer.Option("--single-header", help="Everything in one header.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files in a folder that exists.")] = False,
    as_json: learning.AsJson = False,
) -> None:
    """Write a model as code for a board.

    A C99 library, a complete project for the paper's board, or a MicroPython package (which takes no layout
    and no input type).
    """
    with reported():
        from ethereal import export as exporters
        from ethereal.cli.rows import parse_bytes, rows_for
        from ethereal.model import Model

        if to not in FORMS:
            raise ValueError(f"--to is {to!r}; it must be one of {', '.join(FORMS)}")
        machine = Model.load(model)
        typical = None
        if rows is not None:
            test, train = rows_for(machine, rows, label)
            typical = test if train is None else train
        own_name = name or model.stem
        folder = out or Path(f"{model.stem}-{to}")
        common: dict[str, Any] = {
            "name": own_name,
            "layout": layout,
            "input": input,
            "rows": typical,
            "force": force,
        }
        budget = parse_bytes(flash, "--flash")
        if to == "c":
            path = exporters.c(
                machine, folder, flash=budget, with_names=names, single_header=single_header, **common
            )
        elif to == "micropython":
            path = exporters.micropython(machine, folder, name=own_name, rows=typical, force=force)
        else:
            path = exporters.stm32f746g_disco(machine, folder, flash=budget, **common)
        files = sorted(str(p.relative_to(path)) for p in path.rglob("*") if p.is_file())
    if as_json:
        typer.echo(json.dumps({"folder": str(path), "files": files}))
    else:
        typer.echo(f"{path}: {', '.join(files)}")
