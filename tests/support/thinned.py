"""Combinations of parameters of which the everyday tests take a part, and `make slow` takes the rest."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest


def thinned(*axes: Sequence[Any], one_in: int = 2) -> list[Any]:
    """Return all combinations for `parametrize`, of which one in so many is not marked as slow.

    Every value of every axis is in one of these. They lie on diagonals, so that values meet in turn.
    """
    found, left = [], [set(range(len(axis))) for axis in axes]
    for places in itertools.product(*(range(len(axis)) for axis in axes)):
        is_slow = sum(places) % one_in != 0
        values = (axis[i] for axis, i in zip(axes, places, strict=True))
        found.append(pytest.param(*values, marks=pytest.mark.slow if is_slow else ()))
        if not is_slow:
            for seen, i in zip(left, places, strict=True):
                seen.discard(i)
    assert not any(left), f"one_in={one_in} leaves values out"
    return found
