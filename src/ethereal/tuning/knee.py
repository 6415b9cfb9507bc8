"""The model for a board, pruned from any machine to the knee of its curve or to a budget.

The machine itself learned from all rows, so no row can tell how good its pruned models are. So machines of
the same kind learn from a part of the rows first. The rows that they did not see give the accuracies.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.splits import group_folds, hold_out
from ethereal.model import Model
from ethereal.tuning.budget import FEW_ROWS, Budget
from ethereal.tuning.choice import BudgetError, Choice, PrunedModel
from ethereal.tuning.footprint import Footprint, Measure, priced, usable
from ethereal.tuning.frontiers import curves_of
from ethereal.tuning.machines import Labelled
from ethereal.tuning.record import made_for

_HELD_OUT = 0.2  # share of the rows that a split holds out
_ENOUGH_ROWS = 1000  # Where rows are more than few, splits are repeated until so many were held out.
_FOLDS = 5  # of few rows, each of which is held out once
# Machines that are joined and pruned as one where rows are few, and rows times features up to which it takes
# seconds: lab/notes/tuning.md.
_COMMITTEE, _FEW_CELLS = 5, 250_000
_LARGE, _TIMES = 2500, 6.5  # bytes of the estimate, and what a program takes against them

Train = Callable[[NDArray[Any], NDArray[Any]], Model]  # a machine from rows and labels


def machines_for(n_rows: int, n_features: int) -> int:
    """Return how many machines of different seeds should be joined before pruning.

    Few rows make machines differ, and their sum is right more often than any one of them.

    >>> machines_for(200, 8), machines_for(200, 3000), machines_for(5000, 8)
    (5, 1, 1)
    """
    return _COMMITTEE if n_rows <= FEW_ROWS and n_rows * n_features <= _FEW_CELLS else 1


@dataclass(frozen=True)
class BoardModel:
    """What `for_board` found."""

    point: PrunedModel
    curve: tuple[PrunedModel, ...]  # from the machine to the smallest model
    held_out: int  # rows that the accuracies come from, counted once per split
    budget: Budget = field(default_factory=Budget)

    @functools.cached_property
    def model(self) -> Model:
        """The model for the board, with the record of what it was pruned for."""
        return made_for(self.point.model, self.budget, self.point.footprint)


def knee(
    curve: Sequence[PrunedModel], budget: Budget | None = None, measure: Measure | None = None
) -> PrunedModel:
    """Return the model where the curve bends, which is the one that is worth most: see `Budget.worth`.

    Without a `measure`, estimates count. Where no model keeps the budget, the nearest is taken.

    >>> from ethereal.tuning import Footprint
    >>> model = Model([0], [0, 1], [[1, 0]], n_booleans=1, classes=["a", "b"])
    >>> sizes = (0.95, 40_000), (0.946, 4000), (0.945, 3600), (0.9, 2000)
    >>> knee([PrunedModel(model, a, Footprint(n, 0.0)) for a, n in sizes]).estimate.bytes
    4000
    """
    try:
        return Choice(curve, budget or Budget(), measure).make()
    except BudgetError as error:
        return error.nearest


def as_exported(curve: Sequence[PrunedModel]) -> Measure:
    """Return what the export of a model takes, without a compiler.

    Programs of large models take seconds to write. Their flash is in proportion to that of the largest one
    which is written.
    """
    prices, estimates = priced(), {id(point.model): point.estimate for point in curve}
    written = [p for p in curve if p.model.n_clauses and p.estimate.bytes <= _LARGE]

    @functools.cache
    def times() -> float:
        for largest in sorted(written, key=lambda p: -p.estimate.bytes)[:1]:
            for program in prices(largest.model):
                return program.bytes / largest.estimate.bytes
        return _TIMES

    def measure(model: Model) -> Footprint | Iterable[Footprint]:
        estimate = estimates[id(model)]
        if estimate.bytes > _LARGE:
            return replace(estimate, bytes=round(times() * estimate.bytes))
        return itertools.islice(prices(model), 1)  # the program that an export takes

    return measure


def for_board(
    train: Train,
    machine: Model,
    X: NDArray[Any],
    y: NDArray[Any],
    *,
    budget: Budget | None = None,
    groups: NDArray[Any] | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> BoardModel:
    """Prune a machine that learned from all rows.

    Parameters
    ----------
    train
        Trains a machine of the same kind on some of the rows.
    machine
        The machine that learned from all rows.
    X, y
        All training rows and labels.
    budget
        Bounds on flash, RAM or instructions. Without one the knee of the curve is taken, and few rows have a
        bound of their own: see `Budget.for_rows`.
    groups
        The person, recording or batch of each row. Whole groups are then held out.
    seed
        Seed of the splits and of pruning.
    n_jobs
        Threads that prune. The model does not depend on it.
    progress
        Is told how many of the steps are done, and how many there are.

    Raises
    ------
    BudgetError
        When no model keeps the bounds.
    """
    splits = list(_splits(y, groups, seed))
    total, done = 2 * len(splits) + 2, 0
    progress(0, total)
    held_out = 0

    def step() -> None:
        nonlocal done
        progress(done := done + 1, total)

    def learn(some: Labelled, rest: Labelled) -> Model:
        nonlocal held_out
        model = train(*some)
        held_out += int(np.isin(rest[1], model.classes).sum())
        return model

    curves, _ = curves_of(learn, lambda: machine, (X, y), splits, ("votes",), seed, step, n_jobs=n_jobs)
    found = curves["votes"]
    progress(total - 1, total)
    point = _chosen(found.curve, budget or Budget(), X, machine)
    progress(total, total)
    return BoardModel(point, found.curve, held_out, budget or Budget())


def _chosen(curve: Sequence[PrunedModel], budget: Budget, X: NDArray[Any], machine: Model) -> PrunedModel:
    if budget.on_size:
        return Choice(curve, budget, usable(X, budget.target, **budget.keywords)).make()
    if machine.front_end is not None:  # most of its flash is that of its kernels, which the estimate knows
        return replace(knee(curve), footprint=None)
    found = knee(curve, budget.for_rows(len(X), machine.n_classes), as_exported(curve))
    return replace(found, footprint=None)  # which only a compiler knows


def _splits(y: NDArray[Any], groups: NDArray[Any] | None, seed: int) -> Iterator[NDArray[np.intp]]:
    """Yield the rows that are held out. A split that leaves one class only is left out."""
    if groups is not None and len(np.unique(groups)) < 2:
        return
    for rest in _folds(y, groups, seed) if len(y) <= FEW_ROWS else _draws(y, groups, seed):
        if len(rest) and len(np.unique(np.delete(y, rest))) > 1:
            yield rest


def _folds(y: NDArray[Any], groups: NDArray[Any] | None, seed: int) -> list[NDArray[np.intp]]:
    """Return parts of few rows, so that each row is held out once."""
    return group_folds(y, groups, _FOLDS, seed % 2**32)


def _draws(y: NDArray[Any], groups: NDArray[Any] | None, seed: int) -> Iterator[NDArray[np.intp]]:
    n_splits = max(1, round(_ENOUGH_ROWS / (_HELD_OUT * len(y))))
    for i in range(n_splits):
        yield np.sort(hold_out(y, _HELD_OUT, (seed + 1000 * i) % 2**32, groups)[1])
