"""The search: Optuna proposes setups, workers try them, the best that keeps the budget is chosen.

A trial trains a setup on every fold and prunes it to the budget. Trials and the model for use are pure
functions of their arguments, so that they may run anywhere, and again if a worker died.

Trials go in batches of a fixed size, whose results are recorded in order. So the outcome depends on the seed
and the number of trials, not on the workers. Each trial gets a new sampler from the seed and the trials
before, and an interrupted batch is finished as it was proposed. So a resumed search continues as if it had
never stopped.
"""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal import cluster
from ethereal.base import splits
from ethereal.base.checks import DoesNotFit
from ethereal.base.options import refuse, split_kwargs
from ethereal.compress.curve import TEACHERS
from ethereal.features.front_end import KERNELS, FrontEnd
from ethereal.model import Model
from ethereal.tuning.budget import Budget, Learner, Search, made_for
from ethereal.tuning.choice import PrunedModel, equals_of, within
from ethereal.tuning.footprint import Footprint, estimate, usable
from ethereal.tuning.frontiers import frontier_of
from ethereal.tuning.kernels import Kept, KernelChoice, bounded, candidates, drop_groups
from ethereal.tuning.machines import (
    CHOICES,
    LESSONS,
    TREES,
    VALIDATION,
    Array,
    Machines,
    Rows,
    Setup,
    Space,
    committee,
    labelled,
    matrix,
    parts,
    pruned,
)
from ethereal.tuning.sources import Way, refuse_trees_of_windows, ways_of
from ethereal.tuning.storage import STUDY, Result, Storage, Trial

_LOOK_AFTER = 0.25  # share of the epochs after which a hopeless trial is stopped
_ENOUGH_ROWS = 1000  # With fewer, a tenth of them shows little, and training needs them.
_SHARE, _MOST = 0.1, 2000
_LARGE_GROUPS = 0.2  # share of the rows. Groups of more rows are not set aside.
BATCH = 4  # trials that are proposed together
_FEW_ROWS = 5000  # up to so many rows there are three folds, else one
_KNOWN_BEFORE_STOPPING = 4  # finished trials
_FAR_BELOW = 0.05  # a machine so far below the best within the budget is stopped, if also below the median
_CANDIDATES = 4  # front ends of whole windows
_MAY_LACK = 0.01  # accuracy of the stand-in, so that half the window is tried


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

    X: Array  # training rows x features, or windows
    y: Array
    folds: tuple[Rows, ...]  # rows that each fold validates on
    space: Space
    budget: Budget
    epochs: int
    seed: int
    X_check: Array  # rows for `finish` that the search does not see, perhaps none
    y_check: Array
    categories: Mapping[int, Sequence[str]] = field(default_factory=dict)  # names of columns of texts
    groups: Array | None = None  # the person, recording or batch of each row
    learner: Learner = "auto"  # of the model for use

    def machines(self, setup: Setup) -> Machines:
        """Return how the machines of a setup learn."""
        front_end = self.space.front_ends[setup.kernels] if self.space.front_ends else None
        booleanizer = self.space.booleanizer(setup)
        return Machines(setup, booleanizer, self.epochs, self.seed, self.categories, front_end)

    def of(self, setup: Setup) -> Task:
        """Return the task with what a setup reads, for windows the newest samples of each."""
        if not self.space.front_ends:
            return self
        n = self.space.front_ends[setup.kernels].window
        return replace(self, X=newest(self.X, n), X_check=newest(self.X_check, n))


def newest(windows: Array, n: int) -> Array:
    """Return the last `n` samples of each window."""
    return windows[:, -n:]


