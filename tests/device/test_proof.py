"""Exported C is proven by Frama-C where it is installed, and faults that were put into it are found."""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from ethereal import export
from ethereal.cli import app
from ethereal.device import proof
from ethereal.device.proof import Source, prove
from ethereal.export import make_program
from ethereal.features.window_features import WindowFeatures
from random_models import number_model, random_model
from thinned import few
from windows import model_of

needs_frama_c = pytest.mark.skipif(shutil.which("frama-c") is None, reason="frama-c is not installed")
# A broken file, and the function whose analysis must notice it.
FAULTS = {
    "table": ("model.c", r"(et_literals\[\d+\] = \{\n +)\d+", r"\g<1>250", "class_sums"),
    "loop": ("ethereal.h", r"s < ET_SLOTS; s\+\+\) \{", "s <= ET_SLOTS; s++) {", "predict"),
    "checksum": ("model.h", r"(CHECKSUM 0x)[0-9A-F]{8}", r"\g<1>12345678", "check"),
    "polynomial": ("ethereal.h", "0xEDB88320u", "0xEDB88321u", "crc32"),
}


def small_source(layout, **options):
    model, _ = random_model(1, n_features=3, n_clauses=8, n_classes=3)
    return Source.of(make_program(model, layout, **options))


@needs_frama_c
@pytest.mark.parametrize("what", few(list(FAULTS), 2))
def test_a_seeded_fault_is_found(what):
    file, pattern, new, function = FAULTS[what]
    source = small_source("sliced")
    broken, n = re.subn(pattern, new, source.files[file], count=1)
    assert n == 1
    analyses = list(
        prove(replace(source, files=source.files | {file: broken}), functions=[function], int_bits=(32,))
    )
    assert [analysis.is_proven for analysis in analyses] == [False]
    assert analyses[0].findings


@needs_frama_c
@pytest.mark.parametrize(
    "old, new, finding",
    [
        ("et_leading_zeros(numbers)", "et_leading_zeros(numbers & 0xF0u)", "precondition of et_leading"),
        ("    return all;", "    for (;;) {}\n    return all;", "not shown to return"),
    ],
)
def test_a_wrong_call_and_an_endless_loop_are_found(old, new, finding):
    model, _ = random_model(1, n_features=20, n_clauses=12, n_classes=3)
    source = Source.of(make_program(model, "compact"))
    text = source.files["ethereal_compact.h"]
    assert text.count(old) == 1
    files = source.files | {"ethereal_compact.h": text.replace(old, new)}
    (analysis,) = prove(replace(source, files=files), functions=["predict"], int_bits=(32,))
    assert not analysis.is_proven
    assert finding in analysis.findings[0]


@needs_frama_c
@pytest.mark.parametrize("layout", few(["straight", "fast", "compact", "redress"]))
def test_a_number_is_proven_and_a_wrong_one_is_found(layout):
    model, _ = number_model(21, n_features=3, n_clauses=8)
    source = Source.of(make_program(model, layout, with_names=True))
    asked = [name for name in source.functions if name in ("check", "sum", "value", "sum_row", "names")]
    assert {"sum", "value", "names"} <= set(asked)
    for analysis in prove(source, functions=asked, int_bits=(16,)):
        assert analysis.is_proven, analysis.findings
    place = "return votes;" if layout == "straight" else "return sum;"
    text = source.files["model.c"]
    assert place in text
    files = source.files | {"model.c": text.replace(place, place.replace(";", " + 16777216;"))}
    (analysis,) = prove(replace(source, files=files), functions=["sum"], int_bits=(32,))
    assert not analysis.is_proven
    broken = source.files["model.h"].replace("MODEL_SCALE 0.125f", "MODEL_SCALE 3e38f")
    files = source.files | {"model.h": broken}
    (analysis,) = prove(replace(source, files=files), functions=["value"], int_bits=(32,))
    assert not analysis.is_proven


