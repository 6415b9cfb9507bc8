"""`ethereal measure --target` for an FPGA: what the gates of a model take."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer

from ethereal.base.messages import say, table_of
from ethereal.cli.options import was_given
from ethereal.cli.output import console

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ethereal.device.gates import GateMeasurement
    from ethereal.model import Model

_TAKEN = {"target", "input", "max_rows"}


def refuse_others(context: typer.Context, target: str, *names: str) -> None:
    """Refuse options of `ethereal measure` that say nothing of gates."""
    for name in names:
        if name not in _TAKEN and was_given(context, name):
            raise ValueError(f"{name}= is not an option for {target}, which has gates and no program.")


def tell_gates(
    name: str, model: Model, X: NDArray[Any] | None, accuracy: float | None, target: str,
    input: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Measure the gates of a model, and print what was found."""
    from ethereal.device.gates import measure_gates

    found = measure_gates(model, X, target, input=input)
    if as_json:
        typer.echo(json.dumps([found.as_dict() | {"accuracy": accuracy}]))
        return
    say(f"{name} on {found.target} ({found.chip})")
    console().print(_table(found, accuracy))
    there = "rows near the thresholds" if X is None else "rows"
    same = f"{found.n_rows - found.n_different:,} of {found.n_rows:,} {there}"
    say(f"In simulation {same} have this computer's class.")
    if found.n_other_sums:
        say(f"{found.n_other_sums:,} have another class sum: integers are coarser than the thresholds.")
    transfers = f"{found.clocks:,} clocks for {found.transfers:,} transfers"
    say(f"A row takes {transfers}, and {found.latency} more to the answer.")
    if found.mhz is None:
        say(f"It does not fit {found.chip}. ethereal prune --luts {found.luts // 2} makes it smaller.")


def _table(found: GateMeasurement, accuracy: float | None) -> Any:
    cells = {
        "LUTs": f"{found.luts:,}",
        "estimated": f"{found.estimated_luts:,}",
        "flip-flops": f"{found.flip_flops:,}",
        "block RAMs": str(found.block_rams),
        "MHz": "-" if found.mhz is None else f"{found.mhz:.0f}",
        "rows/s": "-" if found.rows_per_second is None else f"{found.rows_per_second:,.0f}",
    }
    if accuracy is not None:
        cells = {"accuracy": f"{100 * accuracy:.1f} %", **cells}
    return table_of(None, list(cells), [list(cells.values())])