@dataclass(frozen=True)
class Outcome(Result):
    """What a trial found, with its models. The model is that of the first fold, and the footprint its own."""

    model: Model | None = None
    trial_model: Model | None = None  # of `finish`: the trial's own, which may be `model`
    check: Check | None = None  # of `finish`: both models on rows that neither learned from
    way: str = ""  # of `finish`: where the model comes from


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
    model = committee(first, train, setup.machines, task.categories, held_out)
    curve_of_first = pruned(model, train, held_out, setup.teacher, task.seed, estimate)
    measure = usable(held_out[0], task.budget)
    point = within(curve_of_first.curve, task.budget, measure, setup.give_away)
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
    # Models of windows are large by their kernels, and trees would ask for all of them.
    learner, teachers = (task.learner, TEACHERS) if not task.space.front_ends else ("machine", LESSONS)
    ways, groups = ways_of(learner, teachers), task.groups
    models = frontier_of(task.machines(setup), task.X, task.y, task.folds, ways, n_jobs=n_jobs, groups=groups)
    measure = usable(task.X[task.folds[0]], task.budget)
    final, check = models.choose(task.budget), None
    of_trial = Way("machine", setup.teacher) if setup.n_clauses else final.way
    unsized = models.tried[of_trial][0].curve
    tried = [PrunedModel(p.model, p.accuracy, estimate(p.model), held_out=p.held_out) for p in unsized]
    trial = within(tried, task.budget, measure, setup.give_away)
    if final.fits:
        check = compare(trial.model, final.model, task.X_check, task.y_check)
    is_trials = not final.fits or (check is not None and check.is_worse)
    chosen = _outcome(trial if is_trials else final.point, task)
    way = str(of_trial if is_trials else final.way)
    return replace(chosen, trial_model=trial.model, check=check, way=way)


def _outcome(point: PrunedModel, task: Task, early: float = 0.0) -> Outcome:
    took, model = point.footprint or point.estimate, point.model
    excess = math.inf if point.footprint is None else task.budget.excess(took)
    rows, cost = sum(map(len, task.folds)), task.budget.cost(took)
    return Outcome(point.accuracy, early, took, excess, model.n_includes, model.n_clauses, rows, cost, model)


def rows_to_set_aside(y: Array, seed: int, groups: Array | None = None, folds: int = 1) -> Rows:
    """Return the rows that a search does not see: a tenth of every class, or of the groups.

    There are none when rows are few, or when classes or groups cannot be divided.

    >>> len(rows_to_set_aside(np.repeat([0, 1], 1000), 0)), len(rows_to_set_aside(np.repeat([0, 1], 100), 0))
    (200, 0)
    """
    rows = np.zeros(0, dtype=np.intp)
    if len(y) < _ENOUGH_ROWS:
        return rows
    try:
        aside = splits.folds(y, 1, min(_SHARE, _MOST / len(y)), seed, groups)[0]
        left = np.delete(np.arange(len(y)), aside)
        splits.folds(y[left], folds, _SHARE, seed, None if groups is None else groups[left])
    except ValueError:  # too few rows of a class, or too few groups. The search may still work.
        return rows
    return aside if len(aside) <= _LARGE_GROUPS * len(y) else rows


def compare(trial: Model, final: Model, X: Array, y: Array) -> Check | None:
    """Compare two models on rows. The result is None when there are no rows."""
    if len(y) == 0:
        return None
    ours, theirs = (model.predict(X) == y for model in (final, trial))
    error = float((ours.astype(float) - theirs).std()) / math.sqrt(len(y))
    return Check(len(y), float(theirs.mean()), float(ours.mean()), error)


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
    way: str = ""  # where the model comes from


class BudgetNotMet(DoesNotFit):
    """No trial kept the budget. `nearest` came nearest."""

    def __init__(self, message: str, nearest: Trial | None, trials: tuple[Trial, ...]) -> None:
        super().__init__(message)
        self.nearest = nearest
        self.trials = trials

    @classmethod
    def of(cls, trials: tuple[Trial, ...], budget: Budget) -> BudgetNotMet:
        """Return the error for trials none of which kept a budget."""
        near = min((t for t in trials if t.footprint is not None), key=lambda t: t.excess, default=None)
        which = "No model was made."
        if near is not None and (took := near.footprint) is not None:
            which = (
                f"The nearest takes {took.bytes} bytes of flash, {took.ram} of RAM and {took.instructions:g} "
                f"instructions, with accuracy {near.accuracy:.4f} ({near.setup.describe()})."
            )
        none = f"None of {len(trials)} trials kept {budget.describe()}."
        return cls(f"{none} {which} Allow more, or search longer.", near, trials)


