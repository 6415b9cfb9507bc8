"""What a model takes on a device, as far as pruning has to know it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ethereal.encode import compact

if TYPE_CHECKING:
    from ethereal.model import Model

_THRESHOLD_BYTES = 4


@dataclass(frozen=True)
class Footprint:
    """Bytes of flash and instructions per row."""

    bytes: int
    instructions: float


Measure = Callable[["Model"], Footprint]


def estimate(model: Model) -> Footprint:
    """Guess without a compiler: the compact code and the thresholds in use; ten instructions per test.

    Literals are taken to be tested in turn until one is false, each true as often as its Boolean was in the
    training rows (half of them when the model does not know), and every Boolean in use to be made once.

    >>> from ethereal import Model
    >>> estimate(Model([0, 3], [0, 2], [[1]], n_booleans=2, classes=["x"]))
    Footprint(bytes=2, instructions=35.0)
    """
    used = np.unique(model.literals % max(model.n_booleans, 1))
    stored = len(compact.payload(model).data)
    if model.booleanizer is not None:
        stored += _THRESHOLD_BYTES * len(used)
    rates = np.full(model.n_booleans, 0.5) if model.boolean_rates is None else model.boolean_rates
    rates = np.concatenate([rates, 1 - rates])  # per literal
    tests = 0.0
    for j in range(model.n_clauses):
        own = rates[model.literals[model.offsets[j] : model.offsets[j + 1]]]
        tests += np.cumprod(np.concatenate([[1.0], np.sort(own)]))[: len(own)].sum()
    return Footprint(stored, round(10 * float(tests) + 10 * len(used), 1))
