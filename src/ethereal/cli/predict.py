"""`ethereal predict`: a model on the rows of a file, in memory that does not grow with it."""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TextIO

import typer

from ethereal.base.atomic import STANDARD_OUTPUT, is_standard_output, open_text
from ethereal.base.messages import PrintableStream, progress, say
from ethereal.cli import app
from ethereal.cli.errors import reported
from ethereal.cli.options import ModelFile, Rows, grouped
from ethereal.datasets.options import AnsweredOptions

if TYPE_CHECKING:  # imported where they are used: `ethereal --help` should not pay for numpy
    import numpy as np
    from numpy.typing import NDArray

    from ethereal.datasets.reading import OpenRows
    from ethereal.datasets.tables import Chunk
    from ethereal.model import Model


@app.command()
@grouped
def predict(
    model: ModelFile,
    data: Rows,
    form: AnsweredOptions,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write. Default: standard output.")
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Also the shares of the classes, not calibrated.")
    ] = False,
    sums: Annotated[bool, typer.Option("--sums", help="Also the votes of every class.")] = False,
    missing: Annotated[
        str, typer.Option(help="A value that never was missing in training is: refuse it, or mark the row.")
    ] = "refuse",
    jobs: Annotated[int, typer.Option(help="Threads. -1 is one per core.")] = -1,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object per line instead of CSV.")] = False,
) -> None:
    """Predict the label of every row of a file.

    Columns are found by name when the model knows names, and others are ignored. Without names they are taken
    in order. The result has a line per row with the label, and with --sums and --proba a column per class. Of
    recordings it also has the recording of each window, its first sample and its time there. With --out a
    summary goes to standard error, or as JSON to standard output. Of a data set the test rows are predicted.

    A row that the model refuses ends the command. With --missing mark it gets an empty label instead, and the
    column `missing` names the feature.
    """
    from ethereal.datasets.csv_table import CsvTable
    from ethereal.datasets.files import warn_of_unfinished_line
    from ethereal.datasets.reading import open_rows
    from ethereal.datasets.tables import TableError
    from ethereal.model import Model

    with reported():
        if missing not in ("refuse", "mark"):
            raise ValueError(f"--missing is {missing!r}. It must be refuse or mark.")
        marks = missing == "mark"
        out = None if out is None or is_standard_output(out) else out
        machine = Model.load(model)
        rows = open_rows(data, machine, form)
        table = rows.table
        if out is not None and out.exists() and rows.is_file and out.samefile(data):
            raise TableError(f"--out is {out}, the file that is read")
        if proba and machine.is_number:
            raise ValueError(
                "--proba is for classes, and the answer of this model is a number. Leave it out."
            )
        scorer = Scorer(machine, rows, sums=sums, proba=proba, n_jobs=jobs, marks=marks)
        on_terminal = out is None and sys.stdout.isatty()
        with open_text(STANDARD_OUTPUT if out is None else out) as file:
            stream = PrintableStream(file) if on_terminal else file
            if as_json:
                write = json_writer(machine, stream, table.places)
            else:
                write = csv_writer(machine, stream, sums, proba, marks, table.places)
            with progress(table.path.name, 1.0, quiet=on_terminal) as show:
                for chunk in rows.chunks():
                    write(scorer.score(chunk))
                    show(chunk.share_read, f"{chunk.share_read:.0%}  {scorer.n_rows:,} rows")
        if isinstance(table, CsvTable):
            warn_of_unfinished_line(table)
    _tell(scorer.summary(), out, as_json)


def _tell(summary: dict[str, Any], out: Path | None, as_json: bool) -> None:
    """Say how many rows were predicted, how fast and how well."""
    if out is not None and as_json:
        typer.echo(json.dumps({**summary, "out": str(out)}))
    elif out is not None or summary.get("accuracy", summary.get("mean_absolute_error")) is not None:
        accuracy = "" if summary.get("accuracy") is None else f", accuracy {100 * summary['accuracy']:.2f} %"
        if summary.get("mean_absolute_error") is not None:
            r2 = "" if summary["r2"] is None else f", R2 {summary['r2']:.3f}"
            accuracy = f", mean absolute error {summary['mean_absolute_error']:.4g}{r2}"
        if "unknown" in summary:
            accuracy += f" of the answers, {summary['unknown']:,} rows are unknown"
        rate = (
            f"{summary['rows']} rows in {summary['seconds']:.1f} s, {summary['rows_per_second']:,.0f} rows/s"
        )
        say(f"{rate}{accuracy}", err=True)
    if summary["marked"]:
        say(
            f"{summary['marked']:,} of {summary['rows']:,} rows have no label. "
            "They miss a feature that never was missing in training",
            err=True,
        )


