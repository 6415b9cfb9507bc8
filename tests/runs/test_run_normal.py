"""`ethereal run --normal`: tables and folders without labels, true figures, and mistakes told by name."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from ethereal import Model
from ethereal.cli import app
from ethereal.runs.folder import RunFolder
from ethereal.runs.normal import run_normal
from ethereal.runs.summary import summary_of
from ethereal.runs.watched import NormalRun

RNG = np.random.default_rng(0)


def table(path, rows, names="abcd", extra=None):
    lines = [",".join([*names, *(["line"] if extra is not None else [])])]
    for i, row in enumerate(rows.tolist()):
        lines.append(",".join(map(str, [*row, *([extra[i]] if extra is not None else [])])))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def tables(tmp_path):
    normal = np.round(RNG.normal([5, 50, 0, 1], 1, (320, 4)), 3)
    odd = np.round(RNG.normal([5, 80, 0, 1], 1, (40, 4)), 3)
    return table(tmp_path / "pump.csv", normal), table(tmp_path / "odd.csv", odd[:, ::-1], "dcba")


def test_a_table(tables, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    normal, odd = tables
    command = ["run", str(normal), "--normal", "--abnormal", str(odd), "--false-alarms", "0.05"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    for said in ("100.0 % of 40 abnormal rows", "isolation forest", "b is ", "limit"):
        assert said in done.output
    folder = tmp_path / "runs" / "pump"
    facts = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)  # read again
    assert (facts["n_held_out"], facts["detected"], facts["how"]) == (80, 1.0, "the last quarter")
    assert 0 <= facts["false_alarms"] < 0.15
    ours, forest, gaussian = facts["scored"]
    assert ours["separation"] == 1 > forest["separation"] > 0.8
    assert ours["flash"] < 1000 < forest["flash"]
    assert gaussian["instructions"] > 50
    assert sum(share for share, _ in facts["bars"]) == pytest.approx(1)
    assert facts["reasons"][0][0] == "b"
    model = Model.load(folder / "model.etm")
    assert model.feature_names == ("a", "b", "c", "d")
    assert model.predict([[5.0, 80.0, 0, 1], [5, 50, 0, 1]]).tolist() == ["not normal", "normal"]
    assert (folder / "c" / "model.h").exists()
    why = CliRunner().invoke(app, ["explain", str(folder / "model.etm"), str(odd), "--json"])
    assert json.loads(why.stdout)["is_normal"] is False
    assert json.loads(why.stdout)["features"][0]["name"] == "b"
    told = CliRunner().invoke(app, ["inspect", str(folder / "model.etm")]).output
    assert "what is normal, by 16 centres of 4 features" in told
    (folder / "report.html").unlink()
    assert CliRunner().invoke(app, ["report", str(folder)]).exit_code == 0
    page = (folder / "report.html").read_text()
    assert page.count("<svg") == 3
    assert "b is " in page
    assert "100.0 %" in page


def test_groups_are_held_out(tables, tmp_path, no_board):
    lines = np.repeat(["p", "q", "r", "s"], 80)
    rows = np.round(RNG.normal(size=(320, 4)), 3)
    made = run_normal(table(tmp_path / "four.csv", rows, extra=lines), group="line", out=tmp_path / "runs")
    summary = summary_of(RunFolder(made.folder))
    assert (summary["kind"], summary["rows"][0][0]) == ("normal", "false alarms")
    assert "--group line --normal" in summary["command"]
    assert NormalRun.load(made.folder).watched == made.watched
    assert made.watched.how == "1 of 4 groups"
    assert made.watched.n_held_out == 80
    assert made.watched.detected is None
    assert sorted(name for name, _ in made.watched.by_group) == ["p", "q", "r", "s"]
    assert "There are 4 groups" in repr(made)
    assert "False alarms by group" in made.report.read_text()
    assert "false alarms" in repr(made)


def test_what_only_rises_is_left_out(tmp_path, capsys, no_board):
    rows = np.round(RNG.normal(size=(60, 3)), 3)
    rows[:, 0] = np.arange(60)
    made = run_normal(table(tmp_path / "t.csv", rows, "iab"), out=tmp_path / "runs")
    assert made.model.feature_names == ("a", "b")
    assert "'i' only rises" in capsys.readouterr().err
    with pytest.raises(ValueError, match="no column is left that does not only rise"):
        run_normal(table(tmp_path / "i.csv", rows[:, :1], "i"))


def test_a_folder_of_recordings(tmp_path, no_board):
    for machine in "abcd":
        (tmp_path / "normal" / machine).mkdir(parents=True)
        samples = RNG.normal(0, 300, (40 * 32, 2)).astype(int)
        table(tmp_path / "normal" / machine / "1.csv", samples, ("ax", "ay"))
    (tmp_path / "odd").mkdir()
    table(tmp_path / "odd" / "x.csv", RNG.normal(0, 3000, (20 * 32, 2)).astype(int), ("ax", "ay"))
    made = run_normal(
        tmp_path / "normal", tmp_path / "odd", window=32, rate=100, kernels="std,step", out=tmp_path / "runs"
    )
    assert made.watched.how == "1 of 4 groups"
    assert (made.watched.rows_are, made.watched.n_abnormal, made.watched.detected) == ("windows", 20, 1.0)
    assert made.watched.alarms_per_hour == pytest.approx(made.watched.false_alarms * 3600 * 100 / 32)
    assert "std is" in " ".join(made.watched.alarms)


def test_mistakes_are_told(tables, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    normal, _ = tables
    with pytest.raises(ValueError, match="label= is 'a', but normal rows have no labels"):
        run_normal(normal, label="a")
    with pytest.raises(TypeError, match="has no option 'epochs'"):
        run_normal(normal, epochs=3)
    with pytest.raises(ValueError, match="false_alarms is 2"):
        run_normal(normal, false_alarms=2)
    with pytest.raises(ValueError, match="no such file or folder"):
        run_normal(tmp_path / "no.csv")
    with pytest.raises(ValueError, match="has no column 'd'"):
        run_normal(normal, table(tmp_path / "short.csv", np.ones((3, 3)), "abc"))
    texts = tmp_path / "texts.csv"
    texts.write_text("a,b\n" + "x,y\n" * 30)
    with pytest.raises(ValueError, match="no column of numbers is left"):
        run_normal(texts)
    done = CliRunner().invoke(app, ["run", str(normal), "--normal", "--epochs", "3"])
    assert done.exit_code != 0
    assert "--epochs is for rows with labels" in done.output
