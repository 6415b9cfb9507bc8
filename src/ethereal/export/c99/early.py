"""Early answers: where straight code may answer, and by how many votes the leading class must be ahead.

The questions of the code are put in an order: those first whose votes differ most between rows, for each
instruction that they take. A check between two of them costs instructions on every row that comes there. So
there are few checks, only where rows that were given gain by them, and only if the worst row loses little.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.base.checks import check_number
from ethereal.export.c99.device_rows import NUMBER_TYPES, Slots, calibration, simplified
from ethereal.export.c99.layouts import STRAIGHT
from ethereal.export.c99.layouts.straight import Estimator
from ethereal.export.c99.layouts.straight.tree import Builder, make_fields, move_votes
from ethereal.features.packing import evenly
from ethereal.model import Model
from ethereal.model.engine import input_matrix
from ethereal.model.needs import NotSupported
from ethereal.model.output import checks_of, leads

_MOST_ROWS = 20_000
_MOST_CHECKS = 3
_PLACES = np.arange(0.1, 0.91, 0.05)  # of checks, as shares of all instructions
_WORST = 0.08  # of the instructions, which all checks together may take. Parts share a little less.
_LEAST_GAIN = 0.04  # of the instructions of an average row, or no check pays


def answering_early(model: Model, X: ArrayLike | None, loss: float = 0.001, *, input: str = "float") -> Model:
    """Return the model with early answers: an average row takes fewer instructions, in the layout "straight".

    After a part of the clauses a row is answered if its leading class is clear. `predict` gives the same
    answers as the board, and model files keep them. Class sums and shares are those of all clauses. The model
    is simplified, and its clauses are in another order. If no check pays, a warning says so, and the model is
    returned as it is.

    Parameters
    ----------
    model
        A model of rows, without a front end.
    X
        Rows that the model learned from, at least 1 / loss.
    loss
        Share of these rows whose answer may change. Of other rows more may change, so look at the accuracy.
    input
        Number type of the features on the board. It decides only which checks pay.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ethereal import EtherealClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = EtherealClassifier(20, 10, 3.0, epochs=3, random_state=1).fit(X, y).model_
    >>> quick = answering_early(model, X, loss=0.01)
    >>> len(quick.early) > 0, bool((quick.predict(X) != model.predict(X)).mean() <= 0.01)
    (True, True)
    """
    check_number("loss", loss, 1e-6, 0.5)
    if model.early:
        raise ValueError("The model has early answers already. Use the model that they were added to.")
    if model.is_number:
        raise NotSupported("A number has no early answers, because it needs the votes of all clauses.")
    if model.output.kind != "classes":
        raise ValueError(
            "The model may answer unknown, for which it looks at all votes. Early answers are for models "
            "that always answer: take with_unknown(None)."
        )
    small = simplified(model)
    # The features of a window take nearly all of its instructions, and early answers save none of these.
    replace(STRAIGHT.supports, front_ends=frozenset({None})).check(small.needs)
    rows = _rows(small, X, loss)
    better = _Trial(small, rows, loss, input).best()
    if better is None:
        warnings.warn(
            "No check pays on this model, so it has no early answers. It is too small, or too few rows are "
            "clear before the end.",
            UserWarning,
            stacklevel=3,
        )
        return model
    return better


def _rows(model: Model, X: ArrayLike | None, loss: float) -> NDArray[np.bool_]:
    """Return which clauses fire on the rows, rows x clauses."""
    least = int(np.ceil(1 / loss))
    given = None if X is None else input_matrix(model, X)
    n = 0 if given is None else len(given)
    if given is None or n < least:
        raise ValueError(
            f"Early answers that may change a share of {loss:g} of the answers need {least:,} rows, and "
            f"{n:,} were given. Give training rows with rows=, or a data set to `ethereal measure`."
        )
    return model.clause_outputs(given[evenly(n, _MOST_ROWS)])


@dataclass(frozen=True)
class _Place:
    """Where a check could stand."""

    n_clauses: int
    instructions: float  # before it
    lead: NDArray[np.int64]  # of each row
    is_wrong: NDArray[np.bool_]  # rows whose leading class is not the answer

    def margin(self, n_changed: int) -> int:
        """Return the least margin with which at most so many answers change."""
        leads = np.sort(self.lead[self.is_wrong])[::-1]
        return int(leads[n_changed]) if len(leads) > n_changed else 0


class _Trial:
    """Tries places of checks on the rows that were given."""

    def __init__(self, model: Model, fires: NDArray[np.bool_], loss: float, input: str) -> None:
        self._model, self._loss, self._n_rows = model, loss, len(fires)
        slots = Slots(model, kind=NUMBER_TYPES[input])
        code = Builder(slots, calibration(model, slots, None)).build()
        fields = make_fields([code])
        move_votes(code, fields)
        estimator = Estimator(slots, fields)
        self._check = estimator.check[0]
        self._full = estimator.costs([code], [1.0]).instructions
        weights = model.weights.astype(np.float32)
        groups = [list(item.clauses) for item in code.items]
        costs = [estimator.instructions(item, code.weight) for item in code.items]
        votes = [fires[:, group].astype(np.float32) @ weights[group] for group in groups]
        spread = [float((each - each.mean(axis=1, keepdims=True)).var(axis=0).sum()) for each in votes]
        order = np.argsort([-one / cost for one, cost in zip(spread, costs, strict=True)], kind="stable")
        always = sorted(set(range(model.n_clauses)) - {i for group in groups for i in group})
        self._order = always + [i for g in order for i in groups[g]]
        winners = model.output.codes(fires.astype(np.float32) @ weights)
        self._places: list[_Place] = []
        sums = fires[:, always].astype(np.float32) @ weights[always]
        n_clauses, spent, wanted = len(always), 0.0, list(_PLACES)
        for g in order[:-1].tolist():
            sums = sums + votes[g]
            n_clauses += len(groups[g])
            spent += costs[g]
            if wanted and spent >= wanted[0] * sum(costs):
                is_wrong = model.output.codes(sums) != winners
                self._places.append(_Place(n_clauses, spent, leads(sums), is_wrong))
                wanted = [place for place in wanted if spent < place * sum(costs)]

    def best(self) -> Model | None:
        """Return the model with the checks that save most, None if none pays."""
        checks, least = None, (1 - _LEAST_GAIN) * self._full
        for n in range(1, _MOST_CHECKS + 1):
            if n * self._check > _WORST * self._full:
                break
            margins = [place.margin(int(self._loss * self._n_rows / n)) for place in self._places]
            clear = [place.lead > margin for place, margin in zip(self._places, margins, strict=True)]
            for chosen in combinations(range(len(self._places)), n):
                cost = self._mean(chosen, clear)
                if cost < least:
                    least, checks = cost, [(self._places[i].n_clauses, margins[i]) for i in chosen]
        if checks is None:
            return None
        ordered = self._model._with(clauses=self._model.clauses.take(self._order))
        bounds = self._model.deployment
        if bounds is not None:  # its layout may be another one, but early answers need "straight"
            bounds = replace(bounds, layout=None, clause_bytes=None)
        return ordered._with(early=checks_of(checks, ordered.n_clauses), deployment=bounds)

    def _mean(self, chosen: tuple[int, ...], clear: list[NDArray[np.bool_]]) -> float:
        """Return the instructions of an average row with these checks."""
        left, cost = np.ones(self._n_rows, dtype=bool), self._full
        for i in chosen:
            saved = self._full - self._places[i].instructions
            cost += self._check * float(left.mean()) - saved * float((left & clear[i]).mean())
            left &= ~clear[i]
        return cost
