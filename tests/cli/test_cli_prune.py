"""`ethereal prune` as a user types it."""

from __future__ import annotations

import json

import pytest
from sklearn.datasets import load_iris

from ethereal import Model
from says import says


@pytest.fixture
def trained(call):
    call("train", "digits", "--clauses", 6, "--epochs", 3, "-o", "m.etm")
    return Model.load("m.etm")


def test_prune_to_bounds(call, tmp_path):
    X, y = load_iris(return_X_y=True)
    rows = [",".join([*map(str, row), f"kind {label}"]) for row, label in zip(X, y, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,d,y", *rows]) + "\n")
    call("train", "t.csv", "--label", "y", "--clauses", 10, "--epochs", 5, "-o", "m.etm")
    words = ("prune", "m.etm", "t.csv", "--label", "y")
    shown = call(*words, "--flash", "900", "-o", "small.etm").stdout
    small = Model.load("small.etm")
    assert small.n_includes < Model.load("m.etm").n_includes
    for told in (" % before, ", " % after", "bytes of flash", "instructions", "small.etm"):
        assert told in shown
    says(shown, "half", "0.15")
    both = ("--flash", "900", "--instructions", "1M", "-o", "s.etm")
    assert "may cost" not in call(*words, *both).stdout
    facts = json.loads(call(*words, *both, "--json").stdout)
    assert facts["footprint"]["bytes"] <= 900
    assert Model.load("s.etm").n_includes == facts["includes"]


def test_prune_refuses(call, trained):
    assert (
        "No pruned model fits"
        in call("prune", "m.etm", "digits", "--flash", 60, "-o", "s.etm", code=1).stderr
    )
    assert "folder" in call("prune", "m.etm", "digits", "-o", "none/s.etm", code=1).stderr
    with open("own.csv", "w") as file:
        file.write("a,y\n" + "1,x\n2,z\n" * 9)
    assert "own.csv" in call("prune", "m.etm", "own.csv", "--label", "y", "-o", "s.etm", code=1).stderr
    refused = call("prune", "m.etm", "digits", "--group", "a", "-o", "s.etm", code=1).stderr
    says(refused, "--label, --drop", "--group")
