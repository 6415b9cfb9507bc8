"""`ethereal run` and `ethereal report` as a user types them."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from typer.testing import CliRunner

import ethereal
from ethereal import Model, Run
from ethereal.cli import app
from ethereal.runs.folder import RunFolder
from ethereal.runs.table import beside_notes
from says import says
from thinned import few


def result(folder, stage):
    return json.loads((folder / "stages" / f"{stage}.json").read_text())


def table(path, n_rows=200, **columns):
    """Writes a table whose first column decides; further columns are functions of the row number."""
    lines = [",".join(["a", *columns, "kind"])]
    for i in range(n_rows):
        lines.append(
            ",".join([str(i % 17), *(str(f(i)) for f in columns.values()), "x" if i % 17 > 8 else "y"])
        )
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The words of a quick run, on a table of cells."""
    X, y = load_breast_cancer(return_X_y=True)
    rows = [
        [*(f"{v:g}" for v in row[:8]), ("malignant", "benign")[c]]
        for row, c in zip(X[::2], y[::2], strict=True)
    ]
    path = tmp_path_factory.mktemp("table") / "cells.csv"
    path.write_text("\n".join(map(",".join, [[*"abcdefgh", "kind"], *rows])) + "\n")
    return ["run", path, "--label", "kind", "--quick", "--clauses", "6", "--epochs", "4"]


