"""`ethereal tune`: the most accurate model that a board can hold."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ethereal.base.messages import say
from ethereal.cli import app
from ethereal.cli.errors import continued_later, reported
from ethereal.cli.options import AsJson, Data, grouped, is_quiet
from ethereal.cli.output import check_out, console
from ethereal.cluster import ClusterOptions
from ethereal.datasets.options import SourceOptions, SplitOptions
from ethereal.tuning.budget import Budget, Search

if TYPE_CHECKING:
    from ethereal.datasets.rows import Rows
    from ethereal.device.worst import WorstCase
    from ethereal.tuning import Trial, Tuning

NOT_MET = 3  # exit code when no model keeps the budget


@app.command()
@grouped
def tune(
    data: Data,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Model file to write, with a page of the same name beside it.")
    ],
    budget: Budget,
    search: Search,
    table: SourceOptions,
    share: SplitOptions,
    where: ClusterOptions,
    study: Annotated[
        str | None, typer.Option(help="Name of the study in the storage. Default: one per set of options.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Search for the most accurate model of DATA within a budget, and write it.

    Test rows are used once, after the choice. Where they come from other people, recordings or batches than
    training rows (--group, or the data set's own), so do validation rows. The same command continues an
    interrupted search. Exit code 3 says that no model kept the budget. The message tells what came nearest.
    """
    with reported(), continued_later():
        from ethereal import tuning
        from ethereal.base.atomic import write_text
        from ethereal.datasets.reading import read
        from ethereal.datasets.rows import columns_named, split
        from ethereal.runs.report import render
        from ethereal.runs.report.from_tuning import report_of
        from ethereal.tuning.page import figure_svg
        from ethereal.tuning.search import newest

        budget = budget.on_chip()
        check_out(out, more="a page")
        kept = str(out.with_suffix(".tune.db")) if search.storage is None else search.storage
        rows = read(data, table)
        if rows.is_number:
            raise ValueError(
                "The label is a number, and a search knows classes only. Take `ethereal run` with bounds, or "
                "give task=class."
            )
        parts = split(rows, share.test, search.random_state)
        try:
            names = columns_named(rows.feature_names)
            with names, where.open() as workers, _live(budget, is_quiet(as_json)) as show:
                asked = replace(search, storage=kept, study=study)
                tuned = _found(parts, budget=budget, search=asked, workers=workers, progress=show)
        except tuning.BudgetNotMet as error:
            say(f"error: {error}", err=True)
            raise typer.Exit(NOT_MET) from error
        model = tuned.model.drop_unused_kernels()
        if model.front_end is None:
            model = model.with_feature_names(rows.feature_names)
        else:
            parts = replace(parts, X=newest(parts.X, model.front_end.window))
        model.save(out)
        shown = out.with_suffix(".html")
        command = shlex.join(["ethereal", *sys.argv[1:]])
        write_text(shown, render(report_of(replace(tuned, model=model), parts, out, command)))
        write_text(out.with_suffix(".front.svg"), figure_svg(tuned.trials, tuned.front[0], tuned.budget))
    if as_json:
        typer.echo(json.dumps(_result(tuned, out, parts)))
        return
    _print(tuned, out, shown, parts)
    is_other = tuned.study not in (study, "tune")
    others = " (searches with other options are kept there, too)" if is_other else ""
    say(f"search         {kept}, study {tuned.study}{others}")


def _found(parts: Rows, **keywords: Any) -> Tuning:
    """Search with the rows to learn from, which may be windows."""
    from ethereal import tuning

    keywords["test"] = (parts.X_test, parts.y_test) if len(parts.y_test) else None
    keywords["groups"] = parts.groups_train
    if parts.front_end is None:
        return tuning.tune(parts.X_train, parts.y_train, categories=parts.categories, **keywords)
    return tuning.tune_windows(parts.X_train, parts.y_train, parts.front_end.front_end_, **keywords)


