"""Words of which only the least and the most are known. That suffices to end a loop over what was counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ethereal_bounds.arithmetic import MASK
from ethereal_bounds.instruction import ALWAYS

_HALF = 1 << 31
Bounds = tuple[int, int]


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
    forms = [own for own in map(_form, values) if own is not None]
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
    if isinstance(value, int):
        return 0, value, None
    if isinstance(value, Range):
        return (1, 0, value) if value.form is None else value.form
    return None


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
    found = bounded(*sorted((factor * base.low + offset, factor * base.high + offset)))
    if isinstance(found, int) or isinstance(other, int):
        return found if isinstance(found, int) else other
    low = max((own.low for own in (found, other) if own is not None), default=0)
    high = min((own.high for own in (found, other) if own is not None), default=MASK)
    return None if found is None and other is None else Range(low, max(low, high), form=form)


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
            found = holds(11 if name == "slt" else 3, given[0], given[1])
            return bounded(0, 1) if found is None else found
        case "clz":
            return bounded(32 - b.bit_length(), 32 - a.bit_length())
    return None


def hull(x: Bounds, y: Bounds) -> Bounds:
    """Return the least range that has both."""
    return min(x[0], y[0]), max(x[1], y[1])


def _signed(x: Bounds) -> Bounds:
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
    found: int | None
    match condition >> 1:
        case 0:
            found = 0 if x[1] < y[0] or y[1] < x[0] else 1 if x == y and x[0] == x[1] else None
        case 1:
            found = _exceeds(x, y, 0)
        case 2:
            a, b = _signed(x), _signed(y)
            is_small = a[0] - b[1] >= -_HALF and a[1] - b[0] < _HALF
            found = _exceeds(b, a, 1) if is_small else None
        case 4:
            found = _exceeds(x, y, 1)
        case 5:
            found = _exceeds(_signed(x), _signed(y), 0)
        case 6:
            found = _exceeds(_signed(x), _signed(y), 1)
        case _:
            found = None
    return None if found is None else found ^ condition & 1


_SWAPPED = {0: 0, 1: 1, 2: 9, 3: 8, 8: 3, 9: 2, 10: 13, 11: 12, 12: 11, 13: 10}


def swapped(condition: int) -> int:
    """Return the condition after y - x that says the same as this one after x - y, or nothing."""
    return _SWAPPED.get(condition, ALWAYS)


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
