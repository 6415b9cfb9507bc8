"""The compact code, a dense bit stream that a microcontroller decodes clause by clause.

docs/codes.md describes the format. Clauses with the same votes form a group, and a group has sorted runs of
clauses with equally many literals. The first literal of a clause is written as its distance from that of the
clause before, the others as their distance from the literal before. A distance is a number of variable
length. Its parameter follows from how many places and literals are left, so there are no tables. With two
segments the plain and the negated literals are counted separately. The encoder takes the shortest choice.
"""

from __future__ import annotations

import itertools
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.model.clauses import Clauses
from ethereal.model.codes.container import CodeError, check_memory
from ethereal.model.needs import AND_LINES, WINDOWS, Supports

if TYPE_CHECKING:
    from ethereal.model import Model

UNARY = 4  # beyond this unary part numbers grow exponentially, so no code word is long
MAX_PARAMETER = 7  # of the four parameters that are chosen, 3 bits each
# These bound the memory that writing a stream, or reading a hostile one, can take.
MAX_INCLUDES = 2**23
MAX_BYTES = 2**23
_WINDOW = 2**13  # bytes of the stream that are looked at together
_LONGEST = 128  # bits, more than the longest number that is in range
# Memory for a literal, and for one of the four numbers of a vote, as it is read and in the Model.
_BYTES_PER_LITERAL, _BYTES_PER_NUMBER = 14, 5
Ints = NDArray[np.signedinteger[Any]]
# Kinds of numbers. A distance has a parameter of its own. A step has parameter 0. A bit is itself.
_DISTANCE, _STEP, _BIT, _COUNT, _NEGATED, _CLASS, _WEIGHT = range(7)
_CHOSEN = (_COUNT, _NEGATED, _CLASS, _WEIGHT)
SUPPORTS = Supports("the compact code", front_ends=WINDOWS, outputs=AND_LINES)  # `to_bytes` has clauses only


@dataclass(frozen=True)
class Payload:
    """The bit stream of a model and the six choices that are needed to read it."""

    data: bytes  # the last byte is filled up with zero bits
    segments: int  # 1, or 2 for plain and negated literals separately
    votes_per_clause: bool  # votes follow each clause, not each group of clauses
    count_parameter: int  # of the number of clauses in a run
    negated_parameter: int  # of the number of negated literals (two segments only)
    class_parameter: int  # of the steps from class to class
    weight_parameter: int  # of the weights

    @property
    def choices(self) -> int:
        """All choices in 14 bits."""
        parameters = self.count_parameter, self.negated_parameter, self.class_parameter, self.weight_parameter
        bits = (self.segments - 1) | self.votes_per_clause << 1
        return bits | sum(parameter << 3 * i + 2 for i, parameter in enumerate(parameters))

    @classmethod
    def from_choices(cls, data: bytes, choices: int) -> Payload:
        """Return a bit stream with the choices of a header."""
        if choices >> 14:
            raise CodeError(f"the choices of the compact code are {choices}. Only 14 bits are known.")
        parameters = (choices >> 3 * i + 2 & MAX_PARAMETER for i in range(4))
        return cls(data, (choices & 1) + 1, bool(choices & 2), *parameters)


def read_payload(stream: Payload, n_booleans: int, n_classes: int) -> Clauses:
    """Return the clauses of a bit stream, each once. Raise `CodeError` when it is damaged."""
    return _Reader(stream, n_booleans, n_classes).clauses()


