"""`ethereal capture`: recordings from a board that prints its samples."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ethereal.base.messages import say
from ethereal.base.options import option
from ethereal.cli import app
from ethereal.cli.errors import reported
from ethereal.cli.options import AsJson, grouped

if TYPE_CHECKING:
    from ethereal.device.capture import Captured

_OFF = 0.1  # by which the rate of a recording may differ from the one wanted
_MANY = 0.01  # share of dropped lines that says something is wrong


@dataclass(frozen=True)
class CaptureOptions:
    """What is recorded."""

    port: str | None = option(None, "Serial port of the board: /dev/ttyACM0, COM3, ...")
    label: str | None = option(None, "What is recorded, such as walking. It names a folder.")
    group: str | None = option(None, "Who or what is recorded, such as anna. It names a folder below.")
    axes: str | None = option(None, "Names of the axes, separated by commas. Default: ax, ay, az, ...")
    seconds: float | None = option(None, "Length of the recording. Default: until Ctrl-C.")
    rate: float | None = option(None, "Samples per second, compared with what arrives.")
    baudrate: int = option(115200, "Of the port. Boards on USB ignore it.")
    sketch: str | None = option(None, "Write the program for the board instead: arduino or micropython.")


@app.command()
@grouped
def capture(
    what: CaptureOptions,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of all recordings.")] = Path("recordings"),
    as_json: AsJson = False,
) -> None:
    """Record what a board prints, a line of comma separated integers per sample.

    A recording goes to OUT/LABEL/TIME.csv, or OUT/LABEL/GROUP/TIME.csv. `ethereal run OUT --window 128` takes
    the folder. Ctrl-C ends a recording and keeps it. --sketch writes the program for the board into OUT.
    """
    with reported():
        from ethereal.device import capture as capturing

        if what.sketch is not None:
            rate = capturing.USUAL_RATE if what.rate is None else what.rate
            say(f"{capturing.write_sketch(what.sketch, out, rate)}: {rate:g} samples per second")
            return
        if what.port is None or what.label is None:
            lacking = "--port" if what.port is None else "--label"
            raise ValueError(f"{lacking} is missing. Say --port PORT --label LABEL, or --sketch arduino.")
        captured = capturing.capture(
            what.port,
            what.label,
            out,
            group=what.group,
            axes=None if what.axes is None else [name.strip() for name in what.axes.split(",")],
            seconds=what.seconds,
            baudrate=what.baudrate,
            progress=_show if sys.stderr.isatty() and not as_json else lambda captured: None,
        )
    if as_json:
        names = "axes", "n_samples", "n_dropped", "rate", "why_ended"
        typer.echo(
            json.dumps({"path": str(captured.path)} | {name: getattr(captured, name) for name in names})
        )
        return
    _tell(captured, what.rate)


def _show(captured: Captured) -> None:
    typer.echo(f"\r{captured.n_samples:,} samples, Ctrl-C ends ", nl=False, err=True)


def _tell(captured: Captured, wanted: float | None) -> None:
    """Say what was written, and what may be wrong with it."""
    rate = "" if captured.rate is None else f", {captured.rate:.1f} samples per second"
    axes = ", ".join(captured.axes)
    say(f"{captured.path}: {captured.n_samples:,} samples of {axes}{rate}")
    if captured.n_dropped:
        many = captured.n_dropped > _MANY * captured.n_samples
        remedy = " Check the cable and --baudrate." if many else ""
        what = f"{captured.n_dropped:,} lines were not whole and are left out."
        say(f"note: {what} No window will cross these places.{remedy}", err=True)
    if captured.why_ended:
        say(f"warning: {captured.why_ended}. What was recorded before is kept.", err=True)
    if wanted is not None and captured.rate is not None and abs(captured.rate / wanted - 1) > _OFF:
        say(
            f"warning: {captured.rate:.1f} samples per second arrived, but --rate is {wanted:g}. "
            "Change the rate in the program of the board.",
            err=True,
        )
