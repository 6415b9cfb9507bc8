"""How often each clause of a model fires, and how often it is right when it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.features.matrices import class_codes
from ethereal.model.needs import ANSWERS, PATCHES, WINDOWS, Supports

if TYPE_CHECKING:
    from ethereal.model.model import Model

SUPPORTS = Supports("clause_statistics", front_ends=WINDOWS, outputs=ANSWERS, patches=PATCHES, early=True)


@dataclass(frozen=True, eq=False)
class ClauseStatistics:
    """What the clauses of a model do on labelled rows.

    Where a clause votes against a class, the rows that it should fire on are those of all other classes.
    Shares are NaN where a clause has no vote for a class, or where there are no rows to count.
    """

    coverage: NDArray[np.float64]  # per clause: the share of all rows that it fires on
    precision: NDArray[np.float64]  # clauses x classes: of the rows that it fires on, those that it should
    recall: NDArray[np.float64]  # clauses x classes: of the rows that it should fire on, those that it does


def clause_statistics(model: Model, X: Any, y: ArrayLike) -> ClauseStatistics:
    """Return coverage, precision and recall of the clauses on rows X with labels y."""
    SUPPORTS.check(model.needs)
    fires = model.clause_outputs(X).T.astype(np.float64)  # clauses x rows
    labels = np.asarray(y)
    if labels.shape != (fires.shape[1],):
        raise ValueError(
            f"y has shape {labels.shape}. It must have one label for each of the {fires.shape[1]} rows of X."
        )
    of_class = class_codes(labels, model.classes)[:, None] == np.arange(model.n_classes)  # rows x classes
    n_rows, n_fires = of_class.sum(axis=0), fires.sum(axis=1, keepdims=True)
    both = fires @ of_class
    against = model.weights < 0
    right = np.where(against, n_fires - both, both)
    wanted = np.where(against, len(labels) - n_rows, n_rows)
    has_vote = model.weights != 0
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = [np.where(has_vote & (of > 0), right / of, np.nan) for of in (n_fires, wanted)]
        coverage = np.ravel(n_fires / len(labels))
    return ClauseStatistics(coverage, *shares)
