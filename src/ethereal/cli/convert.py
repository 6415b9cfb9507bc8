"""`ethereal convert`: a model of an older file, made to compare in float32 like the devices."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ethereal.base.atomic import is_standard_output
from ethereal.base.messages import say
from ethereal.cli import app
from ethereal.cli.errors import reported
from ethereal.cli.output import check_out


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
        check_out(out)
        new.save(out)
    tell = partial(say, err=is_standard_output(out))
    if new is old:
        tell(f"{model} compares in float32 already. {out} is the same model")
    else:
        tell(f"{out}: compares in float32. Look at its accuracy with ethereal predict --label.")
