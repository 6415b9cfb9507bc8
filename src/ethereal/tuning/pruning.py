"""Lossy pruning: the smallest machine that still decides like the given one.

All clauses are shared by all classes: each has a small integer vote per class. Starting from the model as it
is, a descent (native/pruner.hpp) takes away votes, literals and clauses, and changes votes by one, as long as
that pays: what it saves in size, times a price, is more than what it costs in loss on the rows. The price
rises step by step from next to nothing until no clause is left; each step gives one model of the curve. The
loss is taken against a teacher: a mix of the labels and of the votes of the model itself, which keeps small
models from overfitting; that and what the model votes on blends of rows, so that the pruned model decides
like it on rows unlike those given; or labels alone, from which the descent learns what the model did not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import train_test_split

from ethereal import _native
from ethereal.base.calibration import softmax, vote_scale
from ethereal.base.checks import check_integer
from ethereal.base.matrices import class_codes
from ethereal.compress.shortening import shorten_on
from ethereal.model.inputs import booleans_of, input_matrix
from ethereal.tuning.bounds import Bounds, HeldOut, PrunedModel
from ethereal.tuning.choice import Choice
from ethereal.tuning.footprint import Footprint, Measure, estimate, on_device

if TYPE_CHECKING:
    from ethereal.model import Model

_MAX_ROWS = 20_000  # that the descent looks at; more make it slower but hardly better
_HELD_OUT = 0.25  # share of the rows for accuracies when no validation rows are given
# Per teacher: share of the model's own votes in the target, the rest are labels; share of the labels that is
# spread over all classes, without which votes grow until shares of classes can no longer be told from 0;
# share of the features of a blend that are those of another row, 0: there are no blends.
_TEACHERS = {"votes": (0.7, 0.0, 0.0), "blends": (0.7, 0.0, 0.1), "labels": (0.0, 0.1, 0.0)}
_SWEEPS = 2  # per price
_FIRST_PRICE, _PRICE_STEP, _MAX_STEPS = 1e-3, 1.3, 60  # nats per bit; 1.3**60 is 7 million
_THRESHOLD_BITS = 32.0
_LEAST_SHARE = 1e-9  # of a class: one row that is wrong and sure of it does not decide alone


Teacher = Literal["votes", "blends", "labels"]


@dataclass(frozen=True)
class Pruning:
    """What `prune` found: the chosen model, and the curve from the model as it was to the smallest."""

    model: Model
    accuracy: float  # on held-out rows
    footprint: Footprint
    curve: tuple[PrunedModel, ...]
    scale: float  # logits per vote
    teacher: Teacher

    def accuracy_at(self, price: float) -> float:
        """Accuracy of the curve's model at a price: of the last one that is not above it."""
        return self._at(price).accuracy

    def _at(self, price: float) -> PrunedModel:
        return [p for p in self.curve if p.price <= price][-1]


