"""Decode the instructions of Cortex-M cores that compilers write for integers.

Encodings: ARMv7-M Architecture Reference Manual (DDI 0403), chapter A5.
"""

from __future__ import annotations

from collections.abc import Callable

from ethereal_bounds.instruction import (
    ALWAYS,
    LINK,
    SP,
    Instruction,
    Operand,
    Unbounded,
    constant,
    register,
    signed_field,
)

_PC = 15
_SHIFTS = ("lsl", "lsr", "asr", "ror")
_ALU = ("and", "eor", "lsl", "lsr", "asr", "adc", "sbc", "ror", "tst", "rsb", "sub", "add", "orr", "mul",
        "bic", "mvn")  # fmt: skip
_WIDE = {0: "and", 1: "bic", 2: "orr", 3: "orn", 4: "eor", 8: "add", 10: "adc", 11: "sbc", 13: "sub",
         14: "rsb"}  # fmt: skip
_MOVES = {"orr": "mov", "orn": "mvn"}  # without a first operand
_LONG = {0: "smull", 1: "sdiv", 2: "umull", 3: "udiv", 4: "smlal", 6: "umlal"}
_EXTENSIONS = {0: "sxth", 1: "uxth", 2: "sxtb16", 3: "uxtb16", 4: "sxtb", 5: "uxtb"}


def decode(at: int, read: Callable[[int], int]) -> Instruction:
    """Return the instruction at an address. `read` gives the halfword at an address."""
    first, second = read(at), read(at + 2)
    instruction = _short(at, first) if first < 0xE800 else _long(at, first, second)
    if instruction is None:
        raise Unbounded(f"the instruction {first:04x} {second:04x} at {at:#x} is not known")
    return instruction


def _bits(mask: int) -> tuple[int, ...]:
    return tuple(r for r in range(16) if mask >> r & 1)


def _alu(size: int, name: str, to: int | None, *operands: Operand, flags: bool = True) -> Instruction:
    return Instruction("alu", size, name, to, operands, flags)


def _memory(size: int, is_load: bool, width: int, signed: bool, moved: int, *where: Operand,
            back: str = "") -> Instruction:  # fmt: skip
    if is_load and moved == _PC:
        return Instruction("to register", size, "load", None, where, back=back)  # type: ignore[arg-type]
    kind = "load" if is_load else "store"
    return Instruction(kind, size, "", moved, where, width=width, signed=signed, back=back)  # type: ignore[arg-type]


def _several(size: int, is_load: bool, base: int, mask: int, *, down: bool, back: bool) -> Instruction:
    name = "down" if down else "up"
    kind = "loads" if is_load else "stores"
    how = "before" if back else ""
    return Instruction(kind, size, name, None, (register(base),), registers=_bits(mask), back=how)  # type: ignore[arg-type]


def _short(at: int, h: int) -> Instruction | None:
    low, middle, high = h & 7, h >> 3 & 7, h >> 6 & 7
    to8, byte = h >> 8 & 7, constant(h & 0xFF)
    five = h >> 6 & 31
    match h >> 11:
        case 0 | 1 | 2:
            name = _SHIFTS[h >> 11]
            if h >> 11 == 0 and five == 0:
                return _alu(2, "mov", low, register(middle))
            return _alu(2, name, low, register(middle), constant(five or 32))
        case 3:
            other = constant(high) if h >> 10 & 1 else register(high)
            return _alu(2, "sub" if h >> 9 & 1 else "add", low, register(middle), other)
        case 4:
            return _alu(2, "mov", to8, byte)
        case 5:
            return _alu(2, "sub", None, register(to8), byte)
        case 6 | 7:
            return _alu(2, "add" if h >> 11 == 6 else "sub", to8, register(to8), byte)
        case 8:
            return _registers(at, h, low, middle)
        case 9:
            return _memory(2, True, 4, False, to8, constant((at + 4 & ~3) + 4 * (h & 0xFF)))
        case 10 | 11:
            widths = (4, 2, 1, 1, 4, 2, 1, 2)
            op = h >> 9 & 7
            where = register(middle), register(high)
            return _memory(2, op >= 3, widths[op], op in (3, 7), low, *where)
        case 12 | 13 | 14 | 15 | 16 | 17:
            width = {6: 4, 7: 1, 8: 2}[h >> 12]
            return _memory(2, bool(h >> 11 & 1), width, False, low, register(middle), constant(width * five))
        case 18 | 19:
            return _memory(2, bool(h >> 11 & 1), 4, False, to8, register(SP), constant(4 * (h & 0xFF)))
        case 20:
            return _alu(2, "mov", to8, constant((at + 4 & ~3) + 4 * (h & 0xFF)), flags=False)
        case 21:
            return _alu(2, "add", to8, register(SP), constant(4 * (h & 0xFF)), flags=False)
        case 22 | 23:
            return _miscellaneous(at, h)
        case 24 | 25:
            is_load, base = bool(h >> 11 & 1), to8
            back = not is_load or not h >> base & 1
            return _several(2, is_load, base, h & 0xFF, down=False, back=back)
        case 26 | 27:
            if (condition := h >> 8 & 15) >= ALWAYS:
                return None
            target = at + 4 + 2 * signed_field(h & 0xFF, 8)
            return Instruction("branch", 2, condition=condition, target=target)
        case 28:
            return Instruction("jump", 2, target=at + 4 + 2 * signed_field(h & 0x7FF, 11))
    return None


