"""`ethereal run` makes a model for a board and a report. `ethereal report` makes the report again."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ethereal.base.messages import say, width_of
from ethereal.base.options import with_flags
from ethereal.cli import app
from ethereal.cli.errors import continued_later, reported
from ethereal.cli.options import AsJson, Data, grouped, is_quiet
from ethereal.datasets.options import SourceOptions, SplitOptions
from ethereal.runs.options import FLAGS, Asked, Extent, NormalRows, Settings
from ethereal.train.options import TrainingOptions, UnknownOptions
from ethereal.tuning.budget import Budget

if TYPE_CHECKING:
    from ethereal.runs.run import Run
    from ethereal.runs.watched import NormalRun

Open = Annotated[bool, typer.Option("--open", help="Open the report in the browser.")]


@app.command()
@grouped
def run(
    data: Data,
    table: SourceOptions,
    budget: Budget,
    training: TrainingOptions,
    parts: SplitOptions,
    unknown: UnknownOptions,
    asked: Asked,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of all runs.")] = Path("runs"),
    open_report: Open = False,
    as_json: AsJson = False,
) -> None:
    """Make the model for a board from DATA, compare it with a forest, and write a report.

    A machine and boosted trees are pruned to the knee of accuracy against size, or to --flash, --ram and
    --instructions. The better one is taken, see --from. Everything goes to runs/NAME. The same command
    continues an interrupted run. Other options get a folder of their own.
    """
    path = Path(data)
    data = str(path.resolve()) if path.exists() else data  # so that the run finds it from elsewhere
    watch, extent = asked.part(NormalRows), asked.part(Extent)
    if watch.normal:
        refused = budget, training, parts, unknown, extent
        done = _normal(path, table, watch, refused, out, is_quiet(as_json))
        text = json.dumps({"folder": str(done.folder), "report": str(done.report), **asdict(done.watched)})
        say(text if as_json else f"\n{done.told()}")
        if open_report:
            done.show()
        return
    if watch != NormalRows():
        raise typer.BadParameter("--abnormal and --false-alarms go with --normal.")
    settings = Settings(data, table, budget, training, parts, unknown, extent)
    quiet = is_quiet(as_json)
    with reported(), continued_later():
        from ethereal.runs.run import carry_out

        result = carry_out(settings, out, quiet=quiet)
    if as_json:
        typer.echo(json.dumps(_facts(result)))
    else:
        say("\n" + result.told(width_of(sys.stdout), partial(with_flags, flags=FLAGS)))
    if open_report:
        result.show()


def _normal(
    path: Path, table: SourceOptions, watch: NormalRows, others: tuple[Any, ...], out: Path, quiet: bool
) -> NormalRun:
    """Carry out a run with normal rows."""
    with reported():
        from ethereal.runs.normal import carry_out_normal, refuse_other_options
        from ethereal.runs.options import NormalSettings

        refuse_other_options(*others)
        settings = NormalSettings(str(path.resolve()), table, watch, others[0].target, others[1].seed)
        return carry_out_normal(settings, out, quiet=quiet)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="Folder of a run, for example runs/digits.")],
    open_report: Open = False,
) -> None:
    """Make the report of a finished run again."""
    with reported():
        from ethereal.runs.summary import finished

        result = finished(folder)
        say(str(result.write_report()))
    if open_report:
        result.show()


def _facts(run: Run) -> dict[str, object]:
    """Return the results of all stages for programs, without the records of epochs."""
    from ethereal.runs.folder import RunFolder
    from ethereal.runs.paper import papers

    stages = {one.STAGE: asdict(one) for one in (run.learned, run.pruned, run.forest, run.board, run.facts)}
    for paper in papers():
        stages |= paper.results(RunFolder(run.folder))
    for result in stages.values():
        result.pop("history", None)
    return {"folder": str(run.folder), "report": str(run.report), **stages}
