"""Commands with a model whose answer is a number: a column of numbers, and texts in its unit."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from ethereal import Model
from random_models import number_model

NAMES = ["load", "fan", "c", "d", "e", "f"]


@pytest.fixture
def gauge(tmp_path, monkeypatch):
    """A model file and a table, whose last column has what is true."""
    monkeypatch.chdir(tmp_path)
    model, X = number_model(21, feature_names=NAMES)
    X = X[:60]
    true = model.predict(X).astype(float) + np.linspace(-2, 2, 60)
    model.save("m.etm")
    with open("rows.csv", "w") as file:
        print(*NAMES, "temperature", sep=",", file=file)
        for row, value in zip(X, true, strict=True):
            print(*row.tolist(), value, sep=",", file=file)
    return model, X, true


def test_predict_writes_a_column_of_numbers(gauge, call):
    model, X, true = gauge
    told = json.loads(
        call(
            "predict", "m.etm", "rows.csv", "--label", "temperature", "--sums", "-o", "out.csv", "--json"
        ).output
    )
    errors = model.predict(X).astype(float) - true
    assert told["mean_absolute_error"] == pytest.approx(abs(errors).mean())
    assert told["r2"] == pytest.approx(1 - (errors**2).mean() / true.var())
    assert "accuracy" not in told
    lines = [json.loads(line) for line in Path("out.csv").read_text().splitlines()]
    assert [line["sums"] for line in lines] == [{"temperature": int(s)} for s in model.class_sums(X)[:, 0]]
    assert (
        np.array([line["prediction"] for line in lines], np.float32).tobytes() == model.predict(X).tobytes()
    )
    call("predict", "m.etm", "rows.csv", "--label", "temperature", "-o", "out.csv")
    with open("out.csv") as file:
        head, *rows = csv.reader(file)
    assert head == ["prediction"]
    assert [text for (text,) in rows] == [
        str(value) for value in model.predict(X)
    ]  # no more digits than it has


def test_predict_marks_what_is_missing(gauge, call):
    lines = Path("rows.csv").read_text().splitlines()
    lines[1] = "," + lines[1].split(",", 1)[1]
    Path("rows.csv").write_text("\n".join(lines) + "\n")
    told = call("predict", "m.etm", "rows.csv", "--label", "temperature", "--missing", "mark").output
    rows = list(csv.reader(told.splitlines()))
    assert ["prediction", "missing"] in rows
    assert ["", "load"] in rows


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["predict", "m.etm", "rows.csv", "--label", "temperature", "--proba"], "--proba is for classes"),
        (["inspect", "m.etm", "--rules", "--class", "x"], "is a number, so it has no class 'x'"),
        (["export", "m.etm", "--to", "c", "--out", "c", "--layout", "sliced"], "sliced does not take output"),
    ],
)
def test_what_a_number_has_not_is_refused(gauge, call, words, message):
    assert message in " ".join(call(*words, code=1).output.split())


def test_a_label_of_text_is_refused_by_its_place(gauge, call):
    text = Path("rows.csv").read_text().splitlines()
    text[3] = text[3].rsplit(",", 1)[0] + ",warm"
    Path("rows.csv").write_text("\n".join(text) + "\n")
    output = call("predict", "m.etm", "rows.csv", "--label", "temperature", code=1).output
    assert "label 3 is 'warm', but the answer of the model is a number" in " ".join(output.split())


def test_explain_speaks_in_the_unit(gauge, call):
    model, X, true = gauge
    why = model.explain(X[4])
    words = "explain", "m.etm", "rows.csv", "--label", "temperature", "--row", 5
    text = call(*words).output
    assert f"temperature is {model.output.text(why.answer)}, nine times of ten between" in text
    assert f"The file says {true[4]}" in text
    for vote, rule in (*why.up, *why.down)[:2]:
        assert f"  {model.output.amount(vote)} IF {rule.text}" in text
    facts = json.loads(call(*words, "--json").output)
    assert facts["prediction"] == why.answer
    value = model.output.offset + facts["up"] + facts["down"]
    assert value == pytest.approx(why.answer)
    assert len(facts["rules"]) == len(why.up) + len(why.down)


def test_inspect_tells_scale_and_unit(gauge, call):
    text = " ".join(call("inspect", "m.etm").output.split())
    assert "The answer is -20.3 degC, and 0.125 degC per vote, 90 % of true values within 1.5 degC." in text
    facts = json.loads(call("inspect", "m.etm", "--json").output)
    assert facts["number"]["scale"] == 0.125
    assert "classes" not in facts
    assert call("inspect", "m.etm", "--rules", "--top", 2).output.count(" degC IF ") == 2


def test_measure_and_export_take_it(gauge, call):
    measured = json.loads(
        call(
            "measure", "m.etm", "rows.csv", "--label", "temperature", "--max-rows", 8, "--json"
        ).output.split("\n")[0]
    )
    assert {one["name"] for one in measured} == {"straight", "fast", "compact", "redress"}
    assert all(one["agreement"] == 1.0 for one in measured)
    call("export", "m.etm", "--to", "c", "--out", "c", "--name", "gauge")
    assert "float gauge_value(" in Path("c/gauge.h").read_text()
    assert Model.load("m.etm").is_number
