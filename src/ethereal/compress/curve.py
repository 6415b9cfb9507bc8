"""The pruning curve: ever smaller models that still decide like the given one.

The pruner (native/pruner.hpp) removes votes, literals and clauses, and changes votes by one. It takes a step
if the bits that it saves, times a price, are more than the loss that it costs on the rows. The price rises
until no clause is left, and each price gives one model of the curve. A teacher gives the loss:

- "votes" mixes the labels with the votes of the model itself, which keeps small models from overfitting.
- "blends" adds the model's votes on blends of rows, so that both models agree on other rows too.
- "labels" takes the labels alone, so that pruning can learn what the model did not.
- "unseen" mixes the labels with what learners answered who did not see the row. The rows bring these answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.base.splits import hold_out
from ethereal.compress import shorten_on
from ethereal.compress.narrow import narrowed
from ethereal.compress.task import MOST_FITTED, Bits, ClassTask, Floats, HeldOut, Lesson, Task, task_of
from ethereal.model import Model, Number
from ethereal.model.engine import booleans_of, input_matrix, is_windows
from ethereal.model.needs import AND_LINES, FRAMED, PATCHES, Supports

# Rows that the descent looks at, at first and then. Small models want all rows, while large models at a low
# price only get rid of what is of no use: lab/notes/tuning.md.
_FEW_ROWS, _MAX_ROWS = 20_000, 60_000
_FEW_FEATURES, _MAX_ROWS_OF_FEW = 32, 30_000  # whose clauses more rows do not change
_MAX_ROWS_OF_PATCHES = 30_000  # where a clause is tested at every position
_MANY_LITERALS, _LOW_PRICE = 15_000, 0.003
_HELD_OUT = 0.25  # share of the rows for accuracies when no validation rows are given
# Per teacher: the share of the model's own votes in the target, the share of the labels that is spread over
# all classes so that votes stay small, and the share of a blend's features that another row gives (0 for no
# blends).
_LESSONS = {"votes": (0.7, 0.0, 0.0), "blends": (0.7, 0.0, 0.1), "labels": (0.0, 0.1, 0.0)}
UNSEEN_SHARE = 0.7  # of such answers in the target, beside the labels
SWEEPS = 2  # per price. More pay on some sets and lose on others: lab/notes/tuning.md.
# Nats per bit. The first models of a curve lose next to nothing, lab/notes/tuning.md has the trials.
_FIRST_PRICE, _PRICE_STEP, _MAX_STEPS = 2e-4, 1.3, 66
# On few rows that price leaves a hole, from ten thousand bytes to some hundred. So they begin lower.
_FEW, _LOWER_STEPS = 1100, 8
# Clauses times rows times classes, beyond which a price takes seconds. One sweep is enough then, and so many
# prices are one step. No board holds these models.
_MUCH_WORK, _WIDE_STEP = 2e9, 4
_THRESHOLD_BITS = 32.0
SUPPORTS = Supports("pruning", front_ends=FRAMED, outputs=AND_LINES - {"unknown"}, patches=PATCHES)


class Prices(NamedTuple):
    """What the parts of a machine cost, in any one unit."""

    clause: float
    literal: float
    boolean: float  # one in use
    vote: float
    doubling: float  # of a vote


# As lookup tables. The votes cost most, because each is added up: lab/notes/verilog.md.
LUT_PRICES = Prices(8.0, 2.0, 1.0, 13.0, 3.0)
# The votes of what is left of a machine grow. Where so many are typical, all are halved at prices of gates.
_HEAVY = 3

Teacher = Literal["votes", "blends", "labels", "unseen"]
TEACHERS: tuple[Teacher, ...] = ("votes", "blends", "labels", "unseen")
Cost = TypeVar("Cost")  # what a model costs, as the caller counts it


@dataclass(frozen=True)
class PrunedModel(Generic[Cost]):
    """A point of the curve: a model, its share of right answers on held-out rows, and what it costs.

    Where the answer is a number, `accuracy` is R2.
    """

    model: Model
    accuracy: float
    estimate: Cost
    footprint: Cost | None = None  # None if the choice did not need it
    price: float = 0.0  # of a bit, in nats of loss on a row, 0 before the descent
    known: float = 1.0  # its own share of right answers on rows it learned from, if it was compared with them
    held_out: HeldOut | None = field(default=None, compare=False, repr=False)  # per row, if known


@dataclass(frozen=True)
class Curve(Generic[Cost]):
    """Models from the given one to the smallest."""

    curve: tuple[PrunedModel[Cost], ...]
    scale: float  # logits per vote
    teacher: Teacher
    sweeps: int = field(default=SWEEPS, kw_only=True)  # per price

    def at(self, price: float) -> PrunedModel[Cost]:
        """Return the model at a price, which is the last one that is not above it."""
        return [p for p in self.curve if p.price <= price][-1]


def prune_path(model: Model, rows: PruneRows, held_out: PruneRows, teacher: Teacher,
               cost: Callable[[Model], Cost], seed: int, *, seen: bool = False, sweeps: int = SWEEPS,
               start: Model | None = None, prices: Prices | None = None) -> Curve[Cost]:  # fmt: skip
    """Return the curve of a model on rows. Accuracies are those of the held-out rows.

    With `start`, the descent begins there, and the model is only the teacher and the first point. `prices`
    are those of the parts, by default their bits in the compact code.

    With `seen`, the model may have learned from the held-out rows. It is then too sure of them, and targets
    made of its votes would hold nothing but the labels. So its votes count no more than its temperature says,
    which was fitted on rows that training held out.
    """
    scale = logits_per_vote(model, held_out, seen)
    points = []
    for price, smaller in smaller_models(model, rows, scale, teacher, seed, sweeps, start, prices):
        answers = held_out.record(smaller, scale * (model.temperature / smaller.temperature))
        if seen:
            answers = held_out.task.believed(model, answers, held_out.codes)
        points.append(PrunedModel(smaller, answers.score, cost(smaller), price=price, held_out=answers))
    return Curve(tuple(points), scale, teacher, sweeps=sweeps)


def logits_per_vote(model: Model, held_out: PruneRows, seen: bool = False) -> float:
    """Return the scale of a model's votes on held-out rows. See `prune_path` for `seen`."""
    SUPPORTS.check(model.needs)
    return task_of(model).scale(model, held_out.votes(model), held_out.codes, seen)


