"""Layouts of the C are asked, never guessed by their name, and say themselves what they cannot hold."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

import ethereal
from ethereal import Model
from ethereal.export import LAYOUTS, ExportOptions, choose, make_program
from ethereal.export.c99.choose import programs
from ethereal.export.c99.layouts import REGISTRY, find_layout
from ethereal.model.needs import NotSupported
from random_models import random_model

SOURCE = Path(ethereal.__file__).parent
OUTSIDE = [
    path
    for layer in ("export", "device", "tuning", "runs", "cli")
    for path in sorted((SOURCE / layer).rglob("*.py"))
    if not path.is_relative_to(SOURCE / "export/c99/layouts")
]


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda p: str(p.relative_to(SOURCE)))
def test_nothing_outside_its_folder_compares_with_the_name_of_a_layout(path: Path) -> None:
    compared = [
        (node.lineno, text.value)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Compare)
        for text in ast.walk(node)
        if isinstance(text, ast.Constant) and text.value in LAYOUTS
    ]
    assert compared == []


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_folder_has_what_a_layout_needs(layout: str) -> None:
    folder, declared = SOURCE / "export/c99/layouts" / layout, find_layout(layout)
    expected = {f"{layout}.h", "__init__.py"}
    assert expected <= {path.name for path in folder.iterdir()}
    assert declared.supports.consumer == f"layout {layout}"
    assert (
        (declared.rows_per_call == 32)
        == (folder / "predict.c.in").exists()
        == (folder / "batch.c.in").exists()
    )
    assert declared.has_rows == (not (folder / "model.c.in").exists())


def test_auto_passes_over_a_layout_that_cannot_hold_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = random_model(1)
    assert choose(model).layout == "straight"
    strict = tuple(
        replace(declared, supports=replace(declared.supports, longest_clause=0))
        if declared.name in ("fast", "straight")
        else declared
        for declared in REGISTRY
    )
    for module in ("layouts", "choose", "program"):
        monkeypatch.setattr(f"ethereal.export.c99.{module}.REGISTRY", strict)
    assert choose(model).layout == "compact"
    with pytest.raises(NotSupported, match=r"layout fast takes up to 0 literals .* layout compact or sliced"):
        choose(model, "fast")
    with pytest.raises(NotSupported, match=r"layout fast.*\b0\b"):
        make_program(model, "fast")


def test_a_model_that_no_layout_holds_is_refused_with_the_remedy() -> None:
    model = random_model(1)[0].with_clauses([0], [0, 1], [[1 << 25, 0, 0]])
    with pytest.raises(NotSupported, match=r"layout compact.*\b32767\b"):
        choose(model)


def test_the_papers_words_are_on_the_board_and_only_by_name() -> None:
    model, _ = random_model(3, heaviest=3)
    program = make_program(model, "redress", name="m")
    small = program.slots.model
    words = int(small.clauses.redress_words().sum())
    assert f"et_words[{words}]" in program.files["m.c"]
    assert "redress" not in {program.layout for program, _ in programs(model, ExportOptions())}
    for flash in (None, program.flash_bytes, 10 * program.flash_bytes):
        assert choose(model, flash=flash).layout != "redress"


def test_too_many_words_are_refused_before_they_are_written() -> None:
    model = Model(range(100), [0, 100], [[32767]], n_booleans=100, classes=["x"])
    with pytest.raises(NotSupported, match=r"takes 3276700 REDRESS.*\b2097152\b"):
        make_program(model, "redress")
    wide = Model([0], [0, 1], [[1]], n_booleans=8193, classes=["x"])
    with pytest.raises(NotSupported, match=r"redress takes up to 8192 Booleans, but .* 8193. .* compact or"):
        make_program(wide, "redress")
