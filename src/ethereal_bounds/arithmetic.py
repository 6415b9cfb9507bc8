"""What instructions compute from numbers below 2^32."""

from __future__ import annotations

from collections.abc import Callable

MASK = 0xFFFFFFFF


def signed(x: int) -> int:
    """Return a word as a number that may be negative."""
    return x - (1 << 32) if x >> 31 else x


def _left(x: int, n: int) -> int:
    n &= 0xFF
    return x << n & MASK if n < 32 else 0


def _right(x: int, n: int) -> int:
    n &= 0xFF
    return x >> n if n < 32 else 0


def _arithmetic(x: int, n: int) -> int:
    return signed(x) >> min(n & 0xFF, 31) & MASK


def _rotate(x: int, n: int) -> int:
    n &= 31
    return (x >> n | x << (32 - n)) & MASK if n else x


def _divide(x: int, y: int) -> int:
    if y == 0:
        return 0
    quotient = abs(signed(x)) // abs(signed(y))
    return (quotient if (signed(x) < 0) == (signed(y) < 0) else -quotient) & MASK


def _field(x: int, bit: int, width: int) -> int:
    return x >> bit & ((1 << width) - 1)


def _signed_field(x: int, bit: int, width: int) -> int:
    found = _field(x, bit, width)
    return (found - (1 << width) if found >> (width - 1) else found) & MASK


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


def _bytes_turned(x: int) -> int:
    return int.from_bytes(x.to_bytes(4, "little"), "big")


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
    "lsl": _left,
    "lsr": _right,
    "asr": _arithmetic,
    "ror": _rotate,
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
    "rev": _bytes_turned,
    "rev16": lambda x: (x & 0xFF00FF) << 8 | x >> 8 & 0xFF00FF,
    "revsh": lambda x: _extend(16)((x & 0xFF) << 8 | x >> 8 & 0xFF),
    "sxth": _extend(16),
    "sxtb": _extend(8),
    "uxth": lambda x, more=0: (x & 0xFFFF) + more & MASK,
    "uxtb": lambda x, more=0: (x & 0xFF) + more & MASK,
    "uxtb16": lambda x, more=0: (x & 0xFF) + more & 0xFFFF | (x >> 16 & 0xFF) + (more >> 16) << 16 & MASK,
    "sxtb16": _extend_two,
    "ubfx": _field,
    "sbfx": _signed_field,
    "insert": _insert,
    "ssat": lambda x, n: min(max(signed(x), -1 << n - 1), (1 << n - 1) - 1) & MASK,
    "usat": lambda x, n: min(max(signed(x), 0), (1 << n) - 1),
    "movt": lambda x, old: old & 0xFFFF | x << 16,
    # Of RISC-V cores, where they differ
    "sll": lambda x, n: _left(x, n & 31),
    "srl": lambda x, n: _right(x, n & 31),
    "sra": lambda x, n: _arithmetic(x, n & 31),
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
