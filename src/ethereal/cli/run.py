"""`ethereal run` makes a model for a board and a report. `ethereal report` makes the report again."""

from __future__ import annotations

import json
import math
import shlex
import sys
import time
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ethereal.base.messages import is_quiet, say, width_of
from ethereal.base.options import cli_fields, option, split_kwargs
from ethereal.cli import app
from ethereal.cli.errors import columns_named, reported
from ethereal.cli.interrupts import continued_later
from ethereal.cli.options import AsJson, Data, grouped
from ethereal.cli.split import split
from ethereal.datasets.options import SourceOptions, SplitOptions
from ethereal.train.options import TrainingOptions, UnknownOptions
from ethereal.tuning.budget import Budget

if TYPE_CHECKING:
    from ethereal.datasets.rows import Rows
    from ethereal.runs.folder import RunFolder
    from ethereal.runs.paper import Paper
    from ethereal.runs.pipeline import Plan
    from ethereal.train.classifier import EtherealClassifier

Open = Annotated[bool, typer.Option("--open", help="Open the report in the browser.")]
QUICK_CLAUSES, QUICK_EPOCHS = 40, 15


@dataclass(frozen=True)
class Extent:
    """How much a run does."""

    forest: bool = option(True, "Compare with a random forest, tuned to be small.", "--forest/--no-forest")
    paper: bool = option(False, "Also train vanilla and ETHEREAL with the paper's settings.", "--paper")
    quick: bool = option(False, "A first look: 40 clauses, 15 epochs.", "--quick")
    all_rows: bool = option(False, "Learn from all rows of a table of more than 200,000.", "--all-rows")


@app.command()
@grouped
def run(
    data: Data,
    table: SourceOptions,
    budget: Budget,
    training: TrainingOptions,
    parts: SplitOptions,
    doubt: UnknownOptions,
    extent: Extent,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of all runs.")] = Path("runs"),
    open_report: Open = False,
    as_json: AsJson = False,
) -> None:
    """Make the model for a board from DATA, compare it with a forest, and write a report.

    The machine is pruned to the knee of accuracy against size, or to --flash, --ram and --instructions.
    Everything goes to runs/NAME. The same command continues an interrupted run. Other options get a folder of
    their own.
    """
    with reported(), continued_later():
        budget = _checked(budget)
        training = _quick(training) if extent.quick else training
        parameters = {"data": _identity(data), **cli_fields(table), **cli_fields(training)}
        parameters |= {**cli_fields(parts), **_of_extent(extent, doubt), **_bounds(budget)}
        parameters["drop"] = table.drop or []
        del parameters["jobs"]  # which changes no result
        everything = read_all_rows(parameters)
        # Imports take seconds, which a table that is refused should not cost.
        from ethereal.runs import duration, kernels, pipeline
        from ethereal.runs.folder import RunFolder

        wanted = _papers(extent)
        rows = learned_from(everything, parameters)
        _plan(training, budget, extent.forest, rows, quiet=True).make(0).check_parameters()  # before all else
        folder = RunFolder.open(out, rows.name, parameters)
        quiet = is_quiet(as_json)

        def tell(text: str) -> None:
            if not quiet:
                say(text, err=True)

        for line in _opening(everything):
            tell(line)
        rows, budget = kernels.choose(folder, rows, budget, training.seed, tell)
        plan = _plan(training, budget, extent.forest, rows, quiet=quiet)
        plan = replace(plan, unknown=doubt.wanted, novelty=doubt.novelty)
        rule = budget.rule or (rows.front_end is None and budget.for_rows(*_counts(rows)).rule)
        if rule:
            tell(f"bounds: {rule}")
        if folder.result("learn") is None:
            for line in duration.expected(rows, plan, len(everything.y_train)):
                tell(line)
                folder.log(line)
        with columns_named(rows.feature_names):
            pipeline.learn(folder, rows, plan, tell)
        pipeline.board(folder, rows, plan, tell)
        for one in wanted:
            _train_paper(one, folder, rows, training, plan, tell)
        facts = {"command": shlex.join(["ethereal", *sys.argv[1:]]), "versions": pipeline.versions()}
        folder.stage("facts", lambda: facts | {"date": time.strftime("%Y-%m-%d %H:%M")})
        page = write_report(folder, rows)
        _close(folder, page, rows, as_json)
    if open_report:
        webbrowser.open(page.resolve().as_uri())


