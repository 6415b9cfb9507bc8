"""What is known of a word while code is followed for all inputs at once.

A value is a number, or one of these:

- `Of`: a number for each value that one input can have.
- `Masked`: an unknown word of which only some bits can be set. Each bit may need inputs to have some values.
- `Four`: four bytes, each with a value of its own.
- `Range`: a word between two numbers.
- `UNKNOWN`: any word.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ethereal_bounds.arithmetic import FUNCTIONS, MASK, signed
from ethereal_bounds.ranges import Bounds, Range, computed, holds, linear, within


class Unknown:
    """Any word."""

    def __repr__(self) -> str:
        """Return a name for messages."""
        return "UNKNOWN"


UNKNOWN: Final = Unknown()


@dataclass(frozen=True)
class Of:
    """A number for each value of an input."""

    input: int
    numbers: tuple[int, ...]

    @property
    def possible(self) -> int:
        """Bits that can be set."""
        found = 0
        for number in self.numbers:
            found |= number
        return found


@dataclass(frozen=True, eq=False)
class Origin:
    """An unknown word. A bit of it is only set if each of `parts` allows it."""

    parts: tuple[Of, ...]


@dataclass(frozen=True)
class Masked:
    """The bits `bits` of an unknown word, shifted to the left, or to the right where `shift` is negative."""

    origin: Origin
    bits: int
    shift: int = 0

    @property
    def possible(self) -> int:
        """Bits that can be set."""
        return self.bits << self.shift if self.shift >= 0 else self.bits >> -self.shift


@dataclass(frozen=True)
class Four:
    """Four bytes, the lowest first."""

    bytes: tuple[int | Of | Unknown, ...]


Value = int | Of | Masked | Four | Range | Unknown


@dataclass(frozen=True)
class Flags:
    """What set the condition flags. `name` is "sub", "add", "adc", "sbc" or "logic"."""

    name: str
    values: tuple[Value, ...]  # operands, or the result and the carry


def of(input: int, numbers: tuple[int, ...]) -> int | Of:
    """Return a number for each value of an input, which is one number if all are equal."""
    return numbers[0] if len(set(numbers)) == 1 else Of(input, numbers)


def apply(function: Callable[..., int], *values: Value) -> Value:
    """Return a function of values. It is known if they are numbers or depend on one input."""
    input: int | None = None
    size = 0
    for value in values:
        if isinstance(value, Of):
            if input is not None and input != value.input:
                return UNKNOWN
            input, size = value.input, len(value.numbers)
        elif not isinstance(value, int):
            return UNKNOWN
    if input is None:
        return function(*values)
    columns = [v.numbers if isinstance(v, Of) else (v,) * size for v in values]
    return of(input, tuple(function(*each) for each in zip(*columns, strict=True)))  # type: ignore[arg-type]


_BY_REGISTER = {"sll": "lsl", "srl": "lsr", "sra": "asr"}  # as RISC-V cores shift


def compute(name: str, *values: Value) -> Value:
    """Return the result of an instruction."""
    if name == "mov":
        return values[0]
    if name in _BY_REGISTER and isinstance(values[1], int):
        return compute(_BY_REGISTER[name], values[0], values[1] & 31)
    found = apply(FUNCTIONS[name], *values)
    if any(isinstance(value, Range) for value in values):
        form, between = linear(name, values), computed(name, [bounds_of(value) for value in values])
        if form is not None:
            between = within(form, between)
        return UNKNOWN if between is None else between
    if found is not UNKNOWN or len(values) > 2:
        return found
    if name == "and" or (name == "bic" and isinstance(values[1], int)):
        first, second = values[0], values[1]
        if name == "bic" and isinstance(second, int):
            second = ~second & MASK
        return _both(first, second)
    if name in ("lsl", "lsr") and isinstance(values[0], Masked) and isinstance(values[1], int):
        return _shifted(values[0], values[1] if name == "lsl" else -values[1])
    if name in ("uxtb", "uxth"):
        return compute("and", values[0], 0xFF if name == "uxtb" else 0xFFFF) if len(values) == 1 else UNKNOWN
    return _by_bytes(name, *values) if len(values) == 2 else UNKNOWN


def bounds_of(value: Value) -> Bounds:
    """Return the least and the most that a value can be."""
    match value:
        case int():
            return value, value
        case Range():
            return value.low, value.high
        case Of():
            return min(value.numbers), max(value.numbers)
    return 0, MASK


def _both(a: Value, b: Value) -> Value:
    if isinstance(a, int) or (isinstance(a, Of) and isinstance(b, Masked)):
        a, b = b, a
    if isinstance(a, Masked) and a.shift == 0:
        if isinstance(b, int):
            return Masked(a.origin, a.bits & b) if a.bits & b else 0
        if isinstance(b, Of):
            bits = a.bits & b.possible
            return Masked(Origin((*a.origin.parts, b)), bits) if bits else 0
    if isinstance(a, Masked) and isinstance(b, int):
        own = b >> a.shift if a.shift >= 0 else b << -a.shift
        return Masked(a.origin, a.bits & own, a.shift) if a.bits & own else 0
    if isinstance(a, Of) and isinstance(b, Of):
        bits = a.possible & b.possible
        return Masked(Origin((a, b)), bits) if bits else 0
    return _by_bytes("and", a, b)


def _shifted(value: Masked, by: int) -> Value:
    shift = value.shift + by
    kept = MASK >> shift if shift >= 0 else MASK << -shift & MASK  # bits that are not lost
    if by > 31 or by < -31 or not value.bits & kept:
        return 0
    return Masked(value.origin, value.bits & kept, shift)


def bytes_of(value: Value) -> tuple[int | Of | Unknown, ...]:
    """Return the bytes of a word, the lowest first."""
    if isinstance(value, Four):
        return value.bytes
    if isinstance(value, int):
        return tuple(value.to_bytes(4, "little"))
    if isinstance(value, Of):
        columns = zip(*(number.to_bytes(4, "little") for number in value.numbers), strict=True)
        return tuple(of(value.input, column) for column in columns)
    return (UNKNOWN,) * 4


def from_bytes(parts: tuple[int | Of | Unknown, ...]) -> Value:
    """Return the word, half or byte of these bytes."""
    if len(parts) == 1:
        return parts[0]
    if UNKNOWN in parts:
        return Four(parts) if len(parts) == 4 and not all(p is UNKNOWN for p in parts) else UNKNOWN
    found = apply(lambda *numbers: int.from_bytes(numbers, "little"), *parts)
    return Four(parts) if found is UNKNOWN and len(parts) == 4 else found


def _by_bytes(name: str, a: Value, b: Value) -> Value:
    """Return the result of an operation without a carry from byte to byte, else `UNKNOWN`."""
    if name not in ("and", "orr", "eor", "add", "sub", "rsb") or UNKNOWN in (a, b):
        return UNKNOWN
    if name == "rsb":
        name, a, b = "sub", b, a
    parts = []
    for x, y in zip(bytes_of(a), bytes_of(b), strict=True):
        most, least = _range(x), _range(y)
        if (name == "add" and most[1] + least[1] > 0xFF) or (name == "sub" and most[0] < least[1]):
            return UNKNOWN
        part = apply(FUNCTIONS[name], x, y)
        if not isinstance(part, (int, Of)):
            part = UNKNOWN
        parts.append(part)
    return from_bytes(tuple(parts))


def _range(part: int | Of | Unknown) -> tuple[int, int]:
    if isinstance(part, int):
        return part, part
    return (min(part.numbers), max(part.numbers)) if isinstance(part, Of) else (0, 0xFF)


def _compared(condition: int, x: int, y: int) -> bool:
    """Return whether a condition holds after the subtraction x - y."""
    a, b = signed(x), signed(y)
    difference = x - y & MASK
    overflows = a - b != signed(difference)
    return _hold(condition, difference, x >= y, overflows)


def _hold(condition: int, result: int, carry: int | bool, overflow: int | bool) -> bool:
    zero, negative = result == 0, bool(result >> 31)
    match condition >> 1:
        case 0:
            found = zero
        case 1:
            found = bool(carry)
        case 2:
            found = negative
        case 3:
            found = bool(overflow)
        case 4:
            found = bool(carry) and not zero
        case 5:
            found = negative == bool(overflow)
        case _:
            found = negative == bool(overflow) and not zero
    return found != bool(condition & 1)


def condition_of(condition: int, flags: Flags | Value) -> Value:
    """Return whether a condition holds: 0, 1, one of both for each value of an input, or `UNKNOWN`."""
    if not isinstance(flags, Flags):
        return UNKNOWN
    if any(isinstance(value, Range) for value in flags.values):
        asked = subtracted(condition, flags)
        held = None if asked is None else holds(condition, *map(bounds_of, asked))
        return UNKNOWN if held is None else held
    match flags.name:
        case "sub":
            return apply(lambda x, y: int(_compared(condition, x, y)), *flags.values)
        case "add":
            return apply(
                lambda x, y: int(
                    _hold(condition, x + y & MASK, x + y >> 32, signed(x) + signed(y) != signed(x + y & MASK))
                ),
                *flags.values,
            )
        case "adc":
            return apply(lambda x, y, c: int(_after_sum(condition, x, y, c)), *flags.values)
        case "sbc":
            return apply(lambda x, y, c: int(_after_sum(condition, x, ~y & MASK, c)), *flags.values)
    result, carry = flags.values
    if condition >> 1 in (0, 2):  # no carry is asked for
        return apply(lambda x: int(_hold(condition, x, 0, 0)), result)
    if condition >> 1 in (1, 4):
        return apply(lambda x, c: int(_hold(condition, x, c, 0)), result, carry)
    return UNKNOWN


def subtracted(condition: int, flags: Flags) -> tuple[Value, Value] | None:
    """Return the two numbers that a condition compares, None if it is not as simple as that."""
    if flags.name == "sub":
        return flags.values[0], flags.values[1]
    if flags.name == "logic" and condition >> 1 in (0, 2):
        return flags.values[0], 0
    return (compute("add", *flags.values), 0) if flags.name == "add" and condition >> 1 == 0 else None


def _after_sum(condition: int, x: int, y: int, carry: int) -> bool:
    whole = x + y + carry
    overflows = signed(x) + signed(y) + carry != signed(whole & MASK)
    return _hold(condition, whole & MASK, whole >> 32, overflows)
