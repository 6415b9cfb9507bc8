"""The ways that a question leaves open: both where inputs decide it, with what each way knows and needs."""

from __future__ import annotations

from collections.abc import Callable

from ethereal_bounds.instruction import Instruction
from ethereal_bounds.ranges import Form, Range, narrowed, number_of, swapped
from ethereal_bounds.state import State
from ethereal_bounds.values import Flags, Masked, Of, Value, bounds_of, condition_of, subtracted

_MOST_NUMBERS = 256  # of a range that are followed one by one
Way = tuple[State, int, tuple[tuple[int, int], ...]]  # state, outcome, what inputs it needs


def decided(
    state: State, condition: int, flags: Value | Flags, all_values: Callable[[int], int]
) -> list[Way]:
    """Return whether a condition holds, or both where inputs decide it."""
    found = condition_of(condition, flags)
    if isinstance(found, int):
        return [(state, found, ())]
    if isinstance(found, Of):
        f, allowed = found.input, state.allowed.get(found.input, all_values(found.input))
        holds = sum(1 << r for r, number in enumerate(found.numbers) if number) & allowed
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
        _narrow(state, condition, *asked)
        _narrow(other, condition ^ 1, *asked)
    return [(state, 1, ()), (other, 0, ())]


def _narrow(state: State, condition: int, x: Value, y: Value) -> None:
    """Note that a condition holds after the subtraction x - y."""
    for own, how, other in ((x, condition, y), (y, swapped(condition), x)):
        if not isinstance(own, Range):
            continue
        least, most = narrowed(how, bounds_of(own), bounds_of(other))
        if (least, most) == (own.low, own.high):
            continue
        less = least if least == most else Range(least, most, own.name, own.form)
        for i, value in enumerate(state.registers):
            if isinstance(value, Range) and value.name == own.name:
                state.registers[i] = less
        for at, word in state.memory.items():
            if isinstance(word, Range) and word.name == own.name:
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
    found = [(state, at + step.size, _needs(value, 1 << bit))]
    if not is_sure:
        _clear(other, value, 1 << bit)
        found.append((other, at, ()))
    return found


def each_of(state: State, form: Form) -> list[State]:
    """Return a state for each number of the range that is multiplied, none if there are too many."""
    base = form[2]
    if base is None or base.high - base.low >= _MOST_NUMBERS:
        return []

    def put(own: State, number: int) -> bool:
        """Write what follows from the number. Return whether that is possible."""

        def known(value: Value) -> Value:
            if not isinstance(value, Range):
                return value
            if value.name == base.name:
                return number
            is_of = value.form is not None and value.form[2] is not None and value.form[2].name == base.name
            return number_of(value.form, number) if is_of and value.form is not None else value

        for i, value in enumerate(own.registers):
            if isinstance(value, Flags):
                own.registers[i] = Flags(value.name, tuple(map(known, value.values)))
            elif isinstance(value, Range):
                new = own.registers[i] = known(value)
                if isinstance(new, int) and not value.low <= new <= value.high:
                    return False
        own.memory = {at: known(word) for at, word in own.memory.items()}
        return True

    found = [(state.copy(), number) for number in range(base.low, base.high + 1)]
    return [own for own, number in found if put(own, number)]


def _clear(state: State, value: Masked, bits: int) -> None:
    """Note that these bits of an unknown word are not set."""
    state.known = state.known.without(value, bits)

    def narrowed(own: Masked) -> Value:
        return Masked(own.origin, own.bits & ~bits, own.shift) if own.bits & ~bits else 0

    for i, own in enumerate(state.registers):
        if isinstance(own, Masked) and own.origin is value.origin:
            state.registers[i] = narrowed(own)
    for at, word in state.memory.items():
        if isinstance(word, Masked) and word.origin is value.origin:
            state.memory[at] = narrowed(word)


def _needs(value: Masked, bits: int) -> tuple[tuple[int, int], ...]:
    """Return what inputs must be for one of these bits of an unknown word to be set."""
    return tuple(
        (part.input, sum(1 << r for r, number in enumerate(part.numbers) if number & bits))
        for part in value.origin.parts
    )
