"""Combinations of parameters of which the everyday tests take a part, and `make slow` takes the rest."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import settings


def examples(n: int, **more: Any) -> settings:
    """Return settings of a property test with so many examples in `make slow`, else with a part of them."""
    return settings(max_examples=max(5, n * settings().max_examples // 100), **more)


def few(values: Sequence[Any], n: int = 1) -> list[Any]:
    """Return values for `parametrize`, of which so many, evenly spread, are not marked as slow.

    A value that is a tuple is several parameters.
    """
    kept = {round(i * (len(values) - 1) / max(1, n - 1)) for i in range(n)}
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)), marks=() if i in kept else pytest.mark.slow
        )
        for i, value in enumerate(values)
    ]


def thinned(*axes: Sequence[Any], one_in: int = 2) -> list[Any]:
    """Return all combinations for `parametrize`, of which one in so many is not marked as slow.

    Every value of every axis is in one of these. They lie on diagonals, so that values meet in turn.
    """
    chosen, left = [], [set(range(len(axis))) for axis in axes]
    for places in itertools.product(*(range(len(axis)) for axis in axes)):
        is_slow = sum(places) % one_in != 0
        values = (axis[i] for axis, i in zip(axes, places, strict=True))
        chosen.append(pytest.param(*values, marks=pytest.mark.slow if is_slow else ()))
        if not is_slow:
            for seen, i in zip(left, places, strict=True):
                seen.discard(i)
    assert not any(left), f"one_in={one_in} leaves values out"
    return chosen