@pytest.fixture(scope="module")
def words(quick):
    """The words of the run that is finished. The bounds make its model small, and few are compiled."""
    return [*quick, "--flash", "700", "--instructions", "20k"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory, words):
    """The folder in which a run was typed, and what the command said. Nothing there is to be changed."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("COLUMNS", raising=False)
        done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == 0, done.output
    return folder, done


@pytest.fixture
def again(finished, tmp_path):
    """A copy of the finished run in the folder where commands are typed."""
    shutil.copytree(finished[0] / "runs", tmp_path / "runs")
    return tmp_path / "runs" / "cells"


def test_run_ends_with_the_pruned_model(finished):
    """Faults 8, 9, 10, N14: one model is the headline, the export and the page's."""
    done = finished[1]
    folder = finished[0] / "runs" / "cells"
    model, machine = Model.load(folder / "model.etm"), Model.load(folder / "machine.etm")
    assert model.n_includes < 0.7 * machine.n_includes
    pruned, board = result(folder, "prune"), result(folder, "board")
    measured = board["measured"]["model"]
    assert board["exported"] == measured["name"]
    assert measured["agreement"] == 1
    for words in (
        f"accuracy      {100 * pruned['accuracy']:>12.1f} % ±".split()[-3],
        f"{measured['total_instructions']:,.0f}",
        "forest, ",
        "balanced",
        "Weakest class: ",
        "57 test rows",
        "runs/cells/report.html",
        "ethereal predict runs/cells/model.etm new.csv",
    ):
        assert words in done.stdout
    assert all(len(line) <= 100 for line in done.stdout.splitlines())
    assert max(len(line) for line in done.stdout.split("\n\n")[0].splitlines()) <= 80
    assert "vanilla" not in done.stdout + done.stderr
    page = (folder / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert data["model"]["literals"] == model.literals.tolist()
    shown = f"{measured['total_instructions']:,.0f}"
    assert ["instructions", shown] in [row[:2] for row in data["table"]["rows"]]
    assert data["command"].startswith("ethereal")
    notes = [note.replace("flash=", "--flash ") for note in beside_notes(Run.load(folder))]
    assert [note for note in data["table"]["notes"] if note.startswith("The next ")] == notes
    assert len(board["neighbours"]) > 0
    for name, one in board["neighbours"].items():
        assert (one["flash_bytes"] < measured["flash_bytes"]) == (name == "smaller")
    assert [series["name"] for series in data["sizes"]] == ["ethereal, pruned", "forest"]
    assert len(data["sizes"][1]["points"]) == len(board["forests"]) >= 3
    assert [len(s["points"]) for s in data["speeds"]] == [len(s["points"]) for s in data["sizes"]]
    forest = board["measured"]["forest"]
    assert [forest["total_instructions"], 100 * result(folder, "forest")["accuracy"]] in data["speeds"][1][
        "points"
    ]
    assert data["headline"] == []
    for file in ("c/model.c", "arduino/library.properties", "micropython/model.py", "figures/speed.png"):
        assert (folder / file).stat().st_size > 0


def without_times(value):
    """Return a result without times, and without what is only counted to be shown."""
    if isinstance(value, dict):
        left_out = (
            "seconds",
            "date",
            "sha256",
            "train_accuracy",
        )  # accuracy is only counted when it is shown
        return {key: without_times(one) for key, one in value.items() if key not in left_out}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def test_python_leaves_the_folder_that_the_command_leaves(finished, quick, tmp_path):
    typed = finished[0] / "runs" / "cells"
    how = {"label": "kind", "quick": True, "clauses": 6, "epochs": 4, "flash": 700, "instructions": "20k"}
    run = ethereal.run(quick[1], out=tmp_path / "runs", **how)
    files = {path.relative_to(typed) for path in typed.rglob("*") if path.is_file()}
    assert {path.relative_to(run.folder) for path in run.folder.rglob("*") if path.is_file()} == files
    for name in files:
        one, other = (folder / name for folder in (typed, run.folder))
        if name.parts[0] == "stages":
            one, other = (without_times(json.loads(path.read_text())) for path in (one, other))
            assert one == other, name
        elif name.suffix in (".etm", ".c", ".h", ".py", ".json"):
            assert one.read_bytes() == other.read_bytes(), name
    assert run.facts.command.startswith(f"ethereal run {quick[1]} --label kind")
    shown = [line.rstrip() for line in finished[1].stdout.split("\n\n")[0].splitlines()]
    assert shown[1:] == repr(run).split("\n\n")[0].splitlines()[1:]
    assert repr(Run.load(run.folder)) == repr(run)


def test_python_takes_frames_and_arrays(no_board, tmp_path):
    pandas = pytest.importorskip("pandas")
    a = np.arange(200) % 17
    frame = pandas.DataFrame({"a": a, "b": a % 3, "kind": np.where(a > 8, "x", "y")})
    how = {"quick": True, "clauses": 4, "epochs": 2, "forest": False, "out": tmp_path}
    by_frame = ethereal.run(frame, label="kind", **how)
    by_arrays = ethereal.run((frame[["a", "b"]], frame["kind"]), **how)
    assert by_frame.model.feature_names == ("a", "b")
    assert by_frame.pruned.accuracy == by_arrays.pruned.accuracy > 0.9
    assert ethereal.run(frame, label="kind", **how).folder == by_frame.folder
    assert by_arrays.write_report().exists()
    with pytest.raises(TypeError, match="source is a dict"):
        ethereal.run({}, **how)
    with pytest.raises(TypeError, match=r"'epoch'.*n_clauses.*random_state"):
        ethereal.run("digits", epoch=3)
    with pytest.raises(ValueError, match=r"label=COLUMN.*'a', 'b', 'kind'"):
        ethereal.run(frame, **how)


def test_commands_to_paste_keep_a_path_with_a_space_whole(no_board, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "my table.csv")
    how = {"label": "kind", "quick": True, "n_clauses": 4, "epochs": 2, "forest": False}
    run = ethereal.run("my table.csv", **how)
    assert run.next_steps()["runs/my table/model.etm"] == "ethereal predict 'runs/my table/model.etm' new.csv"
    assert "ethereal inspect 'runs/my table/model.etm'" in run.report.read_text()


def test_a_folder_of_another_version_is_refused(again, call):
    path = again / "stages" / "facts.json"
    RunFolder(again).forget("facts")
    RunFolder(again).stage("facts", lambda: {"command": "ethereal run", "date": "", "versions": {}})
    assert path.exists()
    says(call("report", again, code=1).stderr, "another", "Facts lacks", "rows_are")


def test_the_same_command_continues(call, words, finished, again, tmp_path):
    assert "kept from before" not in finished[1].stderr
    folder = again
    before = (folder / "stages" / "learn.json").stat().st_mtime_ns
    assert "learn: kept from before." in call(*words).stderr  # nothing is trained
    (folder / "stages" / "forest.json").unlink()  # as if it had been interrupted there
    facts = json.loads(call(*words, "--json").stdout)
    assert facts["forest"]["accuracy"] > 0.8
    low, high = facts["prune"]["interval"]
    assert low < facts["prune"]["accuracy"] < high < low + 0.2
    assert (folder / "stages" / "learn.json").stat().st_mtime_ns == before
    call(*words, "--seed", 1, "--no-forest")  # other options: a folder of their own
    assert RunFolder(tmp_path / "runs" / "cells-2").parameters()["seed"] == 1
    assert not (tmp_path / "runs" / "cells-2" / "stages" / "forest.json").exists()


@pytest.mark.slow
def test_the_paper_comes_when_it_is_asked_for(call, quick, figures, tmp_path):
    call("run", "digits", *quick[4:], "--no-forest", "--paper")
    folder = tmp_path / "runs" / "digits"
    assert Model.load(folder / "ethereal.etm").n_classes == 10
    assert "Instructions per row, cortex-m7" in (folder / "report.html").read_text()
    history = (folder / "history.csv").read_text().splitlines()
    assert history[0].startswith("machine,epoch,phase,includes")
    assert [m["name"] for m in result(folder, "device")["measured"]][-2:] == ["scan", "vanilla"]


@pytest.mark.slow
def test_bounds_hold_on_another_core(call, quick, tmp_path):
    call(*quick, "--no-forest", "--flash", "600", "--target", "m4")
    board = result(tmp_path / "runs" / "cells", "board")
    assert board["target"] == "cortex-m4"
    assert board["measured"]["model"]["flash_bytes"] <= 600


def test_bounds_are_kept_or_refused(call, quick, finished):
    assert result(finished[0] / "runs" / "cells", "board")["measured"]["model"]["flash_bytes"] <= 700
    assert "No pruned model fits" in call(*quick, "--flash", 20, code=1).stderr
    assert "cortex-m7" in call(*quick, "--flash", "9M", code=1).stderr


def test_a_command_to_paste_stays_in_one_line(call, words, again, monkeypatch):
    monkeypatch.setenv("COLUMNS", "56")
    shown = call(*words).stdout.splitlines()
    assert "  ethereal predict runs/cells/model.etm new.csv" in shown
    assert "runs/cells/report.html" in shown


def test_report_again(call, again, tmp_path):
    page = again / "report.html"
    first = page.read_text()
    page.unlink()
    assert call("report", "runs/cells").stdout.strip().endswith("report.html")
    assert page.read_text() == first
    (again / "stages" / "prune.json").unlink()
    assert "prune" in call("report", "runs/cells", code=1).stderr
    assert "is not a run" in call("report", tmp_path, code=1).stderr


def test_run_a_csv(call, tmp_path):
    table(tmp_path / "own.csv", **{"<b>": lambda i: i * 7 % 11 if i % 9 else ""})
    done = call("run", "own.csv", "--label", "kind", "--quick", "--clauses", 10, "--epochs", 5)
    assert Model.load("runs/own/model.etm").feature_names == ("a", "<b>")
    board = result(tmp_path / "runs/own", "board")
    assert board["measured"]["forest"]["flash_bytes"] > 0  # fault F22: missing values do not remove it
    assert board["measured"]["forest"]["agreement"] == 1
    assert not [name for name in board["left_out"] if "forest" in name]
    assert "became the medians of the training rows" in (tmp_path / "runs/own/report.html").read_text()
    assert "% missing" in done.stderr


def test_test_rows_are_whole_groups(call, no_board, tmp_path):
    """Fault N7."""
    table(tmp_path / "own.csv", 300, b=lambda i: i * 7 % 11, person=lambda i: f"p{i // 30}")
    done = call(
        *("run", "own.csv", "--label", "kind", "--group", "person", "--quick", "--clauses", 10),
        *("--epochs", 5, "--no-forest"),
    )
    assert "other groups" in done.stderr
    assert result(tmp_path / "runs/own", "prune")["rows"] == 60
    assert Model.load("runs/own/model.etm").feature_names == ("a", "b")


def test_a_class_that_is_ignored_is_named(call, no_board, tmp_path):
    """Fault 11."""
    lines = ["a,b,kind"] + [f"{i % 13},{i % 7},{('x', 'y')[i % 13 > 6]}" for i in range(400)]
    lines += [f"{i % 13},{i % 7},fault" for i in range(0, 90, 9)]
    (tmp_path / "own.csv").write_text("\n".join(lines) + "\n")
    done = call("run", "own.csv", "--label", "kind", "--quick", "--clauses", 10, "--epochs", 5, "--no-forest")
    assert "Rare class: fault" in done.stdout
    assert "--balanced" in done.stdout


@pytest.mark.parametrize("value", few(["inf", "-inf", "1e300"]))
def test_what_the_forest_does_not_take_leaves_the_rest(call, tmp_path, value):
    """Fault N6."""
    table(tmp_path / "own.csv", **{"b [V]": lambda i: value if i == 5 else i * 7 % 11})
    done = call("run", "own.csv", "--label", "kind", "--quick", "--clauses", 10, "--epochs", 5)
    said = [line for line in done.stderr.splitlines() if "forest: left out" in line]
    assert len(said) == 1
    assert "column 'b [V]'" in said[0]
    assert "accuracy" in done.stdout
    assert "forest," not in done.stdout  # no column in the table


def test_without_the_extras_there_is_a_report(call, quick, tmp_path, monkeypatch):
    """Fault 12: a base install has neither compiler, emulator, emlearn nor matplotlib."""
    find = importlib.util.find_spec
    hidden = {"ziglang", "unicorn", "emlearn", "matplotlib"}
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, *a: None if name in hidden else find(name, *a)
    )
    done = call(*quick)
    assert "board: not measured. Install it with pip install 'ethereal-tm[device]'." in done.stdout
    assert "forest, " in done.stdout
    assert "instructions" not in done.stdout.split("runs/cells/report.html")[0]
    assert (tmp_path / "runs/cells/report.html").exists()
    assert not (tmp_path / "runs/cells/figures").exists()
    assert "ethereal-tm[device]" in call(*quick, "--flash", "2k", code=1).stderr


