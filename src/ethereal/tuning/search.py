"""The search: Optuna proposes setups, workers try them, the best that keeps the budget is chosen.

Trials go in batches of a fixed size, whose results are recorded in order. So the outcome depends on the seed
and the number of trials, not on the workers. Each trial gets a new sampler from the seed and the trials
before, and an interrupted batch is finished as it was proposed. So a resumed search continues as if it had
never stopped.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal import cluster
from ethereal.base import splits
from ethereal.base.checks import DoesNotFit
from ethereal.base.options import refuse, renamed, split_kwargs
from ethereal.compress.curve import TEACHERS
from ethereal.model import Model
from ethereal.tuning.budget import Budget, Search
from ethereal.tuning.choice import tolerance
from ethereal.tuning.footprint import Footprint
from ethereal.tuning.kernels import KernelChoice
from ethereal.tuning.machines import VALIDATION, labelled, matrix
from ethereal.tuning.objective import Check, Outcome, Task, evaluate, finish, newest, rows_to_set_aside
from ethereal.tuning.record import made_for
from ethereal.tuning.space import BINS, EXCLUDE_EVERY, GIVE_AWAY, LITERAL_BUDGETS, MACHINES, Setup, Space
from ethereal.tuning.storage import STUDY, Storage

BATCH = 4  # trials that are proposed together
_FEW_ROWS = 5000  # up to so many rows there are three folds, else one
_KNOWN_BEFORE_STOPPING = 4  # finished trials
_FAR_BELOW = 0.05  # a machine so far below the best within the budget is stopped, if also below the median


@dataclass(frozen=True)
class Trial:
    """A finished trial."""

    number: int
    setup: Setup
    accuracy: float  # on validation rows
    footprint: Footprint | None  # None if it was stopped early
    excess: float  # how many times the tightest bound is used
    includes: int
    clauses: int
    early: float
    rows: int = 0  # that it was validated on, 0 if unknown
    cost: float = 0.0  # see `Budget.cost`

    @property
    def fits(self) -> bool:
        """Whether the model keeps the budget."""
        return self.footprint is not None and self.excess <= 1


@dataclass(frozen=True)
class Tuning:
    """What `tune` found."""

    model: Model
    accuracy: float  # on validation rows, mean over folds, a little too high because it chose
    test_accuracy: float | None  # on rows that chose nothing
    footprint: Footprint  # compiled
    setup: Setup
    budget: Budget
    front: tuple[Trial, ...]  # that no other beats in accuracy, flash and instructions, the chosen first
    trials: tuple[Trial, ...]
    seconds: float
    study: str = STUDY  # name in the storage
    check: Check | None = None  # the model of all rows and the trial's own on rows that chose nothing
    is_trials: bool = False  # whether `model` is the trial's own, because the model of all rows was worse
    trial_test_accuracy: float | None = None  # of the trial's own model on the test rows
    kernels: KernelChoice | None = None  # for windows: what was offered and what was tried


class BudgetNotMet(DoesNotFit):
    """No trial kept the budget. `nearest` came nearest."""

    def __init__(self, message: str, nearest: Trial | None, trials: tuple[Trial, ...]) -> None:
        super().__init__(message)
        self.nearest = nearest
        self.trials = trials


def tune(
    X: ArrayLike,
    y: ArrayLike,
    *,
    budget: Budget | None = None,
    search: Search | None = None,
    groups: ArrayLike | None = None,
    feature_groups: Sequence[int] | None = None,
    categories: Mapping[int, Sequence[str]] | None = None,
    test: tuple[ArrayLike, ArrayLike] | None = None,
    workers: cluster.Cluster | None = None,
    progress: Callable[[tuple[Trial, ...]], None] | None = None,
    **flat: Any,
) -> Tuning:
    """Find the most accurate model that a board can hold.

    Of trials that are equally accurate within the noise of the validation rows, the cheapest is chosen. The
    model for use is that of its `frontier`, which learns from all rows. Of 1000 rows or more a tenth, at most
    2000, is set aside first. In `check` these rows compare that model with the trial's own. If it is worse
    beyond the noise, the trial's own model is taken.

    Parameters
    ----------
    X, y
        Training rows and labels.
    test
        Test rows and labels. They are used once, after the choice, for `test_accuracy` and
        `trial_test_accuracy`. They choose nothing.
    budget
        What the model may take, for what `ethereal.export.c` makes of it. Flash and RAM that are not bounded
        are those of the target's chip.
    search
        How to search, and where to keep what was tried.
    groups
        The person, recording or batch that each row comes from. Rows of one group then validate together, so
        that models are chosen by what they do on new groups. By default rows are not related.
    feature_groups
        A group number per feature. All features of a group get the same number of bins. By default features
        with few values are one group, the others another.
    categories
        Names of the values 0, 1, ... of columns that are categories, by the number of the column.
    workers
        Where trials run, see `ethereal.cluster`, by default here. The outcome does not depend on it.
    progress
        Called with all trials after every batch.
    **flat
        Fields of `Budget` and of `Search` in place of these: `flash="8k"`, `trials=20` and so on.

    Raises
    ------
    BudgetNotMet
        When no trial kept the budget.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = tune(X, y, flash="1k", instructions="2k", trials=2, folds=1, epochs=5, max_clauses=10)
    >>> found.footprint.bytes <= 1024, found.accuracy > 0.9
    (True, True)
    """
    began = time.monotonic()
    flat, groups = with_groups("tune", flat, groups)
    bounds, flat = split_kwargs(Budget, flat, budget)
    how, flat = split_kwargs(Search, flat, search)
    refuse("tune", flat, Budget, Search)
    task = _task(X, y, groups, feature_groups, bounds.on_chip(), how, categories)
    pair = None if test is None else (matrix(test[0]), np.asarray(test[1]))
    found = search_for(task, how, pair, workers, progress)
    return replace(found, seconds=time.monotonic() - began)


def search_for(
    task: Task,
    how: Search,
    test: tuple[NDArray[Any], NDArray[Any]] | None,
    workers: cluster.Cluster | None,
    progress: Callable[[tuple[Trial, ...]], None] | None,
) -> Tuning:
    """Search for the best model of a task, and make it."""
    began, bounds = time.monotonic(), task.budget
    kept = Storage(how.storage, how.study, _fingerprint(task), how.random_state)
    most = math.inf if how.trials is None else how.trials
    where = workers if workers is not None else cluster.processes(1)

    def is_due() -> bool:
        in_time = how.seconds is None or time.monotonic() - began < how.seconds
        return len(kept.trials) < most and in_time

    try:
        shared = where.share(task)
        while is_due():
            _try_batch(kept, task.space, int(min(BATCH, most - len(kept.trials))), where, shared)
            if progress is not None:
                progress(kept.trials)
    finally:
        kept.close()
    front = front_of(kept.trials, bounds)
    if not front:
        raise _not_met(kept.trials, bounds)
    # All trials are done, so the cores of this machine are free.
    outcome = where.call(finish, shared, front[0].setup, 1 if where.remote else where.slots)

    def on_test_rows(one: Model | None) -> float | None:
        if test is None or one is None:
            return None
        X = test[0] if one.front_end is None else newest(test[0], one.front_end.window)
        return float((one.ignoring_missing().predict(X) == test[1]).mean())

    return Tuning(
        made_for(outcome.model, bounds, outcome.footprint),
        front[0].accuracy,
        on_test_rows(outcome.model),
        outcome.footprint,
        front[0].setup,
        bounds,
        front,
        kept.trials,
        time.monotonic() - began,
        kept.name,
        outcome.check,
        outcome.model == outcome.trial_model,
        on_test_rows(outcome.trial_model),
    )


def _try_batch(kept: Storage, space: Space, n: int, where: cluster.Cluster, shared: Any) -> None:
    """Try so many proposals, and tell their outcomes in the order of the proposals."""
    asked = kept.ask(space, n, _floor(kept.trials))
    outcomes: dict[int, Outcome] = {}
    told = 0
    with where.flow() as flow:
        for i, proposal in enumerate(asked):
            flow.submit(i, evaluate_without_model, shared, proposal.setup, proposal.floor)
        for i, outcome in flow:
            outcomes[i] = outcome
            while told in outcomes:
                kept.tell(asked[told], outcomes[told])
                told += 1


def evaluate_without_model(task: Task, setup: Setup, floor: float | None) -> Outcome:
    """Return a trial's outcome. The model for use is made once the best trial is known."""
    outcome = evaluate(task, setup, floor)
    return Outcome(**{**vars(outcome), "model": None})


