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
    """Measure the gates of a model, and print what they take."""
    from ethereal.device.gates import measure_gates

    gates = measure_gates(model, X, target, input=input)
    if as_json:
        typer.echo(json.dumps([gates.as_dict() | {"accuracy": accuracy}]))
        return
    say(f"{name} on {gates.target} ({gates.chip})")
    console().print(_table(gates, accuracy))
    there = "rows near the thresholds" if X is None else "rows"
    same = f"{gates.n_rows - gates.n_different:,} of {gates.n_rows:,} {there}"
    say(f"In simulation {same} have this computer's class.")
    if gates.n_other_sums:
        say(f"{gates.n_other_sums:,} have another class sum: integers are coarser than the thresholds.")
    transfers = f"{gates.clocks:,} clocks for {gates.transfers:,} transfers"
    say(f"A row takes {transfers}, and {gates.latency} more to the answer.")
    if gates.mhz is None:
        say(f"It does not fit {gates.chip}. ethereal prune --luts {gates.luts // 2} makes it smaller.")


def _table(gates: GateMeasurement, accuracy: float | None) -> Any:
    cells = {
        "LUTs": f"{gates.luts:,}",
        "estimated": f"{gates.estimated_luts:,}",
        "flip-flops": f"{gates.flip_flops:,}",
        "block RAMs": str(gates.block_rams),
        "MHz": "-" if gates.mhz is None else f"{gates.mhz:.0f}",
        "rows/s": "-" if gates.rows_per_second is None else f"{gates.rows_per_second:,.0f}",
    }
    if accuracy is not None:
        cells = {"accuracy": f"{100 * accuracy:.1f} %", **cells}
    return table_of(None, list(cells), [list(cells.values())])
