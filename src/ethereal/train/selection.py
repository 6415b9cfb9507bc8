"""Choice of the epoch whose model is kept: the rows it is made on, and the choice itself."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ethereal.model.clauses import Clauses


@dataclass(frozen=True)
class Snapshot:
    """The clauses at one moment of training."""

    clauses: Clauses
    accuracy: float = 0.0  # on validation rows
    epoch: int = 0  # epochs done by then
    states: NDArray[np.uint8] | None = None  # automata, where they are wanted

    @property
    def n_includes(self) -> int:
        """Includes of all clauses."""
        return len(self.clauses.literals)


@dataclass
class SnapshotSelection:
    """Keeps the best snapshot seen so far.

    With a tolerance: of the snapshots whose validation accuracy is within `tolerance` of the best, the one
    with the fewest includes, the more accurate on a tie, the earlier on another. Without: the last.

    >>> choice = SnapshotSelection(tolerance=0.01)
    >>> for accuracy, includes in [(0.90, 50), (0.95, 90), (0.945, 40), (0.93, 10)]:
    ...     clauses = Clauses(np.arange(includes), [0, includes], [[1]], n_booleans=50)
    ...     choice.offer(Snapshot(clauses, accuracy))
    >>> choice.kept.accuracy
    0.945
    """

    tolerance: float | None
    candidates: list[Snapshot] = field(default_factory=list)  # that may still be chosen

    def offer(self, snapshot: Snapshot) -> None:
        """Take a new snapshot into account; those that can no longer be chosen are let go."""
        if self.tolerance is None:
            self.candidates = [snapshot]
            return
        best = max(snapshot.accuracy, max((c.accuracy for c in self.candidates), default=0.0))
        alive = [c for c in self.candidates if c.accuracy >= best - self.tolerance]
        if snapshot.accuracy >= best - self.tolerance and not any(_covers(c, snapshot) for c in alive):
            alive = [c for c in alive if not _covers(snapshot, c)] + [snapshot]
        self.candidates = alive

    @property
    def kept(self) -> Snapshot | None:
        """The choice so far; None before the first offer."""
        return min(self.candidates, key=lambda c: (c.n_includes, -c.accuracy), default=None)


def _covers(a: Snapshot, b: Snapshot) -> bool:
    """Whether `a` makes `b` useless: at least as accurate and at most as large."""
    return a.accuracy >= b.accuracy and a.n_includes <= b.n_includes


def hold_out(
    codes: NDArray[np.int32], fraction: float, rng: np.random.RandomState
) -> tuple[NDArray[np.intp], NDArray[np.intp]] | tuple[None, None]:
    """Indices of the rows to learn from and of those held out, of every class the same share.

    One row of each class at least is left to learn from; (None, None) when no row can be held out.

    >>> learn, held_out = hold_out(np.repeat([0, 1], [10, 20]), 0.1, np.random.RandomState(0))
    >>> len(learn), len(held_out)
    (27, 3)
    """
    chosen = np.zeros(len(codes), dtype=bool)
    for c in np.unique(codes) if fraction > 0 else ():
        rows = rng.permutation(np.flatnonzero(codes == c))
        chosen[rows[: min(round(fraction * len(rows)), len(rows) - 1)]] = True
    if not chosen.any():
        return None, None
    return np.flatnonzero(~chosen), np.flatnonzero(chosen)
