"""Projects are folders with a `project.json`, and their options are those of all exports."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from ethereal import export
from ethereal.export import projects
from ethereal.export.c99.ctext import filled
from ethereal.export.projects import PROJECTS
from ethereal.export.projects.writer import find_project, texts_for
from random_models import random_model


@pytest.mark.parametrize("name", PROJECTS)
def test_every_file_of_a_folder_is_written_and_every_value_filled(name: str, tmp_path: Path) -> None:
    project = find_project(name)
    assert project.places.keys() <= texts_for(project.texts, ["learn"]).keys()
    model, X = random_model(1)
    folder = export.project(model, tmp_path / "x", name, name="gate", rows=X)
    written = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    places = (project.places.get(file, file.removesuffix(".in")) for file in texts_for(project.texts, ()))
    there = {filled(place, {"name": "gate", "sketch": "Classify"}) for place in places}
    assert {*there, f"{project.sources}gate.h"} <= written.keys()
    assert not [path for path, file in written.items() if "@name@" in path or "@name@" in file.read_text()]


@pytest.mark.parametrize("name", PROJECTS)
def test_options_that_do_not_exist_are_refused_by_name(name: str, tmp_path: Path) -> None:
    model, _ = random_model(1)
    with pytest.raises(TypeError, match=rf"{name}\(\) has no option 'flas'. Its options are .*flash"):
        export.project(model, tmp_path / "x", name, flas=100)
    for key, value in find_project(name).fixed.items():
        with pytest.raises(TypeError, match=rf"{name}\(\) has no option '{key}'\. It is always {value!r}"):
            export.project(model, tmp_path / "x", name, **{key: value})
    assert list(tmp_path.iterdir()) == []


def test_unknown_projects_and_options(tmp_path: Path) -> None:
    model, X = random_model(1)
    with pytest.raises(ValueError, match=r"project is 'fpga'\. It must be one of arduino, c, "):
        export.project(model, tmp_path / "x", "fpga")
    for function in (export.choose, export.make_program):
        with pytest.raises(TypeError, match=r"\(\) has no option 'max_bytes'. Its options are layout"):
            function(model, "fast", max_bytes=0)
    with pytest.raises(ValueError, match=r"flash.*\b4096\b.*clause_bytes.*\b0\b"):
        export.c(model, tmp_path / "x", flash=4096, clause_bytes=0)
    from ethereal.device import measure

    with pytest.raises(TypeError, match="'layuot'"):
        measure(model, X, layuot="fast")


def test_a_new_board_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Any) -> None:
    """With templates and a `project.json`, and nothing else. The command measures on the board's own core."""
    board = tmp_path / "projects" / "my_board"
    board.mkdir(parents=True)
    (board / "project.json").write_text(
        '{"about": "mine", "sources": "lib/", "places": {"about.in": "@name@.txt"}, '
        '"fixed": {"target": "cortex-m4"}}'
    )
    (board / "about.in").write_text("@name@ has @classes@ classes in the layout @layout@")
    (board / "start.c").write_text("/* @kept@ */")
    monkeypatch.setattr(projects, "HOME", board.parent)
    monkeypatch.setattr(projects, "PROJECTS", (*PROJECTS, "my_board"))
    model, _ = random_model(1, n_classes=3)
    folder = export.project(model, tmp_path / "out", "my_board", name="gate")
    assert (folder / "gate.txt").read_text() == "gate has 3 classes in the layout straight"
    assert (folder / "start.c").read_text() == "/* @kept@ */"
    assert (folder / "lib/gate.h").exists()
    monkeypatch.setattr("ethereal.cli.export.FORMS", ("my-board",))
    model.save("m.etm")
    assert "on a cortex-m4: " in call("export", "m.etm", "--to", "my-board").stdout


def test_commands_offer_the_options_of_the_dataclass(call: Any) -> None:
    shown = call("export", "--help").stdout
    for option in fields(export.ExportOptions):
        if "help" in option.metadata:
            flag = next(iter(option.metadata["flags"]), f"--{option.name.replace('_', '-')}")
            assert flag.split("/")[0] in shown
    random_model(1)[0].save("m.etm")
    for words, message in (
        (["--to", "stm32f746g-disco", "--target", "m4"], "--target is not an option of --to stm32"),
        (["--code", "viper"], "--code is not an option of --to c"),
    ):
        assert message in call("export", "m.etm", *words, code=1).stderr


def test_an_export_does_not_load_scikit_learn(tmp_path: Path) -> None:
    random_model(1)[0].save(tmp_path / "m.etm")
    program = """
import sys
from ethereal import Model, export
model = Model.load("m.etm")
for name in ("c", "arduino", "zephyr", "stm32f746g_disco", "micropython"):
    getattr(export, name)(model, name)
assert not [name for name in sys.modules if name.split(".")[0] == "sklearn"]
"""
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
