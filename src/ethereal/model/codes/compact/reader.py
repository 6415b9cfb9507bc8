"""Bits of the compact code to clauses, written so that a decoder in another language can follow it."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.model.clauses import Clauses
from ethereal.model.codes.compact.stream import MAX_BYTES, UNARY, Payload
from ethereal.model.codes.errors import CodeError, check_memory

_WINDOW = 2**13  # bytes of the stream that are looked at together
_LONGEST = 128  # bits, more than the longest number that is in range
# Memory for a literal, and for one of the four numbers of a vote, as it is read and in the Model.
_BYTES_PER_LITERAL, _BYTES_PER_NUMBER = 14, 5


def read_payload(stream: Payload, n_booleans: int, n_classes: int) -> Clauses:
    """Return the clauses of a bit stream, each once. Raise `CodeError` when it is damaged.

    >>> from ethereal import Model
    >>> from ethereal.model.codes.compact import payload
    >>> model = Model([0, 3, 1], [0, 2, 3], [[0, 1], [2, -1]], n_booleans=2, classes=["no", "yes"])
    >>> list(read_payload(payload(model), n_booleans=2, n_classes=2))
    [Clause(literals=(1,), weights={0: 2, 1: -1}), Clause(literals=(0, 3), weights={1: 1})]
    """
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
