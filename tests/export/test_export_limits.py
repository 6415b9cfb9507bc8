"""What does not fit, what is missing, and flash whose bits flipped: said, not suffered."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from ethereal import export
from ethereal.device import TARGETS, EmulatedCore, compile_elf, measure
from ethereal.export import ModelTooLarge
from ethereal.export.c99.layouts import LAYOUTS, REGISTRY
from ethereal.export.c99.program import make_program
from ethereal.export.projects.writer import project_files
from random_models import random_model


def test_flash_that_does_not_suffice(tmp_path: Path) -> None:
    model, X = random_model(9, encoding=None, n_features=120, n_clauses=200, longest=5)
    bounds = {layout: make_program(model, layout).flash_bytes for layout in LAYOUTS}
    takes = {layout: measure(model, X[:2], layout=layout).flash_bytes for layout in LAYOUTS}
    small, large = takes["compact"], takes["fast"]
    assert small < large
    between = (small + large) // 2
    for write in (export.c, export.stm32f746g_disco):
        with pytest.raises(ModelTooLarge, match=rf"{large - between} more than the {between} .* fits: 'comp"):
            write(model, tmp_path / "x", layout="fast", flash=between)
        with pytest.raises(ModelTooLarge, match=r"'compact'.*ethereal.prune"):
            write(model, tmp_path / "x", flash=100)
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(ValueError, match=r"flash.*\b0\b.*\b1\b"):
            write(model, tmp_path / "x", flash=0)
        with pytest.raises(TypeError, match="flash is '8k'"):
            write(model, tmp_path / "x", flash="8k")
    assert (export.c(model, tmp_path / "x", flash=between) / "ethereal_compact.h").exists()
    with pytest.raises(ModelTooLarge, match=rf"{large - between} more than the {between}"):
        measure(model, X[:2], layout="fast", flash=between)
    # The estimate is no less than what the compiler makes of it.
    assert all(takes[layout] <= bounds[layout] for layout in LAYOUTS)


@pytest.mark.parametrize(("module", "message"), [("ziglang", "needs ziglang"), ("unicorn", "needs unicorn")])
def test_missing_tools_are_named(module: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, X = random_model(1)
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == module else find_spec(name, *a)
    )
    with pytest.raises(ModuleNotFoundError, match=rf"{message}. .* pip install 'ethereal-tm\[device\]'"):
        measure(model, X[:2])


@pytest.mark.parametrize("layout", [declared.name for declared in REGISTRY if declared.has_rows])
def test_a_flipped_bit_in_any_table_is_noticed(layout: Any) -> None:
    model, X = random_model(2, missing="some", n_features=9, n_bins=9, n_clauses=120, heaviest=5)
    files = project_files("c", make_program(model, layout, name="gate", rows=X))
    target = TARGETS["cortex-m7"]
    elf = compile_elf(files, target, ["gate_check"], optimize="-Os")
    core = EmulatedCore(elf, target)
    assert core.call("gate_check") == 1
    tables = re.findall(r"static const ET_FLASH \w+ (et_\w+)\[\d+\]", files["gate.c"])
    assert len(tables) >= 3
    for i, name in enumerate(tables):
        table = elf.symbols[name]
        for place in {0, table.size - 1}:
            whole = core.read(table.address + place, 1)
            core.write(table.address + place, bytes([whole[0] ^ 1 << i % 8]))
            assert core.call("gate_check") == 0, name
            core.write(table.address + place, whole)
    assert core.call("gate_check") == 1


def test_debug_information_takes_no_flash_and_changes_no_code() -> None:
    model, X = random_model(2, missing="some")
    files, target = make_program(model, "fast", name="gate").files, TARGETS["cortex-m7"]
    with_it, without = (compile_elf(files, target, ["gate_predict"], flags=f) for f in ([], ["-g0"]))
    assert (with_it.code_bytes, with_it.table_bytes) == (without.code_bytes, without.table_bytes)
    counts = []
    for elf in (with_it, without):
        core = EmulatedCore(elf, target)
        core.call("gate_predict", core.buffer(X[0]))
        counts.append(core.instructions)
    assert counts[0] == counts[1] > 0