def front_of(trials: Sequence[Trial], budget: Budget | None = None) -> tuple[Trial, ...]:
    """Return the trials that fit and that no other beats in accuracy, flash and instructions.

    The chosen one comes first, then the most accurate. `Budget.worth` tells what instructions count.
    """
    inside = [t for t in trials if t.fits]
    front = [t for t in inside if not any(_beats(other, t) for other in inside)]
    if not front:
        return ()
    front.sort(key=lambda t: (-t.accuracy, t.number))
    chosen = _cheapest_of_the_best(front, budget or Budget())
    return (chosen, *(t for t in front if t is not chosen))


def _cheapest_of_the_best(front: Sequence[Trial], budget: Budget) -> Trial:
    """Return the cheapest of the trials that are worth as much as the best within the noise."""

    def worth(trial: Trial) -> float:
        assert trial.footprint is not None
        return budget.worth(trial.accuracy, trial.footprint)

    best = max(front, key=worth)
    error = math.sqrt(best.accuracy * (1 - best.accuracy) / best.rows) if best.rows else 0.0
    good = [t for t in front if worth(best) - worth(t) <= tolerance(error, t.cost, best.cost) + 1e-12]
    return min(good, key=lambda t: (t.cost, t.number))


def _beats(a: Trial, b: Trial) -> bool:
    assert a.footprint is not None
    assert b.footprint is not None
    ours = -a.accuracy, a.footprint.bytes, a.footprint.instructions
    theirs = -b.accuracy, b.footprint.bytes, b.footprint.instructions
    if ours == theirs:
        return a.number < b.number
    return all(x <= y for x, y in zip(ours, theirs, strict=True))


