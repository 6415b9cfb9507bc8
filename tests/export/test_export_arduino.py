"""Arduino and Zephyr: the sketches compile as C++ and say what the model says; the module is whole."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ethereal import export
from ethereal.cli import app
from ethereal.device import TARGETS, compile_elf, measure
from ethereal.device.emulator import EmulatedBoard, EmulatedCore
from random_models import number_model, random_model
from says import says
from sketches import WARNINGS, sketch
from thinned import few
from windows import everything, hard_windows, model_of, number_of_windows


@pytest.mark.parametrize(
    "layout, input, encoding",
    few([("fast", "float", "onehot"), ("compact", "int16", "thermometer"), ("sliced", "float", None)]),
)
def test_sketches_run(tmp_path, layout, input, encoding):
    model, rows = random_model(3, encoding=encoding, whole_thresholds=input != "float")
    rows = rows[:20]
    if input != "float":
        rows = np.floor(rows)
    library = export.arduino(model, tmp_path / "toy", name="toy", layout=layout, input=input, rows=rows)
    done = subprocess.run([sketch(library, "SelfTest", tmp_path)], capture_output=True, text=True, input="")
    assert re.fullmatch(r"0 failures in \d+ us\n", done.stdout)
    lines = "".join(",".join(f"{float(x):g}" for x in row) + "\n" for row in rows)
    done = subprocess.run(
        [sketch(library, "Classify", tmp_path)], capture_output=True, text=True, input=lines
    )
    assert all(re.search(r" in \d+ us$", line) for line in done.stdout.splitlines())  # no counter of cycles
    said = [line.split(" in ")[0] for line in done.stdout.splitlines()]
    values = rows if encoding is None else np.array([[float(f"{x:g}") for x in row] for row in rows])
    assert said == [str(label) for label in model.predict(values)]


@pytest.mark.parametrize("of_windows", few([False, True]))
def test_sketches_estimate_numbers(tmp_path, of_windows):
    model, rows = number_of_windows() if of_windows else number_model(3)
    rows = rows[:6] if of_windows else rows[:20]
    library = export.arduino(model, tmp_path / "toy", name="toy", rows=rows)
    done = subprocess.run([sketch(library, "SelfTest", tmp_path)], capture_output=True, text=True, input="")
    assert re.fullmatch(r"0 failures in \d+ us\n", done.stdout)
    lines = "".join(",".join(f"{float(x):g}" for x in row) + "\n" for row in rows.reshape(-1, rows.shape[-1]))
    done = subprocess.run(
        [sketch(library, "Estimate", tmp_path)], capture_output=True, text=True, input=lines
    )
    told = [line.split(" in ")[0] for line in done.stdout.splitlines()]
    if of_windows:
        expected = model.predict(model.front_end.windows(rows.reshape(-1, rows.shape[-1])))
    else:
        expected = model.predict(np.array([[float(f"{x:g}") for x in row] for row in rows]))
    assert told == [f"{value:.1f}" for value in expected]
    described = json.loads((library / "library.json").read_text())
    assert all(
        (library / each["base"] / file).exists() for each in described["examples"] for file in each["files"]
    )


TIMED = """
#define F_CPU 48000000
#include "cycles.h"
void reset(void);
__attribute__((section(".vectors"), used)) static const uintptr_t vectors[] = {0x20001000u, (uintptr_t)reset};
static uint32_t spent(uint32_t rounds, uint32_t microseconds)
{
    const uint32_t begin = CYCLE_COUNTER;
    __asm volatile(".syntax unified\\n 1: subs %0, %0, #1\\n bne 1b" : "+l"(rounds) : : "cc");
    return cycles_between(begin, CYCLE_COUNTER, microseconds);
}
void reset(void)
{
    uint32_t *const out = (uint32_t *)0x20000000u;
    cycles_begin();
    out[0] = HAS_CYCLES;
    out[1] = spent(10, 0);
    out[2] = spent(110, 6);
    if (RELOAD) /* Arduino's own SysTick, which begins again many times */
        CORE_REGISTER(0xE000E014u) = RELOAD;
    out[3] = spent(100010, 100010 * PER_ROUND / 48);
    __asm volatile("movs r0, #0x18\\n ldr r1, =0x20026\\n bkpt 0xAB" : : : "r0", "r1");
}
"""
FLASH = """SECTIONS {
  .text 0x08000000 : { KEEP(*(.vectors)) *(.text .text.*) }
  /DISCARD/ : { *(.ARM.exidx*) }
}"""


@pytest.mark.parametrize("target, per_round, reload", [("cortex-m0plus", 3, 47999), ("cortex-m4", 4, 0)])
def test_cycles_of_the_boards_own_counter(tmp_path, target, per_round, reload):
    """SysTick on a Cortex-M0+, DWT on a Cortex-M4: both give the cycles of a loop, however long."""
    model, _ = random_model(4)
    library = export.arduino(model, tmp_path / "toy", name="toy")
    header = (library / "examples" / "Classify" / "cycles.h").read_text()
    code = TIMED.replace("RELOAD", str(reload)).replace("PER_ROUND", str(per_round))
    elf = compile_elf(
        {"a.c": code, "cycles.h": header}, TARGETS[target], ["reset"], flags=["-std=gnu99"],
        linker_script=FLASH, optimize="-O0",  # no division, for which a compiler needs a library
    )  # fmt: skip
    core = ["-target", TARGETS[target].zig_target, f"-mcpu={TARGETS[target].zig_cpu}"]
    call = "void f() { cycles_begin(); cycles_between(0, CYCLE_COUNTER, 0); }"
    (tmp_path / "a.cpp").write_text(f"{header}{call}\n")
    as_cpp = ["-std=gnu++11", "-ffreestanding", *WARNINGS, "-DF_CPU=48000000", "-c", "a.cpp", "-o", "a.o"]
    subprocess.run([sys.executable, "-m", "ziglang", "c++", *core, *as_cpp], cwd=tmp_path, check=True)
    board = EmulatedBoard(elf, TARGETS[target])
    assert board.run().succeeded
    has, short, longer, longest = np.frombuffer(board.read(0x20000000, 16), np.uint32).tolist()
    assert has == 1
    assert 10 * per_round <= short < 10 * per_round + 40
    assert longer - short == 100 * per_round
    assert longest - short == 100_000 * per_round


@pytest.mark.parametrize("target", ["cortex-m0plus", "cortex-m4", "riscv32"])  # Zero, Nano 33 BLE, ESP32-C3
def test_golden_rows_on_emulated_cores(tmp_path, target):
    """Sources and golden rows as they lie in the folder; a wrong row is found."""
    model, rows = random_model(7, missing="some")
    library = export.arduino(model, tmp_path / "toy", name="toy", rows=rows)
    sources = {file.name: file.read_text() for file in (library / "src").iterdir()}
    golden = (library / "examples" / "SelfTest" / "golden.c").read_text()
    for text, failures in (
        (golden, 0),
        (
            golden.replace(
                "expected[N_ROWS * TOY_CLASSES] = {\n    ", "expected[N_ROWS * TOY_CLASSES] = {\n    7"
            ),
            1,
        ),
    ):
        elf = compile_elf(sources | {"golden.c": text}, TARGETS[target], ["toy_self_test"])
        assert min(EmulatedCore(elf, TARGETS[target]).call("toy_self_test"), 1) == failures


def test_library_is_complete(tmp_path):
    model, rows = random_model(4)
    library = export.arduino(model, tmp_path / "toy", name="toy", rows=rows)
    properties = dict(
        line.split("=", 1) for line in (library / "library.properties").read_text().splitlines()
    )
    needed = {
        "name",
        "version",
        "author",
        "maintainer",
        "sentence",
        "paragraph",
        "category",
        "url",
        "architectures",
    }
    assert needed <= set(properties)
    assert properties["includes"] == "toy.h"
    described = json.loads((library / "library.json").read_text())
    assert (library / described["build"]["srcDir"] / described["headers"]).exists()
    for example in described["examples"]:
        assert all((library / example["base"] / file).exists() for file in example["files"])
    assert not any("int main" in file.read_text() for file in library.rglob("*.c"))
    with pytest.raises(FileExistsError, match="force"):
        export.arduino(model, library, name="toy")


def test_zephyr_module(tmp_path):
    """CMake takes the module's file, and the sources it names are there."""
    model, _ = random_model(5)
    module = export.zephyr(model, tmp_path / "toy", name="toy")
    assert (module / "zephyr" / "module.yml").read_text().split() == [
        "name:", "toy", "build:", "cmake:", ".", "kconfig:", "Kconfig"
    ]  # fmt: skip
    assert "config ETHEREAL_TOY\n" in (module / "Kconfig").read_text()
    script = tmp_path / "zephyr.cmake"
    script.write_text(
        "set(CONFIG_ETHEREAL_TOY y)\n"
        'function(zephyr_include_directories)\n  message(STATUS "include ${ARGV}")\nendfunction()\n'
        'function(zephyr_library_named name)\n  message(STATUS "library ${name}")\nendfunction()\n'
        'function(zephyr_library_sources)\n  message(STATUS "source ${ARGV}")\nendfunction()\n'
        f"include({module / 'CMakeLists.txt'})\n"
    )
    cmake = shutil.which("cmake", path=Path(sys.executable).parent) or shutil.which("cmake")
    assert cmake is not None
    said = subprocess.run([cmake, "-P", script], capture_output=True, text=True, check=True)
    paths = re.findall(r"-- (include|library|source) (\S+)", said.stdout + said.stderr)
    assert ("library", "toy") in paths
    assert all(Path(path).exists() for kind, path in paths if kind != "library")
    assert {kind for kind, _ in paths} == {"include", "library", "source"}


