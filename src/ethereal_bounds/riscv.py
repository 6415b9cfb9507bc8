"""Decode the instructions of RISC-V cores that compilers write for integers: RV32I with M and C.

Encodings: The RISC-V Instruction Set Manual, volume I. Registers get the numbers that Cortex-M cores have for
the same purpose, so that all else is one: a0 to a3 are 0 to 3, and sp and ra are `SP` and `LINK`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ethereal_bounds.instruction import (
    LINK,
    SP,
    ZERO,
    Instruction,
    Operand,
    Unbounded,
    constant,
    register,
    signed_field,
)
from ethereal_bounds.values import MASK

_FIRST = {2: SP, 1: LINK, 10: 0, 11: 1, 12: 2, 13: 3, 0: ZERO}
_FREE = [r for r in range(32) if r not in _FIRST.values()]
_NUMBERS = _FIRST | dict(zip((x for x in range(32) if x not in _FIRST), _FREE, strict=True))
_T0 = 5  # the other register that calls may put the way back into
_ALU = ("add", "sll", "slt", "sltu", "eor", "srl", "orr", "and")
_FIXED = {"sll": "lsl", "srl": "lsr", "sra": "asr"}  # by a constant
_PRODUCTS = ("mul", "mulh", "mulhsu", "mulhu", "div", "divu", "rem", "remu")
_TESTS = ("eq", "ne", "", "", "lt", "ge", "ltu", "geu")
_WIDTHS = {0: (1, True), 1: (2, True), 2: (4, False), 4: (1, False), 5: (2, False)}


def decode(at: int, read: Callable[[int], int]) -> Instruction:
    """Return the instruction at an address. `read` gives the halfword at an address."""
    first, second = read(at), read(at + 2)
    word = second << 16 | first
    if first & 3 == 3 and word & 0x707F == 0x67:
        instruction = _to_register(at, word, read(at - 2) << 16 | read(at - 4))
    else:
        instruction = _long(at, word) if first & 3 == 3 else _short(at, first)
    if instruction is None:
        raise Unbounded(f"the instruction {second:04x} {first:04x} at {at:#x} is not known")
    return instruction


def _of(x: int) -> Operand:
    return constant(0) if x == 0 else register(_NUMBERS[x])


def _alu(size: int, name: str, to: int, *operands: Operand) -> Instruction:
    if to == 0:
        return Instruction("nothing", size)
    if name in _FIXED and operands[1].register is None:
        name = _FIXED[name]
    if name == "add" and constant(0) in operands:  # a copy
        name, operands = "mov", (operands[1] if operands[0] == constant(0) else operands[0],)
    return Instruction("alu", size, name, _NUMBERS[to], operands)


def _load(size: int, width: int, signed: bool, to: int, base: int, offset: int) -> Instruction | None:
    if to == 0:
        return None
    where = _of(base), constant(offset)
    return Instruction("load", size, "", _NUMBERS[to], where, width=width, signed=signed)


def _store(size: int, width: int, moved: int, base: int, offset: int) -> Instruction:
    return Instruction("store", size, "", _NUMBERS[moved], (_of(base), constant(offset)), width=width)


def _branch(size: int, name: str, x: int, y: int, target: int) -> Instruction | None:
    if not name:
        return None
    if y == 0 and name in ("lt", "ge"):
        name = "negative" if name == "lt" else "positive"
    return Instruction("compare", size, name, operands=(_of(x), _of(y)), target=target)


def _jump(size: int, to: int, target: int) -> Instruction | None:
    if to not in (0, 1, _T0):
        return None
    if to == 0:
        return Instruction("jump", size, target=target)
    return Instruction("call", size, to=_NUMBERS[to], target=target)


def _by_register(size: int, base: int) -> Instruction:
    """Return a return, or a jump along a table of addresses. Compilers keep t0 for returns."""
    return Instruction("to register", size, "" if base in (1, _T0) else "listed", operands=(_of(base),))


def _to_register(at: int, word: int, before: int) -> Instruction | None:
    """Return a return, or a call or jump to what the instruction before put into a register."""
    to, base, offset = word >> 7 & 31, word >> 15 & 31, signed_field(word >> 20, 12)
    if to == 0 and offset == 0:
        return _by_register(4, base)
    if before & 0x7F != 0x17 or before >> 7 & 31 != base or base == 0:
        return None
    jump = _jump(4, to, at - 4 + (before & 0xFFFFF000) + offset & MASK)
    return None if jump is None else replace(jump, operands=(_of(base), constant(offset)))


def _long(at: int, word: int) -> Instruction | None:
    to, first, second = word >> 7 & 31, word >> 15 & 31, word >> 20 & 31
    kind, upper = word >> 12 & 7, word >> 25
    number = signed_field(word >> 20, 12)
    match word >> 2 & 31:
        case 0 if kind in _WIDTHS:
            return _load(4, *_WIDTHS[kind], to, first, number)
        case 3:
            return Instruction("nothing", 4)  # fence
        case 4:
            if kind in (1, 5):
                if upper not in (0, 32) or (kind == 1 and upper):
                    return None
                name = "sra" if upper else _ALU[kind]
                return _alu(4, name, to, _of(first), constant(second))
            return _alu(4, _ALU[kind], to, _of(first), constant(number))
        case 5:
            return _alu(4, "mov", to, constant(at + (word & 0xFFFFF000)))
        case 8 if kind < 3:
            return _store(4, 1 << kind, second, first, signed_field(upper << 5 | to, 12))
        case 12:
            if upper == 1:
                return _alu(4, _PRODUCTS[kind], to, _of(first), _of(second))
            if upper == 32 and kind in (0, 5):
                return _alu(4, "sub" if kind == 0 else "sra", to, _of(first), _of(second))
            return _alu(4, _ALU[kind], to, _of(first), _of(second)) if upper == 0 else None
        case 13:
            return _alu(4, "mov", to, constant(word & 0xFFFFF000))
        case 24:
            offset = upper >> 6 << 12 | (to & 1) << 11 | (upper & 63) << 5 | to & 30
            return _branch(4, _TESTS[kind], first, second, at + signed_field(offset, 13))
        case 27:
            offset = _bits(word, (31, 1, 20), (12, 8, 12), (20, 1, 11), (21, 10, 1))
            return _jump(4, to, at + signed_field(offset, 21))
    return None


def _bits(h: int, *places: tuple[int, int, int]) -> int:
    """Return a number from pieces: lowest bit, width and where it goes."""
    return sum((h >> low & (1 << width) - 1) << to for low, width, to in places)


def _short(at: int, h: int) -> Instruction | None:
    to, second = h >> 7 & 31, h >> 2 & 31
    low, high = 8 + (h >> 2 & 7), 8 + (h >> 7 & 7)
    number = signed_field(_bits(h, (12, 1, 5), (2, 5, 0)), 6)
    word = _bits(h, (6, 1, 2), (10, 3, 3), (5, 1, 6))
    match h & 3, h >> 13:
        case 0, 0:
            offset = _bits(h, (6, 1, 2), (5, 1, 3), (11, 2, 4), (7, 4, 6))
            return _alu(2, "add", low, _of(2), constant(offset)) if offset else None
        case 0, 2:
            return _load(2, 4, False, low, high, word)
        case 0, 6:
            return _store(2, 4, low, high, word)
        case 1, 0:
            return _alu(2, "add", to, _of(to), constant(number))
        case 1, 1 | 5:
            high_bits, low_bits = ((12, 1, 11), (8, 1, 10), (9, 2, 8)), ((6, 1, 7), (7, 1, 6), (2, 1, 5))
            offset = _bits(h, *high_bits, *low_bits, (11, 1, 4), (3, 3, 1))
            return _jump(2, 1 if h >> 13 == 1 else 0, at + signed_field(offset, 12))
        case 1, 2:
            return _alu(2, "mov", to, constant(number))
        case 1, 3 if to == 2:
            offset = _bits(h, (12, 1, 9), (3, 2, 7), (5, 1, 6), (2, 1, 5), (6, 1, 4))
            return _alu(2, "add", 2, _of(2), constant(signed_field(offset, 10)))
        case 1, 3:
            return _alu(2, "mov", to, constant(number << 12))
        case 1, 4:
            return _arithmetic(h, high, low, number)
        case 1, 6 | 7:
            offset = _bits(h, (12, 1, 8), (5, 2, 6), (2, 1, 5), (10, 2, 3), (3, 2, 1))
            return _branch(2, "eq" if h >> 13 == 6 else "ne", high, 0, at + signed_field(offset, 9))
        case 2, 0:
            return _alu(2, "sll", to, _of(to), constant(number & 31))
        case 2, 2:
            return _load(2, 4, False, to, 2, _bits(h, (4, 3, 2), (12, 1, 5), (2, 2, 6)))
        case 2, 4:
            return _moved(h, to, second)
        case 2, 6:
            return _store(2, 4, second, 2, _bits(h, (9, 4, 2), (7, 2, 6)))
    return None


def _arithmetic(h: int, to: int, second: int, number: int) -> Instruction | None:
    match h >> 10 & 3:
        case 0 | 1:
            return _alu(2, "srl" if h >> 10 & 3 == 0 else "sra", to, _of(to), constant(number & 31))
        case 2:
            return _alu(2, "and", to, _of(to), constant(number))
    if h >> 12 & 1:
        return None
    return _alu(2, ("sub", "eor", "orr", "and")[h >> 5 & 3], to, _of(to), _of(second))


def _moved(h: int, to: int, second: int) -> Instruction | None:
    if second == 0:
        return None if h >> 12 & 1 or to == 0 else _by_register(2, to)
    return _alu(2, "add", to, _of(to) if h >> 12 & 1 else constant(0), _of(second))
