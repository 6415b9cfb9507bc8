"""What is known of a word while code is followed for all inputs at once, and what instructions make of it.

A value is a number, or one of these:

- `Of`: a number for each value that one input can have.
- `Masked`: an unknown word of which only some bits can be set. Each bit may need inputs to have some values.
- `Four`: four bytes, each with a value of its own.
- `Range`: a word between two numbers. That suffices to end a loop over what was counted.
- `UNKNOWN`: any word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Final

from ethereal_bounds.instruction import ALWAYS

MASK = 0xFFFFFFFF
_HALF = 1 << 31
Bounds = tuple[int, int]


def signed(x: int) -> int:
    """Return a word as a number that may be negative."""
    return x - (1 << 32) if x >> 31 else x


def _divide(x: int, y: int) -> int:
    if y == 0:
        return 0
    quotient = abs(signed(x)) // abs(signed(y))
    return (quotient if (signed(x) < 0) == (signed(y) < 0) else -quotient) & MASK


def _insert(x: int, bit: int, width: int, old: int) -> int:
    mask = ((1 << width) - 1) << bit
    return old & ~mask | x << bit & mask


def _extend(bits: int) -> Callable[..., int]:
    def extend(x: int, more: int = 0) -> int:
        x &= (1 << bits) - 1
        return (more + (x - (1 << bits) if x >> (bits - 1) else x)) & MASK

    return extend


def _extend_two(x: int, more: int = 0) -> int:
    low, high = ((x >> n & 0xFF ^ 0x80) - 0x80 + (more >> n) & 0xFFFF for n in (0, 16))
    return high << 16 | low


def _half_product(which: int) -> Callable[..., int]:
    def product(x: int, y: int, more: int = 0) -> int:
        a, b = x >> (16 if which & 2 else 0) & 0xFFFF, y >> (16 if which & 1 else 0) & 0xFFFF
        return ((a ^ 0x8000) - 0x8000) * ((b ^ 0x8000) - 0x8000) + more & MASK

    return product


def _remainder(x: int, y: int) -> int:
    a, b = signed(x), signed(y)
    return (abs(a) % abs(b) * (-1 if a < 0 else 1) if b else a) & MASK


# From numbers below 2^32 to such a number.
FUNCTIONS: dict[str, Callable[..., int]] = {
    "mov": lambda x: x,
    "mvn": lambda x: ~x & MASK,
    "and": lambda x, y: x & y,
    "bic": lambda x, y: x & ~y & MASK,
    "orr": lambda x, y: x | y,
    "orn": lambda x, y: (x | ~y) & MASK,
    "eor": lambda x, y: x ^ y,
    "add": lambda x, y: x + y & MASK,
    "sub": lambda x, y: x - y & MASK,
    "rsb": lambda x, y: y - x & MASK,
    "adc": lambda x, y, c: x + y + c & MASK,
    "sbc": lambda x, y, c: x - y - 1 + c & MASK,
    "lsl": lambda x, n: x << min(n & 0xFF, 32) & MASK,
    "lsr": lambda x, n: x >> (n & 0xFF),
    "asr": lambda x, n: signed(x) >> (n & 0xFF) & MASK,
    "ror": lambda x, n: (x >> (n & 31) | x << 32 - (n & 31)) & MASK,
    "mul": lambda x, y, more=0: x * y + more & MASK,
    "mls": lambda x, y, more: more - x * y & MASK,
    "umull": lambda x, y: x * y & MASK,
    "smull": lambda x, y: x * y & MASK,
    "umull up": lambda x, y: x * y >> 32,
    "smull up": lambda x, y: signed(x) * signed(y) >> 32 & MASK,
    "umlal": lambda x, y, low, up: x * y + low & MASK,
    "smlal": lambda x, y, low, up: x * y + low & MASK,
    "umlal up": lambda x, y, low, up: x * y + (up << 32 | low) >> 32 & MASK,
    "smlal up": lambda x, y, low, up: signed(x) * signed(y) + (up << 32 | low) >> 32 & MASK,
    "udiv": lambda x, y: x // y if y else 0,
    "sdiv": _divide,
    "clz": lambda x: 32 - x.bit_length(),
    "rbit": lambda x: int(f"{x:032b}"[::-1], 2),
    "rev": lambda x: int.from_bytes(x.to_bytes(4, "little"), "big"),
    "rev16": lambda x: (x & 0xFF00FF) << 8 | x >> 8 & 0xFF00FF,
    "revsh": lambda x: _extend(16)((x & 0xFF) << 8 | x >> 8 & 0xFF),
    "sxth": _extend(16),
    "sxtb": _extend(8),
    "uxth": lambda x, more=0: (x & 0xFFFF) + more & MASK,
    "uxtb": lambda x, more=0: (x & 0xFF) + more & MASK,
    "uxtb16": lambda x, more=0: (x & 0xFF) + more & 0xFFFF | (x >> 16 & 0xFF) + (more >> 16) << 16 & MASK,
    "sxtb16": _extend_two,
    "ubfx": lambda x, bit, width: x >> bit & (1 << width) - 1,
    "sbfx": lambda x, bit, width: _extend(width)(x >> bit),
    "insert": _insert,
    "ssat": lambda x, n: min(max(signed(x), -1 << n - 1), (1 << n - 1) - 1) & MASK,
    "usat": lambda x, n: min(max(signed(x), 0), (1 << n) - 1),
    "movt": lambda x, old: old & 0xFFFF | x << 16,
    # Of RISC-V cores, where they differ
    "sll": lambda x, n: x << (n & 31) & MASK,
    "srl": lambda x, n: x >> (n & 31),
    "sra": lambda x, n: signed(x) >> (n & 31) & MASK,
    "slt": lambda x, y: int(signed(x) < signed(y)),
    "sltu": lambda x, y: int(x < y),
    "mulh": lambda x, y: signed(x) * signed(y) >> 32 & MASK,
    "mulhu": lambda x, y: x * y >> 32,
    "mulhsu": lambda x, y: signed(x) * y >> 32 & MASK,
    "div": lambda x, y: _divide(x, y) if y else MASK,
    "divu": lambda x, y: x // y if y else MASK,
    "rem": _remainder,
    "remu": lambda x, y: x % y if y else x,
    **{f"smul{which}": _half_product(which) for which in range(4)},
}


@dataclass(frozen=True)
class Range:
    """A word from `low` to `high`. Words with one `name` are one and the same number."""

    low: int
    high: int
    name: object = field(default_factory=object)
    form: Form | None = field(default=None, compare=False)


# A factor, a number that is added, and the range that is multiplied. The word is that, modulo 2^32.
Form = tuple[int, int, Range | None]


def bounded(low: int, high: int) -> int | Range | None:
    """Return a word between two numbers, None if it may be any. Both may be beyond a word, on one side."""
    if low >> 32 != high >> 32 or (low & MASK, high & MASK) == (0, MASK):
        return None
    return low & MASK if low == high else Range(low & MASK, high & MASK)


def linear(name: str, values: Sequence[object]) -> Form | None:
    """Return the result of an instruction as a multiple of one range and a number, None where it is none.

    Compilers multiply by 15 with a shift and a subtraction. The difference of two ranges would not tell.
    """
    forms = [form for form in map(_form, values) if form is not None]
    if len(forms) != len(values):
        return None
    match name, forms:
        case "add", [x, y]:
            return _sum(x, y, 1)
        case "sub", [x, y]:
            return _sum(x, y, -1)
        case "rsb", [x, y]:
            return _sum(y, x, -1)
        case ("eor", [x, (0, 0xFFFFFFFF, None)]) | ("mvn", [x]):
            return _sum((0, -1, None), x, -1)
        case "lsl", [x, (0, n, None)] if n < 32:
            return _product(x, (0, 1 << n, None))
        case "mul", [x, y]:
            return _product(x, y)
        case (("mul" | "mls"), [x, y, z]):
            product = _product(x, y)
            return None if product is None else _sum(z, product, 1 if name == "mul" else -1)
    return None


def _form(value: object) -> Form | None:
    if isinstance(value, Range):
        return value.form or (1, 0, value)
    return (0, value, None) if isinstance(value, int) else None


def _sum(x: Form, y: Form, sign: int) -> Form | None:
    if x[2] is not None and y[2] is not None and x[2].name != y[2].name:
        return None
    return x[0] + sign * y[0], x[1] + sign * y[1], y[2] if x[2] is None else x[2]


def _product(x: Form, y: Form) -> Form | None:
    if x[2] is None:
        x, y = y, x
    return (x[0] * y[1], x[1] * y[1], x[2]) if y[2] is None else None


def number_of(form: Form, number: int) -> int:
    """Return the word that a multiple is if its range is a number."""
    return form[0] * number + form[1] & MASK


def within(form: Form, other: int | Range | None) -> int | Range | None:
    """Return the range of a multiple that is known to be in another range too, None if it may be any word."""
    factor, offset, base = form
    if factor == 0 or base is None:
        return offset & MASK
    multiple = bounded(*sorted((factor * base.low + offset, factor * base.high + offset)))
    if isinstance(multiple, int) or isinstance(other, int):
        return multiple if isinstance(multiple, int) else other
    low = max((bounds.low for bounds in (multiple, other) if bounds is not None), default=0)
    high = min((bounds.high for bounds in (multiple, other) if bounds is not None), default=MASK)
    return None if multiple is None and other is None else Range(low, max(low, high), form=form)


def computed(name: str, given: list[Bounds]) -> int | Range | None:
    """Return the range of the result of an instruction, None where nothing is known."""
    (a, b), (c, d) = given[0], given[1] if len(given) > 1 else (0, 0)
    is_constant = c == d
    match name:
        case "add":
            return bounded(a + c, b + d)
        case "sub":
            return bounded(a - d, b - c)
        case "rsb":
            return bounded(c - b, d - a)
        case "mul" | "mls":
            low, high = given[2] if len(given) > 2 else (0, 0)
            return bounded(a * c + low, b * d + high) if name == "mul" else bounded(low - b * d, high - a * c)
        case "lsl" if is_constant and c < 32:
            return bounded(a << c, b << c) if b << c <= MASK else None
        case "lsr" | "asr" if is_constant and c < 32 and (name == "lsr" or b < _HALF):
            return bounded(a >> c, b >> c)
        case "and":
            return bounded(0, min(b, d))
        case "orr" | "eor":
            return bounded(max(a, c) if name == "orr" else 0, (1 << max(b, d).bit_length()) - 1)
        case "udiv" | "divu" if c > 0:
            return bounded(a // d, b // c)
        case "uxtb" | "uxth" | "sxtb" | "sxth" if len(given) == 1:
            most = {"uxtb": 0xFF, "uxth": 0xFFFF, "sxtb": 0x7F, "sxth": 0x7FFF}[name]
            return bounded(a, b) if b <= most else bounded(0, most) if name[0] == "u" else None
        case "slt" | "sltu":
            held = holds(11 if name == "slt" else 3, given[0], given[1])
            return bounded(0, 1) if held is None else held
        case "clz":
            return bounded(32 - b.bit_length(), 32 - a.bit_length())
    return None


def hull(x: Bounds, y: Bounds) -> Bounds:
    """Return the least range that has both."""
    return min(x[0], y[0]), max(x[1], y[1])


def _signed_bounds(x: Bounds) -> Bounds:
    low, high = x
    if high < _HALF:
        return x
    return (low - MASK - 1, high - MASK - 1) if low >= _HALF else (-_HALF, _HALF - 1)


def _exceeds(x: Bounds, y: Bounds, margin: int) -> int | None:
    """Return whether x >= y + margin."""
    if x[0] >= y[1] + margin:
        return 1
    return 0 if x[1] < y[0] + margin else None


def holds(condition: int, x: Bounds, y: Bounds) -> int | None:
    """Return whether a condition holds after the subtraction x - y, None if that is not known."""
    held: int | None
    match condition >> 1:
        case 0:
            held = 0 if x[1] < y[0] or y[1] < x[0] else 1 if x == y and x[0] == x[1] else None
        case 1:
            held = _exceeds(x, y, 0)
        case 2:
            a, b = _signed_bounds(x), _signed_bounds(y)
            is_small = a[0] - b[1] >= -_HALF and a[1] - b[0] < _HALF
            held = _exceeds(b, a, 1) if is_small else None
        case 4:
            held = _exceeds(x, y, 1)
        case 5:
            held = _exceeds(_signed_bounds(x), _signed_bounds(y), 0)
        case 6:
            held = _exceeds(_signed_bounds(x), _signed_bounds(y), 1)
        case _:
            held = None
    return None if held is None else held ^ condition & 1


def swapped(condition: int) -> int:
    """Return the condition after y - x that says the same as this one after x - y, or nothing."""
    return {0: 0, 1: 1, 2: 9, 3: 8, 8: 3, 9: 2, 10: 13, 11: 12, 12: 11, 13: 10}.get(condition, ALWAYS)


def narrowed(condition: int, x: Bounds, y: Bounds) -> Bounds:
    """Return what x can be if a condition holds after the subtraction x - y."""
    low, high = x
    if condition in (10, 11, 12, 13):  # signed, and alike where no number is negative
        if max(high, y[1]) >= _HALF:
            return x
        condition = {10: 2, 11: 3, 12: 8, 13: 9}[condition]
    match condition:
        case 0:
            low, high = max(low, y[0]), min(high, y[1])
        case 1 if y[0] == y[1]:
            low, high = low + (low == y[0]), high - (high == y[0])
        case 2:
            low = max(low, y[0])
        case 3:
            high = min(high, y[1] - 1)
        case 8:
            low = max(low, y[0] + 1)
        case 9:
            high = min(high, y[1])
    return (low, high) if low <= high else x


class Unknown:
    """Any word."""


UNKNOWN: Final = Unknown()


@dataclass(frozen=True)
class Of:
    """A number for each value of an input."""

    input: int
    numbers: tuple[int, ...]

    @property
    def possible(self) -> int:
        """Bits that can be set."""
        return reduce(or_, self.numbers)


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
    exact = apply(FUNCTIONS[name], *values)
    if any(isinstance(value, Range) for value in values):
        form, between = linear(name, values), computed(name, [bounds_of(value) for value in values])
        if form is not None:
            between = within(form, between)
        return UNKNOWN if between is None else between
    if exact is not UNKNOWN or len(values) > 2:
        return exact
    if name == "and":
        return _both(values[0], values[1])
    if name == "bic" and isinstance(values[1], int):
        return _both(values[0], ~values[1] & MASK)
    if name in ("lsl", "lsr") and isinstance(values[0], Masked) and isinstance(values[1], int):
        return _shifted(values[0], values[1] if name == "lsl" else -values[1])
    if name in ("uxtb", "uxth") and len(values) == 1:
        return _both(values[0], 0xFF if name == "uxtb" else 0xFFFF)
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


def masked(origin: Origin, bits: int, shift: int = 0) -> int | Masked:
    """Return an unknown word of which these bits can be set, 0 where there is none."""
    return Masked(origin, bits, shift) if bits else 0


def _both(a: Value, b: Value) -> Value:
    if isinstance(a, int) or (isinstance(a, Of) and isinstance(b, Masked)):
        a, b = b, a
    if isinstance(a, Masked) and isinstance(b, int):
        return masked(a.origin, a.bits & (b >> a.shift if a.shift >= 0 else b << -a.shift), a.shift)
    if isinstance(a, Masked) and isinstance(b, Of) and a.shift == 0:
        return masked(Origin((*a.origin.parts, b)), a.bits & b.possible)
    if isinstance(a, Of) and isinstance(b, Of):
        return masked(Origin((a, b)), a.possible & b.possible)
    return _by_bytes("and", a, b)


def _shifted(value: Masked, by: int) -> Value:
    shift = value.shift + by
    kept = MASK >> shift if shift >= 0 else MASK << -shift & MASK  # bits that are not lost
    return masked(value.origin, value.bits & kept, shift) if -32 < by < 32 else 0


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
    word = apply(lambda *numbers: int.from_bytes(numbers, "little"), *parts)
    return Four(parts) if word is UNKNOWN and len(parts) == 4 else word


def _by_bytes(name: str, a: Value, b: Value) -> Value:
    """Return the result of an operation without a carry from byte to byte, else `UNKNOWN`."""
    if name not in ("and", "orr", "eor", "add", "sub", "rsb") or UNKNOWN in (a, b):
        return UNKNOWN
    if name == "rsb":
        name, a, b = "sub", b, a
    parts = []
    for x, y in zip(bytes_of(a), bytes_of(b), strict=True):
        (least, most), (_, most_y) = ((0, 0xFF) if z is UNKNOWN else bounds_of(z) for z in (x, y))
        if (name == "add" and most + most_y > 0xFF) or (name == "sub" and least < most_y):
            return UNKNOWN
        part = apply(FUNCTIONS[name], x, y)
        if not isinstance(part, (int, Of)):
            part = UNKNOWN
        parts.append(part)
    return from_bytes(tuple(parts))


def _hold(condition: int, result: int, carry: int | bool, overflow: int | bool) -> bool:
    """Return whether a condition holds: EQ, CS, MI, VS, HI, GE, GT, or with the lowest bit its opposite."""
    zero, negative = result == 0, bool(result >> 31)
    at_least = negative == bool(overflow)
    holds = (zero, bool(carry), negative, bool(overflow), bool(carry) and not zero, at_least)
    return (holds[condition >> 1] if condition < 12 else at_least and not zero) != bool(condition & 1)


def condition_of(condition: int, flags: Flags | Value) -> Value:
    """Return whether a condition holds: 0, 1, one of both for each value of an input, or `UNKNOWN`."""
    if not isinstance(flags, Flags):
        return UNKNOWN
    if any(isinstance(value, Range) for value in flags.values):
        asked = subtracted(condition, flags)
        held = None if asked is None else holds(condition, *map(bounds_of, asked))
        return UNKNOWN if held is None else held
    if flags.name in ("sub", "sbc"):
        return apply(lambda x, y, c=1: int(_after_sum(condition, x, ~y & MASK, c)), *flags.values)
    if flags.name in ("add", "adc"):
        return apply(lambda x, y, c=0: int(_after_sum(condition, x, y, c)), *flags.values)
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
