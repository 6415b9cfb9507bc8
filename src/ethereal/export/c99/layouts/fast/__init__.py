"""The layout "fast": each clause is in masks, lists or a tree, which look at few literals. See fast.h.

Masks have a bit per clause and state, which says whether the clause may be true in that state. Lists are of
the clauses that a state makes false. The tree is one of literals in a stream of 16-bit nodes, so that a false
literal skips many clauses. At each node comes the literal that rids the rows of the most clauses. That is how
many of its clauses include the literal, times how often the literal is false in the rows that come there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, field
from functools import cache, cached_property
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.ctext import Tables, unsigned_type
from ethereal.export.c99.device_rows import SlotClause, Slots, Vote, bits_of, make_cells
from ethereal.export.c99.layouts import (
    Costs,
    Plan,
    booleanizing,
    costs_of_cells,
    costs_of_row,
    reading_a_cell,
)
from ethereal.model.clauses import decode

# Clauses with more false literals than this in an average row go to the tree, the others to lists.
_LIMITS = (-1.0, 1.2, 2.2, 3.5)
# Bytes times instructions to this power decide, so twice the bytes are worth 30 % fewer instructions.
_WORTH = 2

# What is done with every word of a block of masks, and with every lane of its votes. See fast.h.
_EACH_WORD = {
    "ET_FILL_WORDS": "bits[{i}] = 0xFFFFFFFFu;",
    "ET_AND_WORDS": "bits[{i}] &= ET_READ(mask[{i}]);",
    "ET_KEEP_WORDS": "left[{i}] = bits[{i}];",
}
_EACH_LANE = {
    "ET_CLEAR_LANES": "lanes[{i}] = 0;",
    "ET_ADD_LANES": "lanes[{i}] += ET_READ(own[{i}]);",
    "ET_SUM_LANES": "et_add_lane(lanes[{i}], {i}u * 2u, sums);",
}


# Ways to hold the clauses of slots, and the rows that they were made for. Another bound chooses among them.
_found: WeakKeyDictionary[Slots, tuple[NDArray[np.bool_], list[FastTables]]] = WeakKeyDictionary()


@dataclass(frozen=True)
class FastTables:
    """What the runtime needs."""

    masks: Masks | None = None
    lists: Lists | None = None
    nodes: Nodes | None = None

    @property
    def bytes(self) -> int:
        """Size of the tables."""
        return sum(part.bytes for part in (self.masks, self.lists, self.nodes) if part is not None)

    @property
    def flash_bytes(self) -> int:
        """The tables and, estimated on a Cortex-M7, the code that reads them."""
        code = 160 + 430 * (self.masks is not None) + 370 * (self.lists is not None)
        if self.nodes is not None:
            code += 130 + 120 * (self.nodes.n_long > 0)
        return self.bytes + code

    @property
    def instructions(self) -> float:
        """Expected per row, on a Cortex-M7."""
        return sum(part.instructions for part in (self.masks, self.lists, self.nodes) if part is not None)


def plan(slots: Slots, rows: Callable[[], NDArray[np.bool_]], max_bytes: int | None) -> Plan:
    """Arrange the clauses of `slots`."""
    tables = fast_tables(slots, rows(), max_bytes)
    cells = make_cells(slots, most_bytes=most_cell_bytes(tables, slots, max_bytes))
    return Plan(
        write=lambda out: _write_fast(out, slots, tables),
        cells=cells,
        costs=_costs(slots, tables) if cells is None else costs_of_cells(slots),
        unfolds=tables.nodes is not None and not slots.is_binary,
        reads_states=tables.masks is not None,
        may_fuse=tables.masks is not None and len(tables.masks.words) == 1,  # each state is read once
    )


def _costs(slots: Slots, tables: FastTables) -> Costs:
    stack = 0
    if tables.masks is not None:
        stack += 8 * tables.masks.words.shape[2]
    if tables.lists is not None:
        stack += len(tables.lists.votes)
    if tables.nodes is not None:
        form = tables.nodes.form
        stack += 2 * form.n_states + 2 * form.n_leaves + 4 + (0 if slots.is_binary else form.n_states)
    return costs_of_row(slots, tables.instructions, stack)


def fast_tables(slots: Slots, rows: NDArray[np.bool_], max_bytes: int | None = None) -> FastTables:
    """Return the tables with which `rows`, rows x used Booleans, should cost least.

    `max_bytes` bounds the tables with their code if possible. Without it, tables that take twice the bytes
    must save 30 % of a row's instructions, Booleanizing included.
    """
    booleanize = booleanizing(slots)
    if (known := _found.get(slots)) is None or not np.array_equal(known[0], rows):
        known = _found[slots] = rows, _candidates(slots, rows)

    def rank(tables: FastTables) -> tuple[float, float]:
        if max_bytes is None:
            return 0, tables.flash_bytes * (tables.instructions + booleanize) ** _WORTH
        return max(0, tables.flash_bytes - max_bytes), tables.instructions

    return min(known[1], key=rank, default=FastTables())


def most_cell_bytes(tables: FastTables, slots: Slots, max_bytes: int | None) -> int:
    """Return the bytes that a table of the classes of all rows may take instead of `tables`."""
    if max_bytes is not None:
        return max(tables.bytes, max_bytes)
    booleanize = booleanizing(slots)
    quicker = (tables.instructions + booleanize) / (reading_a_cell(slots.n_slots) + booleanize)
    return int(tables.bytes * max(1.0, quicker**_WORTH))


def _candidates(slots: Slots, rows: NDArray[np.bool_]) -> list[FastTables]:
    clauses = slots.clauses
    if not clauses:
        return []
    p_true = rows.mean(axis=0)
    p_false = np.concatenate([1.0 - p_true, p_true])
    false_literals = np.array([p_false[list(c.literals)].sum() for c in clauses])  # in an average row

    def lists(listed: Sequence[SlotClause], nodes: Nodes | None = None) -> list[FastTables]:
        ways = (make_lists(slots, listed, p_true, copies_votes=copies) for copies in (False, True))
        return [FastTables(None, each, nodes) for each in ways]

    candidates = [FastTables(masks) for masks in make_masks(slots, clauses, rows)] + lists(clauses)
    for limit in _LIMITS if slots.is_level else ():
        in_tree = [clause for clause, n in zip(clauses, false_literals, strict=True) if n > limit]
        listed = [clause for clause, n in zip(clauses, false_literals, strict=True) if n <= limit]
        if (nodes := make_nodes(slots, in_tree, rows)) is not None:
            candidates += lists(listed, nodes) if listed else [FastTables(nodes=nodes)]
    return candidates


def _write_fast(out: Tables, slots: Slots, tables: FastTables) -> None:
    """Write all tables."""
    votes = (tables.masks.votes if tables.masks else []) + (tables.nodes.form.votes if tables.nodes else [])
    is_small = slots.model.n_classes <= 256 and all(abs(v.weight) < 128 for v in votes)
    bits = 8 if is_small else 16
    fields = [(f"uint{bits}_t", "class_"), (f"int{bits}_t", "weight")]
    out.define("ET_USES_LEADING_ZEROS", int(tables.masks is not None))
    _write_masks(out, tables.masks, fields)
    bias = np.zeros(slots.model.n_classes, dtype=np.int64)  # what class sums begin with
    if tables.masks is not None:
        bias += tables.masks.bias
    if tables.lists is not None:
        bias += tables.lists.bias(len(bias))
    if bias.any():
        is_short = np.abs(bias).max() < 1 << 15
        out.array("int16_t" if is_short else "int32_t", "et_bias", bias, "per class: the sum to begin with")
    out.define("ET_BIAS(c)", "ET_READ(et_bias[c])" if bias.any() else "0")
    _write_lists(out, slots, tables.lists)
    _write_nodes(out, tables.nodes, fields)


def _write_masks(out: Tables, masks: Masks | None, fields: Sequence[tuple[str, str]]) -> None:
    out.define("ET_MASK_BLOCKS", f"{len(masks.words)}u" if masks else "0")
    if masks is None:
        return
    out.define("ET_MASK_WORDS", f"{masks.words.shape[2]}u")
    for name, each in _EACH_WORD.items():
        out.each(name, each, masks.words.shape[2])
    note = "per block, slot and state: clauses that may be true"
    out.array("uint32_t", "et_masks", masks.words.ravel(), note)
    out.define("ET_LANES", f"{masks.lanes.shape[1]}u")
    if masks.lanes.size:
        for name, each in _EACH_LANE.items():
            out.each(name, each, masks.lanes.shape[1])
        note = "per bit of the masks: votes for two classes in each word"
        out.array("uint32_t", "et_mask_votes", masks.lanes.ravel(), note)
        return
    votes = list(map(astuple, masks.votes))
    out.records("et_vote", fields, "et_mask_votes", votes, "per bit of the masks: class and weight")


def _write_lists(out: Tables, slots: Slots, lists: Lists | None) -> None:
    out.define("ET_LIST_GROUPS", f"{len(lists.groups)}u" if lists else "0")
    if lists is None:
        return
    out.define("ET_LIST_SLOTS", f"{len(lists.slots)}u")
    usual, ctype = "(i)" if lists.slots == list(range(slots.n_slots)) else "", unsigned_type(max(lists.slots))
    out.lookup("ET_LIST_SLOT(i)", usual, ctype, "et_list_slots", lists.slots, "slots that have lists")
    runs, lengths = [run for run, _ in lists.runs], [length for _, length in lists.runs]
    if len(set(lists.runs)) == 1:
        out.define("ET_LIST_RUN(i)", f"{runs[0]}u")
        out.define("ET_LIST_LENGTHS(i)", f"{lengths[0]}u")
    else:
        out.array("uint8_t", "et_list_runs", runs, "per slot: lists in the run of a state")
        out.array("uint8_t", "et_list_lengths", lengths, "per slot: lists in all")
        out.define("ET_LIST_RUN(i)", "ET_READ(et_list_runs[i])")
        out.define("ET_LIST_LENGTHS(i)", "ET_READ(et_list_lengths[i])")
    offset = unsigned_type(len(lists.clauses))
    out.array(offset, "et_list_starts", lists.starts, "where each list begins", typedef="et_offset")
    out.array("uint16_t", "et_lists", lists.clauses, "clauses that are false")
    class_, sign = ("uint8_t", "int8_t") if slots.model.n_classes <= 256 else ("uint16_t", "int16_t")
    fields = [(class_, "class_"), (sign, "sign"), ("uint16_t", "words")]
    out.records("et_group", fields, "et_list_groups", lists.groups, "class, sign, and words of four clauses")
    out.define("ET_LIST_WORDS", f"{len(lists.votes) // 4}u")
    heavy = [] if lists.copies_votes else lists.heavy.tolist()
    out.define("ET_LIST_HEAVY", f"{len(heavy)}u" if heavy else "0")
    if lists.copies_votes:
        words = lists.votes.reshape(-1, 4).astype(np.uint32) << (8 * np.arange(4, dtype=np.uint32))
        out.array("uint32_t", "et_list_votes", words.sum(axis=1), "votes of four clauses each")
        out.define("ET_LIST_VOTES(i)", "ET_READ(et_list_votes[i])")
    else:
        out.define("ET_LIST_VOTES(i)", "0x01010101u")
    if heavy:
        fields = [("uint16_t", "clause"), ("uint16_t", "votes")]
        rows = [(j, int(lists.votes[j])) for j in heavy]
        out.records("et_heavy_clause", fields, "et_heavy", rows, "clauses with more than one vote")


def _write_nodes(out: Tables, nodes: Nodes | None, fields: Sequence[tuple[str, str]]) -> None:
    out.define("ET_NODES", f"{len(nodes.words)}u" if nodes else "0")
    if nodes is None:
        return
    form, roots = nodes.form, [x for root in nodes.roots for x in root]
    out.define("ET_ROOTS", f"{len(nodes.roots) - nodes.n_long}u")
    out.define("ET_LONG_ROOTS", f"{nodes.n_long}u")
    out.define("ET_SKIP_BITS", f"{form.skip_bits}u")
    out.define("ET_SKIP_MASK", f"{form.most}u")
    out.define("ET_LITERAL_WORDS", f"{form.n_states // 4}u")
    out.define("ET_LEAF_WORDS", f"{form.n_leaves // 4}u")
    out.array("uint16_t", "et_roots", roots, "root literals, nodes below each")
    out.array("uint16_t", "et_nodes", nodes.words, "literals with skips or votes")
    votes = [(0, 0), *map(astuple, form.votes)]
    out.records("et_vote", fields, "et_node_votes", votes, "class and weight; the first ends")


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


def make_masks(slots: Slots, clauses: Sequence[SlotClause], rows: NDArray[np.bool_]) -> list[Masks]:
    """Return masks of `clauses`, with their cost on `rows` (rows x used Booleans).

    There are two forms. In the first, every vote has a bit. In the second, every clause has a bit and casts
    all its votes at once, as 16-bit lanes of words. That is only for few classes.

    Firing costs time. So a clause of one literal that is true in most rows is replaced by its negation, whose
    votes are taken off what the class sums begin with.
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
    masks = [Masks(words, [vote for _, vote in bits], no_lanes, bias, cost)]
    lanes = _lanes(rarer, bias)
    if lanes is not None:
        words, cost = _words(slots, rarer)
        n_lanes = lanes.shape[1]
        cost += (6.0 + 2.0 * n_lanes) * sum(fires) + 12.0 * n_lanes
        masks.append(Masks(words, [], lanes, bias, cost))
    return masks


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
    for literal, bits_of_literal in bits_of.items():
        s, true = slots.states_of(literal)
        false = [int(first_state[s]) + state for state in range(slots.slots[s].n_states) if state not in true]
        alive[np.ix_(false, bits_of_literal)] = False
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
    for clause, of_one in zip(clauses, numbers, strict=True):
        for literal in clause.literals:
            by_literal[literal] += of_one
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
                sorted({j for x in literals if state not in slots.states_of(x)[1] for j in by_literal[x]})
                for state in range(slot.n_states)
            ]
        else:
            runs.append((size, 2 * size))
            kept = [by_literal[x] for x in literals]
        for of_one in kept:
            flat += of_one
            starts.append(len(flat))
    # Instructions on a Cortex-M7, to choose by.
    p_false = np.concatenate([1.0 - p_true, p_true])
    kills = sum(float(p_false[x]) * len(of_one) for x, of_one in by_literal.items())
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


