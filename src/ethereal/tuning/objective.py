"""One trial: train a setup on every fold, prune it to the budget, and tell what came out.

A pure function of its arguments, so that it may run anywhere, and again where a worker died.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ethereal.compress import join
from ethereal.features.booleanizer import Booleanizer
from ethereal.model import Model
from ethereal.train.classifier import EtherealClassifier
from ethereal.tuning import BudgetError, Footprint, PrunedModel, estimate, on_device, prune
from ethereal.tuning.budget import Budget
from ethereal.tuning.check import Check, compare
from ethereal.tuning.choice import as_good_as_the_best
from ethereal.tuning.footprint import Measure
from ethereal.tuning.pruning import Pruning
from ethereal.tuning.space import Setup, Space

_LOOK_AFTER = 0.25  # share of the epochs after which a hopeless trial is stopped


@dataclass(frozen=True)
class Task:
    """What all trials share; goes to each worker once."""

    X: NDArray[Any]  # training rows x features
    y: NDArray[Any]
    folds: tuple[NDArray[np.intp], ...]  # rows that each fold validates on
    space: Space
    budget: Budget
    epochs: int
    seed: int
    X_check: NDArray[Any]  # rows that the search does not see, for `finish` alone; there may be none
    y_check: NDArray[Any]


@dataclass(frozen=True)
class Outcome:
    """What a trial found. The model is that of the first fold, and the footprint is its own."""

    accuracy: float  # mean over the folds, on validation rows; of a stopped trial: when it was stopped
    early: float  # validation accuracy of the machine after a quarter of the epochs, first fold
    footprint: Footprint | None = None  # None: stopped
    excess: float = 0.0  # how many times the tightest bound is used; at most 1: it fits
    includes: int = 0
    clauses: int = 0
    model: Model | None = None
    rows: int = 0  # that it was validated on, in all folds
    cost: float = 0.0  # what decides between trials that are equally good: see `Bounds.cost`
    trial_model: Model | None = None  # of `finish`: the trial's own, which may be `model`
    check: Check | None = None  # of `finish`: both models on rows that neither learned from

    @property
    def fits(self) -> bool:
        """Whether it keeps the budget."""
        return self.footprint is not None and self.excess <= 1


def evaluate(task: Task, setup: Setup, floor: float | None = None) -> Outcome:
    """Train, prune and validate `setup`; stop early where the machine is below `floor` after some epochs.

    The first fold's model is compiled to keep the budget. The models of the other folds are those of about
    the same size, by estimate: they only say how accurate such a model is.
    """
    first = _first_fold(task, setup, floor)
    if isinstance(first, Outcome):
        return first
    accuracies = [first.point.accuracy]
    for fold in range(1, len(task.folds)):
        accuracies.append(_accuracy_of_size(task, setup, fold, first.point.estimate.bytes))
    return _outcome(float(np.mean(accuracies)), first.early, first.point, first.took, task)


def finish(task: Task, setup: Setup) -> Outcome:
    """The model of a setup for use: trained on all rows, and pruned as the first fold's was.

    Accuracies are those of the first fold. Where such a model breaks the budget, or is worse than the first
    fold's own on the rows that were set aside, beyond the noise, the first fold's is taken.
    """
    first = _first_fold(task, setup, None)
    if isinstance(first, Outcome):
        return first
    trial = _outcome(first.point.accuracy, first.early, first.point, first.took, task)
    final = _of_all_rows(task, setup, first)
    if final is None:
        return replace(trial, trial_model=trial.model)
    assert trial.model is not None
    assert final.model is not None
    check = compare(trial.model, final.model, task.X_check, task.y_check)
    chosen = trial if check is not None and check.is_worse else final
    return replace(chosen, trial_model=trial.model, check=check)


def _of_all_rows(task: Task, setup: Setup, first: _Fold) -> Outcome | None:
    """A machine of all rows, pruned like the first fold's; None: it breaks the budget.

    Epochs differ by points, so the last one may be a bad one. There are no rows left to choose the epoch by
    but those it learns from. That is better than the number of epochs that was best in the trial, and than
    holding out a tenth of the rows: docs/tuning.md.
    """
    rows = task.X, task.y
    machine = _machine(task, setup, task.epochs).fit(*rows, validation_set=rows)
    model = _committee(task, setup, machine, rows, rows)
    measure = _not_constant(task, task.X)
    try:
        found = prune(model, *rows, **_bounds(task), measure=measure, like=first.found,
                      random_state=task.seed)  # fmt: skip
    except BudgetError:
        return None
    point, took = _smaller(found, setup.give_away, task, measure)
    return _outcome(point.accuracy, first.early, point, took, task)


@dataclass(frozen=True)
class _Fold:
    """What came out of the first fold."""

    found: Pruning
    point: PrunedModel
    took: Footprint
    early: float


def _first_fold(task: Task, setup: Setup, floor: float | None) -> _Fold | Outcome:
    """The first fold; an outcome where the trial was stopped, or nothing keeps the budget."""
    train, held_out = _parts(task, 0)
    first = _machine(task, setup, max(1, round(_LOOK_AFTER * task.epochs)))
    with tempfile.TemporaryDirectory(prefix="ethereal-tune-") as kept:
        first.fit(*train, validation_set=held_out, checkpoint=kept)
        early = max(r["validation_accuracy"] for r in first.history_ if r["phase"] == "train")
        if floor is not None and early < floor:
            return Outcome(early, early)
        first.set_params(epochs=task.epochs)
        first.fit(*train, validation_set=held_out, checkpoint=kept, resume=True)
    model = _committee(task, setup, first, train, held_out)
    measure = _not_constant(task, held_out[0])
    try:
        found = prune(model, *train, **_bounds(task), validation=held_out, measure=measure,
                      teacher=setup.teacher, random_state=task.seed)  # fmt: skip
    except BudgetError as error:
        near = error.nearest
        took = near.footprint or near.estimate
        return _outcome(near.accuracy, early, near, took, task, is_known=near.footprint is not None)
    return _Fold(found, *_smaller(found, setup.give_away, task, measure), early)


def _bounds(task: Task) -> dict[str, Any]:
    budget = task.budget
    return {"max_bytes": budget.flash, "max_instructions": budget.instructions, "max_ram": budget.ram}


def _not_constant(task: Task, X: NDArray[Any]) -> Measure:
    """What a model takes, executed on rows of `X`.

    A model that always gives one class takes next to nothing, but is of no use within any budget.
    """
    compiled = on_device(X, task.budget.target, max_bytes=task.budget.flash)

    def measure(model: Model) -> Footprint | Iterable[Footprint]:
        is_constant = np.ptp(model.class_sums(X).argmax(axis=1)) == 0
        return () if is_constant else compiled(model)

    return measure


def _outcome(
    accuracy: float, early: float, point: PrunedModel, took: Footprint, task: Task, *, is_known: bool = True
) -> Outcome:
    model = point.model
    bounds = task.budget.bounds
    excess = bounds.excess(took) if is_known else math.inf
    rows = sum(len(held_out) for held_out in task.folds)
    return Outcome(
        accuracy, early, took, excess, model.n_includes, model.n_clauses, model, rows, bounds.cost(took)
    )


def _smaller(found: Pruning, give_away: float, task: Task, measure: Measure) -> tuple[PrunedModel, Footprint]:
    """The smallest point that loses no more than `give_away` against the chosen one, and what it takes."""
    chosen = next(p for p in found.curve if p.model is found.model)
    smaller = [p for p in found.curve if p.estimate.bytes < chosen.estimate.bytes and p.model.n_clauses]
    if give_away > 0 and smaller:
        bounds = task.budget.bounds
        good = as_good_as_the_best([chosen, *smaller], lambda p: bounds.cost(p.estimate), give_away)
        point = min(good, key=lambda p: (p.estimate.bytes, -p.accuracy))
        took = bounds.best(measure(point.model))
        if took is not None and bounds.excess(took) <= 1:  # else smaller by estimate only: rare
            return point, took
    return chosen, found.footprint


def _accuracy_of_size(task: Task, setup: Setup, fold: int, size: int) -> float:
    """Validation accuracy of a model of at most `size` bytes, by estimate, trained for a fold."""
    train, held_out = _parts(task, fold)
    first = _machine(task, setup, task.epochs).fit(*train, validation_set=held_out)
    try:
        return prune(
            _committee(task, setup, first, train, held_out),
            *train,
            max_bytes=size,
            validation=held_out,
            measure=estimate,
            teacher=setup.teacher,
            random_state=task.seed,
        ).accuracy
    except BudgetError as error:
        return error.nearest.accuracy


def _parts(task: Task, fold: int) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Rows to train on and rows to validate on."""
    held_out = task.folds[fold]
    train = np.ones(len(task.y), dtype=bool)
    train[held_out] = False
    return (task.X[train], task.y[train]), (task.X[held_out], task.y[held_out])


