"""Follow a compiled function for all values of its inputs at once, and find the ways through it.

Numbers and tables that do not depend on inputs are computed, so that a loop over a table ends where the table
does. Where a branch depends on an input both ways are followed, and what they have in common is kept where
they meet again. The result is a graph without cycles: every execution is a way through it.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from ethereal.chips.arithmetic import MASK
from ethereal.chips.flow import Code, Function
from ethereal.chips.instruction import LINK, SP, Unbounded
from ethereal.chips.state import INPUT, STACK, STOP, Edge, Frame, Graph, State
from ethereal.chips.values import (
    UNKNOWN,
    Flags,
    Known,
    Masked,
    Of,
    Origin,
    Unknown,
    Value,
    bytes_of,
    compute,
    from_bytes,
    of,
)
from ethereal.chips.walk import walk

_MOST_STEPS, _MOST_POINTS = 1_500_000, 60_000  # that are followed


@dataclass
class _Point:
    number: int
    at: int
    state: State
    waits: bool = True


class Paths:
    """All ways through a function. `inputs` are the values that each input can have, as unsigned numbers."""

    def __init__(self, code: Code, inputs: Sequence[Sequence[int]], width: int = 4) -> None:
        self._code = code
        self._inputs = inputs
        self._width = width
        self._words: dict[int, Value] = {}
        self._contexts: dict[tuple[object, ...], int] = {}
        self._origins: dict[tuple[object, ...], Origin] = {}
        self._edges: dict[int, list[Edge]] = {}
        self._points: dict[tuple[object, ...], _Point] = {}
        self._heap: list[tuple[tuple[int, ...], int, _Point]] = []
        self._n_points = 0
        self._n_steps = 0
        self._n_pushed = 0

    def follow(self, name: str, *arguments: int) -> Graph:
        """Follow a function with these arguments."""
        entry = self._code.address(name)
        registers: list[Value | Flags] = [UNKNOWN] * 33
        registers[: len(arguments)] = list(arguments)
        registers[SP], registers[LINK] = STACK, STOP
        frames = (Frame(0, self._code.function(entry), STOP),)
        self._push(_Point(0, entry, State(registers, {}, {}, Known(), frames)))
        while self._heap:
            point = heapq.heappop(self._heap)[2]
            if not point.waits:
                continue
            point.waits = False
            if not self._heap:
                self._points.clear()  # nothing else is under way that could come there
            self._edges[point.number] = []
            walk(self, self._code, point.number, point.at, point.state.copy())
        return Graph(self._edges, tuple(map(len, self._inputs)))

    # What points are there

    def _push(self, point: _Point) -> None:
        point.waits = True
        self._n_pushed += 1
        heapq.heappush(self._heap, (_order(point.state, point.at), self._n_pushed, point))

    def edge(self, start: int, to: int, cost: int, needs: tuple[tuple[int, int], ...] = ()) -> None:
        """Add a way."""
        self._n_steps += cost
        if self._n_steps > _MOST_STEPS or self._n_points > _MOST_POINTS:
            raise Unbounded("the code is too long to follow")
        self._edges[start].append(Edge(to, cost, needs))

    def fresh(self, at: int, state: State) -> int:
        """Add a point that no other way leads to, and return its number."""
        self._n_points += 1
        self._push(_Point(self._n_points, at, state))
        return self._n_points

    @property
    def is_alone(self) -> bool:
        """Whether no other way is under way."""
        return not self._heap

    def arrive(self, at: int, state: State) -> int:
        """Add a point at the start of a block, or join it to the one that is there. Return its number."""
        _narrow(state)
        key = self._key(at, state)
        point = self._points.get(key)
        if point is None:
            self._n_points += 1
            point = self._points[key] = _Point(self._n_points, at, state)
            self._push(point)
        elif self._join(point, state) and not point.waits:
            self._push(point)
        return point.number

    def _key(self, at: int, state: State) -> tuple[object, ...]:
        frame = state.frames[-1]
        return (frame.context, at, self.places(frame.function, at, state))

    def places(self, function: Function, at: int, state: State) -> tuple[object, ...]:
        """Return the values that decide where a loop goes."""
        relevant = function.relevant(at)
        if not relevant:
            return ()
        found: list[object] = []
        for place in sorted(relevant, key=str):
            if isinstance(place, int):
                value = state.registers[place]
            else:
                sp = state.registers[SP]
                assert isinstance(sp, int)
                value = state.memory.get(sp + function.depth(at) + place[1], UNKNOWN)
            found.append(_told(value, state.known))
        return tuple(found)

    def function(self, entry: int) -> Function:
        """Return the function that begins at an address."""
        return self._code.function(entry)

    def context(self, *key: object) -> int:
        """Return the number of a place that a function was called from."""
        return self._contexts.setdefault(key, len(self._contexts) + 1)

    def _join(self, point: _Point, other: State) -> bool:
        """Add what another way brings to a point. Return whether that is new."""
        mine, changed = point.state, False
        before = list(mine.registers)
        split = self._split(mine, other)
        for f in [f for f in mine.allowed if mine.allowed[f] | other.allowed.get(f, -1) != mine.allowed[f]]:
            changed = True
            both = mine.allowed[f] | other.allowed.get(f, self.all_values(f))
            mine.allowed[f] = both
            if both == self.all_values(f):
                del mine.allowed[f]
        for i, (x, y) in enumerate(zip(mine.registers, other.registers, strict=True)):
            if x is not y and x is not UNKNOWN and x != y:
                joined = self._joined(x, y, split, (point.number, i))
                if joined != x:
                    mine.registers[i], changed = joined, True
        memory = other.memory
        for at, x in list(mine.memory.items()):
            y = memory.get(at, UNKNOWN)
            if x is y or x is UNKNOWN or x == y:
                continue
            joined = self._joined(x, y, split, (point.number, at))
            if joined != x:
                changed = True
                if joined is UNKNOWN:
                    del mine.memory[at]
                else:
                    mine.memory[at] = joined  # type: ignore[assignment]
        known = mine.known.common(other.known)
        for x, y, joined in zip(before, other.registers, mine.registers, strict=True):
            if isinstance(joined, Masked) and _is_set(x, mine.known) and _is_set(y, other.known):
                left, some = known.left(joined), known.some.get(joined.origin)
                if some is None or left.bit_count() < some.bit_count():  # the fewer bits, the more is known
                    known.some[joined.origin] = left
        if known != mine.known:
            mine.known, changed = known, True
        for loop, n in other.rounds.items():
            mine.rounds[loop] = max(n, mine.rounds.get(loop, 0))
        return changed

    def all_values(self, f: int) -> int:
        """Return all values of an input as bits."""
        return (1 << len(self._inputs[f])) - 1

    def _split(self, a: State, b: State) -> tuple[int, int, int] | None:
        """Return the one input whose values tell two ways apart, with its values of both."""
        different = [
            f for f in a.allowed.keys() | b.allowed.keys() if a.allowed.get(f, -1) != b.allowed.get(f, -1)
        ]
        if len(different) != 1:
            return None
        f = different[0]
        return f, a.allowed.get(f, self.all_values(f)), b.allowed.get(f, self.all_values(f))

    def _joined(
        self, x: Value | Flags, y: Value | Flags, split: tuple[int, int, int] | None, where: tuple[int, int]
    ) -> Value | Flags:
        """Return what two ways have in common at a place."""
        if isinstance(x, (Flags, Unknown)) or isinstance(y, (Flags, Unknown)):
            return UNKNOWN
        if split is not None:
            f, own, theirs = split
            a, b = _numbers(x, f, len(self._inputs[f])), _numbers(y, f, len(self._inputs[f]))
            if a is not None and b is not None:
                if all(m == n for r, (m, n) in enumerate(zip(a, b, strict=True)) if (own & theirs) >> r & 1):
                    return of(
                        f,
                        tuple(n if theirs >> r & 1 else m for r, (m, n) in enumerate(zip(a, b, strict=True))),
                    )
                return UNKNOWN
        return self._hull(x, y, split, where)

    def _hull(self, x: Value, y: Value, split: tuple[int, int, int] | None, where: tuple[int, int]) -> Value:
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
            for r in range(len(self._inputs[f]))
        ]
        parts[f] = tuple(m & n for m, n in zip(limits, parts.get(f, limits), strict=True))
        found = tuple(
            Of(f, numbers) for f, numbers in sorted(parts.items()) if any(n & bits != bits for n in numbers)
        )
        origin = self._origins.setdefault((where, found), Origin(found))
        if isinstance(x, Masked) and x.bits == bits and x.origin.parts == found:
            return x
        return Masked(origin, bits)

    # Memory

    def word(self, state: State, at: int) -> Value:
        """Return the word at an address that is a multiple of 4."""
        if at in state.memory:
            return state.memory[at]
        number = self._code.constant(at, 4)
        if number is not None:
            return number
        if at in self._words:
            return self._words[at]
        size = self._width * len(self._inputs)
        if INPUT <= at < INPUT + size:
            parts: list[int | Of | Unknown] = []
            for i in range(at - INPUT, at - INPUT + 4):
                f, shift = divmod(i, self._width)
                known = f < len(self._inputs)
                parts.append(
                    of(f, tuple(v >> 8 * shift & 0xFF for v in self._inputs[f])) if known else UNKNOWN
                )
            found = from_bytes(tuple(parts))
            self._words[at] = found
            return found
        last = self._code.constant(at, 1)
        if last is not None:  # the end of a table
            return from_bytes(
                tuple(UNKNOWN if n is None else n for n in (self._code.constant(at + i, 1) for i in range(4)))
            )
        return UNKNOWN

    def read(self, state: State, at: int, width: int, signed: bool) -> Value:
        """Return what a load gets from a known address."""
        if width == 4 and at & 3 == 0:
            return self.word(state, at)
        parts = [bytes_of(self.word(state, i & ~3))[i & 3] for i in range(at, at + width)]
        found = from_bytes(tuple(parts))
        if signed and width < 4:
            return compute("sxth" if width == 2 else "sxtb", found)
        return found

    def write(self, state: State, at: int, width: int, value: Value) -> None:
        """Store a value at a known address."""
        if self._code.constant(at, 1) is not None:
            raise Unbounded(f"a store to {at:#x}, which is not RAM")
        if width == 4 and at & 3 == 0:
            if value is UNKNOWN:
                state.memory.pop(at, None)
            else:
                state.memory[at] = value
            return
        own = bytes_of(value)
        for i in range(at, at + width):
            parts = list(bytes_of(state.memory.get(i & ~3, UNKNOWN)))
            parts[i & 3] = own[i - at]
            word = from_bytes(tuple(parts))
            if word is UNKNOWN:
                state.memory.pop(i & ~3, None)
            else:
                state.memory[i & ~3] = word


def _numbers(value: Value, f: int, n: int) -> tuple[int, ...] | None:
    if isinstance(value, int):
        return (value,) * n
    return value.numbers if isinstance(value, Of) and value.input == f else None


def _narrow(state: State) -> None:
    """Write unknown words in registers with no more bits than can be set, so that equal ones look equal."""

    def narrowed(value: Value) -> Value:
        if not isinstance(value, Masked) or (left := state.known.left(value)) == value.bits:
            return value
        return Masked(value.origin, left, value.shift) if left else 0

    for i, value in enumerate(state.registers):
        if isinstance(value, Masked):
            state.registers[i] = narrowed(value)
        elif isinstance(value, Flags) and any(isinstance(v, Masked) for v in value.values):
            state.registers[i] = Flags(value.name, tuple(map(narrowed, value.values)))


def _is_set(value: Value | Flags, known: Known) -> bool:
    """Return whether a value is not zero."""
    if isinstance(value, Masked):
        return known.is_not_zero(value)
    return isinstance(value, int) and value != 0


def _told(value: Value | Flags, known: Known) -> object:
    """Return a value as part of a key."""
    if isinstance(value, Unknown):
        return None
    if isinstance(value, Masked):
        return ("masked", known.left(value), value.shift, known.is_not_zero(value))
    if isinstance(value, Flags):
        return (value.name, *(_told(v, known) for v in value.values))
    return value


def _order(state: State, at: int) -> tuple[int, ...]:
    """Return what is least for the point to go on with first: loops end before what follows them."""
    found: list[int] = []
    for depth, frame in enumerate(state.frames):
        place = at if depth == len(state.frames) - 1 else state.frames[depth + 1].back
        spot = frame.function.spots.get(place)
        if spot is None:  # within a block, right behind a fork
            found.append(-1)
            continue
        for number, header in spot.loops:
            found += [number, state.rounds.get((depth, header), 0)]
        found.append(spot.place)
    return tuple(found)
