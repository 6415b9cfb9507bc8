"""Epochs of `partial_fit`, which gets rows call by call and does not know which come next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from ethereal.features.packing import PackedRows
from ethereal.train.automata import excludes_after

MAX_RECORDS = 10_000  # newest ones of history_ that partial_fit keeps, because a stream has no end

# Parameters that `partial_fit` has no use for.
ONLY_IN_FIT = (
    "validation_fraction",
    "keep",
    "patience",
    "accuracy_tolerance",
    "noise_clauses",
    "refit_votes",
    "shorten",
)

Fingerprint = tuple[int, int]
Method = TypeVar("Method", bound=Callable[..., Any])


def unless_shortened(method: Method) -> Method:
    """Hide a method of estimators with `shorten=True`."""
    return cast(Method, available_if(_can_continue)(method))


def _can_continue(clf: Any) -> bool:
    if clf.shorten:
        raise AttributeError(
            "shorten=True needs all training rows at once, which partial_fit does not have. Train with "
            "shorten=False and call ethereal.compress.shorten(model, rows) at the end."
        )
    return True


@dataclass(frozen=True)
class EpochClock:
    """Where a training stands within its epoch.

    An epoch is a pass over the training rows. It is over when the rows of its first call come again, in any
    order. A stream whose rows never come again has no epochs, unless the caller says how many rows make one.
    """

    epochs: int = 0  # that are over
    rows: int = 0  # seen in the epoch under way
    first: Fingerprint | None = None  # rows of the call that began it, None before the first call
    from_fit: bool = False  # begun by `fit`, whose rows need not come again

    def call(
        self, rows: PackedRows, epoch_rows: int | None, exclude_every: int | None
    ) -> tuple[EpochClock, bool]:
        """Return the clock after a call with these rows, and whether an exclusion comes before the call.

        >>> from ethereal.features.packing import pack
        >>> a, b = (pack(np.array([[0], [1]]), np.array(y, np.int32), None) for y in ([0, 1], [1, 0]))
        >>> clock, excluded = EpochClock(), []
        >>> for batch in (a, b, a, b, b, a):
        ...     clock, exclude = clock.call(batch, None, 1)
        ...     excluded.append(exclude)
        >>> excluded
        [False, False, True, False, False, True]
        """
        mark = _fingerprint(rows)
        if self.first is None:
            return EpochClock(0, len(rows), mark), False
        # A single row may come again within a pass, so a call must show two classes to begin a pass.
        again = mark == self.first and bool((rows.classes != rows.classes[0]).any())
        is_over = again if epoch_rows is None else self.rows >= epoch_rows
        if not (is_over or self.from_fit):
            return replace(self, rows=self.rows + len(rows)), False
        clock = EpochClock(self.epochs + 1, len(rows), mark)
        # Other rows than those of `fit` may be too few to learn anew from.
        return clock, (again or not self.from_fit) and excludes_after(clock.epochs, exclude_every)


def after_fit(epochs: int, rows: PackedRows) -> EpochClock:
    """Return the clock after `fit` with `epochs` epochs over these rows."""
    return EpochClock(epochs - 1, len(rows), _fingerprint(rows), from_fit=True)


def _fingerprint(rows: PackedRows) -> Fingerprint:
    """Return a hash of rows and labels that does not depend on their order."""
    factors = _factors(rows.words.shape[1] + 1)
    marks = rows.words @ factors[1:] + rows.classes.astype(np.uint64) * factors[0]
    marks ^= marks >> np.uint64(32)
    marks *= factors[0]
    marks ^= marks >> np.uint64(29)
    return len(rows), int(marks.sum(dtype=np.uint64))


@lru_cache(maxsize=8)
def _factors(n: int) -> NDArray[np.uint64]:
    return np.random.default_rng(0).integers(2**64, size=n, dtype=np.uint64) | np.uint64(1)
