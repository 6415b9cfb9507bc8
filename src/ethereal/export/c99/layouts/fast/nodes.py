"""Clauses as a tree of literals in a stream of 16-bit nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.device_rows import SlotClause, Slots, Vote
from ethereal.export.c99.layouts.fast.tree import Node, build_tree
from ethereal.model.clauses import decode

_WORD_BITS = 16
_MOST_PARTS = 8  # of a vote that is cast as several others


@dataclass(frozen=True)
class Nodes:
    """Tables of the runtime's nodes, see runtime/fast.h."""

    roots: list[tuple[int, int]]  # state of a literal, number of node words
    words: list[int]
    skip_bits: int
    n_literal_words: int  # words of four Booleans
    n_leaf_words: int  # as many of them have states for last literals too
    votes: list[Vote]  # vote 1, 2, ...
    n_long: int  # of the roots, the last ones: clauses with more literals than a skip can pass
    instructions: float  # expected per row

    @property
    def bytes(self) -> int:
        """Size of the tables."""
        return 2 * len(self.words) + 4 * len(self.roots) + 2 * len(self.votes) + 2


@dataclass(frozen=True)
class _Form:
    """How a node's bits are used."""

    n_booleans: int
    n_states: int  # of literals: Booleans, padded to words
    n_leaves: int  # Booleans, the first ones, that may be last in a clause
    skip_bits: int
    votes: list[Vote]

    @cached_property
    def numbers(self) -> dict[Vote, int]:
        """Numbers of the votes, from 1 on."""
        return {vote: i + 1 for i, vote in enumerate(self.votes)}

    @property
    def most(self) -> int:
        """Most nodes to skip, and most votes."""
        return (1 << self.skip_bits) - 1

    def word(self, literal: int, skip: int) -> int:
        """Node of a literal that skips so many when it is false."""
        return self.state(literal) << self.skip_bits | skip

    def vote(self, literal: int, vote: Vote) -> int:
        """Node of the last literal of a clause."""
        return self.state(literal, last=True) << self.skip_bits | self.numbers[vote]

    def state(self, literal: int, *, last: bool = False) -> int:
        """Index of the literal's state."""
        if literal == 2 * self.n_booleans:
            return self.end
        boolean, negated = decode(literal, self.n_booleans)
        if last:
            return 2 * self.n_states + (self.n_leaves if negated else 0) + boolean
        return (self.n_states if negated else 0) + boolean

    @property
    def end(self) -> int:
        """Index of the state that is always 2: with vote 0 it ends a part."""
        return 2 * self.n_states + 2 * self.n_leaves


def make_nodes(slots: Slots, clauses: Sequence[SlotClause], rows: NDArray[np.bool_]) -> Nodes | None:
    """Tree of `clauses`; None when its words have no room for their votes."""
    if not slots.is_level or not clauses:
        return None
    form = _form(slots, clauses)
    if len(form.votes) > form.most:
        clauses = _with_fewer_votes(clauses, form.most)
        form = _form(slots, clauses)
        if len(form.votes) > form.most:
            return None
    may_end = decode(np.arange(2 * slots.n_booleans + 1), slots.n_booleans)[0] < form.n_leaves
    may_end[-1] = True  # a literal that is always true, for clauses that have no other to end with
    ended = [
        c if may_end[list(c.literals)].any() else SlotClause((*c.literals, 2 * slots.n_booleans), c.votes)
        for c in clauses
    ]
    tree = build_tree([c for c in ended if len(c.literals) <= form.most], rows, may_end)
    chains = [build_tree([c], rows, np.ones_like(may_end)) for c in ended if len(c.literals) > form.most]
    roots, words = [], []
    for i, root in enumerate([*tree.roots, *(chain.roots[0] for chain in chains)]):
        own = _part(form, root) if i < len(tree.roots) else _chain(form, root)
        roots.append((form.state(root.literal), len(own)))
        words += own
    # Instructions on a Cortex-M7, to choose by.
    cost = 11.0 * len(roots) + slots.n_booleans * (2.7 if slots.is_binary else 8.7)
    cost += 5.0 * tree.passed + 9.0 * tree.skipped + 5.0 * tree.last_looked_at + 10.0 * tree.votes_cast
    cost += sum(4.0 * chain.passed + 10.0 * chain.votes_cast for chain in chains)
    n_words, n_leaf_words = form.n_states // 4, form.n_leaves // 4
    return Nodes(roots, words, form.skip_bits, n_words, n_leaf_words, form.votes, len(chains), cost)


def _form(slots: Slots, clauses: Sequence[SlotClause]) -> _Form:
    n_words = (slots.n_booleans + 3) // 4
    # At least a quarter of the Booleans may be last; as many more as fit the bits that this takes.
    bits = (10 * n_words).bit_length()
    n_leaf_words = min(n_words, ((1 << bits) - 1 - 8 * n_words) // 8)
    votes = sorted({v for c in clauses for v in c.votes}, key=lambda v: (v.class_, v.weight))
    skip_bits = max(_WORD_BITS - bits, 0)
    return _Form(slots.n_booleans, 4 * n_words, 4 * n_leaf_words, skip_bits, votes)


def _with_fewer_votes(clauses: Sequence[SlotClause], most: int) -> list[SlotClause]:
    """Clauses of at most so many different votes, where that can be: a rare one is cast as several others."""
    counts = Counter(vote for clause in clauses for vote in clause.votes)
    kept = {Vote(vote.class_, 1 if vote.weight > 0 else -1) for vote in counts}
    for vote, _ in counts.most_common():
        if len(kept) < most:
            kept.add(vote)

    def parts(vote: Vote) -> list[Vote]:
        side = 1 if vote.weight > 0 else -1
        weights = [abs(v.weight) for v in kept if v.class_ == vote.class_ and v.weight * side > 0]
        found: list[Vote] = []
        left = abs(vote.weight)
        while left and len(found) < _MOST_PARTS:
            largest = max(weight for weight in weights if weight <= left)
            found.append(Vote(vote.class_, side * largest))
            left -= largest
        return found if left == 0 else [vote]

    return [SlotClause(c.literals, tuple(p for vote in c.votes for p in parts(vote))) for c in clauses]


def _part(form: _Form, root: Node) -> list[int]:
    # A clause of one literal is this literal below itself.
    below = [Node(root.literal, root.votes), *root.children]
    end = form.end << form.skip_bits
    return [w for piece in _pieces(form, below, form.most + 1) for w in piece] + [end]


def _chain(form: _Form, root: Node) -> list[int]:
    """The part of a long clause: the literals below its root, the one that is always 2, the votes."""
    words = []
    node = root
    while node.children:
        (node,) = node.children
        words.append(form.state(node.literal))
    if words[-1] != form.end:
        words.append(form.end)
    return [*words, *(form.numbers[vote] for vote in node.votes)]


def _pieces(form: _Form, nodes: Sequence[Node], capacity: int) -> list[list[int]]:
    """Words of sibling nodes, in pieces of at most `capacity` that may stand one after the other.

    A literal with more below it than its skip can pass is written again for the rest.
    """
    pieces: list[list[int]] = []
    for node in nodes:
        pieces += [[form.vote(node.literal, vote)] for vote in node.votes]
        below: list[int] = []
        for piece in _pieces(form, node.children, capacity - 1):
            if len(below) + len(piece) > capacity - 1:
                pieces.append([form.word(node.literal, len(below)), *below])
                below = []
            below = below + piece
        if below:
            pieces.append([form.word(node.literal, len(below)), *below])
    return pieces
