"""The Arduino library with Arduino's own core on an emulated Uno: 8 bits, integers of 16, 2 kB of RAM."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ethereal import Booleanizer, EtherealClassifier, Model, export
from ethereal.device import Elf
from random_models import random_model

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


def build(
    library: Path, core: list[Path], folder: Path, name: str = "SelfTest"
) -> subprocess.CompletedProcess[str]:
    """Compile a sketch without a warning, and link it for an Uno."""
    example = library / "examples" / name
    (folder / "sketch.cpp").write_text("#include <Arduino.h>\n" + (example / f"{name}.ino").read_text())
    command = [*COMPILE, "-Wall", "-Wextra", "-Werror", *HEADERS, "-I", library / "src", "-I", example]
    subprocess.run(["avr-g++", "-std=gnu++11", *command, "sketch.cpp"], cwd=folder, check=True)
    sources = [library / "src" / "toy.c", *example.glob("*.c")]
    subprocess.run(["avr-gcc", "-std=gnu11", *command, *sources], cwd=folder, check=True)
    objects = [*core, *folder.glob("*.o")]
    link = ["avr-gcc", *BOARD, "-Wl,--gc-sections", *objects, "-lm", "-o", folder / "sketch.elf"]
    return subprocess.run(link, capture_output=True, text=True, check=False)


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
    assert build(library, core, tmp_path).returncode == 0
    assert first_line(tmp_path / "sketch.elf").startswith("0 failures in ")


@pytest.fixture(scope="module")
def ordinary():
    """The default model of a table with 19 features and 7 classes, and its rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 19)).round(3)
    y = (X[:, :7] + 0.3 * rng.normal(size=(700, 7))).argmax(axis=1)
    return EtherealClassifier.paper(random_state=0).fit(X, y).model_, X


@pytest.mark.parametrize("layout", ["compact", "fast"])
def test_an_ordinary_model_on_an_uno(tmp_path, core, ordinary, layout):
    model, X = ordinary
    library = export.arduino(model, tmp_path / "toy", name="toy", layout=layout, rows=X)
    done = build(library, core, tmp_path)
    assert done.returncode == 0, done.stderr
    assert first_line(tmp_path / "sketch.elf").startswith("0 failures in ")


def test_what_is_chosen_for_an_uno_links_with_arduinos_core(tmp_path, core):
    """The quickest layout alone fits the chip, but not beside the core and the boot loader of a Nano."""
    model, _ = random_model(3, n_clauses=1100, n_features=12, n_bins=6, longest=5)
    alone = export.choose(model, target="atmega328p")
    library = export.arduino(model, tmp_path / "toy", name="toy", target="atmega328p")
    header = (library / "src" / "toy.h").read_text()
    assert alone.layout == "straight"
    assert '#define TOY_LAYOUT "straight"' not in header
    done = build(library, core, tmp_path, "Classify")
    assert done.returncode == 0, done.stderr
    elf = Elf((tmp_path / "sketch.elf").read_bytes())
    assert elf.code_bytes + elf.table_bytes <= 30720  # what Arduino's boards.txt says of a Nano
    # A quarter of the RAM is left for the stack.
    assert (elf.symbols["__heap_start"].address & 0xFFFF) - 0x100 < 2048 * 3 // 4


def test_a_row_that_exceeds_the_ram_of_an_uno_is_refused(tmp_path):
    n = 600
    model = Model([0, 1], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=n, classes=["a", "b"],
                  booleanizer=Booleanizer(thresholds=0.5).fit(np.zeros((1, n))))  # fmt: skip
    with pytest.raises(export.ModelTooLarge, match=r"row.*\b600\b.*\b2400\b.*RAM.*leaves 1792\b"):
        export.arduino(model, tmp_path / "toy", target="atmega328p")
    export.arduino(model, tmp_path / "toy", target="atmega2560")


def test_what_exceeds_the_ram_does_not_link(tmp_path, core, ordinary):
    model, X = ordinary
    library = export.arduino(model, tmp_path / "toy", name="toy", layout="sliced", rows=X)
    done = build(library, core, tmp_path)
    assert done.returncode != 0
    assert "is not within region `data'" in done.stderr


def test_too_little_ram_for_the_stack_is_said(tmp_path, core):
    """With variables of its own that leave 150 bytes the sketch links, but does not start the self-test."""
    model, rows = random_model(3, n_clauses=12, n_features=4)
    library = export.arduino(model, tmp_path / "toy", name="toy", layout="compact", rows=rows)
    assert build(library, core, tmp_path).returncode == 0
    end = Elf((tmp_path / "sketch.elf").read_bytes()).symbols["__heap_start"].address & 0xFFFF
    sketch = library / "examples" / "SelfTest" / "SelfTest.ino"
    padding = (
        f"char padding[{0x900 - end - 150}];\nchar *volatile kept;\n\nvoid setup()\n{{\n    kept = padding;"
    )
    sketch.write_text(sketch.read_text().replace("void setup()\n{", padding))
    done = build(library, core, tmp_path)
    assert done.returncode == 0, done.stderr
    line = first_line(tmp_path / "sketch.elf")
    assert "bytes of RAM are left for the stack, but the self-test needs 324" in line


@pytest.mark.parametrize("learn, new", [("votes", 1), ("bias", 0)])
def test_an_export_that_learns_on_an_uno(tmp_path, core, learn, new):
    """The golden calls agree with the host, and the sketch with two buttons compiles without a warning."""
    model, rows = random_model(3, n_clauses=20, n_features=4)
    anchors = (rows[:6], model.predict(rows[:6])) if new else None
    library = export.arduino(
        model, tmp_path / "toy", name="toy", learn=learn, rows=10, margin=2, classes=new, anchors=anchors
    )
    done = build(library, core, tmp_path)
    assert done.returncode == 0, done.stderr
    assert first_line(tmp_path / "sketch.elf").startswith("0 failures in ")
    sketch = (library / "examples" / "Teach" / "Teach.ino").read_text()
    (tmp_path / "teach.cpp").write_text("#include <Arduino.h>\n" + sketch)
    command = [*COMPILE, "-Wall", "-Wextra", "-Werror", *HEADERS, "-I", library / "src"]
    subprocess.run(["avr-g++", "-std=gnu++11", *command, "teach.cpp"], cwd=tmp_path, check=True)
