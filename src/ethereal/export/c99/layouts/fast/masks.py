"""A bit per clause and state, which says whether the clause may be true in that state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.device_rows import SlotClause, Slots, Vote

_MOST_WORDS = 8  # of a block, which registers hold
_MOST_LANES = 4  # words that hold the sums of two classes each, in registers as well


@dataclass(frozen=True)
class Masks:
    """Tables of the runtime's masks, see fast.h beside this file."""

    words: NDArray[np.uint32]  # blocks x states of all slots x words, bit 31 comes first
    votes: list[Vote]  # one per bit, none if there are lanes
    lanes: NDArray[np.uint32]  # bits x lanes, with votes for two classes each
    bias: NDArray[np.int64]  # class sums when no bit is left
    instructions: float  # expected per row

    @property
    def bytes(self) -> int:
        """Size of the tables."""
        tables = 4 * self.words.size + 4 * self.lanes.size
        return tables + 2 * len(self.votes) + 2 * len(self.bias) * bool(self.bias.any())

    @property
    def is_one_block(self) -> bool:
        """Whether each state is read once, so that it can be used as soon as it is known."""
        return len(self.words) == 1


def make_masks(slots: Slots, clauses: Sequence[SlotClause], rows: NDArray[np.bool_]) -> list[Masks]:
    """Return masks of `clauses`, with their cost on `rows` (rows x used Booleans).

    Either every vote has a bit, or every clause has one and casts all its votes at once, as 16-bit lanes of
    words, for few classes only. Firing costs time. So a clause of one literal that is true in most rows is
    replaced by its negation, whose votes are taken off what the class sums begin with.
    """
    literals = np.concatenate([rows, ~rows], axis=1)
    bias = np.zeros(slots.model.n_classes, dtype=np.int64)
    rarer = []
    for clause in clauses:
        if len(clause.literals) == 1 and literals[:, clause.literals[0]].mean() > 0.5:
            for vote in clause.votes:
                bias[vote.class_] += vote.weight
            negation = (clause.literals[0] + slots.n_booleans) % (2 * slots.n_booleans)
            clause = SlotClause((negation,), tuple(Vote(v.class_, -v.weight) for v in clause.votes))
        rarer.append(clause)
    fires = [float(literals[:, list(c.literals)].all(axis=1).mean()) for c in rarer]
    bits = [(clause, vote) for clause in rarer for vote in clause.votes]
    words, cost = _words(slots, [clause for clause, _ in bits])
    cost += 10.0 * sum(f * len(c.votes) for f, c in zip(fires, rarer, strict=True))
    no_lanes = np.zeros((0, 0), dtype=np.uint32)
    found = [Masks(words, [vote for _, vote in bits], no_lanes, bias, cost)]
    lanes = _lanes(rarer, bias)
    if lanes is not None:
        words, cost = _words(slots, rarer)
        n_lanes = lanes.shape[1]
        cost += (6.0 + 2.0 * n_lanes) * sum(fires) + 12.0 * n_lanes
        found.append(Masks(words, [], lanes, bias, cost))
    return found


def _words(slots: Slots, bits: Sequence[SlotClause]) -> tuple[NDArray[np.uint32], float]:
    """Return masks with a bit for each of these clauses, and the cost of finding the bits that remain."""
    n_words = (len(bits) + 31) // 32
    n_blocks = -(-n_words // _MOST_WORDS)
    block = -(-n_words // n_blocks)  # words that are ANDed together
    first_state = np.concatenate([[0], np.cumsum([slot.n_states for slot in slots.slots])]).astype(np.int64)
    alive = np.ones((int(first_state[-1]), 32 * block * n_blocks), dtype=bool)
    alive[:, len(bits) :] = False  # padding never votes
    bits_of: dict[int, list[int]] = defaultdict(list)  # by literal
    for bit, clause in enumerate(bits):
        for literal in clause.literals:
            bits_of[literal].append(bit)
    for literal, own in bits_of.items():
        s, true = slots.states_of(literal)
        false = [int(first_state[s]) + state for state in range(slots.slots[s].n_states) if state not in true]
        alive[np.ix_(false, own)] = False
    words = np.packbits(alive, axis=1).view(">u4").astype(np.uint32)  # states x words
    words = words.reshape(-1, n_blocks, block).transpose(1, 0, 2)
    # Instructions on a Cortex-M7, to choose by.
    if n_blocks > 1:
        looks = 7.0 * n_blocks * slots.n_slots
    else:  # less than it saves the Booleanizer
        looks = -8.0 * slots.n_singles + (2.2 * block - 1.0) * (slots.n_slots - slots.n_singles)
    return words, looks + n_blocks * (slots.n_slots * 1.6 * block + 8.0 * block)


def _lanes(clauses: Sequence[SlotClause], bias: NDArray[np.int64]) -> NDArray[np.uint32] | None:
    """Return the votes of each clause, two classes to a word, or None if their sums do not fit a word."""
    n_lanes = (len(bias) + 1) // 2
    weights = np.zeros((len(clauses), 2 * n_lanes), dtype=np.int64)
    for row, clause in zip(weights, clauses, strict=True):
        for vote in clause.votes:
            row[vote.class_] += vote.weight
    if n_lanes > _MOST_LANES or np.abs(weights).sum(axis=0).max() >= 1 << 15:
        return None
    return ((weights[:, ::2] + (weights[:, 1::2] << 16)) & 0xFFFFFFFF).astype(np.uint32)
