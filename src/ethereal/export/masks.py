"""Clauses by what each state of each slot lets live: a bit per clause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ethereal.export.slots import SlotClause, Slots, Vote

_MOST_WORDS = 8  # of a block: they are held in registers


@dataclass(frozen=True)
class Masks:
    """Tables of the runtime's masks, see runtime/fast.h."""

    words: NDArray[np.uint32]  # blocks x states of all slots x words; bit 31 of a word is its first clause
    votes: list[Vote]  # one per bit, padded to whole blocks
    bias: NDArray[np.int64]  # class sums when no bit is left
    instructions: float  # expected per row

    @property
    def bytes(self) -> int:
        """Size of the tables."""
        return 4 * self.words.size + 2 * len(self.votes) + 2 * len(self.bias) * bool(self.bias.any())

    @property
    def is_one_block(self) -> bool:
        """Whether a state is looked at once: it can be used as soon as it is known."""
        return len(self.words) == 1


def make_masks(slots: Slots, clauses: Sequence[SlotClause], rows: NDArray[np.bool_]) -> Masks:
    """Masks of `clauses`, their cost estimated on `rows` (rows x used Booleans).

    Votes are cast one by one. A clause of one literal that is true in most rows is therefore replaced by its
    negation, whose votes take off what the class sums begin with.
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
    clauses = rarer
    bits = [(clause, vote) for clause in clauses for vote in clause.votes]
    n_words = (len(bits) + 31) // 32
    n_blocks = -(-n_words // _MOST_WORDS)
    block = -(-n_words // n_blocks)  # words that are ANDed together
    first_state = np.concatenate([[0], np.cumsum([slot.n_states for slot in slots.slots])]).astype(np.int64)
    alive = np.ones((int(first_state[-1]), 32 * block * n_blocks), dtype=bool)
    alive[:, len(bits) :] = False  # padding never votes
    for bit, (clause, _) in enumerate(bits):
        for literal in clause.literals:
            s = int(slots.slot_of_boolean[literal % slots.n_booleans])
            for state in set(range(slots.slots[s].n_states)) - slots.true_states(literal):
                alive[first_state[s] + state, bit] = False
    words = np.packbits(alive, axis=1).view(">u4").astype(np.uint32)  # states x words
    words = words.reshape(-1, n_blocks, block).transpose(1, 0, 2)
    votes = [vote for _, vote in bits] + [Vote(0, 0)] * (32 * block * n_blocks - len(bits))
    # Instructions on a Cortex-M7, to choose by.
    fired = sum(float(literals[:, list(c.literals)].all(axis=1).mean()) * len(c.votes) for c in clauses)
    if n_blocks > 1:
        looks = 7.0 * n_blocks * slots.n_slots
    else:  # less than it saves the Booleanizer
        looks = -8.0 * slots.n_singles - 2.0 * (slots.n_slots - slots.n_singles)
    cost = looks + n_blocks * (slots.n_slots * 1.6 * block + 8.0 * block) + 10.0 * fired
    return Masks(words, votes, bias, cost)
