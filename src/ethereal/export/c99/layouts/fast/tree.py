"""Arrange clauses as a tree of literals, so that a false literal skips many clauses at once.

At each node the literal comes first that rids the rows of the most clauses: how many of the clauses at hand
include it, times how often it is false in the rows that come to this node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.device_rows import SlotClause, Vote

_Rest = tuple[frozenset[int], tuple[Vote, ...]]  # literals of a clause that are still to be tested, its votes


@dataclass
class Node:
    """A literal with what to do when it is true: cast `votes`, then go through `children`."""

    literal: int
    votes: list[Vote] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)


class Tree:
    """A forest of nodes, built for some rows, with what happens in it per row."""

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
            own = [item for item in rest if literal in item[0]]
            rest = [item for item in rest if literal not in item[0]]
            for literals, _ in own:
                counts.subtract(literals)
            node = Node(literal)
            siblings.append(node)
            true_here = active & self._truth[literal]
            longer = []
            for literals, votes in own:
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
        """Put one clause: a chain, the literal first that is false most often in the rows that come to it."""
        left = set(literals)
        while True:
            ends = left if self._may_end is None else left & self._may_end
            open_to_choice = left if len(left) == 1 or len(ends) > 1 else left - ends
            literal = min(open_to_choice, key=lambda x: ((active & self._truth[x]).bit_count(), x))
            node = Node(literal)
            siblings.append(node)
            n_active = active.bit_count()
            active &= self._truth[literal]
            left.remove(literal)
            if not left:
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
        """Whether every clause with this literal keeps one that may be its last."""
        ends = self._may_end
        if ends is None or literal not in ends:
            return True
        return all(
            len(literals) == 1 or not ends.isdisjoint(literals - {literal})
            for literals, _ in rest
            if literal in literals
        )


def build_tree(clauses: Sequence[SlotClause], rows: NDArray[np.bool_], may_end: NDArray[np.bool_]) -> Tree:
    """Build the tree of `clauses` for `rows` (rows x Booleans); `may_end`: literals that may be the last.

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