def _of_extent(extent: Extent, doubt: UnknownOptions) -> dict[str, Any]:
    """Return the parameters that name a run, among those of its extent and of "unknown"."""
    wanted = {name: value for name, value in cli_fields(doubt).items() if value}
    return {**wanted, "quick": extent.quick, "forest": extent.forest, "all_rows": extent.all_rows}


def _quick(training: TrainingOptions) -> TrainingOptions:
    clauses = min(training.clauses or QUICK_CLAUSES, QUICK_CLAUSES)
    return replace(training, clauses=clauses, epochs=min(training.epochs or QUICK_EPOCHS, QUICK_EPOCHS))


def _checked(budget: Budget) -> Budget:
    """Return the budget within the chip of its target. Bounds need a compiler."""
    from ethereal.chips.targets import find_core
    from ethereal.chips.toolchain import missing_tools

    if not budget.on_size:
        return replace(budget, target=find_core(budget.target).name)
    if missing_tools():
        raise ValueError(
            f"--flash, --ram and --instructions need {' and '.join(missing_tools())}, which are not "
            "installed. Install them with pip install 'ethereal-tm[device]', or leave the bounds out"
        )
    budget.on_chip()  # refuses more than the chip has
    return replace(budget, target=find_core(budget.target).name)


def _bounds(budget: Budget) -> dict[str, Any]:
    """Return the options of a budget as JSON has them."""
    return {name: None if value == math.inf else value for name, value in cli_fields(budget).items()}


def _opening(rows: Rows) -> list[str]:
    """Return what was read and how it was split."""
    import numpy as np

    n_rows, n_features = len(rows.X), rows.X.shape[-1]
    empty = np.isnan(rows.X).mean() if rows.X.dtype.kind == "f" else 0.0
    missing = f", {100 * empty:.2g} % missing" if empty else ""
    n_test, n_classes = len(rows.y_test), len(np.unique(rows.y))
    if rows.front_end is None:
        lines = [f"{rows.name}: {n_rows:,} rows, {n_features} features, {n_classes} classes{missing}"]
    else:
        own = rows.front_end.front_end_
        what = f"{n_rows:,} windows of {own.window} samples, axes {', '.join(own.axes)}"
        lines = [f"{rows.name}: {what}, {n_classes} classes"]
    kind = "rows" if rows.front_end is None else "windows"
    lines.append(f"split: {n_rows - n_test:,} {kind} to learn from, {n_test:,} to test ({rows.how})")
    return lines


def _counts(rows: Rows) -> tuple[int, int]:
    """Return the numbers of training rows and of their classes."""
    import numpy as np

    return len(rows.y_train), len(np.unique(rows.y_train))


def _plan(training: TrainingOptions, budget: Budget, forest: bool, rows: Rows, *, quiet: bool) -> Plan:
    from ethereal.runs.pipeline import Plan

    training = training.meeting(rows.X, rows.y)

    def plain() -> EtherealClassifier:  # what boards are pruned from
        one = replace(training, noise_clauses=0, refit=False).classifier(0)
        return one.set_params(front_end=rows.front_end)  # type: ignore[no-any-return]

    return Plan(
        make=lambda verbose: training.classifier(verbose).set_params(front_end=rows.front_end),
        make_plain=plain,
        budget=budget,
        seed=training.seed,
        with_forest=forest,
        quiet=quiet,
    )


def _papers(extent: Extent) -> list[Paper]:
    """Return who trains the paper's machines, where that was asked for."""
    from ethereal.runs.paper import papers

    if extent.paper and not papers():
        raise ValueError(
            "--paper needs the package ethereal_study, which is missing. Install ethereal-tm again to have it"
        )
    return papers() if extent.paper else []


