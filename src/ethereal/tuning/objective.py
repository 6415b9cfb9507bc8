"""Trials and the model for use: a trial trains a setup on every fold and prunes it to the budget.

Both are pure functions of their arguments, so that they may run anywhere, and again if a worker died.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base import splits
from ethereal.model import Model
from ethereal.tuning.budget import Budget
from ethereal.tuning.choice import PrunedModel, within
from ethereal.tuning.footprint import Footprint, estimate, usable
from ethereal.tuning.frontiers import frontier_of
from ethereal.tuning.machines import Machines, parts, pruned
from ethereal.tuning.space import Setup, Space

_LOOK_AFTER = 0.25  # share of the epochs after which a hopeless trial is stopped
_ENOUGH_ROWS = 1000  # With fewer, a tenth of them shows little, and training needs them.
_SHARE, _MOST = 0.1, 2000
_LARGE_GROUPS = 0.2  # share of the rows. Groups of more rows are not set aside.


@dataclass(frozen=True)
class Check:
    """Accuracies of two models on the same rows."""

    rows: int
    trial: float  # the trial's own model, which learned from a part of the rows
    final: float  # the model that learned from all rows but these
    error: float  # standard error of the difference

    def describe(self, is_trials: bool) -> str:
        """Return both accuracies in a line, and which model was taken.

        >>> Check(600, 0.97, 0.975, 0.004).describe(False)
        'all rows 97.50 %, trial 97.00 % (+-0.40) of 600 rows set aside, so the model of all rows is taken'
        """
        which = "the trial's own model" if is_trials else "the model of all rows"
        both = f"all rows {100 * self.final:.2f} %, trial {100 * self.trial:.2f} % (+-{100 * self.error:.2f})"
        return f"{both} of {self.rows} rows set aside, so {which} is taken"

    @property
    def is_worse(self) -> bool:
        """Whether the final model is worse by more than the noise."""
        return self.final < self.trial - self.error


@dataclass(frozen=True)
class Task:
    """What all trials share. Each worker gets it once."""

    X: NDArray[Any]  # training rows x features, or windows
    y: NDArray[Any]
    folds: tuple[NDArray[np.intp], ...]  # rows that each fold validates on
    space: Space
    budget: Budget
    epochs: int
    seed: int
    X_check: NDArray[Any]  # rows for `finish` that the search does not see, perhaps none
    y_check: NDArray[Any]
    categories: Mapping[int, Sequence[str]] = field(default_factory=dict)  # names of columns of texts

    def machines(self, setup: Setup) -> Machines:
        """Return how the machines of a setup learn."""
        own = self.space.front_ends[setup.kernels] if self.space.front_ends else None
        return Machines(setup, self.space.booleanizer(setup), self.epochs, self.seed, self.categories, own)

    def of(self, setup: Setup) -> Task:
        """Return the task with what a setup reads, for windows the newest samples of each."""
        if not self.space.front_ends:
            return self
        n = self.space.front_ends[setup.kernels].window
        return replace(self, X=newest(self.X, n), X_check=newest(self.X_check, n))


def newest(windows: NDArray[Any], n: int) -> NDArray[Any]:
    """Return the last `n` samples of each window."""
    return windows[:, windows.shape[1] - n :]


@dataclass(frozen=True)
class Outcome:
    """What a trial found. The model is that of the first fold, and the footprint is its own."""

    accuracy: float  # mean over the folds, on validation rows, or that when it was stopped
    early: float  # validation accuracy of the machine after a quarter of the epochs, first fold
    footprint: Footprint | None = None  # None if it was stopped
    excess: float = 0.0  # how many times the tightest bound is used
    includes: int = 0
    clauses: int = 0
    model: Model | None = None
    rows: int = 0  # that it was validated on, in all folds
    cost: float = 0.0  # see `Budget.cost`
    trial_model: Model | None = None  # of `finish`: the trial's own, which may be `model`
    check: Check | None = None  # of `finish`: both models on rows that neither learned from

    @property
    def fits(self) -> bool:
        """Whether it keeps the budget."""
        return self.footprint is not None and self.excess <= 1


def evaluate(task: Task, setup: Setup, floor: float | None = None) -> Outcome:
    """Train, prune and validate `setup`. Stop early if the machine is below `floor` after some epochs.

    The first fold's model is compiled to keep the budget. The models of the other folds have about the same
    estimated size and only say how accurate such a model is.
    """
    task, machines = task.of(setup), task.machines(setup)
    train, held_out = parts(task.X, task.y, task.folds[0])
    first = machines.first(max(1, round(_LOOK_AFTER * task.epochs)))
    with tempfile.TemporaryDirectory(prefix="ethereal-tune-") as kept:
        known: dict[str, Any] = {"validation_set": held_out, "categories": task.categories}
        first.fit(*train, checkpoint=kept, **known)
        early = max(r["validation_accuracy"] for r in first.history_ if r["phase"] == "train")
        if floor is not None and early < floor:
            return Outcome(early, early)
        first.set_params(epochs=task.epochs)
        first.fit(*train, checkpoint=kept, resume=True, **known)
    model = machines.committee(first, train, held_out)
    found = pruned(model, train, held_out, setup.teacher, task.seed, estimate)
    measure = usable(held_out[0], task.budget.target, **task.budget.keywords)
    point = within(found.curve, task.budget, measure, setup.give_away)
    tried = _outcome(point, task, early)
    if not tried.fits:
        return tried
    size, accuracies = Budget(point.estimate.bytes), [point.accuracy]
    for rows in task.folds[1:]:
        train, held_out = parts(task.X, task.y, rows)
        model = machines.joined(train, held_out)
        curve = pruned(model, train, held_out, setup.teacher, task.seed, estimate).curve
        accuracies.append(within(curve, size, estimate).accuracy)
    return replace(tried, accuracy=float(np.mean(accuracies)))


def finish(task: Task, setup: Setup, n_jobs: int = 1) -> Outcome:
    """Return the model of a setup for use, the point of its `frontier` within the budget.

    The first fold's model is taken instead if no such point keeps the budget, or if it is worse on the rows
    that were set aside, beyond the noise.
    """
    task = task.of(setup)
    found = frontier_of(task.machines(setup), task.X, task.y, task.folds, n_jobs=n_jobs)
    measure = usable(task.X[task.folds[0]], task.budget.target, **task.budget.keywords)
    tried = [
        PrunedModel(p.model, p.accuracy, estimate(p.model), held_out=p.held_out)
        for p in found.tried[setup.teacher][0].curve
    ]
    own = within(tried, task.budget, measure, setup.give_away)
    final, check = found.choose(task.budget), None
    if final.fits:
        check = compare(own.model, final.model, task.X_check, task.y_check)
    is_trials = not final.fits or (check is not None and check.is_worse)
    chosen = _outcome(own if is_trials else final.point, task)
    return replace(chosen, trial_model=own.model, check=check)


def _outcome(point: PrunedModel, task: Task, early: float = 0.0) -> Outcome:
    took = point.footprint or point.estimate
    return Outcome(
        point.accuracy,
        early,
        took,
        math.inf if point.footprint is None else task.budget.excess(took),
        point.model.n_includes,
        point.model.n_clauses,
        point.model,
        sum(len(held_out) for held_out in task.folds),
        task.budget.cost(took),
    )


def rows_to_set_aside(
    y: NDArray[Any], seed: int, groups: NDArray[Any] | None = None, folds: int = 1
) -> NDArray[np.intp]:
    """Return the rows that a search does not see: a tenth of every class, or of the groups.

    There are none when rows are few, or when classes or groups cannot be divided.

    >>> len(rows_to_set_aside(np.repeat([0, 1], 1000), 0)), len(rows_to_set_aside(np.repeat([0, 1], 100), 0))
    (200, 0)
    """
    none = np.zeros(0, dtype=np.intp)
    if len(y) < _ENOUGH_ROWS:
        return none
    try:
        rows = splits.folds(y, 1, min(_SHARE, _MOST / len(y)), seed, groups)[0]
        left = np.ones(len(y), dtype=bool)
        left[rows] = False
        splits.folds(y[left], folds, _SHARE, seed, None if groups is None else groups[left])
    except ValueError:  # too few rows of a class, or too few groups. The search may still work.
        return none
    return rows if len(rows) <= _LARGE_GROUPS * len(y) else none


def compare(trial: Model, final: Model, X: NDArray[Any], y: NDArray[Any]) -> Check | None:
    """Compare two models on rows. The result is None when there are no rows."""
    if len(y) == 0:
        return None
    ours, theirs = (model.predict(X) == y for model in (final, trial))
    error = float((ours.astype(float) - theirs).std()) / math.sqrt(len(y))
    return Check(len(y), float(theirs.mean()), float(ours.mean()), error)
