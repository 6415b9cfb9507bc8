"""The models of one machine from large to small, with accuracies of held-out rows, and the choice among them.

The machine itself learned from all rows, so no row can tell how good its pruned models are. So machines of
the same kind learn from a part of the rows first. The rows that they did not see give the accuracies.
`frontier` has the models of a setup for any budget, and `for_board` the one for a board.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.isotonic import IsotonicRegression

from ethereal.base.checks import check_integer, count_threads
from ethereal.base.splits import folds, group_folds, hold_out
from ethereal.cluster import Beside
from ethereal.compress.curve import (
    SWEEPS,
    TEACHERS,
    Curve,
    PruneRows,
    Teacher,
    logits_per_vote,
    prune_path,
    prune_path_like,
    smaller_models,
)
from ethereal.compress.task import HeldOut, task_of, with_interval
from ethereal.features.booleanizer import Booleanizer
from ethereal.model import Model
from ethereal.tuning.budget import FEW_ROWS, Budget, made_for
from ethereal.tuning.choice import Choice, PrunedModel, equals_of, noise, within
from ethereal.tuning.footprint import Footprint, Measure, estimate, priced, usable
from ethereal.tuning.machines import (
    VALIDATION,
    Array,
    Labelled,
    Machines,
    Rows,
    Setup,
    Space,
    labelled,
    parts,
    pruned,
)
from ethereal.tuning.pruning import check_teacher

_NEIGHBOURS = 2  # on each side, whose accuracies are averaged
_SPLIT_SHARE = 0.2  # share of the rows that a split holds out
_ENOUGH_ROWS = 1000  # Where rows are more than few, splits are repeated until so many were held out.
_FOLDS_OF_FEW = 5  # of few rows, each of which is held out once
# Machines that are joined and pruned as one where rows are few, and rows times features up to which it takes
# seconds: lab/notes/tuning.md.
_COMMITTEE, _FEW_CELLS = 5, 250_000
_LARGE, _TIMES = 2500, 6.5  # bytes of the estimate, and what a program takes against them
Train = Callable[[Array, Array], Model]  # a machine from rows and labels
Curves = Mapping[Teacher, Curve[Footprint]]  # of the machines of all rows, accuracies levelled
Tried = Mapping[Teacher, tuple[Curve[None], ...]]  # of each split's machines, no sizes


@dataclass(frozen=True)
class FrontierPoint:
    """The model for a budget."""

    budget: Budget
    point: PrunedModel
    teacher: Teacher

    @cached_property
    def model(self) -> Model:
        """The model, which learned from all rows."""
        return made_for(self.point.model, self.budget, self.point.footprint)

    @property
    def accuracy(self) -> float:
        """Expected accuracy, from the rows that the splits held out."""
        return self.point.accuracy

    @property
    def footprint(self) -> Footprint:
        """What the compiled model takes."""
        return self.point.footprint or self.point.estimate

    @property
    def excess(self) -> float:
        """How many times the tightest bound is used."""
        return math.inf if self.point.footprint is None else self.budget.excess(self.point.footprint)

    @property
    def fits(self) -> bool:
        """Whether it keeps the budget. If not, no model does, and this is the nearest."""
        return self.excess <= 1


@dataclass(frozen=True)
class Frontier:
    """What `frontier` found."""

    setup: Setup
    points: tuple[FrontierPoint, ...]  # one per budget, in the order that was asked for
    curves: Curves
    tried: Tried = field(repr=False)
    X: Array = field(repr=False)  # rows to execute models on

    def choose(self, budget: Budget, *, measure: Measure | None = None,
               cheapest: bool = True) -> FrontierPoint:  # fmt: skip
        """Return the model for a further budget.

        By default a model is compiled and executed to find what it takes, see `on_device`. A `measure` is
        another way. With `cheapest`, the cheapest of the models is taken that are equally accurate within the
        noise of the validation rows, else the most accurate one.
        """
        take = measure or usable(self.X, budget.target, **budget.keywords)
        nominees = []
        for teacher, curve in self.curves.items():
            points = curve.curve if cheapest else [replace(p, held_out=None) for p in curve.curve]
            point = within(points, budget, take, self.setup.give_away)
            nominees.append(FrontierPoint(budget, point, teacher))
        inside = [f for f in nominees if f.fits]
        if not inside:
            return min(nominees, key=lambda f: f.excess)

        def worth(one: FrontierPoint) -> float:
            return budget.worth(one.accuracy, one.footprint)

        def cost(one: FrontierPoint) -> float:
            return budget.cost(one.footprint)

        best = max(inside, key=worth)
        good = equals_of(best, inside, worth, cost, lambda one, other: noise(one.point, other.point))
        return min(good, key=cost)


def frontier(X: ArrayLike, y: ArrayLike, setup: Setup, budgets: Sequence[Budget] = (), *,
             splits: int | Sequence[Rows] = 1, teachers: Sequence[Teacher] = TEACHERS,
             groups: ArrayLike | None = None, epochs: int = 30, booleanizer: Booleanizer | None = None,
             sweeps: int = SWEEPS, n_jobs: int | None = None, random_state: int = 0) -> Frontier:  # fmt: skip
    """Find the best models of one setup for any budget.

    Per split, machines of several seeds learn from a part of the rows, are joined, and are pruned by every
    teacher. The accuracies on the other rows are averaged over the splits at equal price, smoothed and
    levelled. Then machines learn from all rows and are pruned in the same way. For each budget the best of
    their models is chosen that keeps it, among all teachers. Few rows need several splits.

    Parameters
    ----------
    X, y
        Training rows and labels.
    setup
        The machines, such as `tune(...).setup`. `setup.teacher` is not used: all `teachers` are tried.
    budgets
        What the models may take. `Frontier.choose` takes further ones.
    splits
        How often a random fifth of the rows is held out, or the numbers of the rows that each split holds
        out. With groups, each split holds out another fifth of them, so there are five splits at most.
    teachers
        What pruning learns from, see `prune`.
    groups
        The person, recording or batch of each row. Whole groups are then held out.
    epochs
        Epochs of each training. The best one is kept.
    booleanizer
        Makes Booleans of the features, in place of the bins of the setup.
    sweeps
        How often pruning looks at all parts of a model per price. With more there are more models to
        choose from, and it takes longer. They made small models better on some sets and worse on others.
    n_jobs
        Threads that prune, beside the training of the next machines. None is one, -1 is one per core. The
        models do not depend on it.
    random_state
        Seed of the splits, the machines and of pruning.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> setup = Setup((4,), ("thermometer",), 10, 3, 3.0, None, None, 1, "votes", 0.0)
    >>> found = frontier(X, y, setup, [Budget(instructions=200, flash="1k")], epochs=10, splits=2)
    >>> found.points[0].footprint.bytes <= 1024
    True
    >>> found.choose(Budget(instructions=100)).accuracy > 0.9
    True
    """
    if not isinstance(setup, Setup):
        raise TypeError(f"setup is {setup!r}. Give a Setup, such as tune(X, y).setup.")
    seed = check_integer("random_state", random_state, 0, 2**31 - 1)
    check_integer("sweeps", sweeps, 1, 1000)
    for teacher in teachers:
        check_teacher(teacher)
    rows, labels, groups = labelled(X, y, groups)
    if booleanizer is None:
        booleanizer = Space.of(rows, None, setup.n_clauses).booleanizer(setup)

    held_out = _held_out(labels, splits, groups, seed)
    machines = Machines(setup, booleanizer, epochs, seed)
    made = frontier_of(machines, rows, labels, held_out, teachers, sweeps, n_jobs)
    return replace(made, points=tuple(made.choose(budget) for budget in budgets))


def frontier_of(machines: Machines, rows: Array, labels: Array, splits: Sequence[Rows],
                teachers: Sequence[Teacher] = TEACHERS, sweeps: int = SWEEPS,
                n_jobs: int | None = None) -> Frontier:  # fmt: skip
    """Return the frontier of machines of one setup, without a budget yet."""
    everything, seed = (rows, labels), machines.seed

    def last() -> Model:
        # Epochs differ by points, so the last one may be bad. The rows that it learns from choose the epoch.
        # That is better than the best number of epochs of the splits, and than holding out a tenth of the
        # rows. The figures are in lab/notes/tuning.md.
        return machines.joined(everything, everything)

    many: dict[str, Any] = {"sweeps": sweeps, "n_jobs": n_jobs}
    curves, tried = curves_of(machines.joined, last, everything, splits, teachers, seed, **many)
    return Frontier(machines.setup, (), curves, tried, rows)


def curves_of(learn: Callable[[Labelled, Labelled], Model], last: Callable[[], Model], everything: Labelled,
              splits: Iterable[Rows], teachers: Sequence[Teacher], seed: int,
              step: Callable[[], None] = lambda: None, sweeps: int = SWEEPS,
              n_jobs: int | None = None) -> tuple[Curves, Tried]:  # fmt: skip
    """Return the curves of the last model, with levelled accuracies of the splits, and those of the splits.

    `learn` makes a model from rows to learn from and rows that a split holds out, and `last` makes the one
    that learned from `everything`. `step` is called when a model was made and when it was pruned.
    """
    with Beside(count_threads(n_jobs)) as beside:
        begun, scales = list[dict[Teacher, Callable[[], Curve[None]]]](), list[float]()
        unpriced: Callable[[Model], None] = beside.while_wanted(lambda _: None)
        wanted: Callable[[tuple[float, Model]], tuple[float, Model]] = beside.while_wanted(lambda one: one)
        for held_out in splits:
            some, rest = parts(*everything, held_out)
            model = learn(some, rest)
            step()
            known = task_of(model).known(model, rest[1])  # a class may be in the held-out groups alone
            seen = rest[0][known], rest[1][known]
            lessons = teachers if known.any() else ()
            asked = model, some, seen
            begun.append({t: beside.run(pruned, *asked, t, seed, unpriced, sweeps) for t in lessons})
            if lessons:
                scales.append(logits_per_vote(model, PruneRows.read(model, *seen)))
        final = last()
        given = PruneRows.read(final, *everything)

        def made(teacher: Teacher) -> list[tuple[float, Model]]:
            smaller = smaller_models(final, given, _mean_scale(scales), teacher, seed, sweeps)
            return [wanted(one) for one in smaller]

        # The scale is known before the splits are pruned, so that all machines are pruned beside each other.
        ahead = {teacher: beside.run(made, teacher) for teacher in teachers} if scales else {}
        tried: dict[Teacher, tuple[Curve[None], ...]] = dict.fromkeys(teachers, ())
        for descents in begun:
            for teacher, curve in descents.items():
                tried[teacher] += (curve(),)
            step()
        cost = beside.while_wanted(estimate)

        def down(teacher: Teacher) -> Curve[Footprint]:
            if tried[teacher]:
                like = mean_curve(tried[teacher])
                return levelled(prune_path_like(final, given, like, cost, seed, made=ahead[teacher]()))
            # too few rows to hold some out
            return prune_path(final, given, given, teacher, cost, seed, seen=True, sweeps=sweeps)

        curves = {teacher: beside.run(down, teacher) for teacher in teachers}
        return {teacher: curve() for teacher, curve in curves.items()}, tried


def _held_out(y: Array, splits: int | Sequence[Rows], groups: Array | None, seed: int) -> Sequence[Rows]:
    if not isinstance(splits, (int, np.integer)):
        return splits
    check_integer("splits", splits, 1, 1000)
    if groups is None:
        return [folds(y, 1, VALIDATION, seed + 1000 * i)[0] for i in range(splits)]
    folds(y, 1, VALIDATION, seed, groups)  # refuses groups that cannot be held out
    # Other seeds would give the same groups again: classes are spread over whole groups in one best way.
    return group_folds(y, groups, round(1 / VALIDATION), seed)[:splits]


def _mean_scale(scales: Sequence[float]) -> float:
    return math.exp(np.mean([math.log(scale) for scale in scales]))


def mean_curve(curves: Sequence[Curve[None]]) -> Curve[None]:
    """Return one curve with the smoothed mean accuracy of several at each price.

    Smoothing keeps a lucky point among forty from being chosen. The rows of all splits show the noise.
    """
    points = []
    for point in curves[0].curve:
        same = [point, *(other.at(point.price) for other in curves[1:])]
        seen = [p.held_out for p in same if p.held_out is not None]
        mean = float(np.mean([p.accuracy for p in same]))
        points.append(replace(point, accuracy=mean, held_out=HeldOut.joined(seen)))
    raw = [p.accuracy for p in points]
    near = math.ceil(_NEIGHBOURS * curves[0].sweeps / SWEEPS)  # the same prices, however fine the curve is
    around = [raw[max(0, i - near) : i + near + 1] for i in range(len(raw))]
    smooth = tuple(replace(p, accuracy=float(np.mean(a))) for p, a in zip(points, around, strict=True))
    scale = _mean_scale([curve.scale for curve in curves])
    return Curve(smooth, scale, curves[0].teacher, sweeps=curves[0].sweeps)


def levelled(curve: Curve[Footprint]) -> Curve[Footprint]:
    """Let accuracies fall and losses rise as models shrink, from the best one on.

    A smaller model that is better than a larger one is chance, so both get their mean. Within such a run the
    values go over to those of the neighbours. Without that a run would look flat, and its smallest model
    would be taken for its cost. Of equals the larger one is a little better, so that it is chosen if it fits.
    """
    accuracy = _falling(np.array([p.accuracy for p in curve.curve]))
    held_out = [p.held_out for p in curve.curve]
    records = [r for r in held_out if r is not None]
    if len(records) == len(held_out):
        mean = np.array([float(r.loss.mean()) for r in records])
        shift = (-_falling(-mean) - mean).astype(np.float32)
        held_out = [replace(r, loss=r.loss + d) for r, d in zip(records, shift, strict=True)]
    points = zip(curve.curve, accuracy.tolist(), held_out, strict=True)
    return replace(curve, curve=tuple(replace(p, accuracy=min(a, p.known), held_out=h) for p, a, h in points))


def _falling(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values that fall from the highest one on, by isotonic regression and lines between its steps.

    >>> _falling(np.array([0.5, 0.9, 0.6, 0.7, 0.8, 0.3])).round(2).tolist()
    [0.5, 0.9, 0.8, 0.7, 0.5, 0.3]
    """
    best = int(np.argmax(values))
    after = np.arange(best, len(values))
    steps = IsotonicRegression(increasing=False).fit_transform(after, values[best:])
    level, run = np.unique(-steps, return_inverse=True)
    middle = np.bincount(run, after) / np.bincount(run)
    falling = np.interp(after, middle, -level) - 1e-6 * (after - best)
    return np.concatenate([values[:best], falling])


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

    @cached_property
    def model(self) -> Model:
        """The model for the board, with the record of what it was pruned for."""
        model = with_interval(self.point.model, self.point.held_out)
        return made_for(model, self.budget, self.point.footprint)


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


