"""What an instruction does, in the few words that counting paths needs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

ALWAYS = 14
FLAGS = 32  # the condition flags, as a register
SP, LINK = 13, 14
ZERO = 15  # of a RISC-V core. On a Cortex-M it is where the program is, which no other instruction reads.

Kind = Literal["alu", "load", "store", "loads", "stores", "jump", "branch", "compare", "call", "to register",
               "table", "nothing"]  # fmt: skip


class Unbounded(RuntimeError):
    """No bound follows from the code. The message says why."""


@dataclass(frozen=True)
class Operand:
    """A register, shifted where a shift is named, or a constant."""

    register: int | None = None
    constant: int = 0
    shift: str = ""
    amount: int = 0


def register(number: int, shift: str = "", amount: int = 0) -> Operand:
    """Return a register as an operand."""
    return Operand(number, 0, shift, amount)


def constant(value: int) -> Operand:
    """Return a constant as an operand."""
    return Operand(None, value & 0xFFFFFFFF)


def signed_field(value: int, bits: int) -> int:
    """Return a field of so many bits as a number that may be negative."""
    return value - (1 << bits) if value >> (bits - 1) else value


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    - "alu": `to` becomes `name` of the operands. None is a comparison. `and_to` is the upper half of a
      product.
    - "load", "store": a word, half or byte (`size`) at the sum of the operands. `to` is what is moved.
    - "loads", "stores": several `registers` from the address in the first operand on.
    - "jump" and "branch": to `target`, a branch if `condition` holds. "compare" is a branch that compares two
      operands itself. "call" comes back to what it put into `to`. "to register" jumps to where the first
      operand says. Where that is one of a table of addresses, its name is "listed". Operands of a jump or
      call add up to the target, too.
    - "table": jumps over twice the number in a table at the first operand, with the second as index.
    """

    kind: Kind
    size: int  # bytes of the instruction
    name: str = ""
    to: int | None = None
    operands: tuple[Operand, ...] = ()
    sets_flags: bool = False
    condition: int = ALWAYS
    target: int = 0
    width: int = 4  # bytes that a load or store moves, or of a table's entry
    signed: bool = False
    back: Literal["", "before", "after"] = ""  # when the first operand becomes the address
    registers: tuple[int, ...] = ()
    and_to: int | None = None
    conditions: tuple[int, ...] = field(default=())  # of the instructions that follow

    def under(self, condition: int) -> Instruction:
        """Return the instruction as one that is executed on a condition. Most of them set no flags then."""
        is_test = self.kind == "alu" and self.to is None
        return replace(self, condition=condition, sets_flags=self.sets_flags and (is_test or self.size == 4))

    @property
    def is_piece(self) -> bool:
        """Whether it calls a piece of its function, which may change what a function keeps."""
        return self.kind == "call" and self.to not in (None, LINK)

    @property
    def reads(self) -> set[int]:
        """Registers whose values it needs."""
        read = {o.register for o in self.operands if o.register is not None}
        if self.kind == "store" and self.to is not None:
            read.add(self.to)
        if self.kind == "stores":
            read.update(self.registers)
        if self.name in ("insert", "movt") and self.to is not None:
            read.add(self.to)
        if self.condition != ALWAYS or self.name in ("adc", "sbc", "rrx"):
            read.add(FLAGS)
            if self.condition != ALWAYS and self.kind in ("alu", "load") and self.to is not None:
                read.add(self.to)  # it may keep its value
        if self.kind == "call":
            read.update(range(4))
        return read

    @property
    def writes(self) -> set[int]:
        """Registers that it changes."""
        written: set[int] = set()
        if self.kind in ("alu", "load"):
            written.update(r for r in (self.to, self.and_to) if r is not None)
        if self.kind == "loads":
            written.update(self.registers)
        if self.back and self.operands[0].register is not None:
            written.add(self.operands[0].register)
        if self.sets_flags:
            written.add(FLAGS)
        if self.kind == "call":
            written.update({0, 1, 2, 3, 12, LINK, FLAGS})
        return written