def test_mistakes_leave_no_folder(call, tmp_path):
    assert "n_clauses" in call("run", "digits", "--clauses", 0, code=1).stderr
    assert "s is 0" in call("run", "digits", "--s", 0, code=1).stderr
    (tmp_path / "own.csv").write_text("a,kind\n" + "1,x\n2,y\n" * 20)
    assert "--test is 0" in call("run", "own.csv", "--label", "kind", "--test", 0, code=1).stderr
    assert "'cortex-m9'" in call("run", "digits", "--target", "cortex-m9", code=1).stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("command", [["run", "digits"], ["tune", "digits", "-o", "m.etm"]])
def test_an_interrupt_says_that_the_command_continues(call, monkeypatch, command):
    """Fault 16."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("ethereal.runs.pipeline.learn", interrupted)
    monkeypatch.setattr("ethereal.tuning.search.tune", interrupted)
    monkeypatch.setattr("ethereal.tuning.tune", interrupted, raising=False)
    assert "type the same command again" in call(*command, code=130).stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
def test_killed_run_goes_on(tmp_path):
    table(tmp_path / "own.csv")
    words = [
        "run",
        "own.csv",
        "--label",
        "kind",
        "--quick",
        "--clauses",
        "10",
        "--epochs",
        "4",
        "--no-forest",
    ]
    command = [sys.executable, "-m", "ethereal", *words]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    stages = tmp_path / "runs" / "own" / "stages"
    deadline = time.monotonic() + 60
    while not (stages / "learn.json").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = (stages / "learn.json").stat().st_mtime_ns
    done = subprocess.run([*command], cwd=tmp_path, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert (stages / "learn.json").stat().st_mtime_ns == kept
    assert (tmp_path / "runs" / "own" / "report.html").exists()
