"""Execute a program on an emulated AVR (simavr), which counts cycles.

If there is a larger chip with the same core, that chip is emulated. So rows fit behind the program in flash,
and a program that needs too much RAM still shows how much.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ethereal.base.atomic import write_scratch
from ethereal.chips.targets import Target
from ethereal.chips.toolchain import compile_elf
from ethereal.device.emulator import DeviceFault
from ethereal.device.program import Call, CProgram, Execution, check_flash, ram_exceeded
from ethereal.export.c99.choose import ModelTooLarge, compiled

_TIMEOUT_SECONDS = 300
_SMALL_STACK = 64  # bytes that must be left to start
_BATCH_BYTES = 2048  # of RAM for the rows of one call
_CLOCK_HZ = 16_000_000  # of the emulator, on which cycles do not depend
_CALLS: dict[Call, str] = {
    "row": "found.answer = (uint32_t){}((const void *)given)",
    "value": "found.value = {}((const void *)given)",
    "32 rows": "{}((const void *)given, classes)",
    "batch": "{}((const void *)given, n, classes)",
    "booleanize": "{}((const void *)given, &row_found)",
}


class _Core(NamedTuple):
    simavr: str  # the chip that simavr emulates
    flash_bytes: int
    ram_end: int  # address of the last byte


# Timer 1 and the serial port have the same addresses in all of these. Timer 3 is in the emulated ones.
_CORES = {
    "atmega328p": _Core("atmega1284p", 128 << 10, 0x40FF),
    "atmega2560": _Core("atmega2560", 256 << 10, 0x21FF),
}


class _Run(NamedTuple):
    """What the harness said."""

    classes: NDArray[np.int64]
    cycles: NDArray[np.int64]  # per row
    stack_bytes: int


def execute(program: CProgram, chip: Target, *, optimize: str = "-Os") -> Execution:
    """Compile a model's `program`, whose name must be "model", and execute it on its rows."""
    _find_simavr()
    floats = {"with_floats": program.call == "value"}
    elf = compiled(program.files, chip, program.roots, optimize=optimize, **floats)  # without the harness
    check_flash(elf, chip, program.name)
    rows, n_rows, at_once = program.rows, len(program.rows), 1
    call = _CALLS[program.call].format(program.function)
    if program.call == "32 rows":
        at_once, rows = 32, rows[np.arange(-(-n_rows // 32) * 32) % n_rows]  # filled up from the beginning
    elif program.call == "batch":
        at_once = max(1, min(32, _BATCH_BYTES // rows[0].nbytes))
    harness = _EmulatedAvr(program.files, chip, optimize).run(call, rows, at_once)
    needed = elf.ram_bytes + harness.stack_bytes
    if needed > chip.ram_bytes:
        raise ram_exceeded(needed, chip)
    return Execution(elf, harness.classes[:n_rows], harness.cycles[:n_rows], harness.stack_bytes)


class _EmulatedAvr:
    """A program with the harness around it, in the emulator."""

    def __init__(self, files: dict[str, str], chip: Target, optimize: str) -> None:
        self._files, self._chip, self._optimize, self._core = files, chip, optimize, _CORES[chip.name]

    def run(self, call: str, rows: NDArray[Any], rows_per_call: int) -> _Run:
        """Execute `call` on all rows, in as many runs as the emulated flash makes necessary."""
        row_bytes = rows[0].nbytes
        defines = [f"CALL={call}", f"ROW_BYTES={row_bytes}u", f"ROWS_PER_CALL={rows_per_call}u"]
        defines.append(f"BOOLEANIZES={int('row_found' in call)}")
        defines.append(f"IS_WIDE={int('found.' in call)}")
        flags = [*(f"-D{each}" for each in defines), f"-Wl,--defsym=et_stack_top={self._core.ram_end}"]
        harness = (resources.files("ethereal.device") / "avr_harness.c").read_text(encoding="utf-8")
        sources = self._files | {"avr_harness.c": harness}
        elf = compile_elf(
            sources, self._chip, ["reset"],
            optimize=self._optimize, flags=flags, with_floats="value" in call,
        )  # fmt: skip
        static_end = elf.symbols["et_bss_end"].address & 0xFFFF
        if static_end + _SMALL_STACK > self._core.ram_end:
            raise ModelTooLarge(
                f"The model and the rows of a call need {elf.ram_bytes} bytes of RAM, more than "
                f"{self._chip.name} ({self._chip.chip}) has. Use another layout, or a chip with more RAM."
            )
        image = elf.image()
        n_at_once = (self._core.flash_bytes - len(image)) // row_bytes // rows_per_call * rows_per_call
        if n_at_once == 0:
            raise DeviceFault(
                f"{rows_per_call} rows of {row_bytes} bytes do not fit beside the program into the "
                f"{self._core.flash_bytes} bytes of flash of {self._core.simavr}. Prune the model."
            )
        parts = []
        for begin in range(0, len(rows), n_at_once):
            some = rows[begin : begin + n_at_once]
            job = np.array([len(image), len(some)], dtype="<u4").tobytes()
            at = elf.symbols["et_job"].address
            flash = image[:at] + job + image[at + len(job) :] + some.tobytes()
            part = _understand(self._emulate(flash), len(some), rows_per_call)
            if part is None:
                raise ModelTooLarge(
                    f"The model needs more RAM than the {self._chip.ram_bytes} bytes of {self._chip.name} "
                    f"({self._chip.chip}). Use another layout, or a chip with more RAM."
                )
            parts.append(part)
        classes, cycles, stacks = zip(*parts, strict=True)
        return _Run(np.concatenate(classes), np.concatenate(cycles), max(stacks))

    def _emulate(self, flash: bytes) -> list[tuple[str, int]]:
        """Run simavr until the program ends, and return the lines that it printed."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "program.hex"
            write_scratch(path, _intel_hex(flash))
            command = [_find_simavr(), "-m", self._core.simavr, "-f", str(_CLOCK_HZ), str(path)]
            try:
                done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                                      timeout=_TIMEOUT_SECONDS, check=False)  # fmt: skip
            except subprocess.TimeoutExpired:
                raise DeviceFault(
                    f"The program on {self._chip.name} did not end within {_TIMEOUT_SECONDS} s in simavr. "
                    "Give fewer rows, or look whether it overruns its memory."
                ) from None
        said = (done.stdout + done.stderr).decode("latin-1")
        return [
            (kind, int(number, 16)) for kind, number in re.findall(r"([ocfhrls])([0-9A-F]{4})\.?\b", said)
        ]


def _understand(lines: list[tuple[str, int]], n_rows: int, rows_per_call: int) -> _Run | None:
    """Return the results from the lines of the harness, None if some are missing or no RAM was left."""
    numbers: dict[str, list[int]] = {kind: [] for kind in "ocfhrls"}
    for kind, number in lines:
        numbers[kind].append(number)
    if len(numbers["r"]) != n_rows or len(numbers["s"]) != 1 or numbers["l"] == [0]:
        return None
    coarse, fine = (np.array(numbers[kind], dtype=np.int64) for kind in "cf")
    # The coarse timer says how often the fine one overflowed, give or take two of its 64 ticks per overflow.
    cycles = fine + 65536 * np.round((coarse * 1024 - fine) / 65536).astype(np.int64) - numbers["o"][0]
    per_row = np.repeat(np.round(cycles / rows_per_call).astype(np.int64), rows_per_call)[:n_rows]
    low, high = np.array(numbers["r"], dtype=np.int64), np.array(numbers["h"] or 0, dtype=np.int64)
    answers = (high << 16 | low).astype(np.uint32).view(np.int32).astype(np.int64)
    return _Run(answers, per_row, numbers["s"][0])


def _intel_hex(data: bytes) -> str:
    """Return the data as an Intel HEX file."""

    def record(address: int, kind: int, data: bytes) -> str:
        body = bytes([len(data), address >> 8, address & 0xFF, kind]) + data
        return f":{body.hex().upper()}{-sum(body) & 0xFF:02X}\n"

    text = ""
    for begin in range(0, len(data), 16):
        if begin % 65536 == 0:  # the upper half of the addresses that follow
            text += record(0, 4, (begin >> 16).to_bytes(2, "big"))
        text += record(begin & 0xFFFF, 0, data[begin : begin + 16])
    return text + ":00000001FF\n"


def _find_simavr() -> str:
    if path := shutil.which("simavr"):
        return path
    raise ModuleNotFoundError(
        "simavr, the emulator for AVR, is not on the PATH. Install it (Debian: apt-get install simavr)."
    )
