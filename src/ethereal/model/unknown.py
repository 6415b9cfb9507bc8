"""By how many votes a class must lead, so that answers are as often right as is wanted.

The votes are those of rows that a machine of the same kind did not learn from. Votes are whole numbers, so a
wanted share can rarely be met exactly. The margin is then the smallest that gives at least that accuracy, or
the largest that leaves at least that many rows answered.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.checks import check_number


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


def check_wanted(accuracy: float | None, answered: float | None) -> None:
    """Refuse both shares, none, or one out of range."""
    if (accuracy is None) == (answered is None):
        raise ValueError("Give accuracy, the share of right answers, or answered, the share of rows.")
    if accuracy is not None and not 0 < check_number("accuracy", accuracy, 0, 1) < 1:
        raise ValueError(f"accuracy is {accuracy}. It must be above 0 and below 1, such as 0.95.")
    if answered is not None and not 0 < check_number("answered", answered, 0, 1) <= 1:
        raise ValueError(f"answered is {answered}. It must be above 0 and at most 1, such as 0.9.")


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

    >>> found = find_margin(np.array([8, 6, 1, 1, 7]), np.array([1, 1, 0, 1, 1]) > 0, answered=0.5)
    >>> found.margin, found.accuracy, found.answered
    (6, 1.0, 0.6)
    """
    check_wanted(accuracy, answered)
    margins = np.unique(np.concatenate([[0], lead]))
    counts = np.array([(lead >= m).sum() for m in margins])
    shares = np.array([right[lead >= m].mean() for m in margins])
    curve = tuple(
        (int(m), float(a), float(n / len(lead))) for m, a, n in zip(margins, shares, counts, strict=True)
    )
    if answered is not None:
        i = int(np.flatnonzero(counts >= answered * len(lead) - 1e-9)[-1])
        wanted = f"answered {answered:g}"
    else:
        assert accuracy is not None
        enough = counts * (1 - accuracy) >= 1
        good = np.flatnonzero(enough & (shares >= accuracy - 1e-12))
        if len(good) == 0:
            raise ValueError(_too_much(accuracy, curve, enough))
        i, wanted = int(good[0]), f"accuracy {accuracy:g}"
    margin, accuracy_there, answered_there = curve[i]
    return Calibration(
        margin=margin,
        accuracy=accuracy_there,
        answered=answered_there,
        wanted=wanted,
        n_rows=len(lead),
        n_groups=n_groups,
        curve=curve,
    )


def _too_much(accuracy: float, curve: tuple[tuple[int, float, float], ...], enough: NDArray[np.bool_]) -> str:
    able = [point for point, is_enough in zip(curve, enough, strict=True) if is_enough]
    if not able:
        n = int(np.ceil(1 / (1 - accuracy) - 1e-6))
        return (
            f"accuracy is {accuracy:g}, which takes {n} rows or more to see. Give more rows, or ask for less."
        )
    _, best, answered = max(able, key=lambda point: point[1])
    return (
        f"accuracy is {accuracy:g}, but no margin gives it on rows that were left out of training. The best "
        f"has {best:.3f}, with {100 * answered:.0f} % of the rows answered. Ask for less, or give more rows."
    )
