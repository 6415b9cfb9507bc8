"""`ethereal import`: an ensemble of trees that another library saved, as a model."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ethereal.base.atomic import is_standard_output
from ethereal.base.messages import say
from ethereal.cli import app
from ethereal.cli.errors import reported
from ethereal.cli.options import AsJson, grouped, is_there
from ethereal.cli.output import check_out
from ethereal.datasets.options import TableOptions

if TYPE_CHECKING:
    from ethereal.datasets.rows import Rows
    from ethereal.model import Model
    from ethereal.trees import TreeImport


@app.command("import")
@grouped
def import_trees(
    forest: Annotated[
        Path,
        typer.Argument(
            help="What XGBoost saved as .json or .ubj, or LightGBM as text. Pickles are not read, because "
            "opening one executes code that is in it.",
            callback=is_there,
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Model file to write, for example m.etm.")],
    table: TableOptions,
    rows: Annotated[
        str | None,
        typer.Option(help="Rows to order tests by and to compare answers on, such as those of training."),
    ] = None,
    classes: Annotated[
        str | None, typer.Option(help="Labels in the order of the classes, with commas. Default: 0,1,...")
    ] = None,
    missing: Annotated[
        bool,
        typer.Option("--missing", help="Take missing values in every column, not only where rows have some."),
    ] = False,
    votes: Annotated[
        int | None,
        typer.Option(help="The largest vote of a clause. Default: as large as equal answers need."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the trees that XGBoost or LightGBM saved as a model, with a clause per leaf.

    The model answers as the trees do. With --rows the answers are compared, and the program of `ethereal
    export` becomes quicker, because it knows which tests are often true. An estimator of scikit-learn, or one
    in a pickle, comes in by ethereal.from_trees in Python.
    """
    with reported():
        from ethereal import trees
        from ethereal.datasets.reading import read

        check_out(out, as_json)
        options: dict[str, Any] = {"classes": _labels(classes), "votes": votes}
        options["missing"] = True if missing else "auto"
        result = trees.import_trees(forest, **options)
        if rows is not None:
            tolerant = result.model.ignoring_missing()  # here only columns are result by it
            given = read(rows, table, like=tolerant)
            result = trees.import_trees(forest, given.X, **options)
        result.model.save(out)
        score = None if rows is None else _score(result.model, given)
    if as_json:
        typer.echo(json.dumps({"model": str(out), **_facts(result, score)}))
        return
    tell = partial(say, err=is_standard_output(out))
    for line in str(result).splitlines():
        tell(line)
    if score is not None:
        told = f"R2: {score:.3f}" if result.model.is_number else f"accuracy: {100 * score:.2f} %"
        tell(f"{told} on these rows")
    tell(f"written: {out}")


def _facts(result: TreeImport, score: float | None) -> dict[str, Any]:
    """Return what is told as JSON."""
    facts = {"source": result.source, "trees": result.n_trees, "leaves": result.n_leaves}
    facts |= {"clauses": result.model.n_clauses, "rows": result.n_rows, "certain": result.n_certain}
    facts |= {"differing": result.n_differing}
    if result.model.is_number:
        return facts | {"difference": result.difference, "bound": result.bound, "r2": score}
    return facts | {"accuracy": score}


def _labels(classes: str | None) -> list[Any] | None:
    """Return labels from a text. Whole numbers are numbers if all are."""
    if classes is None:
        return None
    texts = [text.strip() for text in classes.split(",")]
    return [int(text) for text in texts] if all(text.lstrip("-").isdigit() for text in texts) else texts


def _score(model: Model, rows: Rows) -> float | None:
    """Return the accuracy or R2 on rows with labels that the model knows, None without such."""
    if model.is_number:
        from sklearn.metrics import r2_score

        is_given = rows.y.dtype.kind in "fiub" and len(rows.y) > 1
        return float(r2_score(rows.y, model.predict(rows.X))) if is_given else None
    known = set(map(str, model.classes.tolist()))
    labels = list(map(str, rows.y.tolist()))
    if not labels or not set(labels) <= known:
        return None
    right = [
        label == str(answer) for label, answer in zip(labels, model.predict(rows.X).tolist(), strict=True)
    ]
    return sum(right) / len(right)
