"""Choice of the best model of a curve that really fits, by held-out rows and with few compilations.

Held-out rows are often few. Then the accuracies along a curve differ by chance, and the smallest model that
loses nothing on these rows may be far worse on others. The loss on the same rows varies less. So only models
whose loss is near the best loss are considered. The most accurate of them is the reference. A cheaper model
is taken instead if it is as accurate as the reference within the noise.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ethereal.base.checks import DoesNotFit
from ethereal.compress import curve as curves
from ethereal.tuning.budget import Budget
from ethereal.tuning.footprint import Footprint, Measure

PrunedModel = curves.PrunedModel[Footprint]
T = TypeVar("T")

# Chosen over 15 small tables and two kinds of machines, by rows that chose nothing else: lab/notes/tuning.md.
_LOSS_ERRORS, _LOSS_NATS = 0.5, 0.02  # a loss is near the best within so many standard errors or nats
_CLEAR_ERRORS, _CLEAR = 2, 0.02  # by so many standard errors and so much, better answers outweigh the loss
_MOST_NOISE = 0.005  # most accuracy that a model may lack because it is cheaper
_FEW_ROWS = 50
_NATS_PER_ERROR = 2.0  # loss that goes with one more wrong answer

# Flash is never below the compact code and the thresholds, which are the estimate, but tables may shrink.
_FAR_BEYOND = 1.25  # times the bytes that are allowed. A model with a larger estimate is not compiled.
# A model that is larger by both estimates takes at least 1 / _GROWS of the bytes and instructions in the same
# form. The layout "fast" spends spare bytes on speed, so 324 literals took 2764 bytes where 256 took 3964.
_GROWS = 1.5
_JUST_TOO_MUCH = 1.01  # a model that cannot be exported does not fit, and says nothing of others
# A form that is too slow ends the trial of forms, because later forms are slower. Only in a program of so few
# bytes may the layout "compact" hold a table of all rows where "fast" has none, and be quicker.
_MAY_BE_A_TABLE = 1500
# Along a curve, what a form takes against its estimate changes slowly. So a point takes at least this part of
# what its neighbours say.
_SURELY = 0.8
_LEAST_FLASH, _LEAST_INSTRUCTIONS = 1.0, 0.1  # against the estimate, of any form
# Models are about as quick if one takes at most so many times what the other does. Models are as accurate
# within so much.
_FAR_QUICKER, _AS_GOOD = 4, 0.002
_APART = 1.4  # times the bytes from one model to the next that is worth telling


class BudgetError(DoesNotFit):
    """No model of the curve keeps all bounds. `nearest` comes nearest to them."""

    def __init__(self, message: str, nearest: PrunedModel, curve: tuple[PrunedModel, ...]) -> None:
        super().__init__(message)
        self.nearest = nearest
        self.curve = curve


def noise(a: PrunedModel, b: PrunedModel) -> float:
    """Return the standard error of the difference in accuracy of two models on the same held-out rows.

    >>> import numpy as np
    >>> from ethereal.compress.task import HeldOut
    >>> a, b = (PrunedModel(None, 0.5, None, held_out=HeldOut(np.array(r) > 0, None))
    ...         for r in ([1, 1, 0, 0], [1, 0, 0, 1]))
    >>> round(noise(a, b), 4)
    0.3536
    """
    if a.held_out is None or b.held_out is None:
        return 0.0
    return _standard_error(a.held_out.right.astype(float) - b.held_out.right)


def tolerance(error: float, cost: float, reference: float) -> float:
    """Return the accuracy that a model may lack against another one because it costs less.

    It is the standard error of their difference, at most half a point, times the share that is saved.

    >>> tolerance(0.004, 25.0, 100.0), tolerance(0.02, 50.0, 100.0), tolerance(0.02, 200.0, 100.0)
    (0.003, 0.0025, 0.0)
    """
    if cost >= reference:
        return 0.0
    return min(_MOST_NOISE, error) * (1 - cost / reference)


def equals_of(best: T, candidates: Iterable[T], worth: Callable[[T], float], cost: Callable[[T], float],
              error: Callable[[T, T], float], may_lose: float = 0.0) -> list[T]:  # fmt: skip
    """Return the candidates that are worth as much as the best, except for noise and for what they save.

    Every choice in this package between models of different costs follows this rule. `error` is the standard
    error of the difference between two candidates.
    """

    def lacks(one: T) -> float:
        return worth(best) - worth(one) - tolerance(error(one, best), cost(one), cost(best))

    return [one for one in candidates if lacks(one) <= may_lose + 1e-12]


def as_good_as_the_best(points: Sequence[PrunedModel], cost: Callable[[PrunedModel], float],
                        may_lose: float = 0.0,
                        given: PrunedModel | None = None) -> list[PrunedModel]:  # fmt: skip
    """Return the points that are as good as the best, or that lose no more than `may_lose`.

    With a `given` model, a part of the noise against it is taken off a point's accuracy, all of it up to 50
    rows, a tenth of it with 500. So a small model that changes many answers has to be better by more than
    chance. Points without a record of their rows are compared by accuracy alone.
    """
    surest = min(points, key=_loss)
    near = [p for p in points if _is_near(p, surest, may_lose)]
    sure = {id(p): p.accuracy - _caution(p, given) for p in near}
    best = max(near, key=lambda p: (sure[id(p)], -cost(p)))
    return equals_of(best, near, lambda p: sure[id(p)], cost, noise, may_lose)


def _is_near(point: PrunedModel, surest: PrunedModel, may_lose: float) -> bool:
    """Whether a point's loss is near the least one, or its answers are clearly better.

    People and months that training rows lack make large models wrong with confidence. Their loss is then
    above that of a tiny model, which is hardly ever right.
    """
    most = _loss(surest)
    if point.held_out is not None and surest.held_out is not None:
        error = _standard_error(point.held_out.loss.astype(float) - surest.held_out.loss)
        most += max(_LOSS_NATS, _LOSS_ERRORS * error) + _NATS_PER_ERROR * may_lose
    if _loss(point) <= most:
        return True
    return point.accuracy - surest.accuracy > max(_CLEAR, _CLEAR_ERRORS * noise(point, surest))


def _caution(point: PrunedModel, given: PrunedModel | None) -> float:
    if given is None or point.held_out is None:
        return 0.0
    return min(1.0, _FEW_ROWS / len(point.held_out.right)) * noise(point, given)


def _plain(point: PrunedModel) -> float:
    """Return the share of right answers before it was smoothed over neighbours."""
    return point.accuracy if point.held_out is None else float(point.held_out.right.mean())


def _loss(point: PrunedModel) -> float:
    return 0.0 if point.held_out is None else float(point.held_out.loss.mean())


def _standard_error(differences: NDArray[np.float64]) -> float:
    return float(differences.std()) / math.sqrt(len(differences))


class Choice:
    """The choice from a curve that runs from large to small. It measures only what it has to.

    Without a `measure` estimates count, and without `may_lose` (against the first point) only the bounds do.
    """

    def __init__(self, curve: Sequence[PrunedModel], budget: Budget, measure: Measure | None,
                 may_lose: float | None = None) -> None:  # fmt: skip
        self._curve, self._looked_at = list(curve), set[int]()
        self._budget, self._measure, self._may_lose = budget, measure, may_lose

    @property
    def curve(self) -> tuple[PrunedModel, ...]:
        """All points, with the footprints measured so far."""
        return tuple(self._curve)

    def make(self) -> PrunedModel:
        """Return the point to take, or raise BudgetError.

        Where `Budget.worth` counts flash or instructions, it is the one that is worth most by what was
        measured. Else it is the cheapest of the best within the bounds. These are measured from the best
        downwards. With several bounds and forms, a larger model may fit where a smaller one does not. So a
        point is left out unmeasured only if its own estimate is far beyond the bounds, or if a smaller one is
        far beyond.
        """
        loss, voting = self._may_lose, self._voting()
        least = -math.inf if loss is None else self._curve[0].accuracy - loss - 1e-12
        small = [i for i in voting if self._curve[i].estimate.bytes <= _FAR_BEYOND * self._budget.flash]
        promised = [i for i in small if self._curve[i].accuracy >= least]
        by_worth = loss is None and self._budget.counts is not None
        chosen = self._most_worth(promised) if by_worth else self._search(promised)
        if chosen is not None:
            return self._curve[chosen]
        if loss is not None:
            self._search(small)  # finds what fits, whatever it loses
        raise self._error(least)

    def _most_worth(self, promised: list[int]) -> int | None:
        """Return the point that is worth most, by what was measured, of those that fit.

        Some points may fit in a form that is fifty times quicker than that of the others, and estimates do
        not know it. So points are measured until no other can be worth more. The next one is in the middle of
        those that can.
        """
        left = sorted(promised, key=lambda i: self._curve[i].estimate.bytes)
        while True:
            known = [i for i in left if i in self._looked_at]
            chosen = self._worth_most_of([i for i in known if self._excess(i) <= 1])
            may = [i for i in left if i not in self._looked_at and self._may_replace(chosen, i, known)]
            if not may:
                return chosen
            i = may[len(may) // 2]
            if self._excess(i) > _GROWS:
                left = [k for k in left if k == i or not self._outgrows(k, self._curve[i].estimate)]

    def _worth_most_of(self, inside: list[int]) -> int | None:
        """Return the point that is worth most.

        Between points that are about as quick, loss decides which of them can be trusted. Between others
        answers decide: a point that is as accurate and far quicker is taken, whatever its loss.
        """
        if not inside:
            return None
        if self._budget.counts == "flash":  # accuracies of folds, which were smoothed
            return max(inside, key=self._worth)

        def is_sure(i: int) -> bool:  # against those that are about as quick
            quick = (self._curve[k] for k in inside if self._counted(k) <= _FAR_QUICKER * self._counted(i))
            return _is_near(self._curve[i], min(quick, key=_loss), 0.0)

        chosen = max(filter(is_sure, inside), key=self._worth)
        while far := [i for i in inside if self._is_far_quicker(i, self._took(i), chosen)]:
            chosen = max(far, key=self._worth)
        return chosen

    def _is_far_quicker(self, i: int, took: Footprint, chosen: int) -> bool:
        """Whether a point is as accurate as the chosen one and takes a small part of its instructions."""
        if _FAR_QUICKER * self._budget.counted(took) >= self._counted(chosen):
            return False
        point, other = self._curve[i], self._curve[chosen]
        return max(point.accuracy - other.accuracy, _plain(point) - _plain(other)) >= -_AS_GOOD

    def _may_replace(self, chosen: int | None, i: int, known: list[int]) -> bool:
        """Whether a point that was not measured may be worth more than the chosen one, or far quicker."""
        guess = self._least_of(i, known)
        if chosen is None or self._budget.worth(self._curve[i].accuracy, guess) > self._worth(chosen):
            return True
        return self._budget.counts != "flash" and self._is_far_quicker(i, guess, chosen)

    def _worth(self, i: int) -> float:
        return self._budget.worth(self._curve[i].accuracy, self._took(i))

    def _counted(self, i: int) -> float:
        return self._budget.counted(self._took(i))

    def _took(self, i: int) -> Footprint:
        footprint = self._look(i)
        assert footprint is not None
        return footprint

    def _least_of(self, i: int, known: list[int]) -> Footprint:
        """Return the least that a point may take, from the forms of the known ones next to it in size."""
        estimate, counted = self._curve[i].estimate, self._budget.counted
        with_form = [k for k in known if self._curve[k].footprint is not None]
        before = [k for k in with_form if self._curve[k].estimate.bytes <= estimate.bytes][-1:]
        after = [k for k in with_form if self._curve[k].estimate.bytes > estimate.bytes][:1]
        ratios = [self._counted(k) / max(1.0, counted(self._curve[k].estimate)) for k in before + after]
        if not before:  # a smaller point may have a quicker form than all that are known
            ratios.append(_LEAST_FLASH if self._budget.counts == "flash" else _LEAST_INSTRUCTIONS)
        times = _SURELY * min(ratios)
        return Footprint(round(times * estimate.bytes), times * estimate.instructions)

    def _outgrows(self, i: int, limit: Footprint) -> bool:
        estimate = self._curve[i].estimate
        return estimate.bytes >= limit.bytes and estimate.instructions >= limit.instructions

    def _search(self, left: list[int]) -> int | None:
        while left:
            i = self._wanted(left)
            if self._excess(i) <= 1:
                return i
            left = [k for k in left if k != i]
            if self._excess(i) > _GROWS:
                left = self._without_hopeless(left)
        return None

    def _without_hopeless(self, left: list[int]) -> list[int]:
        """Return the points that are smaller than one which is far beyond the bounds, found by bisection."""
        by_size = sorted(left, key=lambda i: self._curve[i].estimate.bytes)
        first = bisect_left(by_size, True, key=lambda i: self._excess(i) > _GROWS)
        if first == len(by_size):
            return left
        limit = self._curve[by_size[first]].estimate
        return [i for i in left if not self._outgrows(i, limit)]

    def _voting(self) -> list[int]:
        """Return the points whose answers differ, or all if there are none."""
        return [i for i, p in enumerate(self._curve) if not p.model.is_constant] or list(
            range(len(self._curve))
        )

    def _wanted(self, left: list[int]) -> int:
        """Return the cheapest point, by estimate, of those that are as good as the best of `left`."""

        def cost(point: PrunedModel) -> float:
            return self._budget.cost(point.estimate)

        given = None if self._may_lose is None else self._curve[0]  # be careful, as the smallest is wanted
        good = as_good_as_the_best([self._curve[i] for i in left], cost, self._may_lose or 0.0, given)
        chosen = min(good, key=lambda p: (cost(p), p.estimate.bytes, -p.accuracy))
        return next(i for i in left if self._curve[i] is chosen)

    def _excess(self, i: int) -> float:
        """Return how many times the best form uses the tightest bound, 1.01 without a form."""
        footprint = self._look(i)
        return _JUST_TOO_MUCH if footprint is None else self._budget.excess(footprint)

    def _look(self, i: int) -> Footprint | None:
        if i not in self._looked_at:
            self._looked_at.add(i)
            point = self._curve[i]
            forms = point.estimate if self._measure is None else self._measure(point.model)
            self._curve[i] = replace(point, footprint=best_form(self._budget, forms))
        return self._curve[i].footprint

    def _error(self, least: float) -> BudgetError:
        budget = self._budget
        self._look(min(self._voting(), key=lambda i: self._curve[i].estimate.bytes))
        known = [(p, p.footprint) for p in self._curve if p.footprint is not None]
        inside = [p for p, took in known if budget.excess(took) <= 1]
        nearest = self._curve[0]  # of models without clauses
        if inside:
            nearest = max(inside, key=lambda p: p.accuracy)
        elif known:
            nearest = min(known, key=lambda pair: (budget.excess(pair[1]), pair[1].bytes))[0]
        took = nearest.footprint or nearest.estimate
        promise = budget.promises
        if self._may_lose is not None:
            promise.append(f"max_loss={self._may_lose:g} (accuracy {least:.4f} or more on held-out rows)")
        return BudgetError(
            f"No pruned model fits within {' and '.join(promise)}. The nearest has {budget.takes(took)} and "
            f"accuracy {nearest.accuracy:.4f}. Allow more, or start from a smaller or more accurate machine.",
            nearest,
            self.curve,
        )


def best_form(budget: Budget, footprints: Footprint | Iterable[Footprint]) -> Footprint | None:
    """Return the first of several forms, given the fastest first, that fits, or else the nearest.

    The result is None when there are no forms.
    """
    if isinstance(footprints, Footprint):
        return footprints
    seen = []
    for footprint in footprints:
        seen.append(footprint)
        is_slow = footprint.instructions > budget.instructions and footprint.bytes > _MAY_BE_A_TABLE
        if is_slow or budget.excess(footprint) <= 1:
            break
    return min(seen, key=budget.excess, default=None)


def within(curve: Sequence[PrunedModel], budget: Budget, measure: Measure | None,
           give_away: float = 0.0) -> PrunedModel:  # fmt: skip
    """Return the point to take within a budget, or the nearest to it where none fits.

    It is the smallest that fits and loses no more than `give_away` against what `Choice` takes. Without a
    bound that is the knee, where the curve bends. Without a `measure`, estimates count.

    >>> from ethereal import Model
    >>> model = Model([0], [0, 1], [[1, 0]], n_booleans=1, classes=["a", "b"])
    >>> sizes = (0.95, 40_000), (0.946, 4000), (0.945, 3600), (0.9, 2000)
    >>> within([PrunedModel(model, a, Footprint(n, 0.0)) for a, n in sizes], Budget(), None).estimate.bytes
    4000
    """
    choice = Choice(curve, budget, measure)
    try:
        chosen = choice.make()
    except BudgetError as error:
        return error.nearest
    smaller = [
        p for p in choice.curve if p.estimate.bytes < chosen.estimate.bytes and not p.model.is_constant
    ]
    if give_away > 0 and smaller:
        good = as_good_as_the_best([chosen, *smaller], lambda p: budget.cost(p.estimate), give_away)
        point = min(good, key=lambda p: (p.estimate.bytes, -p.accuracy))
        took = best_form(budget, point.estimate if measure is None else measure(point.model))
        if took is not None and budget.excess(took) <= 1:  # rarely, a point is smaller by estimate only
            return replace(point, footprint=took)
    return chosen


@dataclass(frozen=True)
class Neighbour:
    """A model of the curve beside the chosen one. Answers are those on the same held-out rows."""

    point: PrunedModel
    rows: int  # held-out rows, counted once per split
    right: float  # of them. Of a number, the rows times R2.
    more: float  # right answers more than the chosen model has, below 0 for fewer
    error: float  # standard error of the difference in accuracy


def neighbours(curve: Sequence[PrunedModel], chosen: PrunedModel) -> dict[str, Neighbour]:
    """Return the next "smaller" and "larger" model, where there are some that vote.

    The answers are counted as they are. Smoothed and made to fall, they would hide that a much larger model
    really is better.
    """
    beside, size = dict[str, Neighbour](), chosen.estimate.bytes
    smaller = [p for p in curve if not p.model.is_constant and p.estimate.bytes * _APART <= size]
    larger = [p for p in curve if p.estimate.bytes >= _APART * size]
    next_smaller = max(smaller, key=lambda p: p.estimate.bytes, default=None)
    next_larger = min(larger, key=lambda p: p.estimate.bytes, default=None)
    for name, point in (("smaller", next_smaller), ("larger", next_larger)):
        if point is not None and point.held_out is not None and chosen.held_out is not None:
            n, right = len(point.held_out.right), point.held_out.right.sum().item()
            more = right - chosen.held_out.right.sum().item()
            beside[name] = Neighbour(point, n, right, more, noise(point, chosen))
    return beside
