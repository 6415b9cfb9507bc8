"""Compile a sketch of an exported Arduino library on this computer."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

SHIM = Path(__file__).parent / "arduino"
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Werror"]


def sketch(library: Path, name: str, folder: Path) -> Path:
    """Compile a sketch the way Arduino does: C files as C, the sketch as C++ with Arduino.h before it."""
    gcc, gxx = shutil.which("gcc"), shutil.which("g++")
    assert gcc is not None
    assert gxx is not None
    example = library / "examples" / name
    objects = []
    for source in [*(library / "src").glob("*.c"), *example.glob("*.c")]:
        objects.append(folder / f"{source.stem}.o")
        command = [
            gcc,
            "-std=gnu11",
            "-Os",
            *WARNINGS,
            "-I",
            library / "src",
            "-c",
            source,
            "-o",
            objects[-1],
        ]
        subprocess.run(command, check=True)
    text = f'#include "Arduino.h"\n{(example / f"{name}.ino").read_text()}\n#include "main.cpp"\n'
    (folder / "sketch.cpp").write_text(text)
    program = folder / name
    command = [gxx, "-std=gnu++11", "-Os", *WARNINGS, "-I", SHIM, "-I", library / "src", "-I", example]
    subprocess.run([*command, folder / "sketch.cpp", *objects, "-o", program], check=True)
    return program
