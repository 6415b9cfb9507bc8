"""A list per state of the clauses that the state makes false."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.device_rows import SlotClause, Slots

_BYTE = 255  # most votes in one byte when the words of a group are added up


@dataclass(frozen=True)
class Lists:
    """Tables of the runtime's lists, see fast.h beside this file."""

    slots: list[int]  # that have lists
    runs: list[tuple[int, int]]  # of these slots: lists in the run of a state, lists in all
    starts: NDArray[np.int64]  # of the lists, and the end of the last
    clauses: NDArray[np.int64]
    groups: list[tuple[int, int, int]]  # class, sign, words of four clauses (even)
    votes: NDArray[np.uint8]  # per clause, padded to four words
    copies_votes: bool  # from a table, instead of one each and then the heavy clauses'
    instructions: float  # expected per row

    def bias(self, n_classes: int) -> NDArray[np.int64]:
        """Return what each class sum begins with, so that the votes of padding do not count."""
        bias = np.zeros(n_classes, dtype=np.int64)
        begin = 0
        for class_, sign, words in self.groups if not self.copies_votes else ():
            bias[class_] -= sign * int((self.votes[begin : begin + 4 * words] == 0).sum())
            begin += 4 * words
        return bias

    @property
    def heavy(self) -> NDArray[np.int64]:
        """Clauses with more than one vote."""
        return np.flatnonzero(self.votes > 1)

    @property
    def bytes(self) -> int:
        """Size of the tables."""
        size = 2 * len(self.clauses) + 2 * len(self.starts) + 4 * len(self.groups) + len(self.slots)
        return size + (len(self.votes) if self.copies_votes else 4 * len(self.heavy))


def make_lists(
    slots: Slots, clauses: Sequence[SlotClause], p_true: NDArray[np.float64], *, copies_votes: bool
) -> Lists:
    """Return the lists of `clauses`. `p_true` is how often each used Boolean is true."""
    numbers, groups, votes = _number(clauses)
    by_literal: dict[int, list[int]] = defaultdict(list)
    for clause, own in zip(clauses, numbers, strict=True):
        for literal in clause.literals:
            by_literal[literal] += own
    used, runs, starts, flat = [], [], [0], []
    n = slots.n_booleans
    for s, slot in enumerate(slots.slots):
        base, size = int(slots.bases[s]), len(slot.booleans)
        literals = [*range(base, base + size), *range(n + base, n + base + size)]
        if not any(by_literal[x] for x in literals):
            continue
        used.append(s)
        if slot.kind == "bin":  # a clause that asks for one bin is in the lists of all others
            runs.append((1, slot.n_states))
            kept = [
                sorted({j for x in literals if state not in slots.true_states(x) for j in by_literal[x]})
                for state in range(slot.n_states)
            ]
        else:
            runs.append((size, 2 * size))
            kept = [by_literal[x] for x in literals]
        for own in kept:
            flat += own
            starts.append(len(flat))
    # Instructions on a Cortex-M7, to choose by.
    p_false = np.concatenate([1.0 - p_true, p_true])
    kills = sum(float(p_false[x]) * len(own) for x, own in by_literal.items())
    cost = 2.35 * kills + 16.0 * len(used) + 24.0 * len(groups) + len(votes) / 4 * 3.0
    heavy = sum(v > 1 for v in votes)
    cost += len(votes) / 4 * 2.75 if copies_votes else len(votes) / 4 * 1.75 + 5.0 * heavy
    return Lists(
        used, runs, np.array(starts), np.array(flat, dtype=np.int64), groups, np.array(votes, dtype=np.uint8),
        copies_votes and heavy > 0, cost,
    )  # fmt: skip


def _number(clauses: Sequence[SlotClause]) -> tuple[list[list[int]], list[tuple[int, int, int]], list[int]]:
    """Number the clauses so that those that vote for one class with one sign stand together.

    The result is the numbers of each clause, one per class it votes for, then the groups as (class, sign,
    words of four clauses), then the votes per number.
    """
    by_side: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)  # -> clause, votes
    for j, clause in enumerate(clauses):
        for vote in clause.votes:
            weight, side = abs(vote.weight), (vote.class_, 1 if vote.weight > 0 else -1)
            while weight:  # more votes than fit a byte make the clause come again
                by_side[side].append((j, min(weight, _BYTE)))
                weight -= min(weight, _BYTE)
    numbers: list[list[int]] = [[] for _ in clauses]
    groups: list[tuple[int, int, int]] = []
    votes: list[int] = []
    for (class_, sign), members in sorted(by_side.items(), key=lambda item: item[0]):
        begin, in_byte = len(votes), [0, 0, 0, 0]
        for i, (j, weight) in enumerate(members):
            numbers[j].append(len(votes))
            in_byte[len(votes) % 4] += weight
            votes.append(weight)
            following = members[i + 1][1] if i + 1 < len(members) else _BYTE + 1
            if in_byte[len(votes) % 4] + following > _BYTE:  # the next one would not fit, or there is none
                votes += [0] * (-(len(votes) - begin) % 8)
                groups.append((class_, sign, (len(votes) - begin) // 4))
                begin, in_byte = len(votes), [0, 0, 0, 0]
    votes += [0] * (-len(votes) % 16)
    return numbers, groups, votes
