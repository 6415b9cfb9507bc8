"""What single instructions do to the stack, to a register, and to where a function goes on."""

from __future__ import annotations

from ethereal_bounds.arithmetic import signed
from ethereal_bounds.instruction import ALWAYS, SP, Instruction, Unbounded

_PC = 15


def last_change(trail: list[Instruction], register: int | None) -> int:
    """Return the place of the last instruction that changes a register."""
    for i in reversed(range(len(trail))):
        if register in trail[i].writes:
            return i
    raise Unbounded("it jumps to an address in a register")


def moved(step: Instruction) -> int:
    """Return by how much an instruction moves the stack, as far as it says so itself."""
    if _PC in step.registers and step.condition != ALWAYS:
        return 0  # it returns, or does nothing
    if step.kind in ("loads", "stores") and step.back and step.operands[0].register == SP:
        if step.name == "pair":
            return signed(step.operands[1].constant)
        return 4 * len(step.registers) * (-1 if step.name == "down" else 1)
    if step.kind in ("load", "store") and step.back and step.operands[0].register == SP:
        return signed(step.operands[1].constant)
    return 0


def returns_if(step: Instruction) -> bool:
    """Whether an instruction returns on a condition."""
    is_return = step.kind == "to register" or (step.kind == "loads" and _PC in step.registers)
    return is_return and step.condition != ALWAYS
