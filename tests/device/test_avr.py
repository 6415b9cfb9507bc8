"""AVR: constants in flash, buffers that the linker counts, and `measure` in simavr with the chip's memory."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from typer.testing import CliRunner

from ethereal import EtherealClassifier, device, export
from ethereal.chips.targets import Room
from ethereal.cli import app
from ethereal.device import (
    TARGETS,
    ModelTooLarge,
    avr,
    compile_elf,
    measure,
    measure_layouts,
    measure_program,
)
from ethereal.device.baselines import redress_scan
from ethereal.export.c99.layouts import LAYOUTS, find_layout
from ethereal.export.c99.program import make_program
from ethereal.export.projects.writer import project_files
from kept_builds import build
from random_models import random_model
from thinned import thinned

UNO, MEGA = "atmega328p", "atmega2560"
# Between them every table of every layout, and every way to Booleanize.
SHAPES: list[dict[str, Any]] = [
    {"seed": 3, "encoding": "onehot", "n_features": 12, "n_clauses": 90, "missing": "some"},
    {"seed": 4, "encoding": "mixed", "n_features": 9, "n_classes": 9, "n_clauses": 120, "longest": 3},
    {"seed": 2, "encoding": None, "n_features": 24, "n_clauses": 80},
    {"seed": 5, "n_features": 2, "n_clauses": 12},
    {"seed": 8, "encoding": None, "n_features": 40, "n_clauses": 30, "longest": 20, "heaviest": 300},
]
WARNINGS = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wdouble-promotion",
            "-Wcast-qual", "-Werror"]  # fmt: skip
COMPILERS = {
    "avr-gcc": ["-mmcu=atmega2560"],
    "arm-none-eabi-gcc": ["-mcpu=cortex-m0plus", "-mthumb"],
    "gcc": [],
}
PACKAGES = {
    "avr-gcc": "gcc-avr avr-libc",
    "arm-none-eabi-gcc": "gcc-arm-none-eabi",
    "gcc": "gcc",
    "simavr": "simavr",
}


def need(*tools: str) -> None:
    for tool in tools:
        if shutil.which(tool) is None:
            what = f"{tool} is not installed (Debian: {PACKAGES[tool]}); `make system` installs it"
            if os.environ.get("CI"):
                pytest.fail(what)
            pytest.skip(what)


def shape_for(layout: str, shape: dict[str, Any]) -> dict[str, Any]:
    """Words repeat a clause for every vote, so that heavy votes would not fit an AVR."""
    return shape | {"heaviest": 2} if layout == "redress" else shape


@pytest.mark.parametrize("layout, shape", thinned(LAYOUTS, SHAPES))
def test_constants_lie_in_flash(layout: Any, shape: dict[str, Any]) -> None:
    """Tables, golden rows and names: nothing is copied to RAM, and the large buffers are variables."""
    need("avr-gcc")
    model, X = random_model(**shape_for(layout, shape))
    program = make_program(model, layout, name="toy", with_names=True, rows=X)
    roots = ["toy_self_test", "toy_class_name", "toy_feature_name"]
    elf = compile_elf(project_files("c", program), TARGETS[UNO], roots, optimize="-Os")
    sections = {section.name: section.size for section in elf.sections}
    assert ".data" not in sections
    assert sections[".progmem"] >= program.table_bytes + 16 * model.n_features
    assert sections[".bss"] < 3000


@functools.cache
def programs_of_all_layouts() -> list[tuple[str, dict[str, str]]]:
    """Every layout with every shape, by turns in several files of floats and in one header of integers."""
    collected = []
    for i, shape in enumerate(SHAPES):
        for j, layout in enumerate(LAYOUTS):
            model, X = random_model(**{**shape_for(layout, shape), "whole_thresholds": True})
            input, single = (("float", False), ("int16", True))[(i + j) % 2]
            options = {"name": "toy", "with_names": True, "rows": np.round(X)}
            program = make_program(model, layout, input=input, single_header=single, **options)
            collected.append((f"{shape} {layout} {input}", project_files("c", program)))
    return collected


@pytest.mark.parametrize("compiler", COMPILERS)
def test_no_warning_in_any_layout(compiler: str, tmp_path: Path) -> None:
    """All programs with the compiler for AVR, and half of them with each of the others."""
    need(compiler)
    part = {"avr-gcc": slice(None), "arm-none-eabi-gcc": slice(0, None, 2), "gcc": slice(1, None, 2)}
    for what, files in programs_of_all_layouts()[part[compiler]]:
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        for source in (name for name in files if name.endswith(".c")):
            command = [compiler, *COMPILERS[compiler], *WARNINGS, "-Os", "-S", source, "-o", "x.s"]
            done = build(command, tmp_path, "x.s")
            assert done.returncode == 0, f"{what}: {done.stderr}"


@pytest.mark.parametrize("compiler, flags", [("avr-gcc", ["-mmcu=atmega328p"]), ("gcc", [])])
def test_a_single_header_in_a_sketch(compiler: str, flags: list[str], tmp_path: Path) -> None:
    """As C++, which Arduino compiles sketches as."""
    need(compiler)
    model, _ = random_model(**SHAPES[0])
    for layout in LAYOUTS:
        program = make_program(model, layout, name="toy", with_names=True, single_header=True)
        (tmp_path / "toy.h").write_text(program.files["toy.h"])
        (tmp_path / "a.cpp").write_text(
            '#include "toy.h"\nextern "C" unsigned f(const float *x);\n'
            "unsigned f(const float *x) { return toy_predict(x); }\n"
        )
        command = [compiler, *flags, "-xc++", "-std=gnu++11", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
        done = subprocess.run(
            [*command, "-Os", "-c", "a.cpp", "-o", "a.o"], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


def test_tables_that_an_avr_cannot_address(tmp_path: Path) -> None:
    need("avr-gcc")
    model, _ = random_model(7, encoding=None, n_features=600, n_clauses=6000, longest=6)
    program = make_program(model, "sliced", name="toy")
    with pytest.raises(device.CompileError, match=r"AVR.*\b32767\b"):
        compile_elf(program.files, TARGETS[MEGA], ["toy_predict"])


@pytest.mark.parametrize("shape, target", thinned(SHAPES, [UNO, MEGA]))
def test_measured_in_simavr(target: str, shape: dict[str, Any]) -> None:
    """Two layouts for each shape. Between them the shapes have every layout twice."""
    need("avr-gcc", "simavr")
    i = SHAPES.index(shape)
    for layout in {LAYOUTS[i % len(LAYOUTS)], LAYOUTS[(i + 2) % len(LAYOUTS)]}:
        model, X = random_model(**shape_for(layout, shape))
        measured = measure(model, X[:16], target, layout)
        assert measured.agreement == 1.0
        assert (measured.name, measured.target, measured.n_rows, measured.counted) == (
            layout,
            target,
            16,
            "cycles",
        )
        assert 0 < measured.instructions_min <= measured.instructions <= measured.instructions_max
        assert (measured.booleanize_instructions > 0) == find_layout(layout).has_rows
        assert 0 < measured.stack_bytes < 400
        assert measured.ram_bytes + measured.stack_bytes <= TARGETS[target].ram_bytes
        assert measured.clause_flash_bytes <= measured.flash_bytes < TARGETS[target].flash_bytes
        assert measured.estimated_seconds == pytest.approx(measured.total_instructions / 16e6)


@pytest.mark.slow
def test_integer_inputs_in_simavr() -> None:
    need("avr-gcc", "simavr")
    model, X = random_model(6, whole_thresholds=True, n_features=5, n_clauses=30)
    for measurement in measure_layouts(model, np.round(X[:8]), UNO, input="int16"):
        assert measurement.agreement == 1.0


def test_cycles_are_exact() -> None:
    """Loops of known length, one of them longer than the 16 bits of a timer."""
    need("avr-gcc", "simavr")
    header = (
        '#include <stdint.h>\n#include "ethereal_flash.h"\ntypedef uint32_t model_row;\nvoid wait_(void);\n'
    )
    source = """
    #include "model.h"
    __attribute__((naked)) void wait_(void) {
        __asm__ volatile("ldi r20, %d\\n\\t2: ldi r24, 0\\n\\tldi r25, 0x80\\n\\t1: sbiw r24, 1\\n\\t"
                         "brne 1b\\n\\tdec r20\\n\\tbrne 2b\\n\\tret");
    }
    """
    flash_header = make_program(random_model(1)[0], "fast").files["ethereal_flash.h"]
    for rounds in (1, 7):
        files = {"model.h": header, "model.c": source % rounds, "ethereal_flash.h": flash_header}
        machine = avr._EmulatedAvr(files, TARGETS[UNO], "-Os")
        run = machine.run("wait_()", np.zeros((3, 4), dtype=np.uint8), 1)
        inner = 2 + 4 * 0x8000 - 1
        known = 4 + 1 + rounds * (inner + 3) - 1 + 4  # call, ldi, rounds, ret
        assert np.abs(run.cycles - known).max() <= 1
        assert run.stack_bytes == 2  # the return address


@pytest.mark.slow
def test_the_chip_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    need("avr-gcc", "simavr")
    wide, X = random_model(9, encoding=None, n_features=120, n_clauses=200, longest=5)
    with pytest.raises(ModelTooLarge, match=r"needs \d+.*RAM, \d+.*\b2048\b"):
        measure(wide, X[:2], UNO, "sliced")
    layouts = [measurement.name for measurement in measure_layouts(wide, X[:2], UNO)]
    assert layouts == ["compact", "fast", "straight", "redress"]
    assert measure(wide, X[:2], MEGA, "sliced").agreement == 1.0
    long, X = random_model(9, encoding=None, n_features=120, n_clauses=3000, longest=20)
    with pytest.raises(ModelTooLarge, match=r"The tables take \d+ bytes"):
        measure(long, X[:2], UNO, "fast")
    monkeypatch.setitem(TARGETS, UNO, replace(TARGETS[UNO], flash_bytes=1000, start=Room(0, 0)))
    with pytest.raises(ModelTooLarge, match=r"bytes.*flash, \d+.*\b1000\b.*atmega328p"):
        measure(wide, X[:2], UNO, "fast")


def test_the_linker_counts_the_buffers(tmp_path: Path) -> None:
    """What does not fit into the RAM of an Uno does not link, instead of overrunning the stack."""
    need("avr-gcc")
    wide, X = random_model(9, encoding=None, n_features=160, n_clauses=200, longest=5)
    library = export.arduino(wide, tmp_path / "toy", name="toy", layout="sliced", rows=X)
    golden = library / "examples" / "SelfTest" / "golden.c"
    main = tmp_path / "main.c"
    main.write_text("int toy_self_test(void);\nint main(void) { return toy_self_test(); }\n")
    sources = [library / "src" / "toy.c", golden, main]
    for chip, fits in ((UNO, False), (MEGA, True)):
        command = [
            "avr-gcc",
            f"-mmcu={chip}",
            "-Os",
            "-I",
            library / "src",
            *sources,
            "-o",
            tmp_path / "x.elf",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode == 0) == fits, done.stderr
        assert fits or "data" in done.stderr


@pytest.fixture(scope="module")
def iris() -> tuple[Any, Any]:
    X, y = load_iris(return_X_y=True)
    return EtherealClassifier.paper(random_state=0).fit(X, y).model_, X


MAIN = """
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
int toy_self_test(void);
int main(void)
{
    int failures = toy_self_test();
    UCSR0B = 8;
    UDR0 = failures == 0 ? 'Y' : 'N';
    for (volatile int i = 0; i < 1000; i++) { }
    UDR0 = '\\n';
    for (volatile int i = 0; i < 1000; i++) { }
    cli();
    sleep_enable();
    sleep_cpu();
    for (;;) { }
}
"""


@pytest.mark.parametrize("layout", LAYOUTS)
def test_iris_on_an_uno(layout: Any, iris: Any, tmp_path: Path) -> None:
    """The self-test on a chip with 2 kB of RAM, the stack where the chip has it."""
    need("avr-gcc", "simavr")
    model, X = iris
    library = export.arduino(model, tmp_path / "toy", name="toy", layout=layout, rows=X)
    (tmp_path / "main.c").write_text(MAIN)
    sources = [library / "src" / "toy.c", library / "examples" / "SelfTest" / "golden.c", tmp_path / "main.c"]
    program = tmp_path / "toy.elf"
    command = ["avr-gcc", "-mmcu=atmega328p", "-std=gnu11", "-Os", "-I", library / "src", *sources]
    subprocess.run([*command, "-o", program], check=True)
    run = ["simavr", "-m", UNO, "-f", "16000000", program]
    said = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert re.search(r"mY\.?$", said.stdout + said.stderr, re.MULTILINE), said.stdout + said.stderr


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    model, X = random_model(1)
    real = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "simavr" else real(name))
    with pytest.raises(ModuleNotFoundError, match="Debian: apt-get install simavr"):
        measure(model, X[:2], UNO)
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "avr-gcc" else f"/usr/bin/{name}")
    with pytest.raises(ModuleNotFoundError, match="On Debian run `apt-get install gcc-avr avr-libc`"):
        measure(model, X[:2], UNO)


def test_what_runs_on_other_cores_only() -> None:
    model, X = random_model(1)
    with pytest.raises(ValueError, match=r"atmega328p.*AVR"):
        device.find_core(UNO)
    done = CliRunner().invoke(app, ["run", "digits", "--target", UNO])
    assert done.exit_code == 1
    assert "is an AVR" in done.output
    with pytest.raises(ValueError, match="atmega328p"):
        measure_program(redress_scan(model, X[:2]), UNO)
    with pytest.raises(ValueError, match="atmega328p"):
        device.EmulatedCore(
            compile_elf({"a.c": "int f(void) { return 1; }"}, TARGETS["cortex-m7"], ["f"]), TARGETS[UNO]
        )


def test_command(tmp_path: Path) -> None:
    need("avr-gcc", "simavr")
    random_model(1)[0].save(tmp_path / "toy.etm")
    arguments = ["measure", str(tmp_path / "toy.etm"), "--target", UNO, "--max-rows", "5"]
    done = CliRunner().invoke(app, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)
    assert {one["counted"] for one in printed} == {"cycles"}
    assert {one["estimate"]["clock_hz"] for one in printed} == {16e6}
    table = CliRunner().invoke(app, [*arguments, "--all"]).output
    assert table.count("cycles") == 1  # counted, and not estimated beside
    assert "nstructions" not in table
