"""What a model answers decides: the loss of a row, how good an answer is, and what a teacher says.

`ClassTask` is for labels, `NumberTask` for numbers. Everything that prunes, chooses or splits rows asks one
of them, and knows no other difference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ethereal import _native
from ethereal.base.splits import quantile_codes
from ethereal.compress.least_squares import (
    LEAST_SHIFT,
    MOST_VOTE,
    clause_signs,
    fit_votes,
    literal_signs,
    outputs_of,
)
from ethereal.features.matrices import class_codes
from ethereal.model import Model, Number
from ethereal.model.calibration import softmax, vote_scale

Bits = NDArray[np.bool_]
Floats = NDArray[np.float64]

_LEVEL = 0.9  # of the interval around a number
_NORMAL = 1.645  # half an interval of that level, in standard deviations of normal errors
MOST_FITTED = 1000  # clauses whose votes are fitted again. The time grows with their cube.


@dataclass(frozen=True)
class HeldOut:
    """How a model did on each held-out row."""

    # Whether the answer is right. Of a number it is 1 less the squared error in variances of the label, whose
    # mean is R2.
    right: NDArray[Any]
    # Nats: minus the logarithm of the share that the row's class was given. Of a number it is half its
    # squared error, in variances of the label.
    loss: NDArray[np.float32]
    error: NDArray[np.float64] | None = None  # absolute, of a number

    @staticmethod
    def joined(records: list[HeldOut]) -> HeldOut:
        """Return one record of the rows of several."""
        errors = [one.error for one in records if one.error is not None]
        return HeldOut(
            np.concatenate([one.right for one in records]),
            np.concatenate([one.loss for one in records]),
            np.concatenate(errors) if errors else None,
        )

    @property
    def score(self) -> float:
        """Accuracy, or R2 of a number."""
        return float(self.right.mean())


@dataclass(frozen=True)
class Lesson:
    """What a pruned model is taught: rows of Booleans, and what it should answer."""

    booleans: Bits
    targets: Floats  # shares of the classes, or numbers
    scale: float  # see `Task.scale`
    signs: NDArray[np.int8]  # that votes of each literal's clauses must have, 0 for any

    def some(self, every: int) -> Lesson:
        """Return one row of so many."""
        return replace(self, booleans=self.booleans[::every], targets=self.targets[::every])


class Task(Protocol):
    """What differs between kinds of answers."""

    def codes(self, model: Model, labels: NDArray[Any], y_name: str) -> NDArray[Any]:
        """Return what stands for each row's label, and refuse labels that are none of the model's."""

    def known(self, model: Model, labels: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which rows have a label that the model can answer."""

    def strata(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return the classes that are spread evenly over the parts of a split."""

    def scale(self, model: Model, votes: NDArray[np.int32], codes: NDArray[Any], seen: bool) -> float:
        """Return the logits of a vote. Of a number it is one over the spread of the labels."""

    def targets(self, model: Model, votes: NDArray[np.int32], codes: NDArray[Any], scale: float,
                own_share: float, spread: float) -> Floats:  # fmt: skip
        """Return what a pruned model should answer: shares of its own answer and of the labels.

        Rows beyond `codes` have no label.
        """

    def pruner(self, start: Model, lesson: Lesson, seed: int) -> Any:
        """Return the native descent."""

    def signs(self, model: Model) -> NDArray[np.int8]:
        """Return the sign that votes of each literal's clauses must keep, 0 for any."""

    def finished(self, model: Model, lesson: Lesson) -> Model:
        """Return a model of a descent, ready for use."""

    def record(self, model: Model, votes: NDArray[np.int32], codes: NDArray[Any], scale: float) -> HeldOut:
        """Return how a model does on rows."""

    def believed(self, model: Model, record: HeldOut, codes: NDArray[Any]) -> HeldOut:
        """Return what a record on rows that a model learned from says of other rows, as far as is known."""


class ClassTask:
    """The label of the most votes. The loss is the cross-entropy."""

    def codes(self, model: Model, labels: NDArray[Any], y_name: str) -> NDArray[Any]:
        codes = class_codes(labels, model.classes)
        if len(strange := np.flatnonzero(codes < 0)):
            known = ", ".join(map(repr, model.classes.tolist()[:10]))
            raise ValueError(
                f"{y_name}[{strange[0]}] is {labels.tolist()[strange[0]]!r}, which is not a class of the "
                f"model. Its classes are {known}{', ...' if model.n_classes > 10 else ''}."
            )
        return codes

    def known(self, model: Model, labels: NDArray[Any]) -> NDArray[np.bool_]:
        return np.isin(labels, model.classes)

    def strata(self, codes: NDArray[Any]) -> NDArray[Any]:
        return codes

    def scale(self, model: Model, votes: NDArray[np.int32], codes: NDArray[Any], seen: bool) -> float:
        trained = 1 / model.temperature
        scale = vote_scale(votes, codes, trained)
        return min(scale, trained) if seen else scale

    def targets(self, model: Model, votes: NDArray[np.int32], codes: NDArray[Any], scale: float,
                own_share: float, spread: float) -> Floats:  # fmt: skip
        targets: Floats = softmax(scale * votes)
        labels = (1 - spread) * np.eye(model.n_classes)[codes] + spread / model.n_classes
        given = targets[: len(labels)]
        given *= own_share
        given += (1 - own_share) * labels
        return targets

    def pruner(self, start: Model, lesson: Lesson, seed: int) -> Any:
        clauses = start.literals, start.offsets, start.weights
        features, targets = start.clause_map.feature, lesson.targets.astype(np.float32)
        patch = None if start.patch is None else start.patch.native()
        return _native.Pruner(lesson.booleans, features, targets, *clauses, lesson.scale, seed, patch)

    def signs(self, model: Model) -> NDArray[np.int8]:
        return np.zeros(0, np.int8)

    def finished(self, model: Model, lesson: Lesson) -> Model:
        return model.simplify()

    def record(self, model: Model, votes: NDArray[np.int32], codes: NDArray[Any], scale: float) -> HeldOut:
        return HeldOut(model.output.codes(votes) == codes, model.output.loss(votes, codes, scale))

    def believed(self, model: Model, record: HeldOut, codes: NDArray[Any]) -> HeldOut:
        return record


class NumberTask:
    """An offset and the sum of votes. The loss is half the squared error, in variances of the label."""

    def codes(self, model: Model, labels: NDArray[Any], y_name: str) -> NDArray[Any]:
        if labels.dtype.kind not in "fiub":
            raise ValueError(
                f"{y_name} has dtype {labels.dtype}, but the answer of the model is a number. Give numbers."
            )
        numbers = labels.astype(np.float64)
        if len(strange := np.flatnonzero(~np.isfinite(numbers))):
            raise ValueError(f"{y_name}[{strange[0]}] is {numbers[strange[0]]}. Give finite numbers.")
        return numbers

    def known(self, model: Model, labels: NDArray[Any]) -> NDArray[np.bool_]:
        return np.ones(len(labels), dtype=bool)

    def strata(self, codes: NDArray[Any]) -> NDArray[Any]:
        return quantile_codes(codes)

    def scale(self, model: Model, votes: NDArray[np.int32], codes: NDArray[Any], seen: bool) -> float:
        spread = float(np.std(codes))
        return 1 / spread if spread > 0 else 1.0

    def targets(self, model: Model, votes: NDArray[np.int32], codes: NDArray[Any], scale: float,
                own_share: float, spread: float) -> Floats:  # fmt: skip
        targets = model.output.answers(votes).astype(np.float64)
        given = targets[: len(codes)]
        given *= own_share
        given += (1 - own_share) * codes
        return targets

    def pruner(self, start: Model, lesson: Lesson, seed: int) -> Any:
        if int(np.abs(start.weights).max(initial=0)) > MOST_VOTE:  # of a model that somebody made
            start = self.finished(start, lesson)
        assert isinstance(start.output, Number)
        clauses = start.literals, start.offsets, start.weights
        targets = np.ascontiguousarray(lesson.targets * lesson.scale)
        scale = start.output.scale * lesson.scale
        features = start.feature_map.feature
        return _native.SquarePruner(lesson.booleans, features, targets, *clauses, scale, seed, lesson.signs)

    def signs(self, model: Model) -> NDArray[np.int8]:
        return literal_signs(model)

    def finished(self, model: Model, lesson: Lesson) -> Model:
        """Return the model with votes that are fitted again to all clauses that are left, unless many are."""
        clauses = model.clauses
        if len(clauses) > MOST_FITTED:
            return model.simplify()
        signs, may_vote = clause_signs(clauses, lesson.signs)
        clauses, signs = clauses.take(np.flatnonzero(may_vote)), signs[may_vote]
        outputs, line = outputs_of(clauses, lesson.booleans), model.output.line  # type: ignore[union-attr]
        least = 0.0 if line is None else line.step * 2.0**LEAST_SHIFT
        return fit_votes(outputs, lesson.targets, signs=signs, least=least).of(model, clauses).simplify()

    def record(self, model: Model, votes: NDArray[np.int32], codes: NDArray[Any], scale: float) -> HeldOut:
        error = np.abs(model.output.answers(votes).astype(np.float64) - codes)
        variance = float(np.var(codes))
        right = 1 - error**2 / variance if variance > 0 else -(error**2)
        return HeldOut(right, np.asarray(0.5 * (scale * error) ** 2, dtype=np.float32), error)

    def believed(self, model: Model, record: HeldOut, codes: NDArray[Any]) -> HeldOut:
        """Cap R2 at what the interval of the model says, which comes from rows that it did not learn from."""
        assert isinstance(model.output, Number)
        half, variance = model.output.half_width, float(np.var(codes))
        if half is None or variance == 0:
            return record
        # Less half a standard error of the mean of so many squared errors: few rows tell little.
        most = 1 - (half / _NORMAL) ** 2 / variance * (1 - math.sqrt(0.5 / len(codes)))
        if record.score <= most:
            return record
        # In every row the same, because differences between models there are what they know by heart.
        loss = np.full(len(codes), (1 - most) / 2, dtype=np.float32)
        return replace(record, right=np.full(len(codes), most), loss=loss)


_TASKS: dict[str, Task] = {
    "classes": ClassTask(),
    "unknown": ClassTask(),
    "number": NumberTask(),
    "linear number": NumberTask(),
}


def task_of(model: Model) -> Task:
    """Return what goes with the answer of a model."""
    return _TASKS[model.output.kind]


def conformal(errors: NDArray[np.float64], level: float = _LEVEL) -> float:
    """Return the error that a share of new rows does not exceed, from the errors of rows held out.

    >>> conformal(np.arange(1, 100) / 10)
    9.0
    """
    place = min(len(errors), math.ceil((len(errors) + 1) * level))
    return float(np.sort(errors)[place - 1])


def with_interval(model: Model, record: HeldOut | None, least: float = 0.0) -> Model:
    """Return a model of numbers with the half width that held-out rows ask for, others as they are."""
    if record is None or record.error is None:
        return model
    return model.with_number(half_width=max(least, conformal(record.error)))