def prune(
    model: Model,
    X: ArrayLike,
    y: ArrayLike,
    *,
    max_bytes: int | None = None,
    max_instructions: float | None = None,
    max_ram: int | None = None,
    max_loss: float | None = None,
    validation: tuple[ArrayLike, ArrayLike] | None = None,
    target: str = "cortex-m7",
    measure: Measure | None = None,
    teacher: Teacher = "votes",
    like: Pruning | None = None,
    random_state: int = 0,
) -> Pruning:
    """Take clauses, literals and votes away until the model fits.

    Parameters
    ----------
    model
        A trained model.
    X, y
        Rows and labels to prune on: the training rows.
    max_bytes, max_instructions, max_ram
        Bounds on what `ethereal.export.c` really takes: flash with all code, instructions from features to
        class of the most expensive held-out row, and RAM with the stack. Never exceeded: the model is
        compiled in the layout that `footprint.layout` names, and executed. The most accurate model within
        them is chosen. Of models that are equally accurate within the noise of the held-out rows, the
        cheapest is chosen: the one with the fewest instructions where these are not bounded, otherwise the
        one that uses the smallest part of the bounds.
    max_loss
        Accuracy that may be lost on held-out rows (0.01: one point), against the given model and against the
        best of the curve. The smallest model within that is chosen. 0 when no bound is given at all.
    validation
        Held-out rows and labels, best such that the model was not trained on. None: a quarter of the rows of
        each class, taken from `X`. The fewer rows there are, the larger is the model that is chosen without
        a bound: a small model that is good by chance on few rows would be worse on others.
    target
        The core to compile for.
    measure
        Another way to find what a model takes. None: `on_device` when a size is bounded, which needs the
        extra `device`, else `estimate`.
    teacher
        What the pruned model learns from: "votes", the labels and the model's own votes; "blends", these and
        the model's votes on as many rows again, each with a tenth of its features taken from another row,
        which is better where the device meets other people or places than those of the rows; or "labels",
        the labels alone, often better for large machines and worse for small ones.
    like
        What pruning found for a machine that was trained the same way on a part of the rows, the rest held
        out. Then nothing is held out here, its teacher is taken, and a model's accuracy is what the model at
        the same price had there: so the last machine can learn from all rows. The choice is made by those
        rows too.
    random_state
        Seed of the held-out rows and of the order in which clauses are visited.

    Raises
    ------
    BudgetError
        When no model keeps the bounds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ethereal import EtherealClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EtherealClassifier(n_clauses=20, T=10, epochs=20, random_state=1).fit(X, y).model_
    >>> pruned = prune(model, X, y, max_bytes=900)
    >>> pruned.footprint.bytes <= 900, pruned.model.n_includes < model.n_includes / 2
    (True, True)
    >>> bool((pruned.model.predict(X) == y).mean() > 0.9)
    True
    """
    bounds = Bounds.checked(max_bytes, max_instructions, max_ram, max_loss)
    seed = check_integer("random_state", random_state, 0, 2**63 - 1)
    if teacher not in _TEACHERS:
        raise ValueError(f"teacher is {teacher!r}; it must be one of {', '.join(map(repr, _TEACHERS))}")
    if like is not None and validation is not None:
        raise ValueError(
            "validation and like are both given; with like nothing is held out: give one of them"
        )
    rows = held_out = _Rows.read(model, X, y, "X", "y")
    if validation is not None:
        held_out = _Rows.read(model, *validation, "validation[0]", "validation[1]")
    elif like is None:
        rows, held_out = rows.split(seed)
    if measure is None:
        measure = on_device(held_out.raw, target, max_bytes=bounds.bytes) if bounds.on_size else estimate
    rows = rows.sample(_MAX_ROWS, seed)
    if like is None:
        scale = vote_scale(model._votes(held_out.booleans), held_out.codes)
    else:
        scale, teacher = like.scale, like.teacher
    booleans, targets = _lesson(model, rows, scale, teacher, seed)
    start = shorten_on(model, booleans)
    curve = []
    for price, smaller in [(0.0, model.simplify()), *_descend(start, booleans, targets, scale, seed)]:
        point = PrunedModel(smaller, 0.0, estimate(smaller), price=price)
        if like is None:
            seen = held_out.record(smaller, scale)
            curve.append(replace(point, accuracy=float(seen.right.mean()), held_out=seen))
        else:
            tried = like._at(price)
            curve.append(replace(point, accuracy=tried.accuracy, held_out=tried.held_out))
    choice = Choice(curve, bounds, measure)
    chosen = choice.make()
    assert chosen.footprint is not None
    return Pruning(chosen.model, chosen.accuracy, chosen.footprint, choice.curve, scale, teacher)