def test_zephyr_sample_runs(tmp_path):
    """The application, with as much of Zephyr as it uses, on this computer."""
    model, rows = random_model(8, encoding="onehot")
    module = export.zephyr(model, tmp_path / "toy", name="toy", layout="compact", rows=rows)
    headers = tmp_path / "include" / "zephyr"
    (headers / "sys").mkdir(parents=True)
    (headers / "kernel.h").write_text(
        "#include <stdint.h>\nstatic inline uint32_t k_cycle_get_32(void) { return 0; }\n"
    )
    (headers / "sys" / "printk.h").write_text("#include <stdio.h>\n#define printk printf\n")
    sources = [*(module / "src").glob("*.c"), *(module / "samples" / "self_test" / "src").glob("*.c")]
    folders = ["-I", headers.parent, "-I", module / "src"]
    program = tmp_path / "sample"
    subprocess.run(["gcc", "-std=gnu11", *WARNINGS, *folders, *sources, "-o", program], check=True)
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert said == "toy: 0 failures in 0 cycles\n"
    expected = (module / "samples" / "self_test" / "sample.yaml").read_text()
    assert '"toy: 0 failures"' in expected


@pytest.mark.parametrize("kind", ["rows", "windows"])
def test_the_stack_of_zephyrs_main_task_holds_a_prediction(kind, tmp_path):
    """Zephyr's own default is 1,024 bytes, which a model of windows exceeds."""
    if kind == "rows":
        model, X = random_model(8, n_classes=40, n_clauses=150)
    else:
        X = hard_windows(64, n_axes=1, n_random=3)
        model = model_of(everything(1).fit(X), X, n_clauses=20)
    module = export.zephyr(model, tmp_path / "toy", name="toy", layout="fast")
    told = (module / "samples" / "self_test" / "prj.conf").read_text()
    stack = int(re.search(r"^CONFIG_MAIN_STACK_SIZE=(\d+)$", told, re.MULTILINE)[1])
    measured = measure(model, X[:4], layout="fast", worst=True)
    assert stack >= max(measured.stack_bytes, measured.worst_stack_bytes or 0) + 512
    assert f"CONFIG_MAIN_STACK_SIZE={stack}" in (module / "README.md").read_text()


@pytest.mark.parametrize("to, file", [("arduino", "library.properties"), ("zephyr", "Kconfig")])
def test_command(tmp_path, to, file):
    random_model(9)[0].save(tmp_path / "my toy.etm")
    arguments = ["export", str(tmp_path / "my toy.etm"), "--to", to, "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, [*arguments, "--layout", "compact", "--json"])
    assert done.exit_code == 0, done.output
    assert {file, "src/my_toy.c", "src/ethereal_compact.h"} <= set(json.loads(done.stdout)["files"])
    again = CliRunner().invoke(app, arguments)
    assert again.exit_code == 1
    assert "--force" in again.output
    wrong = CliRunner().invoke(app, [*arguments, "--force", "--mpy", "bytecode"])
    assert wrong.exit_code == 1
    says(wrong.output, "--mpy")


def test_bad_names_and_layouts(tmp_path):
    model, _ = random_model(6)
    with pytest.raises(ValueError, match="name is"):
        export.arduino(model, tmp_path / "x", name="my model")
    with pytest.raises(ValueError, match="layout"):
        export.arduino(model, tmp_path / "x", layout="tiny")
    assert not (tmp_path / "x").exists()