def prune_path_like(model: Model, rows: PruneRows, like: Curve[Any], cost: Callable[[Model], Cost], seed: int,
                    *, start: Model | None = None, made: Iterable[tuple[float, Model]] | None = None,
                    prices: Prices | None = None) -> Curve[Cost]:  # fmt: skip
    """Return the curve of a model on all rows, with the accuracies of another curve at the same prices.

    These are the accuracies of other models. So no model counts more than its own accuracy on the rows that
    it learned from. `made` has the prices and models where `smaller_models` made them before.
    """
    points, seen = [], rows.sample(_FEW_ROWS, seed)
    if made is None:
        made = smaller_models(model, rows, like.scale, like.teacher, seed, like.sweeps, start, prices)
    for price, smaller in made:
        point, known = like.at(price), seen.accuracy(smaller)
        other = replace(point, model=smaller, estimate=cost(smaller), footprint=None, price=price)
        points.append(replace(other, accuracy=min(point.accuracy, known), known=known))
    return Curve(tuple(points), like.scale, like.teacher, sweeps=like.sweeps)


def rows_looked_at(n_rows: int, n_features: int) -> int:
    """Return how many of its rows a descent looks at.

    >>> rows_looked_at(100_000, 5), rows_looked_at(100_000, 500), rows_looked_at(5000, 5)
    (30000, 60000, 5000)
    """
    return min(n_rows, _MAX_ROWS_OF_FEW if n_features <= _FEW_FEATURES else _MAX_ROWS)


def clauses_in_full(n_clauses: int, n_rows: int, n_classes: int) -> float:
    """Return of how many clauses a descent would take as long, if all were pruned in small steps.

    >>> clauses_in_full(1800, 30_000, 3), clauses_in_full(15_000, 8000, 100)
    (1800, 4062.5)
    """
    few = min(n_clauses, _MUCH_WORK / (n_rows * n_classes))
    return few + (n_clauses - few) / (SWEEPS * _WIDE_STEP) if few < n_clauses else n_clauses


