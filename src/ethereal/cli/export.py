"""`ethereal export`: a model as code for a board."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ethereal.cli import app, learning
from ethereal.cli.errors import reported

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ethereal.model import Model

_EXECUTED = 64  # rows that an exported program is executed on
# What can be written, and the function of `ethereal.export` that does. Its keywords are the options it takes.
FORMS = {
    "arduino": "arduino",
    "c": "c",
    "micropython": "micropython",
    "stm32f746g-disco": "stm32f746g_disco",
    "zephyr": "zephyr",
}


@app.command()
def export(
    model: Annotated[Path, typer.Argument(help="Model file, as `ethereal train --out m.etm` writes it.")],
    to: Annotated[str, typer.Option(help=f"What to write: {', '.join(FORMS)}.")] = "c",
    out: Annotated[Path | None, typer.Option(help="Folder to write; default: named after the model.")] = None,
    name: Annotated[
        str | None, typer.Option(help="Prefix of all names; default: made of the model's file name.")
    ] = None,
    layout: Annotated[str | None, typer.Option(help="compact, fast, sliced or auto (the default).")] = None,
    input: Annotated[
        str | None, typer.Option(help="Type of the features: float (the default), int16, int8 or uint8.")
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(help="Typical rows (data set, CSV, Parquet, npz): tests are ordered by them."),
    ] = None,
    label: Annotated[str | None, typer.Option(help="Label column of --rows, to leave it out.")] = None,
    header: learning.Header = True,
    charset: learning.Charset = None,
    decimal: learning.Decimal = ".",
    flash: Annotated[
        str | None,
        typer.Option(help="Flash the model may take, such as 8k; default: that of the target's chip."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Core whose chip counts: cortex-m7 (the default), m0plus, m4, ...")
    ] = None,
    clause_bytes: Annotated[
        int | None, typer.Option(help="Bytes for the clauses in layout fast; 0: as few as it can do with.")
    ] = None,
    names: Annotated[bool, typer.Option("--names", help="Add names of classes and features.")] = False,
    single_header: Annotated[bool, typer.Option("--single-header", help="Everything in one header.")] = False,
    code: Annotated[str | None, typer.Option(help="MicroPython: plain (the default) or viper.")] = None,
    floats: Annotated[
        str | None, typer.Option(help="MicroPython: float64 (the default) or float32 thresholds.")
    ] = None,
    mpy: Annotated[
        str | None, typer.Option(help="MicroPython: also compile, bytecode or an architecture.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier export in the folder.")] = False,
    as_json: learning.AsJson = False,
) -> None:
    """Write a model as code for a board: a C99 library, a complete project, or a package.

    What a C program takes is shown. It is measured when the extra `device` is installed, else estimated.
    """
    with reported():
        from ethereal import export as exporters
        from ethereal.base.folder import written_files
        from ethereal.base.quantities import parse_bytes
        from ethereal.cli.rows import rows_for
        from ethereal.model import Model

        if to not in FORMS:
            raise ValueError(f"--to is {to!r}; it must be one of {', '.join(FORMS)}")
        write = getattr(exporters, FORMS[to])
        given = {
            "layout": layout,
            "input": input,
            "flash": None if flash is None else parse_bytes("--flash", flash),
            "target": target,
            "clause_bytes": clause_bytes,
            "with_names": names or None,
            "single_header": single_header or None,
            "code": code,
            "floats": floats,
            "mpy": mpy,
        }
        options = _options_of(write, given, to)
        machine = Model.load(model)
        executed = None
        if rows is not None:
            executed, train = rows_for(machine, rows, label, header=header, charset=charset, decimal=decimal)
            options["rows"] = executed if train is None else train
        takes = {} if to == "micropython" else _takes(machine, options, executed)
        path = write(
            machine,
            out or Path(f"{model.stem}-{to}"),
            name=name or _identifier(model.stem),
            force=force,
            **options,
        )
        files = written_files(path)
    if as_json:
        typer.echo(json.dumps({"folder": str(path), "files": files, **takes}))
    else:
        typer.echo(f"{path}: {', '.join(files)}")
        if takes:
            typer.echo(_told(takes))


def _takes(model: Model, options: dict[str, Any], rows: NDArray[Any] | None) -> dict[str, Any]:
    """What the program takes that these options write; executed on `rows`, or on rows near the thresholds."""
    from ethereal.device import ModelTooLarge, find_target, measure_program, on_rows
    from ethereal.export.c99.choose import choose
    from ethereal.export.golden import rows_near_thresholds
    from ethereal.export.options import DEFAULT_TARGET
    from ethereal.features.packing import evenly

    keys = ("layout", "flash", "target", "clause_bytes", "input", "rows")
    program = choose(model, **{key: options[key] for key in keys if key in options})
    target = find_target(options.get("target", DEFAULT_TARGET)).name
    takes: dict[str, Any] = {
        "layout": program.layout,
        "target": target,
        "measured": False,
        "flash_bytes": program.flash_bytes,
        "ram_bytes": 0,  # functions keep nothing between calls
        "stack_bytes": program.costs.stack_bytes,
        "instructions": program.costs.instructions,
    }
    is_given = rows is not None and len(rows) > 0
    X = rows[evenly(len(rows), _EXECUTED)] if is_given else None  # type: ignore[index, arg-type]
    if X is None:
        X = rows_near_thresholds(model, program.input, _EXECUTED)
    try:
        found = measure_program(on_rows(program, X), target)
    except (ModuleNotFoundError, ModelTooLarge) as error:
        return takes | {"why": str(error)}
    return takes | {
        "measured": True,
        "flash_bytes": found.flash_bytes,
        "ram_bytes": found.ram_bytes,
        "stack_bytes": found.stack_bytes,
        "instructions": found.total_instructions,
        "executed": f"{found.n_rows} {'of the rows given' if is_given else 'rows near the thresholds'}",
    }


def _told(takes: dict[str, Any]) -> str:
    """What the program takes, in a sentence."""
    about, most = ("", "") if takes["measured"] else ("about ", "at most about ")
    how = f"measured on {takes['executed']}" if takes["measured"] else f"estimated: {takes['why']}"
    return (
        f"layout {takes['layout']} on a {takes['target']}: {most}{takes['flash_bytes']:,} bytes of flash, "
        f"{takes['ram_bytes']:,} bytes of RAM, {about}{takes['stack_bytes']:,} bytes of stack, "
        f"{about}{takes['instructions']:,.0f} instructions per row ({how})"
    )


def _options_of(write: Any, given: dict[str, Any], to: str) -> dict[str, Any]:
    """Keywords for `write`: those given; one that it does not take is an error."""
    taken = inspect.signature(write).parameters
    options = {key: value for key, value in given.items() if value is not None}
    for key in options:
        if key not in taken:
            flag = key.removeprefix("with_").replace("_", "-")
            raise ValueError(f"--{flag} is not an option of --to {to}")
    return options


def _identifier(text: str) -> str:
    """A name in C made of a file's name.

    >>> _identifier("my model-2")
    'my_model_2'
    >>> _identifier("ethereal")  # as `ethereal run` names it; the runtime has that name already
    'model'
    """
    cleaned = re.sub(r"\W", "_", text, flags=re.ASCII)
    if re.match("ethereal", cleaned, re.IGNORECASE):
        cleaned = cleaned[len("ethereal") :]
    return cleaned if re.match(r"[A-Za-z]", cleaned) else f"model_{cleaned.lstrip('_')}".rstrip("_")
