"""Worst cases of RISC-V code that calls pieces with t0 in place of ra."""

from __future__ import annotations

import numpy as np
import pytest

from ethereal.device import TARGETS, EmulatedCore, compile_elf
from ethereal_bounds import riscv
from ethereal_bounds.flow import Code
from ethereal_bounds.instruction import LINK, Instruction, Unbounded
from ethereal_bounds.longest import longest
from ethereal_bounds.state import INPUT, Memory, row_of
from ethereal_bounds.walk import Paths

CHIP = TARGETS["riscv32"]

# `enter` and `leave` move the stack, as pieces of the code that all functions begin and end with do.
PIECES = """
__asm__(
    ".text\\n"
    ".globl f\\n.type f, @function\\n"
    "f:\\n"
    "    jal t0, enter\\n"
    "    li s0, 0\\n"
    "1:  jal t0, count\\n"
    "    li a2, 7\\n"
    "    blt s0, a2, 1b\\n"
    "    lw a1, 0(a0)\\n"
    "    li a2, 5\\n"
    "    bltu a1, a2, 2f\\n"
    "    jal t0, count\\n"
    "    jal t0, count\\n"
    "2:  mv a0, s0\\n"
    "    jal t0, leave\\n"
    "    ret\\n"
    ".size f, .-f\\n"
    ".type enter, @function\\n"
    "enter: addi sp, sp, -16\\n    sw ra, 12(sp)\\n    sw s0, 0(sp)\\n    jr t0\\n.size enter, .-enter\\n"
    ".type count, @function\\n"
    "count: addi s0, s0, 1\\n    addi a3, a3, 2\\n    jr t0\\n.size count, .-count\\n"
    ".type leave, @function\\n"
    "leave: lw ra, 12(sp)\\n    lw s0, 0(sp)\\n    addi sp, sp, 16\\n    jr t0\\n.size leave, .-leave\\n"
);
"""


def _decoded(*halves: int) -> Instruction:
    return riscv.decode(0, lambda at: halves[at // 2] if 0 <= at < 2 * len(halves) else 0)


def test_calls_and_returns_through_t0_are_decoded() -> None:
    word = 0x010002EF  # jal t0, 16
    call = _decoded(word & 0xFFFF, word >> 16)
    assert (call.kind, call.target) == ("call", 16)
    assert call.to not in (None, LINK)
    back = _decoded(0x8282)  # c.jr t0
    assert (back.kind, back.name, back.operands[0].register) == ("to register", "", call.to)
    usual = _decoded(0x00EF, 0x0100)  # jal ra, 16
    assert (usual.kind, usual.to) == ("call", LINK)
    with pytest.raises(Unbounded, match="is not known"):
        _decoded(0x036F, 0x0100)  # jal t1, 16


def test_pieces_that_are_called_through_t0_are_followed() -> None:
    elf = compile_elf({"a.c": PIECES}, CHIP, ["f"])
    rows = np.array([[0], [9]], dtype=np.uint32)
    core = EmulatedCore(elf, CHIP)
    answers, counts = core.call_by_row("f", rows)
    assert answers.tolist() == [7, 9]
    for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
        assert longest(Paths(Memory(Code(elf, "riscv"), row_of([row]))).follow("f", INPUT)) == count
    assert longest(Paths(Memory(Code(elf, "riscv"), row_of([[0, 9]]))).follow("f", INPUT)) == counts.max()
    assert Code(elf, "riscv").stack_bytes("f") == core.stack_bytes == 16


def test_a_piece_that_calls_itself_has_no_bound() -> None:
    source = """
    __asm__(".text\\n.globl f\\n.type f, @function\\nf: jal t0, f\\n    ret\\n.size f, .-f\\n");
    """
    elf = compile_elf({"a.c": source}, CHIP, ["f"])
    with pytest.raises(Unbounded, match="calls itself"):
        Code(elf, "riscv").stack_bytes("f")
