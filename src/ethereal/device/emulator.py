"""Execute a compiled program on an emulated core and count its instructions, or boot it as a chip would."""

from __future__ import annotations

import ctypes
import importlib.util
import struct
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal._native import BlockCounter
from ethereal.base.package import lacks
from ethereal.chips.cycles import KINDS, estimate_cycles
from ethereal.chips.elf import Elf
from ethereal.chips.targets import Target

_PAGE = 0x1000
_STOP = 0x00010000  # functions return to here
_BUFFERS = 0x60000000  # the caller's rows and results
_PAINT = 0xA5
_MOST_INSTRUCTIONS = 10**10  # of one call: 46 seconds at 216 MHz
_SYSTEM = 0xE0000000  # the core's own registers: cycle counter, coprocessor access
_SYSTEM_BYTES = 1 << 20
_CYCLE_COUNTER = 0xE0001004  # DWT, counts up
_SYSTICK, _SYSTICK_RELOAD = 0xE000E018, 0xE000E014  # counts down from the second to 0
_SYS_WRITE0, _SYS_EXIT = 0x04, 0x18
_APPLICATION_EXIT = 0x20026


class DeviceFault(RuntimeError):
    """The program touched memory that the chip does not have, or did not return."""


class EmulatedCore:
    """A core with a program in its flash.

    Only the chip's read-only flash, its RAM and the caller's buffers exist. Any other access raises
    `DeviceFault`. A buffer ends where its page ends, so that an access past it is seen.

    >>> from ethereal.device import TARGETS, compile_elf
    >>> code = "int twice(int x); int twice(int x) { return 2 * x; }"
    >>> core = EmulatedCore(compile_elf({"a.c": code}, TARGETS["cortex-m7"], ["twice"]), TARGETS["cortex-m7"])
    >>> core.call("twice", 21), core.instructions
    (42, 2)
    """

    def __init__(self, elf: Elf, target: Target, *, ram_bytes: int | None = None) -> None:
        if importlib.util.find_spec("unicorn") is None:
            raise ModuleNotFoundError(lacks("Measuring", "unicorn", "device"))
        if target.isa == "avr":
            raise ValueError(
                f"This emulator does not execute {target.name}. Use ethereal.device.measurement or `ethereal "
                "measure`, or choose a Cortex-M or RISC-V core."
            )
        self.elf, self.target = elf, target
        self.ram_bytes = ram_bytes or target.ram_bytes
        self._uc, self._registers = _open(target)
        self._fault: str | None = None
        self._next_buffer = _BUFFERS
        self._load()

    def _load(self) -> None:
        """Fill the memory, count instructions from now on, and remember what a fault was."""
        from unicorn import unicorn_const as uc
        from unicorn.unicorn_py3 import unicorn as binding

        flash, ram = self.target.flash_origin, self.target.ram_origin
        # Code, tables, and the initial values of variables where the start-up code would find them.
        image = self.elf.image(flash)
        image += bytes(_round_up(len(image)) - len(image))
        self._uc.mem_map(flash, len(image), uc.UC_PROT_READ | uc.UC_PROT_EXEC)
        self._uc.mem_write(flash, image)
        self._uc.mem_map(_STOP, _PAGE, uc.UC_PROT_READ | uc.UC_PROT_EXEC)
        self._uc.mem_map(ram, _round_up(self.ram_bytes), uc.UC_PROT_READ | uc.UC_PROT_WRITE)
        # Paint the RAM, then put the variables over it. Afterwards, what is no longer paint was stack.
        self._uc.mem_write(ram, bytes([_PAINT]) * self.ram_bytes)
        for s in self.elf.segments:
            if s.address >= ram:
                self._uc.mem_write(s.address, s.data + bytes(s.memory_bytes - len(s.data)))
        self.counter = BlockCounter(self.target.isa, flash, image)
        # The emulator's function that ends an execution.
        self._stop = ctypes.cast(binding.uclib.uc_emu_stop, ctypes.c_void_p).value or 0
        # The binding's own hook_add calls Python for every block, fifty times slower than a native function.
        # A hook of memory would be wrong: with one, conditional instructions around loads go astray.
        handle, callback = ctypes.c_size_t(), ctypes.c_void_p(self.counter.callback)
        data, begin, end = ctypes.c_void_p(self.counter.user_data), ctypes.c_uint64(1), ctypes.c_uint64(0)
        add, block = binding.uclib.uc_hook_add, uc.UC_HOOK_BLOCK
        status = add(self._uc._uch, ctypes.byref(handle), block, callback, data, begin, end)
        if status != uc.UC_ERR_OK:
            raise RuntimeError(f"the emulator refused the instruction counter (status {status})")
        reads = (uc.UC_MEM_READ_UNMAPPED, uc.UC_MEM_READ_PROT)
        writes = (uc.UC_MEM_WRITE_UNMAPPED, uc.UC_MEM_WRITE_PROT)

        def on_fault(_: Any, access: int, address: int, size: int, *rest: Any) -> bool:
            kind = "read" if access in reads else "write" if access in writes else "jump"
            self._fault = f"{kind} of {size} bytes at {address:#010x}"
            return False

        self._uc.hook_add(uc.UC_HOOK_MEM_INVALID, on_fault)

    @property
    def instructions(self) -> int:
        """Instructions executed so far."""
        return self.counter.total

    @property
    def mix(self) -> dict[str, int]:
        """Instructions executed so far by kind (`ethereal.chips.cycles.KINDS`)."""
        return dict(zip(KINDS, self.counter.mix(), strict=True))

    def profile(self) -> dict[str, int]:
        """Return the instructions executed so far per function, the most first."""
        counts: Counter[str] = Counter()
        executed = np.array(self.counter.by_block(), dtype=np.int64)
        for i in np.flatnonzero(executed):
            name = self.elf.symbol_at(self.target.flash_origin + 2 * int(i))
            counts[name.split("+")[0]] += int(executed[i])
        return dict(counts.most_common())

    def buffer(self, data: bytes | NDArray[Any], *, writable: bool = False) -> int:
        """Place `data` in the caller's memory and return its address (a multiple of 4)."""
        from unicorn import unicorn_const as uc

        raw = data.tobytes() if isinstance(data, np.ndarray) else bytes(data)
        size = _round_up(max(len(raw), 1))
        start = self._next_buffer
        self._next_buffer += size + _PAGE  # the page between stays unmapped
        self._uc.mem_map(start, size, uc.UC_PROT_READ | (uc.UC_PROT_WRITE if writable else 0))
        address = start + size - (len(raw) + 3) // 4 * 4
        self._uc.mem_write(address, raw)
        return address

    def write(self, address: int, data: bytes | NDArray[Any]) -> None:
        """Write `data` into a buffer."""
        self._uc.mem_write(address, data.tobytes() if isinstance(data, np.ndarray) else bytes(data))

    def read(self, address: int, size: int) -> bytes:
        """Read `size` bytes of memory."""
        return bytes(self._uc.mem_read(address, size))

    def call(self, function: str, *arguments: int) -> int:
        """Call `function` with integers or addresses and return its result as a signed 32-bit integer."""
        if function not in self.elf.symbols:
            raise KeyError(f"the program has no function {function!r}")
        entry = self.elf.symbols[function].address
        registers, beyond = (4, arguments[4:]) if self.target.isa == "thumb" else (8, arguments[8:])
        top = self.target.ram_origin + self.ram_bytes - (4 * len(beyond) + 7) // 8 * 8
        if beyond:
            self._uc.mem_write(top, struct.pack(f"<{len(beyond)}I", *(a & 0xFFFFFFFF for a in beyond)))
        names = self._registers
        self._uc.reg_write(names["sp"], top)
        self._uc.reg_write(names["return"], _STOP | (self.target.isa == "thumb"))
        for i, value in enumerate(arguments[:registers]):
            self._uc.reg_write(names["argument"] + i, value & 0xFFFFFFFF)
        self._run(entry | (self.target.isa == "thumb"), function)
        return int(np.int32(np.uint32(self._uc.reg_read(names["argument"]))))

    def call_by_row(
        self, function: str, rows: NDArray[Any], *arguments: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Call `function` with the address of each row. Return its results and instructions per row."""
        address = self.buffer(rows[0])
        results, counts = np.empty((2, len(rows)), dtype=np.int64)
        for i, row in enumerate(rows):
            self.write(address, row)
            before = self.instructions
            results[i] = self.call(function, address, *arguments)
            counts[i] = self.instructions - before
        return results, counts

    def _run(self, entry: int, function: str) -> None:
        from unicorn import UcError

        self._fault = None
        self.counter.enter(_MOST_INSTRUCTIONS, self._stop)
        try:
            self._uc.emu_start(entry, _STOP)
        except UcError as error:
            where = self.elf.symbol_at(self._pc())
            raise DeviceFault(
                f"{function} on {self.target.name}: {self._fault or error} in {where}. The chip has "
                f"{self.target.flash_bytes} bytes of flash and {self.ram_bytes} bytes of RAM."
            ) from None
        if self._pc() & ~1 != _STOP:
            raise DeviceFault(
                f"{function} on {self.target.name} did not return within {_MOST_INSTRUCTIONS:,} instructions "
                f"(stopped in {self.elf.symbol_at(self._pc())})"
            )

    def _pc(self) -> int:
        return int(self._uc.reg_read(self._registers["pc"]))

    @property
    def stack_bytes(self) -> int:
        """Deepest stack of all calls so far."""
        ram = self.target.ram_origin
        ends = [s.address + s.memory_bytes for s in self.elf.segments if s.address >= ram]
        begin, end = max(ends, default=ram), ram + self.ram_bytes
        used = np.flatnonzero(np.frombuffer(self.read(begin, end - begin), np.uint8) != _PAINT)
        return 0 if len(used) == 0 else end - begin - int(used[0])


@dataclass(frozen=True)
class BoardRun:
    """What a program printed over semihosting, and how it ended."""

    text: str
    succeeded: bool
    instructions: int


class EmulatedBoard(EmulatedCore):
    """A chip with a program in flash that starts at reset. DWT and SysTick count estimated cycles.

    `run` executes until the program exits over semihosting.
    """

    def __init__(self, elf: Elf, target: Target) -> None:
        super().__init__(elf, target)
        from unicorn import unicorn_const as uc

        self._text, self._written = "", dict[int, int]()  # what the program wrote to registers, by address
        self._status: int | None = None
        # At reset the RAM holds anything. The program's start-up code sets initial values.
        self._uc.mem_write(self.target.ram_origin, b"\xa5" * self.ram_bytes)
        self._uc.hook_add(uc.UC_HOOK_INTR, self._on_interrupt)
        self._uc.mmio_map(_SYSTEM, _SYSTEM_BYTES, self._read_register, None, self._write_register, None)

    def run(self) -> BoardRun:
        """Start at reset. A program that does not end by itself raises `DeviceFault`."""
        from unicorn import UcError, arm_const

        stack, reset = struct.unpack("<II", self.read(self.target.flash_origin, 8))
        self._uc.reg_write(arm_const.UC_ARM_REG_SP, stack)
        self.counter.enter(_MOST_INSTRUCTIONS, self._stop)
        try:
            self._uc.emu_start(reset | 1, 0xFFFFFFFE)
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

    def _read_register(self, _: Any, offset: int, *rest: Any) -> int:
        cycles = int(estimate_cycles(self.target.name, self.mix))
        if _SYSTEM + offset == _CYCLE_COUNTER:
            return cycles & 0xFFFFFFFF
        if _SYSTEM + offset == _SYSTICK:
            reload = self._written.get(_SYSTICK_RELOAD, 0) & 0xFFFFFF
            return reload - cycles % (reload + 1)
        return self._written.get(_SYSTEM + offset, 0)

    def _write_register(self, _: Any, offset: int, size: int, value: int, *rest: Any) -> None:
        self._written[_SYSTEM + offset] = value


def _open(target: Target) -> tuple[Any, dict[str, int]]:
    """Return an emulator, and the numbers of its registers."""
    from unicorn import Uc, arm_const, riscv_const
    from unicorn import unicorn_const as uc

    if target.isa == "riscv":
        engine, names, known = Uc(uc.UC_ARCH_RISCV, uc.UC_MODE_RISCV32), riscv_const, "X2 X1 X10 PC"
    else:  # UC_MODE_MCLASS would silently select another core
        engine, names, known = Uc(uc.UC_ARCH_ARM, uc.UC_MODE_THUMB), arm_const, "SP LR R0 PC"
    engine.ctl_set_cpu_model(getattr(names, target.unicorn_cpu))
    isa = "RISCV" if target.isa == "riscv" else "ARM"
    numbers = [getattr(names, f"UC_{isa}_REG_{name}") for name in known.split()]
    return engine, dict(zip(("sp", "return", "argument", "pc"), numbers, strict=True))


def _round_up(size: int) -> int:
    return (size + _PAGE - 1) // _PAGE * _PAGE
