"""Follow a compiled function for all values of its inputs at once, and find the ways through it.

Numbers and tables that do not depend on inputs are computed, so that a loop over a table ends where the table
does. Where a branch depends on an input both ways are followed, and what they have in common is kept where
they meet again. The result is a graph without cycles: every execution is a way through it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from ethereal_bounds.flow import Function, Place
from ethereal_bounds.instruction import LINK, SP, ZERO, Unbounded
from ethereal_bounds.joins import Joins
from ethereal_bounds.known import Known
from ethereal_bounds.memory import Memory
from ethereal_bounds.state import STACK, STOP, Edge, Frame, Graph, State
from ethereal_bounds.values import UNKNOWN, Flags, Masked, Unknown, Value
from ethereal_bounds.walk import walk

MOST_STEPS, _MOST_POINTS = 3_000_000, 150_000  # that are followed, some 20,000 of the steps in a second
# Ways that are kept apart while inputs are made: those with other numbers that end loops, and those alike.
_MOST_ENDS, _MOST_ALIKE = 128, 4

# Where a function was called from, an address, what decides where a loop goes, and numbers that end loops.
_Key = tuple[int, int, tuple[object, ...], tuple[int | None, ...]]


@dataclass
class _Point:
    number: int
    at: int
    state: State
    waits: bool = True


class Paths:
    """All ways through a function, with what is known of memory before the call."""

    def __init__(self, memory: Memory, most_steps: int = MOST_STEPS) -> None:
        self._code = memory.code
        self.most_steps = most_steps
        self.memory = memory
        self._joins = Joins(self.memory)
        self._contexts: dict[tuple[object, ...], int] = {}
        self._edges: dict[int, list[Edge]] = {}
        self._points: dict[_Key, _Point] = {}
        self._alike: dict[tuple[object, ...], list[_Key]] = {}
        self._apart: dict[tuple[object, ...], set[tuple[int | None, ...]]] = {}
        self._heap: list[tuple[tuple[int, ...], int, _Point]] = []
        self._n_points = 0
        self._n_steps = 0
        self._n_pushed = 0

    def follow(
        self, name: str, *arguments: int, makes_row: bool = False, keeps_ranges: bool = False
    ) -> Graph:
        """Follow a function with these arguments. It may make the row itself, before it reads it.

        With `keeps_ranges`, numbers that differ where ways meet become ranges all along.
        """
        entry = self._code.address(name)
        registers: list[Value | Flags] = [UNKNOWN] * 33
        registers[: len(arguments)] = list(arguments)
        registers[SP], registers[LINK], registers[ZERO] = STACK, STOP, 0
        frames = (Frame(0, self._code.function(entry), STOP),)
        memory = dict(self.memory.at_first)
        state = State(registers, memory, {}, Known(), frames, makes_row=makes_row, keeps_ranges=keeps_ranges)
        self._push(_Point(0, entry, state))
        while self._heap:
            point = heapq.heappop(self._heap)[2]
            if not point.waits:
                continue
            point.waits = False
            if not self._heap:
                self._points.clear()  # nothing else is under way that could come there
                self._alike.clear()
                self._apart.clear()
            self._edges[point.number] = []
            walk(self, self._code, point.number, point.at, point.state.copy())
        return Graph(self._edges, tuple(len(each.values) for each in self.memory.inputs))

    # What points are there

    def _push(self, point: _Point) -> None:
        point.waits = True
        self._n_pushed += 1
        heapq.heappush(self._heap, (_order(point.state, point.at), self._n_pushed, point))

    def edge(self, start: int, to: int, cost: int, needs: tuple[tuple[int, int], ...] = ()) -> None:
        """Add a way."""
        self._n_steps += cost
        if self._n_steps > self.most_steps or self._n_points > _MOST_POINTS:
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
        if point is None and state.makes_row:
            point = self._similar(key, at, state)
        if point is None:
            self._n_points += 1
            point = self._points[key] = _Point(self._n_points, at, state)
            self._push(point)
        elif self._joins.join(point.number, point.state, state) and not point.waits:
            self._push(point)
        return point.number

    def _similar(self, key: _Key, at: int, state: State) -> _Point | None:
        """Return the point to join where too many ways would be kept apart that are equally far in loops."""
        spot = state.frames[-1].function.spots[at]
        depth = len(state.frames) - 1
        far = (key[0], at, *(state.rounds.get((depth, header), 0) for _, header in spot.loops))
        ends = self._apart.setdefault(far, set())
        if len(ends) < _MOST_ENDS:
            ends.add(key[3])
        own = self._alike.setdefault((far, key[3] if key[3] in ends else None), [])
        if len(own) < _MOST_ALIKE:
            own.append(key)
            return None
        nearest = max(own, key=lambda other: sum(a == b for a, b in zip(other[2], key[2], strict=True)))
        point = self._points[key] = self._points[nearest]
        return point

    def _key(self, at: int, state: State) -> _Key:
        frame = state.frames[-1]
        ends: tuple[int | None, ...] = ()
        if state.has_ranges:
            values = self._values(frame.function.ends(at), frame.function, at, state)
            ends = tuple(value if isinstance(value, int) else None for value in values)
        return (frame.context, at, self.places(frame.function, at, state), ends)

    def places(self, function: Function, at: int, state: State) -> tuple[object, ...]:
        """Return the values that decide where a loop goes."""
        return tuple(_told(v, state.known) for v in self._values(function.relevant(at), function, at, state))

    def _values(
        self, places: frozenset[Place], function: Function, at: int, state: State
    ) -> list[Value | Flags]:
        """Return what is at some places."""
        found: list[Value | Flags] = []
        for place in sorted(places, key=str):
            if isinstance(place, int):
                value = state.registers[place]
                if place == LINK and not isinstance(value, int):
                    value = UNKNOWN  # it seldom counts rounds, and bits in it would part too many ways
            else:
                sp = state.registers[SP]
                assert isinstance(sp, int)
                value = state.memory.get(sp + function.depth(at) + place[1], UNKNOWN)
            found.append(value)
        return found

    def all_values(self, f: int) -> int:
        """Return all values of an input as bits."""
        return self._joins.all_values(f)

    def function(self, entry: int) -> Function:
        """Return the function that begins at an address."""
        return self._code.function(entry)

    def context(self, *key: object) -> int:
        """Return the number of a place that a function was called from."""
        return self._contexts.setdefault(key, len(self._contexts) + 1)


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
