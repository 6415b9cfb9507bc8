"""`ethereal datasets`: what is at hand, and fetching what is not."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from ethereal.base.messages import say, table_of
from ethereal.cli import app
from ethereal.cli.commands import Commands
from ethereal.cli.options import AsJson
from ethereal.cli.output import console

datasets_app = Commands(help="List the study's data sets, or fetch them.", invoke_without_command=True)
app.add_typer(datasets_app, name="datasets")


@datasets_app.callback()
def list_datasets(context: typer.Context, as_json: AsJson = False) -> None:
    """List the data sets: state, size on disk, rows of the original, what is here of it, and citation."""
    if context.invoked_subcommand is not None:
        return
    from ethereal import datasets  # not at import: `ethereal --help` should not pay for it

    records = [_record(datasets.status(name)) for name in datasets.names()]
    if as_json:
        typer.echo(json.dumps({"folder": str(datasets.folder()), "datasets": records}, indent=2))
        return
    from rich.text import Text

    head = ("name", "state", "on disk", "rows", "features", "classes", "licence")
    rows = ((r["name"], r["state"], _size(r["bytes"]), *(str(r[k]) for k in head[3:])) for r in records)
    show = console().print
    show(table_of(f"Data sets in {datasets.folder()}", head, rows, (0, 1, 6)))
    for r in records:
        show(Text.assemble((r["name"], "bold"), f": {r['title']}.\n  {_here(r)}\n  {r['citation']}"))


@datasets_app.command("fetch")
def fetch_datasets(
    names: Annotated[list[str], typer.Argument(help="Names from the list, or `all`.", metavar="NAME...|all")],
    force: Annotated[bool, typer.Option("--force", help="Download and parse again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Download data sets and keep each as NAME.npz in the data folder."""
    from ethereal import datasets
    from ethereal.datasets.catalogue import Unreachable

    wanted = datasets.names() if names == ["all"] else names
    try:
        for name in wanted:
            datasets.status(name)  # an unknown name fails before anything is downloaded
    except ValueError as e:
        say(f"error: {e}", err=True)
        raise typer.Exit(2) from e
    results: list[dict[str, Any]] = []
    failed, silent, beyond = False, "", []
    for name in wanted:
        if silent and datasets.status(name).state == "absent":  # do not wait for the same server again
            results.append({"name": name, "error": silent})
            beyond.append(name)
            continue
        try:
            datasets.fetch(name, force=force, progress=sys.stderr.isatty() and not as_json)
            set_ = datasets.load(name)
        except datasets.DatasetError as e:
            failed = True
            silent = e.reason if isinstance(e, Unreachable) else silent
            results.append({"name": name, "error": str(e)})
            say(f"error: {name}: {e}", err=True)
            continue
        rows, train = len(set_.y), int((~set_.test).sum())
        result = {"name": name, "rows": rows, "train": train}
        results.append(result | {"completeness": set_.completeness, "split": set_.how})
        if not as_json:
            say(f"{name}: {train} training and {rows - train} test rows, {set_.completeness}")
    if beyond:
        say(f"error: {', '.join(beyond)}: not tried. {silent}", err=True)
    if as_json:
        typer.echo(json.dumps(results, indent=2))
    if failed:
        raise typer.Exit(1)


def _record(status: Any) -> dict[str, Any]:
    of_source = ("name", "title", "rows", "features", "classes", "licence", "citation")
    return {name: getattr(status.source, name) for name in of_source} | {
        "state": status.state,
        "bytes": status.bytes,
        "path": None if status.path is None else str(status.path),
        "completeness": status.completeness,
    }


def _here(record: dict[str, Any]) -> str:
    """Return what there is of a set, or what fetching it gives."""
    if completeness := record["completeness"]:
        return f"Here: {completeness}."
    expected = f"{record['rows']} rows, {record['features']} features, {record['classes']} classes"
    return f"Not here. `ethereal datasets fetch {record['name']}` gets all of it: {expected}."


def _size(n: int) -> str:
    return f"{n / 1e6:.1f} MB" if n else ""
