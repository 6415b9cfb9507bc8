"""Data sets by name: which there are, how they are split and listed."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from ethereal import datasets
from ethereal.cli import app


def test_with_split():
    data = datasets.load("digits")
    other = data.with_split(np.arange(len(data.y)) % 4 == 0, "every fourth row")
    assert other.how == "every fourth row"
    assert len(other.y_test) == 450
    for bad in (np.zeros(3, dtype=bool), np.zeros(len(data.y), dtype=bool), np.arange(len(data.y))):
        with pytest.raises(ValueError, match=r"test has dtype|test marks"):
            data.with_split(bad, "bad")


def test_digits_split_is_fixed_and_stratified():
    data = datasets.load("digits")
    assert data.test.sum() == 360
    assert data.image_shape == (8, 8)
    assert np.flatnonzero(data.test)[:5].tolist() == np.flatnonzero(datasets.load("digits").test)[:5].tolist()
    np.testing.assert_allclose(np.bincount(data.y_test) / 360, np.bincount(data.y) / 1797, atol=0.003)


@pytest.mark.parametrize(
    "name, near", [("hra", "har"), ("MNIST", "mnist"), ("mamography", "mammography"), ("sport", "sports")]
)
def test_unknown_names_suggest_the_nearest(name, near):
    with pytest.raises(ValueError, match=f"Did you mean '{near}'"):
        datasets.load(name)


def test_unknown_names_list_the_known():
    with pytest.raises(ValueError, match="Known are emg, gas"):
        datasets.load("xyzzy")
    with pytest.raises(ValueError, match="no data set is called 3"):
        datasets.load(3)


def test_the_data_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("ETHEREAL_DATA", str(tmp_path))
    assert datasets.folder() == tmp_path
    monkeypatch.setenv("ETHEREAL_DATA", "")  # as good as not set
    assert datasets.folder().name == "ethereal"


def test_command_lists(monkeypatch, tmp_path, put):
    put("statlog")()
    monkeypatch.setenv("ETHEREAL_DATA", str(tmp_path))
    run = CliRunner().invoke(app, ["datasets", "--json"])
    listed = {r["name"]: r for r in json.loads(run.stdout)["datasets"]}
    assert list(listed) == datasets.names()
    assert (listed["statlog"]["state"], listed["har"]["state"], listed["digits"]["state"]) == (
        "ready",
        "absent",
        "bundled",
    )
    assert listed["statlog"]["bytes"] > 0
    assert listed["statlog"]["licence"] == "CC BY 4.0"
    text = CliRunner().invoke(app, ["datasets"]).stdout
    assert "statlog" in text
    assert "Mowforth" in text
    assert "ready" in text
