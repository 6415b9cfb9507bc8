"""One rule chooses the exported program, and every command shows the figures of that program."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_iris

from ethereal import EtherealClassifier, Model, export
from ethereal.chips.targets import Room
from ethereal.device import TARGETS, EmulatedCore, ModelTooLarge, compile_elf, measure, measure_layouts
from ethereal.export import choose
from ethereal.export.c99.layouts import LAYOUTS, REGISTRY
from ethereal.export.c99.program import make_program
from ethereal.model.needs import NotSupported
from ethereal.tuning import on_device
from ethereal_study.paper import device_rows, headline
from kept_builds import build
from random_models import random_model

M7 = TARGETS["cortex-m7"]


@pytest.fixture(scope="module")
def iris() -> tuple[Model, NDArray[Any]]:
    X, y = load_iris(return_X_y=True)
    return EtherealClassifier.paper(n_clauses=100, epochs=20, random_state=0).fit(X, y).model_, X


@pytest.fixture(scope="module")
def digits() -> tuple[Model, NDArray[Any]]:
    X, y = load_digits(return_X_y=True)
    machine = EtherealClassifier.paper(n_clauses=20, T=8, s=4.0, epochs=3, random_state=1)
    return machine.fit(X[:1000], y[:1000]).model_, X[1000:1032]


@pytest.fixture(scope="module")
def long_clause() -> tuple[Model, NDArray[np.bool_]]:
    """A clause of 299 literals; the layout "sliced" takes 256."""
    model = Model(np.arange(300), [0, 299, 300], [[1, 0], [0, 1]], n_booleans=400, classes=["a", "b"])
    return model, np.random.default_rng(0).random((30, 400)) < 0.9


def flash(program: Any, *more: str) -> int:
    elf = compile_elf(program.files, M7, [*program.entry_points, *more], optimize="-Os")
    return elf.code_bytes + elf.table_bytes


# --- the rule


def test_a_chip_with_room_gets_the_quick_program(iris: Any) -> None:
    model, X = iris
    by_layout = {m.name: m for m in measure_layouts(model, X)}
    auto = measure(model, X)
    assert auto == by_layout["fast"]
    assert 20 * auto.total_instructions < by_layout["compact"].total_instructions
    assert auto.flash_bytes < by_layout["compact"].flash_bytes + 2048


def test_simplifying_a_model_does_not_change_its_export(iris: Any, digits: Any) -> None:
    for model, _ in (iris, digits):
        assert model.simplify().n_includes < model.n_includes
        assert choose(model).files == choose(model.simplify()).files


def test_fast_does_not_take_flash_for_little(digits: Any) -> None:
    """Its quickest tables take twice the flash for a third fewer instructions: just not enough."""
    model, X = digits
    modest, lavish = (make_program(model, "fast", clause_bytes=most, rows=X) for most in (None, 1 << 20))
    assert choose(model, rows=X, flash=flash(modest)).files == modest.files
    assert flash(lavish) > 1.5 * flash(modest)
    assert flash(modest) < 2 * flash(make_program(model, "compact"))


@pytest.mark.slow
def test_less_flash_takes_smaller_and_slower_programs_until_none_fits(digits: Any) -> None:
    model, X = digits
    forms = [("straight", None), ("fast", None), ("fast", 0), ("compact", None)]
    sizes = [flash(make_program(model, layout, clause_bytes=most)) for layout, most in forms]
    assert sizes == sorted(sizes, reverse=True)
    for form, size in zip(forms, sizes, strict=True):
        program = choose(model, flash=size)
        assert (program.layout, program.clause_bytes) == form
        assert program.flash_bytes > size  # the estimate alone would have refused it
        assert measure(model, X, flash=size).flash_bytes == size
    with pytest.raises(ModelTooLarge, match=rf"takes {sizes[-1]} bytes of flash, 1 more than the"):
        choose(model, flash=sizes[-1] - 1)
    tried = [(f.layout, f.clause_bytes, f.bytes) for f in on_device(X)(model)]
    assert tried == [(*form, size) for form, size in zip(forms, sizes, strict=True)]


def test_the_chip_of_the_target_is_the_limit(digits: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model, X = digits
    least = flash(make_program(model, "compact"))
    chip = replace(TARGETS["cortex-m4"], flash_bytes=least + 200, start=Room(0, 0))
    monkeypatch.setitem(TARGETS, "cortex-m4", chip)
    assert choose(model).layout == "straight"
    assert choose(model, target="m4").layout == measure(model, X, "m4").name == "compact"
    assert choose(model, target="m4", flash=1 << 20).layout == "straight"


@pytest.mark.slow
def test_a_chip_without_the_ram_gets_the_next_program(monkeypatch: pytest.MonkeyPatch) -> None:
    model, X = random_model(5, encoding=None, n_features=600, n_clauses=1300, longest=3)
    budget = 8_000  # too little for "straight"
    fast = choose(model, flash=budget)
    assert fast.layout == "fast"
    least = measure(model, X[:5], layout="compact").stack_bytes
    assert least < fast.costs.stack_bytes
    monkeypatch.setitem(TARGETS, "cortex-m7", replace(M7, ram_bytes=least + 100))
    assert measure(model, X[:5], flash=budget).name == choose(model, flash=budget).layout == "compact"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_estimates_are_near_what_is_measured(layout: Any, iris: Any, digits: Any) -> None:
    for model, X in (iris, digits):
        program, measured = choose(model, layout, rows=X), measure(model, X, layout=layout, rows=X)
        code = program.costs.code_bytes
        assert measured.flash_bytes <= program.flash_bytes <= measured.flash_bytes + max(1000, 0.4 * code)
        assert measured.stack_bytes == pytest.approx(program.costs.stack_bytes, abs=130)
        assert measured.total_instructions == pytest.approx(program.costs.instructions, rel=0.4)


def test_without_a_compiler_the_estimate_decides_and_says_so(
    digits: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, _ = digits
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *_: None)
    bound = make_program(model, "compact").flash_bytes
    assert choose(model, flash=bound).layout == "compact"
    with pytest.raises(ModelTooLarge, match=rf"takes at most about {bound} bytes of flash, 1 more"):
        choose(model, flash=bound - 1)


def test_one_header_is_the_same_program(digits: Any, tmp_path: Path) -> None:
    model, _ = digits
    size = flash(make_program(model, "compact"))
    folder = export.c(model, tmp_path / "one", single_header=True, flash=size)
    assert '#define MODEL_LAYOUT "compact"' in (folder / "model.h").read_text()
    assert not (folder / "model.c").exists()


# --- a layout that cannot hold a model


def test_sliced_is_left_out_with_a_remark(long_clause: Any, call: Any, tmp_path: Path) -> None:
    model, X = long_clause
    remarks: list[str] = []
    layouts = [m.name for m in measure_layouts(model, X, remark=remarks.append)]
    assert layouts == ["compact", "fast", "straight", "redress"]
    assert len(remarks) == 1
    assert "'sliced' is left out: layout sliced takes up to 256 literals in a clause, but" in remarks[0]
    for attempt in (lambda: choose(model, "sliced"), lambda: measure(model, X, layout="sliced")):
        with pytest.raises(NotSupported, match=r"a clause of 299\. .* or fast or straight or redress\."):
            attempt()
    model.save(tmp_path / "long.etm")
    np.savez(tmp_path / "long.npz", X=X, y=np.arange(30) % 2)
    shown = call("measure", "long.etm", "long.npz", "--no-worst")
    assert "compact" in shown.stdout
    assert "'sliced' is left out" in shown.stderr
    assert (
        "layout compact or fast or straight or redress."
        in call("export", "long.etm", "--layout", "sliced", code=1).stderr
    )
    layouts = json.loads(call("measure", "long.etm", "long.npz", "--no-worst", "--json").stdout)
    assert [m["name"] for m in layouts] == ["compact", "fast", "straight", "redress"]


@pytest.mark.slow
def test_a_run_does_not_fail_because_of_a_layout(call: Any, tmp_path: Path) -> None:
    """Many Boolean columns and few rows make clauses that are too long for "sliced"."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    X = rng.random((80, 1500)) < 0.02
    X[y == 1, ::2] = True
    np.savez(tmp_path / "wide.npz", X=X, y=y)
    call("run", "wide.npz", "--quick", "--clauses", 10, "--epochs", 2, "--s", 40, "--paper", "--no-forest")
    device = json.loads((tmp_path / "runs/wide/stages/device.json").read_text())
    assert device["exported"] == "fast"
    assert "literals" in device["left_out"]["sliced"]
    assert "Left out: ETHEREAL, sliced" in (tmp_path / "runs/wide/report.html").read_text()


