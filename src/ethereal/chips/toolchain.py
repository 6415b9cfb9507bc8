"""Compile C for a target: with the `ziglang` wheel, with arm-none-eabi-gcc or with avr-gcc."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Literal

from ethereal.base.atomic import write_bytes, write_scratch
from ethereal.base.package import lacks
from ethereal.chips.elf import Elf
from ethereal.chips.targets import Target

Compiler = Literal["zig", "gcc"]
TOOLS = ("ziglang", "unicorn")  # packages that compile for a core and execute there


def missing_tools(*more: str) -> list[str]:
    """Return the packages that measuring on a core needs and that are not installed."""
    return [name for name in (*TOOLS, *more) if importlib.util.find_spec(name) is None]


# The regions are as large as the address space allows. Whether a program fits its chip is checked afterwards,
# with numbers, instead of by a linker's message.
_LINKER_SCRIPT = """\
ENTRY({entry})
EXTERN({roots})
MEMORY {{
  FLASH (rx) : ORIGIN = {flash:#x}, LENGTH = 256M
  RAM (rw)   : ORIGIN = {ram:#x}, LENGTH = 256M
}}
SECTIONS {{
  .text   : {{ *(.text .text.*) }} > FLASH
  .rodata : {{ *(.rodata .rodata.* .srodata .srodata.*) }} > FLASH
  .data   : {{ *(.data .data.* .sdata .sdata.*) }} > RAM AT> FLASH
  .bss    : {{ *(.bss .bss.* .sbss .sbss.* COMMON) }} > RAM
  /DISCARD/ : {{ *(.ARM.exidx* .ARM.attributes .eh_frame* .comment .note*) }}
}}
"""

# The same for AVR. Plain constants are in RAM, and those in flash have sections of their own. libgcc has what
# the chip cannot compute by itself. The start-up code that libgcc adds for variables is left out, as above.
_AVR_LINKER_SCRIPT = """\
ENTRY({entry})
EXTERN({roots})
INPUT(-lgcc)
MEMORY {{
  FLASH (rx) : ORIGIN = {flash:#x}, LENGTH = 4M
  RAM (rw)   : ORIGIN = {ram:#x}, LENGTH = 60K
}}
SECTIONS {{
  .vectors : {{ KEEP(*(.vectors)) }} > FLASH
  .progmem : {{ *(.progmem .progmem.*) . = ALIGN(2); }} > FLASH
  .text    : {{ *(.text .text.*) }} > FLASH
  .data    : {{ et_data_begin = .; *(.data .data.* .rodata .rodata.*) et_data_end = .; }} > RAM AT> FLASH
  .bss     : {{ *(.bss .bss.* COMMON) et_bss_end = .; }} > RAM
  et_data_load = LOADADDR(.data);
  /DISCARD/ : {{ *(.init* .fini* .comment .note*) }}
}}
"""

# -g keeps the symbols. Only the sizes of the sections that are loaded count.
FLAGS = ("-std=c99", "-g", "-ffreestanding", "-nostdlib", "-fomit-frame-pointer", "-ffunction-sections",
         "-fdata-sections", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables")  # fmt: skip

_ROUTINES = {"zig": "-lcompiler_rt", "gcc": "-lgcc", "avr": "-lm"}


class CompileError(RuntimeError):
    """The compiler failed. The message is its output."""


def compile_elf(sources: Mapping[str, str], target: Target, roots: Iterable[str], *, optimize: str = "-O2",
                compiler: Compiler = "zig", linker_script: str | None = None,
                flags: Iterable[str] = (), with_floats: bool = False) -> Elf:  # fmt: skip
    """Compile C `sources` (file name to text, headers among them) and link what `roots` reach.

    The result is kept under the hash of all inputs, so the same program is compiled once. `with_floats` links
    the compiler's routines for cores without floating point.

    >>> from ethereal.device import TARGETS
    >>> code = "int answer(void); int answer(void) { return 42; }"
    >>> elf = compile_elf({"a.c": code}, TARGETS["cortex-m7"], ["answer"])
    >>> elf.code_bytes, elf.table_bytes, elf.ram_bytes
    (4, 0, 0)
    """
    roots = list(roots)
    default = _AVR_LINKER_SCRIPT if target.isa == "avr" else _LINKER_SCRIPT
    script = linker_script or default.format(
        entry=roots[0], roots=" ".join(roots), flash=target.flash_origin, ram=target.ram_origin
    )
    driver, own_flags = _driver(compiler, target)
    options = [*own_flags, optimize, *FLAGS, *flags]
    # Not where the compiler lies: the same version gives the same program in every environment.
    everything = (options, sorted(sources.items()), _version(driver[0]))
    routines = [_ROUTINES["avr" if target.isa == "avr" else compiler]] if with_floats else []
    key = _hash(everything, script, *routines)
    kept = cache_folder() / "elf" / f"{key}.elf"
    if not kept.exists():
        with tempfile.TemporaryDirectory() as folder:
            objects = _objects([*driver, *options], sources, _hash(everything), Path(folder))
            write_scratch(Path(folder) / "link.ld", script)
            linked = [*objects, *routines, "-Wl,-T,link.ld", "-Wl,--gc-sections", "-o", "program.elf"]
            _run([*driver, *options, *linked], Path(folder))
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(kept, (Path(folder) / "program.elf").read_bytes(), is_cache=True)
    return Elf(kept.read_bytes())


def _hash(*everything: object) -> str:
    return hashlib.sha256(repr(everything).encode()).hexdigest()


# Object files of the last sources. A measurement links the same sources several times, for other functions.
_compiled: dict[str, dict[str, bytes]] = {}
_MOST_COMPILED = 4


def _objects(command: list[str], sources: Mapping[str, str], key: str, folder: Path) -> list[str]:
    """Put the object files of `sources` into a folder and return their names."""
    objects = _compiled.pop(key, None)
    if objects is None:
        for name, text in sources.items():
            write_scratch(folder / name, text)
        objects = {}
        for name in sources:
            if name.endswith(".c"):
                _run([*command, "-I.", "-c", name, "-o", f"{name}.o"], folder)
                objects[f"{name}.o"] = (folder / f"{name}.o").read_bytes()
    else:
        for name, data in objects.items():
            write_scratch(folder / name, data)
    _compiled[key] = objects
    while len(_compiled) > _MOST_COMPILED:
        del _compiled[next(iter(_compiled))]
    return list(objects)


def _run(command: list[str], folder: Path) -> None:
    cache = str(cache_folder() / "zig")
    environment = os.environ | {"ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CompileError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def _driver(compiler: Compiler, target: Target) -> tuple[list[str], list[str]]:
    """Return how the compiler is started, and its flags for a target."""
    if target.isa == "avr":  # zig cannot link for it
        if shutil.which("avr-gcc") is None:
            raise ModuleNotFoundError(
                f"avr-gcc, the compiler for {target.name}, is not on the PATH. "
                "On Debian run `apt-get install gcc-avr avr-libc`."
            )
        return ["avr-gcc"], list(target.gcc_flags)
    if compiler == "gcc":
        if not target.gcc_flags:
            raise ValueError(f"arm-none-eabi-gcc does not compile for {target.name}. Use compiler='zig'.")
        if shutil.which("arm-none-eabi-gcc") is None:
            raise ModuleNotFoundError(
                "arm-none-eabi-gcc is not on the PATH. Install gcc-arm-none-eabi or use compiler='zig'."
            )
        return ["arm-none-eabi-gcc"], list(target.gcc_flags)
    if compiler != "zig":
        raise ValueError(f"compiler is {compiler!r}. It must be 'zig' or 'gcc'.")
    package = importlib.util.find_spec("ziglang")
    if package is None:
        raise ModuleNotFoundError(lacks("Compiling for a device", "ziglang", "device"))
    # The wheel's program itself, where it lies as expected: `python -m ziglang` only starts it.
    program = Path(package.origin or "").with_name("zig.exe" if os.name == "nt" else "zig")
    start = [str(program)] if program.is_file() else [sys.executable, "-m", "ziglang"]
    return [*start, "cc"], ["-target", target.zig_target, f"-mcpu={target.zig_cpu}", "-fno-sanitize=all"]


@functools.cache
def _version(driver: str) -> str:
    if driver.endswith("gcc"):
        return subprocess.run([driver, "--version"], capture_output=True, text=True, check=False).stdout
    return metadata.version("ziglang")


def cache_folder() -> Path:
    """Where compiled programs are kept: `ETHEREAL_CACHE`, else the user's cache folder."""
    if "ETHEREAL_CACHE" in os.environ:
        return Path(os.environ["ETHEREAL_CACHE"])
    import pooch

    return Path(pooch.os_cache("ethereal"))
