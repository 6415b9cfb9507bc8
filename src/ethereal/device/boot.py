"""Boot a whole program for a Cortex-M from its vector table, as the chip would."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from ethereal.chips.elf import Elf
from ethereal.chips.targets import Target
from ethereal.device.emulator import DeviceFault, EmulatedCore

_SYSTEM = 0xE0000000  # the core's own registers: cycle counter, coprocessor access
_SYSTEM_BYTES = 1 << 20
_CYCLE_COUNTER = 0xE0001004
_SYS_WRITE0, _SYS_EXIT = 0x04, 0x18
_APPLICATION_EXIT = 0x20026


@dataclass(frozen=True)
class BoardRun:
    """What a program printed over semihosting, and how it ended."""

    text: str
    succeeded: bool
    instructions: int


class EmulatedBoard(EmulatedCore):
    """A chip with a program in flash that starts at reset. Its cycle counter counts instructions.

    `run` executes until the program exits over semihosting.
    """

    def __init__(self, elf: Elf, target: Target) -> None:
        super().__init__(elf, target)
        from unicorn import unicorn_const as uc

        self._text = ""
        self._status: int | None = None
        self._uc.mem_map(_SYSTEM, _SYSTEM_BYTES, uc.UC_PROT_READ | uc.UC_PROT_WRITE)
        self._uc.hook_add(uc.UC_HOOK_INTR, self._on_interrupt)
        self._uc.hook_add(
            uc.UC_HOOK_MEM_READ, self._on_cycle_counter, begin=_CYCLE_COUNTER, end=_CYCLE_COUNTER + 3
        )

    def _load(self) -> None:
        super()._load()
        # At reset the RAM holds anything. The program's start-up code sets initial values.
        self._uc.mem_write(self.target.ram_origin, b"\xa5" * self.ram_bytes)

    def run(self) -> BoardRun:
        """Start at reset. A program that does not end by itself raises `DeviceFault`."""
        from unicorn import UcError, arm_const

        stack, reset = struct.unpack("<II", self.read(self.target.flash_origin, 8))
        self._uc.reg_write(arm_const.UC_ARM_REG_SP, stack)
        try:
            self._uc.emu_start(reset | 1, 0xFFFFFFFE, timeout=60_000_000)
        except UcError as error:
            where = self.elf.symbol_at(self._pc())
            raise DeviceFault(f"the program failed in {where}: {self._fault or error}") from None
        if self._status is None:
            raise DeviceFault(f"the program did not end (stopped in {self.elf.symbol_at(self._pc())})")
        return BoardRun(self._text, self._status == _APPLICATION_EXIT, self.instructions)

    def _on_interrupt(self, uc: Any, number: int, _: Any) -> None:
        from unicorn import arm_const

        pc = self._pc()
        if struct.unpack("<H", self.read(pc, 2))[0] != 0xBEAB:  # bkpt 0xAB
            uc.emu_stop()
            return
        operation = uc.reg_read(arm_const.UC_ARM_REG_R0)
        argument = uc.reg_read(arm_const.UC_ARM_REG_R1)
        if operation == _SYS_EXIT:
            self._status = argument
            uc.emu_stop()
            return
        if operation == _SYS_WRITE0:
            while (byte := self.read(argument, 1)) != b"\0":
                self._text += byte.decode("latin-1")
                argument += 1
        uc.reg_write(arm_const.UC_ARM_REG_R0, 0)
        uc.reg_write(arm_const.UC_ARM_REG_PC, (pc + 2) | 1)

    def _on_cycle_counter(self, uc: Any, *_: Any) -> None:
        uc.mem_write(_CYCLE_COUNTER, struct.pack("<I", self.instructions & 0xFFFFFFFF))
