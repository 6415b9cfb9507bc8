"""`ethereal run` and `ethereal report` as a user types them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from ethereal import Model
from ethereal.runs.folder import RunFolder

QUICK = ["run", "digits", "--quick", "--clauses", "10", "--epochs", "4"]


def test_run_leaves_everything_and_goes_on(call, tmp_path):
    shown = call(*QUICK).stdout
    for word in ("vanilla", "ETHEREAL", "forest", "compact", "report.html"):
        assert word in shown
    folder = tmp_path / "runs" / "digits"
    assert Model.load(folder / "ethereal.etm").n_classes == 10
    page = (folder / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "Instructions per row, cortex-m7" in page
    for words, file in (
        ("model_class_name", "arduino/library.properties"),
        ("deploy", "micropython/model.py"),
    ):
        assert words in page
        assert (folder / file).stat().st_size > 0
    for name in ("training", "size", "confusion"):
        assert (folder / "figures" / f"{name}.png").stat().st_size > 5000
        assert (folder / "figures" / f"{name}.svg").read_text().rstrip().endswith("</svg>")
    history = (folder / "history.csv").read_text().splitlines()
    assert history[0].startswith("machine,epoch,phase,includes")
    assert len(history) == 1 + 4 + 3 + 4  # header, epochs and exclusions, epochs of vanilla
    device = json.loads((folder / "stages" / "device.json").read_text())
    assert [m["name"] for m in device["measured"]][-3:] == ["redress", "vanilla", "forest"]
    assert all(m["agreement"] == 1 for m in device["measured"])
    before = (folder / "stages" / "ethereal.json").stat().st_mtime_ns
    call(*QUICK)  # the same again: nothing is trained
    assert (folder / "stages" / "ethereal.json").stat().st_mtime_ns == before
    (folder / "stages" / "forest.json").unlink()  # as if it had been interrupted there
    facts = json.loads(call(*QUICK, "--json").stdout)
    assert facts["forest"]["accuracy"] > 0.8
    assert (folder / "stages" / "ethereal.json").stat().st_mtime_ns == before
    call(*QUICK, "--seed", 1)  # other options: a folder of their own
    assert RunFolder(tmp_path / "runs" / "digits-2").parameters()["seed"] == 1


def test_report_again(call, tmp_path):
    call(*QUICK)
    page = tmp_path / "runs" / "digits" / "report.html"
    first = page.read_text()
    page.unlink()
    assert call("report", "runs/digits").stdout.strip().endswith("report.html")
    assert page.read_text() == first
    (tmp_path / "runs" / "digits" / "stages" / "vanilla.json").unlink()
    assert "vanilla" in call("report", "runs/digits", code=1).stderr
    assert "is not a run" in call("report", tmp_path, code=1).stderr


def test_run_a_csv(call, tmp_path):
    lines = ["a,<b>,kind"]
    for i in range(200):
        lines.append(f"{i % 17},{(i * 7) % 11 if i % 9 else ''},{'x' if i % 17 > 8 else '$y$'}")
    (tmp_path / "own.csv").write_text("\n".join(lines) + "\n")
    call("run", "own.csv", "--label", "kind", "--quick", "--clauses", 10, "--epochs", 5)
    model = Model.load("runs/own/ethereal.etm")
    assert model.feature_names == ("a", "<b>")
    left_out = json.loads((tmp_path / "runs/own/stages/device.json").read_text())["left_out"]
    assert "missing values" in left_out["forest"]  # said, not silently gone
    assert "missing values" in (tmp_path / "runs/own/report.html").read_text()


@pytest.mark.parametrize("value", ["inf", "-inf", "1e300"])
def test_what_the_forest_does_not_take_leaves_the_rest(call, tmp_path, value):
    lines = ["a,b [V],kind"]
    for i in range(200):
        lines.append(f"{i % 17},{value if i == 5 else i * 7 % 11},{'x' if i % 17 > 8 else 'y'}")
    (tmp_path / "own.csv").write_text("\n".join(lines) + "\n")
    done = call("run", "own.csv", "--label", "kind", "--quick", "--clauses", 10, "--epochs", 5)
    said = [line for line in done.stderr.splitlines() if "the forest is left out" in line]
    assert len(said) == 1
    assert "column 'b [V]'" in said[0]
    assert "accuracy" in done.stdout
    assert "forest (" not in done.stdout  # no column in the table
    assert "Left out: forest" in (tmp_path / "runs/own/report.html").read_text()


def test_the_target_is_the_core_that_is_measured(call, tmp_path):
    call(*QUICK, "--target", "m4")
    device = json.loads((tmp_path / "runs/digits/stages/device.json").read_text())
    assert device["target"] == "cortex-m4"
    assert "Instructions per row, cortex-m4" in (tmp_path / "runs/digits/report.html").read_text()


def test_mistakes_leave_no_folder(call, tmp_path, monkeypatch):
    assert "n_clauses" in call("run", "digits", "--clauses", 0, code=1).stderr
    assert "s is 0" in call("run", "digits", "--s", 0, code=1).stderr
    (tmp_path / "own.csv").write_text("a,kind\n" + "1,x\n2,y\n" * 20)
    assert "--test is 0" in call("run", "own.csv", "--label", "kind", "--test", 0, code=1).stderr
    assert "'cortex-m9'" in call("run", "digits", "--target", "cortex-m9", code=1).stderr
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "pip install 'ethereal-tm[device,study]'" in call("run", "digits", code=1).stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
def test_killed_run_goes_on(tmp_path):
    command = [sys.executable, "-m", "ethereal", "run", "digits", "--clauses", "20", "--epochs", "8"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    stages = tmp_path / "runs" / "digits" / "stages"
    deadline = time.monotonic() + 60
    while not (stages / "vanilla.json").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = (stages / "vanilla.json").stat().st_mtime_ns
    done = subprocess.run([*command], cwd=tmp_path, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert (stages / "vanilla.json").stat().st_mtime_ns == kept
    assert (tmp_path / "runs" / "digits" / "report.html").exists()
