"""How large a model is in each code."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ethereal.model.codes import compact, redress

if TYPE_CHECKING:
    from ethereal.model import Model


def sizes(model: Model) -> dict[str, float]:
    """Bytes of the clauses in each code and at the combinatorial bound; no labels, Booleanizer, header.

    "redress" is 2 bytes per word; it is left out when there are more Booleans than a word can number. "bound"
    is log2 C(literals, k) bits for a clause of k includes, and for each of its votes the sign and the size,
    log2(2 * largest weight) bits. It takes the clauses for a list in which every choice of k literals is
    equally likely; a code that treats them as a set and knows their habits can go below.

    >>> from ethereal import Model
    >>> model = Model([0, 3, 1], [0, 2, 3], [[0, 1], [2, -1]], n_booleans=2, classes=["no", "yes"])
    >>> sizes(model)
    {'redress': 10, 'compact': 4, 'bound': 1.32...}
    """
    lengths = model.clauses.lengths
    votes = np.abs(model.weights.astype(np.int64)) * (lengths > 0)[:, None]  # an empty clause never votes
    found: dict[str, float] = {}
    if model.n_booleans <= redress.MAX_BOOLEANS:
        found["redress"] = 2 * int(model.clauses.redress_words().sum())
    found["compact"] = len(compact.payload(model).data)
    counts = np.bincount(lengths[votes.any(axis=1)]).tolist()  # clauses of each length
    bits = sum(n * _log2_choices(2 * model.n_booleans, k) for k, n in enumerate(counts) if n)
    bits += np.count_nonzero(votes) * math.log2(2 * max(int(votes.max(initial=0)), 1))
    found["bound"] = float(bits) / 8
    return found


def _log2_choices(n: int, k: int) -> float:
    """log2 of the number of ways to choose k of n."""
    return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(2)
