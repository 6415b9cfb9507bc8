"""A margin for "unknown" from machines that leave each group out in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from ethereal.base.splits import deal_rows
from ethereal.model import Model, checks
from ethereal.model.output import leads
from ethereal.model.unknown import Calibration, check_wanted, find_margin

MOST_PARTS = 10  # trainings

# Returns a model that learned from the rows of the first mask, and whose votes on the second are looked at.
Train = Callable[[NDArray[np.intp], NDArray[np.intp]], Model]


def calibrated(
    model: Model,
    train: Train,
    X: Any,
    y: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    accuracy: float | None = None,
    answered: float | None = None,
    seed: int = 0,
) -> tuple[Model, Calibration]:
    """Return a model that may answer "unknown", with what its margin is expected to give on new groups.

    Parameters
    ----------
    model
        The model that learned from all rows.
    train
        Makes a model of the same kind from some rows: `train(rows, left_out)`, both numbers of rows.
    X, y
        All training rows and their labels.
    groups
        The person, recording or batch of each row. Each is left out in turn. More than ten groups are dealt
        into ten parts. Without groups rows are dealt, and the model must not meet new people or places.
    accuracy, answered
        The wanted share of right answers among the rows that are answered, or the wanted share of rows that
        are answered. Give one of them.
    seed
        How rows and groups are dealt.
    """
    check_wanted(accuracy, answered)
    lead, right, n_groups = left_out(model, train, X, y, groups, seed)
    calibration = find_margin(lead, right, accuracy=accuracy, answered=answered, n_groups=n_groups)
    provenance = checks.provenance({**model.provenance, "unknown": calibration.as_dict()})
    return model.with_unknown(calibration.margin)._with(provenance=provenance), calibration


class LeftOut(NamedTuple):
    """Answers to all rows, each by a machine that did not learn from the row's group."""

    lead: NDArray[np.int64]  # of the first class, in votes of the model that learned from all rows
    right: NDArray[np.bool_]  # whether the first class is the true one
    n_groups: int


def left_out(
    model: Model, train: Train, X: Any, y: ArrayLike, groups: ArrayLike | None, seed: int
) -> LeftOut:
    """Train without each part of the groups, and answer the rows of that part.

    Machines of the same kind may still have votes of another size, for example when votes were fitted again
    for one of them only. So leads are compared relative to the mean lead of a machine on all rows.
    """
    labels, groups_of_rows = np.asarray(y), None if groups is None else np.asarray(groups)
    lead, right = np.zeros(len(labels), dtype=np.int64), np.zeros(len(labels), dtype=bool)
    usual = leads(model.class_sums(X)).mean()
    for part in deal_rows(labels, MOST_PARTS, seed, groups_of_rows):
        one = train(np.setdiff1d(np.arange(len(labels)), part), part)
        sums = one.class_sums(X)
        lead_of_part = leads(sums)
        lead[part] = np.rint(lead_of_part[part] * (usual / max(lead_of_part.mean(), 1e-9)))
        right[part] = one.classes[sums[part].argmax(axis=1)] == labels[part]
    return LeftOut(lead, right, 0 if groups_of_rows is None else len(np.unique(groups_of_rows)))


def calibrate(
    clf: Any, X: Any, y: ArrayLike, groups: ArrayLike | None, *, categories: Any = None, **wanted: Any
) -> tuple[Model, Calibration]:
    """Return the model of a fitted classifier with a margin. Its clones leave the groups out."""
    labels = np.asarray(y)

    def train(some: NDArray[np.intp], others: NDArray[np.intp]) -> Model:
        one = clone(clf).set_params(verbose=0).fit(_take(X, some), labels[some], categories=categories)
        return one.model_  # type: ignore[no-any-return]

    seed = clf.random_state if isinstance(clf.random_state, int) else 0
    return calibrated(clf.model_.with_unknown(None), train, X, labels, groups, seed=seed, **wanted)


def _take(X: Any, rows: NDArray[np.intp]) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]
