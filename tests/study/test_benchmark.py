"""The benchmark's harness: rows, the protocol between processes, and a small run without any baseline."""

from __future__ import annotations

import dataclasses
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from ethereal.cli import app
from ethereal_study.speed import protocol, sets
from ethereal_study.speed.compare import compare, predict_table, train_table

NOWHERE = Path("no-data-here")

REQUEST = protocol.Request(
    data="rows.npz",
    n_booleans=10,
    n_classes=3,
    n_clauses=20,
    T=5,
    s=3.0,
    epochs=2,
    seed=0,
    threads=1,
    evaluate=True,
    predict_rows=0,
)
ANSWER: dict[str, Any] = {
    "library": "some",
    "version": "1",
    "seconds": [0.5, 0.25],
    "accuracy": [0.5, 0.75],
    "includes_per_clause": [3.0, 4.0],
    "cores_used": 0.99,
    "start_bytes": 1000,
    "peak_bytes": 2000,
    "predict_rows_per_second": None,
    "predict_accuracy": None,
}

# Learns the share of each class and predicts the most frequent one.
ADAPTER = """
import numpy as np

LIBRARY, VERSION, ROWS = "majority", "1", np.uint8

def train(task):
    print("a library's own chatter")
    rows, labels = task.rows("train", np.uint8), task.labels("train")
    assert rows.shape == (len(labels), task.n_booleans) and set(np.unique(rows)) <= {0, 1}
    most = np.bincount(labels).argmax()
    for _ in range(task.epochs):
        task.record(0.5, 7 * task.n_clauses * task.n_classes, task.score(most) if task.evaluate else None)
    return lambda rows: np.full(len(rows), most)
"""


@pytest.fixture
def majority(tmp_path: Path) -> protocol.Baseline:
    adapter = tmp_path / "majority.py"
    adapter.write_text(ADAPTER)
    return protocol.Baseline("majority", adapter, Path(sys.executable))


# -- rows ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sets.SHAPES)
def test_synthetic_rows_have_the_shape_and_are_the_same_again(name: str) -> None:
    shape = dataclasses.replace(sets.SHAPES[name], n_train=300, n_test=100)
    rows, again = sets.synthetic(shape), sets.synthetic(shape)
    assert rows.X_train.shape == (300, shape.n_booleans)
    assert rows.X_test.shape == (100, shape.n_booleans)
    assert rows.X_train.dtype == bool
    assert rows.n_classes == shape.n_classes
    np.testing.assert_array_equal(rows.X_train, again.X_train)
    np.testing.assert_array_equal(rows.X_test, again.X_test)
    assert (rows.X_train != sets.synthetic(shape, seed=1).X_train).any()


def test_real_rows_are_booleanized_as_in_the_study(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 256, (50, 6)), np.arange(50) % 10
    test = np.arange(50) >= 40
    np.savez(tmp_path / "mnist.npz", X=X, y=y, test=test)
    rows = sets.load("mnist", folder=tmp_path)
    assert rows.real
    np.testing.assert_array_equal(rows.X_train, X[:40] > 75)
    np.testing.assert_array_equal(rows.X_test, X[40:] > 75)
    np.testing.assert_array_equal(rows.y_test, y[40:])

    floats = rng.normal(size=(50, 600))
    np.savez(tmp_path / "har.npz", X=floats, y=y % 6, test=test)
    rows = sets.load("har", folder=tmp_path)
    np.testing.assert_array_equal(rows.X_train, floats[:40, :560] > np.median(floats[:, :560], axis=0))


def test_fewer_rows_keep_every_class() -> None:
    rows = sets.load("sports", folder=NOWHERE, max_rows=100)
    assert (len(rows.X_train), len(rows.X_test)) == (100, 25)
    assert set(rows.y_train) == set(rows.y_test) == set(range(19))


def test_bad_sets_are_refused() -> None:
    with pytest.raises(ValueError, match=r"unknown.*'cifar'.*mnist"):
        sets.load("cifar")
    with pytest.raises(ValueError, match=r"rows.*\b3; mnist.*\b40\b"):
        sets.load("mnist", max_rows=3)


# -- protocol ------------------------------------------------------------------------------------------


def test_a_good_answer_is_taken() -> None:
    answer = protocol.check_answer(json.dumps(ANSWER), REQUEST)
    assert answer.seconds == (0.5, 0.25)
    assert answer.accuracy == (0.5, 0.75)
    assert answer.predict_rows_per_second is None


@pytest.mark.parametrize(
    "change, message",
    [
        ({"seconds": [0.5]}, "list of 2 entries"),
        ({"seconds": [0.5, 0]}, r"seconds.*epoch 2\b.*\b0\b"),
        ({"seconds": [0.5, -1.0]}, r"seconds.*epoch 2\b.*-1\b"),
        ({"seconds": [0.5, "fast"]}, "'fast'.*finite"),
        ({"seconds": 0.5}, "list of 2 entries"),
        ({"seconds": [0.5, float("nan")]}, "nan, not a finite number"),
        ({"accuracy": [0.5, 1.5]}, "between 0 and 1"),
        ({"accuracy": [0.5, None]}, r"accuracy.*epoch 2\b.*None"),
        ({"includes_per_clause": [3.0, 21.0]}, "between 0 and 20"),
        ({"cores_used": 1.9}, "used 1.90 cores; 1 allowed"),
        ({"peak_bytes": None}, "peak_bytes is None"),
        ({"peak_bytes": True}, "peak_bytes is True"),
        ({"library": ""}, "library is ''"),
        ({"surprise": 1}, "unknown \\['surprise'\\]"),
    ],
)
def test_a_bad_answer_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(protocol.RunnerError, match=message):
        protocol.check_answer(json.dumps({**ANSWER, **change}), REQUEST)


