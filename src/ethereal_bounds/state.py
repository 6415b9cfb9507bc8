"""What is known at a point of a program: registers, memory, bits and inputs. And what ways have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ethereal_bounds.flow import Code, Function
from ethereal_bounds.instruction import Unbounded
from ethereal_bounds.values import (
    MASK,
    UNKNOWN,
    Flags,
    Masked,
    Of,
    Origin,
    Range,
    Unknown,
    Value,
    bounds_of,
    bytes_of,
    compute,
    from_bytes,
    hull,
    of,
)

_MOST_SETS = 4  # of an unknown word that are remembered
Bits = dict[Origin, int]
STOP = 0x00010000  # where the first function returns to
STACK = 0x20080000
INPUT = 0x60000000
OUTPUT = 0x70000000
Need = tuple[int, int]  # an input, and a set of its values as bits


@dataclass
class Known:
    """The bits that are not set, those that are, and sets of bits of which at least one is set."""

    zeros: Bits = field(default_factory=dict)
    ones: Bits = field(default_factory=dict)
    some: dict[Origin, frozenset[int]] = field(default_factory=dict)

    def copy(self) -> Known:
        """Return a copy."""
        return Known(dict(self.zeros), dict(self.ones), dict(self.some))

    def common(self, other: Known) -> Known:
        """Return what both know."""

        def both(a: Bits, b: Bits) -> Bits:
            return {origin: bits & b[origin] for origin, bits in a.items() if bits & b.get(origin, 0)}

        none: frozenset[int] = frozenset()
        same = {origin: sets & other.some.get(origin, none) for origin, sets in self.some.items()}
        same = {origin: sets for origin, sets in same.items() if sets}
        return Known(both(self.zeros, other.zeros), both(self.ones, other.ones), same)

    def left(self, value: Masked) -> int:
        """Return the bits of its origin that can be set in a value."""
        return value.bits & ~self.zeros.get(value.origin, 0)

    def is_not_zero(self, value: Masked) -> bool:
        """Return whether a bit is certain to be set."""
        return self.has_one(value.origin, self.left(value))

    def has_one(self, origin: Origin, bits: int) -> bool:
        """Return whether one of these bits of an unknown word is certain to be set."""
        if bits & self.ones.get(origin, 0):
            return True
        others = ~self.zeros.get(origin, 0) & ~bits
        return any(not mask & others for mask in self.some.get(origin, ()))

    def without(self, value: Masked, bits: int) -> Known:
        """Return what is known if these bits are not set."""
        known = self.copy()
        known.zeros[value.origin] = known.zeros.get(value.origin, 0) | bits
        return known

    def with_bit(self, value: Masked, bit: int) -> Known:
        """Return what is known if this bit is set."""
        known = self.copy()
        known.ones[value.origin] = known.ones.get(value.origin, 0) | bit
        return known

    def with_some(self, value: Masked) -> Known:
        """Return what is known if a bit of the value is set."""
        left = self.left(value)
        if left & (left - 1) == 0:
            return self.with_bit(value, left)
        known = self.copy()
        known.add(value.origin, left)
        return known

    def add(self, origin: Origin, bits: int) -> None:
        """Note that one of these bits is set. Of many such sets the smallest are kept."""
        if not self.has_one(origin, bits):
            others = {mask for mask in self.some.get(origin, ()) if bits & ~mask}
            kept = sorted(others | {bits}, key=lambda mask: (mask.bit_count(), mask))[:_MOST_SETS]
            self.some[origin] = frozenset(kept)


@dataclass(frozen=True)
class Edge:
    """A way from a point to another, with its instructions and what inputs it needs."""

    to: int
    cost: int
    needs: tuple[Need, ...] = ()


@dataclass(frozen=True)
class Graph:
    """Ways through a function, from point 0 to point -1."""

    edges: dict[int, list[Edge]]
    n_values: tuple[int, ...]  # of each input


@dataclass(frozen=True)
class Frame:
    """A function that is being executed, and where it returns to."""

    context: int
    function: Function
    back: int


@dataclass
class State:
    """What is known at a point."""

    registers: list[Value | Flags]
    memory: dict[int, Value]  # by words
    allowed: dict[int, int]  # of inputs that are restricted: their values as bits
    known: Known
    frames: tuple[Frame, ...]
    rounds: dict[tuple[int, int], int] = field(default_factory=dict)  # of loops, by depth and header
    makes_row: bool = False  # whether the program still makes the inputs that it will read
    keeps_ranges: bool = False  # whether numbers that differ become ranges even when it does not

    @property
    def has_ranges(self) -> bool:
        """Whether numbers that differ where ways meet become ranges."""
        return self.makes_row or self.keeps_ranges

    def copy(self) -> State:
        """Return a copy."""
        registers, memory = list(self.registers), dict(self.memory)
        allowed, rounds = dict(self.allowed), dict(self.rounds)
        return replace(self, registers=registers, memory=memory, allowed=allowed, rounds=rounds)


@dataclass(frozen=True)
class Input:
    """A number in memory that a program is followed for all values of. `values` stand for all of them."""

    at: int
    width: int  # bytes
    values: tuple[int, ...]  # unsigned


def row_of(values: Sequence[Sequence[int]], width: int = 4, at: int = INPUT) -> list[Input]:
    """Return inputs side by side, as the features of a row are."""
    return [Input(at + width * i, width, tuple(of_number)) for i, of_number in enumerate(values)]


class Memory:
    """What is known of memory. The row is only read, or the program makes it first and reads it then.

    A variable has a value of its input at first. What is pinned has one whenever it is read, whatever is
    stored there. Whatever else is not known is unknown.
    """

    def __init__(
        self, code: Code, row: Sequence[Input], variables: Sequence[Input] = (), pinned: Sequence[Input] = ()
    ) -> None:
        self.code = code
        self.inputs = (*row, *variables, *pinned)
        self._pinned = {each.at + i for each in pinned for i in range(each.width)}
        self._row = (row[0].at, row[-1].at + row[-1].width) if row else (0, 0)
        self._bytes = {each.at + i: (f, i) for f, each in enumerate(self.inputs) for i in range(each.width)}
        self._words: dict[int, Value] = {}
        places = {at & ~3 for at in self._bytes if not self._is_row(at, 1)}
        self.at_first = {at: from_bytes(tuple(map(self._byte, range(at, at + 4)))) for at in places}

    def _is_row(self, at: int, width: int) -> bool:
        return self._row[0] < at + width and at < self._row[1]

    def begin_to_read(self, state: State) -> None:
        """Take the row that the program made as inputs from here on."""
        state.makes_row = False
        for at in [at for at in state.memory if self._is_row(at, 4)]:
            del state.memory[at]

    def _word(self, state: State, at: int) -> Value:
        """Return the word at an address that is a multiple of 4."""
        if self._pinned and (pinned := self._pinned.intersection(range(at, at + 4))):
            parts = list(bytes_of(state.memory.get(at, UNKNOWN)))
            for i in pinned:
                parts[i - at] = self._byte(i)
            return from_bytes(tuple(parts))
        if at in state.memory:
            return state.memory[at]
        number = self.code.constant(at, 4)
        if number is not None:
            return number
        if at not in self._words:
            is_row = [self._is_row(i, 1) or i not in self._bytes for i in range(at, at + 4)]
            four = (self._byte(at + i) if pinned else UNKNOWN for i, pinned in enumerate(is_row))
            self._words[at] = from_bytes(tuple(four))
        return self._words[at]

    def _byte(self, at: int) -> int | Of | Unknown:
        """Return what a byte is at first."""
        if at in self._bytes:
            f, i = self._bytes[at]
            return of(f, tuple(value >> 8 * i & 0xFF for value in self.inputs[f].values))
        number = self.code.constant(at, 1)  # at the end of a table
        return UNKNOWN if number is None else number

    def read(self, state: State, at: int, width: int, signed: bool) -> Value:
        """Return what a load gets from a known address."""
        if state.makes_row and self._is_row(at, width):
            self.begin_to_read(state)
        if width == 4 and at & 3 == 0:
            return self._word(state, at)
        parts = [bytes_of(self._word(state, i & ~3))[i & 3] for i in range(at, at + width)]
        value = from_bytes(tuple(parts))
        if signed and width < 4:
            return compute("sxth" if width == 2 else "sxtb", value)
        return value

    def _check_store(self, state: State, low: int, high: int, width: int) -> None:
        for at in (low, high):
            if self.code.constant(at, 1) is not None:
                raise Unbounded(f"a store to {at:#x}, which is not RAM")
        if not state.makes_row and self._is_row(low, high - low + width):
            raise Unbounded("features change after they were read")

    def write(self, state: State, at: int, width: int, value: Value) -> None:
        """Store a value at a known address."""
        self._check_store(state, at, at, width)
        if width == 4 and at & 3 == 0:
            _put(state, at, value)
            return
        new = bytes_of(value)
        for i in range(at, at + width):
            parts = list(bytes_of(state.memory.get(i & ~3, UNKNOWN)))
            parts[i & 3] = new[i - at]
            _put(state, i & ~3, from_bytes(tuple(parts)))

    def forget(self, state: State, low: int, high: int) -> None:
        """Store something at an address that is not known, so that no byte from one to another is known."""
        self._check_store(state, low, high, 1)
        for at in [at for at in state.memory if low - 4 < at <= high]:
            del state.memory[at]


def _put(state: State, at: int, value: Value) -> None:
    if value is UNKNOWN:
        state.memory.pop(at, None)
    else:
        state.memory[at] = value


Split = tuple[int, int, int]  # an input, and its values of two ways as bits


class Joins:
    """Joins the states of ways that meet."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._sizes = [len(each.values) for each in memory.inputs]
        self._origins: dict[tuple[object, ...], Origin] = {}

    def join(self, number: int, mine: State, other: State) -> bool:
        """Add what another way brings to the state of a point. Return whether that is new."""
        changed = False
        if mine.makes_row != other.makes_row:
            changed = mine.makes_row
            self._memory.begin_to_read(mine if changed else other)
        before = list(mine.registers)
        split = self._split(mine, other)
        for f in [f for f in mine.allowed if mine.allowed[f] | other.allowed.get(f, -1) != mine.allowed[f]]:
            changed = True
            values = mine.allowed[f] | other.allowed.get(f, self.all_values(f))
            mine.allowed[f] = values
            if values == self.all_values(f):
                del mine.allowed[f]
        for i, (x, y) in enumerate(zip(mine.registers, other.registers, strict=True)):
            if x is not y and x is not UNKNOWN and x != y:
                common = self._joined(x, y, split, (number, i), mine.has_ranges)
                if common != x:
                    mine.registers[i], changed = common, True
        memory = other.memory
        for at, x in list(mine.memory.items()):
            y = memory.get(at, UNKNOWN)
            if x is y or x is UNKNOWN or x == y:
                continue
            joined = self._joined(x, y, split, (number, at), mine.has_ranges)
            if joined != x:
                changed = True
                if joined is UNKNOWN:
                    del mine.memory[at]
                else:
                    mine.memory[at] = joined
        known = mine.known.common(other.known)
        for x, y, both in zip(before, other.registers, mine.registers, strict=True):
            if isinstance(both, Masked) and _is_set(x, mine.known) and _is_set(y, other.known):
                known.add(both.origin, known.left(both))
        if known != mine.known:
            mine.known, changed = known, True
        for loop, n in other.rounds.items():
            mine.rounds[loop] = max(n, mine.rounds.get(loop, 0))
        return changed

    def all_values(self, f: int) -> int:
        """Return all values of an input as bits."""
        return (1 << self._sizes[f]) - 1

    def _split(self, a: State, b: State) -> Split | None:
        """Return the one input whose values tell two ways apart, with its values of both."""
        different = [
            f for f in a.allowed.keys() | b.allowed.keys() if a.allowed.get(f, -1) != b.allowed.get(f, -1)
        ]
        if len(different) != 1:
            return None
        f, every = different[0], self.all_values(different[0])
        return f, a.allowed.get(f, every), b.allowed.get(f, every)

    def _joined(
        self, x: Value | Flags, y: Value | Flags, split: Split | None, where: tuple[int, int], ranges: bool
    ) -> Value:
        """Return what two ways have in common at a place, as a range if nothing better is known."""
        if isinstance(x, (Flags, Unknown)) or isinstance(y, (Flags, Unknown)):
            return UNKNOWN
        common = self._common(x, y, split, where)
        if common is UNKNOWN and (ranges or isinstance(x, Range) or isinstance(y, Range)):
            low, high = hull(bounds_of(x), bounds_of(y))
            return common if (low, high) == (0, MASK) else Range(low, high, where)
        return common

    def _common(self, x: Value, y: Value, split: Split | None, where: tuple[int, int]) -> Value:
        if split is not None:
            f, mine, theirs = split
            a, b = _numbers(x, f, self._sizes[f]), _numbers(y, f, self._sizes[f])
            if a is not None and b is not None:
                both = list(enumerate(zip(a, b, strict=True)))
                if any(m != n for r, (m, n) in both if (mine & theirs) >> r & 1):
                    return UNKNOWN
                return of(f, tuple(n if theirs >> r & 1 else m for r, (m, n) in both))
        return self._hull(x, y, split, where)

    def _hull(self, x: Value, y: Value, split: Split | None, where: tuple[int, int]) -> Value:
        """Return an unknown word with the bits that either value can have."""
        if isinstance(x, Masked) and isinstance(y, Masked) and (x.origin, x.shift) == (y.origin, y.shift):
            return Masked(x.origin, x.bits | y.bits, x.shift)
        if split is None or (isinstance(x, int) and isinstance(y, int)):
            return UNKNOWN
        sides: list[tuple[int, dict[int, tuple[int, ...]]]] = []
        for value in (x, y):
            if isinstance(value, int):
                sides.append((value, {}))
            elif isinstance(value, Of):
                sides.append((value.possible, {value.input: value.numbers}))
            elif isinstance(value, Masked) and value.shift == 0:
                parts: dict[int, tuple[int, ...]] = {}
                for part in value.origin.parts:
                    old = parts.get(part.input, (MASK,) * len(part.numbers))
                    parts[part.input] = tuple(m & n for m, n in zip(old, part.numbers, strict=True))
                sides.append((value.bits, parts))
            else:
                return UNKNOWN
        (bits_x, parts_x), (bits_y, parts_y) = sides
        bits, parts = bits_x | bits_y, {}
        for f in parts_x | parts_y:
            every_x, every_y = (bits_x,) * self._sizes[f], (bits_y,) * self._sizes[f]
            pairs = zip(parts_x.get(f, every_x), parts_y.get(f, every_y), strict=True)
            parts[f] = tuple(m & bits_x | n & bits_y for m, n in pairs)
        f, mine, theirs = split
        limits = [
            (bits_x if mine >> r & 1 else 0) | (bits_y if theirs >> r & 1 else 0)
            for r in range(self._sizes[f])
        ]
        parts[f] = tuple(m & n for m, n in zip(limits, parts.get(f, limits), strict=True))
        limited = tuple(
            Of(f, numbers) for f, numbers in sorted(parts.items()) if any(n & bits != bits for n in numbers)
        )
        origin = self._origins.setdefault((where, limited), Origin(limited))
        if isinstance(x, Masked) and x.bits == bits and x.origin.parts == limited:
            return x
        return Masked(origin, bits)


def _numbers(value: Value, f: int, n: int) -> tuple[int, ...] | None:
    if isinstance(value, int):
        return (value,) * n
    return value.numbers if isinstance(value, Of) and value.input == f else None


def _is_set(value: Value | Flags, known: Known) -> bool:
    """Return whether a value is not zero."""
    if isinstance(value, Masked):
        return known.is_not_zero(value)
    return isinstance(value, int) and value != 0