class Scorer:
    """Predicts chunk after chunk and keeps count."""

    def __init__(
        self, model: Model, rows: OpenRows, *, sums: bool, proba: bool, n_jobs: int, marks: bool
    ) -> None:
        self._model, self._rows, self._marks = model, rows, marks
        self._sums, self._proba, self._n_jobs = sums, proba, n_jobs
        self.n_rows = self.n_marked = self._n_labelled = self._n_right = self._n_unknown = 0
        self._errors = Errors()
        self._start = time.perf_counter()

    def score(self, chunk: Chunk) -> Scores:
        """Return labels of a chunk's rows, and votes and shares where they are asked for."""
        import numpy as np

        from ethereal.datasets.files import numbers_from
        from ethereal.datasets.tables import is_missing

        answered: NDArray[np.bool_] = np.ones(len(chunk.X), dtype=bool)
        absent: list[str | None] | None = None
        if self._marks:
            bad = unexpected_missing(self._model, chunk.X)
            answered, first = np.asarray(~bad.any(axis=1)), bad.argmax(axis=1).tolist()
            names = self._model.input_names
            absent = [None if fine else names[f] for fine, f in zip(answered.tolist(), first, strict=True)]
        labels, sums, proba = self._answers(chunk, answered)
        self.n_rows += len(answered)
        self.n_marked += int((~answered).sum())
        if self._model.is_number:
            if chunk.label is not None:
                true = chunk.label[answered]
                there = ~is_missing(true)
                self._errors.add(labels[there], numbers_from(true[there]))
            return Scores(_spread(labels, answered), _spread(sums, answered), None, absent)
        unknown = is_unknown(self._model, labels)
        self._n_unknown += int(unknown.sum())
        if chunk.label is not None:
            there = ~is_missing(chunk.label[answered]) & ~unknown
            self._n_labelled += int(there.sum())
            true = chunk.label[answered][there]
            self._n_right += count_right(labels[there], true) if there.any() else 0
        labels, sums, proba = (_spread(x, answered) for x in (labels, sums, proba))
        return Scores(labels, sums, proba, absent)

    def _answers(self, chunk: Chunk, answered: NDArray[np.bool_]) -> tuple[Any, Any, Any]:
        """Return labels, votes and shares of the rows that the model takes."""
        from ethereal.datasets.tables import TableError

        model, jobs = self._model, self._n_jobs
        X = chunk.X if answered.all() else chunk.X[answered]
        try:
            sums = model.class_sums(X, n_jobs=jobs) if self._sums else None
            if sums is None or model.early:
                labels = model.predict(X, n_jobs=jobs)
            else:
                labels = model.output.answers(sums)
            proba = model.predict_proba(X, n_jobs=jobs).round(6) if self._proba else None
        except ValueError as error:
            why = why_refused(model, self._rows, chunk)
            hint = "" if model.fitted is None else ". Or mark such rows with --missing mark"
            raise TableError(f"{why}{hint}" if why else f"{self._rows.table.path}: {error}") from error
        return labels, sums, proba

    def summary(self) -> dict[str, Any]:
        """Return rows, time, and accuracy where labels were given."""
        seconds = time.perf_counter() - self._start
        told: dict[str, Any] = {"rows": self.n_rows, "marked": self.n_marked, "seconds": seconds}
        told["rows_per_second"] = self.n_rows / seconds
        if self._model.is_number:
            return told | self._errors.summary()
        told["accuracy"] = self._n_right / self._n_labelled if self._n_labelled else None  # of the answers
        return told | ({"unknown": self._n_unknown} if self._model.output.kind == "unknown" else {})


class Errors:
    """Collects how far numbers are from the true ones, in memory that does not grow."""

    def __init__(self) -> None:
        self._n, self._absolute, self._squared, self._mean, self._spread = 0, 0.0, 0.0, 0.0, 0.0

    def add(self, answers: NDArray[Any], true: NDArray[np.float64]) -> None:
        """Take the answers to some rows, and what is true of them."""
        if not len(true):
            return
        errors, n = answers.astype(float) - true, self._n + len(true)
        self._absolute += float(abs(errors).sum())
        self._squared += float((errors**2).sum())
        step = float(true.mean()) - self._mean  # the spread around the mean of all, by Chan's rule
        self._spread += float(((true - true.mean()) ** 2).sum()) + step**2 * self._n * len(true) / n
        self._mean += step * len(true) / n
        self._n = n

    def summary(self) -> dict[str, float | None]:
        """Return the mean absolute error, and the share of the variance that the answers explain."""
        if not self._n:
            return {"mean_absolute_error": None, "r2": None}
        r2 = 1 - self._squared / self._spread if self._spread else None
        return {"mean_absolute_error": self._absolute / self._n, "r2": r2}


