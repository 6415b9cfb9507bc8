"""A run whose label is a number: its table, its files and what it says, beside trees."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_friedman1

import ethereal
from ethereal import Model
from ethereal.datasets.rows import Rows
from ethereal.runs import numbers
from ethereal.runs.results import Forest
from ethereal.runs.run import Run


@pytest.fixture(scope="module")
def readings():
    X, y = make_friedman1(260, noise=1, random_state=0)
    rows = pd.DataFrame(X[:, :6], columns=[f"s{i}" for i in range(6)])
    return rows.assign(time=np.arange(260.0) + 0.5, temperature=y.round(2))


@pytest.fixture(scope="module")
def finished(readings, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    kept = {"out": out, "forest": False, "n_clauses": 20, "epochs": 5}
    return ethereal.run(readings, label="temperature", flash="2k", **kept)


def test_a_run_learns_prunes_measures_and_reports(finished, capsys):
    pruned, number = finished.pruned, finished.model.output
    assert pruned.errors is not None
    assert pruned.accuracy > 0.5
    assert number.name == "temperature"
    assert number.half_width == pruned.errors.half_width
    assert finished.board.measured["model"].flash_bytes <= 2048
    assert finished.board.measured["model"].agreement == 1.0
    told = finished.told()
    for text in (
        "R2",
        "mean error",
        "90 % within",
        "model comes from",
        "float number = model_value(features);",
    ):
        assert text in told
    page = finished.report.read_text()
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert len(data["errors"]["points"]) == pruned.rows == 52
    assert data["errors"]["time"]["name"] == "time"
    assert (finished.folder / "c" / "model.c").exists()
    assert (finished.folder / "arduino").exists()
    again = Run.load(finished.folder)
    assert again.table == finished.table
    assert isinstance(Model.load(finished.folder / "machine.etm"), Model)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"balanced": True}, "balanced= is for classes"),
        ({"unknown": 0.9}, "unknown= is for classes"),
        ({"linear": True, "task": "class"}, "seems to be a measurement"),
        ({"paper": True}, "paper= is for classes"),
    ],
)
def test_options_of_classes_are_refused(readings, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        ethereal.run(readings, label="temperature", out=tmp_path, **options)


def test_trees_are_grown_chosen_and_exported(readings):
    X, y = readings.drop(columns="temperature").to_numpy(), readings["temperature"].to_numpy()
    test = np.arange(len(y)) % 5 == 0
    rows = Rows(np.where(X > 0.98, np.nan, X)[:, :6], y, test=test, is_number=True)
    grown = numbers.grow(rows, 0, lambda n: None)
    assert isinstance(grown, Forest)
    assert grown.missing > 0
    assert [one.tuned for one in grown.sizes] == [False] * (len(grown.sizes) - 1) + [True]
    assert sum(one.tuned for one in grown.boosted) == 1
    assert grown.accuracy > 0.3
    filled = numbers.without_missing(rows)
    for one in (grown.sizes[0], grown.boosted[0]):
        program = numbers.program_of(one, 0, filled, filled.X_test)
        assert len(program.expected) == len(filled.y_test)
    wild = replace(rows, X=np.where(rows.X > 0.9, 1e39, rows.X))
    assert "32-bit floats" in numbers.grow(wild, 0, lambda n: None).left_out


def test_intervals_of_the_mean_error():
    rng = np.random.default_rng(0)
    y, groups = rng.normal(size=500), np.arange(500) % 20
    answers = y + rng.normal(size=500) * (1 + groups / 10)
    alone = numbers.scores(None, answers, y).errors
    together = numbers.scores(None, answers, y, groups).errors
    assert alone.interval[0] < alone.mean < alone.interval[1]
    assert together.interval[1] - together.interval[0] > alone.interval[1] - alone.interval[0]
    assert numbers.scores(None, answers, y, groups % 3).errors.interval is None
