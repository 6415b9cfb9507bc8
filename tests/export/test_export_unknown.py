"""Exports of models that may leave a row unanswered give the host's answers, in every layout."""

import re

import numpy as np
import pytest

from c_on_host import run_program
from ethereal import Model, device, export
from ethereal.export import LAYOUTS, make_program
from ethereal.export.mpy import runtime
from ethereal.export.mpy.tables import micropython_tables
from ethereal.model.needs import NotSupported
from micropython_shim import load_runtime
from random_models import random_model
from thinned import thinned

MODELS = {
    "raw": {"seed": 11},
    "two classes": {"seed": 12, "n_classes": 2},
    "Booleans": {"seed": 13, "encoding": None, "n_features": 20},
    "few rows": {"seed": 14, "n_features": 2, "n_bins": 3},  # the answer of each is in a table
    "many classes": {"seed": 15, "n_classes": 16, "n_clauses": 90, "heaviest": 30},
}


def doubtful(name, margin=2):
    model, X = random_model(**MODELS[name])
    model = model.with_unknown(margin)
    answers = model.output.codes(model.class_sums(X))
    assert len(np.unique(answers == model.n_classes)) == 2
    return model, X, answers


@pytest.mark.parametrize("name, layout", thinned(list(MODELS), LAYOUTS))
def test_c_gives_the_answers_of_the_host(name, layout, tmp_path):
    model, X, answers = doubtful(name)
    is_single = list(MODELS).index(name) % 2 == 0  # files or one header, in turn
    program = make_program(model, layout, with_names=True, single_header=is_single)
    answered = run_program(program, X, tmp_path)
    assert np.array_equal(answered[:, :-2], model.class_sums(X))
    assert np.array_equal(answered[:, -2], answers)
    assert np.array_equal(answered[:, -1], answers)
    assert f"#define MODEL_UNKNOWN {model.n_classes}u" in program.files["model.h"]
    assert '"unknown"' in "".join(program.files.values())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_emulated_core_agrees(layout):
    model, X, _ = doubtful("raw")
    assert device.measure(model, X[:40], layout=layout).agreement == 1.0


def test_the_margin_may_be_zero_and_the_c_is_that_of_before_without_one():
    model, _ = random_model(11)
    for layout in LAYOUTS:
        plain = make_program(model, layout, with_names=True).files
        assert make_program(model.with_unknown(5).with_unknown(None), layout, with_names=True).files == plain
        assert not re.search("unknown|UNKNOWN|et_answer", "".join(plain.values()))
        assert "MODEL_MARGIN 0" in make_program(model.with_unknown(0), layout).files["model.h"]


def test_the_self_test_of_an_export_passes(tmp_path):
    import shutil
    import subprocess

    if shutil.which("cc") is None or shutil.which("make") is None:
        pytest.skip("needs make and a C compiler")
    model, X, _ = doubtful("raw")
    export.c(model, tmp_path / "c", rows=X)
    done = subprocess.run(["make", "test"], cwd=tmp_path / "c", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failures" in done.stdout


@pytest.mark.parametrize(
    "labels", [["a", "b", "c"], [0, 1, 2], [0.5, 1.5, 2.5]], ids=["text", "int", "float"]
)
@pytest.mark.parametrize("code", ["plain", "viper", "words"])
def test_micropython_gives_the_answers_of_the_host(code, labels):
    doubting, X, _ = doubtful("raw")
    model = Model.of(doubting.clauses, classes=labels, booleanizer=doubting.booleanizer).with_unknown(2)
    names = load_runtime(code, model=model)
    board = names["Model"](micropython_tables(model, layout="redress" if code == "words" else "auto"))
    expected = [str(label) for label in model.predict(X).tolist()]
    assert [str(board.predict(row)) for row in X.tolist()] == expected
    assert [str(label) for label in board.predict_many(X.tolist())] == expected
    assert [type(board.predict(row)) for row in X.tolist()] == [
        type(label) for label in model.predict(X).tolist()
    ]
    assert runtime("plain", doubting.with_unknown(None)) == runtime("plain")


def test_codes_say_what_to_do():
    model, _, _ = doubtful("raw")
    for code in ("compact", "redress"):
        with pytest.raises(NotSupported, match=r"'unknown'"):
            model.to_bytes(code)
