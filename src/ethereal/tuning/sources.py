"""Where models come from that a choice is made among: machines and boosted trees, and what each learns from.

A `Way` is a source and a teacher. Machines are pruned by a teacher. So are trees, whose leaves are clauses.
Trees may also stay the trees that they are. Then there are few of them, and the first ones are the smaller
models. A `Pupil` has what learned from a part of the rows, and makes the curve of each way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from ethereal.cluster import Beside
from ethereal.compress.curve import (
    LUT_PRICES,
    SWEEPS,
    Cost,
    Curve,
    Prices,
    PrunedModel,
    PruneRows,
    Teacher,
    logits_per_vote,
    prune_path,
    smaller_models,
)
from ethereal.model import Model
from ethereal.trees.grow import Floats, Ground, Grown, Shape
from ethereal.trees.unseen import unseen_shares
from ethereal.tuning.budget import Budget, Learner
from ethereal.tuning.machines import Array, Labelled, Rows

# Trees that are pruned as clauses, and those that stay trees: leaves, rate of learning, and how many. Few, so
# that the choice among them is not luck. lab/notes/sources.md has the trials.
_PRUNED = Shape(40, 12, 0.3)
_LEAVES, _RATE, _TREES = (5, 8, 12), 0.3, (30, 22, 16, 12, 8, 6, 4, 3, 2, 1)


class Way(NamedTuple):
    """A source and what it learns from.

    >>> print(Way("machine", "votes"), Way("trees", "labels", 8), sep="; ")
    a machine, pruned by its votes; boosted trees of at most 8 leaves, kept as trees
    """

    source: Literal["machine", "trees"]
    teacher: Teacher
    leaves: int = 0  # of trees that stay trees, 0 where clauses are pruned

    def __str__(self) -> str:
        if self.leaves:
            return f"boosted trees of at most {self.leaves} leaves, kept as trees"
        teacher = {"votes": "its votes", "unseen": "answers to unseen rows"}.get(self.teacher, self.teacher)
        return (
            f"{'a machine' if self.source == 'machine' else 'a model of boosted trees'}, pruned by {teacher}"
        )

    @property
    def family(self) -> Way:
        """The way itself, or one for all trees that stay trees, which are chosen among together."""
        return Way("trees", "labels", 1) if self.leaves else self

    @property
    def kind(self) -> str:
        """What is told of in a report: machines, trees that were pruned, or trees that stay trees."""
        return "kept trees" if self.leaves else self.source


def refuse_trees_of_windows(learner: str) -> None:
    """Refuse what no model of windows comes from: trees would ask for all of its kernels."""
    if learner == "trees":
        raise ValueError("learner is 'trees', but models of recordings come from machines. Give 'machine'.")


def prices_of(budget: Budget) -> Prices | None:
    """Return the prices of the parts of a machine for a budget, None for their bits in the compact code."""
    return LUT_PRICES if budget.is_gates else None


def ways_of(learner: Learner, teachers: Sequence[Teacher], *, is_gates: bool = False) -> tuple[Way, ...]:
    """Return the ways of a learner. Machines are pruned by all these teachers.

    In gates no trees are kept as they are, because each vote is added up and theirs are large.

    >>> [str(way) for way in ways_of("machine", ["votes", "unseen"])]
    ['a machine, pruned by its votes', 'a machine, pruned by answers to unseen rows']
    """
    machines = [Way("machine", teacher) for teacher in teachers]
    trees = [Way("trees", teacher) for teacher in ("votes", "unseen")]  # type: ignore[arg-type]
    kept = [] if is_gates else [Way("trees", "labels", leaves) for leaves in _LEAVES]
    return (*(machines if learner != "trees" else ()), *(trees + kept if learner != "machine" else ()))


@dataclass(frozen=True)
class Sources:
    """The ways to try, and what they need to know of the rows."""

    ways: tuple[Way, ...]
    ground: Ground | None = None  # of trees, and of the teacher "unseen"
    groups: Array | None = None  # the person, recording or batch of each row
    prices: Prices | None = None  # of the parts of a machine, None for their bits in the compact code

    @staticmethod
    def of(ways: Sequence[Way], model: Model, X: Array, groups: Array | None,
           prices: Prices | None = None) -> Sources:  # fmt: skip
        """Return the ways with their ground for rows that a model reads."""
        needed = any(way.source == "trees" or way.teacher == "unseen" for way in ways)
        return Sources(tuple(ways), Ground.like(model, X) if needed else None, groups, prices)

    def without(self, held_out: Rows) -> Sources:
        """Return the sources for the other rows."""
        return self if self.groups is None else replace(self, groups=np.delete(self.groups, held_out))


class Pupil:
    """What learned from a part of the rows. Its trees are grown beside what else is done."""

    def __init__(self, part: Labelled, sources: Sources, machine: Model | None, seed: int,
                 beside: Beside) -> None:  # fmt: skip
        self._part, self._machine, self._seed, self._prices = part, machine, seed, sources.prices
        (X, y), ways, ground, groups = part, sources.ways, sources.ground, sources.groups
        more = [way for way in ways if way.source == "trees" or way.teacher == "unseen"]
        if not more:
            return
        if ground is None:
            raise ValueError(f"ground is missing, which {more[0]} needs.")
        classes, targets = np.unique(y, return_inverse=True)
        codes = beside.run(ground.codes, X)

        def shares() -> Floats:
            return unseen_shares(codes(), targets, len(classes), groups, seed)

        def grown(way: Way) -> Grown:
            return ground.grow(codes(), y, Shape(_TREES[0], way.leaves, _RATE), seed)

        if any(way.teacher == "unseen" for way in ways):
            self._shares = beside.run(shares)
        if any(way.source == "trees" and not way.leaves for way in ways):
            self._trees = beside.run(lambda: ground.grow(codes(), y, _PRUNED, seed).model())
        self._grown = {way: beside.run(grown, way) for way in ways if way.leaves}

    def whole(self, way: Way) -> Model:
        """Return the model that a way begins with."""
        if way.leaves:
            return self._grown[way]().model()
        if way.source == "trees":
            return self._trees()
        assert self._machine is not None
        return self._machine

    def rows(self, way: Way) -> PruneRows:
        """Return the rows that it learned from as its descent takes them."""
        rows = PruneRows.read(self.whole(way), *self._part)
        return replace(rows, unseen=self._shares()) if way.teacher == "unseen" else rows

    def scale(self, way: Way, seen: Labelled) -> float:
        """Return the logits per vote on rows that were held out."""
        model = self.whole(way)
        return logits_per_vote(model, PruneRows.read(model, *seen))

    def smaller(self, way: Way, scale: float, sweeps: int = SWEEPS) -> Iterator[tuple[float, Model]]:
        """Yield prices and models, from large to small."""
        if not way.leaves:
            model = self.whole(way)
            lesson = self.rows(way), scale, way.teacher, self._seed, sweeps
            yield from smaller_models(model, *lesson, prices=self._prices)
            return
        grown = self._grown[way]()
        for n_trees in _TREES:  # a price that rises with each tree less, and is the same in every split
            yield (0.0 if n_trees == _TREES[0] else 1 / n_trees), grown.model(n_trees).simplify()

    def curve(self, way: Way, seen: Labelled, cost: Callable[[Model], Cost], sweeps: int = SWEEPS, *,
              has_seen: bool = False) -> Curve[Cost]:  # fmt: skip
        """Return the curve of a way with the accuracies on rows that were held out, or that it has seen."""
        model = self.whole(way)
        held_out = PruneRows.read(model, *seen)
        if not way.leaves:
            made = self.rows(way), held_out, way.teacher, cost, self._seed
            return prune_path(model, *made, seen=has_seen, sweeps=sweeps, prices=self._prices)
        points = []
        scale = 1 / model.temperature
        for price, smaller in self.smaller(way, scale):
            answers = held_out.record(smaller, scale)
            accuracy = float(answers.right.mean())
            points.append(PrunedModel(smaller, accuracy, cost(smaller), price=price, held_out=answers))
        return Curve(tuple(points), scale, way.teacher)


def alone(part: Labelled, sources: Sources, machine: Callable[[], Model], price: float, held_out: Labelled,
          seed: int) -> Model:  # fmt: skip
    """Return the model that a way, the only one, has at a price when it learns from a part of the rows."""
    [way] = sources.ways
    with Beside(1) as beside:
        pupil = Pupil(part, sources, machine() if way.source == "machine" else None, seed, beside)
        scale, chosen = 1.0 if way.leaves else pupil.scale(way, held_out), None
        for at, model in pupil.smaller(way, scale):
            if chosen is not None and at > price:
                break
            chosen = model
    assert chosen is not None
    return chosen