def smaller_models(model: Model, rows: PruneRows, scale: float, teacher: Teacher, seed: int,
                   sweeps: int = SWEEPS,
                   begin: Model | None = None,
                   prices: Prices | None = None) -> Iterator[tuple[float, Model]]:  # fmt: skip
    """Yield prices and models, the given one first, then from large to small.

    With `prices` of gates, the votes stay small, and the temperature of a model says how much a vote counts.
    """
    SUPPORTS.check(model.needs)
    n_features = int(model.feature_map.feature.max(initial=-1)) + 1
    most = rows_looked_at(len(rows.codes), n_features)
    some = rows.sample(most if model.patch is None else min(most, _MAX_ROWS_OF_PATCHES), seed)
    task, lesson = task_of(model), _lesson(model, some, scale, teacher, seed)
    yield 0.0, model.simplify()
    begin, n_rows = begin or model, len(lesson.booleans)
    start = shorten_on(begin, lesson.booleans) if begin.patch is None else begin.simplify()
    if start.is_number and start.n_clauses > MOST_FITTED:
        start = narrowed(start)  # equal clauses were joined
    yield 0.0, start
    every = math.ceil(n_rows / _FEW_ROWS)
    pruner = task.pruner(start, lesson.some(every), seed)
    size, parts, n_clauses = prices or _bits(start), math.ceil(sweeps / SWEEPS), start.n_clauses
    step = -parts * _LOWER_STEPS if len(rows.codes) <= _FEW else 0

    def is_much() -> bool:
        return n_clauses * math.ceil(n_rows / every) * start.n_classes > _MUCH_WORK

    while step < parts * _MAX_STEPS:
        # Models between two prices have one between them, so that curves of equal sweeps can be compared.
        price = _FIRST_PRICE * _PRICE_STEP ** (step // parts)
        between = price / _PRICE_STEP ** (1 - (step % parts + 1) / parts)
        left = sweeps - step % parts * SWEEPS
        moves = sum(pruner.sweep(price / every, size) for _ in range(1 if is_much() else min(left, SWEEPS)))
        literals, offsets, votes = pruner.clauses()
        smaller = start.with_clauses(literals, offsets, votes.reshape(-1, start.n_classes))
        if moves:
            yield between, task.finished(smaller, lesson.some(every))
        if len(offsets) == 1:
            break
        if every > 1 and price > _LOW_PRICE and len(literals) <= _MANY_LITERALS:
            every, pruner = 1, task.pruner(smaller, lesson, seed)
        n_clauses = len(offsets) - 1
        if prices is not None and np.median(np.abs(votes[votes != 0])) > _HEAVY:
            start, lesson = _halved(smaller), replace(lesson, scale=2 * lesson.scale)
            pruner = task.pruner(start, lesson.some(every), seed)
        step += _WIDE_STEP * parts if is_much() and step % parts == 0 else 1


def _halved(model: Model) -> Model:
    """Return the model with half the votes, half of which mean as much."""
    votes = np.rint(model.weights / 2).astype(np.int32)
    halved = model.with_clauses(model.literals, model.offsets, votes)
    return halved.with_temperature(model.temperature / 2).simplify()


def _lesson(model: Model, rows: PruneRows, scale: float, teacher: Teacher, seed: int) -> Lesson:
    """Return rows of Booleans and what the pruned model should answer."""
    booleans, task = rows.booleans, task_of(model)
    line, fine = model.output.line if isinstance(model.output, Number) else None, rows.fine
    if teacher == "unseen":
        targets = rows.unseen_targets(model.n_classes)
    else:
        own_share, spread, blended = _LESSONS[teacher]
        votes = rows.votes(model)
        if blended:  # rows without a label, which keep the linear part of theirs
            blends = _blends(booleans, model.feature_map.feature, blended, seed)
            votes = np.concatenate(
                [votes, model._votes(blends) + (0 if fine is None else _of_line(model, fine))]
            )
            booleans = np.concatenate([booleans, blends])
            fine = None if fine is None else np.tile(fine, 2)
        targets = task.targets(model, votes, rows.codes, scale, own_share, spread)
    if line is not None and fine is not None:  # clauses learn what it leaves
        targets = targets - line.step * fine
    return Lesson(booleans, targets, scale, task.signs(model))


def _of_line(model: Model, fine: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the votes of a linear part, rows x 1, from its sums."""
    output = model.output
    assert isinstance(output, Number)
    assert output.line is not None
    return output.line.rounded(fine, output.scale).astype(np.int32)[:, None]


def _blends(booleans: Bits, features: NDArray[np.int32], share: float, seed: int) -> Bits:
    """Return as many rows as are given, each with a share of its features from another row."""
    rng = np.random.default_rng(seed)
    other = rng.integers(len(booleans), size=len(booleans))
    n_features = int(features.max(initial=-1)) + 1
    from_other = rng.random((len(booleans), n_features)) < share
    return np.where(from_other[:, features], booleans[other], booleans)


def _bits(model: Model) -> Prices:
    """Return about what a clause, literal, used Boolean, vote and doubled vote take in the compact code.

    Clauses over patches are not in that code, so theirs is what tables of the C take.
    """
    if model.patch is not None:  # as the tables of its C have it
        literal = 8.0 if model.patch.n_content <= 256 else 16.0
        return Prices(16.0, literal, 16.0, 8.0 if model.n_classes <= 16 else 16.0, 0.5)
    literal = math.log2(2 * max(model.n_booleans, 1))
    boolean = 0.0 if model.booleanizer is None else _THRESHOLD_BITS
    return Prices(3.0, literal, boolean, math.log2(max(model.n_classes, 2)) + 2, 2.0)


def check_teacher(teacher: str) -> None:
    """Refuse an unknown teacher."""
    if teacher not in TEACHERS:
        raise ValueError(f"teacher is {teacher!r}. It must be one of {', '.join(map(repr, TEACHERS))}.")


@dataclass(frozen=True)
class PruneRows:
    """Labelled rows as the descent takes them."""

    raw: NDArray[Any]  # rows x features, or windows
    booleans: NDArray[np.bool_]  # rows x Booleans
    codes: NDArray[Any]  # index of each row's class, or its number
    groups: NDArray[Any] | None = None  # the person or recording of each row
    unseen: Floats | None = None  # rows x classes: shares by learners that did not see the row
    task: Task = field(default_factory=ClassTask)
    fine: NDArray[np.int64] | None = None  # what a linear part adds up to in each row

    @staticmethod
    def read(model: Model, X: ArrayLike, y: ArrayLike, x_name: str = "X", y_name: str = "y",
             groups: ArrayLike | None = None) -> PruneRows:  # fmt: skip
        """Check rows, labels and groups for a model."""
        SUPPORTS.check(model.needs)
        raw = np.asarray(X) if is_windows(model, X) else input_matrix(model, X)
        booleans = booleans_of(model, raw)
        labels = np.asarray(y)
        if labels.shape != (len(booleans),):
            raise ValueError(
                f"{y_name} has shape {labels.shape}. It must have one label for each of the "
                f"{len(booleans)} rows of {x_name}."
            )
        if len(booleans) == 0:
            raise ValueError(f"{x_name} has no rows. Give rows that show which clauses are needed.")
        codes = task_of(model).codes(model, labels, y_name)
        together = None if groups is None else np.asarray(groups)
        if together is not None and together.shape != codes.shape:
            raise ValueError(
                f"groups has shape {together.shape}. Give one group for each of the {len(codes)} rows."
            )
        line = model.output.line if isinstance(model.output, Number) else None
        fine = None if line is None else line.fine(raw)
        return PruneRows(raw, booleans, codes, together, task=task_of(model), fine=fine)

    def unseen_targets(self, n_classes: int) -> Floats:
        """Return the shares that the teacher "unseen" gives the classes in each row."""
        if self.unseen is None:
            raise ValueError(
                'teacher is "unseen", but the rows bring no answers of others. Give them as unseen=.'
            )
        labels: Floats = np.eye(n_classes)[self.codes]
        return UNSEEN_SHARE * self.unseen + (1 - UNSEEN_SHARE) * labels

    def split(self, seed: int) -> tuple[PruneRows, PruneRows]:
        """Return the rows to prune on and the rows to hold out, which are whole groups if there are some."""
        several = self.groups if self.groups is not None and len(np.unique(self.groups)) > 1 else None
        kept, held_out = hold_out(self.task.strata(self.codes), _HELD_OUT, seed % 2**32, several)
        if len(held_out) == 0:
            raise ValueError("X has one row of each class. Give more rows, or give validation=(X, y).")
        return self._take(kept), self._take(held_out)

    def sample(self, most: int, seed: int) -> PruneRows:
        """Return `most` random rows, or all rows if there are no more."""
        if len(self.codes) <= most:
            return self
        return self._take(np.random.default_rng(seed).permutation(len(self.codes))[:most])

    def accuracy(self, model: Model) -> float:
        """Return the share of these rows that a model answers right, or R2 of a number."""
        return self.record(model, 1.0).score

    def record(self, model: Model, scale: float) -> HeldOut:
        """Return how a model does on these rows."""
        return self.task.record(model, self.votes(model), self.codes, scale)

    def votes(self, model: Model) -> NDArray[np.int32]:
        """Return the votes that a model gives these rows, those of a linear part among them."""
        votes = model._votes(self.booleans)
        return votes if self.fine is None else votes + _of_line(model, self.fine)

    def _take(self, rows: NDArray[np.int64]) -> PruneRows:
        rows = np.sort(rows)
        groups = None if self.groups is None else self.groups[rows]
        unseen = None if self.unseen is None else self.unseen[rows]
        fine = None if self.fine is None else self.fine[rows]
        return PruneRows(
            self.raw[rows], self.booleans[rows], self.codes[rows], groups, unseen, self.task, fine
        )