def _train_paper(
    paper: Paper,
    folder: RunFolder,
    rows: Rows,
    training: TrainingOptions,
    plan: Plan,
    tell: Callable[[str], None],
) -> None:
    if rows.front_end is not None:
        tell("paper: left out, because it does not take recordings yet.")
        return
    training = replace(training, paper=True).meeting(rows.X, rows.y)

    def make(vanilla: bool) -> EtherealClassifier:
        return replace(training, vanilla=vanilla).classifier(0 if plan.quiet else 1)

    paper.train(folder, rows, make, plan.budget.target, tell)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="Folder of a run, for example runs/digits.")],
    open_report: Open = False,
) -> None:
    """Make the report of a finished run again."""
    with reported():
        from ethereal.runs.folder import RunFolder

        found = RunFolder(folder)
        parameters = found.parameters()
        if parameters is None:
            raise ValueError(
                f"{folder} is not a run. It has no parameters.json. Name one such as runs/digits"
            )
        page = write_report(found, read_rows(parameters))
    say(str(page))
    if open_report:
        webbrowser.open(page.resolve().as_uri())


def read_rows(parameters: dict[str, Any]) -> Rows:
    """Return training and test rows of a run, the same every time."""
    return learned_from(read_all_rows(parameters), parameters)


def learned_from(rows: Rows, parameters: dict[str, Any]) -> Rows:
    """Return the rows that a run learns from, a part of a large table, and all test rows."""
    from ethereal.runs.sample import sampled

    # A run of an earlier version has no such parameter. It learned from all rows.
    return rows if parameters.get("all_rows", True) else sampled(rows, parameters["seed"])


def read_all_rows(parameters: dict[str, Any]) -> Rows:
    """Return all training and test rows of a run's data."""
    from ethereal.datasets.recordings import read_source

    table, _ = split_kwargs(SourceOptions, parameters)
    rows = split(read_source(parameters["data"], table), parameters["test"], parameters["seed"])
    if len(rows.y_test) == 0:
        raise ValueError("A run compares on test rows, but --test is 0. Give a share such as 0.2")
    return rows


def write_report(folder: RunFolder, rows: Rows) -> Path:
    """Render a run's report into its folder, with its figures where matplotlib is installed."""
    from importlib.util import find_spec

    from ethereal.runs.paper import papers
    from ethereal.runs.report import render
    from ethereal.runs.report.from_run import report_of

    report = report_of(folder, rows)
    if find_spec("matplotlib") is not None:
        from ethereal.base import plotting
        from ethereal.runs.report import figures

        (folder.path / "figures").mkdir(exist_ok=True)
        for name, figure in figures.of_report(report).items():
            plotting.save(figure, folder.path / "figures", name)
    for one in papers():
        for name, text in one.files(folder).items():
            folder.write(name, text)
    return folder.write("report.html", render(report))


def _identity(data: str) -> str:
    """Return a file's full path, so that the run finds it from elsewhere, or a data set's name as it is."""
    path = Path(data)
    return str(path.resolve()) if path.exists() else data


def _close(folder: RunFolder, page: Path, rows: Rows, as_json: bool) -> None:
    from ethereal.runs.paper import papers
    from ethereal.runs.pipeline import is_balanced, results, rows_are
    from ethereal.runs.sizes import beside, large_note
    from ethereal.runs.table import lines, summary

    found = dict(results(folder))
    if as_json:
        for one in papers():
            found |= one.results(folder)
        for result in found.values():
            result.pop("history", None)
        typer.echo(json.dumps({"folder": str(folder.path), "report": str(page), **found}))
        return
    say("")
    for line in lines(summary(found, rows.how, is_balanced=is_balanced(folder), rows_are=rows_are(rows))):
        say(line)
    say("")
    paths = {"report.html": "open it: the model runs in the page"}
    if found["board"]["exported"] is not None:
        paths["c/"] = "unsigned label = model_predict(features);"
        if rows.front_end is not None:
            paths["c/"] = "int label = model_push(sample);  /* or -1 */"
    paths["model.etm"] = f"ethereal predict {folder.path / 'model.etm'} new.csv"
    width = 2 + max(len(f"{folder.path}/{name}") for name in paths)
    for name, use in paths.items():
        path = f"{folder.path}/{name}"
        line = f"{path:<{width}}{use}"
        # A command that is broken in two could not be pasted.
        is_long = len(line) > (width_of(sys.stdout) or len(line))
        say(f"{path}\n  {use}" if is_long else line)
    for name, text in beside(found).items():
        say(f"{name:<{width}}{text}")
    note = large_note(found)
    if note:
        say("")
        say(note)
