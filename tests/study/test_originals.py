"""What a user with a network gets: the sets that are partial elsewhere, from archives of all their files.

The archives have the originals' folders, names, separators, line ends, number forms and odd rows. Only the
rows per file are few. The registry is the real one but for the host and the number of rows.
"""

import io
import json
import zipfile
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from typer.testing import CliRunner

from dataset_archives import emg_files, serving, zipped
from ethereal import datasets
from ethereal.cli import app
from ethereal_study.sets import download, registry
from says import says

# Rows of the ten batches of gas, and the gases that a batch lacks, in the original.
BATCHES = (445, 1244, 1586, 161, 197, 2300, 3613, 294, 470, 3600)
WITHOUT_TOLUENE = (3, 4, 5)
MASTER = "EMG_data_for_gestures-master"


@cache
def emg_recordings():
    """All 72 recordings, each with a window outside every gesture and one within."""
    return emg_files(subjects=36, milliseconds=2600, unmarked=0.45)


@cache
def emg_archive():
    """36 folders of two recordings, a README, times that repeat and go back, and one cut off in a line."""
    files = dict(emg_recordings())
    name = next(n for n in files if "/05/2_raw" in n)
    head, first, *rest = files[name].splitlines()
    again = rest[300].split("\t")
    odd = ["\t".join([str(int(again[0]) - 50), *again[1:]]), rest[301], rest[301]]
    files[name] = "\r\n".join([head, first, *rest[:301], *odd, *rest[302:], ""])
    files[f"{MASTER}/.gitattributes"] = "x"
    files[f"__MACOSX/{MASTER}/01/._1_raw_data_x.txt"] = "resource fork"
    return zipped(files)


