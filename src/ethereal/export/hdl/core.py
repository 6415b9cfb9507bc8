"""The clauses, votes and the answer of a model as levels of logic, each of which is a line of Verilog.

A level is a clause's AND, a table of votes, an adder, or a comparison of two classes. Registers stand behind
every so many levels. Each line knows how many lookup tables it takes, so the estimate is made of the same
lines as the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

from ethereal.export.c99.device_rows import SlotClause


@dataclass(frozen=True)
class Line:
    """A signal with its value as an expression of earlier ones."""

    name: str
    width: int
    text: str
    luts: float = 0.0
    note: str = ""


@dataclass(frozen=True)
class Value:
    """An unsigned number: the name of its signal, and what it can be."""

    name: str
    most: int
    least: int = 0

    @property
    def width(self) -> int:
        """Bits of the signal."""
        return max(1, self.most.bit_length())


@dataclass
class Core:
    """The logic of clauses over Booleans `b`, with sums per class.

    Parameters
    ----------
    clauses
        Clauses that vote, in terms of the Booleans.
    notes
        What is said of each clause.
    n_booleans, n_classes
        How many there are.
    lut
        Inputs of a lookup table: 4 or 6.
    pipeline
        Levels of logic between two registers. With 0 there is one register, at the end.
    is_number
        Whether the answer is the sum of votes, signed, and not a class.
    """

    clauses: Sequence[SlotClause]
    notes: Sequence[str]
    n_booleans: int
    n_classes: int
    lut: int = 4
    pipeline: int = 2
    is_number: bool = False
    levels: list[list[Line]] = field(default_factory=list, init=False)
    totals: list[Value] = field(default_factory=list, init=False)  # sums of the classes, less the base
    totals_level: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Write all levels."""
        self._new_level()
        for j, clause in enumerate(self.clauses):
            literals = [f"~b[{x - self.n_booleans}]" if x >= self.n_booleans else f"b[{x}]"
                        for x in clause.literals]  # fmt: skip
            luts = _gates(len(literals), self.lut)
            self._write(f"c{j}", 1, " & ".join(literals), luts, self.notes[j])
        self._new_level()
        values = [self._tables(c) for c in range(self.n_classes)]
        while any(len(of_class) > 1 for of_class in values):
            self._new_level()
            values = [self._added(c, of_class) for c, of_class in enumerate(values)]
        self.totals = [of_class[0] for of_class in values]
        self.totals_level = len(self.levels) - 1
        if self.is_number:
            self._new_level()
            [total], bits = self.totals, self.sum_bits
            least = f"{bits}'d{self.base & ((1 << bits) - 1)}"
            self._write("chosen", bits, f"{_wide(total, bits)} + {least}", bits)
            return
        leaders = _possible(self.totals)
        while len(leaders) > 1:
            self._new_level()
            leaders = self._leading(leaders)
        which = leaders[0][1]
        if isinstance(which, int):
            self._new_level()
            self._write("chosen", self.answer_bits, _number(which, self.answer_bits))
        else:  # the answer alone goes on from the last level
            last = self.levels[-1].pop()
            self.levels[-1][:] = [Line("chosen", last.width, last.text, last.luts)]

    @cached_property
    def votes(self) -> list[list[tuple[int, int]]]:
        """Clauses and votes of each class."""
        votes: list[list[tuple[int, int]]] = [[] for _ in range(self.n_classes)]
        for j, clause in enumerate(self.clauses):
            for vote in clause.votes:
                votes[vote.class_].append((j, vote.weight))
        return votes

    @cached_property
    def base(self) -> int:
        """The least sum that any class can have, which the totals are counted from."""
        return min(_least(votes) for votes in self.votes)

    @cached_property
    def sum_bits(self) -> int:
        """Bits of a signed class sum."""
        most = max(sum(max(w, 0) for _, w in votes) for votes in self.votes)
        return max(most, -self.base - 1).bit_length() + 1

    @property
    def answer_bits(self) -> int:
        """Bits of the number of a class, or of the sum that stands for a number."""
        if self.is_number:
            return self.sum_bits
        return max(1, (self.n_classes - 1).bit_length())

    @cached_property
    def registered(self) -> list[bool]:
        """Whether registers stand behind each level. A comparison takes as long as two other levels."""
        depth, registered = 0, []
        for i in range(len(self.levels)):
            depth += 2 if i > self.totals_level else 1
            registered.append(i == len(self.levels) - 1 or 0 < self.pipeline <= depth)
            depth = 0 if registered[-1] else depth
        return registered

    @property
    def latency(self) -> int:
        """Clocks from Booleans to the answer."""
        return sum(self.registered)

    @property
    def sum_delay(self) -> int:
        """Registers that the totals pass beside the comparisons."""
        return sum(self.registered[self.totals_level + 1 :])

    @property
    def luts(self) -> float:
        """Lookup tables of all lines."""
        return sum(line.luts for level in self.levels for line in level)

    @property
    def flip_flops(self) -> int:
        """Registers, without those of the sums."""
        kept = (level for level, is_kept in zip(self.levels, self.registered, strict=True) if is_kept)
        return sum(line.width for level in kept for line in level) + self.latency

    def _new_level(self) -> None:
        self.levels.append([])

    def _write(self, name: str, width: int, text: str, luts: float = 0.0, note: str = "") -> str:
        self.levels[-1].append(Line(name, width, text, luts, note))
        return name

    def _passed(self, value: Value, name: str) -> Value:
        """Return a value on the next level, behind the register that may stand there."""
        return Value(self._write(name, value.width, value.name), value.most, value.least)

    def _tables(self, c: int) -> list[Value]:
        """Write tables of the votes of some clauses each. The least sums of all classes become the same."""
        groups = grouped(self.votes[c], self.lut)
        more = _least(self.votes[c]) - self.base
        values = []
        for i, group in enumerate(groups):
            # A constant costs nothing in a table.
            is_last = i == len(groups) - 1
            values.append(self._table(f"p{c}_{i}", group, more if is_last else 0))
        if not groups:
            values = [Value(self._write(f"p{c}_0", max(1, more.bit_length()), _constant(more)), more, more)]
        return values

    def _table(self, name: str, group: Sequence[tuple[int, int]], more: int) -> Value:
        value = Value(name, more + sum(abs(w) for _, w in group), more)
        inputs = ", ".join(f"c{j}" for j, _ in group)
        bits, luts = [], 0
        for column in reversed(_columns(group, more)):
            single = _single(column, len(group))
            if len(set(column)) == 1:
                bits.append(f"1'b{column[0]}")
            elif single is not None:
                bits.append(f"{'~' * (single < 0)}c{group[abs(single) - 1][0]}")
            else:
                luts += 1
                bits.append(f"{_table_name(column)}[{{{inputs}}}]")
        text = bits[0] if len(bits) == 1 else f"{{{', '.join(bits)}}}"
        return Value(self._write(name, value.width, text, luts), value.most, more)

    def _added(self, c: int, values: list[Value]) -> list[Value]:
        """Write the sums of pairs of values, those of similar size together."""
        level = len(self.levels)
        if len(values) == 1:
            return [self._passed(values[0], f"a{level}_{c}_0")]
        values = sorted(values, key=lambda value: value.most)
        added = []
        for i in range(0, len(values) - 1, 2):
            one, other = values[i : i + 2]
            total = Value(f"a{level}_{c}_{i // 2}", one.most + other.most, one.least + other.least)
            text = f"{_wide(one, total.width)} + {_wide(other, total.width)}"
            # A chip with tables of six inputs has the highest carry for nothing.
            luts = total.width - (total.width > other.width and self.lut > 4)
            self._write(total.name, total.width, text, luts)
            added.append(total)
        if len(values) % 2:
            added.append(self._passed(values[-1], f"a{level}_{c}_{len(added)}"))
        return added

    def _leading(self, leaders: list[tuple[Value, str | int]]) -> list[tuple[Value, str | int]]:
        """Write the larger of every two neighbours. The first of them wins a tie, as on the host."""
        level, left = len(self.levels), list[tuple[Value, str | int]]()
        for i in range(0, len(leaders), 2):
            value, which = f"m{level}_{i // 2}", f"g{level}_{i // 2}"
            pair, bits = leaders[i : i + 2], self.answer_bits
            if len(pair) == 1:
                best, chosen = pair[0]
                passed = self._passed(best, value)
                left.append((passed, self._write(which, bits, _number(chosen, bits))))
                continue
            (one, first), (other, second) = pair
            width = max(one.width, other.width)
            # The comparison stands in both lines, so that a level has one register.
            wins = f"({_wide(other, width)} > {_wide(one, width)})"
            if len(leaders) > 2:
                bigger = f"{wins} ? {_wide(other, width)} : {_wide(one, width)}"
                self._write(value, width, bigger, width)
            more = (bits - 1 if isinstance(first, str) else 0) + (self.lut == 4)
            self._write(
                which, bits, f"{wins} ? {_number(second, bits)} : {_number(first, bits)}", width + more
            )
            left.append((Value(value, max(one.most, other.most), max(one.least, other.least)), which))
        return left


