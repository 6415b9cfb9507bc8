"""The figures of the study, and the frontier."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_digits

import ethereal
from ethereal.model import Model
from ethereal.tuning import Setup
from ethereal_study import figures, frontier
from ethereal_study.baselines.boosted import missing_tools
from ethereal_study.sets.npz import write_npz
from small_sets import small_set


@pytest.mark.slow
def test_figures_are_written(call, data, tmp_path):
    pictures = small_set("mnist", n_rows=200, n_features=784, n_classes=10)
    bright = replace(pictures, X=(40 * pictures.X + 75).clip(0, 255).astype(np.uint8))
    write_npz(data / "mnist.npz", bright)
    shown = json.loads(call("mnist", "--epochs", 3, "--jobs", 1, "--json").stdout)
    assert set(shown) == {"mnist-epochs", "mnist-includes", "mnist-negated"}
    shown |= json.loads(
        call("tradeoff", "--sets", "statlog,mammography", "--epochs", 3, "--jobs", 1, "--json").stdout
    )
    for png, svg in shown.values():
        assert (tmp_path / png).read_bytes().startswith(b"\x89PNG")
        text = (tmp_path / svg).read_text()
        assert "<svg" in text
    texts = {name: (tmp_path / svg).read_text() for name, (_, svg) in shown.items()}
    assert "<!-- statlog -->" in texts["tradeoff"]
    assert "<!-- includes per clause -->" in texts["tradeoff"]
    assert "<!-- ETHEREAL, after an exclusion -->" in texts["mnist-epochs"]
    assert "<!-- enlarged: epochs 0 to 3 -->" in texts["mnist-epochs"]
    assert "<!-- Where the includes are: class 2, negated literals -->" in texts["mnist-negated"]
    assert "--digit is 10" in call("mnist", "--digit", 10, code=1).stderr


def test_pixels_of_includes():
    model = Model([0, 5, 3], [0, 2, 3], [[1, 0], [0, -2]], n_booleans=4, classes=[0, 1])
    counts = figures._pixel_counts(model, (2, 2))  # literal 5 is NOT Boolean 1
    assert counts[0, 0].tolist() == [[1, 1], [0, 0]]
    assert counts[1, 1].tolist() == [[0, 0], [0, 2]]
    assert counts.sum() == 4
    negated = figures._pixel_counts(model, (2, 2), "negated")
    assert negated.sum() == 1
    assert negated[0, 0].tolist() == [[0, 1], [0, 0]]


def test_accuracy_after_every_exclusion_is_drawn():
    history = {"epoch": [1, 1, 2, 2, 3], "phase": ["train", "exclude", "train", "exclude", "train"]}
    history |= {"includes": [9, 4, 8, 3, 7], "test": [0.9, 0.5, 0.91, 0.6, 0.92], "chosen_by": [0.9] * 5}
    ethereal = {"history": history, "clauses": 1}
    trained = {key: values[::2] for key, values in history.items()}
    figure = figures.saw_tooth({"vanilla": {"history": trained, "clauses": 1}, "ethereal": ethereal}, "toy")
    for panel, key, scale in ((0, "test", 100), (1, "test", 100), (2, "includes", 1), (3, "includes", 1)):
        lines = {line.get_label(): line for line in figure.axes[panel].get_lines()}
        drawn = lines["ETHEREAL, after an exclusion"].get_ydata()
        np.testing.assert_allclose(drawn, [scale * value for value in history[key][1::2]])


def test_figures_need_matplotlib(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    assert "ethereal-tm[study]" in call("tradeoff", "--sets", "statlog", code=1).stderr


@pytest.mark.slow
def test_quick_models_of_the_frontier_answer_early(monkeypatch):
    X, y = load_digits(return_X_y=True)
    monkeypatch.setattr(frontier, "KILOBYTES", (32,))
    monkeypatch.setattr(frontier, "INSTRUCTIONS", (1600,))
    monkeypatch.setattr(frontier, "SLOW", ())
    monkeypatch.setattr(frontier, "TIGHT", ())
    setup = Setup((4,), ("thermometer",), 60, 10, 4.0, None, None, 1, "votes", 0.0)
    made = ethereal.frontier(X[:1300], y[:1300], setup, teachers=["votes"], learner="machine", epochs=10)
    small, whole, early = frontier._ours(made, SimpleNamespace(X_test=X[1300:], y_test=y[1300:]))
    assert [small["size"], whole["size"], early["size"]] == [
        "32 kB",
        "1600 instructions",
        "from 1600 instructions",
    ]
    assert early["method"] == "ours, early"
    assert early["cortex-m7"]["instructions"] < 0.9 * whole["cortex-m7"]["instructions"]
    assert abs(early["accuracy"] - whole["accuracy"]) < 0.01
    few = replace(made, X=X[:900])
    assert [line["method"] for line in frontier._ours(few, SimpleNamespace(X_test=X, y_test=y))] == [
        "ours"
    ] * 2


@pytest.mark.slow
def test_the_frontier_beside_forests_boosted_trees_and_the_scan(call, tmp_path, monkeypatch):
    for name, few in (
        ("KILOBYTES", (2, 32)),
        ("SLOW", (2,)),
        ("TIGHT", ((600, 100),)),
        ("INSTRUCTIONS", (100, 800)),
    ):
        monkeypatch.setattr(frontier, name, few)
    monkeypatch.setattr("ethereal_study.frontier.SPLITS", {})
    quick = ["--sets", "mammography", "--epochs", 3, "--seeds", 2, "--jobs", 1]
    shown = call("frontier", *quick).stdout
    folder = tmp_path / "study"
    made = json.loads((folder / "frontier-mammography-3epochs.json").read_text())
    rows = {(row["method"], row["size"]): row for row in made["rows"]}
    sizes = [size for method, size in rows if method == "forest"]
    assert sizes == ["5 x 5", "10 x 8", "25 x 14"]
    assert {("REDRESS scan", "vanilla"), ("REDRESS scan", "ethereal"), ("ours", "32 kB")} <= set(rows)
    boosted = [size for method, size in rows if method == "boosted"]
    if missing_tools():
        assert not boosted
        assert any("boosted trees needs" in note for note in made["notes"])
    else:
        assert boosted == ["5 rounds", "10 rounds", "20 rounds"]
    assert [size for method, size in rows if method == "vector trees"] == ["5 x 4", "20 x 4"]
    for (method, size), row in rows.items():
        assert 0 < row["accuracy"] <= 100
        assert (row["accuracy_spread"] is None) == (method in ("vector trees", "REDRESS scan"))  # one seed
        for target in ("cortex-m7", "cortex-m0plus"):
            assert row[f"{target}_instructions"] > 0
        if method.startswith("ours") and size.endswith("kB"):
            assert row["cortex-m7_flash"] <= 1024 * int(size.split()[0])
    tight = rows["ours", "0.6 kB, 100 instructions"]
    assert tight["cortex-m7_flash"] <= 600
    every = list(csv.DictReader((folder / "frontier-seeds-3epochs.csv").open()))
    for (method, size), row in rows.items():
        seeds = [line for line in every if (line["method"], line["size"]) == (method, size)]
        assert len(seeds) == (1 if row["accuracy_spread"] is None else 2)
        for value in ("accuracy", "cortex-m0plus_instructions"):
            assert np.mean([float(line[value]) for line in seeds]) == pytest.approx(row[value])
    (goal,) = json.loads((folder / "frontier-goals-3epochs.json").read_text())["rows"]
    forest = rows["forest", "25 x 14"]
    assert (goal["set"], goal["forest"]) == ("mammography", forest["accuracy"])
    assert any(
        goal["cortex-m7_flash"] * forest["cortex-m7_flash"] == pytest.approx(row["cortex-m7_flash"])
        and goal["ours"] == row["accuracy"]
        for (method, _), row in rows.items()
        if method.startswith("ours")
    )
    for kind in ("png", "svg"):
        assert (folder / f"frontier-mammography-honest-3epochs.{kind}").stat().st_size > 1000
    assert call("frontier", *quick).stdout == shown
    assert "test rows choose nothing" in call("frontier", "--protocol", "paper", code=1).stderr
