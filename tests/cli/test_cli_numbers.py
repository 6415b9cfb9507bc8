"""The commands on a table whose label is a number."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from ethereal import Model
from ethereal.cli import app

RUNNER = CliRunner()


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    load, fan = rng.random(300), rng.integers(0, 4, 300)
    path = tmp_path_factory.mktemp("table") / "readings.csv"
    lines = [f"{a:.3f},{b},{20 + 9 * a - 2 * b:.2f}\n" for a, b in zip(load, fan, strict=True)]
    path.write_text("load,fan,temperature\n" + "".join(lines))
    return path


def said(*words):
    done = RUNNER.invoke(app, list(map(str, words)))
    assert done.exit_code == 0, done.output
    return done.output


def test_train_prune_predict_and_measure(table, tmp_path):
    model, small = tmp_path / "m.etm", tmp_path / "s.etm"
    trained = ["--label", "temperature", "--clauses", 20, "--epochs", 5]
    told = said("train", table, *trained, "-o", model)
    assert "'temperature' is learned as a number" in told
    assert "test R2" in told
    facts = json.loads(said("train", table, *trained, "-o", model, "--json"))
    assert facts["test_r2"] > 0.95
    assert facts["number"]["name"] == "temperature"
    assert "R2" in said("prune", model, table, "--label", "temperature", "-o", small, "--max-loss", 0.05)
    assert Model.load(small).n_clauses < Model.load(model).n_clauses
    assert "R2 0.9" in said("predict", small, table, "--label", "temperature", "--out", tmp_path / "p.csv")
    measured = said("measure", small, table, "--label", "temperature")
    assert "R2" in measured
    assert "accuracy" not in measured


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--balanced",), "--balanced is for classes"),
        (("--exclude-every", "3"), "--exclude-every is for classes"),
        (("--unknown", "0.9"), "--unknown is for classes"),
        (("--task", "class"), "--task number"),
    ],
)
def test_train_refuses_options_of_classes(table, tmp_path, words, message):
    done = RUNNER.invoke(
        app, ["train", str(table), "--label", "temperature", "-o", str(tmp_path / "m"), *words]
    )
    assert done.exit_code == 1
    assert message in " ".join(done.output.split())


def test_tune_refuses_a_number(table, tmp_path):
    words = ["tune", str(table), "--label", "temperature", "-o", str(tmp_path / "m.etm"), "--flash", "2k"]
    done = RUNNER.invoke(app, words)
    assert done.exit_code == 1
    assert "The label is a number" in " ".join(done.output.split())
