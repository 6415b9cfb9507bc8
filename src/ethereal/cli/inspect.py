"""`ethereal inspect`: what a model file holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ethereal.base.messages import say, table_of
from ethereal.cli import app
from ethereal.cli.errors import reported
from ethereal.cli.options import AsJson, ModelFile
from ethereal.cli.output import console

if TYPE_CHECKING:
    from ethereal.model import Model
    from ethereal.model.rules import Rule

_TOP = 10


@app.command()
def inspect(
    model: ModelFile,
    rules: Annotated[
        bool, typer.Option("--rules", help="Print the rules, in the features' own units.")
    ] = False,
    label: Annotated[str | None, typer.Option("--class", help="With --rules: of this class only.")] = None,
    top: Annotated[
        int | None, typer.Option(min=1, help="With --rules: the heaviest of each class, so many.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a model: size in every code, clauses per class, top literals, where it comes from."""
    with reported():
        from ethereal.model import Model

        if not rules and (label is not None or top is not None):
            raise ValueError(f"{'--top' if label is None else '--class'} chooses rules. Add --rules.")
        machine = Model.load(model)
        if machine.output.kind == "normal" and machine.normal is not None and not rules:
            n_centres, n_features = machine.normal.centres.shape
            names = [machine.input_names[f] for f in machine.normal.features.tolist()]
            told = {
                "model": str(model),
                "centres": n_centres,
                "limit": machine.normal.limit,
                "features": names,
            }
            text = f"{model}: what is normal, by {n_centres} centres of {n_features} features"
            say(json.dumps(told) if as_json else f"{text}, limit {machine.normal.limit}: {', '.join(names)}")
            return
        facts = _facts(machine, model)
        if rules:
            facts["rules"] = _rules(machine, label, top)
    if as_json:
        typer.echo(json.dumps(facts, default=str))
    elif rules:
        say(machine.describe(top, label))
    else:
        _show(facts)


def _rules(model: Model, label: str | None, top: int | None) -> list[dict[str, Any]]:
    """Return the rules with their votes, in the order of the clauses."""
    from ethereal.model.rules import rules_by_class

    of_classes = rules_by_class(model, label).values()
    return rules_for_programs(model, {rule.clause: rule for some in of_classes for _, rule in some[:top]})


def rules_for_programs(model: Model, rules: Mapping[int, Rule]) -> list[dict[str, Any]]:
    """Return rules by the numbers of their clauses as JSON has them: votes and text."""
    return [
        {"votes": {model.output.columns[c]: w for c, w in rule.weights.items()}, "rule": rule.text}
        for _, rule in sorted(rules.items())
    ]


def _facts(model: Model, path: Path) -> dict[str, Any]:
    import numpy as np

    from ethereal.model import Number
    from ethereal.model import codes as encode

    simple = model.simplify()
    counts = model.literal_counts()  # class x polarity x literal
    names = [*model.boolean_names, *(f"NOT {name}" for name in model.boolean_names)]
    totals = np.bincount(model.literals, minlength=len(names))  # clauses, whatever they vote on
    order = totals.argsort(kind="stable")[::-1][:_TOP]
    columns = [
        {
            "label": label,
            "clauses_for": int((model.weights[:, c] > 0).sum()),
            "clauses_against": int((model.weights[:, c] < 0).sum()),
            "includes": int(counts[c].sum()),
        }
        for c, label in enumerate(model.output.columns if model.is_number else model.classes.tolist())
    ]
    automata = 2 * model.n_booleans * model.n_clauses  # a literal of each clause has one
    return {
        "file": str(path),
        "file_bytes": path.stat().st_size,
        **(
            {"number": model.output.as_dict(), "votes": columns}
            if isinstance(model.output, Number)
            else {"classes": columns}
        ),
        "features": model.n_features,
        "booleans": model.n_booleans,
        "clauses": model.n_clauses,
        "includes": model.n_includes,
        "excluded_share": 1 - model.n_includes / automata if automata else None,
        "simplified": {"clauses": simple.n_clauses, "includes": simple.n_includes},
        # The codes have no patches.
        "bytes": encode.sizes(model) if model.patch is None else {},
        "bytes_simplified": encode.sizes(simple) if model.patch is None else {},
        "patch": None if model.patch is None else model.patch.as_dict(),
        "top_literals": [[names[k], int(totals[k])] for k in order.tolist() if totals[k]],
        "deployment": None if model.deployment is None else model.deployment.as_dict(),
        "pruned_for": None if model.deployment is None else model.deployment.describe(),
        "provenance": dict(model.provenance),
    }


def _show(facts: dict[str, Any]) -> None:
    show = console().print
    simple = facts["simplified"]
    about = (
        f": {facts['features']} features, {facts['booleans']} Booleans, "
        f"{facts['clauses']} clauses, {facts['includes']} includes "
        f"(simplified: {simple['clauses']} clauses, {simple['includes']} includes)"
    )
    show(facts["file"] + about)
    if (share := facts["excluded_share"]) is not None:
        per_clause, literals = facts["includes"] / facts["clauses"], 2 * facts["booleans"]
        show(
            f"{100 * share:.2f} % of the automata exclude: {per_clause:.1f} of {literals} literals per clause"
        )
    both = ((code, size, facts["bytes_simplified"][code]) for code, size in facts["bytes"].items())
    sizes = ((code, f"{size:,.0f}", f"{simple:,.0f}") for code, size, simple in both)
    if facts["bytes"]:
        show("", table_of("Bytes", ("code", "as it is", "simplified"), sizes), sep="\n")
    if (patch := facts["patch"]) is not None:
        size, shape = (" x ".join(map(str, patch[name])) for name in ("size", "shape"))
        show(f"Clauses look for patches of {size} cells anywhere in rows of {shape}.")
    title, columns = ("Classes", facts["classes"]) if "classes" in facts else ("Votes", facts["votes"])
    if (number := facts.get("number")) is not None:
        unit, half = f" {number['unit']}".rstrip(), number["half_width"]
        interval = "" if half is None else f", 90 % of true values within {half:.6g}{unit}"
        scale = f"{number['offset']:.6g}{unit}, and {number['scale']:.6g}{unit} per vote"
        if "linear" in number:
            scale += f", and a straight line of {len(number['linear']['slopes'])} features"
        show("", f"The answer is {scale}{interval}.", sep="\n")
    classes = ([str(value) for value in c.values()] for c in columns)
    show("", table_of(title, ("label", "clauses for", "clauses against", "includes"), classes), sep="\n")
    literals = ((name, str(count)) for name, count in facts["top_literals"])
    show("", table_of("Literals that most clauses include", ("literal", "clauses"), literals), "", sep="\n")
    if facts["deployment"] is not None:
        layout = facts["deployment"].get("layout")
        show(f"pruned for: {facts['pruned_for']}" + ("" if layout is None else f", layout {layout}"))
    for name, value in facts["provenance"].items():
        show(f"{name}: {value}")
