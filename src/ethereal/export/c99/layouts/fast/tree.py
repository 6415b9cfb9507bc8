"""Clauses as a tree of literals in a stream of 16-bit nodes, so that a false literal skips many clauses.

At each node comes the literal that rids the rows of the most clauses. That is how many of its clauses include
the literal, times how often the literal is false in the rows that come to this node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.device_rows import SlotClause, Slots, Vote
from ethereal.model.clauses import decode

_WORD_BITS = 16
_MOST_PARTS = 8  # of a vote that is cast as several others
_Rest = tuple[frozenset[int], tuple[Vote, ...]]  # literals that are still to be tested, votes


@dataclass(frozen=True)
class Nodes:
    """Tables of the runtime's nodes, see fast.h beside this file."""

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
    n_leaves: int  # first Booleans that may be last in a clause
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
        """Index of the state that is always 2. With vote 0 it ends a part."""
        return 2 * self.n_states + 2 * self.n_leaves


def make_nodes(slots: Slots, clauses: Sequence[SlotClause], rows: NDArray[np.bool_]) -> Nodes | None:
    """Return the tree of `clauses`, or None if its words have no room for their votes."""
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
        nodes = _part(form, root) if i < len(tree.roots) else _chain(form, root)
        roots.append((form.state(root.literal), len(nodes)))
        words += nodes
    # Instructions on a Cortex-M7, to choose by.
    cost = 11.0 * len(roots) + slots.n_booleans * (2.7 if slots.is_binary else 8.7)
    cost += 5.0 * tree.passed + 9.0 * tree.skipped + 5.0 * tree.last_looked_at + 10.0 * tree.votes_cast
    cost += sum(4.0 * chain.passed + 10.0 * chain.votes_cast for chain in chains)
    n_words, n_leaf_words = form.n_states // 4, form.n_leaves // 4
    return Nodes(roots, words, form.skip_bits, n_words, n_leaf_words, form.votes, len(chains), cost)


