"""The model for a board, pruned from any machine to the knee of its curve or to a budget.

The machine itself learned from all rows, so no row can tell how good its pruned models are. So machines of
the same kind learn from a part of the rows first. The rows that they did not see give the accuracies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.splits import hold_out
from ethereal.model import Model
from ethereal.tuning.budget import PER_HALVING, Budget
from ethereal.tuning.choice import Choice, PrunedModel
from ethereal.tuning.footprint import usable
from ethereal.tuning.frontiers import curves_of
from ethereal.tuning.machines import Labelled
from ethereal.tuning.record import made_for

_CODE_BYTES = 600  # that read the tables, about the same for all models
_HELD_OUT = 0.2  # share of the rows that a split holds out
_ENOUGH_ROWS, _MOST_SPLITS = 1000, 5  # splits are repeated until so many rows were held out

Train = Callable[[NDArray[Any], NDArray[Any]], Model]  # a machine from rows and labels


@dataclass(frozen=True)
class BoardModel:
    """What `for_board` found."""

    point: PrunedModel
    curve: tuple[PrunedModel, ...]  # from the machine to the smallest model
    held_out: int  # rows that the accuracies come from, counted once per split
    budget: Budget = field(default_factory=Budget)

    @cached_property
    def model(self) -> Model:
        """The model for the board, with the record of what it was pruned for."""
        return made_for(self.point.model, self.budget, self.point.footprint)


def knee(curve: Sequence[PrunedModel]) -> PrunedModel:
    """Return the model where the curve bends: half the bytes may cost 0.15 points, not more.

    The bytes of the code, which all models share, are added to those of the model.

    >>> from ethereal.tuning import Footprint
    >>> model = Model([0], [0, 1], [[1, 0]], n_booleans=1, classes=["a", "b"])
    >>> sizes = (0.95, 40_000), (0.946, 4000), (0.945, 3600), (0.9, 2000)
    >>> knee([PrunedModel(model, a, Footprint(n, 0.0)) for a, n in sizes]).estimate.bytes
    4000
    """
    voting = [point for point in curve if point.model.n_clauses] or list(curve)
    return max(voting, key=lambda p: p.accuracy - PER_HALVING * math.log2(_CODE_BYTES + p.estimate.bytes))


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
        Bounds on flash, RAM or instructions. Without one the knee of the curve is taken.
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
    n_splits = min(_MOST_SPLITS, max(1, round(_ENOUGH_ROWS / (_HELD_OUT * len(y)))))
    total, done = 2 * n_splits + 2, 0
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

    splits = _splits(y, n_splits, groups, seed)
    curves, _ = curves_of(learn, lambda: machine, (X, y), splits, ("votes",), seed, step, n_jobs=n_jobs)
    found = curves["votes"]
    progress(total - 1, total)
    point = _chosen(found.curve, budget, X)
    progress(total, total)
    return BoardModel(point, found.curve, held_out, budget or Budget())


def _chosen(curve: Sequence[PrunedModel], budget: Budget | None, X: NDArray[Any]) -> PrunedModel:
    if budget is None or not budget.on_size:
        return knee(curve)
    return Choice(curve, budget, usable(X, budget.target, **budget.keywords)).make()


def _splits(
    y: NDArray[Any], n_splits: int, groups: NDArray[Any] | None, seed: int
) -> Iterator[NDArray[np.intp]]:
    """Yield the rows that are held out. A split that leaves one class only is left out."""
    if groups is not None and len(np.unique(groups)) < 2:
        return
    for i in range(n_splits):
        some, rest = (np.sort(rows) for rows in hold_out(y, _HELD_OUT, (seed + 1000 * i) % 2**32, groups))
        if len(rest) and len(np.unique(y[some])) > 1:
            yield rest
