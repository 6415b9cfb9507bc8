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

from ethereal.base import watched
from ethereal.base.checks import check_integer, count_threads
from ethereal.base.splits import folds, group_folds, hold_out
from ethereal.cluster import Beside
from ethereal.compress.curve import (
    SWEEPS,
    TEACHERS,
    Cost,
    Curve,
    Prices,
    PruneRows,
    Teacher,
    check_teacher,
    prune_path_like,
)
from ethereal.compress.task import HeldOut, task_of, with_interval
from ethereal.features.booleanizer import Booleanizer
from ethereal.model import Model
from ethereal.tuning.budget import FEW_ROWS, Budget, Learner, check_learner, made_for
from ethereal.tuning.choice import BudgetError, Choice, PrunedModel, equals_of, noise, within
from ethereal.tuning.footprint import Footprint, GateFootprint, Measure, estimate, in_gates, priced, usable
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
)
from ethereal.tuning.sources import Pupil, Sources, Way, prices_of, ways_of

_TOLD = 4  # models of a curve, one is told of
_NEIGHBOURS = 2  # on each side, whose accuracies are averaged
_SPLIT_SHARE = 0.2  # share of the rows that a split holds out
_ENOUGH_ROWS = 1000  # Where rows are more than few, splits are repeated until so many were held out.
_FOLDS_OF_FEW = 5  # of few rows, each of which is held out once
# Machines that are joined and pruned as one where rows are few, and rows times features up to which it takes
# seconds: lab/notes/tuning.md.
_COMMITTEE, _FEW_CELLS = 5, 250_000
_LARGE, _TIMES = 2500, 6.5  # bytes of the estimate, and what a program takes against them
Train = Callable[[Array, Array], Model]  # a machine from rows and labels
Curves = Mapping[Way, Curve[Footprint]]  # of the machines of all rows, accuracies levelled
Tried = Mapping[Way, tuple[Curve[None], ...]]  # of each split's machines, no sizes


@dataclass(frozen=True)
class FrontierPoint:
    """The model for a budget."""

    budget: Budget
    point: PrunedModel
    way: Way

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
        budget = budget.settled()
        if any(isinstance(one.curve[0].estimate, GateFootprint) != budget.is_gates
               for one in self.curves.values()):  # fmt: skip
            raise ValueError(
                f"budget is {budget.describe()}, but a frontier has models for boards or for FPGAs. Give "
                "frontier() such a budget."
            )
        take = measure or usable(self.X, budget)

        def point_of(points: Sequence[PrunedModel]) -> PrunedModel:
            points = points if cheapest else [replace(p, held_out=None) for p in points]
            return within(points, budget, take, self.setup.give_away)

        best = nominated(self.curves, budget, point_of)[0]
        return FrontierPoint(budget, best.point, best.way)


@dataclass(frozen=True)
class Nominee:
    """The model of one way for a budget."""

    way: Way
    point: PrunedModel
    curve: tuple[PrunedModel, ...] = field(repr=False)  # that it was chosen from


def nominated(curves: Curves, budget: Budget,
              choose: Callable[[Sequence[PrunedModel]], PrunedModel]) -> list[Nominee]:  # fmt: skip
    """Return the models that are chosen from the curves of all ways, the one to take first.

    It is the cheapest of those that are worth as much as the best within the noise. Trees that stay trees are
    chosen from together.
    """
    nominees, families = list[Nominee](), dict[Way, list[tuple[PrunedModel, Way]]]()
    for way, curve in curves.items():
        families.setdefault(way.family, []).extend((point, way) for point in curve.curve)
    for family, points in families.items():
        if family.leaves:
            points = sorted(points, key=lambda pair: -pair[0].estimate.bytes)
        way_of = {id(point.model): way for point, way in points}
        chosen = choose([point for point, _ in points])
        nominees.append(Nominee(way_of[id(chosen.model)], chosen, tuple(point for point, _ in points)))
    fitting = [one for one in nominees if _excess(one, budget) <= 1]
    if not fitting:
        return sorted(nominees, key=lambda one: _excess(one, budget))

    def worth(one: Nominee) -> float:
        return budget.worth(one.point.accuracy, _took(one))

    def cost(one: Nominee) -> float:
        return budget.cost(_took(one))

    best = max(fitting, key=worth)
    good = equals_of(best, fitting, worth, cost, lambda one, other: noise(one.point, other.point))
    first = min(good, key=cost)
    return [first, *(one for one in nominees if one is not first)]


def _took(one: Nominee) -> Footprint:
    return one.point.footprint or one.point.estimate


