"""Estimated cycles against small functions that were counted by hand with the published tables."""

from typing import Any

import numpy as np
import pytest

from ethereal.chips.cycles import KINDS, TABLES, estimate_cycles
from ethereal.device import TARGETS, EmulatedCore, compile_elf

# The sum of n products of the two words at x.
THUMB = """
    push {r4, lr}
    movs r2, #0
 1: ldr r3, [r0]
    ldr r4, [r0, #4]
    muls r3, r4, r3
    adds r2, r2, r3
    subs r1, r1, #1
    bne 1b
    str r2, [sp]
    bl 2f
    mov r0, r2
    pop {r4, pc}
 2: bx lr
"""
RISCV = """
    li a2, 0
 1: lw a3, 0(a0)
    lw a4, 4(a0)
    mul a3, a3, a4
    add a2, a2, a3
    addi a1, a1, -1
    bnez a1, 1b
    sw a2, -16(sp)
    mv a0, a2
    ret
"""


def run(name: str, code: str, *arguments: Any) -> tuple[int, EmulatedCore]:
    """Result of the code in a core of its own, and the core."""
    lines = "\n".join(f'"{line}\\n"' for line in code.strip().splitlines())
    target = TARGETS[name]
    syntax = '".syntax unified\\n"' if target.isa == "thumb" else ""
    head = "int f(int a, int b)"
    source = f"__attribute__((naked)) {head};\n{head} {{ __asm volatile({syntax}\n{lines}); }}"
    elf = compile_elf({"a.c": source}, target, ["f"], flags=["-std=gnu99", "-Wno-return-type"])
    core = EmulatedCore(elf, target)
    given = [core.buffer(a) if isinstance(a, np.ndarray) else a for a in arguments]
    return core.call("f", *given), core


def cycles(core: EmulatedCore, wait_states: int = 0) -> float:
    return estimate_cycles(core.target.name, core.mix, wait_states)


@pytest.mark.parametrize(
    ("name", "by_hand"),
    [
        # push, movs, three rounds of ldr ldr muls adds subs, bne twice taken, str, bl, bx, mov, pop with pc
        ("cortex-m0plus", 3 + 1 + 3 * (2 + 2 + 1 + 1 + 1) + (2 + 2 + 1) + 2 + 3 + 2 + 1 + (3 + 2)),
        ("cortex-m4", 3 + 1 + 3 * (2 + 1 + 1 + 1 + 1) + (3 + 3 + 1) + 1 + 3 + 3 + 1 + (1 + 2 + 2)),
        ("cortex-m33", 3 + 1 + 3 * (2 + 1 + 1 + 1 + 1) + (3 + 3 + 1) + 1 + 3 + 3 + 1 + (1 + 2 + 2)),
        ("cortex-m7", 3 + 1 + 3 * (1 + 1 + 1 + 1 + 1) + (3 + 3 + 1) + 1 + 3 + 3 + 1 + (1 + 2 + 2)),
        # li, three rounds of lw lw mul add addi, bnez twice taken, sw, mv, ret
        ("riscv32", 1 + 3 * (2 + 2 + 1 + 1 + 1) + (2 + 2 + 1) + 1 + 1 + 2),
    ],
)
def test_a_loop(name: str, by_hand: int) -> None:
    is_thumb = TARGETS[name].isa == "thumb"
    result, core = run(name, THUMB if is_thumb else RISCV, np.array([6, 7], np.int32), 3)
    assert result == 126
    kinds = {"instructions": 25, "words": 4, "far_jumps": 2, "jumps": 5} if is_thumb else {
        "instructions": 22, "words": 0, "far_jumps": 0, "jumps": 3}  # fmt: skip
    counts = {"loads": 6, "loads_in_line": 3, "stores": 1, "multiplies": 3, "divides": 0}
    assert core.mix == counts | kinds
    assert cycles(core) == by_hand


@pytest.mark.parametrize(
    ("name", "code", "by_hand"),
    [
        ("cortex-m4", "udiv r0, r0, r1\nbx lr", 7 + 3),
        ("cortex-m7", "sdiv r0, r0, r1\nbx lr", 7 + 3),
        ("riscv32", "divu a0, a0, a1\nret", 18 + 2),
    ],
)
def test_a_division(name: str, code: str, by_hand: int) -> None:
    result, core = run(name, code, 42, 6)
    assert (result, core.mix["divides"], core.mix["multiplies"]) == (7, 1, 0)
    assert cycles(core) == by_hand


@pytest.mark.parametrize(
    ("code", "kinds"),
    [
        ("ldrd r0, r1, [sp, #-8]", {"words": 2}),
        ("stmdb sp, {r0-r3}", {"words": 4}),
        ("ldr r0, [sp, #-4]", {"loads": 1}),
        ("ldrsb.w r0, [sp, #-4]", {"loads": 1}),
        ("strh.w r0, [sp, #-4]", {"stores": 1}),
        ("strb.w r0, [sp, #-4]", {"stores": 1}),
        ("mla r0, r0, r1, r0", {"multiplies": 1}),
        ("umull r0, r1, r0, r1", {"multiplies": 1}),
        ("bfi r0, r1, #3, #4", {}),
        ("movw r0, #54321", {}),
        ("add.w r0, r0, r1, lsl #3", {}),
        ("cbz r0, 1f\nnop\n1: nop", {"instructions": 3, "jumps": 2}),
        ("cbnz r0, 1f\nnop\n1: nop", {"instructions": 4}),
        ("cmp r0, r0\nit ne\nmovne r1, r0", {"instructions": 4}),
    ],
)
def test_kinds_of_wide_instructions(code: str, kinds: dict[str, int]) -> None:
    _, core = run("cortex-m7", f"{code}\nbx lr", 0, 0)
    given = {"instructions": 2, "jumps": 1} | kinds
    assert core.mix == dict.fromkeys(KINDS, 0) | given


def test_wait_states_count_for_jumps_and_loads() -> None:
    _, core = run("cortex-m0plus", "ldr r0, 1f\nbx lr\n.p2align 2\n1: .word 305419896")
    assert (cycles(core), cycles(core, 2)) == (2 + 2, 2 + 2 + 2 * 2)


def test_a_second_call_counts_like_the_first() -> None:
    _, core = run("cortex-m7", "bx lr\nnop")
    first = core.mix
    core.call("f")
    assert core.mix == {kind: 2 * n for kind, n in first.items()}


def test_every_core_has_a_table() -> None:
    assert set(TABLES) == {name for name, target in TARGETS.items() if target.isa != "avr"}
    fields = set(vars(TABLES["cortex-m4"])) - {"source"}
    assert fields | {"instructions"} == set(KINDS)