def tune(X: ArrayLike, y: ArrayLike, *, budget: Budget | None = None, search: Search | None = None,
         groups: ArrayLike | None = None, feature_groups: Sequence[int] | None = None,
         categories: Mapping[int, Sequence[str]] | None = None,
         test: tuple[ArrayLike, ArrayLike] | None = None, workers: cluster.Cluster | None = None,
         progress: Callable[[tuple[Trial, ...]], None] | None = None, **flat: Any) -> Tuning:  # fmt: skip
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
    >>> quick = {"trials": 2, "folds": 1, "epochs": 5, "max_clauses": 10, "learner": "machine"}
    >>> found = tune(X, y, flash="1k", instructions="2k", **quick)
    >>> found.footprint.bytes <= 1024, found.accuracy > 0.9
    (True, True)
    """
    began = time.monotonic()
    bounds, how = _asked("tune", budget, search, flat)
    task = _task(X, y, groups, feature_groups, bounds, how, categories)
    pair = None if test is None else (matrix(test[0]), np.asarray(test[1]))
    return _search(task, how, pair, workers, progress, began)


def _search(task: Task, how: Search, test: tuple[Array, Array] | None, workers: cluster.Cluster | None,
            progress: Callable[[tuple[Trial, ...]], None] | None, began: float) -> Tuning:  # fmt: skip
    """Search for the best model of a task, and make it."""
    if task.learner == "trees":
        return _of_trees(task, test, progress, began)
    start, bounds = time.monotonic(), task.budget
    kept = Storage(how.storage, how.study, _fingerprint(task), how.random_state)
    most = math.inf if how.trials is None else how.trials
    where = cluster.processes(1) if workers is None else workers
    try:
        shared = where.share(task)
        while len(kept.trials) < most and (how.seconds is None or time.monotonic() - start < how.seconds):
            _try_batch(kept, task.space, int(min(BATCH, most - len(kept.trials))), where, shared)
            if progress is not None:
                progress(kept.trials)
    finally:
        kept.close()
    front = front_of(kept.trials, bounds)
    if not front:
        raise BudgetNotMet.of(kept.trials, bounds)
    # All trials are done, so the cores of this machine are free.
    outcome = where.call(finish, shared, front[0].setup, 1 if where.remote else where.slots)

    return _tuning(task, outcome, front, kept.trials, test, began, kept.name)


def _tuning(task: Task, outcome: Outcome, front: tuple[Trial, ...], trials: tuple[Trial, ...],
            test: tuple[Array, Array] | None, began: float, study: str) -> Tuning:  # fmt: skip
    """Return what was found, with accuracies on test rows."""
    assert outcome.model is not None
    assert outcome.footprint is not None

    def on_test_rows(one: Model | None) -> float | None:
        if test is None or one is None:
            return None
        X = test[0] if one.front_end is None else newest(test[0], one.front_end.window)
        return float((one.ignoring_missing().predict(X) == test[1]).mean())

    return Tuning(
        made_for(outcome.model, task.budget, outcome.footprint), front[0].accuracy,
        on_test_rows(outcome.model), outcome.footprint, front[0].setup, task.budget, front, trials,
        time.monotonic() - began, study, check=outcome.check,
        is_trials=outcome.model == outcome.trial_model,
        trial_test_accuracy=on_test_rows(outcome.trial_model), way=outcome.way,
    )  # fmt: skip


def _of_trees(task: Task, test: tuple[Array, Array] | None,
              progress: Callable[[tuple[Trial, ...]], None] | None, began: float) -> Tuning:  # fmt: skip
    """Make the best model of trees. Their few shapes are one trial, which nothing is kept of."""
    setup = replace(TREES, bins=(8,), encodings=("thermometer",)) if task.space.feature_groups else TREES
    outcome = finish(task, setup)
    known = {each.name: getattr(outcome, each.name) for each in fields(Result)}
    trials = (Trial(number=0, setup=setup, **known),)
    if progress is not None:
        progress(trials)
    if not outcome.fits:
        raise BudgetNotMet.of(trials, task.budget)
    return _tuning(task, outcome, trials, trials, test, began, STUDY)


def _try_batch(kept: Storage, space: Space, n: int, where: cluster.Cluster, shared: Any) -> None:
    """Try so many proposals, and tell their outcomes in the order of the proposals."""
    asked = kept.ask(space, n, _floor(kept.trials))
    outcomes, n_kept = dict[int, Outcome](), 0
    with where.flow() as flow:
        for i, proposal in enumerate(asked):
            flow.submit(i, evaluate_without_model, shared, proposal.setup, proposal.floor)
        for i, outcome in flow:
            outcomes[i] = outcome
            while n_kept in outcomes:
                kept.tell(asked[n_kept], outcomes[n_kept])
                n_kept += 1


def evaluate_without_model(task: Task, setup: Setup, floor: float | None) -> Outcome:
    """Return a trial's outcome. The model for use is made once the best trial is known."""
    return replace(evaluate(task, setup, floor), model=None)


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
    good = equals_of(best, front, worth, lambda trial: trial.cost, lambda *_: error)
    return min(good, key=lambda trial: (trial.cost, trial.number))


