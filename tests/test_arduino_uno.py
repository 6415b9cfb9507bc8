"""The Arduino library with Arduino's own core on an emulated Uno: 8 bits, integers of 16, 2 kB of RAM."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ethereal import export
from export_models import random_model

CORE = Path("/usr/share/arduino/hardware/arduino/avr")
# Debian's avr-gcc does not define DECIMAL_DIG for C++, which the core's WString.cpp needs.
BOARD = ["-mmcu=atmega328p", "-DF_CPU=16000000L", "-DARDUINO=10819", "-DARDUINO_AVR_UNO", "-DDECIMAL_DIG=17"]
COMPILE = [*BOARD, "-Os", "-ffunction-sections", "-fdata-sections", "-fno-exceptions", "-c"]
HEADERS = ["-I", CORE / "cores" / "arduino", "-I", CORE / "variants" / "standard"]


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    """Objects of Arduino's core."""
    tools = ["avr-gcc", "avr-g++", "qemu-system-avr"]
    if not all(shutil.which(tool) for tool in tools) or not CORE.exists():
        what = "no gcc-avr, avr-libc, arduino-core-avr or qemu-system-misc; `make system` installs them"
        if os.environ.get("CI"):
            pytest.fail(what)
        pytest.skip(what)
    folder = tmp_path_factory.mktemp("core")
    sources = CORE / "cores" / "arduino"
    names = ["abi", "HardwareSerial", "HardwareSerial0", "main", "new", "Print", "Stream", "WString"]
    files = [sources / f"{name}.cpp" for name in names]
    subprocess.run(["avr-g++", "-std=gnu++11", "-w", *COMPILE, *HEADERS, *files], cwd=folder, check=True)
    files = [sources / "hooks.c", sources / "wiring.c"]
    subprocess.run(["avr-gcc", "-std=gnu11", "-w", *COMPILE, *HEADERS, *files], cwd=folder, check=True)
    return sorted(folder.glob("*.o"))


def first_line(program: Path) -> str:
    """What the sketch prints first over the serial port."""
    command = ["qemu-system-avr", "-M", "uno", "-bios", program, "-nographic", "-serial", "stdio"]
    board = subprocess.Popen(
        ["timeout", "60", *command, "-monitor", "none"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert board.stdout is not None
    line = board.stdout.readline()
    board.terminate()
    board.wait()
    board.stdout.close()
    return line.strip()


@pytest.mark.parametrize(
    "layout, input, encoding",
    [("compact", "float", "onehot"), ("fast", "int16", "thermometer"), ("sliced", "float", None)],
)
def test_self_test_on_an_uno(tmp_path, core, layout, input, encoding):
    model, rows = random_model(
        3, encoding=encoding, whole_thresholds=input != "float", n_clauses=12, n_features=4
    )
    library = export.arduino(
        model, tmp_path / "toy", name="toy", layout=layout, input=input, rows=rows.round()
    )
    example = library / "examples" / "SelfTest"
    (tmp_path / "sketch.cpp").write_text("#include <Arduino.h>\n" + (example / "SelfTest.ino").read_text())
    own = [*COMPILE, "-Wall", "-Wextra", "-Werror", *HEADERS, "-I", library / "src"]
    subprocess.run(["avr-g++", "-std=gnu++11", *own, "sketch.cpp"], cwd=tmp_path, check=True)
    sources = [library / "src" / "toy.c", example / "golden.c"]
    subprocess.run(["avr-gcc", "-std=gnu11", *own, *sources], cwd=tmp_path, check=True)
    program = tmp_path / "sketch.elf"
    objects = [*core, *tmp_path.glob("*.o")]
    subprocess.run(["avr-gcc", *BOARD, "-Wl,--gc-sections", *objects, "-lm", "-o", program], check=True)
    assert first_line(program).startswith("0 failures in ")