def _floor(trials: Sequence[Trial]) -> float | None:
    """Return the accuracy after a quarter of the epochs below which a trial is hopeless."""
    inside = [t.accuracy for t in trials if t.fits]
    if len(inside) < _KNOWN_BEFORE_STOPPING:
        return None
    return min(max(inside) - _FAR_BELOW, float(np.median([t.early for t in trials])))


def _not_met(trials: tuple[Trial, ...], budget: Budget) -> BudgetNotMet:
    near = min((t for t in trials if t.footprint is not None), key=lambda t: t.excess, default=None)
    told = "No model was made."
    if near is not None and near.footprint is not None:
        took = near.footprint
        told = (
            f"The nearest takes {took.bytes} bytes of flash, {took.ram} of RAM and {took.instructions:g} "
            f"instructions, with accuracy {near.accuracy:.4f} ({near.setup.describe()})."
        )
    return BudgetNotMet(
        f"None of {len(trials)} trials kept {budget.describe()}. {told} Allow more, or search longer.",
        near,
        trials,
    )


def _task(
    X: ArrayLike,
    y: ArrayLike,
    groups: ArrayLike | None,
    feature_groups: Sequence[int] | None,
    budget: Budget,
    search: Search,
    categories: Mapping[int, Sequence[str]] | None = None,
) -> Task:
    def space(rows: NDArray[Any], *_: Any) -> Space:
        return Space.of(rows, feature_groups, search.max_clauses, has_categories=bool(categories))

    try:
        given = labelled(X, y, groups, "groups")
    except ValueError as error:
        if groups is None or np.asarray(groups).shape != np.shape(X)[1:]:
            raise
        raise ValueError(
            f"groups has an entry for each of {np.shape(X)[1]} features, but it is for rows: the person or "
            "recording of each. Give the groups of features as feature_groups."
        ) from error
    return task_of(given, space, budget, search, categories)


def with_groups(
    function: str, keywords: Mapping[str, Any], groups: ArrayLike | None
) -> tuple[dict[str, Any], ArrayLike | None]:
    """Return the other keywords, and the groups of the rows, which were called row_groups before."""
    given = renamed(function, {**keywords, "groups": groups}, {"row_groups": "groups"}, stacklevel=4)
    return given, given.pop("groups")


def task_of(
    given: tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None],
    space_of: Callable[[NDArray[Any], NDArray[Any], NDArray[Any] | None], Space],
    budget: Budget,
    search: Search,
    categories: Mapping[int, Sequence[str]] | None = None,
) -> Task:
    """Return the task of rows, labels and groups of rows, in the space of the rows that the search sees."""
    rows, labels, together = given
    seed, n_folds = search.random_state, search.folds
    if n_folds is None:
        n_folds = 3 if len(rows) <= _FEW_ROWS else 1
    aside = np.zeros(len(labels), dtype=bool)
    aside[rows_to_set_aside(labels, seed, together, n_folds)] = True
    X_check, y_check = rows[aside], labels[aside]
    rows, labels, together = rows[~aside], labels[~aside], None if together is None else together[~aside]
    parts = splits.folds(labels, n_folds, VALIDATION, seed, together)
    space = space_of(rows, labels, together)
    return Task(rows, labels, parts, space, budget, search.epochs, seed, X_check, y_check, categories or {})


def _fingerprint(task: Task) -> dict[str, str]:
    """Return what identifies a study: data, budget, space and settings."""

    def digest(*arrays: NDArray[Any]) -> str:
        sha = hashlib.sha256()
        for a in arrays:
            sha.update(f"{a.dtype} {a.shape}".encode() + np.ascontiguousarray(a).tobytes())
        return sha.hexdigest()[:16]

    labels = task.y if task.y.dtype.kind != "O" else task.y.astype(str)
    settings: dict[str, Any] = {"epochs": task.epochs, "folds": digest(*task.folds), "seed": task.seed}
    if task.categories:
        settings["categories"] = {str(f): list(names) for f, names in task.categories.items()}
    offered = [own.as_dict() for own in task.space.front_ends]
    return {
        "data": digest(task.X, labels),
        "budget": json.dumps({k: str(v) for k, v in asdict(task.budget).items()}),
        "space": json.dumps(
            {
                "groups": digest(np.array(task.space.groups)),
                "max": task.space.max_clauses,
                "choices": (BINS, EXCLUDE_EVERY, LITERAL_BUDGETS, MACHINES, TEACHERS, GIVE_AWAY),
            }
            | ({"front_ends": offered} if offered else {})
        ),
        "settings": json.dumps(settings),
    }