def _form(slots: Slots, clauses: Sequence[SlotClause]) -> _Form:
    n_words = (slots.n_booleans + 3) // 4
    # At least a quarter of the Booleans may be last, and as many more as these bits can number.
    bits = (10 * n_words).bit_length()
    n_leaf_words = min(n_words, ((1 << bits) - 1 - 8 * n_words) // 8)
    votes = sorted({v for c in clauses for v in c.votes}, key=lambda v: (v.class_, v.weight))
    skip_bits = max(_WORD_BITS - bits, 0)
    return _Form(slots.n_booleans, 4 * n_words, 4 * n_leaf_words, skip_bits, votes)


def _with_fewer_votes(clauses: Sequence[SlotClause], most: int) -> list[SlotClause]:
    """Return clauses with at most `most` different votes if possible. A rare vote becomes several others."""
    counts = Counter(vote for clause in clauses for vote in clause.votes)
    kept = {Vote(vote.class_, 1 if vote.weight > 0 else -1) for vote in counts}
    for vote, _ in counts.most_common():
        if len(kept) < most:
            kept.add(vote)

    @cache
    def parts(vote: Vote) -> list[Vote]:
        side = 1 if vote.weight > 0 else -1
        weights = [abs(v.weight) for v in kept if v.class_ == vote.class_ and v.weight * side > 0]
        parts_of_vote: list[Vote] = []
        left = abs(vote.weight)
        while left and len(parts_of_vote) < _MOST_PARTS:
            largest = max(weight for weight in weights if weight <= left)
            parts_of_vote.append(Vote(vote.class_, side * largest))
            left -= largest
        return parts_of_vote if left == 0 else [vote]

    return [SlotClause(c.literals, tuple(p for vote in c.votes for p in parts(vote))) for c in clauses]


def _part(form: _Form, root: Node) -> list[int]:
    # A clause of one literal is this literal below itself.
    below = [Node(root.literal, root.votes), *root.children]
    end = form.end << form.skip_bits
    return [w for piece in _pieces(form, below, form.most + 1) for w in piece] + [end]


def _chain(form: _Form, root: Node) -> list[int]:
    """Return the part of a long clause: the literals below its root, the one that is always 2, the votes."""
    words = []
    node = root
    while node.children:
        (node,) = node.children
        words.append(form.state(node.literal))
    if words[-1] != form.end:
        words.append(form.end)
    return [*words, *(form.numbers[vote] for vote in node.votes)]


def _pieces(form: _Form, nodes: Sequence[Node], capacity: int) -> list[list[int]]:
    """Return the words of sibling nodes, in pieces of at most `capacity`.

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


@dataclass
class Node:
    """A literal. If it is true, cast `votes`, then visit `children`."""

    literal: int
    votes: list[Vote] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)


class Tree:
    """A forest of nodes for some rows, with what happens in it per row."""

    def __init__(self, truth: list[int], may_end: frozenset[int]) -> None:
        self.roots: list[Node] = []
        self.passed = 0.0  # inner nodes whose literal is true
        self.skipped = 0.0  # inner nodes whose literal is false
        self.last_looked_at = 0.0  # last literals of clauses
        self.votes_cast = 0.0
        self._truth = truth  # literal -> bit set of the rows in which it is true
        self._may_end = None if len(may_end) == len(truth) else may_end  # None: every literal

    def place(self, siblings: list[Node], rest: list[_Rest], active: int) -> None:
        """Put clauses among `siblings`, which the rows `active` come to."""
        if len(rest) == 1:
            self._place_one(siblings, *rest[0], active)
            return
        counts: Counter[int] = Counter()
        for literals, _ in rest:
            counts.update(literals)
        n_active = active.bit_count()
        while rest:
            literal = self._choose(counts, active, n_active, rest)
            with_literal = [item for item in rest if literal in item[0]]
            rest = [item for item in rest if literal not in item[0]]
            for literals, _ in with_literal:
                counts.subtract(literals)
            node = Node(literal)
            siblings.append(node)
            true_here = active & self._truth[literal]
            longer = []
            for literals, votes in with_literal:
                if len(literals) == 1:
                    self._end(node, votes, n_active, true_here.bit_count())
                else:
                    longer.append((literals - {literal}, votes))
            if longer:
                self._pass(n_active, true_here.bit_count())
                self.place(node.children, longer, true_here)

    def _place_one(
        self, siblings: list[Node], literals: frozenset[int], votes: tuple[Vote, ...], active: int
    ) -> None:
        """Put one clause as a chain. The literal that is false most often in the rows at hand comes first."""
        ends = literals if self._may_end is None else literals & self._may_end
        n_ends, order, sorted_for = len(ends), list(literals), -1
        while True:
            if active != sorted_for:  # else the order stays, the next literal last
                order.sort(key=lambda x: ((active & self._truth[x]).bit_count(), x), reverse=True)
                sorted_for = active
            # The only literal left that may end the clause waits for the end.
            waits = len(order) > 1 and n_ends == 1 and order[-1] in ends
            literal = order.pop(-2 if waits else -1)
            n_ends -= literal in ends
            node = Node(literal)
            siblings.append(node)
            n_active = active.bit_count()
            active &= self._truth[literal]
            if not order:
                self._end(node, votes, n_active, active.bit_count())
                return
            self._pass(n_active, active.bit_count())
            siblings = node.children

    def _pass(self, n_active: int, n_true: int) -> None:
        self.passed += n_true
        self.skipped += n_active - n_true

    def _end(self, node: Node, votes: tuple[Vote, ...], n_active: int, n_true: int) -> None:
        node.votes += votes
        self.last_looked_at += n_active * len(votes)
        self.votes_cast += n_true * len(votes)

    def _choose(self, counts: Counter[int], active: int, n_active: int, rest: list[_Rest]) -> int:
        best, best_score = -1, -1.0
        share = 1.0 / n_active if n_active else 0.0
        for literal, count in counts.items():
            if count <= 0 or 1.02 * count <= best_score:
                continue
            score = count * (1.02 - (active & self._truth[literal]).bit_count() * share)
            if score > best_score and (self._may_end is None or self._leaves_an_end(literal, rest)):
                best, best_score = literal, score
        return best

    def _leaves_an_end(self, literal: int, rest: list[_Rest]) -> bool:
        """Return whether every clause with this literal keeps one that may be its last."""
        ends = self._may_end
        if ends is None or literal not in ends:
            return True
        return all(
            len(literals) == 1 or not ends.isdisjoint(literals - {literal})
            for literals, _ in rest
            if literal in literals
        )


def build_tree(clauses: Sequence[SlotClause], rows: NDArray[np.bool_], may_end: NDArray[np.bool_]) -> Tree:
    """Build the tree of `clauses` for `rows`, rows x Booleans. `may_end`: which literals may be last.

    The literal after the negations is always true.

    >>> clauses = [SlotClause((0, 1), (Vote(0, 1),)), SlotClause((0, 2), (Vote(1, 1),))]
    >>> rows = np.array([[False, True], [False, True], [True, True]])
    >>> tree = build_tree(clauses, rows, np.ones(5, dtype=bool))
    >>> tree.roots[0].literal, [child.literal for child in tree.roots[0].children]
    (0, [2, 1])
    """
    planes = [int.from_bytes(np.packbits(column, bitorder="little").tobytes(), "little") for column in rows.T]
    everything = (1 << len(rows)) - 1
    truth = [*planes, *(everything & ~plane for plane in planes), everything]
    tree = Tree(truth, frozenset(np.flatnonzero(may_end).tolist()))
    tree.place(tree.roots, [(frozenset(c.literals), c.votes) for c in clauses], everything)
    for name in ("passed", "skipped", "last_looked_at", "votes_cast"):
        setattr(tree, name, getattr(tree, name) / max(len(rows), 1))
    return tree