def _registers(at: int, h: int, low: int, middle: int) -> Instruction | None:
    if not h >> 10 & 1:
        name = _ALU[h >> 6 & 15]
        first, second = register(low), register(middle)
        match name:
            case "tst":
                return _alu(2, "and", None, first, second)
            case "rsb":
                return _alu(2, name, low, second, constant(0))
            case "mvn":
                return _alu(2, name, low, second)
        to = None if h >> 6 & 15 in (10, 11) else low
        return _alu(2, name, to, first, second)
    to, other = h & 7 | h >> 4 & 8, register(h >> 3 & 15)
    if other.register == _PC:
        other = constant(at + 4)
    match h >> 8 & 3:
        case 0 if to == _PC:  # along a table of bytes that follows
            return Instruction("to register", 2, "add", operands=(constant(at + 4), other), width=1)
        case 0:
            return _alu(2, "add", to, register(to), other, flags=False)
        case 1:
            return _alu(2, "sub", None, register(to), other)
        case 2 if to == _PC:
            return Instruction("to register", 2, operands=(other,))
        case 2:
            return _alu(2, "mov", to, other, flags=False)
        case 3 if not h >> 7 & 1:
            return Instruction("to register", 2, operands=(other,))
    return None


def _miscellaneous(at: int, h: int) -> Instruction | None:
    low, middle = h & 7, register(h >> 3 & 7)
    if h & 0xFF00 == 0xB000:
        name = "sub" if h >> 7 & 1 else "add"
        return _alu(2, name, SP, register(SP), constant(4 * (h & 0x7F)), flags=False)
    if h & 0xF500 == 0xB100:
        target = at + 4 + ((h >> 9 & 1) << 6 | (h >> 3 & 31) << 1)
        name = "ne" if h >> 11 & 1 else "eq"
        return Instruction("compare", 2, name, operands=(register(low), constant(0)), target=target)
    if h & 0xFF00 == 0xB200:
        return _alu(2, ("sxth", "sxtb", "uxth", "uxtb")[h >> 6 & 3], low, middle, flags=False)
    if h & 0xFE00 == 0xB400:
        return _several(2, False, SP, h & 0xFF | (h >> 8 & 1) << LINK, down=True, back=True)
    if h & 0xFE00 == 0xBC00:
        return _several(2, True, SP, h & 0xFF | (h >> 8 & 1) << _PC, down=False, back=True)
    if h & 0xFF00 == 0xBA00 and h >> 6 & 3 != 2:
        return _alu(2, {0: "rev", 1: "rev16", 3: "revsh"}[h >> 6 & 3], low, middle, flags=False)
    if h & 0xFF00 == 0xBF00:
        return Instruction("nothing", 2, conditions=_if_then(h & 0xFF) if h & 15 else ())
    return None


def _if_then(bits: int) -> tuple[int, ...]:
    first, mask = bits >> 4, bits & 15
    n = 4 - ((mask & -mask).bit_length() - 1)
    return tuple(first if i == 0 else first & 14 | mask >> (4 - i) & 1 for i in range(n))


def _expanded(code: int) -> int:
    """Return the constant of 12 bits."""
    byte = code & 0xFF
    if code >> 10 == 0:
        return byte * (1, 0x00010001, 0x01000100, 0x01010101)[code >> 8 & 3]
    value, turn = 0x80 | code & 0x7F, code >> 7
    return (value >> turn | value << (32 - turn)) & 0xFFFFFFFF


