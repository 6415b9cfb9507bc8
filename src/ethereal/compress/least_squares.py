"""Votes for a number: a ridge regression on the outputs of clauses, rounded to signed bytes.

`fit_line` does the same for values of features, as the linear part beside the clauses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal import _native
from ethereal.features.feature_map import THRESHOLD
from ethereal.features.rounding import to_float32
from ethereal.model import Model, Number
from ethereal.model.clauses import Clauses
from ethereal.model.linear import MOST_FINE, MOST_PLACE, Linear, Slope
from ethereal.model.output import LinearNumber

MOST_VOTE = 127  # a vote takes a byte of flash
# Strengths that are tried, in variances of the target.
_STRENGTHS = tuple(2.0**k for k in range(-2, 15))
_LINE_STRENGTHS = tuple(2.0**k for k in range(-24, 15, 2))  # features may say nearly the same
_LEAST_STEP = 2.0**-28  # of the spread of labels, in what a linear part is counted
LEAST_SHIFT = 8  # bits of a linear part that are below a vote, so that its votes are exact in float32
_MOST_PRODUCTS = 1 << 29  # of features, that the matrix of a linear part takes
_MOST_OUTPUTS = 1 << 25  # outputs of clauses that votes are fitted on, a byte each


@dataclass(frozen=True)
class Votes:
    """Votes of clauses, what one of them is worth, and the number without votes."""

    weights: NDArray[np.int32]  # clauses x 1
    scale: float
    offset: float

    def of(self, model: Model, clauses: Clauses, line: Linear | None = None) -> Model:
        """Return a model whose clauses vote like this, without those that have no vote."""
        assert isinstance(model.output, Number)
        output = replace(model.output, scale=self.scale, offset=self.offset)
        if line is not None:
            output = LinearNumber(**vars(output), linear=line)
        return model._with(clauses=clauses.voting(self.weights).merged(), output=output)


def fit_votes(outputs: NDArray[np.bool_], targets: NDArray[np.float64], *,
              weights: NDArray[np.float64] | None = None, signs: NDArray[np.int8] | None = None,
              least: float = 0.0) -> Votes:  # fmt: skip
    """Fit votes to targets, which vary, by outputs, rows x clauses.

    The strength of the ridge regression is the one with the least generalized cross-validation. `signs` has
    the sign that the votes of a clause must have, or 0. A vote is worth at least as much as `least`.

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
        return Votes(np.zeros((outputs.shape[1], 1), np.int32), least or 1.0, mean)
    free = np.zeros(outputs.shape[1], np.int8) if signs is None else signs
    votes = _ridge(outputs, (aim - mean) / spread, share, free, _STRENGTHS)
    largest = float(np.abs(votes).max(initial=0.0)) * spread
    scale = max(step_of(largest), least)
    whole = np.rint(votes * (spread / scale)).astype(np.int32)
    sums = outputs.astype(np.float32) @ whole.astype(np.float32)  # exact, in any order
    offset = float(np.average(aim - scale * sums.astype(np.float64), weights=share))
    return Votes(whole[:, None], scale, offset)


def _ridge(given: NDArray[Any], targets: NDArray[np.float64], share: NDArray[np.float64],
           signs: NDArray[np.int8], strengths: Sequence[float]) -> NDArray[np.float64]:  # fmt: skip
    """Return the weights of a ridge regression, of the strength with the least cross-validation."""
    regression = _native.Ridge(given, share)
    regression.aim(targets)
    n_rows = int((share > 0).sum())

    def validated(strength: float) -> float:
        squares, freedom = regression.fit(strength)
        left = 1 - (1 + freedom) / n_rows
        return squares / left**2 if left > 0 else math.inf

    votes: NDArray[np.float64] = regression.votes(min(strengths, key=validated), signs)[0]
    return votes


def fit_line(X: NDArray[Any], targets: NDArray[np.float64], features: Sequence[int], *,
             weights: NDArray[np.float64] | None = None,
             directions: Mapping[int, int] | None = None) -> Linear | None:  # fmt: skip
    """Fit a linear part to targets, which vary, by these features of rows. None if no feature counts.

    `directions` has the sign that the slope of a feature must have.

    >>> X = np.arange(100.0)[:, None]
    >>> line = fit_line(X, 3 * X[:, 0], [0])
    >>> [round(float(value), 2) for value in line.step * line.fine(np.array([[0.0], [10.0], [500.0]]))]
    [0.0, 30.0, 297.0]
    """
    every = max(1, math.ceil(len(X) * len(features) ** 2 / _MOST_PRODUCTS))  # of so many rows one is taken
    share = (np.ones(len(targets)) if weights is None else weights)[::every]
    X, targets = X[::every], targets[::every]
    bits = (31 - math.ceil(math.log2(max(1, len(features))))) // 2
    slopes = [slope for f in features if (slope := _unweighted(f, X[share > 0, f], bits)) is not None]
    mean = float(np.average(targets, weights=share))
    spread = math.sqrt(float(np.average((targets - mean) ** 2, weights=share)))
    if not slopes or not spread > 0:
        return None
    steps = np.stack([slope.steps(X[:, slope.feature]) for slope in slopes], axis=1).astype(np.float64)
    centre = np.rint(steps.mean(axis=0))
    # Powers of two, so that the matrix does not depend on how a computer adds up.
    scales = np.exp2(np.rint(np.log2(np.sqrt(((steps - centre) ** 2).mean(axis=0) + 1e-9))))
    signs = np.array([(directions or {}).get(slope.feature, 0) for slope in slopes], np.int8)
    given, aim = np.ascontiguousarray((steps - centre) / scales), (targets - mean) / spread
    shares = _ridge(given, aim, np.ascontiguousarray(share), signs, _LINE_STRENGTHS)
    per_step = shares * spread / scales
    most = float(np.abs(per_step) @ [slope.high - slope.low for slope in slopes])
    step = Number.scale_of(max(most / (MOST_FINE // 4), spread * _LEAST_STEP))
    whole = np.rint(per_step / step).astype(np.int64).tolist()
    counted = tuple(slope._replace(weight=w) for slope, w in zip(slopes, whole, strict=True) if w)
    return Linear(step, counted) if counted else None


def _unweighted(feature: int, column: NDArray[Any], bits: int) -> Slope | None:
    """Return how a feature is counted in at most 2**bits steps, None if it does not vary."""
    known = to_float32(column).astype(np.float64)
    known = known[np.isfinite(known)]
    if len(known) == 0 or (low := float(known.min())) == (high := float(known.max())):
        return None
    largest = max(abs(low), abs(high))
    exponent = math.frexp(max((high - low) / (1 << bits), largest / MOST_PLACE))[1]
    if not -100 <= exponent <= 100:
        return None
    ends = (math.trunc(math.ldexp(end, -exponent)) for end in (low, high))
    slope = Slope(feature, 0, exponent, *ends)
    return slope if slope.low < slope.high else None


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
