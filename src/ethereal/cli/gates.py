"""`ethereal measure --target` for an FPGA: what the gates of a model take."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import typer

from ethereal.base.messages import say, table_of
from ethereal.chips.fpgas import FPGAS
from ethereal.cli.options import was_given
from ethereal.cli.output import console

if TYPE_CHECKING:
    from ethereal.cli.measure import MeasureOptions, Subject
    from ethereal.device.gates import GateMeasurement

_TAKEN = {"target", "input", "max_rows"}


def has_gates(context: typer.Context, options: MeasureOptions, *others: Any) -> bool:
    """Whether the target is an FPGA. Options that say nothing of gates are then refused."""
    if options.target not in FPGAS:
        return False
    for name in [
        *(each.name for group in (options, *others) for each in fields(group)),
        "worst_instructions",
    ]:
        if name not in _TAKEN and was_given(context, name):
            raise ValueError(
                f"{name}= is not an option for {options.target}, which has gates and no program."
            )
    return True


def tell_gates(
    context: typer.Context, subject: Subject, options: MeasureOptions, max_rows: int, as_json: bool
) -> None:
    """Measure the gates of a model on all rows, or as many as were asked for, and print what they take."""
    from ethereal.device.gates import measure_gates
    from ethereal.features.packing import evenly

    name, model, X, accuracy, _ = subject
    if X is not None and was_given(context, "max_rows"):
        X = X[evenly(len(X), max_rows)]
    gates = measure_gates(
        model, X, options.target, input=options.input if was_given(context, "input") else None
    )
    if as_json:
        typer.echo(json.dumps([gates.as_dict() | {"r2" if model.is_number else "accuracy": accuracy}]))
        return
    say(f"{name} on {gates.target} ({gates.chip})")
    console().print(_table(gates, accuracy, is_number=model.is_number))
    there = "rows near the thresholds" if X is None else "rows"
    same = f"{gates.n_rows - gates.n_different:,} of {gates.n_rows:,} {there}"
    say(f"In simulation {same} have this computer's answer.")
    if gates.n_other_sums and not model.is_number:
        say(f"{gates.n_other_sums:,} have another class sum: integers are coarser than the thresholds.")
    transfers = "1 transfer" if gates.transfers == 1 else f"{gates.transfers:,} transfers"
    say(f"A row takes {gates.clocks:,} clocks for {transfers}, and {gates.latency} more to the answer.")
    if gates.mhz is None:
        say(f"It does not fit {gates.chip}. ethereal prune --luts {gates.luts // 2} makes it smaller.")


def _table(gates: GateMeasurement, accuracy: float | None, *, is_number: bool) -> Any:
    cells = {
        "LUTs": f"{gates.luts:,}",
        "estimated": f"{gates.estimated_luts:,}",
        "flip-flops": f"{gates.flip_flops:,}",
        "block RAMs": str(gates.block_rams),
        "MHz": "-" if gates.mhz is None else f"{gates.mhz:.0f}",
        "rows/s": "-" if gates.rows_per_second is None else f"{gates.rows_per_second:,.0f}",
    }
    if accuracy is not None:
        text = {"R2": f"{accuracy:.3f}"} if is_number else {"accuracy": f"{100 * accuracy:.1f} %"}
        cells = text | cells
    return table_of(None, list(cells), [list(cells.values())])
