"""Exported models on emulated cores: agreement on every target, costs, baselines, the paper's board."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from typer.testing import CliRunner

from ethereal import EtherealClassifier, Model, datasets, export
from ethereal.chips.targets import Room
from ethereal.cli import app
from ethereal.device import (
    TARGETS,
    DeviceFault,
    Elf,
    EmulatedBoard,
    EmulatedCore,
    Estimate,
    ModelTooLarge,
    compile_elf,
    measure,
    measure_layouts,
    measure_program,
)
from ethereal.device.baselines import forest_program, redress_scan
from ethereal.export.c99.layouts import LAYOUTS, find_layout
from ethereal.export.c99.program import make_program
from ethereal.export.projects.writer import project_files
from ethereal_study.baselines import BinaryNetwork, bnn
from ethereal_study.settings import SETTINGS
from random_models import random_model
from thinned import few, thinned


@pytest.fixture(scope="module")
def few_clauses() -> Model:
    """A model of digits that can be followed for all rows in a moment."""
    X, y = load_digits(return_X_y=True)
    return EtherealClassifier.paper(n_clauses=2, T=2, s=4.0, epochs=1, random_state=1).fit(X, y).model_


@pytest.fixture(scope="module")
def digits() -> tuple[Model, NDArray[Any], NDArray[Any]]:
    X, y = load_digits(return_X_y=True)
    machine = EtherealClassifier.paper(n_clauses=20, T=8, s=4.0, epochs=3, random_state=1).fit(
        X[:1000], y[:1000]
    )
    return machine.model_, X[:1000], X[1000:].astype(np.float32)


@pytest.mark.parametrize(
    "layout, target",
    thinned(LAYOUTS, [name for name, chip in TARGETS.items() if chip.isa != "avr"], one_in=3),
)
def test_every_layout_agrees_on_every_target(layout: Any, target: str, digits: Any) -> None:
    model, train, test = digits
    measured = measure(model, test[:60], target, layout, rows=train)
    assert measured.agreement == 1.0
    assert (measured.name, measured.target, measured.n_rows) == (layout, target, 60)
    assert 0 < measured.instructions_min <= measured.instructions <= measured.instructions_max
    has_rows = find_layout(layout).has_rows
    assert (measured.booleanize_instructions > 0) == has_rows
    assert measured.ram_bytes == 0
    assert 0 < measured.stack_bytes < TARGETS[target].ram_bytes
    assert (measured.clause_flash_bytes < measured.flash_bytes) == has_rows


@pytest.mark.parametrize(
    "encoding, target",
    thinned([None, "onehot", "thermometer"], ["cortex-m0plus", "cortex-m7", "riscv32"], one_in=3),
)
def test_random_models_agree(encoding: str | None, target: str) -> None:
    model, X = random_model(11, encoding=encoding, missing="some", heaviest=5, n_features=12)
    for layout in LAYOUTS:
        assert measure(model, X, target, layout).agreement == 1.0


def test_counts_are_the_same_in_every_run(digits: Any) -> None:
    model, train, test = digits
    first, second = (measure(model, test[:20], layout="fast", rows=train) for _ in range(2))
    assert first == second
    both = measure(model, np.concatenate([test[:10], test[:10]]), layout="fast", rows=train)
    half = measure(model, test[:10], layout="fast", rows=train)
    assert both.instructions == half.instructions


def test_against_the_redress_scan(digits: Any) -> None:
    model, train, test = digits
    scan = measure_program(redress_scan(model, test[:64]))
    assert scan.agreement == 1.0
    by_name = {m.name: m for m in measure_layouts(model, test[:64], rows=train)}
    assert by_name["fast"].instructions < scan.instructions / 8
    assert by_name["fast"].clause_flash_bytes <= scan.flash_bytes + 2048  # a small model
    # A model of 200 short clauses, where code weighs more than in the paper's.
    assert by_name["compact"].clause_flash_bytes < 0.8 * scan.flash_bytes
    assert by_name["sliced"].instructions < scan.instructions / 20


@pytest.mark.parametrize("name", [pytest.param("statlog", marks=pytest.mark.slow), "mammography"])
def test_the_papers_models_against_their_redress_words(name: str) -> None:
    if not os.environ.get("ETHEREAL_DATA"):
        pytest.skip("the data set is not there (ETHEREAL_DATA)")
    settings, data = SETTINGS[name], datasets.load(name)
    machine = EtherealClassifier.paper(
        settings.n_clauses, settings.T, settings.s, epochs=settings.epochs,
        exclude_every=settings.exclude_every, booleanizer=settings.booleanizer(), random_state=0,
    )  # fmt: skip
    model = machine.fit(data.X[~data.test], data.y[~data.test]).model_
    rows = data.X[data.test][:64]
    scan = measure_program(redress_scan(model, rows))
    by_layout = {m.name: m for m in measure_layouts(model, rows)}
    assert all(m.agreement == 1.0 for m in (scan, *by_layout.values()))
    assert by_layout["fast"].instructions <= scan.instructions / 8
    assert by_layout["fast"].clause_flash_bytes <= scan.flash_bytes
    assert by_layout["compact"].clause_flash_bytes <= 0.6 * scan.flash_bytes
    assert by_layout["sliced"].instructions <= scan.instructions / 50


def test_estimates_follow_from_the_kinds_of_instructions(digits: Any) -> None:
    model, _, test = digits
    measured = measure(model, test[:5], layout="compact", estimate=Estimate(1e6, 2, 0.5))
    assert measured.mix["instructions"] == measured.total_instructions
    waits = 2 * (measured.mix["jumps"] + measured.mix["loads"])
    without = replace(measured, estimate=Estimate(1e6, 0, 0.5)).estimated_cycles
    assert measured.total_instructions < without == pytest.approx(measured.estimated_cycles - waits)
    assert measured.estimated_seconds == pytest.approx(measured.estimated_cycles / 1e6)
    assert measured.as_dict()["estimated_cycles"] == measured.estimated_cycles
    # A call of its own for each of the two steps costs little.
    in_steps = measured.instructions + measured.booleanize_instructions
    assert measured.total_instructions == pytest.approx(in_steps, rel=0.01)
    assert measured.estimated_joules == pytest.approx(measured.estimated_seconds / 2)


def test_few_different_rows_become_a_table() -> None:
    model, X = random_model(4, encoding="onehot", n_features=3, n_bins=4, n_clauses=60)
    by_layout = {m.name: m for m in measure_layouts(model, X)}
    assert all(m.agreement == 1.0 for m in by_layout.values())
    assert by_layout["fast"].instructions < 60


def test_forest_agrees_with_scikit_learn() -> None:
    X, y = load_digits(return_X_y=True)
    X = X + np.random.default_rng(0).random(X.shape) * 0.3
    estimator = RandomForestClassifier(10, max_depth=8, random_state=0).fit(X[:1000], y[:1000])
    baseline = forest_program(estimator, X[1000:1200])
    measured = measure_program(baseline)
    assert measured.agreement == 1.0
    assert measured.instructions > 10 * 8
    assert (baseline.expected == y[1000:1200]).mean() > 0.85


@pytest.mark.parametrize("target", ["cortex-m0plus", "cortex-m7"])
def test_bnn_agrees_with_the_host(target: str) -> None:
    rng = np.random.default_rng(3)
    signs = lambda *shape: rng.choice([-1, 1], shape)  # noqa: E731
    network = BinaryNetwork(signs(70, 50), rng.integers(-8, 8, 50), signs(50, 4), np.arange(4))
    rows = rng.random((60, 70)) < 0.5
    assert len(np.unique(network.predict(rows))) > 1
    assert measure_program(bnn(network, rows), target).agreement == 1.0
    with pytest.raises(ValueError, match="hidden must be a matrix of"):
        bnn(BinaryNetwork(np.zeros((2, 2)), np.zeros(2), signs(2, 2), np.arange(2)), rows[:, :2])


def test_self_test_and_checksum_on_the_device() -> None:
    model, X = random_model(2, missing="some")
    files = project_files("c", make_program(model, "fast", name="gate", rows=X))
    elf = compile_elf(files, TARGETS["cortex-m0plus"], ["gate_self_test", "gate_check"], optimize="-Os")
    machine = EmulatedCore(elf, TARGETS["cortex-m0plus"])
    assert machine.call("gate_self_test") == 0
    table = elf.symbols["et_thresholds"].address
    for bit in (0, 13):
        broken = EmulatedCore(elf, TARGETS["cortex-m0plus"])
        byte = bytearray(broken.read(table + bit // 8, 1))
        byte[0] ^= 1 << bit % 8
        broken.write(table + bit // 8, bytes(byte))
        assert broken.call("gate_check") == 0
        assert broken.call("gate_self_test") > 0


@pytest.mark.slow
def test_too_large_says_by_how_much_and_what_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    model, X = random_model(9, encoding=None, n_features=120, n_clauses=400, longest=5)
    small = {m.name: m for m in measure_layouts(model, X[:3])}
    limit = (small["compact"].flash_bytes + small["fast"].flash_bytes) // 2
    chip = replace(TARGETS["cortex-m7"], flash_bytes=limit, start=Room(0, 0))
    monkeypatch.setitem(TARGETS, "cortex-m7", chip)
    excess = small["fast"].flash_bytes - limit
    with pytest.raises(
        ModelTooLarge, match=rf"takes {small['fast'].flash_bytes} bytes of flash, {excess} more"
    ):
        measure(model, X[:3], layout="fast")
    with pytest.raises(ModelTooLarge, match=r"What fits: 'compact' \("):
        measure(model, X[:3], layout="fast")
    assert measure(model, X[:3], layout="auto").name == "compact"
    with pytest.warns(UserWarning, match="Layout 'fast'.*'compact'"):
        assert [m.name for m in measure_layouts(model, X[:3])] == ["compact"]
    monkeypatch.setitem(TARGETS, "cortex-m7", replace(chip, flash_bytes=1 << 20, ram_bytes=4096))
    with pytest.raises(ModelTooLarge, match=r"\d+.*RAM, \d+.*\b4096\b"):
        measure(model, X[:3], layout="sliced")
    monkeypatch.setitem(TARGETS, "cortex-m7", replace(chip, flash_bytes=500))
    with pytest.raises(ModelTooLarge, match="No layout fits"):
        measure_layouts(model, X[:3])


def test_rows_that_are_not_there(digits: Any) -> None:
    model, _, test = digits
    with pytest.raises(ValueError, match="X has no rows"):
        measure(model, test[:0])
    with pytest.raises(ValueError, match="layout is 'quick'"):
        measure(model, test[:2], layout="quick")  # type: ignore[arg-type]


ZIG = f"{sys.executable} -m ziglang cc -target thumb-freestanding-eabi -mcpu=cortex_m7 -fno-sanitize=all"


@pytest.mark.parametrize("layout", few(["straight", "compact", "fast"]))
def test_the_papers_board_boots_and_predicts(layout: Any, digits: Any, tmp_path: Path) -> None:
    model, train, _ = digits
    folder = export.stm32f746g_disco(model, tmp_path / "board", name="digits", layout=layout, rows=train)
    cache = {"ZIG_GLOBAL_CACHE_DIR": str(tmp_path / "zig"), "ZIG_LOCAL_CACHE_DIR": str(tmp_path / "zig")}
    built = subprocess.run(
        ["make", "zig", f"ZIG={ZIG}"],
        cwd=folder,
        env=os.environ | cache,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert "warning" not in built.stderr
    run = EmulatedBoard(Elf((folder / "digits.elf").read_bytes()), TARGETS["cortex-m7"]).run()
    assert run.succeeded
    assert run.text.count("WRONG") == 0
    assert run.text.endswith("16 of 16 golden rows right\n")
    classes = [int(line.split()[3].rstrip(",")) for line in run.text.splitlines()[:-1]]
    rows = train.astype(np.float32)[:: len(train) // 16][:16]
    assert classes == model.class_sums(rows).argmax(axis=1).tolist()
    # The counter there has the cycles that `measure` estimates, and those of printing a row before.
    cycles = [int(line.split()[-1]) for line in run.text.splitlines()[:-1]]
    expected = measure(model, rows, layout=layout, rows=train).estimated_cycles
    assert np.mean(cycles) == pytest.approx(expected, rel=0.1)


def test_a_board_that_never_ends_is_a_fault() -> None:
    code = """
    #include <stdint.h>
    void reset(void);
    __attribute__((section(".vectors"), used)) static const uintptr_t vectors[] = {
        0x20001000u, (uintptr_t)reset};
    void reset(void) { *(volatile uint32_t *)0x40000000u = 1; }
    """
    script = """SECTIONS {
      .text 0x08000000 : { KEEP(*(.vectors)) *(.text .text.*) }
      /DISCARD/ : { *(.ARM.exidx*) }
    }"""
    elf = compile_elf({"a.c": code}, TARGETS["cortex-m7"], ["reset"], linker_script=script)
    with pytest.raises(DeviceFault, match="failed in reset"):
        EmulatedBoard(elf, TARGETS["cortex-m7"]).run()


def test_commands(few_clauses: Model, tmp_path: Path) -> None:
    model = few_clauses
    path = tmp_path / "digits.etm"
    model.save(path)
    named = tmp_path / "named.etm"
    model.with_feature_names([f"a{i}" for i in range(64)]).save(named)
    runner = CliRunner()
    out = str(tmp_path / "out")
    done = runner.invoke(app, ["export", str(path), "--out", out, "--rows", "digits", "--names", "--json"])
    assert done.exit_code == 0, (done.output, done.exception)
    assert "digits.c" in json.loads(done.output)["files"]
    again = runner.invoke(app, ["export", str(path), "--out", out])
    assert again.exit_code == 1
    assert "--force" in again.output
    board = runner.invoke(
        app, ["export", str(path), "--to", "stm32f746g-disco", "--out", str(tmp_path / "b")]
    )
    assert board.exit_code == 0, board.output
    for arguments, message in (
        (["export", str(path), "--to", "fpga"], "--to is 'fpga'"),
        (
            ["export", str(path), "--to", "micropython", "--layout", "fast"],
            "layout is 'fast'. MicroPython has auto and redress.",
        ),
        (["export", str(path), "--out", out + "2", "--flash", "8 kilo"], "--flash is '8 kilo'"),
        (["measure", str(path), "--target", "cortex-m9"], "unknown target 'cortex-m9'"),
        (["measure", str(path), "iris.xyz"], "iris.xyz"),
        (["measure", str(named), "digits"], "digits: lacks the columns 'a0', 'a1'"),
    ):
        failed = runner.invoke(app, arguments)
        assert failed.exit_code == 1
        assert message in failed.output
    table = runner.invoke(app, ["measure", str(path), "digits", "--max-rows", "10", "--redress"])
    assert table.exit_code == 0, table.output
    assert "redress scan" in table.output
    assert "at 216 MHz" in table.output
    assert max(map(len, table.output.splitlines())) <= 80
    for text in ("program", "accuracy", "instructions", "on 10 of 10 rows tried", "Booleanizing included"):
        assert text in table.output
    wide = runner.invoke(
        app, ["measure", str(path), "digits", "--max-rows", "10", "--layout", "fast", "--all", "--no-worst"]
    )
    assert all(text in wide.output for text in ("energy", "cycles", "clauses", "10 of 10"))
    facts = runner.invoke(app, ["measure", str(path), "--layout", "auto", "--max-rows", "8", "--json"])
    assert facts.exit_code == 0, facts.output
    assert json.loads(facts.output)[0]["agreement"] == 1.0
    assert json.loads(facts.output)[0]["accuracy"] is None