def _long(at: int, h: int, h2: int) -> Instruction | None:
    first, to, last = h & 15, h2 >> 8 & 15, h2 & 15
    if h & 0xFE40 == 0xE800:
        is_load, how = bool(h >> 4 & 1), h >> 7 & 3
        if how not in (1, 2):
            return None
        return _several(4, is_load, first, h2, down=how == 2, back=bool(h >> 5 & 1))
    if h & 0xFE40 == 0xE840:
        return _double(at, h, h2)
    if h & 0xFE00 == 0xEA00:
        amount = (h2 >> 12 & 7) << 2 | h2 >> 6 & 3
        shift = _SHIFTS[h2 >> 4 & 3]
        if amount == 0:
            shift, amount = ("", 0) if shift == "lsl" else ("rrx", 1) if shift == "ror" else (shift, 32)
        return _processing(h, to, register(last, shift, amount))
    if h & 0xFA00 == 0xF000 and not h2 >> 15:
        code = (h >> 10 & 1) << 11 | (h2 >> 12 & 7) << 8 | h2 & 0xFF
        return _processing(h, to, constant(_expanded(code)))
    if h & 0xFA00 == 0xF200 and not h2 >> 15:
        return _plain(at, h, h2)
    if h & 0xF800 == 0xF000:
        return _far(at, h, h2)
    if h & 0xFE00 == 0xF800:
        return _single(at, h, h2)
    if h & 0xFF00 == 0xFA00:
        return _by_register(h, h2)
    if h & 0xFF80 == 0xFB00:
        return _product(h, h2)
    if h & 0xFF80 == 0xFB80 and (name := _LONG.get(h >> 4 & 7)) is not None:
        a, b = register(first), register(last)
        if "div" in name:
            return _alu(4, name, to, a, b, flags=False)
        more = (register(h2 >> 12), register(to)) if "lal" in name else ()
        return Instruction("alu", 4, name, h2 >> 12, (a, b, *more), and_to=to)
    return None


def _processing(h: int, to: int, second: Operand) -> Instruction | None:
    name, flags, first = _WIDE.get(h >> 5 & 15), bool(h >> 4 & 1), h & 15
    if name is None:
        return None
    if first == _PC and name in _MOVES:
        name = _MOVES[name]
        if name == "mov" and second.shift:  # a shift by a constant
            amount = constant(second.amount)
            return _alu(4, second.shift, to, register(second.register or 0), amount, flags=flags)
        return _alu(4, name, to, second, flags=flags)
    return _alu(4, name, None if to == _PC and flags else to, register(first), second, flags=flags)


def _double(at: int, h: int, h2: int) -> Instruction | None:
    first = h & 15
    if h & 0xFFF0 == 0xE8D0 and h2 & 0xFFE0 == 0xF000:
        base = constant(at + 4) if first == _PC else register(first)
        return Instruction("table", 4, operands=(base, register(h2 & 15)), width=1 + (h2 >> 4 & 1))
    if not (h >> 8 & 1 or h >> 5 & 1):
        return None
    offset = 4 * (h2 & 0xFF) * (1 if h >> 7 & 1 else -1)
    base = constant(at + 4 & ~3) if first == _PC else register(first)
    back = "" if not h >> 5 & 1 else "before" if h >> 8 & 1 else "after"
    kind = "loads" if h >> 4 & 1 else "stores"
    pair = h2 >> 12, h2 >> 8 & 15
    return Instruction(kind, 4, "pair", None, (base, constant(offset)), registers=pair, back=back)  # type: ignore[arg-type]


def _plain(at: int, h: int, h2: int) -> Instruction | None:
    first, to = h & 15, h2 >> 8 & 15
    low = (h >> 10 & 1) << 11 | (h2 >> 12 & 7) << 8 | h2 & 0xFF
    bit, top = (h2 >> 12 & 7) << 2 | h2 >> 6 & 3, h2 & 31
    operand = register(first)
    match h >> 4 & 31:
        case 0 | 10:
            name = "add" if h >> 4 & 31 == 0 else "sub"
            return _alu(
                4, name, to, constant(at + 4 & ~3) if first == _PC else operand, constant(low), flags=False
            )
        case 4:
            return _alu(4, "mov", to, constant(first << 12 | low), flags=False)
        case 12:
            return _alu(4, "movt", to, constant(first << 12 | low), flags=False)
        case 16 | 18 | 24 | 26:
            op = h >> 4 & 31
            if op & 2 and bit == 0:
                return None  # two halves
            shifted = register(first, "asr" if op & 2 else "lsl", bit) if bit else operand
            name, most = ("usat", top) if op & 8 else ("ssat", top + 1)
            return _alu(4, name, to, shifted, constant(most), flags=False)
        case 20 | 28:
            name = "sbfx" if h >> 4 & 31 == 20 else "ubfx"
            return _alu(4, name, to, operand, constant(bit), constant(top + 1), flags=False)
        case 22:
            operand = constant(0) if first == _PC else operand
            return _alu(4, "insert", to, operand, constant(bit), constant(top + 1 - bit), flags=False)
    return None