def _excess(one: Nominee, budget: Budget) -> float:
    return math.inf if one.point.footprint is None else budget.excess(one.point.footprint)


def frontier(X: ArrayLike, y: ArrayLike, setup: Setup, budgets: Sequence[Budget] = (), *,
             splits: int | Sequence[Rows] = 1, teachers: Sequence[Teacher] = TEACHERS,
             learner: Learner = "auto", groups: ArrayLike | None = None, epochs: int = 30,
             booleanizer: Booleanizer | None = None, sweeps: int = SWEEPS, n_jobs: int | None = None,
             random_state: int = 0) -> Frontier:  # fmt: skip
    """Find the best models of one setup, and the best trees, for any budget.

    Per split, machines of several seeds learn from a part of the rows, are joined, and are pruned by every
    teacher. Boosted trees learn from the same rows. They are pruned too, or stay trees. The accuracies on the
    other rows are averaged over the splits at equal price, smoothed and levelled. Then all learn from all
    rows, in the same way. For each budget the best of their models is chosen that keeps it, among all sources
    and teachers. Few rows need several splits.

    Parameters
    ----------
    X, y
        Training rows and labels.
    setup
        The machines, such as `tune(...).setup`. `setup.teacher` is not used: all `teachers` are tried.
    budgets
        What the models may take. `Frontier.choose` takes further ones. All have lookup tables, or none has.
    splits
        How often a random fifth of the rows is held out, or the numbers of the rows that each split holds
        out. With groups, each split holds out another fifth of them, so there are five splits at most.
    teachers
        What pruning of machines learns from, see `prune`.
    learner
        "machine", "trees", or "auto" for both.
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
    >>> budgets = [Budget(instructions=200, flash="1k")]
    >>> found = frontier(X, y, setup, budgets, learner="machine", epochs=10, splits=2)
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
    check_learner(learner)
    machines = Machines(setup, booleanizer, epochs, seed)
    prices = prices_of(budgets[0].settled()) if budgets else None
    ways = ways_of(learner, teachers, is_gates=prices is not None)
    made = frontier_of(machines, rows, labels, held_out, ways, sweeps, n_jobs, groups, prices)
    return replace(made, points=tuple(made.choose(budget) for budget in budgets))


def frontier_of(machines: Machines, rows: Array, labels: Array, splits: Sequence[Rows], ways: Sequence[Way],
                sweeps: int = SWEEPS, n_jobs: int | None = None, groups: Array | None = None,
                prices: Prices | None = None) -> Frontier:  # fmt: skip
    """Return the frontier of machines of one setup, and of trees, without a budget yet."""
    everything, seed = (rows, labels), machines.seed

    def last() -> Model:
        # Epochs differ by points, so the last one may be bad. The rows that it learns from choose the epoch.
        # That is better than the best number of epochs of the splits, and than holding out a tenth of the
        # rows. The figures are in lab/notes/tuning.md.
        return machines.joined(everything, everything)

    sources = Sources.of(ways, machines.reader(*everything), rows, groups, prices)
    many: dict[str, Any] = {"sweeps": sweeps, "n_jobs": n_jobs}
    curves, tried = curves_of(machines.joined, last, everything, splits, sources, seed, **many)
    return Frontier(machines.setup, (), curves, tried, rows)


def curves_of(learn: Callable[[Labelled, Labelled], Model], last: Callable[[], Model], everything: Labelled,
              splits: Iterable[Rows], sources: Sources, seed: int,
              step: Callable[[], None] = lambda: None, sweeps: int = SWEEPS,
              n_jobs: int | None = None) -> tuple[Curves, Tried]:  # fmt: skip
    """Return the curves of the last models, with levelled accuracies of the splits, and those of the splits.

    `learn` makes a machine from rows to learn from and rows that a split holds out, and `last` makes the one
    that learned from `everything`. `step` is called when a machine was made and when it was pruned.
    """
    ways = sources.ways
    with Beside(count_threads(n_jobs)) as beside:
        begun = list[dict[Way, Callable[[], Curve[None]]]]()
        scales: dict[Way, list[Callable[[], float]]] = {way: [] for way in ways}
        unpriced: Callable[[Model], None] = beside.while_wanted(lambda _: None)
        wanted: Callable[[tuple[float, Model]], tuple[float, Model]] = beside.while_wanted(lambda one: one)
        learns = any(way.source == "machine" for way in ways)
        for held_out in splits:
            some, rest = parts(*everything, held_out)
            model = learn(some, rest) if learns else None
            step()
            if model is None:
                known = np.isin(rest[1], np.unique(some[1])) | sources.are_of_numbers
            else:  # a class may be in the held-out groups alone
                known = task_of(model).known(model, rest[1])
            seen = rest[0][known], rest[1][known]
            lessons = ways if known.any() else ()
            tries = replace(sources.without(held_out), ways=lessons)
            pupil = Pupil(some, tries, model, seed, beside)
            begun.append({way: beside.run(pupil.curve, way, seen, unpriced, sweeps) for way in lessons})
            for way in lessons:
                if not way.leaves:
                    scales[way].append(beside.run(pupil.scale, way, seen))
        final = Pupil(everything, sources, last() if learns else None, seed, beside)

        def made(way: Way) -> list[tuple[float, Model]]:
            scale = _mean_scale([one() for one in scales[way]]) if scales[way] else 1.0
            return [wanted(one) for one in final.smaller(way, scale, sweeps)]

        # The scale is known before the splits are pruned, so that all machines are pruned beside each other.
        ahead = {way: beside.run(made, way) for way in ways} if any(begun) else {}
        tried: dict[Way, tuple[Curve[None], ...]] = dict.fromkeys(ways, ())
        for descents in begun:
            for way, curve in descents.items():
                tried[way] += (curve(),)
                _tell(tried[way][-1])
            step()
        cost = beside.while_wanted(estimate if sources.prices is None else in_gates)

        def down(way: Way) -> Curve[Footprint]:
            if tried[way]:
                model, like = final.whole(way), mean_curve(tried[way], are_kept=way.leaves > 0)
                given = PruneRows.read(model, *everything)
                return levelled(prune_path_like(model, given, like, cost, seed, made=ahead[way]()))
            return final.curve(way, everything, cost, sweeps, has_seen=True)  # too few rows to hold some out

        curves = {way: beside.run(down, way) for way in ways}
        return {way: curve() for way, curve in curves.items()}, tried


def _tell(curve: Curve[Any]) -> None:
    """Tell whoever watches about some models of a split: estimated bytes, accuracy on held-out rows."""
    if watched.is_on():
        some = [one for one in curve.curve[1::_TOLD] if one.model.n_clauses]
        watched.note_points("held out", [[estimate(one.model).bytes, one.accuracy] for one in some])


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


def mean_curve(curves: Sequence[Curve[None]], *, are_kept: bool = False) -> Curve[None]:
    """Return one curve with the smoothed mean accuracy of several at each price.

    Smoothing keeps a lucky point among forty from being chosen. The rows of all splits show the noise. Trees
    that are kept as they are, few and far apart, are smoothed less.
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
    if are_kept:
        around = [raw[i - 1 : i + 2] if 0 < i < len(raw) - 1 else raw[i : i + 1] for i in range(len(raw))]
    smooth = tuple(replace(p, accuracy=float(np.mean(a))) for p, a in zip(points, around, strict=True))
    scale = _mean_scale([curve.scale for curve in curves])
    return Curve(smooth, scale, curves[0].teacher, sweeps=curves[0].sweeps)


