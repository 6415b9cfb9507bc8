"""What baselines share: C templates and tables."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.splits import hold_out
from ethereal.features.packing import evenly

RATES = (0.1, 0.2, 0.4)  # of learning, because a low one is a weak baseline in few rounds
_MOST_ROWS = 4_000  # that choose a rate
_HELD_OUT = 0.25


def template(name: str) -> str:
    """Text of a C template beside this module."""
    return (resources.files("ethereal_study.baselines") / name).read_text(encoding="utf-8")


def table(ctype: str, name: str, values: NDArray[Any]) -> str:
    """A constant table in C."""
    suffix = "u" if ctype.startswith("u") else ""
    return (
        f"static const {ctype} {name}[] = {{{', '.join(f'{x}{suffix}' for x in values.ravel().tolist())}}};\n"
    )


def best_rate(
    fitted: Callable[[NDArray[Any], NDArray[Any], float], Any], X: NDArray[Any], y: NDArray[Any], seed: int
) -> float:
    """Return the rate of learning with the most right answers on rows that are held out, the lower of equals.

    `fitted` makes an estimator of rows, labels and a rate.
    """
    some = evenly(len(X), _MOST_ROWS)
    learn, held_out = (some[part] for part in hold_out(y[some], _HELD_OUT, seed))
    if len(held_out) == 0:
        return RATES[0]

    def right(rate: float) -> float:
        return float(np.mean(fitted(X[learn], y[learn], rate).predict(X[held_out]) == y[held_out]))

    return max(RATES, key=right)
