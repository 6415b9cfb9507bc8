"""What ways have in common where they meet."""

from __future__ import annotations

from ethereal_bounds.arithmetic import MASK
from ethereal_bounds.known import Known
from ethereal_bounds.memory import Memory
from ethereal_bounds.ranges import Range, hull
from ethereal_bounds.state import State
from ethereal_bounds.values import (
    UNKNOWN,
    Flags,
    Masked,
    Of,
    Origin,
    Unknown,
    Value,
    bounds_of,
    of,
)

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
        f = different[0]
        return f, a.allowed.get(f, self.all_values(f)), b.allowed.get(f, self.all_values(f))

    def _joined(
        self, x: Value | Flags, y: Value | Flags, split: Split | None, where: tuple[int, int], ranges: bool
    ) -> Value:
        """Return what two ways have in common at a place, as a range if nothing better is known."""
        if isinstance(x, (Flags, Unknown)) or isinstance(y, (Flags, Unknown)):
            return UNKNOWN
        found = self._common(x, y, split, where)
        if found is UNKNOWN and (ranges or isinstance(x, Range) or isinstance(y, Range)):
            low, high = hull(bounds_of(x), bounds_of(y))
            return found if (low, high) == (0, MASK) else Range(low, high, where)
        return found

    def _common(self, x: Value, y: Value, split: Split | None, where: tuple[int, int]) -> Value:
        if split is not None:
            f, own, theirs = split
            a, b = _numbers(x, f, self._sizes[f]), _numbers(y, f, self._sizes[f])
            if a is not None and b is not None:
                if all(m == n for r, (m, n) in enumerate(zip(a, b, strict=True)) if (own & theirs) >> r & 1):
                    return of(
                        f,
                        tuple(n if theirs >> r & 1 else m for r, (m, n) in enumerate(zip(a, b, strict=True))),
                    )
                return UNKNOWN
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
        bits = bits_x | bits_y
        parts = {
            f: tuple(
                m & bits_x | n & bits_y
                for m, n in zip(numbers, parts_y.get(f, (bits_y,) * len(numbers)), strict=True)
            )
            for f, numbers in parts_x.items()
        }
        for f, numbers in parts_y.items():
            if f not in parts:
                parts[f] = tuple(bits_x | n & bits_y for n in numbers)
        f, own, theirs = split
        limits = [
            (bits_x if own >> r & 1 else 0) | (bits_y if theirs >> r & 1 else 0)
            for r in range(self._sizes[f])
        ]
        parts[f] = tuple(m & n for m, n in zip(limits, parts.get(f, limits), strict=True))
        found = tuple(
            Of(f, numbers) for f, numbers in sorted(parts.items()) if any(n & bits != bits for n in numbers)
        )
        origin = self._origins.setdefault((where, found), Origin(found))
        if isinstance(x, Masked) and x.bits == bits and x.origin.parts == found:
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
