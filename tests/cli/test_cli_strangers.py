"""A model or a run folder of a stranger: nothing in it steers the terminal or ends in a traceback."""

import json
import re

import pytest

from ethereal import Model
from ethereal.runs.folder import RunFolder
from ethereal.runs.scores import gap_remark

STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
TABLE = "x\x1b]0;title\x07,\u202eabc\n1,0\n0,1\n"


def save(classes, names):
    Model([0, 1], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=classes, feature_names=names).save(
        "m.etm"
    )


@pytest.mark.parametrize(
    "words",
    [
        ("inspect", "m.etm"),
        ("inspect", "m.etm", "--rules"),
        ("inspect", "m.etm", "--json"),
        ("explain", "m.etm", "t.csv"),
        ("explain", "m.etm", "lacks.csv"),
        ("predict", "m.etm", "lacks.csv"),
    ],
)
def test_names_do_not_steer_the_terminal(call, tmp_path, words):
    save(["\x1b[2J\x1b[31mred\x07", "b"], ["x\x1b]0;title\x07", "\u202eabc"])
    (tmp_path / "t.csv").write_text(TABLE, encoding="utf-8")
    (tmp_path / "lacks.csv").write_text("z\x1b[2J,q\n1,0\n", encoding="utf-8")
    shown = call(*words, code=int("lacks.csv" in words))
    assert not STEERS.search(shown.stdout + shown.stderr)
    if "inspect" in words and "--json" not in words:
        assert "\\x1b[31mred" in shown.stdout or "\\u202eabc" in shown.stdout


@pytest.mark.parametrize(
    "words", [("inspect", "m.etm"), ("inspect", "m.etm", "--rules"), ("predict", "m.etm", "t.csv")]
)
def test_half_a_character_is_shown_as_its_escape(call, tmp_path, words):
    save(["a\ud800", "b"], ["x", "y"])
    (tmp_path / "t.csv").write_text("x,y\n1,0\n")
    assert "a\\ud800" in call(*words).stdout


def test_names_of_other_scripts_stay_as_they_are(call):
    save(["größe", "温度"], ["x", "y"])
    shown = call("inspect", "m.etm").stdout
    assert "größe" in shown
    assert "温度" in shown


def test_a_stage_that_nobody_wrote_is_computed_again(call, tmp_path):
    run = RunFolder.open(tmp_path, "r", {"data": "digits"})
    run.stage("learn", lambda: {"accuracy": 0.5})
    assert run.result("learn") == {"accuracy": 0.5}
    path = run.path / "stages" / "learn.json"
    for text in ('{"a": 1}', json.dumps({**json.loads(path.read_text()), "accuracy": 0.9})):
        path.write_text(text)
        assert run.result("learn") is None
    assert run.stage("learn", lambda: {"accuracy": 0.7}) == {"accuracy": 0.7}


def test_no_memory_left_is_told_in_words(call, monkeypatch):
    def fails(path):
        raise MemoryError

    save(["a", "b"], ["x", "y"])
    monkeypatch.setattr(Model, "load", fails)
    told = call("inspect", "m.etm", code=1).stderr
    assert "memory" in told
    assert "()" not in told


def test_the_benchmark_goes_on_without_a_clone(call, monkeypatch):
    from ethereal_study.cli import benchmark
    from ethereal_study.speed import protocol

    def nowhere():
        raise FileNotFoundError

    monkeypatch.setattr(protocol, "baselines_folder", nowhere)
    entries = benchmark._entries("1,2", "all", among=protocol.BASELINES)
    assert [entry.threads for entry in entries] == [1, 2]
    assert {entry.baseline.name for entry in entries} == {protocol.ETHEREAL}


def test_a_gap_between_validation_and_test_is_told(call, tmp_path):
    assert gap_remark(0.9, 100, 0.86, 100) is None
    assert "10.5 %" in gap_remark(0.63, 200, 0.105, 1000)
    lines = [f"{i % 2},{(i * 7) % 5},{'xy'[i % 2]}" for i in range(300)]
    lines += [f"{i % 2},{(i * 7) % 5},{'yx'[i % 2]}" for i in range(100)]
    table = "a,b,y\n" + "\n".join(lines) + "\n"
    (tmp_path / "t.csv").write_text(table)
    assert "held-out" not in call("train", "t.csv", "--label", "y", "--epochs", "2", "-o", "m.etm").stderr


def test_training_tells_of_the_gap(call, tmp_path):
    import numpy as np

    X = np.tile([[0.0, 1.0], [1.0, 0.0]], (150, 1))
    y, test = np.tile([0, 1], 150), np.arange(300) >= 200
    np.savez(tmp_path / "t.npz", X=X, y=np.where(test, 1 - y, y), test=test)
    told = call("train", "t.npz", "--epochs", "2", "-o", "m.etm").stderr
    assert "held-out" in told
    assert "--group" in told