def _lesson(
    model: Model, rows: _Rows, scale: float, teacher: Teacher, seed: int
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Rows of Booleans, and the shares of the classes that the pruned model should give them."""
    own_share, spread, blended = _TEACHERS[teacher]
    booleans = rows.booleans
    if blended:
        booleans = np.concatenate([booleans, _blends(booleans, model.feature_map.feature, blended, seed)])
    targets = softmax(scale * model._votes(booleans))
    labels = (1 - spread) * np.eye(model.n_classes)[rows.codes] + spread / model.n_classes
    given = targets[: len(labels)]  # blends have no label
    given *= own_share
    given += (1 - own_share) * labels
    return booleans, targets


def _blends(
    booleans: NDArray[np.bool_], features: NDArray[np.int32], share: float, seed: int
) -> NDArray[np.bool_]:
    """As many rows as are given, each with a share of its features taken from another row."""
    rng = np.random.default_rng(seed)
    other = rng.integers(len(booleans), size=len(booleans))
    n_features = int(features.max(initial=-1)) + 1
    taken = rng.random((len(booleans), n_features)) < share
    return np.where(taken[:, features], booleans[other], booleans)


def _descend(
    start: Model, booleans: NDArray[np.bool_], targets: NDArray[np.float64], scale: float, seed: int
) -> Iterator[tuple[float, Model]]:
    """Prices and models from large to small."""
    yield 0.0, start
    n_classes = start.n_classes
    pruner = _native.Pruner(
        booleans,
        start.feature_map.feature,
        targets.astype(np.float32),
        start.literals,
        start.offsets,
        start.weights,
        scale,
        seed,
    )
    size = _bits(start)
    for step in range(_MAX_STEPS):
        price = _FIRST_PRICE * _PRICE_STEP**step
        moves = sum(pruner.sweep(price, size) for _ in range(_SWEEPS))
        literals, offsets, votes = pruner.clauses()
        if moves:
            smaller = start.with_clauses(literals, offsets, votes.reshape(-1, n_classes))
            yield price, smaller.simplify()
        if len(offsets) == 1:
            break


def _bits(model: Model) -> tuple[float, float, float, float, float]:
    """About what a clause, a literal, a Boolean in use, a vote and its doubling take in the compact code."""
    literal = math.log2(2 * max(model.n_booleans, 1))
    boolean = 0.0 if model.booleanizer is None else _THRESHOLD_BITS
    return 3.0, literal, boolean, math.log2(max(model.n_classes, 2)) + 2, 2.0


@dataclass(frozen=True)
class _Rows:
    raw: NDArray[Any]  # rows x features
    booleans: NDArray[np.bool_]  # rows x Booleans
    codes: NDArray[np.int64]  # index of each row's class

    @staticmethod
    def read(model: Model, X: ArrayLike, y: ArrayLike, x_name: str, y_name: str) -> _Rows:
        raw = input_matrix(model, X)
        booleans = booleans_of(model, raw)
        labels = np.asarray(y)
        if labels.shape != (len(booleans),):
            raise ValueError(
                f"{y_name} has shape {labels.shape}; it must have one label for each of the "
                f"{len(booleans)} rows of {x_name}"
            )
        if len(booleans) == 0:
            raise ValueError(f"{x_name} has no rows; prune needs rows to see what a clause is good for")
        codes = class_codes(labels, model.classes)
        strange = np.flatnonzero(codes < 0)
        if len(strange):
            raise ValueError(
                f"{y_name}[{strange[0]}] is {labels.tolist()[strange[0]]!r}, which is not a class of the "
                f"model; its classes are {', '.join(map(repr, model.classes.tolist()[:10]))}"
                f"{', ...' if model.n_classes > 10 else ''}"
            )
        return _Rows(raw, booleans, codes)

    def split(self, seed: int) -> tuple[_Rows, _Rows]:
        """Rows to prune on and rows to hold out, the same share of every class where it has two rows."""
        if len(self.codes) < 2:
            raise ValueError("X has one row; prune needs two or more, or validation=")
        counts = np.bincount(self.codes)
        n_held_out = math.ceil(_HELD_OUT * len(self.codes))
        can_stratify = counts[counts > 0].min() > 1 and n_held_out >= np.count_nonzero(counts)
        kept, held_out = train_test_split(
            np.arange(len(self.codes)),
            test_size=n_held_out,
            stratify=self.codes if can_stratify else None,
            random_state=seed % 2**32,
        )
        return self._take(kept), self._take(held_out)

    def sample(self, most: int, seed: int) -> _Rows:
        if len(self.codes) <= most:
            return self
        return self._take(np.random.default_rng(seed).permutation(len(self.codes))[:most])

    def record(self, model: Model, scale: float) -> HeldOut:
        votes = model._votes(self.booleans)
        own = softmax(scale * votes)[np.arange(len(self.codes)), self.codes]
        loss = -np.log(np.maximum(own, _LEAST_SHARE)).astype(np.float32)
        return HeldOut(votes.argmax(axis=1) == self.codes, loss)

    def _take(self, rows: NDArray[np.int64]) -> _Rows:
        rows = np.sort(rows)
        return _Rows(self.raw[rows], self.booleans[rows], self.codes[rows])