def for_board(train: Train, machine: Model, X: Array, y: Array, *, budget: Budget | None = None,
              groups: Array | None = None, seed: int = 0, n_jobs: int | None = None,
              progress: Callable[[int, int], None] = lambda done, total: None) -> BoardModel:  # fmt: skip
    """Prune a machine that learned from all rows, with machines that `train` makes of some of them.

    Without a bound the knee of the curve is taken, and few rows have a bound of their own: see
    `Budget.for_rows`. When no model keeps the bounds there is a BudgetError. Whole `groups` are held out. The
    model does not depend on `n_jobs`. `progress` is told how many steps are done, and how many there are.
    """
    strata = task_of(machine).strata(y)
    splits, budget = list(_splits(strata, groups, seed)), budget or Budget()
    total, done, held_out = 2 * len(splits) + 2, 0, 0
    progress(0, total)

    def step() -> None:
        nonlocal done
        progress(done := done + 1, total)

    def learn(some: Labelled, rest: Labelled) -> Model:
        nonlocal held_out
        model = train(*some)
        held_out += int(task_of(model).known(model, rest[1]).sum())
        return model

    curves, _ = curves_of(learn, lambda: machine, (X, y), splits, ("votes",), seed, step, n_jobs=n_jobs)
    curve = curves["votes"].curve
    progress(total - 1, total)
    point = _chosen(curve, budget, X, machine)
    progress(total, total)
    return BoardModel(point, curve, held_out, budget)


