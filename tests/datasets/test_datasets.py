"""Data sets by name, and the files that `load` reads and writes."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from dataset_archives import (
    GOOD,
    saved,
)
from ethereal import datasets
from ethereal.cli import app
from ethereal.datasets.dataset import read_npz, write_npz


def test_npz_of_others_says_what_is_known(tmp_path):
    (tmp_path / "statlog.npz").write_bytes(saved(**GOOD))
    data = datasets.load("statlog", data_folder=tmp_path)
    assert data.completeness.startswith(
        "partial: 4 of 846 rows, 2 features instead of 18, 2 of 4 classes (judged"
    )
    assert data.feature_names == ("x0", "x1")
    assert data.class_names == ("van", "saab", "bus", "opel")


def test_npz_round_trip(tmp_path):
    data = datasets.load("digits")
    write_npz(tmp_path / "digits.npz", replace(data, groups=np.arange(len(data.y), dtype=np.int32)))
    again = read_npz(tmp_path / "digits.npz", "digits")
    np.testing.assert_array_equal(again.X, data.X)
    np.testing.assert_array_equal(again.groups, np.arange(len(data.y)))
    assert (again.feature_names, again.class_names, again.how) == (
        data.feature_names,
        data.class_names,
        data.how,
    )
    np.testing.assert_array_equal(again.groups_train, np.flatnonzero(~data.test))


def test_a_full_disk_leaves_no_file(tmp_path):
    script = """
import resource, sys
from pathlib import Path
from ethereal import datasets
from ethereal.datasets.dataset import write_npz
data = datasets.load("digits")
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))  # a write past this fails like one on a full disk
try:
    write_npz(Path(sys.argv[1]) / "digits.npz", data)
except datasets.DatasetError as e:
    print(e)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert "cannot be written (File too large)" in done.stdout
    assert "ETHEREAL_DATA" in done.stdout
    assert list(tmp_path.iterdir()) == []


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
