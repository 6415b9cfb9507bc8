"""`ethereal prove`: show that exported C does nothing undefined for any input."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ethereal.base.messages import say
from ethereal.cli import app
from ethereal.cli.errors import reported
from ethereal.cli.options import AsJson
from ethereal.export.c99.layouts import LAYOUTS

if TYPE_CHECKING:
    from ethereal.device.proof import Source

_INPUTS = ("float", "int16", "uint16", "int8", "uint8")
_WIDTH = 24  # of a program's name in the table


@app.command()
def prove(
    source: Annotated[
        Path, typer.Argument(help="Model file, or a folder that `ethereal export` wrote, as it stands.")
    ],
    layout: Annotated[str, typer.Option(help=f"{', '.join(LAYOUTS)}, or all. A folder has its own.")] = "all",
    input_: Annotated[
        str, typer.Option("--input", help=f"{', '.join(_INPUTS)}, or all. A folder has its own.")
    ] = "all",
    seconds: Annotated[float, typer.Option(min=1, help="Most CPU seconds of an analysis.")] = 600,
    as_json: AsJson = False,
) -> None:
    """Analyse exported C with Frama-C, for every value of the features and for int of 16 and of 32 bits.

    Each line is the analysis of one function. Alarms are places that may read or write outside of an array,
    overflow, or read what was never written. "unproven" counts contracts, such as that the answer is a class
    and that the self-check succeeds. The command succeeds when both are 0 everywhere.
    """
    with reported():
        from ethereal.device import proof

        records: list[dict[str, Any]] = []
        n_left = 0
        for name, code in _sources(source, layout, input_):
            for analysis in proof.prove(code, seconds=seconds):
                if not as_json and not records:
                    say(_line("program", "function", "int", "alarms", "unproven", "CPU s"))
                records.append({"program": name} | analysis.as_dict())
                n_left += not analysis.is_proven
                if not as_json:
                    say(_line(name, analysis.function, f"{analysis.int_bits}", f"{analysis.alarms}",
                              f"{analysis.unproven}", f"{analysis.seconds:.1f}"))  # fmt: skip
                    for finding in analysis.findings:
                        say(f"  {finding}")
        if as_json:
            typer.echo(json.dumps(records))
        else:
            total = sum(record["seconds"] for record in records)
            say(f"{len(records) - n_left} of {len(records)} analyses are proven, in {total:.0f} CPU seconds.")
    if n_left:
        raise typer.Exit(1)


def _line(program: str, function: str, *numbers: str) -> str:
    """Return a line of the table, which fits 80 columns and is there as soon as its analysis is done."""
    if len(program) > _WIDTH:
        program = program[: _WIDTH - 3] + "..."
    return f"{program:<{_WIDTH}} {function:<16}" + "".join(f"{number:>9}" for number in numbers)


def _named(option: str, name: str, names: Sequence[str]) -> Sequence[str]:
    """Return the names that are asked for: one, or all of them."""
    if name != "all" and name not in names:
        raise ValueError(f"{option} is {name!r}. It must be one of {', '.join(names)} or all.")
    return names if name == "all" else [name]


def _sources(source: Path, layout: str, input_: str) -> Iterator[tuple[str, Source]]:
    """Return the C of a folder, or of a model in the layouts and number types that are asked for."""
    from ethereal.device.proof import Source

    if source.is_dir():
        code = Source.read(source)
        yield code.name, code
        return
    from ethereal.export.c99.program import make_program
    from ethereal.model import Model
    from ethereal.model.needs import NotSupported

    model = Model.load(source)
    layouts = _named("--layout", layout, LAYOUTS)
    inputs = _named("--input", input_, _INPUTS)
    if model.fitted is None or model.front_end is not None:
        inputs = inputs[:1]  # features are bytes, or those of windows
    for own_layout in layouts:
        for kind in inputs:
            try:
                program = make_program(model, own_layout, input=kind)
            except (NotSupported, ValueError) as error:
                if "all" not in (layout, input_):
                    raise
                say(f"{own_layout}, {kind} is left out: {error}", err=True)
                continue
            yield f"{own_layout}, {kind}", Source.of(program)
