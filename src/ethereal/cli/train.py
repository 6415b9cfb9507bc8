"""`ethereal train`: a model from a data set or a table."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ethereal.base.atomic import is_standard_output
from ethereal.base.messages import say
from ethereal.cli import app
from ethereal.cli.errors import reported
from ethereal.cli.options import AsJson, Data, grouped, is_quiet
from ethereal.cli.output import beside, check_out
from ethereal.datasets.options import SourceOptions, SplitOptions
from ethereal.train.options import TrainOptions, UnknownOptions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ethereal.datasets.rows import Rows
    from ethereal.model import Model
    from ethereal.train.classifier import EtherealClassifier


@app.command()
@grouped
def train(
    data: Data,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Model file to write, for example m.etm, or - for standard output."),
    ],
    table: SourceOptions,
    training: TrainOptions,
    parts: SplitOptions,
    doubt: UnknownOptions,
    simplify: Annotated[
        bool, typer.Option("--simplify/--no-simplify", help="Simplify the model, which changes no answer.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Train on DATA and write the model.

    DATA may be recordings: a folder per class, wav files, or a table with a row per sample, with --window.

    Test rows are used once, at the end, to tell the accuracy. They are the data's own where it has a split,
    else a share of the rows. The same command continues a training that was killed.
    """
    with reported():
        from ethereal.datasets.reading import read
        from ethereal.datasets.rows import columns_named, split
        from ethereal.train.checkpoint import fit_or_go_on, until_done

        rows = split(read(data, table), parts.test, training.seed)
        if rows.is_number:
            doubt.refuse_numbers()
            _train_number(rows, training, out, simplify, as_json, _pruning(data, table.label, out))
            return
        verbose = 0 if is_quiet(as_json) else 1
        clf = training.meeting(rows.X, rows.y).classifier(verbose).set_params(front_end=rows.front_end)
        check_out(out, as_json)
        with beside(out, ".checkpoint") as place, until_done(place) as kept:
            if kept.exists():
                say(
                    "note: A training was interrupted here. With the same rows and options it continues.",
                    err=True,
                )
            with columns_named(rows.feature_names):
                fit_or_go_on(clf, rows.X_train, rows.y_train, kept, categories=rows.categories)
            if doubt.wanted is not None:
                wanted: dict[str, Any] = {"categories": rows.categories, **doubt.wanted}
                clf.calibrate_unknown(rows.X_train, rows.y_train, rows.groups_train, **wanted)
            model = clf.model_.with_feature_names(rows.feature_names)
            if simplify:
                model = model.simplify()
            if doubt.novelty:
                model = model.with_seen(rows.X_train, rows.y_train, rows.groups_train)
            model.save(out)
        right = model.predict(rows.X_test) == rows.y_test
        answered = model.output.codes(model.class_sums(rows.X_test)) < model.n_classes
    if (remark := _gap(clf, rows, right)) is not None:
        say(f"warning: {remark}", err=True)
    result = {"model": str(out), **_result(clf, model, rows, right)}
    if doubt.wanted is not None:
        result["calibration"] = clf.calibration_.as_dict()
        result["test_answered"] = float(answered.mean()) if len(right) else None
        result["test_accuracy"] = float(right[answered].mean()) if answered.any() else None
    if as_json:
        typer.echo(json.dumps({**result, "history": clf.history_}))
    else:
        _show(result, _pruning(data, table.label, out), partial(say, err=is_standard_output(out)))


