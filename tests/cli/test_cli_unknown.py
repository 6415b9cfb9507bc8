"""Commands on models that may answer "unknown"."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from ethereal import Model
from says import says

SMALL = ["--clauses", "10", "--epochs", "8"]


@pytest.fixture
def table(tmp_path):
    X, y = load_iris(return_X_y=True)
    people = np.arange(150) % 6
    with (tmp_path / "iris.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "c", "d", "person", "kind"])
        writer.writerows([*row, f"p{p}", "xyz"[label]] for row, p, label in zip(X, people, y, strict=True))
    return "iris.csv"


def test_train_predict_and_explain(call, table):
    done = call(
        "train", table, "--label", "kind", "--group", "person", *SMALL, "--answered", "0.7", "--out", "m.etm"
    )
    assert "of the answers" in done.stdout
    assert "unknown        when the first class leads by fewer than" in done.stdout
    model = Model.load("m.etm")
    record = model.provenance["unknown"]
    assert model.output.margin == record["margin"] > 0
    assert (record["wanted"], record["n_groups"]) == ("answered 0.7", 5)
    labels = call("predict", "m.etm", table, "--label", "kind").stdout.split()
    assert 0 < labels.count("unknown") < 60
    row = labels.index("unknown")  # the header is row 0
    assert (
        "the answer is unknown"
        in call("explain", "m.etm", table, "--label", "kind", "--row", str(row)).stdout
    )
    told = json.loads(call("predict", "m.etm", table, "--label", "kind", "--out", "p.csv", "--json").stdout)
    assert (told["unknown"], told["rows"]) == (labels.count("unknown"), 150)
    assert told["accuracy"] > 0.9  # of the answers
    assert "rows are unknown" in call("predict", "m.etm", table, "--label", "kind").stderr
    done = call("prune", "m.etm", table, "--label", "kind", "--out", "small.etm")
    assert "always answers" in done.stderr
    assert Model.load("small.etm").output.kind == "classes"
    call("export", "m.etm", "--out", "c")
    options = table, "--label", "kind", "--group", "person", *SMALL
    as_json = json.loads(call("train", *options, "--unknown", "0.9", "--out", "n.etm", "--json").stdout)
    assert as_json["calibration"]["accuracy"] >= 0.9
    call("train", *options, "--novelty", "--out", "o.etm")
    known = Model.load("o.etm")
    assert known.normal.limit > 0
    call("export", "o.etm", "--out", "d")
    assert "_is_normal(const" in Path("d/o.h").read_text()
    assert 0 < as_json["test_answered"] <= 1


@pytest.mark.slow
def test_run_reports_what_was_wanted_and_reached(call, table, tmp_path):
    done = call("run", table, "--label", "kind", "--group", "person", "--quick", *SMALL, "--answered", "0.8")
    assert "answered" in done.stdout
    assert "right answers" in done.stdout
    folder = tmp_path / "runs" / "iris"
    printed = json.loads((folder / "stages" / "prune.json").read_text())["unknown"]
    assert printed["answered"] >= 0.8
    assert printed["n_groups"] == 5
    model = Model.load(folder / "model.etm")
    assert model.output.margin == printed["margin"]
    page = (folder / "report.html").read_text()
    assert "groups that were left out in turn" in page
    assert "MODEL_UNKNOWN 3u" in (folder / "c" / "model.h").read_text()
    assert "kept from before" in call("run", table, "--label", "kind", "--group", "person", "--quick", *SMALL,
                                      "--answered", "0.8").stderr  # fmt: skip


def test_both_wishes_are_refused(call, table):
    wishes = ["--unknown", "0.9", "--answered", "0.9"]
    done = call("train", table, "--label", "kind", *wishes, "--out", "m.etm", code=1)
    says(done.stderr, "--unknown", "--answered")