@cache
def gas_archive():
    """Ten batches with a blank at the end of each line, numbers as published, few of the rows of each."""
    rng = np.random.default_rng(1)
    files = {}
    for batch, rows in enumerate(BATCHES, 1):
        labels = [1, 2, 3, 4, 5] if batch in WITHOUT_TOLUENE else [1, 2, 3, 4, 5, 6]
        lines = [
            f"{labels[i % len(labels)]} "
            + " ".join(f"{k}:{value:.6f}" for k, value in enumerate(rng.normal(0, 1e4, 128), 1))
            for i in range(max(2, rows // 100))
        ]
        files[f"Dataset/batch{batch}.dat"] = " \n".join(lines) + " \n"
    return zipped(files)


@cache
def sensorless_archive():
    """One file, blanks between numbers with an exponent, sorted by class."""
    numbers = np.random.default_rng(4).normal(0, 1e-4, (11 * 5, 48))
    lines = (" ".join(f"{v:.4e}" for v in row) + f" {1 + i // 5}" for i, row in enumerate(numbers))
    return zipped({"Sensorless_drive_diagnosis.txt": "\r\n".join(lines) + "\r\n"})


ORIGINALS = {
    "emg": (emg_archive, 144),
    "gas": (gas_archive, sum(max(2, rows // 100) for rows in BATCHES)),
    "sensorless": (sensorless_archive, 55),
}


@pytest.fixture
def call(tmp_path, monkeypatch):
    """A server of the three archives under their real names, and the command."""
    monkeypatch.setattr(download, "WAIT", 0.01)
    monkeypatch.setenv("ETHEREAL_DATA", str(tmp_path))
    with serving() as site:
        for name, (archive, rows) in ORIGINALS.items():
            source = registry.SOURCES[name]
            (file,) = source.files
            site.files[file.name] = archive()
            local = replace(file, urls=(site.url + file.name,))
            monkeypatch.setitem(registry.SOURCES, name, replace(source, files=(local,), rows=rows))

        def caller(*words, code=0):
            result = CliRunner().invoke(app, ["datasets", *words])
            assert result.exit_code == code, result.output
            return result

        caller.site = site
        yield caller


def test_complete_archives_give_complete_sets(call, tmp_path):
    before = {r["name"]: r for r in json.loads(call("--json").stdout)["datasets"]}
    assert (before["emg"]["state"], before["emg"]["completeness"]) == ("absent", "")
    text = " ".join(call().stdout.split())
    assert "`ethereal datasets fetch gas` gets all of it" in text
    fetched = call("fetch", "emg", "gas", "sensorless").stdout
    for name, (_, rows) in ORIGINALS.items():
        data = datasets.load(name)
        source = registry.SOURCES[name]
        assert data.completeness == f"complete: {rows} rows"
        assert data.X.shape == (rows, source.features)
        assert len(np.unique(data.y)) == source.classes
        assert f"complete: {rows} rows" in fetched
        assert np.isfinite(data.X).all()
        (file,) = source.files
        assert (tmp_path / "archives" / f"{file.name}.sha256").exists()
    after = {r["name"]: r for r in json.loads(call("--json").stdout)["datasets"]}
    assert all(after[name]["completeness"].startswith("complete") for name in ORIGINALS)
    assert "Here: complete: 144 rows." in call().stdout


def test_the_groups_are_the_files(call):
    call("fetch", "emg", "gas")
    emg, gas = datasets.load("emg"), datasets.load("gas")
    assert np.bincount(emg.groups).tolist() == [2] * 72
    assert np.bincount(gas.groups)[1:].tolist() == [max(2, rows // 100) for rows in BATCHES]
    assert all(5 not in gas.y[gas.groups == batch] for batch in WITHOUT_TOLUENE)


def test_times_that_repeat_or_go_back_are_left_out_as_in_the_study(call):
    call("fetch", "emg")
    windows = datasets.load("emg")
    plain = zipped(emg_recordings())
    (file,) = registry.SOURCES["emg"].files
    call.site.files[file.name] = plain
    (datasets.folder() / "archives" / f"{file.name}.sha256").unlink()
    call("fetch", "emg", "--force")
    usual = datasets.load("emg")
    odd = windows.groups == 2 * 4 + 1  # subject 5, session 2
    np.testing.assert_array_equal(windows.X[~odd], usual.X[~odd])
    assert not np.array_equal(windows.X[odd], usual.X[odd])
    assert windows.X.shape == usual.X.shape


@pytest.mark.parametrize(
    "name, lost, message",
    [
        ("emg", "/36/2_raw", ["71", "72"]),
        ("gas", "batch10.dat", ["9", "10"]),
        ("sensorless", "diagnosis.txt", ["Sensorless_drive_diagnosis.txt"]),
    ],
)
def test_an_archive_that_lacks_a_file_is_refused(name, lost, message, call, tmp_path):
    (file,) = registry.SOURCES[name].files
    with zipfile.ZipFile(io.BytesIO(call.site.files[file.name])) as whole:
        kept = {n: whole.read(n) for n in whole.namelist() if lost not in n}
    call.site.files[file.name] = zipped(kept | {"about.txt": "x"})
    says(call("fetch", name, code=1).stderr, *message)
    assert not (tmp_path / f"{name}.npz").exists()


def test_a_replaced_archive_is_refused(call):
    call("fetch", "gas")
    (file,) = registry.SOURCES["gas"].files
    call.site.files[file.name] = sensorless_archive()
    assert "is not the expected file" in call("fetch", "gas", "--force", code=1).stderr.replace("\n", " ")


def test_what_is_partial_says_so(call, tmp_path):
    """A file from elsewhere with fewer rows, with and without its own words about it."""
    call("fetch", "gas")
    with np.load(tmp_path / "gas.npz") as file:
        arrays = dict(file)
    few = arrays["y"] != 5
    part = {k: v[few] if v.shape[:1] == few.shape else v for k, v in arrays.items() if k != "completeness"}
    np.savez(tmp_path / "gas.npz", **part)
    expected = f"partial: {few.sum()} of {len(few)} rows, 5 of 6 classes"
    assert f"Here: {expected}." in call().stdout
    assert datasets.load("gas").completeness.startswith(expected)
    (tmp_path / "gas.npz").write_bytes(b"no zip")
    assert "Here: damaged." in call().stdout