class _Reader:
    def __init__(self, stream: Payload, n_booleans: int, n_classes: int) -> None:
        if len(stream.data) > MAX_BYTES:
            raise CodeError(f"the stream has {len(stream.data)} bytes. At most {MAX_BYTES} are read.")
        self.stream, self.n_classes = stream, n_classes
        self.end = 2 * n_booleans
        self.second = n_booleans if stream.segments == 2 else 0  # first literal of the second segment
        self.bits, self.at = "", 0  # some of the stream's bits as text, and which of them is next
        self.next_byte = 0  # the first one that is not yet in `bits`
        self.literals = array("i")
        self.offsets = array("i", [0])
        self.votes = array("i")  # four numbers each: first clause, end, class, weight

    def fill(self) -> None:
        """Have the bits of a whole number at hand, if the stream has as many."""
        if len(self.bits) - self.at < _LONGEST and self.next_byte < len(self.stream.data):
            piece = self.stream.data[self.next_byte : self.next_byte + _WINDOW]
            self.next_byte += len(piece)
            # As text, the end of a unary part is found and bits are read at the speed of C.
            self.bits = f"{self.bits[self.at :]}{int.from_bytes(piece, 'big'):0{8 * len(piece)}b}"
            self.at = 0

    def number(self, parameter: int) -> int:
        self.fill()
        end = self.bits.find("1", self.at)
        if end < 0:
            is_end = self.next_byte == len(self.stream.data)
            raise CodeError("the code ends within a number" if is_end else "a number is out of range")
        unary = end - self.at
        extra = max(unary - UNARY, 0)
        width = parameter + extra
        self.at = end + 1 + width
        if extra > 32 or self.at > len(self.bits):
            raise CodeError("the code ends within a number" if extra <= 32 else "a number is out of range")
        low = int(self.bits[end + 1 : self.at], 2) if width else 0
        return ((min(unary, UNARY) - 1 + (1 << extra)) << parameter) + low

    def bit(self) -> bool:
        self.fill()
        if self.at == len(self.bits):
            raise CodeError("the code ends within the votes")
        self.at += 1
        return self.bits[self.at - 1] == "1"

    def clauses(self) -> Clauses:
        first_class = 0
        while True:
            start = len(self.offsets) - 1
            self.group()
            if len(self.offsets) - 1 == start or self.stream.votes_per_clause:
                break
            first_class = self.read_votes(start, first_class)
        self.fill()
        if len(self.bits) - self.at >= 8 or "1" in self.bits[self.at :]:
            raise CodeError("bytes follow after the end of the code")
        self.check_size(0, self.n_classes)
        weights: NDArray[Any] = np.zeros((len(self.offsets) - 1, self.n_classes), dtype=np.int32)
        for i in range(0, len(self.votes), 4):
            start, end, of_class, weight = self.votes[i : i + 4]
            weights[start:end, of_class] = weight
        literals: NDArray[Any] = np.frombuffer(self.literals, np.int32)
        # Literals are in range and in order by now. A hostile code may still add up too many votes.
        clauses = Clauses._trusted(literals, np.array(self.offsets, np.int64), weights, self.end // 2)
        try:
            clauses._check_votes()
        except ValueError as error:
            raise CodeError(f"the code is not valid: {error}") from error
        return clauses

    def check_size(self, more: int, n_classes: int = 0) -> None:
        """Refuse a stream whose clauses, with so many literals more, take too much memory."""
        rest = _BYTES_PER_LITERAL * (len(self.literals) + more) + _BYTES_PER_NUMBER * len(self.votes)
        check_memory(len(self.stream.data), len(self.offsets) - 1, n_classes, rest)

    def group(self) -> None:
        """Read runs of clauses with equally many literals, until the counts stay as they are."""
        a = b = 0  # literals in the first and in the second segment
        while True:
            step = self.number(0) if self.stream.segments == 2 else 0
            if step:
                a += step
                b = self.number(self.stream.negated_parameter)
            else:
                step = self.number(0)
                if not step:
                    return
                b += step
            if a > self.second or b > self.end - self.second:
                raise CodeError(f"a clause has {a} and {b} literals in segments of {self.end - self.second}")
            self.run(a, b, self.number(self.stream.count_parameter) + 1)

    def run(self, a: int, b: int, n: int) -> None:
        """Read `n` clauses with `a` literals in the first segment and `b` in the second."""
        first, before = (0 if a else self.second), self.literals[:0]
        for left in range(n, 0, -1):
            self.check_size(a + b)
            start = len(self.literals)
            literal, times = first, left  # the first literal is not below that of the clause before
            for begin, end, k in ((0, self.second, a), (self.second, self.end, b)):
                if len(self.literals) > start:
                    literal = begin
                for rest in range(k, 0, -1):
                    places = end - rest + 1 - literal
                    literal += self.number(max((places - places // 4) // (rest * times), 1).bit_length() - 1)
                    if literal + rest > end:
                        raise CodeError("a literal is out of range")
                    if len(self.literals) == start:
                        first, times = literal, 1
                    self.literals.append(literal)
                    literal += 1
            clause = self.literals[start:]
            if left < n and clause <= before:
                raise CodeError("the clauses are not in ascending order")
            before = clause
            self.offsets.append(len(self.literals))
            if self.stream.votes_per_clause:
                self.read_votes(len(self.offsets) - 2, 0)

    def read_votes(self, start: int, first_class: int) -> int:
        """Read the votes of the clauses from `start` to the last one read, and return their first class."""
        of_class = first_class = first_class + self.number(self.stream.class_parameter)
        while True:
            if of_class >= self.n_classes:
                raise CodeError(f"a vote is for class {of_class}, but there are {self.n_classes} classes")
            sign = -1 if self.bit() else 1
            weight = self.number(self.stream.weight_parameter) + 1
            if weight >= 2**31:
                raise CodeError(f"a weight is {weight}, more than 32 bits hold")
            self.votes.extend((start, len(self.offsets) - 1, of_class, sign * weight))
            if not self.bit():
                return first_class
            of_class += 1 + self.number(self.stream.class_parameter)


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
        # What suits `rest` literals in so many places: floor(log2(3/4 places / rest)), at least 0.
        parameter = _log2(np.maximum((places - places // 4) // rest, 1))
        self._add(np.arange(len(i)), 6, _DISTANCE, clauses.literals - lowest, parameter)

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