def _far(at: int, h: int, h2: int) -> Instruction | None:
    sign = h >> 10 & 1
    if h2 & 0xD000 == 0x8000:
        condition = h >> 6 & 15
        if condition >= ALWAYS:
            return Instruction("nothing", 4) if h & 0xFFF0 == 0xF3B0 or h & 0xFFF0 == 0xF3A0 else None
        code = sign << 20 | (h2 >> 11 & 1) << 19 | (h2 >> 13 & 1) << 18 | (h & 0x3F) << 12 | (h2 & 0x7FF) << 1
        return Instruction("branch", 4, condition=condition, target=at + 4 + signed_field(code, 21))
    one, two = 1 ^ (h2 >> 13 & 1) ^ sign, 1 ^ (h2 >> 11 & 1) ^ sign
    target = (
        at + 4 + signed_field(sign << 24 | one << 23 | two << 22 | (h & 0x3FF) << 12 | (h2 & 0x7FF) << 1, 25)
    )
    match h2 & 0xD000:
        case 0x9000:
            return Instruction("jump", 4, target=target)
        case 0xD000:
            return Instruction("call", 4, target=target)
    return None


def _single(at: int, h: int, h2: int) -> Instruction | None:
    is_load, first, moved = bool(h >> 4 & 1), h & 15, h2 >> 12
    width, signed = 1 << (h >> 5 & 3), bool(h >> 8 & 1)
    if width == 8:
        return None
    if is_load and moved == _PC and width != 4:
        return Instruction("nothing", 4)  # a hint to load ahead
    if first == _PC:
        where = (at + 4 & ~3) + (h2 & 0xFFF) * (1 if h >> 7 & 1 else -1)
        return _memory(4, is_load, width, signed, moved, constant(where))
    base = register(first)
    if h >> 7 & 1:
        return _memory(4, is_load, width, signed, moved, base, constant(h2 & 0xFFF))
    if h2 >> 11 & 1:
        offset = constant((h2 & 0xFF) * (1 if h2 >> 9 & 1 else -1))
        back = "" if not h2 >> 8 & 1 else "before" if h2 >> 10 & 1 else "after"
        return _memory(4, is_load, width, signed, moved, base, offset, back=back)
    shifted = register(h2 & 15, "lsl", h2 >> 4 & 3) if h2 >> 4 & 3 else register(h2 & 15)
    return _memory(4, is_load, width, signed, moved, base, shifted)


def _by_register(h: int, h2: int) -> Instruction | None:
    first, to, last = h & 15, h2 >> 8 & 15, register(h2 & 15)
    if h2 & 0xF080 == 0xF000 and not h >> 7 & 1:
        return _alu(4, _SHIFTS[h >> 5 & 3], to, register(first), last, flags=bool(h >> 4 & 1))
    if h2 & 0xF080 == 0xF080 and not h >> 7 & 1 and (name := _EXTENSIONS.get(h >> 4 & 7)) is not None:
        turned = Operand(last.register, 0, "ror", 8 * (h2 >> 4 & 3)) if h2 >> 4 & 3 else last
        more = () if first == _PC else (register(first),)
        return _alu(4, name, to, turned, *more, flags=False)
    if h & 0xF0 == 0x90 and h2 & 0xF0C0 == 0xF080:
        return _alu(4, ("rev", "rev16", "rbit", "revsh")[h2 >> 4 & 3], to, last, flags=False)
    if h & 0xF0 == 0xB0 and h2 & 0xF0F0 == 0xF080:
        return _alu(4, "clz", to, last, flags=False)
    return None


def _product(h: int, h2: int) -> Instruction | None:
    first, to, last, more = register(h & 15), h2 >> 8 & 15, register(h2 & 15), h2 >> 12
    added = () if more == _PC else (register(more),)
    match h >> 4 & 7, h2 >> 4 & 15:
        case 0, 0:
            return _alu(4, "mul", to, first, last, *added, flags=False)
        case 0, 1:
            return _alu(4, "mls", to, first, last, *added, flags=False)
        case 1, halves if halves < 4:
            return _alu(4, f"smul{halves}", to, first, last, *added, flags=False)
    return None