@pytest.mark.slow
def test_a_run_ends_with_a_report_when_no_program_fits(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        TARGETS, "cortex-m4", replace(TARGETS["cortex-m4"], flash_bytes=300, start=Room(0, 0))
    )
    shown = call("run", "digits", "--quick", "--clauses", 4, "--epochs", 2, "--target", "m4").stdout
    board = json.loads((tmp_path / "runs/digits/stages/board.json").read_text())
    assert board["exported"] is None
    assert "No layout fits" in board["left_out"]["the exported C"]
    assert "Left out: the exported C" in shown
    assert "No layout fits" in (tmp_path / "runs/digits/report.html").read_text()


# --- the check at start-up


def test_flash_counts_the_check_and_the_check_keeps_no_table_of_class_sums(iris: Any) -> None:
    model, X = iris
    program = choose(model)
    assert "#define ET_CELLS 0" not in program.files["model.c"]  # the class of every row is in a table
    predict = compile_elf(program.files, M7, ["model_predict"], optimize="-Os")
    both = compile_elf(program.files, M7, ["model_predict", "model_check"], optimize="-Os")
    assert "et_cells" in both.symbols
    assert not {"et_masks", "et_lists", "et_nodes"} & set(both.symbols)
    added = flash(program) - predict.code_bytes - predict.table_bytes
    assert 0 < added < 250
    assert measure(model, X).flash_bytes == flash(program) < flash(program, "model_check_all")


