"""Tables of the layout "sliced": see runtime/sliced.h for what they mean."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from ethereal.export.c99.device_rows import Slots
from ethereal.export.errors import ModelTooLarge
from ethereal.model.clauses import decode

_MOST_LITERALS = 256  # of a clause
_FEW_CLAUSES = 6  # not worth a group of their own

_Groups = dict[tuple[int, bool, int], list[tuple[int, ...]]]  # class, against, shift -> clauses as planes


@dataclass(frozen=True)
class SlicedTables:
    """What the runtime needs."""

    n_booleans: int  # planes of Booleans; as many of negations follow, one that is false, one that is true
    literals: list[int]  # numbers of literals and of planes
    groups: list[tuple[int, int, bool, int]]  # class, shift, against, fours of clauses
    count_bits: int  # of the clauses in a group
    sum_bits: int
    sum_offset: int

    @property
    def n_planes(self) -> int:
        """Planes in all."""
        return 2 * self.n_booleans + 2

    @property
    def literal_bytes(self) -> int:
        """Size of a plane's number."""
        return 1 if self.n_planes <= 256 else 2

    @property
    def bytes(self) -> int:
        """Size of the tables."""
        return self.literal_bytes * len(self.literals) + 6 * len(self.groups)


def sliced_tables(slots: Slots) -> SlicedTables:
    """Tables for the clauses of `slots`."""
    # Slots of one Boolean are sliced four at a time.
    n_booleans = (slots.n_booleans + 3) // 4 * 4 if slots.is_binary else slots.n_booleans
    false, true = 2 * n_booleans, 2 * n_booleans + 1
    by_group: _Groups = defaultdict(list)
    most, least = np.zeros((2, slots.model.n_classes), dtype=np.int64)
    for clause in slots.clauses:
        if len(clause.literals) > _MOST_LITERALS:
            raise ModelTooLarge(
                f"A clause has {len(clause.literals)} literals. The layout 'sliced' takes {_MOST_LITERALS}. "
                "Use 'fast' or 'compact'."
            )
        decoded = (decode(x, slots.n_booleans) for x in clause.literals)
        planes = tuple(boolean + negated * n_booleans for boolean, negated in decoded)
        sides = [
            (vote.class_, vote.weight < 0, shift)
            for vote in clause.votes
            for shift in range(abs(vote.weight).bit_length())
            if abs(vote.weight) >> shift & 1
        ]
        for side in sides:
            by_group[side].append(planes)
        for vote in clause.votes:
            most[vote.class_] += max(vote.weight, 0)
            least[vote.class_] += min(vote.weight, 0)
    _fold(by_group)
    literals: list[int] = []
    groups: list[tuple[int, int, bool, int]] = []
    for (class_, against, shift), members in sorted(by_group.items()):
        members.sort(key=lambda planes: (len(planes), planes))
        fours = [members[i : i + 4] for i in range(0, len(members), 4)]
        fours[-1] = fours[-1] + [(false,)] * (4 - len(fours[-1]))
        for four in fours:
            length = max(len(planes) for planes in four)
            literals.append(length - 1)
            for i in range(length):
                literals += [planes[i] if i < len(planes) else true for planes in four]
        groups.append((class_, shift, against, len(fours)))
    # Sums begin with an offset that no row can take below zero.
    offset = int(-least.min(initial=0))
    return SlicedTables(
        n_booleans=n_booleans,
        literals=literals,
        groups=groups,
        count_bits=max((4 * fours for *_, fours in groups), default=4).bit_length(),
        sum_bits=int(most.max(initial=0) + offset).bit_length() or 1,
        sum_offset=offset,
    )


def _fold(by_group: _Groups) -> None:
    """Count the few clauses of a weight twice with half of it instead."""
    for class_, against, shift in sorted(by_group, key=lambda side: -side[2]):
        members = by_group[class_, against, shift]
        if shift > 0 and len(members) < _FEW_CLAUSES:
            by_group[class_, against, shift - 1] += 2 * members
            del by_group[class_, against, shift]
