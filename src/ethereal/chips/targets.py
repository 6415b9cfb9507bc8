"""The cores that exported code can be compiled for and executed on."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import Literal

from ethereal.chips.boards import BOARDS, OTHERS, Board
from ethereal.chips.fpgas import FPGAS


@dataclass(frozen=True)
class Room:
    """Flash and RAM in bytes."""

    flash_bytes: int
    ram_bytes: int


@dataclass(frozen=True)
class Target:
    """A core with the memory, the clock and the power of a chip it is found in.

    The clock is a usual one of that chip, for an AVR that of Arduino's boards. Clock and power are assumed
    for estimates. They were not compared with a data sheet.
    """

    name: str
    chip: str  # the chip whose memory sizes these are
    isa: Literal["thumb", "riscv", "avr"]
    zig_target: str
    zig_cpu: str
    gcc_flags: tuple[str, ...]  # for arm-none-eabi-gcc or avr-gcc, empty if it has no such core
    unicorn_cpu: str  # name of the constant, empty where avr.py executes it
    flash_origin: int
    flash_bytes: int
    ram_origin: int
    ram_bytes: int
    clock_hz: float
    watts: float
    start: Room = Room(768, 0)  # that vectors and start-up code of any program take
    # That Arduino's boot loader, its core and a sketch that prints take. It is assumed for cores of 32 bits.
    arduino: Room = Room(24 << 10, 6 << 10)
    board_of: str = ""  # name of its core, where this is a board

    @property
    def core(self) -> str:
        """Name of the core, which the target of a board has too.

        >>> find_target("nucleo-f446re").core
        'cortex-m4'
        """
        return self.board_of or self.name

    def memory_left(self, platform: str = "") -> Room:
        """Return what is left for a model and its stack, on its own or with Arduino's core.

        >>> TARGETS["atmega328p"].memory_left("arduino")
        Room(flash_bytes=27136, ram_bytes=1792)
        """
        taken = self.arduino if platform == "arduino" else self.start
        return Room(max(0, self.flash_bytes - taken.flash_bytes), max(0, self.ram_bytes - taken.ram_bytes))


# Constants that an AVR copies to RAM have addresses from 0x800000 on in an ELF file.
_AVR: tuple[Literal["avr"], str, str] = ("avr", "", "")
# On an AVR the sketch Classify takes 3.3 kB of flash and 200 bytes of RAM beside its model (Debian's core and
# avr-gcc). The boot loader takes 2 kB on a Nano and 8 kB on a Mega.
_UNO, _MEGA = Room(5632, 256), Room(8192 + 4096, 256)
_THUMB: tuple[Literal["thumb"], str] = ("thumb", "thumb-freestanding-eabi")

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target("cortex-m0plus", "STM32G071RB", *_THUMB, "cortex_m0plus", ("-mcpu=cortex-m0plus", "-mthumb"),
               "UC_CPU_ARM_CORTEX_M0", 0x08000000, 128 << 10, 0x20000000, 36 << 10, 64e6, 0.021),
        Target("cortex-m4", "STM32F401RE", *_THUMB, "cortex_m4", ("-mcpu=cortex-m4", "-mthumb"),
               "UC_CPU_ARM_CORTEX_M4", 0x08000000, 512 << 10, 0x20000000, 96 << 10, 84e6, 0.04),
        Target("cortex-m7", "STM32F746NG", *_THUMB, "cortex_m7", ("-mcpu=cortex-m7", "-mthumb"),
               "UC_CPU_ARM_CORTEX_M7", 0x08000000, 1024 << 10, 0x20000000, 320 << 10, 216e6, 0.24),
        Target("cortex-m33", "STM32U575ZI", *_THUMB, "cortex_m33", ("-mcpu=cortex-m33", "-mthumb"),
               "UC_CPU_ARM_CORTEX_M33", 0x08000000, 2048 << 10, 0x20000000, 768 << 10, 160e6, 0.01),
        Target("riscv32", "GD32VF103VB", "riscv", "riscv32-freestanding-none", "generic_rv32+m+a+c", (),
               "UC_CPU_RISCV32_SIFIVE_E31", 0x08000000, 128 << 10, 0x20000000, 32 << 10, 108e6, 0.1),
        Target("atmega328p", "ATmega328P", *_AVR, ("-mmcu=atmega328p",), "", 0, 32 << 10, 0x800100, 2 << 10,
               16e6, 0.045, Room(256, 0), _UNO),
        Target("atmega2560", "ATmega2560", *_AVR, ("-mmcu=atmega2560",), "", 0, 256 << 10, 0x800200, 8 << 10,
               16e6, 0.1, Room(384, 0), _MEGA),
    )
}  # fmt: skip


def find_target(name: str) -> Target:
    """Return the target of that name, a core or a board. `m7` is short for `cortex-m7`.

    >>> find_target("m7").chip, find_target("pico").chip
    ('STM32F746NG', 'RP2040')
    """
    if name in FPGAS:
        raise ValueError(
            f"{name} is an FPGA, which has gates and no program. `ethereal run --target` or `ethereal prune "
            "--target` makes a model that fits, `ethereal export --to verilog` writes the gates, and "
            "`ethereal measure --target` builds them."
        )
    if name in BOARDS:
        return target_of(BOARDS[name])
    if name in OTHERS:
        why = f"{name} has {OTHERS[name]}, which cannot be measured here"
        raise ValueError(
            f"{why}. The exported C runs on it too. Leave the target out, or name a similar board."
        )
    full = name if name in TARGETS else f"cortex-{name}"
    if full not in TARGETS:
        known = [*TARGETS, *BOARDS]
        near = difflib.get_close_matches(full, known, n=1) or difflib.get_close_matches(name, known, n=1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        more = "`ethereal boards` lists boards."
        raise ValueError(f"unknown target {name!r}. {hint}Targets are {', '.join(TARGETS)}. {more}")
    return TARGETS[full]


def target_of(board: Board) -> Target:
    """Return a board as a target: its core with the memory and the clock of the board.

    The power is that of the core's usual chip, in proportion to the clock.
    """
    core, clock = TARGETS[board.core], 1e6 * board.clock_mhz
    return replace(
        core,
        name=board.name,
        board_of=core.name,
        chip=board.chip,
        flash_bytes=board.flash << 10,
        ram_bytes=board.ram << 10,
        clock_hz=clock,
        watts=core.watts * clock / core.clock_hz,
        zig_cpu=board.zig_cpu or core.zig_cpu,
        start=_taken(board.start, core.start),
        arduino=_taken(board.arduino, core.arduino),
    )


def _taken(kib: tuple[int, int] | None, usual: Room) -> Room:
    return usual if kib is None else Room(1024 * kib[0], 1024 * kib[1])


def find_core(name: str) -> Target:
    """Return the Cortex-M or RISC-V core of that name. Only on these cores are instructions counted."""
    target = find_target(name)
    if target.isa == "avr":
        raise ValueError(
            f"{target.name} is an AVR, for which only cycles are counted, by `ethereal measure` alone. "
            "Choose a Cortex-M or RISC-V core here, and measure the model that results."
        )
    return target
