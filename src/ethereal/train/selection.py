"""Choice of the epoch whose model is kept."""

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