# "redress" has no such table, and "straight" has none at all.
@pytest.mark.parametrize(
    "layout", [declared.name for declared in REGISTRY if declared.has_rows and not declared.by_name]
)
def test_every_bit_is_checked_by_one_of_the_checks(layout: Any) -> None:
    model, _ = random_model(4, encoding="onehot", n_features=3, n_bins=4, n_clauses=60)
    program = make_program(model, layout)
    elf = compile_elf(program.files, M7, ["model_check", "model_check_all"], optimize="-Os")
    machine = EmulatedCore(elf, M7)
    assert machine.call("model_check") == machine.call("model_check_all") == 1
    tables = re.findall(r"static const ET_FLASH \w+ (et_\w+)\[\d+\]", program.files["model.c"])
    used = set(compile_elf(program.files, M7, ["model_predict"], optimize="-Os").symbols)
    unused = set(tables) - used
    assert "et_cells" in used
    assert unused
    for name in tables:
        address = elf.symbols[name].address
        whole = machine.read(address, 1)
        machine.write(address, bytes([whole[0] ^ 4]))
        assert machine.call("model_check_all") == 0
        assert machine.call("model_check") == (name in unused)
        machine.write(address, whole)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_table_of_all_rows_with_gcc(layout: Any, iris: Any, tmp_path: Path) -> None:
    compiler = shutil.which("gcc") or shutil.which("cc")
    assert compiler, "a C compiler builds the package, so there is one"
    model, X = iris
    folder = export.c(model, tmp_path / "c", layout=layout, rows=X)
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-O2"]
    built = build([compiler, *flags, "model.c", "model_test.c", "-o", "test"], folder, "test")
    assert built.returncode == 0, built.stderr
    done = subprocess.run(["./test"], cwd=folder, capture_output=True, text=True, check=True)
    assert "16 golden rows, 0 failures" in done.stdout


# --- what the commands show


def test_export_shows_what_it_wrote(iris: Any, call: Any, tmp_path: Path) -> None:
    model, X = iris
    model.save("iris.etm")
    np.savez("rows.npz", X=X, y=np.zeros(len(X), dtype=int))
    takes = json.loads(call("export", "iris.etm", "--rows", "rows.npz", "--json").stdout)
    measured = measure(model, X, rows=X)
    assert (takes["layout"], takes["target"], takes["measured"]) == ("fast", "cortex-m7", True)
    assert takes["flash_bytes"] == measured.flash_bytes
    assert (takes["ram_bytes"], takes["stack_bytes"]) == (measured.ram_bytes, measured.stack_bytes)
    assert takes["instructions"] == pytest.approx(measured.total_instructions, rel=0.1)  # of 64 rows
    assert (tmp_path / "iris-c" / "ethereal_fast.h").exists()
    shown = call("export", "iris.etm", "--out", "again").stdout
    told = (
        rf"layout fast on a cortex-m7: {measured.flash_bytes:,} bytes of flash, 0 bytes of RAM, \d+ bytes of"
    )
    told += r" stack, [\d,]+ instructions per row \([\d,]+ at most, measured on 64 rows near"
    assert re.search(told, shown)
    least = flash(make_program(model, "compact"))
    shown = call("export", "iris.etm", "--flash", least, "--out", "small").stdout
    assert f"layout compact on a cortex-m7: {least:,} bytes of flash" in shown
    refused = call("export", "iris.etm", "--flash", least - 1, "--out", "none", code=1).stderr
    assert "1 more than" in refused
    assert "ethereal tune DATA --flash" in refused


