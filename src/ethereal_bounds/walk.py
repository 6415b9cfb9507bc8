"""Execute instructions on what is known of registers and memory, until a way meets others or parts."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING

from ethereal_bounds.arithmetic import MASK
from ethereal_bounds.choices import Way, decided, each_of, leading
from ethereal_bounds.flow import Code
from ethereal_bounds.instruction import ALWAYS, FLAGS, LINK, Instruction, Operand, Unbounded
from ethereal_bounds.ranges import Range, bounded, hull, linear
from ethereal_bounds.state import STOP, Frame, State
from ethereal_bounds.values import (
    UNKNOWN,
    Flags,
    Masked,
    Of,
    Value,
    apply,
    bounds_of,
    compute,
    condition_of,
    of,
)

if TYPE_CHECKING:
    from ethereal_bounds.paths import Paths

_PC = 15
_END = -1  # the number of the point where the function has returned
_TESTS = {"eq": 0, "ne": 1, "lt": 11, "ge": 10, "ltu": 3, "geu": 2, "negative": 4, "positive": 5}
_LOGIC = ("lsl", "lsr", "asr")
_MOST_PLACES = 1 << 14  # bytes from the first to the last that a store to a range of addresses may change


def walk(paths: Paths, code: Code, number: int, at: int, state: State) -> None:
    """Follow one way from a point until it joins others, forks or ends, and add it to the graph."""
    cost = 0
    first = True
    while True:
        frame = state.frames[-1]
        if at in frame.function.blocks and not first and not paths.is_alone:
            paths.edge(number, paths.arrive(at, state), cost)
            return
        first = False
        step = code.instruction(at)
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
        for own, there, needs in ways:
            took = cost - (there == at)  # an instruction that is asked again counts once
            if there == STOP and not own.frames:
                paths.edge(number, _END, took, needs)
            elif there in own.frames[-1].function.blocks:
                paths.edge(number, paths.arrive(there, own), took, needs)
            else:
                paths.edge(number, paths.fresh(there, own), took, needs)
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
        found: list[Way] = []
        for own, outcome, needs in decided(state, step.condition, state.registers[FLAGS], paths.all_values):
            if outcome:
                ways = _executed(paths, own, at, step)
                found += [(s, a, (*needs, *n)) for s, a, n in ways]
            else:
                found.append((own, after, needs))
        return found
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
        case "branch":
            return [
                _gone(paths, own, at, step.target if outcome else after, needs)
                for own, outcome, needs in decided(
                    state, step.condition, state.registers[FLAGS], paths.all_values
                )
            ]
        case "compare":
            values = tuple(_value(state, operand) for operand in step.operands)
            return [
                _gone(paths, own, at, step.target if outcome else after, needs)
                for own, outcome, needs in decided(
                    state, _TESTS[step.name], Flags("sub", values), paths.all_values
                )
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
    for own, outcome, _ in ways:
        own.registers[step.to or 0] = int(outcome == is_below)
    return [(own, after, needs) for own, _, needs in ways]


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
    for own in states:
        _alu(own, step)
    return [(own, after, ()) for own in states]


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
        left = state.known.left(result)
        result = Masked(result.origin, left, result.shift) if left else 0
    if step.and_to is not None:
        upper = compute(f"{name} up", *values)
        registers[step.and_to] = upper
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
    found = apply(lambda c, x, y: x if c else y, chosen, new, old)
    state.registers[step.to] = _either([old, new]) if found is UNKNOWN and state.has_ranges else found


def _either(values: Iterable[Value]) -> Value:
    """Return what is known of a number that is one of these."""
    found = bounded(*reduce(hull, map(bounds_of, values)))
    return UNKNOWN if found is None else found


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
    found: list[Value] = []
    for r, at in enumerate(address.numbers):
        value: Value = paths.memory.read(state, at, width, signed) if allowed >> r & 1 else 0
        if isinstance(value, Of) and value.input == address.input:
            value = value.numbers[r]
        found.append(value)
    numbers = tuple(value for value in found if isinstance(value, int))
    if len(numbers) == len(found):
        return of(address.input, numbers)
    return _either(found) if state.keeps_ranges else UNKNOWN


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
    if not paths.is_alone or needs:
        depth, function = len(state.frames) - 1, state.frames[-1].function
        there, here = function.spots.get(target), function.block_of(at)
        if there is not None and there.place == -1:
            header = there.loops[-1][1]
            inside = here is not None and (header in (h for _, h in function.spots[here].loops))
            state.rounds[depth, header] = state.rounds.get((depth, header), 0) + 1 if inside else 0
    return state, target, needs


def _call(paths: Paths, state: State, after: int, step: Instruction) -> list[Way]:
    frame = state.frames[-1]
    function = paths.function(step.target)
    context = paths.context(frame.context, after, paths.places(frame.function, after, state))
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
    found = []
    for target in sorted(set(where.numbers)):
        holds = sum(1 << r for r, number in enumerate(where.numbers) if number == target) & allowed
        if holds:
            own = state.copy()
            own.allowed[where.input] = holds
            found.append(_landed(paths, own, at, target & ~1, ((where.input, holds),)))
    return found


def _landed(paths: Paths, state: State, at: int, target: int, needs: tuple[tuple[int, int], ...]) -> Way:
    if target == state.frames[-1].back & ~1:
        state.frames = state.frames[:-1]
        return state, target, needs
    return _gone(paths, state, at, target, needs)