def _result(tuned: Tuning, out: Path, parts: Rows) -> dict[str, Any]:
    from ethereal.runs.options import cli_fields

    return {
        "model": str(out),
        "test_accuracy": tuned.test_accuracy,
        "test_rows": len(parts.y_test),
        "split": parts.how,
        "trial_test_accuracy": tuned.trial_test_accuracy,
        "validation_accuracy": tuned.accuracy,
        "check": None if tuned.check is None else asdict(tuned.check),
        "is_trials": tuned.is_trials,
        "footprint": asdict(tuned.footprint),
        "worst": asdict(_worst(tuned)),
        "setup": asdict(tuned.setup),
        "bounds": {k: None if v == math.inf else v for k, v in cli_fields(tuned.budget).items()},
        "trials": len(tuned.trials),
        "study": tuned.study,
        "front": [
            {"trial": t.number, "accuracy": t.accuracy, **asdict(t.footprint)}
            for t in tuned.front
            if t.footprint is not None
        ],
        "seconds": tuned.seconds,
    }


def _print(tuned: Tuning, out: Path, page: Path, parts: Rows) -> None:
    from ethereal.tuning.kernels import in_words
    from ethereal.tuning.page import CHECKED_NOTHING

    took = tuned.footprint
    if tuned.test_accuracy is not None:
        say(f"test accuracy  {100 * tuned.test_accuracy:.2f} % of {len(parts.y_test)} rows ({parts.how})")
    if tuned.trial_test_accuracy is not None and not tuned.is_trials:
        say(f"               {100 * tuned.trial_test_accuracy:.2f} % has the trial's own model")
    say(f"validation     {100 * tuned.accuracy:.2f} %, which it was chosen by")
    checked = CHECKED_NOTHING if tuned.check is None else tuned.check.describe(tuned.is_trials)
    say(f"check          {checked}")
    say(f"takes          {took.bytes} bytes of flash, {took.ram} bytes of RAM")
    if tuned.kernels is None:
        say(f"instructions   {took.instructions:g} per row at most, features to class")
    else:
        say(f"instructions   {took.instructions:g} per window at most, sample to label")
        say(f"               the bound is {tuned.budget.instructions:g}. --instructions sets another.")
        front_end = tuned.model.drop_unused_kernels().front_end
        assert front_end is not None
        say(f"kernels        {in_words(front_end, tuned.kernels.offered)}")
    if tuned.budget.rule:
        say(f"               {tuned.budget.rule}")
    worst = _worst(tuned)
    if worst.instructions is not None:
        say(f"worst case     no row can take more than {worst.instructions} instructions")
    for name, most in worst.calls.items():
        say(f"               no call of {name}() can take more than {most}")
    if worst.stack_bytes is not None:
        say(f"               no call takes more than {worst.stack_bytes} bytes of stack")
    say(f"setup          {tuned.setup.describe()}")
    say(f"trials         {len(tuned.trials)} in {tuned.seconds:.0f} s")
    say(f"written        {out}, {page}")
    say(f"export with    ethereal export {out}, which keeps the layout {took.layout}")


def _worst(tuned: Tuning) -> WorstCase:
    """Return bounds that hold for every row of the model in its form."""
    from ethereal.device.worst import worst_case

    target, took = tuned.budget.target, tuned.footprint
    return worst_case(tuned.model, took.layout or "auto", target=target, clause_bytes=took.clause_bytes)


def _in_words(trial: Trial) -> str:
    """Return the accuracy of a trial and what it takes, with units."""
    took = trial.footprint
    sizes = "" if took is None else f", {took.bytes:,} bytes of flash, {took.instructions:,.0f} instructions"
    return f"{100 * trial.accuracy:.2f} %{sizes}"


@contextmanager
def _live(budget: Budget, quiet: bool) -> Iterator[Callable[[tuple[Trial, ...]], None]]:
    """Show the front after every batch: a table that stays in place on a terminal, else a line."""
    from ethereal.tuning.page import live_table
    from ethereal.tuning.search import front_of

    def line(trials: tuple[Trial, ...]) -> None:
        best = front_of(trials, budget)[:1]
        text = _in_words(best[0]) if best else "nothing within the budget yet"
        print(f"{len(trials)} trials: {text}", file=sys.stderr, flush=True)

    if quiet:
        yield lambda trials: None
    elif not sys.stderr.isatty():
        yield line
    else:
        from rich.live import Live

        with Live(console=console(stderr=True), auto_refresh=False) as live:
            yield lambda trials: live.update(live_table(trials, budget), refresh=True)
