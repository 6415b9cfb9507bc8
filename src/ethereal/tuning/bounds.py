"""What a pruned model may take, and what is known of each model of a curve."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.checks import check_number
from ethereal.tuning.footprint import Footprint

if TYPE_CHECKING:
    from ethereal.model import Model

# A form that is too slow ends the trial of forms, because later forms are slower. Only in a program of so few
# bytes may the layout "compact" hold a table of all rows where "fast" has none, and be quicker.
_MAY_BE_A_TABLE = 1500


@dataclass(frozen=True)
class HeldOut:
    """How a model did on each held-out row."""

    right: NDArray[np.bool_]
    loss: NDArray[np.float32]  # nats: minus the logarithm of the share that the row's class was given


@dataclass(frozen=True)
class PrunedModel:
    """A point of the curve: a model, its share of right answers on held-out rows, and what it takes."""

    model: Model
    accuracy: float
    estimate: Footprint  # without a compiler
    footprint: Footprint | None = None  # None: was not measured, the choice did not depend on it
    price: float = 0.0  # of a bit of size, in nats of loss on a row; 0: before the descent
    held_out: HeldOut | None = field(default=None, compare=False, repr=False)  # None: only the share is known


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

    def cost(self, footprint: Footprint) -> float:
        """What decides between models that are equally good: the smaller one wins.

        It is the sum of the shares of all bounds. Where instructions are not bounded but another size is, it
        is the instructions: the size that is bounded may be used, time is always wanted. Without a bound on
        any size it is the bytes.

        >>> Bounds(bytes=100, instructions=10).cost(Footprint(50, 7.0, 20))
        1.2
        >>> Bounds(bytes=100).cost(Footprint(50, 7.0)), Bounds(loss=0.0).cost(Footprint(50, 7.0))
        (7.0, 50.0)
        """
        if not self.on_size:
            return float(footprint.bytes)
        if self.instructions == math.inf:
            return float(footprint.instructions)
        used = footprint.bytes, footprint.instructions, footprint.ram
        bounds = self.bytes, self.instructions, self.ram
        return sum(_share(u, bound) for u, bound in zip(used, bounds, strict=True))

    def best(self, footprints: Footprint | Iterable[Footprint]) -> Footprint | None:
        """Return the first of several forms, given the fastest first, that fits, or else the nearest.

        The result is None when there are no forms.
        """
        if isinstance(footprints, Footprint):
            return footprints
        nearest: Footprint | None = None
        for found in footprints:
            if self.excess(found) <= 1:
                return found
            if nearest is None or self.excess(found) < self.excess(nearest):
                nearest = found
            if found.instructions > self.instructions and found.bytes > _MAY_BE_A_TABLE:
                break
        return nearest

    def describe(self, least: float) -> str:
        """The bounds in words."""
        given = {"max_bytes": self.bytes, "max_instructions": self.instructions, "max_ram": self.ram}
        parts = [f"{name}={value:g}" for name, value in given.items() if value < math.inf]
        if self.loss is not None:
            parts.append(f"max_loss={self.loss:g} (accuracy {least:.4f} or more on held-out rows)")
        return " and ".join(parts)


def _share(used: float, bound: float) -> float:
    if bound == 0:
        return math.inf if used else 0.0
    return used / bound