def _beats(a: Trial, b: Trial) -> bool:
    assert a.footprint is not None
    assert b.footprint is not None
    ours = -a.accuracy, a.footprint.bytes, a.footprint.instructions
    theirs = -b.accuracy, b.footprint.bytes, b.footprint.instructions
    return a.number < b.number if ours == theirs else bool(np.less_equal(ours, theirs).all())


def _floor(trials: Sequence[Trial]) -> float | None:
    """Return the accuracy after a quarter of the epochs below which a trial is hopeless."""
    inside = [t.accuracy for t in trials if t.fits]
    if len(inside) < _KNOWN_BEFORE_STOPPING:
        return None
    return min(max(inside) - _FAR_BELOW, float(np.median([t.early for t in trials])))


def _task(X: ArrayLike, y: ArrayLike, groups: ArrayLike | None, feature_groups: Sequence[int] | None,
          budget: Budget, search: Search,
          categories: Mapping[int, Sequence[str]] | None = None) -> Task:  # fmt: skip
    def space(rows: Array, *_: Any) -> Space:
        return Space.of(rows, feature_groups, search.max_clauses, has_categories=bool(categories))

    try:
        given = labelled(X, y, groups)
    except ValueError as error:
        if groups is None or np.asarray(groups).shape != np.shape(X)[1:]:
            raise
        raise ValueError(
            f"groups has an entry for each of {np.shape(X)[1]} features, but it is for rows: the person or "
            "recording of each. Give the groups of features as feature_groups."
        ) from error
    return task_of(given, space, budget, search, categories)


def _asked(
    function: str, budget: Budget | None, search: Search | None, flat: Mapping[str, Any]
) -> tuple[Budget, Search]:
    """Return the budget on its chip and the search, from objects or keywords."""
    bounds, others = split_kwargs(Budget, flat, budget)
    how, unknown = split_kwargs(Search, others, search)
    refuse(function, unknown, Budget, Search)
    return bounds.on_chip(), how


def task_of(given: tuple[Array, Array, Array | None], space_of: Callable[[Array, Array, Array | None], Space],
            budget: Budget, search: Search,
            categories: Mapping[int, Sequence[str]] | None = None) -> Task:  # fmt: skip
    """Return the task of rows, labels and groups of rows, in the space of the rows that the search sees."""
    rows, labels, groups = given
    seed, n_folds = search.random_state, search.folds
    if n_folds is None:
        n_folds = 3 if len(rows) <= _FEW_ROWS else 1
    aside = rows_to_set_aside(labels, seed, groups, n_folds)
    (rows, labels), (X_check, y_check) = parts(rows, labels, aside)
    groups = None if groups is None else np.delete(groups, aside)
    held_out, space = splits.folds(labels, n_folds, VALIDATION, seed, groups), space_of(rows, labels, groups)
    more = categories or {}, groups, search.learner
    return Task(rows, labels, held_out, space, budget, search.epochs, seed, X_check, y_check, *more)


