"""`ethereal prune` as a user types it."""

from __future__ import annotations

import json

import pytest

from ethereal import Model


@pytest.fixture
def trained(call):
    call("train", "digits", "--clauses", 20, "--epochs", 5, "-o", "m.etm")
    return Model.load("m.etm")


def test_prune_to_bounds(call, trained):
    shown = call("prune", "m.etm", "digits", "--flash", "4k", "-o", "small.etm").stdout
    small = Model.load("small.etm")
    assert small.n_includes < trained.n_includes
    for words in (" % before, ", " % after", "bytes of flash", "instructions", "small.etm"):
        assert words in shown
    assert "half the instructions may cost 0.15 points of accuracy." in shown
    bounded = call("prune", "m.etm", "digits", "--flash", "4k", "--instructions", "1M", "-o", "s.etm").stdout
    assert "may cost" not in bounded
    told = json.loads(call("prune", "m.etm", "digits", "--flash", "4k", "-o", "small.etm", "--json").stdout)
    assert told["footprint"]["bytes"] <= 4096
    assert Model.load("small.etm").n_includes == told["includes"]


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
    assert "--group is for recordings" in refused