def levelled(curve: Curve[Cost]) -> Curve[Cost]:
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

    nominees: tuple[Nominee, ...]  # the model of each way, the one that is taken first
    held_out: int  # rows that the accuracies come from, counted once per split
    budget: Budget = field(default_factory=Budget)
    sources: Sources | None = field(default=None, repr=False)

    @property
    def way(self) -> Way:
        """Where the model comes from."""
        return self.nominees[0].way

    @property
    def point(self) -> PrunedModel:
        """The model as a point of its curve."""
        return self.nominees[0].point

    @property
    def curve(self) -> tuple[PrunedModel, ...]:
        """What it was chosen from, from large to small."""
        return self.nominees[0].curve

    @property
    def others(self) -> list[Nominee]:
        """The best model of each other kind, such as trees where a machine was taken."""
        best = dict[str, Nominee]()
        for one in self.nominees:
            known = best.setdefault(one.way.kind, one)
            if one is not self.nominees[0] and one.point.accuracy > known.point.accuracy:
                best[one.way.kind] = one
        return [one for kind, one in best.items() if kind != self.way.kind]

    @cached_property
    def model(self) -> Model:
        """The model for the board, with the record of what it was pruned for."""
        model = with_interval(self.point.model, self.point.held_out)
        return made_for(model, self.budget, self.point.footprint)