_WORD_BITS = 16
_MOST_PARTS = 8  # of a vote that is cast as several others
_Rest = tuple[frozenset[int], tuple[Vote, ...]]  # literals that are still to be tested, votes


@dataclass(frozen=True)
class _Form:
    """How a node's bits are used."""

    n_booleans: int
    n_states: int  # of literals: Booleans, padded to words of four
    n_leaves: int  # first Booleans that may be last in a clause, whose literals have a state for that too
    skip_bits: int
    votes: list[Vote]  # vote 1, 2, ...

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


@dataclass(frozen=True)
class Nodes:
    """Tables of the runtime's nodes, see fast.h beside this file."""

    form: _Form
    roots: list[tuple[int, int]]  # state of a literal, number of node words
    words: list[int]
    n_long: int  # of the roots, the last ones: clauses with more literals than a skip can pass
    instructions: float  # expected per row

    @property
    def bytes(self) -> int:
        """Size of the tables."""
        return 2 * len(self.words) + 4 * len(self.roots) + 2 * len(self.form.votes) + 2


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
    return Nodes(form, roots, words, len(chains), cost)


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
        # Inner nodes whose literal is true, and false. Last literals of clauses, and votes.
        self.passed = self.skipped = self.last_looked_at = self.votes_cast = 0.0
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
        best, best_score, share = -1, -1.0, 1.0 / n_active if n_active else 0.0
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
        with_it = (literals for literals, _ in rest if literal in literals)
        return all(len(each) == 1 or not ends.isdisjoint(each - {literal}) for each in with_it)


def build_tree(clauses: Sequence[SlotClause], rows: NDArray[np.bool_], may_end: NDArray[np.bool_]) -> Tree:
    """Build the tree of `clauses` for `rows`, rows x Booleans. `may_end`: which literals may be last.

    The literal after the negations is always true.

    >>> clauses = [SlotClause((0, 1), (Vote(0, 1),)), SlotClause((0, 2), (Vote(1, 1),))]
    >>> rows = np.array([[False, True], [False, True], [True, True]])
    >>> tree = build_tree(clauses, rows, np.ones(5, dtype=bool))
    >>> tree.roots[0].literal, [child.literal for child in tree.roots[0].children]
    (0, [2, 1])
    """
    planes = [bits_of(column) for column in rows.T]
    everything = (1 << len(rows)) - 1
    truth = [*planes, *(everything & ~plane for plane in planes), everything]
    tree = Tree(truth, frozenset(np.flatnonzero(may_end).tolist()))
    tree.place(tree.roots, [(frozenset(c.literals), c.votes) for c in clauses], everything)
    for name in ("passed", "skipped", "last_looked_at", "votes_cast"):
        setattr(tree, name, getattr(tree, name) / max(len(rows), 1))
    return tree
