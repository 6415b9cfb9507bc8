"""Groups of clauses of which at most one fires, such as the leaves of a tree.

Two clauses exclude one another if they want different states of a slot. Clauses are taken in their order, so
that the leaves of a tree, which follow one another, come into one group.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.layouts.straight.tree import Open

_TRIED = 8  # groups that a clause is tried in, the latest first
_FIRST = 64  # clauses that a group has room for at first


def exclusive_groups(clauses: Sequence[Open], n_slots: int) -> list[list[Open]]:
    """Return clauses in groups, in each of which every two clauses exclude one another."""
    groups: list[_Group] = []
    for clause in clauses:
        lowest, highest = _ends(clause, n_slots)
        for group in reversed(groups[-_TRIED:]):
            if group.excludes(clause, lowest, highest):
                break
        else:
            group = _Group(n_slots)
            groups.append(group)
        group.add(clause, lowest, highest)
    return [group.clauses for group in groups]


def _ends(clause: Open, n_slots: int) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """Return the lowest and the highest state that a clause wants of each slot."""
    lowest, highest = np.zeros(n_slots, dtype=np.int16), np.full(n_slots, 1 << 14, dtype=np.int16)
    for slot, states in clause.wants:
        lowest[slot] = (states & -states).bit_length() - 1
        highest[slot] = states.bit_length() - 1
    return lowest, highest


class _Group:
    """Clauses that exclude one another, with the ends of what they want as arrays, clauses x slots."""

    def __init__(self, n_slots: int) -> None:
        self.clauses: list[Open] = []
        self._lowest = np.empty((_FIRST, n_slots), dtype=np.int16)
        self._highest = np.empty((_FIRST, n_slots), dtype=np.int16)

    def add(self, clause: Open, lowest: NDArray[np.int16], highest: NDArray[np.int16]) -> None:
        """Take a clause that excludes all others."""
        n = len(self.clauses)
        if n == len(self._lowest):
            self._lowest, self._highest = (np.concatenate([a, a]) for a in (self._lowest, self._highest))
        self._lowest[n], self._highest[n] = lowest, highest
        self.clauses.append(clause)

    def excludes(self, clause: Open, lowest: NDArray[np.int16], highest: NDArray[np.int16]) -> bool:
        """Return whether no clause of the group can fire together with this one."""
        n = len(self.clauses)
        slots = [slot for slot, _ in clause.wants]  # of the others it wants every state
        apart = self._lowest[:n, slots] > highest[slots]
        apart |= self._highest[:n, slots] < lowest[slots]
        doubtful = np.flatnonzero(~apart.any(axis=1))
        # What lies between two ends may still have no state in common.
        wants = dict(clause.wants)
        return all(
            any(states & wants.get(slot, -1) == 0 for slot, states in self.clauses[i].wants) for i in doubtful
        )
