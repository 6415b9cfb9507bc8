"""By how many votes a class must lead, so that answers are as often right as is wanted.

Machines that leave each group out in turn say so. Votes are whole numbers, so a wanted share can rarely be
met exactly. The margin is then the smallest that gives at least that accuracy, or the largest that leaves at
least that many rows answered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.base.checks import check_number
from ethereal.base.splits import deal_rows
from ethereal.model import Model, checks
from ethereal.model.output import leads

_MOST_PARTS = 10  # trainings

# Returns a model that learned from the rows of the first mask, and whose votes on the second are looked at.
Train = Callable[[NDArray[np.intp], NDArray[np.intp]], Model]


@dataclass(frozen=True)
class Calibration:
    """A margin and what it gave on rows that were left out of training."""

    margin: int
    accuracy: float  # share of right answers among the rows that were answered
    answered: float  # share of rows
    wanted: str  # "accuracy 0.95" or "answered 0.9"
    n_rows: int
    n_groups: int  # people or recordings that were left out in turn, 0 when there were none
    curve: tuple[tuple[int, float, float], ...]  # margin, accuracy and share answered, from margin 0 on

    def as_dict(self) -> dict[str, Any]:
        """Return all but the curve, for the model's provenance."""
        return {name: value for name, value in asdict(self).items() if name != "curve"}

    def __str__(self) -> str:
        of = f"{self.n_groups} groups" if self.n_groups else "folds of single rows"
        return (
            f"margin {self.margin}: {100 * self.answered:.1f} % of {self.n_rows} rows are answered, "
            f"{100 * self.accuracy:.1f} % of the answers are right (left out in turn: {of})"
        )


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

    `model` learned from all rows. `train(rows, left_out)` makes one of the same kind from some rows, both
    given by number. Each of the groups is left out in turn, and more than ten are dealt into ten parts.
    Without groups rows are dealt, and the model must not meet new people or places. `accuracy` and `answered`
    are those of `find_margin`.
    """
    _check_wanted(accuracy, answered)
    lead, right, n_groups = left_out(model, train, X, y, groups, seed)
    calibration = find_margin(lead, right, accuracy=accuracy, answered=answered, n_groups=n_groups)
    provenance = checks.provenance({**model.provenance, "unknown": calibration.as_dict()})
    return model.with_unknown(calibration.margin)._with(provenance=provenance), calibration


def calibrate(
    clf: Any, X: Any, y: ArrayLike, groups: ArrayLike | None, *, categories: Any = None, **wanted: Any
) -> tuple[Model, Calibration]:
    """Return the model of a fitted classifier with a margin. Its clones leave the groups out."""
    from sklearn.base import clone  # late: a table is refused before scikit-learn is loaded

    labels = np.asarray(y)

    def train(some: NDArray[np.intp], others: NDArray[np.intp]) -> Model:
        rows = X.iloc[some] if hasattr(X, "iloc") else np.asarray(X)[some]
        one = clone(clf).set_params(verbose=0).fit(rows, labels[some], categories=categories)
        return one.model_  # type: ignore[no-any-return]

    seed = clf.random_state if isinstance(clf.random_state, int) else 0
    return calibrated(clf.model_.with_unknown(None), train, X, labels, groups, seed=seed, **wanted)


def left_out(
    model: Model, train: Train, X: Any, y: ArrayLike, groups: ArrayLike | None, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_], int]:
    """Train without each part of the groups, and answer the rows of that part.

    Return by how many votes the first class of each row leads, whether it is the true one, and the number of
    groups. Machines of the same kind may still have votes of another size, for example when votes were fitted
    again for one of them only. So leads are compared relative to the mean lead of a machine on all rows.
    """
    labels, groups_of_rows = np.asarray(y), None if groups is None else np.asarray(groups)
    lead, right = np.zeros(len(labels), dtype=np.int64), np.zeros(len(labels), dtype=bool)
    usual = leads(model.class_sums(X)).mean()
    for part in deal_rows(labels, _MOST_PARTS, seed, groups_of_rows):
        one = train(np.setdiff1d(np.arange(len(labels)), part), part)
        sums = one.class_sums(X)
        lead_of_part = leads(sums)
        lead[part] = np.rint(lead_of_part[part] * (usual / max(lead_of_part.mean(), 1e-9)))
        right[part] = one.classes[sums[part].argmax(axis=1)] == labels[part]
    return lead, right, 0 if groups_of_rows is None else len(np.unique(groups_of_rows))


def find_margin(
    lead: NDArray[np.int64],
    right: NDArray[np.bool_],
    *,
    accuracy: float | None = None,
    answered: float | None = None,
    n_groups: int = 0,
) -> Calibration:
    """Return the margin for a wanted accuracy of the answers, or a wanted share of rows with an answer.

    `lead` has the votes by which the first class of each row leads, and `right` whether it is the true one.
    The rows were left out of training. A margin with so few answers that one wrong answer would miss the
    wanted accuracy is not considered.
    """
    _check_wanted(accuracy, answered)
    margins = np.unique(np.concatenate([[0], lead]))
    counts = np.array([(lead >= m).sum() for m in margins])
    shares = np.array([right[lead >= m].mean() for m in margins])
    curve = tuple(
        (int(m), float(a), float(n / len(lead))) for m, a, n in zip(margins, shares, counts, strict=True)
    )
    if accuracy is None:
        assert answered is not None
        i = int(np.flatnonzero(counts >= answered * len(lead) - 1e-9)[-1])
        wanted = f"answered {answered:g}"
    else:
        enough = counts * (1 - accuracy) >= 1
        good = np.flatnonzero(enough & (shares >= accuracy - 1e-12))
        if len(good) == 0:
            raise ValueError(_too_much(accuracy, [point for i, point in enumerate(curve) if enough[i]]))
        i, wanted = int(good[0]), f"accuracy {accuracy:g}"
    return Calibration(*curve[i], wanted, len(lead), n_groups, curve)


def _check_wanted(accuracy: float | None, answered: float | None) -> None:
    """Refuse both shares, none, or one out of range."""
    if (accuracy is None) == (answered is None):
        raise ValueError("Give accuracy, the share of right answers, or answered, the share of rows.")
    if accuracy is not None and not 0 < check_number("accuracy", accuracy, 0, 1) < 1:
        raise ValueError(f"accuracy is {accuracy}. It must be above 0 and below 1, such as 0.95.")
    if answered is not None and not 0 < check_number("answered", answered, 0, 1) <= 1:
        raise ValueError(f"answered is {answered}. It must be above 0 and at most 1, such as 0.9.")


def _too_much(accuracy: float, able: list[tuple[int, float, float]]) -> str:
    """Say why none of the points that rows enough were answered at gives the accuracy."""
    if not able:
        n = int(np.ceil(1 / (1 - accuracy) - 1e-6))
        needs = f"accuracy is {accuracy:g}, which takes {n} rows or more to see."
        return f"{needs} Give more rows, or ask for less."
    _, best, answered = max(able, key=lambda point: point[1])
    return (
        f"accuracy is {accuracy:g}, but no margin gives it on rows that were left out of training. The best "
        f"has {best:.3f}, with {100 * answered:.0f} % of the rows answered. Ask for less, or give more rows."
    )
