"""Choice from a curve of models: bounds that hold, with few compilations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ethereal._checks import check_number
from ethereal.compress.footprint import Footprint, Measure

if TYPE_CHECKING:
    from ethereal.model import Model

_FAR_BEYOND = 1.5  # times the bytes that are allowed, estimated: no need to compile it


@dataclass(frozen=True)
class PrunedModel:
    """A point of the curve: a model, its share of right answers on held-out rows, and what it takes."""

    model: Model
    accuracy: float
    estimate: Footprint  # without a compiler
    footprint: Footprint | None = None  # None: was not measured, the choice did not depend on it
    price: float = 0.0  # of a bit of size, in nats of loss on a row; 0: before the descent


class BudgetError(ValueError):
    """No model of the curve keeps all bounds; `nearest` comes nearest to them."""

    def __init__(self, message: str, nearest: PrunedModel, curve: tuple[PrunedModel, ...]) -> None:
        super().__init__(message)
        self.nearest = nearest
        self.curve = curve


@dataclass(frozen=True)
class Bounds:
    """What a model may take, and the accuracy that may be lost."""

    bytes: float = math.inf
    instructions: float = math.inf
    ram: float = math.inf
    loss: float | None = None

    @staticmethod
    def checked(max_bytes: Any, max_instructions: Any, max_ram: Any, max_loss: Any) -> Bounds:
        """Bounds from arguments, None: no bound. When all are None, no loss is allowed."""
        if max_bytes is None and max_instructions is None and max_ram is None and max_loss is None:
            max_loss = 0.0
        given = {"max_bytes": max_bytes, "max_instructions": max_instructions, "max_ram": max_ram}
        numbers = [
            math.inf if value is None else check_number(name, value, 0, math.inf)
            for name, value in given.items()
        ]
        loss = None if max_loss is None else check_number("max_loss", max_loss, 0, 1)
        return Bounds(numbers[0], numbers[1], numbers[2], loss)

    @property
    def on_size(self) -> bool:
        """Whether flash, instructions or RAM are bounded."""
        return min(self.bytes, self.instructions, self.ram) < math.inf

    def excess(self, footprint: Footprint) -> float:
        """How many times the tightest bound is used; at most 1: it fits.

        >>> Bounds(bytes=100, ram=10).excess(Footprint(50, 7.0, 20))
        2.0
        """
        used = footprint.bytes, footprint.instructions, footprint.ram
        bounds = self.bytes, self.instructions, self.ram
        return max(_share(u, bound) for u, bound in zip(used, bounds, strict=True))

    def best(self, footprints: Footprint | Iterable[Footprint]) -> Footprint | None:
        """Of several forms, the fastest first, the first that fits, else the nearest; None: there is none."""
        if isinstance(footprints, Footprint):
            return footprints
        nearest: Footprint | None = None
        for found in footprints:
            if self.excess(found) <= 1:
                return found
            if nearest is None or self.excess(found) < self.excess(nearest):
                nearest = found
            if found.instructions > self.instructions:
                break  # those that follow are slower
        return nearest

    def describe(self, least: float) -> str:
        """The bounds in words."""
        given = {"max_bytes": self.bytes, "max_instructions": self.instructions, "max_ram": self.ram}
        parts = [f"{name}={value:g}" for name, value in given.items() if value < math.inf]
        if self.loss is not None:
            parts.append(f"max_loss={self.loss:g} (accuracy {least:.4f} or more on held-out rows)")
        return " and ".join(parts)


class Choice:
    """The choice from a curve that runs from large to small; measures only what it has to."""

    def __init__(self, curve: Sequence[PrunedModel], bounds: Bounds, measure: Measure) -> None:
        self._curve = list(curve)
        self._bounds = bounds
        self._measure = measure

    @property
    def curve(self) -> tuple[PrunedModel, ...]:
        """All points, with the footprints measured so far."""
        return tuple(self._curve)

    def make(self) -> PrunedModel:
        """Most accurate point within the bounds; with a tolerated loss the smallest. Else BudgetError."""
        front, curve = self._front(), self._curve
        if self._bounds.loss is None:
            found = self._first_that_fits(front)
            if found is not None:
                return curve[found]
            raise self._error(0.0)
        least = curve[0].accuracy - self._bounds.loss - 1e-12
        smallest = next((i for i in reversed(front) if curve[i].accuracy >= least), None)
        if smallest is not None and self._fits(smallest):
            return curve[smallest]
        self._first_that_fits(front)  # the most accurate of those is told as the nearest
        raise self._error(least)

    def _front(self) -> list[int]:
        """Points that no smaller one equals in accuracy, from large to small; none without clauses."""
        curve, front, best = self._curve, [], -1.0
        some = [i for i, point in enumerate(curve) if point.model.n_clauses] or range(len(curve))
        for i in sorted(some, key=lambda i: (curve[i].estimate.bytes, -curve[i].accuracy)):
            if curve[i].accuracy > best:
                best = curve[i].accuracy
                front.append(i)
        return front[::-1]

    def _first_that_fits(self, front: list[int]) -> int | None:
        """The largest point that fits, if what they take falls along the front; bisected."""
        too_large, fits = -1, len(front)
        while fits - too_large > 1:
            middle = (too_large + fits) // 2
            if self._fits(front[middle]):
                fits = middle
            else:
                too_large = middle
        return front[fits] if fits < len(front) else None

    def _fits(self, i: int) -> bool:
        if self._curve[i].estimate.bytes > _FAR_BEYOND * self._bounds.bytes:
            return False
        found = self._look(i)
        return found is not None and self._bounds.excess(found) <= 1

    def _look(self, i: int) -> Footprint | None:
        point = self._curve[i]
        if point.footprint is None:
            found = self._bounds.best(self._measure(point.model))
            self._curve[i] = point = replace(point, footprint=found)
        return point.footprint

    def _error(self, least: float) -> BudgetError:
        self._look(self._front()[-1])
        known = [p for p in self._curve if p.footprint is not None]
        inside = [p for p in known if self._bounds.excess(p.footprint) <= 1]  # type: ignore[arg-type]
        if not known:  # a curve of models without clauses
            nearest = self._curve[0]
        elif inside:
            nearest = max(inside, key=lambda p: p.accuracy)
        else:
            nearest = min(known, key=lambda p: (self._bounds.excess(p.footprint), p.footprint.bytes))  # type: ignore[arg-type, union-attr]
        took = nearest.footprint or nearest.estimate
        return BudgetError(
            f"no pruned model keeps {self._bounds.describe(least)}; the nearest has {took.bytes} bytes, "
            f"{took.instructions:g} instructions per row, {took.ram} bytes of RAM and accuracy "
            f"{nearest.accuracy:.4f}; allow more, or start from a smaller or more accurate machine",
            nearest,
            self.curve,
        )


def _share(used: float, bound: float) -> float:
    if bound == 0:
        return math.inf if used else 0.0
    return used / bound
