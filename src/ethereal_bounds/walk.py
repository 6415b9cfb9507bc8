"""Follow a compiled function for all values of its inputs at once, and find the ways through it.

Numbers and tables that do not depend on inputs are computed, so that a loop over a table ends where the table
does. Where a branch depends on an input both ways are followed, and what they have in common is kept where
they meet again. The result is a graph without cycles: every execution is a way through it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce

from ethereal_bounds.flow import Function, Place
from ethereal_bounds.instruction import ALWAYS, FLAGS, LINK, SP, ZERO, Instruction, Operand, Unbounded
from ethereal_bounds.state import STACK, STOP, Edge, Frame, Graph, Joins, Known, Memory, State
from ethereal_bounds.values import (
    MASK,
    UNKNOWN,
    Flags,
    Form,
    Masked,
    Of,
    Range,
    Unknown,
    Value,
    apply,
    bounded,
    bounds_of,
    compute,
    condition_of,
    hull,
    linear,
    masked,
    narrowed,
    number_of,
    of,
    subtracted,
    swapped,
)

MOST_STEPS, _MOST_POINTS = 3_000_000, 150_000  # that are followed, some 20,000 of the steps in a second
# Ways that are kept apart while inputs are made: those with other numbers that end loops, and those alike.
_MOST_ENDS, _MOST_ALIKE = 128, 4

# Where a function was called from, an address, what decides where a loop goes, and numbers that end loops.
_Key = tuple[int, int, tuple[object, ...], tuple[int | None, ...]]
_PC = 15
_END = -1  # the number of the point where the function has returned
_TESTS = {"eq": 0, "ne": 1, "lt": 11, "ge": 10, "ltu": 3, "geu": 2, "negative": 4, "positive": 5}
_LOGIC = ("lsl", "lsr", "asr")
_MOST_PLACES = 1 << 14  # bytes from the first to the last that a store to a range of addresses may change
_MOST_NUMBERS = 256  # of a range that are followed one by one


@dataclass
class _Point:
    number: int
    at: int
    state: State
    waits: bool = True


class Paths:
    """All ways through a function, with what is known of memory before the call."""

    def __init__(self, memory: Memory, most_steps: int = MOST_STEPS) -> None:
        self.code = memory.code
        self.most_steps = most_steps
        self.memory = memory
        self._joins = Joins(memory)
        self.all_values = self._joins.all_values
        self.contexts: dict[tuple[object, ...], int] = {}  # numbers of places that functions are called from
        self._edges: dict[int, list[Edge]] = {}
        self._points: dict[_Key, _Point] = {}
        self._alike: dict[tuple[object, ...], list[_Key]] = {}
        self._apart: dict[tuple[object, ...], set[tuple[int | None, ...]]] = {}
        self.heap: list[tuple[tuple[int, ...], int, _Point]] = []  # of other ways that are under way
        self._n_points = 0
        self._n_steps = 0
        self._n_pushed = 0

    def follow(
        self, name: str, *arguments: int, makes_row: bool = False, keeps_ranges: bool = False
    ) -> Graph:
        """Follow a function with these arguments. It may make the row itself, before it reads it.

        With `keeps_ranges`, numbers that differ where ways meet become ranges all along.
        """
        entry = self.code.elf.symbols[name].address
        registers: list[Value | Flags] = [UNKNOWN] * 33
        registers[: len(arguments)] = list(arguments)
        registers[SP], registers[LINK], registers[ZERO] = STACK, STOP, 0
        frames = (Frame(0, self.code.function(entry), STOP),)
        memory = dict(self.memory.at_first)
        state = State(registers, memory, {}, Known(), frames, makes_row=makes_row, keeps_ranges=keeps_ranges)
        self._push(_Point(0, entry, state))
        while self.heap:
            point = heapq.heappop(self.heap)[2]
            if not point.waits:
                continue
            point.waits = False
            if not self.heap:
                self._points.clear()  # nothing else is under way that could come there
                self._alike.clear()
                self._apart.clear()
            self._edges[point.number] = []
            walk(self, point.number, point.at, point.state.copy())
        return Graph(self._edges, tuple(len(each.values) for each in self.memory.inputs))

    # What points are there

    def _push(self, point: _Point) -> None:
        point.waits = True
        self._n_pushed += 1
        heapq.heappush(self.heap, (_order(point.state, point.at), self._n_pushed, point))

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
        keys = self._alike.setdefault((far, key[3] if key[3] in ends else None), [])
        if len(keys) < _MOST_ALIKE:
            keys.append(key)
            return None
        nearest = max(keys, key=lambda other: sum(a == b for a, b in zip(other[2], key[2], strict=True)))
        point = self._points[key] = self._points[nearest]
        return point

    def _key(self, at: int, state: State) -> _Key:
        frame = state.frames[-1]
        ends: tuple[int | None, ...] = ()
        if state.has_ranges:
            values = self._values(frame.function.ends[at], frame.function, at, state)
            ends = tuple(value if isinstance(value, int) else None for value in values)
        return (frame.context, at, self.places(frame.function, at, state), ends)

    def places(self, function: Function, at: int, state: State) -> tuple[object, ...]:
        """Return the values that decide where a loop goes."""
        return tuple(_told(v, state.known) for v in self._values(function.relevant(at), function, at, state))

    def _values(
        self, places: frozenset[Place], function: Function, at: int, state: State
    ) -> list[Value | Flags]:
        """Return what is at some places."""
        values: list[Value | Flags] = []
        for place in sorted(places, key=str):
            if isinstance(place, int):
                value = state.registers[place]
                if place == LINK and not isinstance(value, int) and not function.takes_bits_of_link:
                    value = UNKNOWN  # it seldom counts rounds, and bits in it would part too many ways
            else:
                sp = state.registers[SP]
                assert isinstance(sp, int)
                value = state.memory.get(sp + function.depth(at) + place[1], UNKNOWN)
            values.append(value)
        return values


def _narrow(state: State) -> None:
    """Write unknown words in registers with no more bits than can be set, so that equal ones look equal."""

    def narrowed(value: Value) -> Value:
        if not isinstance(value, Masked) or (left := state.known.left(value)) == value.bits:
            return value
        return masked(value.origin, left, value.shift)

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
    order: list[int] = []
    for depth, frame in enumerate(state.frames):
        place = at if depth == len(state.frames) - 1 else state.frames[depth + 1].back
        spot = frame.function.spots.get(place)
        if spot is None:  # within a block, right behind a fork
            order.append(-1)
            continue
        for number, header in spot.loops:
            order += [number, state.rounds.get((depth, header), 0)]
        order.append(spot.place)
    return tuple(order)


def walk(paths: Paths, number: int, at: int, state: State) -> None:
    """Follow one way from a point until it joins others, forks or ends, and add it to the graph."""
    cost = 0
    first = True
    while True:
        frame = state.frames[-1]
        if at in frame.function.blocks and not first and paths.heap:
            paths.edge(number, paths.arrive(at, state), cost)
            return
        first = False
        step = paths.code.instruction(at)
        cost += 1
        if cost > paths.most_steps:
            raise Unbounded("it takes too many instructions to follow")
        ways = _ways(paths, state, at, step)
        if len(ways) == 1 and not ways[0][2]:
            state, at, _ = ways[0]
            if at == STOP and not state.frames:
                paths.edge(number, _END, cost)
                return
            continue
        for side, there, needs in ways:
            took = cost - (there == at)  # an instruction that is asked again counts once
            if there == STOP and not side.frames:
                paths.edge(number, _END, took, needs)
            elif there in side.frames[-1].function.blocks:
                paths.edge(number, paths.arrive(there, side), took, needs)
            else:
                paths.edge(number, paths.fresh(there, side), took, needs)
        return


def _ways(paths: Paths, state: State, at: int, step: Instruction) -> list[Way]:
    """Execute an instruction. Return where that leads: state, address and needs of each way."""
    after = at + step.size
    if step.kind == "alu" and step.condition != ALWAYS and step.to is not None and not step.sets_flags:
        chosen = condition_of(step.condition, state.registers[FLAGS])
        if not isinstance(chosen, int):  # no fork for what two ways would do alike
            _alu_if(state, step, chosen)
            return [(state, after, ())]
    if step.condition != ALWAYS and step.kind != "branch":
        ways_on: list[Way] = []
        for side, outcome, needs in decided(state, step.condition, state.registers[FLAGS], paths.all_values):
            if outcome:
                ways = _executed(paths, side, at, step)
                ways_on += [(s, a, (*needs, *n)) for s, a, n in ways]
            else:
                ways_on.append((side, after, needs))
        return ways_on
    return _executed(paths, state, at, step)


def _executed(paths: Paths, state: State, at: int, step: Instruction) -> list[Way]:
    after = at + step.size
    match step.kind:
        case "alu":
            if step.name == "clz" and isinstance(value := _value(state, step.operands[0]), Masked):
                return leading(state, step, at, value)
            if step.name == "sltu" and (ways := _is_zero(paths, state, after, step)):
                return ways
            if state.keeps_ranges and (ways := _by_numbers(state, after, step)):
                return ways
            _alu(state, step)
        case "load":
            address = _address(state, step)
            state.registers[step.to or 0] = _loaded(paths, state, address, step.width, step.signed)
        case "store":
            address = _address(state, step)
            _store(paths, state, address, step.width, _plain(state.registers[step.to or 0]))
        case "loads":
            return _load_several(paths, state, after, step)
        case "stores":
            where = _several(state, step)
            for i, r in enumerate(step.registers):
                _store(paths, state, compute("add", where, 4 * i), 4, _plain(state.registers[r]))
        case "jump" | "call" if step.operands and _address(state, step) != step.target:
            raise Unbounded("it jumps to an address that is not known")
        case "jump":
            if step.name == "far":
                state.registers[LINK] = after | 1
            return [_gone(paths, state, at, step.target, ())]
        case "branch" | "compare":
            condition, flags = step.condition, state.registers[FLAGS]
            if step.kind == "compare":
                values = tuple(_value(state, operand) for operand in step.operands)
                condition, flags = _TESTS[step.name], Flags("sub", values)
            return [
                _gone(paths, side, at, step.target if outcome else after, needs)
                for side, outcome, needs in decided(state, condition, flags, paths.all_values)
            ]
        case "call":
            return _call(paths, state, after, step)
        case "to register":
            where = _value(state, step.operands[0])
            if step.name == "add":
                where = compute("add", where, _value(state, step.operands[1]))
            if step.name == "load":
                where = _loaded(paths, state, _address(state, step), 4, False)
            return _to(paths, state, at, where)
        case "table":
            base, index = (_value(state, operand) for operand in step.operands)
            entry = compute("add", base, apply(lambda x: x * step.width & MASK, index))
            offset = _loaded(paths, state, entry, step.width, False)
            return _to(paths, state, at, apply(lambda x: at + 4 + 2 * x, offset))
    return [(state, after, ())]


def _is_zero(paths: Paths, state: State, after: int, step: Instruction) -> list[Way]:
    """Return the ways of a comparison that asks whether an unknown word is below 1, or above 0."""
    first, second = (_value(state, operand) for operand in step.operands)
    if isinstance(first, Masked) and second == 1:
        value, is_below = first, 1
    elif first == 0 and isinstance(second, Masked):
        value, is_below = second, 0
    else:
        return []
    ways = decided(state, _TESTS["eq"], Flags("sub", (value, 0)), paths.all_values)
    for side, outcome, _ in ways:
        side.registers[step.to or 0] = int(outcome == is_below)
    return [(side, after, needs) for side, _, needs in ways]


def _by_numbers(state: State, after: int, step: Instruction) -> list[Way]:
    """Return a way for each number of a range, of which a sum or product would have no range.

    So it is with what counts from below 0 to 0.
    """
    if step.to is None or step.and_to is not None or step.name in ("adc", "sbc", "movt", "insert"):
        return []
    values = [_value(state, operand) for operand in step.operands]
    if not any(isinstance(value, Range) for value in values) or compute(step.name, *values) is not UNKNOWN:
        return []
    form = linear(step.name, values)
    states = [] if form is None else each_of(state, form)
    for side in states:
        _alu(side, step)
    return [(side, after, ()) for side in states]


def _plain(value: Value | Flags) -> Value:
    return UNKNOWN if isinstance(value, Flags) else value


def _value(state: State, operand: Operand) -> Value:
    if operand.register is None:
        return operand.constant
    value = _plain(state.registers[operand.register])
    if state.keeps_ranges and isinstance(value, Of) and value.input in state.allowed:
        value = _only(value, state.allowed[value.input])
    if not operand.shift:
        return value
    if operand.shift == "rrx":
        return UNKNOWN
    return compute(operand.shift, value, operand.amount)


def _only(value: Of, allowed: int) -> int | Of:
    """Return the number itself where the values that are left of an input give one."""
    left = {number for r, number in enumerate(value.numbers) if allowed >> r & 1}
    return left.pop() if len(left) == 1 else value


# Arithmetic


def _alu(state: State, step: Instruction) -> None:
    registers = state.registers
    values = [_value(state, operand) for operand in step.operands]
    name = step.name
    if name in ("movt", "insert"):
        values.append(_plain(registers[step.to or 0]))
    if name in ("adc", "sbc"):
        values.append(condition_of(2, registers[FLAGS]))
    result = compute(name, *values)
    if isinstance(result, Masked):
        result = masked(result.origin, state.known.left(result), result.shift)
    if step.and_to is not None:
        registers[step.and_to] = compute(f"{name} up", *values)
    if step.sets_flags:
        registers[FLAGS] = _flags(name, values, result)
    if step.to is not None:
        registers[step.to] = result


def _flags(name: str, values: list[Value], result: Value) -> Flags:
    if name in ("add", "sub", "adc", "sbc"):
        return Flags(name, tuple(values))
    if name == "rsb":
        return Flags("sub", (values[1], values[0]))
    carry: Value = UNKNOWN
    if name in _LOGIC and isinstance(n := values[1], int) and 0 < n <= 32:
        carry = apply(lambda x: x >> (32 - n if name == "lsl" else n - 1) & 1, values[0])
    return Flags("logic", (result, carry))


def _alu_if(state: State, step: Instruction, chosen: Value) -> None:
    """Execute on a condition that is not known: the result is one of two."""
    assert step.to is not None
    before = state.registers[step.to]
    _alu(state, step)
    result = state.registers[step.to]
    if result == before:
        return
    old, new = _plain(before), _plain(result)
    either = apply(lambda c, x, y: x if c else y, chosen, new, old)
    state.registers[step.to] = _either([old, new]) if either is UNKNOWN and state.has_ranges else either


def _either(values: Iterable[Value]) -> Value:
    """Return what is known of a number that is one of these."""
    range_ = bounded(*reduce(hull, map(bounds_of, values)))
    return UNKNOWN if range_ is None else range_


# Memory


def _address(state: State, step: Instruction) -> Value:
    values = [_value(state, operand) for operand in step.operands]
    whole = values[0] if len(values) == 1 else compute("add", *values)
    if step.back:
        state.registers[step.operands[0].register or 0] = whole
    return values[0] if step.back == "after" else whole


def _several(state: State, step: Instruction) -> Value:
    """Return where several registers are loaded or stored from, and move the first operand."""
    if step.name == "pair":
        return _address(state, step)
    base = _value(state, step.operands[0])
    size = 4 * len(step.registers)
    moved = compute("sub" if step.name == "down" else "add", base, size)
    if step.back:
        state.registers[step.operands[0].register or 0] = moved
    return moved if step.name == "down" else base


def _load_several(paths: Paths, state: State, after: int, step: Instruction) -> list[Way]:
    where, jump = _several(state, step), None
    for i, r in enumerate(step.registers):
        value = _loaded(paths, state, compute("add", where, 4 * i), 4, False)
        if r == _PC:
            jump = value
        else:
            state.registers[r] = value
    return [(state, after, ())] if jump is None else _to(paths, state, after, jump)


def _loaded(paths: Paths, state: State, address: Value, width: int, signed: bool) -> Value:
    if isinstance(address, int):
        return paths.memory.read(state, address, width, signed)
    if not isinstance(address, Of):
        places = _places(address) if state.keeps_ranges and width == 4 else range(0)
        return _either(paths.memory.read(state, at, 4, False) for at in places) if places else UNKNOWN
    allowed = state.allowed.get(address.input, -1)
    values: list[Value] = []
    for r, at in enumerate(address.numbers):
        value: Value = paths.memory.read(state, at, width, signed) if allowed >> r & 1 else 0
        if isinstance(value, Of) and value.input == address.input:
            value = value.numbers[r]
        values.append(value)
    numbers = tuple(value for value in values if isinstance(value, int))
    if len(numbers) == len(values):
        return of(address.input, numbers)
    return _either(values) if state.keeps_ranges else UNKNOWN


def _store(paths: Paths, state: State, address: Value, width: int, value: Value) -> None:
    if isinstance(address, int):
        paths.memory.write(state, address, width, value)
        return
    if not isinstance(address, Of):
        if not state.keeps_ranges or not (places := _places(address)):
            raise Unbounded("it stores to an address that depends on several inputs")
        paths.memory.forget(state, places[0], places[-1] + width - 1)
        return
    allowed = state.allowed.get(address.input, -1)
    asked = {at for r, at in enumerate(address.numbers) if allowed >> r & 1}
    for at in asked:
        is_there = Of(address.input, tuple(int(number == at) for number in address.numbers))
        old = paths.memory.read(state, at, width, False)
        chosen = apply(lambda c, x, y: x if c else y, is_there, value, old) if len(asked) > 1 else value
        if chosen is UNKNOWN and state.keeps_ranges:
            chosen = _either([value, old])
        paths.memory.write(state, at, width, chosen)


def _places(address: Value) -> range:
    """Return the addresses of a range, none if there are too many.

    It is every fourth if both ends are those of words. Compilers put the words of an array nowhere else.
    """
    low, high = bounds_of(address)
    is_small = isinstance(address, Range) and high - low <= _MOST_PLACES
    return range(low, high + 1, 4 if low & 3 == high & 3 == 0 else 1) if is_small else range(0)


# Jumps


def _gone(paths: Paths, state: State, at: int, target: int, needs: tuple[tuple[int, int], ...]) -> Way:
    """Return the way to a target. A loop that begins again has one more round."""
    if paths.heap or needs:
        depth, function = len(state.frames) - 1, state.frames[-1].function
        there, here = function.spots.get(target), function.block_of.get(at)
        if there is not None and there.place == -1:
            header = there.loops[-1][1]
            inside = here is not None and (header in (h for _, h in function.spots[here].loops))
            state.rounds[depth, header] = state.rounds.get((depth, header), 0) + 1 if inside else 0
    return state, target, needs


def _call(paths: Paths, state: State, after: int, step: Instruction) -> list[Way]:
    frame = state.frames[-1]
    function = paths.code.function(step.target)
    key = frame.context, after, paths.places(frame.function, after, state)
    context = paths.contexts.setdefault(key, len(paths.contexts) + 1)
    state.frames = (*state.frames, Frame(context, function, after))
    state.registers[LINK if step.to is None else step.to] = after | 1
    return [(state, step.target, ())]


def _to(paths: Paths, state: State, at: int, where: Value) -> list[Way]:
    """Go to an address in a register: back to the caller, or along a table of jumps."""
    if isinstance(where, int):
        return [_landed(paths, state, at, where & ~1, ())]
    if not isinstance(where, Of):
        raise Unbounded("it jumps to an address that depends on several inputs")
    allowed = state.allowed.get(where.input, paths.all_values(where.input))
    ways = []
    for target in sorted(set(where.numbers)):
        holds = sum(1 << r for r, number in enumerate(where.numbers) if number == target) & allowed
        if holds:
            side = state.copy()
            side.allowed[where.input] = holds
            ways.append(_landed(paths, side, at, target & ~1, ((where.input, holds),)))
    return ways


def _landed(paths: Paths, state: State, at: int, target: int, needs: tuple[tuple[int, int], ...]) -> Way:
    if target == state.frames[-1].back & ~1:
        state.frames = state.frames[:-1]
        return state, target, needs
    return _gone(paths, state, at, target, needs)


Way = tuple[State, int, tuple[tuple[int, int], ...]]  # state, outcome, what inputs it needs


def decided(
    state: State, condition: int, flags: Value | Flags, all_values: Callable[[int], int]
) -> list[Way]:
    """Return whether a condition holds, or both where inputs decide it."""
    held = condition_of(condition, flags)
    if isinstance(held, int):
        return [(state, held, ())]
    if isinstance(held, Of):
        f, allowed = held.input, state.allowed.get(held.input, all_values(held.input))
        holds = sum(1 << r for r, number in enumerate(held.numbers) if number) & allowed
        if holds in (0, allowed):
            return [(state, int(holds != 0), ())]
        other = state.copy()
        state.allowed[f], other.allowed[f] = holds, allowed & ~holds
        return [(state, 1, ((f, holds),)), (other, 0, ((f, allowed & ~holds),))]
    if isinstance(flags, Flags):
        value = flags.values[0]
        is_test = flags.name == "logic" or (flags.name == "sub" and flags.values[1] == 0)
        if is_test and isinstance(value, Masked) and condition >> 1 in (0, 2):
            return _tested(state, value, condition)
    other = state.copy()
    if isinstance(flags, Flags) and (asked := subtracted(condition, flags)) is not None:
        _narrow_ranges(state, condition, *asked)
        _narrow_ranges(other, condition ^ 1, *asked)
    return [(state, 1, ()), (other, 0, ())]


def _narrow_ranges(state: State, condition: int, x: Value, y: Value) -> None:
    """Note that a condition holds after the subtraction x - y."""
    for asked, how, other in ((x, condition, y), (y, swapped(condition), x)):
        if not isinstance(asked, Range):
            continue
        least, most = narrowed(how, bounds_of(asked), bounds_of(other))
        if (least, most) == (asked.low, asked.high):
            continue
        less = least if least == most else Range(least, most, asked.name, asked.form)
        for i, value in enumerate(state.registers):
            if isinstance(value, Range) and value.name == asked.name:
                state.registers[i] = less
        for at, word in state.memory.items():
            if isinstance(word, Range) and word.name == asked.name:
                state.memory[at] = less


def _tested(state: State, value: Masked, condition: int) -> list[Way]:
    """Return whether an unknown word is zero or negative."""
    known, left, no = state.known, state.known.left(value), condition & 1
    bit = 31 - value.shift
    if condition >> 1 == 2:
        is_there = 0 <= bit < 32 and left >> bit & 1
        if not is_there:
            return [(state, no, ())]
        if known.ones.get(value.origin, 0) >> bit & 1:
            return [(state, 1 - no, ())]
        is_sure = known.has_one(value.origin, 1 << bit)
        other = state.copy()
        state.known = known.with_bit(value, 1 << bit)
        if is_sure:
            return [(state, 1 - no, _needs(value, 1 << bit))]
        _clear(other, value, 1 << bit)
        return [(state, 1 - no, _needs(value, 1 << bit)), (other, no, ())]
    if left == 0:
        return [(state, 1 - no, ())]
    if known.is_not_zero(value):
        return [(state, no, ())]
    other = state.copy()
    other.known = known.with_some(value)
    _clear(state, value, left)
    return [(state, 1 - no, ()), (other, no, _needs(value, left))]


def leading(state: State, step: Instruction, at: int, value: Masked) -> list[Way]:
    """Return the ways that leading zeros of an unknown word can have: its highest bit is set, or it is not.

    The second way executes the instruction again, with one bit less to ask for.
    """
    known, left = state.known, state.known.left(value)
    if left == 0:
        state.registers[step.to or 0] = 32
        return [(state, at + step.size, ())]
    bit = left.bit_length() - 1
    is_sure = known.has_one(value.origin, 1 << bit)
    other = state.copy()
    state.known = known.with_bit(value, 1 << bit)
    state.registers[step.to or 0] = 31 - (bit + value.shift)
    ways = [(state, at + step.size, _needs(value, 1 << bit))]
    if not is_sure:
        _clear(other, value, 1 << bit)
        ways.append((other, at, ()))
    return ways


def each_of(state: State, form: Form) -> list[State]:
    """Return a state for each number of the range that is multiplied, none if there are too many."""
    base = form[2]
    if base is None or base.high - base.low >= _MOST_NUMBERS:
        return []

    def put(side: State, number: int) -> bool:
        """Write what follows from the number. Return whether that is possible."""

        def known(value: Value) -> Value:
            if not isinstance(value, Range):
                return value
            if value.name == base.name:
                return number
            is_of = value.form is not None and value.form[2] is not None and value.form[2].name == base.name
            return number_of(value.form, number) if is_of and value.form is not None else value

        for i, value in enumerate(side.registers):
            if isinstance(value, Flags):
                side.registers[i] = Flags(value.name, tuple(map(known, value.values)))
            elif isinstance(value, Range):
                new = side.registers[i] = known(value)
                if isinstance(new, int) and not value.low <= new <= value.high:
                    return False
        side.memory = {at: known(word) for at, word in side.memory.items()}
        return True

    sides = [(state.copy(), number) for number in range(base.low, base.high + 1)]
    return [side for side, number in sides if put(side, number)]


def _clear(state: State, value: Masked, bits: int) -> None:
    """Note that these bits of an unknown word are not set."""
    state.known = state.known.without(value, bits)

    for i, word in enumerate(state.registers):
        if isinstance(word, Masked) and word.origin is value.origin:
            state.registers[i] = masked(word.origin, word.bits & ~bits, word.shift)
    for at, word in state.memory.items():
        if isinstance(word, Masked) and word.origin is value.origin:
            state.memory[at] = masked(word.origin, word.bits & ~bits, word.shift)


def _needs(value: Masked, bits: int) -> tuple[tuple[int, int], ...]:
    """Return what inputs must be for one of these bits of an unknown word to be set."""
    return tuple(
        (part.input, sum(1 << r for r, number in enumerate(part.numbers) if number & bits))
        for part in value.origin.parts
    )