def _possible(totals: Sequence[Value]) -> list[tuple[Value, str | int]]:
    """Return the totals of the classes that some row may be answered with, and their numbers."""
    return [
        (total, c)
        for c, total in enumerate(totals)
        if not any(other.least > total.most or (other.least == total.most and i < c)
                   for i, other in enumerate(totals) if i != c)
    ]  # fmt: skip


def grouped(votes: Sequence[tuple[int, int]], lut: int) -> list[list[tuple[int, int]]]:
    """Return votes in groups of at most `lut`, so that few bits hold the sum of each group.

    Every bit takes a table, and a bit of an adder behind it. Votes of 1, 2 and 4 fill three bits as well as
    seven votes of 1 would.

    >>> grouped([(0, 1), (1, -1), (2, 2), (3, 1), (4, 1)], 4)
    [[(2, 2), (0, 1)], [(1, -1), (3, 1), (4, 1)]]
    """
    left = sorted(votes, key=lambda vote: -abs(vote[1]))
    groups = []
    while left:
        best: list[tuple[int, int]] = []
        best_worth = -1.0
        heaviest = abs(left[0][1]).bit_length()
        for bits in range(heaviest, heaviest + 3):
            space, group = (1 << bits) - 1, list[tuple[int, int]]()
            for vote in left:
                if len(group) < lut and abs(vote[1]) <= space:
                    group.append(vote)
                    space -= abs(vote[1])
            used = sum(abs(w) for _, w in group)
            tables = sum(_needs_table(column, len(group)) for column in _columns(group))
            worth = len(group) / (used.bit_length() + tables + 1.5)
            if worth > best_worth:
                best, best_worth = group, worth
        groups.append(best)
        taken = {j for j, _ in best}
        left = [vote for vote in left if vote[0] not in taken]
    return groups