@needs_frama_c
def test_an_answer_of_a_packed_table_is_a_class():
    model, _ = random_model(5, n_features=8, n_clauses=40, n_classes=10)
    source = Source.of(make_program(model, "fast", input="uint8"))
    assert "ET_CELL_BITS 4u" in source.files["model.c"]
    (analysis,) = prove(source, functions=["predict"], int_bits=(32,))
    assert analysis.is_proven, analysis.findings


@needs_frama_c
@pytest.mark.parametrize(
    "layout, function",
    few([("fast", "leading_zeros"), ("fast", "class_sums"), ("fast", "crc32"), ("compact", "predict")], 2),
)
def test_a_small_model_is_proven(layout, function):
    (analysis,) = prove(small_source(layout), functions=[function], int_bits=(16,))
    assert analysis.is_proven, analysis.findings
    assert analysis.seconds > 0


@needs_frama_c
@pytest.mark.slow
def test_a_stream_of_sound_is_proven_where_an_int_has_16_bits():
    sounds = np.random.default_rng(0).integers(-32768, 32768, (9, 512, 1)).astype(np.int16)
    model = model_of(WindowFeatures(["mel"], rate=8000).fit(sounds), sounds, n_clauses=4)
    source = Source.of(make_program(model, "straight"))
    (analysis,) = prove(source, functions=["push"], int_bits=(16,))
    assert analysis.is_proven, analysis.findings


@needs_frama_c
def test_the_command_proves_an_exported_folder(tmp_path):
    model, _ = random_model(1, n_features=3, n_clauses=8, n_classes=3)
    export.c(model, tmp_path / "own", layout="straight", name="own", single_header=True)
    result = CliRunner().invoke(app, ["prove", str(tmp_path / "own"), "--json"])
    assert result.exit_code == 0, result.output
    printed = json.loads(result.output)
    assert {line["function"] for line in printed} == {
        "check",
        "predict",
        "class_sums",
        "predict_batch",
        "missing",
    }
    assert {line["int_bits"] for line in printed} == {16, 32}
    assert all(line["is_proven"] and line["alarms"] == 0 for line in printed)


def test_lines_with_a_long_name_fit_80_columns(monkeypatch, tmp_path):
    analysis = proof.Analysis("predict_32_rows", 16, 12, 3, 1234.5, ())
    monkeypatch.setattr(proof, "prove", lambda source, seconds: iter([analysis]))
    export.c(random_model(1)[0], tmp_path / "own", name="a_name_that_is_longer_than_its_column")
    result = CliRunner().invoke(app, ["prove", str(tmp_path / "own")])
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert lines[1].split() == ["a_name_that_is_longer...", "predict_32_rows", "16", "12", "3", "1234.5"]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("option, name", [("--layout", "auto"), ("--input", "int32")])
def test_a_name_that_there_is_not_is_refused_with_those_there_are(tmp_path, option, name):
    random_model(1)[0].save(tmp_path / "m.etm")
    result = CliRunner().invoke(app, ["prove", str(tmp_path / "m.etm"), option, name])
    assert result.exit_code == 1
    said = " ".join(result.output.split())
    assert f"{option} is {name!r}. It must be one of" in said
    assert said.endswith("or all.")


def test_without_frama_c_the_package_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(proof.shutil, "which", lambda name: None)
    export.c(random_model(1)[0], tmp_path / "own")
    result = CliRunner().invoke(app, ["prove", str(tmp_path / "own")])
    assert result.exit_code == 1
    assert "apt-get install frama-c-base" in result.output


def test_a_folder_without_an_export_is_refused(tmp_path):
    (tmp_path / "a.h").write_text("int a;\n")
    with pytest.raises(ValueError, match="no header names a layout"):
        Source.read(tmp_path)


def test_every_layout_says_what_can_be_proven():
    assert small_source("straight").functions == [
        "check",
        "predict",
        "class_sums",
        "predict_batch",
        "missing",
    ]
    for layout in ("fast", "compact", "sliced", "redress"):
        assert "predict_32_rows" in small_source(layout).functions
        assert "crc32" in small_source(layout).functions
    assert "leading_zeros" in small_source("compact").functions
    assert "convert" in small_source("fast", input="int16").functions
