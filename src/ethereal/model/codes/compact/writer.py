"""Clauses to the bits of the compact code, all at once in numpy."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.model.clauses import Clauses
from ethereal.model.codes.compact.stream import MAX_BYTES, MAX_INCLUDES, MAX_PARAMETER, UNARY, Payload
from ethereal.model.needs import ANSWERS, WINDOWS, Supports

if TYPE_CHECKING:
    from ethereal.model import Model

Ints = NDArray[np.signedinteger[Any]]

# Kinds of numbers. A distance has a parameter of its own. A step has parameter 0. A bit is itself.
_DISTANCE, _STEP, _BIT, _COUNT, _NEGATED, _CLASS, _WEIGHT = range(7)
_CHOSEN = (_COUNT, _NEGATED, _CLASS, _WEIGHT)
SUPPORTS = Supports(
    "the compact code", front_ends=WINDOWS, outputs=ANSWERS
)  # of which `to_bytes` has the clauses only


def payload(model: Model) -> Payload:
    """Return the shortest bit stream for the clauses of a model.

    Equal clauses are written once, with their votes added up. What never votes is left out. The same set of
    clauses gives the same bits in any order.

    >>> from ethereal import Model
    >>> model = Model([0, 3, 1], [0, 2, 3], [[0, 1], [2, -1]], n_booleans=2, classes=["no", "yes"])
    >>> stream = payload(model)
    >>> stream.data.hex(), stream.choices
    ('7cf9d2a0', 2)
    """
    SUPPORTS.check(model.needs)
    clauses = model.clauses.merged()
    if len(clauses.literals) > MAX_INCLUDES:
        n = len(clauses.literals)
        raise ValueError(f"the model has {n} includes. The compact code takes at most {MAX_INCLUDES}.")
    ways = itertools.product((1, 2), (False, True))
    shortest = min((_Stream(clauses, *way) for way in ways), key=lambda stream: stream.n_bits)
    if shortest.n_bits > 8 * MAX_BYTES:
        n = shortest.n_bits // 8
        raise ValueError(f"the compact code would take {n} bytes. At most {MAX_BYTES} are written.")
    return shortest.packed()


class _Stream:
    """One way to write the clauses, with its numbers collected part by part and then put in order."""

    def __init__(self, clauses: Clauses, segments: int, votes_per_clause: bool) -> None:
        self.segments, self.votes_per_clause = segments, votes_per_clause
        self._parts: list[list[Ints]] = []
        group, votes = _groups(clauses.weights, votes_per_clause)
        a = np.zeros(len(group), dtype=np.int64)  # literals in the first segment, none or the plain ones
        if segments == 2 and len(group):
            a = np.add.reduceat((~clauses.negated).astype(np.int64), clauses.offsets[:-1])
        b = clauses.lengths - a  # literals in the second segment
        order = _order(clauses, group, a, b)
        clauses, group, a, b = clauses.take(order), group[order], a[order], b[order]
        ends = clauses.offsets[np.searchsorted(group, np.arange(len(votes)), side="right")]
        self._add_runs(clauses.offsets, group, a, b)
        self._add_ends(ends, int(clauses.offsets[-1]))
        self._add_literals(clauses, group, a, b)
        if votes_per_clause:
            self._add_votes(clauses.offsets[1:], clauses.weights, np.zeros(len(group), dtype=np.int64))
        else:
            self._add_votes(ends, votes, _before((votes != 0).argmax(axis=1)))
        self._choose()

    def _add(self, place: Ints, slot: int, kind: Any, value: Ints, parameter: Any = 0) -> None:
        """Add numbers to stand before the literal of index `place`, in the order of the slots."""
        columns = np.broadcast_arrays(8 * place + slot, kind, value, parameter)
        self._parts.append([column.ravel() for column in columns])

    def _add_runs(self, offsets: Ints, group: Ints, a: Ints, b: Ints) -> None:
        run = np.flatnonzero(_changes(group, a, b))  # first clause of each run
        same_group = ~_changes(group)[run]
        a_step = a[run] - _before(a[run]) * same_group
        b_step = b[run] - _before(b[run]) * same_group
        if self.segments == 2:
            self._add(offsets[run], 3, _STEP, a_step)
        again = a_step == 0  # then b has grown, else it starts anew
        self._add(offsets[run], 4, np.where(again, _STEP, _NEGATED), np.where(again, b_step, b[run]))
        self._add(offsets[run], 5, _COUNT, np.diff(np.append(run, len(group))) - 1)

    def _add_ends(self, ends: Ints, end: int) -> None:
        """End a group by no step, and all groups by an empty one, unless there is one group anyway."""
        for _ in range(self.segments):
            self._add(ends, 1, _STEP, np.zeros_like(ends))
            if not self.votes_per_clause:
                self._add(np.array([end]), 7, _STEP, np.zeros(1, dtype=np.int64))

    def _add_literals(self, clauses: Clauses, group: Ints, a: Ints, b: Ints) -> None:
        n, n_booleans = len(group), clauses.n_booleans
        heads = clauses.offsets[:-1]  # first literal of each clause
        new_run = _changes(group, a, b)
        run = np.flatnonzero(new_run)
        size = np.diff(np.append(run, n))
        left = np.repeat(run + size, size) - np.arange(n)  # clauses of the run from this one on

        clause = clauses.clause
        i = np.arange(len(clause)) - heads[clause]  # place within the clause, then within the segment
        second = i >= a[clause]
        i -= np.where(second, a[clause], 0)
        rest = np.where(second, b[clause], a[clause]) - i  # literals of the segment from this one on
        begin, end = np.zeros_like(i), np.full_like(i, 2 * n_booleans)  # of the segment
        if self.segments == 2:
            begin, end = np.where(second, n_booleans, 0), np.where(second, 2 * n_booleans, n_booleans)
        # The lowest literal that can come is past the one before, or the first of the clause before.
        lowest = np.where(i > 0, _before(clauses.literals) + 1, begin)
        lowest[heads] = np.where(new_run, begin[heads], _before(clauses.literals[heads]))
        places = end - rest + 1 - lowest
        rest[heads] *= left
        self._add(np.arange(len(i)), 6, _DISTANCE, clauses.literals - lowest, _parameter(places, rest))

    def _add_votes(self, place: Ints, votes: Ints, start: Ints) -> None:
        """Add rows of `votes`, of groups or of clauses. The first class is counted from `start`."""
        row, of_class = np.nonzero(votes)
        first, more = _changes(row), np.diff(row, append=-1) == 0
        since = np.where(first, start[row], _before(of_class) + 1)
        weight = votes[row, of_class]
        values = np.stack([of_class - since, weight < 0, np.abs(weight) - 1, more], axis=1).astype(np.int64)
        slot = 0 if self.votes_per_clause else 2  # before, or after, the end of the group
        self._add(place[row][:, None], slot, np.array([_CLASS, _BIT, _WEIGHT, _BIT]), values)

    def _choose(self) -> None:
        place, kind, value, parameter = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        order = np.argsort(place, kind="stable")
        kind, value, parameter = kind[order], value[order], parameter[order]
        self.chosen = []
        for one in _CHOSEN:
            mine = kind == one
            values, times = np.unique(value[mine], return_counts=True)  # few different ones
            costs = times @ _code_words(values[:, None], np.arange(MAX_PARAMETER + 1))[1]
            self.chosen.append(int(np.argmin(costs)))
            parameter[mine] = self.chosen[-1]
        words, lengths = _code_words(value, parameter)
        self._words = np.where(kind == _BIT, value, words)
        self._lengths = np.where(kind == _BIT, 1, lengths)
        self.n_bits = int(self._lengths.sum())

    def packed(self) -> Payload:
        """The numbers in bits."""
        data = _pack(self._words, self._lengths)
        return Payload(data, self.segments, self.votes_per_clause, *self.chosen)


def _groups(weights: Ints, votes_per_clause: bool) -> tuple[Ints, Ints]:
    """Group of each clause, and the votes of each group in the order of their first classes."""
    if votes_per_clause:  # one group, whose votes are not used
        return np.zeros(len(weights), dtype=np.int64), np.zeros((1, weights.shape[1]), dtype=np.int64)
    votes, group = np.unique(weights, axis=0, return_inverse=True)
    order = np.argsort((votes != 0).argmax(axis=1), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[group.reshape(-1)], votes[order]


def _order(clauses: Clauses, group: Ints, a: Ints, b: Ints) -> Ints:
    """Clauses by group, literals per segment, and then the literals themselves."""
    bounds, big_endian = clauses.offsets.tolist(), clauses.literals.astype(">u4")
    texts = [big_endian[start:end].tobytes() for start, end in itertools.pairwise(bounds)]
    keys = list(zip(group.tolist(), a.tolist(), b.tolist(), texts, strict=True))
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


def _changes(*columns: Ints) -> NDArray[np.bool_]:
    """Return where any of the columns differs from the entry before, true for the first."""
    changes = np.zeros(len(columns[0]), dtype=np.bool_)
    changes[:1] = True
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    return changes


def _before(column: Ints) -> Ints:
    """Return the entry before each, 0 for the first."""
    return np.concatenate([[0], column])[:-1]


def _parameter(places: Ints, rest: Ints) -> Ints:
    """Return floor(log2(3/4 places / rest)), at least 0, which suits `rest` literals in so many places."""
    return _log2(np.maximum((places - places // 4) // rest, 1))


def _log2(values: Ints) -> Ints:
    """Logarithms rounded down, exact for 1 to 2**53."""
    return np.frexp(values.astype(np.float64))[1].astype(np.int64) - 1


def _code_words(value: Ints, parameter: Ints) -> tuple[Ints, Ints]:
    """Return code words as integers, and their lengths in bits with leading zeros."""
    quotient = value >> parameter
    extra = _log2(np.maximum(quotient - UNARY + 1, 1))
    unary = np.minimum(quotient, UNARY)
    low = value - ((unary - 1 + (1 << extra)) << parameter)
    width = parameter + extra
    return (1 << width) + low, unary + extra + 1 + width


def _pack(words: Ints, lengths: Ints) -> bytes:
    """Bits of all words, most significant first, in bytes."""
    bits = []
    for start in range(0, len(words), 1 << 16):  # in blocks, because a bit takes eight bytes of memory
        word, length = words[start : start + (1 << 16)], lengths[start : start + (1 << 16)]
        ends = np.cumsum(length)
        shift = np.repeat(ends, length) - 1 - np.arange(ends[-1])
        bits.append(((np.repeat(word, length) >> np.minimum(shift, 63)) & 1).astype(np.uint8))
    return np.packbits(np.concatenate(bits)).tobytes()
