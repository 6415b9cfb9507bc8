"""Compare the model for use with that of its trial, on rows that neither learned from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base import splits

if TYPE_CHECKING:
    from ethereal.model import Model

_ENOUGH_ROWS = 1000  # With fewer, a tenth of them shows little, and training needs them.
_SHARE, _MOST = 0.1, 2000
_LARGE_GROUPS = 0.2  # share of the rows. Groups of more rows are not set aside.


@dataclass(frozen=True)
class Check:
    """Accuracies of two models on the same rows."""

    rows: int
    trial: float  # the trial's own model, which learned from a part of the rows
    final: float  # the model that learned from all rows but these
    error: float  # standard error of the difference

    def describe(self, is_trials: bool) -> str:
        """Return both accuracies in a line, and which model was taken.

        >>> Check(600, 0.97, 0.975, 0.004).describe(False)
        'all rows 97.50 %, trial 97.00 % (+-0.40) of 600 rows set aside, so the model of all rows is taken'
        """
        which = "the trial's own model" if is_trials else "the model of all rows"
        both = f"all rows {100 * self.final:.2f} %, trial {100 * self.trial:.2f} % (+-{100 * self.error:.2f})"
        return f"{both} of {self.rows} rows set aside, so {which} is taken"

    @property
    def is_worse(self) -> bool:
        """Whether the final model is worse by more than the noise."""
        return self.final < self.trial - self.error


def rows_to_set_aside(
    y: NDArray[Any], seed: int, groups: NDArray[Any] | None = None, folds: int = 1
) -> NDArray[np.intp]:
    """Return the rows that a search does not see: a tenth of every class, or of the groups.

    There are none when rows are few, or when classes or groups cannot be divided.

    >>> len(rows_to_set_aside(np.repeat([0, 1], 1000), 0)), len(rows_to_set_aside(np.repeat([0, 1], 100), 0))
    (200, 0)
    """
    none = np.zeros(0, dtype=np.intp)
    if len(y) < _ENOUGH_ROWS:
        return none
    try:
        rows = splits.folds(y, 1, min(_SHARE, _MOST / len(y)), seed, groups)[0]
        left = np.ones(len(y), dtype=bool)
        left[rows] = False
        splits.folds(y[left], folds, _SHARE, seed, None if groups is None else groups[left])
    except ValueError:  # too few rows of a class, or too few groups. The search may still work.
        return none
    return rows if len(rows) <= _LARGE_GROUPS * len(y) else none


def compare(trial: Model, final: Model, X: NDArray[Any], y: NDArray[Any]) -> Check | None:
    """Compare two models on rows. The result is None when there are no rows."""
    if len(y) == 0:
        return None
    ours, theirs = (model.predict(X) == y for model in (final, trial))
    error = float((ours.astype(float) - theirs).std()) / math.sqrt(len(y))
    return Check(len(y), float(theirs.mean()), float(ours.mean()), error)