def _fingerprint(task: Task) -> dict[str, str]:
    """Return what identifies a study: data, budget, space and settings."""

    def digest(*arrays: Array) -> str:
        sha = hashlib.sha256()
        for a in arrays:
            sha.update(f"{a.dtype} {a.shape}".encode() + np.ascontiguousarray(a).tobytes())
        return sha.hexdigest()[:16]

    labels = task.y if task.y.dtype.kind != "O" else task.y.astype(str)
    settings: dict[str, Any] = {"epochs": task.epochs, "folds": digest(*task.folds), "seed": task.seed}
    if task.categories:
        settings["categories"] = {str(f): list(names) for f, names in task.categories.items()}
    space: dict[str, Any] = {"groups": digest(np.array(task.space.feature_groups))}
    space |= {"max": task.space.max_clauses, "choices": CHOICES}
    if task.space.front_ends:
        space["front_ends"] = [front_end.as_dict() for front_end in task.space.front_ends]
    return {
        "data": digest(task.X, labels),
        "budget": json.dumps({k: str(v) for k, v in asdict(task.budget).items() if k != "luts"}),
        "space": json.dumps(space),
        "settings": json.dumps(settings),
    }


def tune_windows(X: ArrayLike, y: ArrayLike, front_end: FrontEnd, *, budget: Budget | None = None,
                 search: Search | None = None, groups: ArrayLike | None = None,
                 test: tuple[ArrayLike, ArrayLike] | None = None, workers: cluster.Cluster | None = None,
                 progress: Callable[[tuple[Trial, ...]], None] | None = None,
                 **flat: Any) -> Tuning:  # fmt: skip
    """Find the most accurate model of raw windows that a board can hold, from the sample to the label.

    Groups of kernels that do not pay are dropped first, see `ethereal.tuning.kernels`. The search then tries
    machines with several front ends that are left, and with the newest half of windows if that is as good.
    Without a bound on instructions there is one, a quarter more than all kernels of `front_end` take.

    Parameters
    ----------
    X, y
        Windows to learn from, windows x samples x axes, and labels.
    front_end
        All kernels that are offered.
    budget, search, groups, test, workers, progress, flat
        As in `tune`.

    Raises
    ------
    BudgetNotMet
        When no trial kept the budget.
    """
    began = time.monotonic()
    bounds, how = _asked("tune_windows", budget, search, flat)
    refuse_trees_of_windows(how.learner)
    bounds = bounded(bounds, front_end)
    windows, labels = front_end.counts(X), np.asarray(y)
    if labels.shape != (len(windows),):
        raise ValueError(f"y has shape {labels.shape}. Give one label for each of {len(windows)} windows.")
    chosen: list[KernelChoice] = []

    def space(some: Array, y_some: Array, groups: Array | None) -> Space:
        chosen.append(choose_front_ends(front_end, some, y_some, groups, bounds, how.random_state))
        return Space((), how.max_clauses, front_ends=chosen[0].tried)

    given = windows, labels, None if groups is None else np.asarray(groups)
    task = task_of(given, space, bounds, how)
    pair = None if test is None else (front_end.counts(test[0]), np.asarray(test[1]))
    return replace(_search(task, how, pair, workers, progress, began), kernels=chosen[0])


def choose_front_ends(
    front_end: FrontEnd, windows: NDArray[np.int16], y: Array, groups: Array | None, budget: Budget, seed: int
) -> KernelChoice:
    """Return the front ends to try machines with, those of whole windows first."""

    def path_of(offered: FrontEnd) -> tuple[Kept, ...]:
        some = newest(windows, offered.window)
        return drop_groups(offered, some, y, groups, target=budget.target, by_flash=True, seed=seed)

    path = path_of(front_end)
    tried = candidates(path, budget, _CANDIDATES)
    half = front_end.window // 2
    if half >= max(KERNELS[kernel].least for kernel, _ in front_end.groups):
        short = path_of(replace(front_end, window=half, hop=min(front_end.hop, half)))
        best = candidates(short, budget, 1)
        tried += [one for one in best if one.accuracy >= tried[0].accuracy - _MAY_LACK]
    return KernelChoice(path, tuple(one.front_end for one in tried))