def _train_number(
    rows: Rows, training: TrainOptions, out: Path, simplify: bool, as_json: bool, prune: str
) -> None:
    """Train a model whose answer is a number, write it, and tell how it does on the test rows."""
    from time import perf_counter

    from ethereal.datasets.rows import columns_named
    from ethereal.model import Number
    from ethereal.runs.numbers import scores

    reg = training.meeting(rows.X, rows.strata).regressor()
    check_out(out, as_json)
    begin = perf_counter()
    with columns_named(rows.feature_names):
        reg.fit(rows.X_train, rows.y_train, categories=rows.categories)
    model = reg.model_.with_feature_names(rows.feature_names).with_number(name=rows.label)
    model = model.simplify() if simplify else model
    model.save(out)
    number = model.output
    assert isinstance(number, Number)
    result: dict[str, Any] = {
        "model": str(out),
        "number": number.as_dict(),
        "test_r2": None,
        "test_mean_absolute_error": None,
        "test_rows": len(rows.y_test),
        "train_rows": len(rows.y_train),
        "split": rows.how,
        "clauses": model.n_clauses,
        "includes": model.n_includes,
        "seconds": perf_counter() - begin,
    }
    if len(rows.y_test):
        answers = model.ignoring_missing().predict(rows.X_test)
        scored = scores(model, answers, rows.y_test, rows.groups_test)
        assert scored.errors is not None
        result |= {"test_r2": scored.accuracy, "test_mean_absolute_error": scored.errors.mean}
        result |= {"test_within_half_width": scored.errors.inside}
    if as_json:
        typer.echo(json.dumps(result))
        return
    tell = partial(say, err=is_standard_output(out))
    name = f"{rows.label!r} is" if rows.label else "the labels are"
    tell(f"number         {name} learned as a number. --task class learns classes")
    if result["test_r2"] is not None:
        of = f"{result['test_rows']} rows ({rows.how})"
        tell(f"test R2        {result['test_r2']:.3f} of {of}")
        tell(f"mean error     {number.text(result['test_mean_absolute_error'])}")
        inside = f"which hold {100 * result['test_within_half_width']:.1f} % of them"
        tell(f"90 % within    ± {number.text(number.half_width or 0.0)}, {inside}")
    tell(f"clauses        {model.n_clauses}")
    tell(f"includes       {model.n_includes}")
    tell(f"trained        in {result['seconds']:.1f} s")
    tell(f"written        {out}")
    if str(out) != "-":
        tell(f"for a board    {prune}")


def _result(clf: EtherealClassifier, model: Model, rows: Rows, right: NDArray[Any]) -> dict[str, Any]:
    """Return the figures of a training."""
    return {
        "test_accuracy": float(right.mean()) if len(right) else None,
        "test_rows": len(right),
        "train_rows": len(rows.y) - len(right),
        "split": rows.how,
        "classes": model.n_classes,
        "clauses": model.n_clauses,
        "includes": model.n_includes,
        "includes_before_simplify": clf.model_.n_includes,
        "seconds": sum(r["seconds"] for r in clf.history_),
        "epochs": clf.model_.provenance["epochs"],
        "best_epoch": clf.best_epoch_,
    }


def _gap(clf: EtherealClassifier, rows: Rows, right: NDArray[Any]) -> str | None:
    """Return a remark where the test rows are answered far worse or better than those held out."""
    from ethereal.runs.scores import gap_remark

    best = next((r for r in clf.history_ if r["epoch"] == clf.best_epoch_), {})
    held_out = best.get("validation_accuracy")
    if held_out is None or not len(right):
        return None
    n_held_out = round(clf.validation_fraction * len(rows.y_train))
    is_windows = rows.front_end is not None
    return gap_remark(held_out, n_held_out, float(right.mean()), len(right), is_windows=is_windows)


def _pruning(data: str, label: str | None, out: Path) -> str:
    """Return the command that makes the model small.

    >>> _pruning("my readings.csv", "activity", Path("m.etm"))
    "ethereal prune m.etm 'my readings.csv' --label activity -o m-small.etm"
    """
    words = ["ethereal", "prune", str(out), data, *(() if label is None else ("--label", label))]
    return shlex.join([*words, "-o", str(out.with_name(f"{out.stem}-small{out.suffix}"))])


def _show(result: dict[str, Any], prune: str, say: Callable[[str], None]) -> None:
    if result["test_accuracy"] is not None:
        accuracy = f"{100 * result['test_accuracy']:.2f} %"
        of = f"{result['test_rows']} rows"
        if "test_answered" in result:
            of = f"the answers. {100 * result['test_answered']:.1f} % of {of} are answered"
        say(f"test accuracy  {accuracy} of {of} ({result['split']})")
    if "calibration" in result:
        calibration = result["calibration"]
        say(f"unknown        when the first class leads by fewer than {calibration['margin']} votes")
    say(f"clauses        {result['clauses']} for {result['classes']} classes")
    before = result["includes_before_simplify"]
    say(f"includes       {result['includes']} ({before} before simplification)")
    which = f"the model is that of epoch {result['best_epoch']}"
    say(f"trained        {result['epochs']} epochs in {result['seconds']:.1f} s, {which}")
    say(f"written        {result['model']}")
    if result["model"] != "-":
        say(f"for a board    {prune}")
