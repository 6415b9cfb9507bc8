"""Which kernels of windows pay: whole groups are dropped, by what they tell and by what they cost.

A group is a kernel of an axis or of a pair of axes. A stand-in judges the groups, because machines for every
set of groups would take hours. It is a linear model of thresholds of the features, validated on people
that it did not learn from. Groups go one by one, each time the one whose loss is least against what it saves.
So there is a path from all groups to one, and a budget picks a part of the path.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.splits import group_folds
from ethereal.device.kernel_prices import kernel_prices
from ethereal.export.c99.parts.windows import flash_bytes, ram_of
from ethereal.features.booleanizer import Booleanizer
from ethereal.features.front_end import FrontEnd
from ethereal.features.packing import evenly
from ethereal.tuning.budget import Budget, worth_of

Array = NDArray[Any]
# Chosen on training people of har, in nested splits: lab/notes/windows.md.
_BINS, _RIDGE = 8, 1 / 16  # of the stand-in: bins of a feature, and the penalty for each row
_ALL_GROUPS = 0.07  # nats of loss that all groups are worth together, by their instructions
_SHARPNESS = 8.0  # of the softmax that makes a loss of the stand-in's scores
_FOLDS, _MOST_ROWS = 5, 6000
_MORE = 1.25  # instructions from sample to label, against all kernels, unless told otherwise
# What is left for the classifier at least: a share of the instructions, instructions, bytes of flash and RAM.
_SHARE, _LEAST, _FLASH, _RAM = 0.05, 1000, 1400, 300
_SPREAD = 1.6  # times fewer instructions from one candidate to the next


@dataclass(frozen=True)
class Kept:
    """A front end of the path, and what is known of it without a machine."""

    front_end: FrontEnd
    accuracy: float  # of the stand-in, on people that it did not learn from
    instructions: float  # of the features of a window
    flash: int  # upper bound of the bytes of the features

    def fits(self, budget: Budget) -> bool:
        """Whether the budget leaves room for a classifier beside these features."""
        for_classifier = max(_LEAST, _SHARE * budget.instructions) if budget.instructions < math.inf else 0.0
        needed = self.instructions + for_classifier, self.flash + _FLASH, ram_of(self.front_end) + _RAM
        return all(map(operator.le, needed, (budget.instructions, budget.flash, budget.ram)))


@dataclass(frozen=True)
class KernelChoice:
    """What was offered, what is left within a budget, and what was dropped on the way there."""

    path: tuple[Kept, ...]  # from all groups to one
    tried: tuple[FrontEnd, ...]  # front ends that machines were tried with

    @property
    def offered(self) -> FrontEnd:
        """The front end with all groups."""
        return self.path[0].front_end


def in_words(kept: FrontEnd, offered: FrontEnd) -> str:
    """Return how many groups are left, and which.

    >>> offered = FrontEnd(("x",), 64, (("std", "x"), ("mad", "x")))
    >>> in_words(replace(offered.keep([0]), window=32, hop=32), offered)
    '1 of 2 groups: std of x, windows of 32 samples'
    """
    sources: dict[str, list[str]] = {}
    for kernel, source in kept.groups:
        sources.setdefault(kernel, []).append(source)
    names = ", ".join(f"{kernel} of {' '.join(axes)}" for kernel, axes in sources.items())
    window = "" if kept.window == offered.window else f", windows of {kept.window} samples"
    return f"{len(kept.groups)} of {len(offered.groups)} groups: {names}{window}"


def drop_groups(front_end: FrontEnd, windows: Array, y: Array, groups: Array | None = None, *,
                target: str = "cortex-m7", by_flash: bool = False,
                seed: int = 0) -> tuple[Kept, ...]:  # fmt: skip
    """Return the path from all groups of a front end to one.

    `groups` has the person or recording that each window comes from. Whole ones validate then. With
    `by_flash`, bytes of the features' code count as much as their instructions on the `target`.

    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 2
    >>> windows = rng.normal(0, 100, (60, 32, 2)) * np.stack([1 + 3 * y, np.ones(60)], axis=1)[:, None]
    >>> offered = FrontEnd(("x", "y"), 32, (("std", "x"), ("std", "y"), ("shape", "y")))
    >>> path = drop_groups(offered, windows.astype(np.int16), y)
    >>> [len(kept.front_end.groups) for kept in path], path[-1].front_end.groups
    ([3, 2, 1], (('std', 'x'),))
    """
    prices = kernel_prices(front_end, target)
    some = evenly(len(y), _MOST_ROWS)
    rows, labels = front_end.transform(windows[some]), np.unique(y[some], return_inverse=True)[1]
    folds = _folds(front_end, rows, labels, None if groups is None else groups[some], seed)
    whole = prices.instructions(front_end), flash_bytes(front_end)

    def price(left: Sequence[int]) -> float:
        part = front_end.keep(left)
        share = prices.instructions(part) / whole[0]
        return _ALL_GROUPS * (share + (flash_bytes(part) / whole[1] if by_flash else 0.0))

    def kept(left: Sequence[int]) -> Kept:
        part = front_end.keep(left)
        right = sum(int((fold.scores.argmax(axis=1) == fold.labels).sum()) for fold in folds)
        accuracy = right / sum(len(fold.labels) for fold in folds)
        return Kept(part, accuracy, prices.instructions(part), flash_bytes(part))

    left = list(range(len(front_end.groups)))
    path = [kept(left)]
    while len(left) > 1:
        cost = {g: sum(fold.loss_without(g) for fold in folds) / len(labels) for g in left}
        worst = min(left, key=lambda g: cost[g] + price([k for k in left if k != g]))
        left.remove(worst)
        for fold in folds:
            fold.drop(worst)
        path.append(kept(left))
    return tuple(path)


class _Fold:
    """A linear model of Booleans, its validation rows, and what is left without a group of Booleans.

    The inverse of the Gram matrix tells the model without some columns, and its scores, without a new fit.
    """

    def __init__(self, Z: Array, Y: Array, held_out: Array, group_of: Array) -> None:
        learn, mean = Z[~held_out] - Z[~held_out].mean(axis=0), Y[~held_out].mean(axis=0)
        gram = learn.T @ learn
        gram[np.diag_indices_from(gram)] += max(1.0, _RIDGE * len(learn))
        self._inverse = np.linalg.inv(gram)
        self._weights = self._inverse @ (learn.T @ (Y[~held_out] - mean))
        self._rows = Z[held_out] - Z[~held_out].mean(axis=0)
        self._mean, self._group_of = mean, group_of
        self.labels = Y[held_out].argmax(axis=1)
        self._refresh()

    def _refresh(self) -> None:
        self._spread = self._rows @ self._inverse
        self.scores = self._mean + self._rows @ self._weights

    def loss_without(self, group: int) -> float:
        """Return the summed loss on the validation rows when a group is left out."""
        columns = np.flatnonzero(self._group_of == group)
        scores = self.scores
        if len(columns):
            block = self._inverse[np.ix_(columns, columns)]
            scores = scores - self._spread[:, columns] @ np.linalg.solve(block, self._weights[columns])
        scores = _SHARPNESS * (scores - scores.max(axis=1, keepdims=True))
        right = scores[np.arange(len(scores)), self.labels]
        return float((np.log(np.exp(scores).sum(axis=1)) - right).sum())

    def drop(self, group: int) -> None:
        """Leave a group out from now on."""
        columns, rest = (np.flatnonzero((self._group_of == group) == is_there) for is_there in (True, False))
        if len(columns):
            block, across = self._inverse[np.ix_(columns, columns)], self._inverse[np.ix_(columns, rest)]
            moved = np.linalg.solve(block, across)
            self._weights = self._weights[rest] - moved.T @ self._weights[columns]
            self._inverse = self._inverse[np.ix_(rest, rest)] - across.T @ moved
            self._rows, self._group_of = self._rows[:, rest], self._group_of[rest]
        self._refresh()


def _folds(front_end: FrontEnd, rows: Array, labels: Array, groups: Array | None, seed: int) -> list[_Fold]:
    booleanizer = Booleanizer(_BINS).fit(rows)
    Z, Y = booleanizer.transform(rows).astype(np.float64), np.eye(int(labels.max()) + 1)[labels]
    group_of = front_end.group_of[booleanizer.feature_map_.feature]
    parts = group_folds(labels, groups, _FOLDS, seed)
    return [_Fold(Z, Y, np.isin(np.arange(len(labels)), part), group_of) for part in parts]


def bounded(budget: Budget, front_end: FrontEnd) -> Budget:
    """Return a budget with a bound on the instructions, a quarter more than all kernels offered take.

    Bytes alone would choose a classifier that takes several times what its features take. Patches of frames
    take a small part of an answer, whatever their number.
    """
    if budget.instructions < math.inf or front_end.frames is not None:
        return budget
    most = _MORE * kernel_prices(front_end, budget.target).instructions(front_end)
    return replace(budget, instructions=float(math.ceil(most / 1000) * 1000))


def candidates(path: Sequence[Kept], budget: Budget, most: int = 4) -> list[Kept]:
    """Return front ends of a path that leave room for a classifier, for machines to be tried with.

    The first is the one that the stand-in is best with. The second is the largest, because machines may want
    more groups than the stand-in. Each of the others takes at least 1.6 times fewer instructions than the one
    before. When none leaves room, the smallest is the only one.
    """
    inside = [kept for kept in path if kept.fits(budget)] or [path[-1]]
    best = max(inside, key=lambda kept: (kept.accuracy, -kept.instructions))
    fewer = [best]
    for kept in inside:
        if kept.instructions * _SPREAD <= fewer[-1].instructions:
            fewer.append(kept)
    larger = [inside[0]] if inside[0] is not best else []
    return [best, *larger, *fewer[1:]][:most]


def pick(path: Sequence[Kept], budget: Budget) -> Kept:
    """Return the front end of a path by the stand-in alone: half the instructions may cost 0.15 points."""
    inside = [kept for kept in path if kept.fits(budget)] or [path[-1]]
    return max(inside, key=lambda kept: worth_of(kept.accuracy, kept.instructions))