def _machine(task: Task, setup: Setup, epochs: int) -> EtherealClassifier:
    return EtherealClassifier(
        setup.n_clauses,
        setup.T,
        setup.s,
        epochs=epochs,
        exclude_every=setup.exclude_every,
        literal_budget=setup.literal_budget,
        booleanizer=task.space.booleanizer(setup),
        n_jobs=1,  # trials run side by side instead
        random_state=task.seed,
    )


def _committee(
    task: Task,
    setup: Setup,
    first: EtherealClassifier,
    train: tuple[Any, Any],
    held_out: tuple[Any, Any],
) -> Model:
    """The model of the first machine, joined with those of others that start from other seeds."""
    models = [first.model_]
    booleanizer = first.booleanizer_  # the same thresholds for all
    if booleanizer is not None:
        booleanizer = Booleanizer(
            encoding=booleanizer.encoding, thresholds=booleanizer.feature_map_, missing=booleanizer.missing
        )
    for i in range(1, setup.machines):
        other = clone(first).set_params(booleanizer=booleanizer, random_state=task.seed + 1000 * i)
        models.append(other.fit(*train, validation_set=held_out).model_)
    return join(models) if len(models) > 1 else models[0]


def make_folds(
    y: NDArray[Any], n_folds: int, share: float, seed: int, groups: NDArray[Any] | None = None
) -> tuple[NDArray[np.intp], ...]:
    """Rows to validate on: of one fold a share of every class, of several equal parts of every class.

    With groups these are about so many rows, all rows of a group or none.

    >>> [len(rows) for rows in make_folds(np.repeat([0, 1], 50), 1, 0.2, 0)]
    [20]
    >>> [len(rows) for rows in make_folds(np.repeat([0, 1], 50), 4, 0.2, 0)]
    [25, 25, 25, 25]
    >>> make_folds(np.array([0, 1] * 4), 2, 0.2, 0, np.array([1, 1, 2, 2, 3, 3, 4, 4]))
    (array([2, 3, 4, 5]), array([0, 1, 6, 7]))
    """
    from sklearn.model_selection import StratifiedKFold, train_test_split

    labels, counts = np.unique(y, return_counts=True)
    if len(labels) < 2:
        raise ValueError(f"y has one class only, {labels.tolist()}; tuning needs at least two")
    if counts.min() < max(2, n_folds):
        raise ValueError(
            f"label {labels.tolist()[counts.argmin()]!r} has {counts.min()} training rows; every class needs "
            f"{max(2, n_folds)} or more to validate on (folds={n_folds})"
        )
    if groups is not None:
        return _folds_of_groups(y, n_folds, share, seed, groups)
    if n_folds == 1:
        rows = train_test_split(np.arange(len(y)), test_size=share, stratify=y, random_state=seed)[1]
        return (np.sort(rows),)
    parts: Sequence[Any] = list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(y, y))
    return tuple(held_out for _, held_out in parts)


def _folds_of_groups(
    y: NDArray[Any], n_folds: int, share: float, seed: int, groups: NDArray[Any]
) -> tuple[NDArray[np.intp], ...]:
    from sklearn.model_selection import StratifiedGroupKFold

    n_groups, least = len(np.unique(groups)), max(2, n_folds)
    if n_groups < least:
        raise ValueError(
            f"row_groups has {n_groups} different groups; to validate on whole groups there must be {least} "
            f"or more (folds={n_folds})"
        )
    n_parts = n_folds if n_folds > 1 else min(n_groups, round(1 / share))
    parts = StratifiedGroupKFold(n_parts, shuffle=True, random_state=seed).split(y, y, groups)
    folds = tuple(held_out for _, held_out in parts)[:n_folds]
    for held_out in folds:
        lost = np.setdiff1d(y, np.delete(y, held_out))
        if len(lost):
            raise ValueError(
                f"all rows of label {lost.tolist()[0]!r} are in the groups that validate a fold; give "
                f"row_groups in which every label is in {least} groups or more, or no row_groups"
            )
    return folds
