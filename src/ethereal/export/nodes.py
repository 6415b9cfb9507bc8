"""Clauses as a tree of literals in a stream of 16-bit nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ethereal.export.slots import SlotClause, Slots, Vote
from ethereal.export.tree import Node, build_tree

_WORD_BITS = 16


@dataclass(frozen=True)
class Nodes:
    """Tables of the runtime's nodes, see runtime/fast.h."""

    roots: list[tuple[int, int]]  # state of a literal, number of node words
    words: list[int]
    literal_bits: int
    n_literal_words: int  # words of four Booleans
    n_leaf_words: int  # as many of them have states for last literals too
    votes: list[Vote]  # vote 1, 2, ...
    has_long_clauses: bool
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
    bits: int
    votes: list[Vote]

    @cached_property
    def numbers(self) -> dict[Vote, int]:
        """Numbers of the votes, from 1 on."""
        return {vote: i + 1 for i, vote in enumerate(self.votes)}

    @property
    def most(self) -> int:
        """Most nodes to skip, and most votes."""
        return (1 << (_WORD_BITS - self.bits)) - 1 if self.bits < _WORD_BITS else 0

    def state(self, literal: int, *, last: bool = False) -> int:
        """Index of the literal's state."""
        boolean, negated = literal % self.n_booleans, literal >= self.n_booleans
        if last:
            return 2 * self.n_states + (self.n_leaves if negated else 0) + boolean
        return (self.n_states if negated else 0) + boolean

    @property
    def end(self) -> int:
        """Vote 0 of the state that is always 2."""
        return 2 * self.n_states + 2 * self.n_leaves


def make_nodes(
    slots: Slots, clauses: Sequence[SlotClause], rows: NDArray[np.bool_]
) -> tuple[Nodes | None, list[bool]]:
    """Tree of those `clauses` that its word has room for, and which they are."""
    form = _form(slots, clauses)
    nothing = None, [False] * len(clauses)
    if not slots.is_level or len(form.votes) > form.most:
        return nothing
    may_end = np.arange(2 * slots.n_booleans) % max(slots.n_booleans, 1) < form.n_leaves
    fits = [bool(may_end[list(c.literals)].any()) for c in clauses]
    kept = [c for c, ok in zip(clauses, fits, strict=True) if ok]
    if not kept:
        return nothing
    trees = [build_tree([c for c in kept if len(c.literals) <= form.most], rows, may_end)]
    long_clauses = [c for c in kept if len(c.literals) > form.most]
    trees += [build_tree([c], rows, may_end) for c in long_clauses]
    roots, words = [], []
    for i, tree in enumerate(trees):
        for root in tree.roots:
            own = _part(form, root) if i == 0 else _chain(form, root)
            roots.append((form.state(root.literal), len(own)))
            words += own
    # Instructions on a Cortex-M7, to choose by.
    skip = 10.0 if long_clauses else 9.0
    cost = 13.0 * len(roots) + slots.n_booleans * (2.7 if slots.is_binary else 8.7)
    for tree in trees:
        cost += 5.0 * tree.passed + skip * tree.skipped + 5.0 * tree.last_looked_at + 10.0 * tree.votes_cast
    n_words, n_leaf_words = form.n_states // 4, form.n_leaves // 4
    return Nodes(roots, words, form.bits, n_words, n_leaf_words, form.votes, bool(long_clauses), cost), fits


def _form(slots: Slots, clauses: Sequence[SlotClause]) -> _Form:
    n_words = (slots.n_booleans + 3) // 4
    # At least a quarter of the Booleans may be last; as many more as fit the bits that this takes.
    bits = (10 * n_words).bit_length()
    n_leaf_words = min(n_words, ((1 << bits) - 1 - 8 * n_words) // 8)
    votes = sorted({v for c in clauses for v in c.votes}, key=lambda v: (v.class_, v.weight))
    return _Form(slots.n_booleans, 4 * n_words, 4 * n_leaf_words, bits, votes)


def _part(form: _Form, root: Node) -> list[int]:
    # A clause of one literal is this literal below itself.
    below = [Node(root.literal, root.votes), *root.children]
    return [w for piece in _pieces(form, below, form.most + 1) for w in piece] + [form.end]


def _chain(form: _Form, root: Node) -> list[int]:
    """The part of a long clause: its nodes skip 0, which leaves the part."""
    words = []
    node = root
    while node.children:
        (node,) = node.children
        if node.children:
            words.append(form.state(node.literal))
    last = form.state(node.literal, last=True)
    return [*words, *(last | (form.numbers[v]) << form.bits for v in node.votes), form.end]


def _pieces(form: _Form, nodes: Sequence[Node], capacity: int) -> list[list[int]]:
    """Words of sibling nodes, in pieces of at most `capacity` that may stand one after the other.

    A literal with more below it than its skip can pass is written again for the rest.
    """
    pieces: list[list[int]] = []
    for node in nodes:
        last = form.state(node.literal, last=True)
        pieces += [[last | (form.numbers[vote]) << form.bits] for vote in node.votes]
        below: list[int] = []
        for piece in _pieces(form, node.children, capacity - 1):
            if len(below) + len(piece) > capacity - 1:
                pieces.append([form.state(node.literal) | len(below) << form.bits, *below])
                below = []
            below = below + piece
        if below:
            pieces.append([form.state(node.literal) | len(below) << form.bits, *below])
    return pieces
