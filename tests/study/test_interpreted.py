"""The study's four methods in MicroPython answer as the host does, and table 3 is made of them."""

import json
import os

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from typer.testing import CliRunner

from ethereal import datasets
from ethereal.cli import app
from ethereal_study import interpreted, tables
from ethereal_study.baselines import BNNClassifier
from ethereal_study.interpreted import INTERPRETED
from ethereal_study.store import Cell
from random_models import random_model
from says import says


@pytest.fixture(scope="module")
def digits():
    return datasets.load("digits")


def test_a_machine_in_words(micropython):
    model, rows = random_model(3, encoding=None, n_features=30, n_clauses=60, heaviest=3)
    baseline = interpreted.machine(model, rows[:45].astype(bool))
    assert baseline.expected == model.output.codes(model.class_sums(rows[:45])).tolist()
    measured = interpreted.measure_interpreted(baseline, micropython)
    assert (measured.rows, measured.agreement) == (45, 1.0)
    assert measured.microseconds > 0
    assert measured.heap > 2 * model.n_includes


def test_a_network(micropython, digits):
    bits = digits.X > 7
    trained = BNNClassifier(n_units=33, epochs=2).fit(bits[~digits.test], digits.y_train)
    rows = bits[digits.test][:25]
    baseline = interpreted.network(trained.network_, rows)
    assert trained.classes_[baseline.expected].tolist() == trained.predict(rows).tolist()
    assert interpreted.measure_interpreted(baseline, micropython).agreement == 1.0


def test_a_forest_one_row_at_a_time(micropython, digits):
    estimator = RandomForestClassifier(5, max_depth=6, random_state=0).fit(digits.X_train, digits.y_train)
    baseline = interpreted.forest(estimator, digits.X_test[:30])
    assert baseline.at_once == 1
    assert interpreted.measure_interpreted(baseline, micropython).agreement == 1.0


def test_a_wrong_answer_is_noticed(micropython):
    model, rows = random_model(3, encoding=None, n_features=30, n_clauses=60)
    baseline = interpreted.machine(model, rows[:20].astype(bool))
    baseline.expected[7] += 1
    assert interpreted.measure_interpreted(baseline, micropython).agreement == pytest.approx(0.95)


def test_ratios_and_savings_stand_beside_the_published_ones():
    times = dict(zip(INTERPRETED, (200.0, 9000.0, 3000.0, 1000.0), strict=True))
    results = {
        Cell("statlog", method, "paper", 0): {
            "form": "x", "accuracy": 0.8, "microseconds": time, "heap": 2 * time, "completeness": "complete",
        }
        for method, time in times.items()
    }  # fmt: skip
    rows = {row["method"]: row for row in tables.table3_interpreted(results, "paper").rows}
    assert rows["RF"]["time_of_e"] == "0.20 (0.11)"
    assert rows["BNN FC256"]["time_of_e"] == "9.00 (16.39)"
    assert rows["ETHEREAL TM"]["time_text"] == "66.7 (0.8)"
    assert rows["ETHEREAL TM"]["memory_text"] == "66.7 (0.9)"
    assert rows["ETHEREAL TM"]["milliseconds"] == 1.0
    assert rows["REDRESS TM"]["published_seconds"] == 0.221


@pytest.mark.slow
def test_table_3_in_micropython_is_resumable(micropython, tmp_path, monkeypatch):
    if not os.environ.get("ETHEREAL_DATA"):
        pytest.skip("the data set is not there (ETHEREAL_DATA)")
    monkeypatch.chdir(tmp_path)
    words = ["study", "table3", "--micropython", "--sets", "mammography", "--epochs", "2", "--jobs", "1"]
    first = CliRunner().invoke(app, words)
    assert first.exit_code == 0, first.output
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "study" / "cells").iterdir()}
    assert len([path for path in kept if "micropython" in path.name]) == 4
    again = CliRunner().invoke(app, [*words, "--json"])
    rows = json.loads(again.stdout)["table3-micropython-honest"]["rows"]
    assert [row["form"] for row in rows[:2]] == ["30 x 4", "256 units"]
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert np.isclose(rows[0]["time_ratio"], rows[0]["milliseconds"] / rows[3]["milliseconds"])
    refused = CliRunner().invoke(app, ["study", "table2", "--micropython"])
    says(refused.stderr, "--micropython", "table2")
