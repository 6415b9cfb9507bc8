"""The figures of a run as files: for a paper or a slide, where the page does not help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ethereal.base.plotting import DARK, LIGHT, new_figure, style
from ethereal.features.matrices import class_codes
from ethereal.runs.report.page import SUPPORTS, confusion_counts

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from ethereal.runs.report.page import Report

_LINES = {"ETHEREAL": (DARK, "-", "s"), "vanilla": (LIGHT, "--", "o")}  # different in grey, too
_MOST_CELLS = 15  # classes up to which a confusion matrix has numbers in it


def training(history: Mapping[str, Sequence[Mapping[str, Any]]], chosen: Mapping[str, int | None]) -> Figure:
    """Draw validation accuracy and includes per clause over the epochs, and mark the kept epoch."""
    with style():
        figure = new_figure(7.0, 4.8)
        above, below = figure.subplots(2, 1, sharex=True)
        for name, records in history.items():
            colour, line, mark = _LINES[name]
            epochs = [r for r in records if r["phase"] == "train"]
            if epochs and epochs[0]["validation_accuracy"] is not None:
                x = [r["epoch"] for r in epochs]
                y = [100 * r["validation_accuracy"] for r in epochs]
                above.plot(x, y, line, color=colour, label=name)
                if chosen[name] in x:
                    above.plot(chosen[name], y[x.index(chosen[name])], mark, color=colour)
            x = [r["epoch"] for r in records]
            below.plot(x, [r["includes_per_clause"] for r in records], line, color=colour, label=name)
        above.set_ylabel("validation accuracy [%]")
        below.set_ylabel("includes per clause")
        below.set_xlabel("epoch")
        below.set_ylim(bottom=0)
        below.legend()
        figure.suptitle("Training, with a mark at the epoch that was kept")
    return figure


def against(
    series: Mapping[str, Sequence[tuple[float, float]]], cost: str, this: tuple[float, float] | None = None,
    score: str = "accuracy",
) -> Figure:  # fmt: skip
    """Draw accuracy or R2 on test rows against what models take, a line for each kind of model.

    A ring marks the model of the run.
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    with style():
        figure = new_figure(7.0, 4.0)
        axes = figure.subplots()
        for (name, points), mark in zip(series.items(), "osD^v<>Pph*X", strict=False):
            axes.plot(*zip(*points, strict=True), marker=mark, ms=5, label=name)
        if this is not None:
            axes.plot(*this, "o", ms=11, mfc="none", mec="black", mew=1.5, label="this model")
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel(cost)
        axes.set_ylabel("accuracy on test rows [%]" if score == "accuracy" else f"{score} on test rows")
        axes.legend(fontsize=8)
        figure.suptitle(f"{score[0].upper()}{score[1:]} against {cost}")
    return figure


def confusion(counts: Sequence[Sequence[int]], labels: Sequence[object]) -> Figure:
    """Draw test rows by true and predicted class, shaded by the share of the true class."""
    table = np.asarray(counts, dtype=float)
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    n = len(table)
    side = min(3.0 + 0.35 * n, 9.0)
    with style(**{"axes.grid": False}):
        figure = new_figure(side + 1, side)
        axes = figure.subplots()
        picture = axes.imshow(shares, cmap="Greys", vmin=0, vmax=1)
        for i, j in np.argwhere(table) if n <= _MOST_CELLS else ():
            shade = "white" if shares[i, j] > 0.5 else "black"
            axes.text(j, i, f"{table[i, j]:.0f}", ha="center", va="center", color=shade, fontsize=7)
        names = [str(label)[:20].replace("$", r"\$") for label in labels]  # no formulas
        answers = [*names, "unknown"][: table.shape[1]]
        axes.set_xticks(range(table.shape[1]), answers, rotation=90, fontsize=7)
        axes.set_yticks(range(n), names, fontsize=7)
        axes.set_xlabel("predicted")
        axes.set_ylabel("true")
        figure.colorbar(picture, ax=axes, shrink=0.8).set_label("share of the true class")
        figure.suptitle("Where it errs: test rows")
    return figure


def of_report(report: Report) -> Iterator[tuple[str, Figure]]:
    """Yield all plots of a run with their file names."""
    SUPPORTS.check(report.model.needs)
    if report.model.is_number:
        yield "errors", errors(report.y_test, report.model.predict(report.X_test))
    else:
        yield "confusion", _confusion_of(report)
    if report.history:
        yield "training", training(report.history, report.chosen)
    score = "R2" if report.model.is_number else "accuracy"
    if any(report.sizes.values()):
        yield "size", against(report.sizes, report.sizes_are, report.this.get("sizes"), score)
    if any(report.speeds.values()):
        yield (
            "speed",
            against(report.speeds, "instructions of an average row", report.this.get("speeds"), score),
        )


def _confusion_of(report: Report) -> Figure:
    predicted = report.model.output.codes(report.model.class_sums(report.X_test))
    codes = class_codes(report.y_test, report.model.classes)
    counts = confusion_counts(codes, predicted, report.model.n_classes, report.model.output.n_answers)
    return confusion(counts, report.model.classes.tolist())


def errors(true: NDArray[Any], predicted: NDArray[Any]) -> Figure:
    """Draw predicted numbers against true ones, and a line where both are equal."""
    with style():
        figure = new_figure(5.0, 4.6)
        axes = figure.subplots()
        ends = [min(true.min(), predicted.min()), max(true.max(), predicted.max())]
        axes.plot(true, predicted, ".", color=DARK, ms=4, alpha=0.6)
        axes.plot(ends, ends, color=LIGHT)
        axes.set_xlabel("true")
        axes.set_ylabel("predicted")
        figure.suptitle("Predicted against true: test rows")
    return figure