def _columns(group: Sequence[tuple[int, int]], more: int = 0) -> list[list[int]]:
    """Return the truth table of each bit of the sum of some votes, the lowest bit first.

    >>> _columns([(0, 1), (1, -1)])
    [[1, 0, 0, 1], [0, 0, 1, 0]]
    """
    sums = [
        more - _least(group) + sum(w * fires for (_, w), fires in zip(group, row, strict=True))
        for row in product((0, 1), repeat=len(group))
    ]
    return [[s >> bit & 1 for s in sums] for bit in range(max(1, max(sums).bit_length()))]


def _needs_table(column: Sequence[int], n_inputs: int) -> bool:
    return len(set(column)) > 1 and _single(column, n_inputs) is None


def _single(column: Sequence[int], n_inputs: int) -> int | None:
    """Return the input that a truth table repeats, counted from 1 and negative if it is inverted."""
    for i in range(n_inputs):
        place = n_inputs - 1 - i  # the first input is the highest bit of the index
        bits = [row >> place & 1 for row in range(len(column))]
        if all(a == b for a, b in zip(bits, column, strict=True)):
            return i + 1
        if all(a != b for a, b in zip(bits, column, strict=True)):
            return -(i + 1)
    return None


def _gates(n_inputs: int, lut: int) -> int:
    """Return how many lookup tables an AND of so many inputs takes.

    >>> _gates(1, 4), _gates(4, 4), _gates(5, 4), _gates(7, 4), _gates(8, 4)
    (0, 1, 2, 2, 3)
    """
    return -(-(n_inputs - 1) // (lut - 1))


def _least(votes: Sequence[tuple[int, int]]) -> int:
    """Return the least sum of votes."""
    return sum(min(w, 0) for _, w in votes)


def _constant(number: int) -> str:
    return f"{max(1, number.bit_length())}'d{number}"


def _number(which: str | int, bits: int) -> str:
    return which if isinstance(which, str) else f"{bits}'d{which}"


def _wide(value: Value, width: int) -> str:
    """Return a value with zeros before it.

    >>> _wide(Value("a", 3), 4), _wide(Value("a", 3), 2)
    ("{2'd0, a}", 'a')
    """
    more = width - value.width
    return f"{{{more}'d0, {value.name}}}" if more else value.name


def _table_name(column: Sequence[int]) -> str:
    """Return the name of a truth table, which has its bits.

    >>> _table_name([0, 0, 0, 1])
    'T4_8'
    """
    return f"T{len(column)}_{_bits(column):X}"


def _bits(column: Sequence[int]) -> int:
    return sum(bit << i for i, bit in enumerate(column))


def table_definitions(text: str) -> list[str]:
    """Return the constants of the truth tables that a text names.

    >>> table_definitions("T4_8[{a, b}]")
    ["localparam [3:0] T4_8 = 4'h8;"]
    """
    names = sorted(set(re.findall(r"\bT(\d+)_([0-9A-F]+)\b", text)), key=lambda pair: (int(pair[0]), pair[1]))
    return [f"localparam [{int(size) - 1}:0] T{size}_{bits} = {size}'h{bits};" for size, bits in names]
