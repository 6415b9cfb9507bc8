"""From a trained model and its measurements to the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.export.page.payload import (
    answered_rows,
    model_record,
    number_of,
    page_of,
    shared,
    start_of,
)
from ethereal.features.matrices import class_codes
from ethereal.model import Model
from ethereal.model.needs import AND_LINES, WINDOWS, Supports
from ethereal.model.rules import ConditionWriter
from ethereal.runs.report.number import errors_of

# What the page may hold of the test rows: enough to look at, little enough to open at once.
_RANKED = 12  # literals per class
SUPPORTS = Supports("the page", front_ends=WINDOWS, outputs=AND_LINES)  # of which it shows the features


@dataclass(frozen=True)
class Report:
    """What a page shows.

    `model` is the one that runs in the page. `table` is the table of results: columns, rows and notes.
    `sizes` has points of bytes, or of what `sizes_are`, and accuracy in per cent for each kind of model, and
    `speeds` points of instructions and accuracy. `this` has the point of the model itself in each of them.
    `snippets` has pairs of title and code. `facts` stand at the foot, and `command` tells which command made
    the page and when.
    `search` has the table of a search with note, columns and rows. `unknown` has a note and a curve of
    margin, accuracy of the answers and share answered. `kernels`, `people` and `teaching` are tables with
    note, columns and rows. `windows` has samples of the test rows.

    The paper's machines fill the rest. `headline` has cards: label, value, and (name, value) of the others.
    `device` is the table of measurements with note, columns and rows. `history` has one list of records per
    machine, `chosen` the epoch of each that was kept.
    """

    title: str
    subtitle: str
    model: Model
    X_test: NDArray[Any]  # rows x raw features
    y_test: NDArray[Any]  # labels
    command: str = ""
    table: Mapping[str, Any] | None = None
    sizes: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    sizes_are: str = "bytes of flash"
    speeds: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    this: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    search: Mapping[str, Any] | None = None
    unknown: Mapping[str, Any] | None = None
    kernels: Mapping[str, Any] | None = None
    people: Mapping[str, Any] | None = None
    teaching: Mapping[str, Any] | None = None
    windows: Mapping[str, Any] | None = None
    headline: Sequence[tuple[str, str, Sequence[tuple[str, str]]]] = ()
    history: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    chosen: Mapping[str, int] = field(default_factory=dict)
    device: Mapping[str, Any] | None = None
    snippets: Sequence[tuple[str, str]] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    image_shape: tuple[int, int] | None = None  # height, width
    rows_are: str = "test"  # what the rows in the page are called


def render(report: Report) -> str:
    """Return the page as one HTML text.

    >>> model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["<b>", "no"])
    >>> page = render(Report("t", "", model, np.array([[1, 0]]), np.array(["<b>"])))
    >>> "<b>" in page, page.startswith("<!doctype html>")
    (False, True)
    """
    SUPPORTS.check(report.model.needs)
    folder = files("ethereal.runs.report")
    html, charts, errors, page = (folder.joinpath(name).read_text(encoding="utf-8") for name in _PARTS)
    html = html.replace("{{kind}}", _KINDS[report.model.kind])
    scripts = "\n".join([shared("live.js"), charts, errors, shared("inputs.js"), page])
    return page_of(html, shared("page.css"), scripts, _payload(report))


_KINDS = {
    "Tsetlin machine": "<dt>Tsetlin machine</dt><dd>The kind of model. It learns rules, and the rules vote "
    "for classes and against them.</dd>",
    "tree ensemble": "<dt>Tree ensemble</dt><dd>What the rules come from. The way to each leaf of a tree is "
    "a rule, and the rules vote for classes and against them.</dd>",
}
_PARTS = ("page.html", "charts.js", "number.js", "page.js")


def _payload(report: Report) -> dict[str, Any]:
    model = report.model
    X = np.asarray(report.X_test)
    y: NDArray[Any]
    counts: list[list[int]] | None = None
    errors: dict[str, Any] | None = None
    if model.is_number:
        errors = errors_of(model, X, np.asarray(report.y_test))
        y, predicted = np.asarray(report.y_test, dtype=np.float64), model.predict(X)
    else:
        y, predicted = class_codes(report.y_test, model.classes), model.output.codes(model.class_sums(X))
        counts = confusion_counts(y, predicted, model.n_classes, model.output.n_answers)
    return {name: getattr(report, name) for name in _AS_THEY_ARE} | {
        "headline": [{"label": a, "value": b, "others": list(c)} for a, b, c in report.headline],
        "history": {
            name: [{k: r[k] for k in _HISTORY} for r in records] for name, records in report.history.items()
        },
        "chosen": dict(report.chosen),
        "sizes": _series(report.sizes),
        "speeds": _series(report.speeds),
        "this": {name: list(map(float, point)) for name, point in report.this.items()},
        "errors": errors,
        "confusion": None if counts is None else {"counts": counts},
        "heat": _heat(model) if report.image_shape else None,
        "ranked": None if report.image_shape else _ranked(model),
        "model": model_record(model, X),
        "start_is": "the middle values of all features",
        "start": [number_of(v) for v in start_of(model, X, drawn=report.image_shape is not None)],
        "rows": answered_rows(X, y, predicted, is_number=model.is_number),
        "snippets": [{"title": a, "code": b} for a, b in report.snippets],
        "facts": dict(report.facts),
    }


def _series(of_kind: Mapping[str, Sequence[tuple[float, float]]]) -> list[dict[str, Any]]:
    return [
        {"name": name, "points": [[float(x), float(y)] for x, y in points]}
        for name, points in of_kind.items()
    ]


_AS_THEY_ARE = ("title", "subtitle", "command", "table", "search", "rows_are", "unknown", "kernels", "people",
                "teaching", "windows", "image_shape", "device", "sizes_are")  # fmt: skip
_HISTORY = ("epoch", "phase", "includes_per_clause", "validation_accuracy")


def confusion_counts(
    y: NDArray[np.int64], predicted: NDArray[np.int64], n_classes: int, n_answers: int
) -> list[list[int]]:
    """Count rows by true class and by answer.

    >>> confusion_counts(np.array([0, 1, 1]), np.array([0, 0, 1]), 2, 2)
    [[1, 0], [1, 1]]
    """
    counts = np.zeros((n_classes, n_answers), dtype=int)
    np.add.at(counts, (y[y >= 0], predicted[y >= 0]), 1)
    rows: list[list[int]] = counts.tolist()
    return rows


def _heat(model: Model) -> list[list[list[list[int]]]]:
    """Class x (for, against) x (asks for more, asks for less) x feature: clauses that ask it of a pixel."""
    counts = model.literal_counts()  # class x polarity x literal
    feature_map = model.feature_map
    maps: NDArray[np.int64] = np.zeros((len(counts), 2, 2, feature_map.n_features), dtype=np.int64)
    for negated in (0, 1):
        part = counts[:, :, negated * model.n_booleans : (negated + 1) * model.n_booleans]
        for b, f in enumerate(feature_map.feature):
            maps[:, :, negated, f] += part[:, :, b]
    result: list[list[list[list[int]]]] = maps.tolist()
    return result


def _ranked(model: Model) -> list[list[tuple[str, int, str]]]:
    """Class -> conditions that most of its rules have, how many have it, and on which side they vote."""
    writer, ranked = ConditionWriter(model), list[list[tuple[str, int, str]]]()
    for polarities in model.literal_counts():
        order = np.argsort(-polarities.max(axis=0), kind="stable")[:_RANKED]
        ranked.append([])
        for k in (k for k in order if polarities[:, k].any()):
            side = "for" if polarities[0, k] >= polarities[1, k] else "against"
            text = next(writer.conditions([int(k)])).text
            ranked[-1].append((text, int(polarities[:, k].max()), side))
    return ranked
