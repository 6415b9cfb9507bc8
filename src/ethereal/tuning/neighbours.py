"""What the next smaller and the next larger model of a curve would cost, on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ethereal.tuning.choice import PrunedModel, noise

_APART = 1.4  # times the bytes from one model to the next that is worth telling


@dataclass(frozen=True)
class Neighbour:
    """A model of the curve beside the chosen one. Answers are those on the same held-out rows."""

    point: PrunedModel
    rows: int  # held-out rows, counted once per split
    right: int  # of them
    more: int  # right answers more than the chosen model has, below 0 for fewer
    error: float  # standard error of the difference in accuracy


def neighbours(curve: Sequence[PrunedModel], chosen: PrunedModel) -> dict[str, Neighbour]:
    """Return the next "smaller" and "larger" model, where there are some that vote.

    The answers are counted as they are. Smoothed and made to fall, they would hide that a much larger model
    really is better.
    """
    found = {}
    size = chosen.estimate.bytes
    smaller = [p for p in curve if p.model.n_clauses and p.estimate.bytes * _APART <= size]
    larger = [p for p in curve if p.estimate.bytes >= _APART * size]
    if smaller:
        found["smaller"] = max(smaller, key=lambda p: p.estimate.bytes)
    if larger:
        found["larger"] = min(larger, key=lambda p: p.estimate.bytes)
    return {name: _beside(point, chosen) for name, point in found.items() if point.held_out is not None}


def _beside(point: PrunedModel, chosen: PrunedModel) -> Neighbour:
    assert point.held_out is not None
    assert chosen.held_out is not None
    right, own = int(point.held_out.right.sum()), int(chosen.held_out.right.sum())
    return Neighbour(point, len(point.held_out.right), right, right - own, noise(point, chosen))
