"""`ethereal prune`: a smaller model from a trained one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ethereal.base.atomic import is_standard_output
from ethereal.base.messages import say
from ethereal.cli import app
from ethereal.cli.errors import reported
from ethereal.cli.options import AsJson, ModelFile, grouped, is_there
from ethereal.cli.output import check_out
from ethereal.datasets.options import GroupedTableOptions
from ethereal.tuning.budget import Budget

if TYPE_CHECKING:
    from ethereal.model import Model
    from ethereal.tuning.pruning import Pruning


@app.command()
@grouped
def prune(
    model: ModelFile,
    data: Annotated[
        str, typer.Argument(help="Labelled rows: the data that the model was trained on.", callback=is_there)
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Model file to write, for example small.etm.")],
    budget: Budget,
    table: GroupedTableOptions,
    max_loss: Annotated[
        float | None, typer.Option(min=0, max=1, help="Accuracy that may be lost, 0.01 is one point.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same model.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Remove clauses, literals and votes from a model until it fits.

    Machines with the same parameters learn from parts of the rows, and the other rows judge them. Without
    bounds, half the flash may cost 0.15 points. Where DATA has test rows of its own, they are left out.
    """
    with reported():
        from ethereal import tuning
        from ethereal.datasets.reading import read
        from ethereal.model import Model

        check_out(out, as_json)
        budget = budget.settled()
        if budget.on_size and not budget.is_gates:
            budget = budget.on_chip()
        machine = Model.load(model)
        if machine.output.kind == "unknown":
            say("note: The pruned model always answers, because the margin was found for this one.", err=True)
            machine = machine.with_unknown(None)
        rows = read(data, table, like=machine)
        if len(rows.y) == 0:
            raise ValueError("--label is missing. Name the column with the labels. Pruning learns from it.")
        pruning = tuning.prune(
            machine,
            rows.X_train,
            rows.y_train,
            budget=budget,
            max_loss=max_loss,
            groups=rows.groups_train,
            random_state=seed,
        )
        pruning.model.save(out)
    before, took = pruning.curve[0], pruning.footprint
    if as_json:
        facts = {"model": str(out), "accuracy_before": before.accuracy, "accuracy": pruning.accuracy}
        facts |= {"includes_before": machine.n_includes, "includes": pruning.model.n_includes}
        typer.echo(json.dumps(facts | {"footprint": asdict(took)}))
        return
    tell = partial(say, err=is_standard_output(out))
    _tell(machine, pruning, budget, tell)
    tell(f"written   {out}")


def _tell(machine: Model, pruning: Pruning, budget: Budget, say: Callable[[str], None]) -> None:
    """Say what went, and what is left takes."""
    from ethereal.tuning.footprint import GateFootprint
    from ethereal.tuning.kernels import in_words

    before, took = pruning.curve[0], pruning.footprint
    if machine.is_number:
        say(f"R2        {before.accuracy:.3f} before, {pruning.accuracy:.3f} after")
    else:
        say(f"accuracy  {100 * before.accuracy:.2f} % before, {100 * pruning.accuracy:.2f} % after")
    if pruning.by_folds:
        say("          of machines like these, on rows that they had not seen")
    else:
        say("          on a quarter of the rows, which chose it. New rows may give less.")
    say(f"clauses   {machine.n_clauses:,} before, {pruning.model.n_clauses:,} after")
    say(f"literals  {machine.n_includes:,} before, {pruning.model.n_includes:,} after")
    offered, kept = machine.front_end, pruning.model.drop_unused_kernels().front_end
    if offered is not None and kept is not None:
        say(f"kernels   {in_words(kept, offered)}")
    if isinstance(took, GateFootprint):
        say(f"takes     about {took.luts:,} lookup tables of an FPGA: ethereal export --to verilog")
    elif not budget.on_size:
        code = " without its code" if took.layout is None else ""
        say(f"takes     about {took.bytes:,} bytes of flash{code}")
    else:
        say(f"takes     {took.bytes:,} bytes of flash, {took.ram:,} bytes of RAM")
        say(f"          in the layout {took.layout}, which `ethereal export` keeps,")
        say(f"          and {took.instructions:,.0f} instructions for a row at most")
        if budget.rule:
            say(f"          {budget.rule}")
