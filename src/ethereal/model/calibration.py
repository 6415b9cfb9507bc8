"""Class sums to shares of 1 by a softmax, and the number of votes that makes a class e times as likely."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A temperature of T/3 is expected before any row was seen. A temperature e times as large or as small must
# gain this much log loss, in nats over all rows. Otherwise a few rows, all right, would ask for certainty.
_PRIOR = 3.0
_LEAST_SCALE = 1e-3  # logits per vote of a machine


def softmax(logits: NDArray[Any]) -> NDArray[Any]:
    """Shares of 1 in the order of the logits: rows x classes."""
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares  # type: ignore[no-any-return]


def vote_scale(sums: NDArray[np.int32], codes: NDArray[np.int64], expected: float) -> float:
    """Return the factor that turns class sums into the logits that fit the labels best.

    It is drawn to the expected one where rows are few, as `fit_temperature` is.
    """

    def loss(log_scale: float) -> float:
        drawn = _PRIOR * (log_scale - math.log(expected)) ** 2
        return float(log_losses(math.exp(log_scale) * sums, codes).sum()) + drawn

    # 20 steps are exact to less than a thousandth of the range. Trees have votes of thousands, whose scale
    # lies below the range of machines.
    low, high = (_LEAST_SCALE, 2.0) if expected >= _LEAST_SCALE else (expected / 30, expected * 30)
    return math.exp(_lowest(loss, math.log(low), math.log(high), 20))


def fit_temperature(
    sums: NDArray[np.int32],
    codes: NDArray[Any],
    T: float,
    weights: NDArray[np.float64] | None = None,
    prior: float = _PRIOR,
) -> float:
    """Temperature with the least log loss on rows that were held out, drawn to T/3 where these are few.

    `prior` says how strongly. Rounded to three digits, so that it is the same number on every machine.
    """
    expected = T / 3
    if len(codes) == 0:
        return expected
    share = np.ones(len(codes)) if weights is None else weights * (len(codes) / weights.sum())

    def loss(log_temperature: float) -> float:
        losses = log_losses(sums / math.exp(log_temperature), codes)
        return float((share * losses).sum()) + prior * (log_temperature - math.log(expected)) ** 2

    middle, reach = math.log(expected), math.log(1000.0)
    return float(f"{math.exp(_lowest(loss, middle - reach, middle + reach, 40)):.3g}")


def log_losses(logits: NDArray[Any], codes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the log loss of each row. It is bounded, so that no single row outweighs all others."""
    return np.asarray(-np.log(np.maximum(softmax(logits)[np.arange(len(codes)), codes], 1e-30)))


def _lowest(loss: Callable[[float], float], low: float, high: float, steps: int) -> float:
    """Where a function with one valley is lowest, by golden section."""
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(steps):
        a, b = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, b) if loss(a) <= loss(b) else (a, high)
    return (low + high) / 2
