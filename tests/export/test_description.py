"""The JSON beside an export says what the model is, under keys that stay."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ethereal import Model, export
from ethereal.export.description import described
from ethereal.export.projects import PROJECTS
from old_ranges import with_ranges
from random_models import random_model
from windows import everything, hard_windows, model_of

KEYS = {"format", "format_version", "name", "form", "made_by", "answers", "inputs", "windows", "model"}
KEYS |= {"code", "limits"}
OF_AN_INPUT = {"name", "unit", "used", "low", "high", "lowest_threshold", "highest_threshold"}
OF_AN_INPUT |= {"may_be_missing", "categories"}
OF_A_PROGRAM = {"layout", "input_type", "scales", "functions", "checksum", "target", "measured", "clock_hz"}
OF_A_PROGRAM |= {"flash_bytes", "ram_bytes", "stack_bytes", "instructions", "instructions_max"}


def read(folder, name="gate"):
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("project", PROJECTS)
def test_every_project_has_it(project, tmp_path):
    model, X = random_model(1, missing="some")
    model = with_ranges(model, X[:40])
    folder = export.project(model, tmp_path / "x", project, name="gate")
    record = read(folder)
    assert record.keys() == KEYS
    assert record["code"].keys() == OF_A_PROGRAM
    assert all(one.keys() == OF_AN_INPUT for one in record["inputs"])
    assert record["form"] == project.replace("_", "-")
    assert record["answers"]["classes"] == model.classes.tolist()
    header = next(folder.rglob("gate.h")).read_text()
    assert f"0x{record['code']['checksum']}u" in header
    assert [one["name"] for one in record["inputs"]] == list(model.input_names)
    first = record["inputs"][0]
    assert first["low"] == model.seen.low[0]
    assert first["low"] <= first["highest_threshold"]


def test_scales_are_those_of_the_c(tmp_path):
    model, X = random_model(1)
    record = read(export.c(model, tmp_path / "x", name="gate", input="int16", rows=X))
    scales = [one["factor"] for one in record["code"]["scales"]]
    program = export.make_program(model, "straight", input="int16")
    assert scales == [scale.factor for scale in program.scales]
    assert record["code"]["input_type"] == "int16"


def test_windows_unknown_and_micropython(tmp_path):
    windows = hard_windows(64, 3, n_random=3)
    units = ("g", "g", "g")
    extractor = everything(3, axes=("ax", "ay", "az"), rate=50, scale=(1000,) * 3, units=units).fit(windows)
    model = model_of(extractor, windows).with_unknown(3)
    record = read(export.micropython(model, tmp_path / "x", name="gate"))
    assert record["code"].keys() == {"code", "floats", "checksum", "table_bytes"}
    assert record["inputs"] == []
    assert record["windows"]["samples"] == 64
    assert record["windows"]["axes"][1] == {
        "name": "ay",
        "unit": "g",
        "counts_per_unit": 1000,
        "type": "int16",
    }
    assert record["answers"]["unknown"] == {"number": model.n_classes, "margin": 3}
    with pytest.raises(ValueError, match=r"package\.json"):
        export.micropython(model, tmp_path / "y", name="package")


def test_any_name_is_written():
    names = ["a\ud800", '"</script>\u2028']
    model = Model([0, 1], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=[1, 2], feature_names=names)
    text = described(model, "gate", "c")
    assert text.isascii()
    assert [one["name"] for one in json.loads(text)["inputs"]] == names
    assert json.loads(text)["inputs"][0]["high"] == 1


def test_the_command_writes_what_it_measured(tmp_path, call):
    pytest.importorskip("ziglang")
    model, _ = random_model(1)
    model.save(tmp_path / "m.etm")
    folder = tmp_path / "x"
    told = json.loads(
        call("export", str(tmp_path / "m.etm"), "--name", "gate", "-o", str(folder), "--json").stdout
    )
    code = read(folder)["code"]
    assert code["measured"]
    assert code["flash_bytes"] == told["flash_bytes"]
    assert code["instructions_max"] == told["instructions_max"]
    assert code["instructions"] == np.round(told["instructions"])
