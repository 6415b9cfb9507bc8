"""`ethereal adapt`: what people would gain who teach their board."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ethereal.adapt.learn_options import DEFAULT_ROWS
from ethereal.base.atomic import write_text
from ethereal.base.messages import progress, say
from ethereal.base.options import option
from ethereal.cli import app
from ethereal.cli.errors import reported
from ethereal.cli.options import AsJson, Data, ModelFile, grouped, is_quiet
from ethereal.cli.output import console
from ethereal.datasets.options import GroupedTableOptions

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.table import Table

    from ethereal.adapt.trial import Trial
    from ethereal.model import Model


@dataclass(frozen=True)
class Teaching:
    """How the board would learn."""

    learn: str = option("votes", "What learns: votes, or bias for little RAM.")
    learn_rows: int = option(DEFAULT_ROWS, "Rows that the board keeps to learn from.")
    guard: bool = option(True, "Keep only what is better on a third of the rows.", "--guard/--no-guard")
    margin: float | None = option(
        None, "Votes that the right class should be ahead. Default: the usual lead on training rows."
    )


@app.command()
@grouped
def adapt(
    model: ModelFile,
    data: Data,
    form: GroupedTableOptions,
    teaching: Teaching,
    people: Annotated[bool, typer.Option("--people", help="Also every person in a line.")] = False,
    html: Annotated[Path | None, typer.Option(help="Also write the table as a page.")] = None,
    as_json: AsJson = False,
) -> None:
    """Tell what each person would gain by teaching the board some rows of every class.

    The first rows of each class of a person are taught, at most half of them, and later rows test. Take
    people whom the model was not trained on, and rows in the order of time.
    """
    with reported():
        from ethereal.adapt.trial import HEADS, try_teaching
        from ethereal.model import Model

        machine = Model.load(model)
        X, y, who = _rows(machine, data, form)
        with progress("adapt", 1.0, quiet=is_quiet(as_json)) as show:
            n_people, seen = len(set(who.tolist())), list[str]()

            def on_person(name: str) -> None:
                seen.append(name)
                show(len(seen) / n_people, name)

            learning: Any = {"form": teaching.learn, "n_rows": teaching.learn_rows}
            learning |= {"guard": teaching.guard, "margin": teaching.margin}
            trial = try_teaching(machine, X, y, who, on_person=on_person, **learning)
    if as_json:
        typer.echo(json.dumps(_for_programs(trial)))
    else:
        title = f"{len(trial.people)} people, {100 * trial.before.mean():.1f} % before, in points"
        console().print(_table(title, HEADS, trial.lines))
        if people:
            heads = "person", "before", *(f"{n} per class" for n in trial.after)
            console().print(_table("accuracy of each person", heads, _people(trial)))
        say(trial.verdict)
        most = max(trial.after) * machine.n_classes
        if most > teaching.learn_rows:
            say(f"The board keeps {teaching.learn_rows} rows of up to {most}. Try --learn-rows {most} too.")
        say(trial.limits)
    if html is not None:
        with reported():
            write_text(html, _page(trial, model.name))


def _rows(
    model: Model, data: str, form: GroupedTableOptions
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return rows with labels, and whom they are of."""
    from ethereal.datasets.reading import is_in_memory, read
    from ethereal.datasets.tables import TableError

    no_labels = f"{data}: say which column has the labels, with --label COLUMN"
    no_groups = f"{data}: does not say whom its rows are of. Name that column with --group COLUMN."
    if model.front_end is None and not is_in_memory(data):
        if form.label is None:
            raise TableError(no_labels)
        if form.group is None:
            raise TableError(no_groups)
    rows = read(data, form, like=model)
    if len(rows.y) == 0:
        raise TableError(no_labels)
    groups = rows.groups if rows.test is None else rows.groups_test
    if groups is None:
        raise TableError(no_groups)
    return (rows.X, rows.y, groups) if rows.test is None else (rows.X_test, rows.y_test, groups)


def _table(title: str, heads: Iterable[str], lines: Iterable[Iterable[str]]) -> Table:
    from rich.table import Table

    table = Table(title=title)
    for head in heads:
        table.add_column(head, justify="right")
    for line in lines:
        table.add_row(*line)
    return table


def _people(trial: Trial) -> Iterator[list[str]]:
    """Yield the line of each person."""
    for p, name in enumerate(trial.people):
        after = [f"{100 * of_people[p]:.1f}" for of_people in trial.after.values()]
        yield [name, f"{100 * trial.before[p]:.1f}", *after]


def _for_programs(trial: Trial) -> dict[str, Any]:
    names = ("after", "after_wrong", "others")
    return {
        "people": trial.people,
        "before": trial.before.tolist(),
        **{name: {str(n): gains.tolist() for n, gains in getattr(trial, name).items()} for name in names},
        "is_worth_it": trial.is_worth_it,
    }


def _page(trial: Trial, name: str) -> str:
    """Return the table as a page."""
    from html import escape

    from ethereal.adapt.trial import HEADS

    head = "".join(f"<th>{escape(text)}</th>" for text in HEADS)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(x)}</td>' for x in line)}</tr>\n" for line in trial.lines)
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f"<title>Teaching {escape(name)}</title>\n<style>body{{font-family:sans-serif;margin:2em}}"
        "td,th{padding:.2em 1em;text-align:right}</style>\n"
        f"<h1>Teaching {escape(name)}</h1>\n<p>{len(trial.people)} people, accuracy "
        f"{100 * trial.before.mean():.1f} % before. Gains are points.</p>\n<table>\n<tr>{head}</tr>\n{rows}"
        f"</table>\n<p>{escape(trial.verdict)}</p>\n<p>{escape(trial.limits)}</p>\n</html>\n"
    )
