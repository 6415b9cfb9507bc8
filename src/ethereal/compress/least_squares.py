"""Votes for a number: a ridge regression on the outputs of clauses, rounded to signed bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ethereal import _native
from ethereal.features.feature_map import THRESHOLD
from ethereal.model import Model, Number
from ethereal.model.clauses import Clauses

MOST_VOTE = 127  # a vote takes a byte of flash
# Strengths that are tried, in variances of the target.
_STRENGTHS = tuple(2.0**k for k in range(-2, 15))
_MOST_OUTPUTS = 1 << 25  # outputs of clauses that votes are fitted on, a byte each


@dataclass(frozen=True)
class Votes:
    """Votes of clauses, what one of them is worth, and the number without votes."""

    weights: NDArray[np.int32]  # clauses x 1
    scale: float
    offset: float
    strength: float  # of the ridge regression, in variances of the target

    def of(self, model: Model, clauses: Clauses) -> Model:
        """Return a model whose clauses vote like this, without those that have no vote."""
        assert isinstance(model.output, Number)
        output = replace(model.output, scale=self.scale, offset=self.offset)
        return model._with(clauses=clauses.voting(self.weights).merged(), output=output)


def fit_votes(outputs: NDArray[np.bool_], targets: NDArray[np.float64], *,
              weights: NDArray[np.float64] | None = None, signs: NDArray[np.int8] | None = None,
              strength: float | None = None) -> Votes:  # fmt: skip
    """Fit votes to targets, which vary, by outputs, rows x clauses.

    The strength of the ridge regression is the one with the least generalized cross-validation, or the given
    one. `signs` has the sign that the votes of a clause must have, or 0.

    >>> outputs = np.array([[True, False], [False, True], [True, True], [False, False]] * 20)
    >>> votes = fit_votes(outputs, np.array([7.0, 3.0, 5.0, 5.0] * 20))
    >>> (votes.weights.ravel() * votes.scale).round(1).tolist(), round(votes.offset, 2)
    ([2.0, -2.0], 5.0)
    """
    share = np.ones(len(targets)) if weights is None else weights
    every = max(1, math.ceil(outputs.size / _MOST_OUTPUTS))  # of so many rows one is taken
    outputs = np.ascontiguousarray(outputs[::every])
    aim, share = np.ascontiguousarray(targets[::every]), np.ascontiguousarray(share[::every])
    mean = float(np.average(aim, weights=share))
    spread = math.sqrt(float(np.average((aim - mean) ** 2, weights=share)))
    if outputs.shape[1] == 0 or not spread > 0:
        return Votes(np.zeros((outputs.shape[1], 1), np.int32), 1.0, mean, 0.0)
    regression = _native.Ridge(outputs, share)
    regression.aim((aim - mean) / spread)
    if strength is None:
        n_rows = int((share > 0).sum())

        def validated(strength: float) -> float:
            squares, freedom = regression.fit(strength)
            left = 1 - (1 + freedom) / n_rows
            return squares / left**2 if left > 0 else math.inf

        strength = min(_STRENGTHS, key=validated)
    free = np.zeros(outputs.shape[1], np.int8) if signs is None else signs
    votes, _ = regression.votes(strength, free)
    largest = float(np.abs(votes).max(initial=0.0)) * spread
    scale = step_of(largest)
    whole = np.rint(votes * (spread / scale)).astype(np.int32)
    sums = outputs.astype(np.float32) @ whole.astype(np.float32)  # exact, in any order
    offset = float(np.average(aim - scale * sums.astype(np.float64), weights=share))
    return Votes(whole[:, None], scale, offset, strength)


def step_of(largest: float) -> float:
    """Return the least power of two that makes a signed byte of every vote up to the largest one.

    >>> step_of(127.0), step_of(128.0)
    (1.0, 2.0)
    """
    return 1.0 if largest == 0 else Number.scale_of(largest / (MOST_VOTE + 0.49)) * 2


def outputs_of(clauses: Clauses, booleans: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which clauses with one column of votes fire, rows x clauses."""
    return Model.of(clauses, output=Number(1.0)).clause_outputs(booleans)


def literal_signs(model: Model, directions: dict[int, int] | None = None) -> NDArray[np.int8]:
    """Return the sign that votes of each literal's clauses must have, 0 for any.

    `directions` tells of a feature whether the number rises (1) or falls (-1) with it. Without it they are
    the directions that the model has: all clauses that ask for a feature push the number one way as it rises.
    """
    of, n = model.feature_map, model.n_booleans
    rises = np.concatenate([np.ones(n, np.int8), -np.ones(n, np.int8)])  # of literals, with their feature
    rises[np.concatenate([of.kind != THRESHOLD] * 2)] = 0
    by_feature = np.zeros(of.n_features, np.int8)
    if directions is None:
        pushes = np.sign(model.weights[model.clauses.clause, 0]) * rises[model.literals]
        feature = of.feature[model.clauses.boolean]
        asked, plain = np.unique(feature), model.clauses.boolean
        odd = set(of.feature[plain[of.kind[plain] != THRESHOLD]].tolist())
        for f in asked.tolist():
            ways = np.unique(pushes[feature == f])
            ways = ways[ways != 0]
            if len(ways) == 1 and f not in odd:
                by_feature[f] = ways[0]
    else:
        for f, direction in directions.items():
            by_feature[f] = direction
    signs: NDArray[np.int8] = by_feature[np.concatenate([of.feature] * 2)] * rises
    return signs


def clause_signs(
    clauses: Clauses, of_literals: NDArray[np.int8]
) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Return the sign that votes of each clause must have, 0 for any, and which clauses may vote at all."""
    signs, n = of_literals[clauses.literals], len(clauses)
    up, down = (np.bincount(clauses.clause[signs == sign], minlength=n) > 0 for sign in (1, -1))
    return (up.astype(np.int8) - down.astype(np.int8)), ~(up & down)