@dataclass(frozen=True)
class BoardCurves:
    """The curves of all ways to a model for a board, of which each budget takes another model."""

    curves: Curves = field(repr=False)
    held_out: int  # rows that the accuracies come from, counted once per split
    machine: Model = field(repr=False)
    X: Array = field(repr=False)  # rows to execute models on
    sources: Sources | None = field(default=None, repr=False)

    def choose(self, budget: Budget, measure: Measure | None = None) -> BoardModel:
        """Return the model for a budget. Without a `measure` it is compiled where a size is bounded."""
        return BoardModel(tuple(self._nominees(budget, measure)), self.held_out, budget, self.sources)

    def _nominees(self, budget: Budget, measure: Measure | None) -> list[Nominee]:
        if budget.on_size:
            take = measure or usable(self.X, budget)
            refused = list[BudgetError]()

            def make(points: Sequence[PrunedModel]) -> PrunedModel:
                try:
                    return Choice(points, budget, take).make()
                except BudgetError as error:
                    refused.append(error)
                    return error.nearest

            nominees = nominated(self.curves, budget, make)
            if len(refused) == len(nominees):
                raise refused[0]
            return nominees
        bound = budget.for_rows(len(self.X), self.machine.n_classes)

        def knee(points: Sequence[PrunedModel]) -> PrunedModel:
            if self.machine.front_end is not None:
                # Most of its flash is that of its kernels, which the estimate knows.
                return within(points, Budget(), None)
            return within(points, bound, as_exported(points))

        made = nominated(self.curves, bound if self.machine.front_end is None else Budget(), knee)
        first, *others = made  # its flash is known to a compiler only
        return [replace(first, point=replace(first.point, footprint=None)), *others]


def as_exported(curve: Sequence[PrunedModel]) -> Measure:
    """Return what the export of a model takes, without a compiler.

    Programs of large models take seconds to write. Their flash is in proportion to that of the largest one
    which is written.
    """
    prices, estimates = priced(), {id(point.model): point.estimate for point in curve}
    written = [p for p in curve if not p.model.is_constant and p.estimate.bytes <= _LARGE]

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
              progress: Callable[[int, int], None] = lambda done, total: None,
              **how: Any) -> BoardModel:  # fmt: skip
    """Prune a machine that learned from all rows, with machines that `train` makes of some of them.

    Without a bound the knee of the curve is taken, and few rows have a bound of their own: see
    `Budget.for_rows`. When no model keeps the bounds there is a BudgetError. Further keywords are those of
    `board_curves`. Of several `ways` the best for the bounds is taken.
    """
    steps = 0

    def show(done: int, total: int) -> None:
        nonlocal steps
        progress(done, steps := total)

    budget = (budget or Budget()).settled()
    chosen = board_curves(train, machine, X, y, progress=show, prices=prices_of(budget), **how).choose(budget)
    progress(steps, steps)
    return chosen


def board_curves(train: Train, machine: Model, X: Array, y: Array, *, groups: Array | None = None,
                 seed: int = 0, n_jobs: int | None = None, ways: Sequence[Way] = (Way("machine", "votes"),),
                 prices: Prices | None = None,
                 progress: Callable[[int, int], None] = lambda done, total: None) -> BoardCurves:  # fmt: skip
    """Return the curves of all ways, from a machine that learned from all rows and others of some of them.

    Whole `groups` are held out. The curves do not depend on `n_jobs`. `progress` is told how many steps are
    done, and how many there are with the choice, which is the last one.
    """
    splits = list(splits_of(task_of(machine).strata(y), groups, seed))
    total, done = 2 * len(splits) + 2, 0
    progress(0, total)

    def step() -> None:
        nonlocal done
        progress(done := done + 1, total)

    def learn(some: Labelled, rest: Labelled) -> Model:
        return train(*some)

    sources = Sources.of(ways, machine, X, groups, prices)
    curves, tried = curves_of(learn, lambda: machine, (X, y), splits, sources, seed, step, n_jobs=n_jobs)
    records = [curve.curve[0].held_out for curve in tried[ways[0]]]
    progress(total - 1, total)
    held_out = sum(len(record.right) for record in records if record is not None)
    return BoardCurves(curves, held_out, machine, X, sources)


def splits_of(y: Array, groups: Array | None, seed: int) -> Iterator[Rows]:
    """Yield the rows that are held out. A split that leaves one class only is left out."""
    if groups is not None and len(np.unique(groups)) < 2:
        return
    if len(y) <= FEW_ROWS:  # each row is held out once
        splits: Iterable[Rows] = group_folds(y, groups, _FOLDS_OF_FEW, seed % 2**32)
    else:
        seeds = range(seed, seed + 1000 * max(1, round(_ENOUGH_ROWS / (_SPLIT_SHARE * len(y)))), 1000)
        splits = (np.sort(hold_out(y, _SPLIT_SHARE, one % 2**32, groups)[1]) for one in seeds)
    yield from (rest for rest in splits if len(rest) and len(np.unique(np.delete(y, rest))) > 1)