def test_export_without_an_emulator_estimates(iris: Any, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = iris
    model.save("iris.etm")
    find_spec = importlib.util.find_spec
    hidden = ("ziglang", "unicorn")
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name in hidden else find_spec(name, *a)
    )
    shown = call("export", "iris.etm").stdout
    assert re.search(r"at most about [\d,]+ bytes of flash, .* \(estimated: .*ethereal-tm\[device\]", shown)


def test_measure_says_how_many_rows_it_speaks_of(iris: Any, call: Any) -> None:
    model, X = iris
    model.save("iris.etm")
    np.savez("rows.npz", X=X, y=np.zeros(len(X), dtype=int))
    quick = ("--layout", "fast", "--no-worst")
    shown = " ".join(call("measure", "iris.etm", "rows.npz", "--max-rows", 40, *quick).stdout.split())
    assert "40 of 40" in shown
    assert "equal to this computer's on 40 of 40 rows tried of 150 rows" in shown


# --- the report


def _machine(includes: int) -> dict[str, Any]:
    sizes = {"compact": 10, "redress": 20}
    return {
        "accuracy": 0.9,
        "includes": includes,
        "simplified": {"includes": includes},
        "bytes": sizes,
        "bytes_trained": sizes,
        "rows_per_second": 1.0,
    }


def _program(name: str, n: int) -> dict[str, Any]:
    return {
        "name": name,
        "total_instructions": 100 * n,
        "flash_bytes": 10_000 + n,
        "ram_bytes": n,
        "stack_bytes": 50,
        "agreement": 1.0,
    }


def test_the_cards_show_the_exported_program_and_vanilla_in_the_same_layout() -> None:
    names = ("compact", "fast", "sliced", "vanilla scan", "scan", "vanilla")
    measured = [_program(name, i + 1) for i, name in enumerate(names)]
    device = {"target": "m7", "rows": 30, "exported": "fast", "left_out": {}, "measured": measured}
    cards = headline(_machine(124), _machine(100), device)
    board = {title: (value, dict(others)) for title, value, others in cards if "layout fast" in title}
    expected = {"Instructions": ("200", "600"), "Flash": ("10,002 bytes", "10,006 bytes")}
    expected |= {"RAM": ("52 bytes", "56 bytes")}
    assert len(board) == len(expected)
    for title, (value, others) in board.items():
        match, vanilla = expected[re.match(r"\w+", title)[0]]  # type: ignore[index]
        assert (value, others["vanilla, fast"]) == (match, vanilla)
    includes = next(others for title, _, others in cards if title == "Includes")
    assert ("more", "24 %") in includes
    rows = device_rows(device)
    assert rows[0] == ["ETHEREAL, fast, chosen", "200", "10,002", "2", "50", "30 of 30"]


def test_a_run_shows_the_program_that_it_exports(call: Any, tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    np.savez("iris.npz", X=X, y=y)
    shown = call("run", "iris.npz", "--quick", "--clauses", "4", "--epochs", "4", "--no-forest").stdout
    folder = tmp_path / "runs" / "iris"
    board = json.loads((folder / "stages" / "board.json").read_text())
    assert f'_LAYOUT "{board["exported"]}"' in (folder / "c" / "model.h").read_text()
    measured = board["measured"]["model"]
    files = {p.name: p.read_text() for p in (folder / "c").glob("*.[ch]") if p.name != "model_test.c"}
    elf = compile_elf(files, M7, ["model_predict", "model_check"], optimize="-Os")
    assert measured["flash_bytes"] == elf.code_bytes + elf.table_bytes
    assert measured["total_instructions"] >= measured["instructions"]
    for text in (shown, (folder / "report.html").read_text()):
        assert f"{measured['total_instructions']:,.0f}" in text
