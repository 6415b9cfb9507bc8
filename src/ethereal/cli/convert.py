"""`ethereal convert`: a model of an older file, made to compare in float32 like the devices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ethereal.base.messages import say
from ethereal.cli import app
from ethereal.cli.errors import reported


@app.command()
def convert(
    model: Annotated[Path, typer.Argument(help="Model file of an earlier version.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write the converted model.")],
) -> None:
    """Convert a model file that compares in float64 to float32, as every export does.

    Values that lie within the rounding of a threshold may be answered differently afterwards.
    """
    with reported():
        from ethereal.model import Model

        old = Model.load(model)
        new = old.in_float32()
        new.save(out)
    if new is old:
        say(f"{model} compares in float32 already. {out} is the same model")
    else:
        say(f"{out}: compares in float32. Look at its accuracy with ethereal predict --label.")