def _chosen(curve: Sequence[PrunedModel], budget: Budget, X: Array, machine: Model) -> PrunedModel:
    if budget.on_size:
        return Choice(curve, budget, usable(X, budget.target, **budget.keywords)).make()
    if machine.front_end is not None:  # most of its flash is that of its kernels, which the estimate knows
        return replace(within(curve, Budget(), None), footprint=None)
    point = within(curve, budget.for_rows(len(X), machine.n_classes), as_exported(curve))
    return replace(point, footprint=None)  # which only a compiler knows


def _splits(y: Array, groups: Array | None, seed: int) -> Iterator[Rows]:
    """Yield the rows that are held out. A split that leaves one class only is left out."""
    if groups is not None and len(np.unique(groups)) < 2:
        return
    if len(y) <= FEW_ROWS:  # each row is held out once
        splits: Iterable[Rows] = group_folds(y, groups, _FOLDS_OF_FEW, seed % 2**32)
    else:
        seeds = range(seed, seed + 1000 * max(1, round(_ENOUGH_ROWS / (_SPLIT_SHARE * len(y)))), 1000)
        splits = (np.sort(hold_out(y, _SPLIT_SHARE, one % 2**32, groups)[1]) for one in seeds)
    yield from (rest for rest in splits if len(rest) and len(np.unique(np.delete(y, rest))) > 1)