@pytest.mark.parametrize("text", ["", "[1, 2]", '{"seconds": [1, 2', "null", "{}"])
def test_an_answer_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(protocol.RunnerError, match="the answer"):
        protocol.check_answer(text, REQUEST)


def test_a_prediction_asked_for_must_be_answered() -> None:
    request = dataclasses.replace(REQUEST, predict_rows=10)
    with pytest.raises(protocol.RunnerError, match="predict_rows_per_second is None"):
        protocol.check_answer(json.dumps(ANSWER), request)


@pytest.mark.parametrize(
    "source, message",
    [
        ("raise ImportError('no such library')", "no such library"),
        ("LIBRARY = VERSION = 'x'; ROWS = bool\ndef train(task): return len", "seconds is \\[\\]"),
        ("import os; os._exit(3)", "code 3"),
        ("import time; time.sleep(60)", r"did.*\b2\b"),
    ],
)
def test_a_failing_baseline_is_reported(tmp_path: Path, source: str, message: str) -> None:
    adapter = tmp_path / "adapter.py"
    adapter.write_text(source)
    with pytest.raises(protocol.RunnerError, match=message):
        protocol.run(sys.executable, adapter, REQUEST, timeout=2 if "sleep" in source else 60)


def test_a_missing_python_is_reported(tmp_path: Path) -> None:
    with pytest.raises(protocol.RunnerError, match="could not be started"):
        protocol.run(tmp_path / "python", tmp_path / "adapter.py", REQUEST)


# -- comparison ----------------------------------------------------------------------------------------


def test_compare_takes_the_best_and_names_failures(majority: protocol.Baseline, tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("1 / 0")
    rows = sets.load("emg", folder=NOWHERE, max_rows=80)
    entries = [
        protocol.Entry(majority),
        protocol.Entry(protocol.Baseline("broken", broken, Path(sys.executable))),
    ]
    done = compare(rows, entries, epochs=3, repeats=2, predict_rows=50)
    assert list(done.failures) == ["broken"]
    assert "ZeroDivisionError" in done.failures["broken"]
    (result,) = done.results
    assert len(result.answers) == 2
    assert result.rows_per_second == pytest.approx(80 / 0.5)
    most = np.bincount(rows.y_train).argmax()
    assert result.accuracy == np.mean(rows.y_test == most)
    assert result.answers[0].includes_per_clause == (7.0, 7.0, 7.0)
    assert result.answers[0].peak_bytes >= result.answers[0].start_bytes
    assert train_table(done).row_count == predict_table(done).row_count == 1
    console = Console(width=80, file=io.StringIO())
    console.print(train_table(done), predict_table(done))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert shown.count("emg (synthetic rows): ") == 2
    assert max(map(len, shown.splitlines())) <= 80


def test_choosing_baselines() -> None:
    assert protocol.choose("all") == protocol.BASELINES
    with pytest.raises(ValueError, match="unknown baseline 'weka'"):
        protocol.choose("tmu,weka")
    with pytest.raises(ValueError, match="no baseline is named"):
        protocol.choose(",")


def test_every_baseline_has_an_adapter_and_requirements() -> None:
    folder = protocol.baselines_folder()
    for name in protocol.BASELINES:
        compile((folder / f"{name}.py").read_text(), name, "exec")
        assert "==" in (folder / f"{name.removesuffix('-unindexed')}.txt").read_text()


@pytest.mark.slow
def test_benchmark_train_on_synthetic_rows_without_baselines() -> None:
    arguments = "benchmark train --sets emg --max-rows 200 --repeats 1 --baselines none --threads 1,2 --json"
    done = CliRunner().invoke(app, [*arguments.split(), "--data", str(NOWHERE)])
    assert done.exit_code == 0, done.output
    (comparison,) = json.loads(done.stdout)
    assert comparison["set"] == "emg"
    assert not comparison["real"]
    one, two = comparison["results"]
    assert (one["threads"], two["threads"]) == (1, 2)
    assert one["epoch_accuracy"] == two["epoch_accuracy"]  # the same seed, whatever the threads
    assert one["includes_per_clause"] == two["includes_per_clause"]
    assert one["rows_per_second"] > 0
    assert one["accuracy"] > 0.2  # 8 classes: better than drawing lots
    assert one["peak_bytes"] > 0


@pytest.mark.parametrize(
    "arguments, message",
    [
        ("--sets cifar", "unknown set 'cifar'"),
        ("--threads 0", "threads is '0'"),
        ("--threads two", "threads is 'two'"),
        ("--baselines weka", "unknown baseline 'weka'"),
    ],
)
def test_bad_options_are_refused(arguments: str, message: str) -> None:
    baselines = [] if "baselines" in arguments else ["--baselines", "none"]
    done = CliRunner(env={"COLUMNS": "200"}).invoke(
        app, ["benchmark", "train", *arguments.split(), *baselines]
    )
    assert done.exit_code == 2
    assert message in done.output


@pytest.mark.slow
def test_benchmark_predict_on_synthetic_rows_beside_a_forest() -> None:
    arguments = "benchmark predict --sets mammography --epochs 2 --repeats 1 --baselines forest --threads 1"
    done = CliRunner().invoke(
        app, [*arguments.split(), "--predict-rows", "500", "--json", "--data", str(NOWHERE)]
    )
    assert done.exit_code == 0, done.output
    (comparison,) = json.loads(done.stdout)
    ethereal, forest = comparison["results"]
    assert (ethereal["name"], forest["name"]) == ("ethereal", "forest")
    for result in (ethereal, forest):
        assert result["predict_rows_per_second"] > 0
        assert result["accuracy"] > 0.6  # 2 classes
    assert forest["rows_per_second"] is None  # it has no epochs