class Scores(NamedTuple):
    """Answers to the rows of a chunk, None in rows that are marked."""

    labels: NDArray[Any]
    votes: NDArray[Any] | None
    shares: NDArray[Any] | None
    absent: list[str | None] | None  # the feature for which a row is marked


def _spread(values: NDArray[Any] | None, answered: NDArray[np.bool_]) -> Any:
    """Return values for all rows, None in those that have no answer."""
    import numpy as np

    if values is None or answered.all():
        return values
    spread = np.full((len(answered), *values.shape[1:]), None, dtype=object)
    spread[answered] = values
    return spread


def unexpected_missing(model: Model, X: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where a value is missing that the model refuses to miss, rows x features."""
    import numpy as np

    if model.fitted is None or X.ndim == 3:  # samples of windows are always there
        return np.zeros((len(X), X.shape[-1]), dtype=bool)
    accepts = [model.feature_map.accepts_missing(f) for f in range(model.n_features)]
    return np.asarray(np.isnan(X) & ~np.array(accepts, dtype=bool))


def why_refused(model: Model, rows: OpenRows, chunk: Chunk) -> str | None:
    """Return the place of the first value that the model does not take."""
    import numpy as np

    table = rows.table
    if model.fitted is None:
        bad = (chunk.X != 0) & (chunk.X != 1)
        why = "{}; the model has no Booleanizer, so it takes 0 and 1"
    else:
        bad = unexpected_missing(model, chunk.X)
        why = "missing, but never was in training. Fill it, or train on rows that miss it too"
    if not bad.any():
        return None
    row, column = np.argwhere(bad)[0].tolist()
    name = model.input_names[column] if table.names is None else table.names[rows.features[column]]
    place = table.place(chunk.first_row + row)
    return f"{table.path}, {place}: column {name!r} is {why.format(chunk.X[row, column])}"


def csv_writer(
    model: Model,
    stream: TextIO | PrintableStream,
    sums: bool,
    proba: bool,
    marks: bool,
    places: Mapping[str, Sequence[Any]],
) -> Callable[[Scores], None]:
    """Write a header and return what writes a chunk's lines."""
    writer = csv.writer(stream, lineterminator="\n")
    labels = model.output.columns
    writer.writerow(
        ["prediction", *places]
        + [f"sum:{label}" for label in labels if sums]
        + [f"proba:{label}" for label in labels if proba]
        + ["missing"] * marks
    )

    def write(scores: Scores) -> None:
        columns: list[Iterable[Any]] = [_plain(scores.labels), *places.values()]
        columns += [] if scores.votes is None else scores.votes.T.tolist()
        columns += [] if scores.shares is None else scores.shares.T.tolist()
        columns += [] if scores.absent is None else [scores.absent]
        writer.writerows(zip(*columns, strict=True))

    return write


def json_writer(
    model: Model, stream: TextIO | PrintableStream, places: Mapping[str, Sequence[Any]]
) -> Callable[[Scores], None]:
    """Return what writes a chunk's rows as one JSON object each."""
    keys = model.output.columns

    def write(scores: Scores) -> None:
        columns = {"prediction": _plain(scores.labels), **places}
        records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        for name, values in (("sums", scores.votes), ("proba", scores.shares)):
            if values is not None:
                for record, row in zip(records, values.tolist(), strict=True):
                    record[name] = dict(zip(keys, row, strict=True))
        for record, feature in zip(records, scores.absent or (), strict=False):
            if feature is not None:
                record["missing"] = feature
        stream.write("".join(json.dumps(record) + "\n" for record in records))

    return write


def _plain(labels: NDArray[Any]) -> list[Any]:
    """Return answers as texts hold them: of a float32 only the digits that tell it from others."""
    values = list(labels)
    is_single = any(type(value).__name__ == "float32" for value in values)
    if not is_single:
        return list(labels.tolist())
    return [None if value is None else float(str(value)) for value in values]


def is_unknown(model: Model, labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which of the labels that a model gave stand for "unknown"."""
    import numpy as np

    return ~np.isin(labels, model.classes)


def count_right(predicted: NDArray[Any], labels: NDArray[Any]) -> int:
    """Return how many predictions are the true labels, which a file may have in another type."""
    from ethereal.datasets.files import labels_from

    labels = labels_from(labels)
    if "U" in (predicted.dtype.kind, labels.dtype.kind):  # the label 1 of a file may be "1" in the model
        predicted, labels = predicted.astype(str), labels.astype(str)
    return int((predicted == labels).sum())
