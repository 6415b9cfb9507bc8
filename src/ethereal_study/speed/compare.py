"""Run the baselines in turn, again and again, and put the best of each beside the others."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from ethereal.base.messages import table_of
from ethereal_study.speed import protocol
from ethereal_study.speed.protocol import ETHEREAL, Entry
from ethereal_study.speed.sets import ShapedRows

Report = Callable[[str], None]


@dataclass(frozen=True)
class Result:
    """The best of several runs of one entry on one set."""

    entry: Entry
    answers: tuple[protocol.Answer, ...]
    n_rows: int

    @property
    def epoch_seconds(self) -> list[float]:
        """Per epoch the shortest time over the runs: each run does the same work, the rest is noise."""
        return np.min([answer.seconds for answer in self.answers], axis=0).tolist()  # type: ignore[no-any-return]

    @property
    def rows_per_second(self) -> float:
        """Training rows per second over all epochs."""
        seconds = self.epoch_seconds
        return self.n_rows * len(seconds) / sum(seconds)

    @property
    def predict_rows_per_second(self) -> float:
        """Predicted rows per second, the best of the runs."""
        return max(answer.predict_rows_per_second or 0.0 for answer in self.answers)

    @property
    def accuracy(self) -> float | None:
        """Accuracy on the test rows after the last epoch, where it was asked for."""
        last = self.answers[-1]
        return last.accuracy[-1] if last.predict_accuracy is None else last.predict_accuracy

    @property
    def peak_bytes(self) -> int:
        """Peak resident memory of the process through training, the least of the runs."""
        return min(answer.peak_bytes for answer in self.answers)

    def as_dict(self) -> dict[str, Any]:
        """Return everything measured, for JSON."""
        last = self.answers[-1]
        return {
            "name": self.entry.baseline.name,
            "library": last.library,
            "version": last.version,
            "threads": self.entry.threads,
            "runs": len(self.answers),
            "epoch_seconds": self.epoch_seconds,
            "rows_per_second": self.rows_per_second if self.epoch_seconds else None,
            "epoch_accuracy": last.accuracy,
            "accuracy": self.accuracy,
            "includes_per_clause": last.includes_per_clause,
            "predict_rows_per_second": self.predict_rows_per_second or None,
            "start_bytes": last.start_bytes,
            "peak_bytes": self.peak_bytes,
            "cores_used": last.cores_used,
        }


@dataclass(frozen=True)
class Comparison:
    """All results on one set, ethereal on one thread first, and who failed and why."""

    rows: ShapedRows
    n_clauses: int
    epochs: int
    results: tuple[Result, ...]
    failures: dict[str, str]

    def as_dict(self) -> dict[str, Any]:
        """Return everything measured, for JSON."""
        shape = self.rows.shape
        return {
            "set": shape.name,
            "real": self.rows.real,
            "train_rows": len(self.rows.X_train),
            "test_rows": len(self.rows.X_test),
            "n_booleans": self.rows.n_booleans,
            "n_classes": self.rows.n_classes,
            "n_clauses": self.n_clauses,
            "T": shape.settings.T,
            "s": shape.settings.s,
            "epochs": self.epochs,
            "results": [result.as_dict() for result in self.results],
            "failures": self.failures,
        }


def compare(
    rows: ShapedRows,
    entries: Sequence[Entry],
    *,
    epochs: int,
    repeats: int,
    seed: int = 0,
    n_clauses: int | None = None,
    evaluate: bool = True,
    predict_rows: int = 0,
    report: Report = lambda message: None,
) -> Comparison:
    """Measure every entry `repeats` times, one after the other in every round so that all share the noise."""
    answers: dict[Entry, list[protocol.Answer]] = {entry: [] for entry in entries}
    failures: dict[str, str] = {}
    n_clauses = rows.shape.settings.n_clauses if n_clauses is None else n_clauses
    with tempfile.TemporaryDirectory(prefix="ethereal-benchmark-") as folder:
        data = Path(folder) / "rows.npz"
        rows.save(data)
        for repeat in range(repeats):
            for entry in entries:
                name = entry.baseline.name
                if name in failures:
                    continue
                report(f"{rows.shape.name}: {name}, {entry.threads} thread(s), run {repeat + 1} of {repeats}")
                request = rows.request(
                    data,
                    n_clauses=n_clauses,
                    epochs=epochs,
                    seed=seed,
                    threads=entry.threads,
                    evaluate=evaluate,
                    predict_rows=min(predict_rows, entry.baseline.max_predict_rows or predict_rows),
                )
                try:
                    who = entry.baseline
                    answer = protocol.run(who.python, who.adapter, request, trains_epochs=who.trains_epochs)
                except protocol.RunnerError as error:
                    failures[name] = str(error)
                else:
                    answers[entry].append(answer)
    results = tuple(
        Result(entry, tuple(got), len(rows.X_train))
        for entry, got in answers.items()
        if got and entry.baseline.name not in failures
    )
    return Comparison(rows, n_clauses, epochs, results, failures)


def train_table(comparison: Comparison) -> Table:
    """Training: rows/s, beside ethereal on one thread, accuracy, includes per clause, memory."""
    more: dict[str, Callable[[Result], str]] = {
        "includes": lambda r: f"{r.answers[-1].includes_per_clause[-1]:.2f}",
        "peak MB": lambda r: f"{r.peak_bytes / 1e6:,.0f}" if r.peak_bytes else "",  # unknown off Linux
    }
    what = f"training, {comparison.epochs} epochs"
    return _table(comparison, what, lambda r: r.rows_per_second, more)


def predict_table(comparison: Comparison) -> Table:
    """Prediction from Boolean rows: rows/s, beside ethereal on one thread, accuracy."""
    what = f"prediction after {comparison.epochs} epochs"
    return _table(comparison, what, lambda r: r.predict_rows_per_second, {})


def _table(
    comparison: Comparison,
    what: str,
    speed: Callable[[Result], float],
    more: dict[str, Callable[[Result], str]],
) -> Table:
    columns: dict[str, Callable[[Result], str]] = {
        "library": lambda r: f"{r.answers[-1].library} {r.answers[-1].version}",
        "threads": lambda r: str(r.entry.threads),
        "rows/s": lambda r: f"{speed(r):,.0f}",
        "than ethereal": lambda r: _ratio(comparison, r, speed),
        "accuracy %": lambda r: "" if r.accuracy is None else f"{100 * r.accuracy:.2f}",
        **more,
    }
    rows = [tuple(text(result) for text in columns.values()) for result in comparison.results]
    return table_of(_title(comparison, what), tuple(columns), rows)


def _title(comparison: Comparison, what: str) -> str:
    rows, shape = comparison.rows, comparison.rows.shape
    return (
        f"{shape.name} ({'real' if rows.real else 'synthetic'} rows): {what}; "
        f"{len(rows.X_train):,} x {rows.n_booleans} Booleans, {rows.n_classes} classes, "
        f"{comparison.n_clauses} clauses per class, T {shape.settings.T}, s {shape.settings.s:g}"
    )


def _ratio(comparison: Comparison, result: Result, speed: Callable[[Result], float]) -> str:
    """How many times slower or faster than ethereal, in its first entry."""
    base = next((r for r in comparison.results if r.entry.baseline.name == ETHEREAL), None)
    if base is None or result is base:
        return ""
    slower = speed(base) / speed(result)
    return f"{slower:.1f} x slower" if slower >= 1 else f"{1 / slower:.2f} x faster"
