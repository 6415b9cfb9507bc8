"""`ethereal explain`: why a model answers one row of a file as it does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ethereal.base.messages import say
from ethereal.cli import app
from ethereal.cli.errors import reported
from ethereal.cli.inspect import rules_for_programs
from ethereal.cli.options import AsJson, ModelFile, Rows, grouped
from ethereal.cli.predict import why_refused
from ethereal.datasets.options import AnsweredOptions

if TYPE_CHECKING:  # imported where they are used: `ethereal --help` should not pay for numpy
    from ethereal.datasets.tables import Chunk, Table
    from ethereal.model import Model
    from ethereal.model.explain import Change, ExplainedNumber, Explanation
    from ethereal.model.rules import Rule


@app.command()
@grouped
def explain(
    model: ModelFile,
    data: Rows,
    form: AnsweredOptions,
    row: Annotated[
        int, typer.Option(min=1, help="Row of data to explain. The first one is 1, a header does not count.")
    ] = 1,
    top: Annotated[int, typer.Option(min=1, help="Most rules to show for a class, and against it.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Explain the answer to one row: the votes, the rules that fired, and what would change the answer.

    Columns are found as in `ethereal predict`. Of a data set the test rows are counted. Where the answer is a
    number, it tells what pushed it up and down, in the unit of the number.
    """
    with reported():
        from ethereal.datasets.reading import open_rows
        from ethereal.datasets.tables import TableError
        from ethereal.model import Model
        from ethereal.model.explain import ExplainedNumber

        machine = Model.load(model)
        rows = open_rows(data, machine, form)
        table = rows.table
        chunk = _one_row(rows.chunks(), table, row)
        if machine.output.kind == "normal":
            alarm = machine.explain_normal(chunk.X[0], top)
            place = {"row": row, "place": table.place(row - 1), "is_normal": alarm.is_normal}
            say(json.dumps(asdict(alarm) | place) if as_json else str(alarm))
            return
        try:
            why = machine.explain(chunk.X)
        except ValueError as error:
            refused = why_refused(machine, rows, chunk)
            raise TableError(refused or f"{table.path}, {table.place(row - 1)}: {error}") from error
        facts = _facts_of_number(machine, why) if isinstance(why, ExplainedNumber) else _facts(machine, why)
        facts |= {"row": row, "place": table.place(row - 1)}
        if rows.label is not None and chunk.label is not None:
            facts["label"] = chunk.label.tolist()[0]
    if as_json:
        typer.echo(json.dumps(facts, default=str))
    else:
        source = str(table.path)
        if isinstance(why, ExplainedNumber):
            say(_text_of_number(facts, why, source, top))
        else:
            say(_text(facts, why, source, top))


def _one_row(chunks: Iterator[Chunk], table: Table, row: int) -> Chunk:
    """Return the row with this number as a chunk of its own."""
    from ethereal.datasets.tables import Chunk, TableError

    n_rows = 0
    for chunk in chunks:
        i = row - 1 - chunk.first_row
        n_rows = chunk.first_row + len(chunk.X)
        if i < len(chunk.X):
            label = None if chunk.label is None else chunk.label[i : i + 1]
            return Chunk(chunk.X[i : i + 1], label, row - 1, chunk.share_read)
    raise TableError(f"{table.path}: --row is {row}, but there are {n_rows} rows of data")


def _facts(model: Model, why: Explanation) -> dict[str, Any]:
    """Return the explanation for JSON."""
    fired = {rule.clause: rule for rules in (why.for_winner, why.for_runner_up) for _, rule in rules}

    def change_of(change: Change) -> dict[str, Any]:
        name, text = model.input_names[change.condition.feature], change.condition.text
        return {"feature": name, "value": change.value, "condition": text}

    return {
        "prediction": why.answer,
        "runner_up": why.runner_up,
        "votes": {str(label): votes for label, votes in why.votes.items()},
        "rules": rules_for_programs(model, fired),
        "changes": None if why.changes is None else list(map(change_of, why.changes)),
    }


def _facts_of_number(model: Model, why: ExplainedNumber) -> dict[str, Any]:
    """Return the explanation of a number for JSON."""
    fired = {rule.clause: rule for _, rule in (*why.up, *why.down)}
    pushes = {how: why.number.scale * sum(vote for vote, _ in rules)
              for how, rules in (("up", why.up), ("down", why.down))}  # fmt: skip
    return {
        "prediction": why.answer,
        "number": why.number.as_dict(),
        **pushes,
        **({} if why.number.line is None else {"linear": why.number.scale * why.line}),
        "rules": rules_for_programs(model, fired),
    }


def _text_of_number(facts: dict[str, Any], why: ExplainedNumber, source: str, top: int) -> str:
    """Return the explanation of a number for people."""
    number, asked = why.number, _asked(facts, source)
    said = ", ".join([number.text(why.answer), *why.interval])
    lines = [f"{asked}: {number.columns[0]} is {said}.{_true(facts)}", ""]
    line = "" if number.line is None else f" The linear part adds {number.amount(why.line)}."
    lines.append(f"Without any rule it would be {number.text(number.offset)}.{line}")
    for how, fired in (("up", why.up), ("down", why.down)):
        pushed = f"that pushed it {how}, by {number.amount(sum(vote for vote, _ in fired))}"
        lines += _rules(pushed if fired else f"that pushes it {how}", list(fired), top, number.amount)
    return "\n".join(lines)


def _asked(facts: dict[str, Any], source: str) -> str:
    """Return which row was asked for."""
    place = f"row {facts['row']}"
    if facts["place"] != place:
        place += f" ({facts['place']})"
    return f"{source}, {place}"


def _true(facts: dict[str, Any]) -> str:
    """Return what the file says, as a sentence."""
    return "" if facts.get("label") is None else f" The file says {facts['label']}."


def _text(facts: dict[str, Any], why: Explanation, source: str, top: int) -> str:
    """Return the explanation for people."""
    lines = [
        f"{_asked(facts, source)}: the answer is {why.answer}.{_true(facts)}",
        "",
        "Votes, the most win:",
    ]
    width = max(len(label) for label in facts["votes"])
    ordered = sorted(facts["votes"].items(), key=lambda pair: -pair[1])
    lines += [f"  {label:<{width}}  {votes:+d}" for label, votes in ordered]
    if why.margin is not None:
        lines.append(f"The first must lead by {why.margin} votes, else the answer is unknown.")
    for label, fired in ((why.winner, why.for_winner), (why.runner_up, why.for_runner_up)):
        if label is not None:
            lines += _rules(f"for {label}", [pair for pair in fired if pair[0] > 0], top)
            lines += _rules(f"against {label}", [pair for pair in fired if pair[0] < 0], top)
    if why.changes is not None:
        lines += ["", f"The answer would be {why.runner_up} with:", *(f"  {one}" for one in why.changes)]
    elif why.runner_up is not None and why.places is None:
        lines += ["", f"No small set of changes was found that makes the answer {why.runner_up}."]
    return "\n".join(lines)


def _rules(
    title: str, fired: list[tuple[int, Rule]], top: int, words: Callable[[int], str] = "{:+d}".format
) -> list[str]:
    """Return lines with the heaviest rules that fired."""
    if not fired:
        return ["", f"No rule fired {title}."]
    lines = ["", f"Rules that fired {title}:"]
    lines += [f"  {words(vote)} IF {rule.text}" for vote, rule in fired[:top]]
    return lines if len(fired) <= top else [*lines, f"  ... and {len(fired) - top} more (--top {len(fired)})"]
