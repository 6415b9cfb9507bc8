"""`ethereal run` makes models and a report from one data set. `ethereal report` makes the report again."""

from __future__ import annotations

import json
import shlex
import sys
import webbrowser
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ethereal.base.options import offered, taken
from ethereal.cli import app
from ethereal.cli.console import console, table_of
from ethereal.cli.errors import reported
from ethereal.cli.options import AsJson, Data, grouped
from ethereal.cli.split import split
from ethereal.datasets.options import SplitOptions, TableOptions
from ethereal.train.options import RunOptions

if TYPE_CHECKING:
    from ethereal.datasets.rows import Rows
    from ethereal.runs.folder import RunFolder
    from ethereal.runs.pipeline import Plan
    from ethereal.train.classifier import EtherealClassifier

Open = Annotated[bool, typer.Option("--open", help="Open the report in the browser.")]
QUICK_CLAUSES, QUICK_EPOCHS = 40, 15


@app.command()
@grouped
def run(
    data: Data,
    table: TableOptions,
    training: RunOptions,
    parts: SplitOptions,
    target: Annotated[str, typer.Option(help="Core of the board: cortex-m7, cortex-m4, ...")] = "cortex-m7",
    quick: Annotated[
        bool, typer.Option("--quick", help="A first look: 40 clauses, 15 epochs, few forests.")
    ] = False,
    runs: Annotated[Path, typer.Option(help="Folder of all runs.")] = Path("runs"),
    open_report: Open = False,
    as_json: AsJson = False,
) -> None:
    """Train vanilla and ETHEREAL on DATA, compare them with a forest, and write a report.

    Everything goes to runs/NAME. The same command continues an interrupted run. Other options get a folder of
    their own.
    """
    with reported():
        from ethereal.base import plotting
        from ethereal.device import find_core
        from ethereal.runs import pipeline
        from ethereal.runs.folder import RunFolder
        from ethereal.study.board import require_tools

        require_tools()  # what is missing shows before the work, not after it
        plotting.require_matplotlib()
        target = find_core(target).name
        if quick:
            clauses, epochs = min(training.clauses, QUICK_CLAUSES), min(training.epochs, QUICK_EPOCHS)
            training = replace(training, clauses=clauses, epochs=epochs)
        parameters = {"data": _identity(data), **offered(table), **offered(training), **offered(parts)}
        parameters |= {"drop": table.drop or [], "target": target, "quick": quick}
        del parameters["jobs"]  # which changes no result
        rows = read_rows(parameters)
        plan = _plan(training, target, quick=quick, verbose=0 if as_json else 1)
        plan.make(training.exclude_every).check_parameters()  # a mistake shows before a folder is made
        folder = RunFolder.open(runs, rows.name, parameters)

        def tell(text: str) -> None:
            if not as_json:
                typer.echo(f"· {text}", err=True)

        n_test = len(rows.y_test)
        tell(f"{folder.path}: {len(rows.y) - n_test} training rows, {n_test} test rows ({rows.how})")
        pipeline.train(folder, rows, plan, tell)
        pipeline.deploy(folder, rows, plan, tell)
        classes = pipeline.load_model(folder, "ethereal").n_classes
        command = shlex.join(["ethereal", *sys.argv[1:]])
        folder.stage(
            "facts", lambda: {"command": command, "versions": pipeline.versions(), "classes": classes}
        )
        page = write_report(folder, rows)
    _close(folder, page, as_json)
    if open_report:
        webbrowser.open(page.resolve().as_uri())


def _plan(training: RunOptions, target: str, *, quick: bool, verbose: int) -> Plan:
    from ethereal.runs.pipeline import Plan, Rivals
    from ethereal.study import rivals
    from ethereal.study.rivals import ForestClassifier

    def make(every: int | None) -> EtherealClassifier:
        machine = replace(training, vanilla=True) if every is None else replace(training, exclude_every=every)
        return machine.classifier(verbose)

    return Plan(
        make=make,
        exclude_every=training.exclude_every,
        rivals=Rivals(ForestClassifier, rivals.forest, rivals.redress),
        forest={"random_state": training.seed, **({"trees": (25,), "depths": (14,)} if quick else {})},
        target=target,
    )


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
    typer.echo(str(page))
    if open_report:
        webbrowser.open(page.resolve().as_uri())


def read_rows(parameters: dict[str, Any]) -> Rows:
    """Return training and test rows of a run, the same every time."""
    from ethereal.datasets.files import read_table

    table, _ = taken(TableOptions, parameters)
    rows = split(read_table(parameters["data"], table), parameters["test"], parameters["seed"])
    if len(rows.y_test) == 0:
        raise ValueError("A run compares on test rows, but --test is 0. Give a share such as 0.2")
    return rows


def write_report(folder: RunFolder, rows: Rows) -> Path:
    """Render a run's report, its figures and its history into its folder."""
    from ethereal.base import plotting
    from ethereal.runs.report import figures, render
    from ethereal.runs.report.from_run import history_csv, report_of

    report = report_of(folder, rows)
    (folder.path / "figures").mkdir(exist_ok=True)
    for name, figure in figures.of_report(report).items():
        plotting.save(figure, folder.path / "figures", name)
    folder.write_text("history.csv", history_csv(report.history))
    return folder.write_text("report.html", render(report))


def _identity(data: str) -> str:
    """Return a file's full path, so that the run finds it from elsewhere, or a data set's name as it is."""
    path = Path(data)
    return str(path.resolve()) if path.exists() else data


def _close(folder: RunFolder, page: Path, as_json: bool) -> None:
    results = {stage: folder.result(stage) or {} for stage in ("vanilla", "ethereal", "forest")}
    device = folder.result("device") or {}
    if as_json:
        for result in results.values():
            result.pop("history", None)
        typer.echo(json.dumps({"folder": str(folder.path), "report": str(page), **results, "device": device}))
        return
    from ethereal.runs.report.from_run import DEVICE_COLUMNS, closing_lines, device_rows, redress_bytes

    vanilla, ethereal, forest = results.values()
    shown = {"vanilla": vanilla, "ETHEREAL": ethereal}
    if "left_out" not in forest:
        shown[f"forest ({forest['trees']} x depth {forest['depth']})"] = forest
    values: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        ("includes per clause", lambda r: f"{r['includes_per_clause']:.2f}"),
        ("includes", lambda r: f"{r['includes']:,}"),
        ("includes, simplified", lambda r: f"{r['simplified']['includes']:,}"),
        ("bytes, REDRESS words", redress_bytes),
        ("bytes, simplified and compact", lambda r: f"{r['bytes']['compact']:,}"),
        ("training, rows/s", lambda r: f"{r['rows_per_second']:,.0f}"),
    ]
    rows = [["accuracy", *(f"{100 * r['accuracy']:.2f} %" for r in shown.values())]]
    rows += [[name, value(vanilla), value(ethereal)] for name, value in values]
    show = console().print
    show(table_of(f"{folder.path.name}, test rows", ["", *shown], rows))
    title = f"On an emulated {device['target']}, {device['rows']} test rows"
    show(table_of(title, DEVICE_COLUMNS, device_rows(device)))
    for line in closing_lines(device):
        show(line, soft_wrap=True)
    show(f"report: {page}", soft_wrap=True)
