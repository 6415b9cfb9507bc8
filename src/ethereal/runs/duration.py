"""How long a run will take, from a short trial of its training and from the sizes of the table.

The time is only shown. No result depends on it, so that a slow machine makes the same model as a fast one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ethereal.base.checks import duration_text
from ethereal.compress.curve import clauses_in_full, rows_looked_at
from ethereal.datasets.rows import Rows
from ethereal.runs.pipeline import Plan
from ethereal.runs.sample import MOST_ROWS_OF_SPLIT, sampled
from ethereal.train.classifier import usual_epochs

_MANY_CELLS = 4_000_000  # rows times features times epochs. With fewer a run is over in a few seconds.
_TRIAL_ROWS, _TRIAL_EPOCHS = 1000, 4
_ROWS_OF_SPLITS, _MOST_SPLITS = 5000, 5  # a table of so many rows is split once
_OF_MACHINE, _OF_ROWS = 0.7, 0.8  # the share of `fit` without noise clauses, and of rows not held out
# Seconds of training per row, clause and literal, and of a descent per row and clause, on the machine of
# lab/notes/performance.md. A trial says how many times slower this machine is.
_LITERAL, _CLAUSE = 2e-11, 6e-7
_BOARD = 20.0  # seconds of compilers and emulators, whatever the rows


@dataclass(frozen=True)
class Trial:
    """What a few epochs on a few rows say."""

    seconds_per_row: float  # of an epoch, noise clauses included
    n_clauses: int  # of all classes
    n_classes: int
    slowness: float  # times the machine of lab/notes/performance.md


@dataclass(frozen=True)
class Duration:
    """Expected seconds of a run's stages on this machine."""

    learn: float
    prune: float
    board: float = _BOARD

    @staticmethod
    def of(trial: Trial, n_rows: int, n_features: int, epochs: int, n_descents: int = 1) -> Duration:
        """Return what follows from a trial, the sizes of the table, and how many ways are pruned.

        >>> expected = Duration.of(Trial(7e-6, 1800, 3, 1.0), 160_000, 5, 40)
        >>> round(expected.learn), round(expected.prune)
        (45, 52)
        """
        learn = trial.seconds_per_row * n_rows * epochs
        n_splits = min(_MOST_SPLITS, max(1, round(_ROWS_OF_SPLITS / n_rows)))
        looked_at = rows_looked_at(n_rows, n_features)
        n_clauses = clauses_in_full(trial.n_clauses, looked_at, trial.n_classes)
        descent = _CLAUSE * trial.slowness * n_clauses * looked_at
        share = min(_OF_ROWS, MOST_ROWS_OF_SPLIT / n_rows)
        prune = n_splits * _OF_MACHINE * share * learn + (n_splits + 1) / 2 * n_descents * descent
        return Duration(learn, prune)

    def __str__(self) -> str:
        """Return the time in words."""
        parts = ", ".join(f"{name} {duration_text(seconds)}" for name, seconds in vars(self).items())
        return f"about {duration_text(sum(vars(self).values()))} ({parts})"


def expected(rows: Rows, plan: Plan, n_all: int) -> list[str]:
    """Return lines that tell how long a run will take, and how long with all rows if it takes a part."""
    n_rows, n_features, epochs = len(rows.y_train), rows.X[0].size, plan.plain().epochs
    epochs = usual_epochs(len(np.unique(rows.y_train))) if epochs is None else epochs
    if n_rows * n_features * epochs < _MANY_CELLS:
        return []
    trial = _trial(rows, plan)
    rest = n_features, epochs, sum(not way.leaves for way in plan.ways)
    lines = [f"time: {Duration.of(trial, n_rows, *rest)}"]
    if n_rows < n_all:
        whole = Duration.of(trial, n_all, *rest)
        lines.insert(0, f"rows: learns from {n_rows:,} of {n_all:,} rows. all_rows=True takes all: {whole}")
    return lines


def _trial(rows: Rows, plan: Plan) -> Trial:
    some = sampled(rows, plan.training.seed, _TRIAL_ROWS, least_of_class=2)
    clf = plan.plain().set_params(epochs=_TRIAL_EPOCHS)
    clf.fit(some.X_train, some.y_train, categories=rows.categories)
    seconds = sum(record["seconds"] for record in clf.history_[1:])  # the first one warms caches
    per_row = float(seconds) / (_TRIAL_EPOCHS - 1) / len(some.y_train) / _OF_MACHINE
    usual = _LITERAL * clf.n_clauses * 2 * clf.plain_model_.n_booleans
    n_classes = len(clf.classes_)
    return Trial(per_row, clf.n_clauses * n_classes, n_classes, per_row / usual)
