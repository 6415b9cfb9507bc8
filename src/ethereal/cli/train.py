"""`ethereal train`: a model from a data set or a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ethereal.cli import app, learning
from ethereal.cli.errors import reported
from ethereal.cli.split import check_out, split


@app.command()
def train(
    data: learning.Data,
    out: Annotated[Path, typer.Option("--out", "-o", help="Model file to write, for example m.etm.")],
    label: learning.Label = None,
    drop: learning.Drop = None,
    header: learning.Header = True,
    charset: learning.Charset = None,
    decimal: learning.Decimal = ".",
    clauses: learning.Clauses = 100,
    T: learning.Margin = None,
    s: learning.Specificity = 5.0,
    epochs: learning.Epochs = 50,
    exclude_every: learning.ExcludeEvery = 1,
    vanilla: Annotated[bool, typer.Option("--vanilla", help="Train without exclusion.")] = False,
    literal_budget: learning.Budget = None,
    bins: learning.Bins = 10,
    encoding: learning.Encoding = "thermometer",
    validation: learning.Validation = 0.1,
    tolerance: learning.Tolerance = 0.0,
    shorten: learning.Shorten = False,
    test: learning.TestShare = 0.2,
    balanced: learning.Balanced = False,
    simplify: Annotated[
        bool, typer.Option("--simplify/--no-simplify", help="Simplify the model, which changes no answer.")
    ] = True,
    seed: learning.Seed = 0,
    jobs: learning.Jobs = -1,
    as_json: learning.AsJson = False,
) -> None:
    """Train on DATA, keep the epoch that validates best, and write the model.

    Test rows are used once, at the end, to tell the accuracy: the data's own where it has a split, else a
    share of the rows. A training that was killed goes on when the same command is given again.
    """
    with reported():
        from ethereal.datasets.files import read_table
        from ethereal.train.checkpoint import fit_or_go_on, until_done

        rows = read_table(data, label, drop=drop or (), header=header, charset=charset, decimal=decimal)
        rows = split(rows, test, seed)
        clf = learning.classifier(
            clauses=clauses,
            T=T,
            s=s,
            epochs=epochs,
            exclude_every=None if vanilla else exclude_every,
            literal_budget=literal_budget,
            bins=bins,
            encoding=encoding,
            validation=validation,
            tolerance=tolerance,
            shorten=shorten,
            balanced=balanced,
            seed=seed,
            jobs=jobs,
            verbose=0 if as_json else 1,
        )
        check_out(out)
        with until_done(out.with_name(f"{out.name}.checkpoint")) as kept:
            fit_or_go_on(clf, rows.X_train, rows.y_train, kept)
            model = clf.model_.with_feature_names(rows.feature_names)
            if simplify:
                model = model.simplify()
            model.save(out)
        right = model.predict(rows.X_test) == rows.y_test
    seconds = sum(r["seconds"] for r in clf.history_)
    result: dict[str, Any] = {
        "model": str(out),
        "test_accuracy": float(right.mean()) if len(right) else None,
        "test_rows": len(rows.y_test),
        "train_rows": len(rows.y_train),
        "split": rows.how,
        "classes": model.n_classes,
        "clauses": model.n_clauses,
        "includes": model.n_includes,
        "includes_before_simplify": clf.model_.n_includes,
        "seconds": seconds,
        "best_epoch": clf.best_epoch_,
    }
    if as_json:
        typer.echo(json.dumps({**result, "history": clf.history_}))
        return
    if result["test_accuracy"] is not None:
        typer.echo(
            f"test accuracy  {100 * result['test_accuracy']:.2f} % of {len(rows.y_test)} rows ({rows.how})"
        )
    typer.echo(f"clauses        {model.n_clauses} for {model.n_classes} classes")
    typer.echo(f"includes       {model.n_includes} ({clf.model_.n_includes} before simplification)")
    typer.echo(
        f"trained        {epochs} epochs in {seconds:.1f} s, the model is that of epoch {clf.best_epoch_}"
    )
    typer.echo(f"written        {out}")
