"""`ethereal deploy`: a model to a MicroPython board, checked there."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Annotated

import typer

from ethereal.base.messages import say, table_of
from ethereal.cli import app
from ethereal.cli.errors import reported
from ethereal.cli.options import AsJson, ModelFile
from ethereal.cli.output import console

if TYPE_CHECKING:
    from ethereal.device.deploy import Deployment


@app.command()
def deploy(
    model: ModelFile,
    port: Annotated[str, typer.Option(help="Serial port of the board: /dev/ttyACM0, COM3, ...")],
    name: Annotated[str, typer.Option(help="Name of the files on the board.")] = "model",
    code: Annotated[str, typer.Option(help="plain, viper (machine code), or auto.")] = "auto",
    baudrate: Annotated[int, typer.Option(min=300, help="Of the port. Boards on USB ignore it.")] = 115200,
    as_json: AsJson = False,
) -> None:
    """Copy a model to a board that runs MicroPython, run its self-test there, and measure time and heap.

    The files stay on the board: `import ethereal_tm; m = ethereal_tm.load("model.etb"); m.predict(row)`.
    """
    with reported():
        from rich.text import Text

        from ethereal.device.deploy import deploy as put
        from ethereal.model import Model

        if code not in ("auto", "plain", "viper"):
            raise ValueError(f"--code is {code!r}; it must be auto, plain or viper")
        machine = Model.load(model)
        with console(stderr=True).status("...") as status:

            def report(text: str) -> None:
                status.update(Text(text))  # a plain str would be read as markup

            done = put(machine, port, name=name, code=code, baudrate=baudrate, report=report)  # type: ignore[arg-type]
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(done) | {"cycles": done.cycles}))
    else:
        _show(done, name)
    if done.wrong:
        say(f"error: {done.wrong} of {done.rows} golden rows are wrong on the board", err=True)
        raise typer.Exit(1)


def _cycles(done: Deployment) -> list[tuple[str, str]]:
    """Return the line of cycles, or none where the board does not tell its clock."""
    if done.cycles is None or done.board.clock_hz is None:
        return []
    return [("  cycles", f"{done.cycles:,} at {done.board.clock_hz / 1e6:g} MHz")]


def _show(done: Deployment, name: str) -> None:
    board = done.board
    where = "files" if done.is_stored else "in memory"
    many = "not enough heap" if done.microseconds_many is None else f"{done.microseconds_many} us"
    rows = [
        ("code", done.code),
        (where, ", ".join(f"{path} {size}" for path, size in done.files.items())),
        ("self-test", f"{done.rows - done.wrong} of {done.rows} golden rows right"),
        ("time per row", f"{done.microseconds} us"),
        *_cycles(done),
        ("  many at once", many),
        ("heap", f"{done.heap_code} code + {done.heap_model} model, {done.heap_free} bytes still free"),
    ]
    head = ("board", f"{board.machine}, MicroPython {board.version}, {board.floats}")
    console().print(table_of(None, head, rows, left=(0, 1)))
    if not done.is_stored:
        say("The board has no file system to write to. The model is lost when it is switched off.")
        return
    say(f'On the board: import ethereal_tm; m = ethereal_tm.load("{name}.etb"); m.predict(row)')
