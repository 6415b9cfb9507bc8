"""Exports on an AVR: tables in flash, no silent overrun, the host's answers, compilers that say nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from typer.testing import CliRunner

from ethereal import EtherealClassifier, Model, export
from ethereal.cli import app
from ethereal.device import ModelTooLarge, find_target, measure
from ethereal.export import LAYOUTS

STRICT = [
    "-std=c99",
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wshadow",
    "-Wdouble-promotion",
    "-pedantic",
    "-Werror",
]
COMPILERS = {
    "gcc": [],
    "arm-none-eabi-gcc": ["-mcpu=cortex-m0plus", "-mthumb"],
    "avr-gcc": ["-mmcu=atmega328p"],
}
needs_avr = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("avr-gcc", "simavr")),
    reason="no gcc-avr, avr-libc or simavr; `make system` installs them where it may",
)


@pytest.fixture(scope="module")
def iris() -> tuple[Model, Any]:
    X, y = load_iris(return_X_y=True)
    return EtherealClassifier(random_state=0).fit(X, y).model_, X


@pytest.fixture(scope="module")
def nineteen() -> tuple[Model, Any]:
    """The default model of a table with 19 features and 7 classes."""
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 2, (7, 19))
    y = rng.integers(0, 7, 1500)
    X = np.round(centres[y] + rng.normal(0, 1.5, (1500, 19)), 2)
    return EtherealClassifier(random_state=0).fit(X, y).model_, X


def sizes(elf: Path) -> dict[str, int]:
    """Bytes of the sections of a linked program."""
    said = subprocess.run(["avr-size", "-A", elf], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in said.splitlines()]
    return {row[0]: int(row[1]) for row in rows if len(row) == 3 and row[0].startswith(".")}


@needs_avr
@pytest.mark.parametrize("layout", LAYOUTS)
def test_measured_answers_are_the_hosts(iris: Any, layout: Any) -> None:
    model, X = iris
    chip = find_target("atmega2560")
    found = measure(model, X[::3], "atmega2560", layout)
    assert found.agreement == 1.0
    assert found.counted == "cycles"
    assert 0 < found.stack_bytes + found.ram_bytes <= chip.ram_bytes
    assert 0 < found.total_instructions < 1e6
    assert found.estimated_seconds == found.total_instructions / 16e6


@needs_avr
def test_a_model_that_overruns_the_ram_is_refused(iris: Any) -> None:
    model, X = iris
    rng = np.random.default_rng(0)
    wide = EtherealClassifier(60, epochs=2, random_state=0).fit(rng.random((300, 150)), np.arange(300) % 2)
    with pytest.raises(ModelTooLarge, match=r"needs \d+ bytes of RAM, \d+ more than the 2048 of atmega328p"):
        measure(wide.model_, rng.random((4, 150)), "atmega328p", "sliced")
    assert measure(model, X[:10], "atmega328p").agreement == 1.0


@needs_avr
def test_integers_on_an_avr(iris: Any) -> None:
    model, X = iris
    assert measure(model, X[::5], "atmega328p", "compact", input="uint8").agreement == 1.0


@needs_avr
def test_measure_on_the_command_line(iris: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    iris[0].save(tmp_path / "m.etm")
    monkeypatch.chdir(tmp_path)
    said = CliRunner().invoke(app, ["measure", "m.etm", "--target", "atmega328p", "--rows", "20"])
    assert said.exit_code == 0, said.output
    assert "cycles" in said.output
    monkeypatch.setenv("PATH", "")
    said = CliRunner().invoke(app, ["measure", "m.etm", "--target", "atmega328p", "--rows", "20"])
    assert said.exit_code == 1
    assert "apt-get install" in " ".join(said.output.split())


@needs_avr
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_self_test_of_an_ordinary_model_keeps_its_tables_in_flash(
    nineteen: Any, layout: Any, tmp_path: Path
) -> None:
    model, X = nineteen
    folder = export.c(model, tmp_path / "c", name="m", layout=layout, rows=X)
    (folder / "main.c").write_text("int m_self_test(void);\nint main(void) { return m_self_test(); }\n")
    flags = ["-mmcu=atmega2560", "-Os", "-D__STDC_HOSTED_OFF__", "-ffreestanding"]
    command = ["avr-gcc", *flags, "m.c", "m_test.c", "main.c", "-o", "test.elf"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    found = sizes(folder / "test.elf")
    assert found.get(".data", 0) < 100  # before: thousands of bytes of tables
    assert found.get(".bss", 0) < 3000


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("input", ["float", "int16"])
def test_compilers_have_nothing_to_say(
    iris: Any, nineteen: Any, compiler: str, input: Any, tmp_path: Path
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed; `make system` installs it where it may")
    for layout in LAYOUTS:
        for name, (model, X) in {"small": iris, "large": nineteen}.items():
            folder = export.c(
                model, tmp_path / f"{layout}-{name}", name="m", layout=layout, input=input, rows=X
            )
            command = [compiler, *COMPILERS[compiler], *STRICT, "-Os", "-c", "m.c", "m_test.c"]
            built = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            assert built.returncode == 0, built.stderr
