"""The parsers on small archives of the originals' layout, and the files that `load` reads and writes."""

import gzip
import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from dataset_archives import (
    ARCHIVES,
    GOOD,
    emg_files,
    gas_files,
    gesture_files,
    har_files,
    idx,
    mnist_files,
    saved,
    serving,
    small_source,
    sports_files,
    zipped,
)
from ethereal import datasets
from ethereal.cli import app
from ethereal.datasets import DatasetError
from ethereal.datasets.dataset import read_npz, write_npz
from ethereal.datasets.sets import registry
from ethereal.datasets.sets.parsers import study_split
from ethereal_study.settings import SETTINGS
from says import says


@pytest.mark.parametrize("name", sorted(ARCHIVES))
def test_every_layout_is_parsed_once(name, put, tmp_path):
    load = put(name)
    first = load()
    source = registry.SOURCES[name]
    assert first.X.shape == (len(first.y), source.features)
    assert len(first.feature_names) == len(set(first.feature_names)) == source.features
    assert first.n_classes == source.classes
    assert (
        first.X_train.shape[0] + first.X_test.shape[0]
        == len(first.y)
        == len(first.y_train) + len(first.y_test)
    )
    assert first.completeness.startswith(f"partial: {len(first.y)} of {source.rows} rows")
    assert first.licence
    assert first.citation
    assert first.how
    assert first.name == name
    (tmp_path / "archives" / source.files[0].name).unlink()  # from here on NAME.npz is all there is
    again = load()
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.test, again.test)
    assert (again.completeness, again.how, again.class_names) == (
        first.completeness,
        first.how,
        first.class_names,
    )
    assert not [p.name for p in tmp_path.iterdir() if p.suffix not in (".npz", "")]


def test_emg_is_the_studys_preprocessing(put):
    data = put("emg")()
    rows, labels, groups = [], [], []
    for number, (_, text) in enumerate(sorted((n, t) for n, t in emg_files().items() if "raw_data" in n)):
        signal, track, before = [], [], 0
        for line in text.splitlines()[1:]:
            fields = line.split()
            if len(fields) < 10:
                continue  # the last recording ends within its last line
            gap = int(fields[0]) - before
            signal += [[float(f) for f in fields[1:9]]] * gap
            track += [int(fields[9])] * gap
            before = int(fields[0])
        pooled, majorities = [], []
        for w in range(len(signal) // 100 - 1):
            window = np.array(signal[100 * w : 100 * w + 100])
            pooled.append(np.sqrt((window**2).sum(axis=0)))
            majorities.append(np.bincount(track[100 * w : 100 * w + 100]).argmax())
        for start in range(0, len(pooled) - 19, 3):
            rows.append(np.concatenate(pooled[start : start + 20]))
            labels.append(np.bincount(majorities[start : start + 20]).argmax())
            groups.append(number)
    np.testing.assert_allclose(data.X, rows, rtol=1e-6)
    np.testing.assert_array_equal(data.y, labels)
    np.testing.assert_array_equal(data.groups, groups)
    unmarked_first = np.concatenate([np.flatnonzero(data.y == 0), np.flatnonzero(data.y != 0)])
    np.testing.assert_array_equal(data.test[unmarked_first], study_split(len(data.y)))


def test_gas_keeps_first_rows_for_training_and_splits_in_the_order_of_file_names(put):
    data = put("gas", zipped(gas_files(rows=30)))()
    assert data.X.shape == (300, 128)
    assert data.groups.tolist() == np.repeat(np.arange(1, 11), 30).tolist()
    order = np.concatenate([np.flatnonzero(data.groups == b)[1:] for b in (1, 10, 2, 3, 4, 5, 6, 7, 8, 9)])
    np.testing.assert_array_equal(data.test[order], study_split(290))
    assert data.test.sum() == study_split(290).sum()
    first = gas_files(rows=30)["Dataset/batch1.dat"].split("\n")[0].split()
    assert data.y[0] == int(first[0]) - 1
    np.testing.assert_allclose(data.X[0], [float(f.split(":")[1]) for f in first[1:]], rtol=1e-6)


def test_gas_with_concentrations_reads_the_same(put):
    plain = gas_files()
    other = {n: "\n".join(f"{line[0]};10.5{line[1:]}" for line in t.splitlines()) for n, t in plain.items()}
    with_concentrations = put("gas", zipped(other))()
    expected = np.array(
        [
            [float(f.split(":")[1]) for f in line.split()[1:]]
            for line in plain["Dataset/batch1.dat"].splitlines()
        ]
    )
    np.testing.assert_allclose(with_concentrations.X[:7], expected, rtol=1e-6)


def test_gesture_takes_the_portuguese_phase_and_nested_zips(put):
    data = put("gesture", zipped({"gesture_phase_dataset.zip": zipped(gesture_files())}))()
    assert data.y.tolist() == [0, 1, 2, 3, 4, 0] * 7
    assert data.groups.tolist() == np.repeat(np.arange(7), 6).tolist()
    np.testing.assert_array_equal(data.test, study_split(42))
    assert data.X.dtype == np.float64
    assert data.feature_names[:4] == ("lhx", "lhy", "lhz", "rhx")


def test_har_keeps_its_own_split_and_names_the_axes_of_energy_bands(put):
    data = put("har")()
    assert data.test.tolist() == [False] * 12 + [True] * 6
    assert data.feature_names[-3:] == tuple(f"fBodyAcc-bandsEnergy-1,8-{axis}" for axis in "XYZ")
    assert data.groups.tolist() == [1 + i // 3 for i in range(12)] + [1 + i // 3 for i in range(6)]
    line = har_files()["UCI HAR Dataset/test/X_test.txt"].splitlines()[0]
    np.testing.assert_allclose(data.X_test[0], [float(f) for f in line.split()], rtol=1e-6)


def test_mammography_has_missing_values(put):
    data = put("mammography")()
    assert np.isnan(data.X[::3, 3]).all()
    assert np.isnan(data.X).sum() == 7
    assert data.y.tolist() == [0, 1] * 10


def test_sports_are_eleven_means_per_file(put):
    data = put("sports")()
    assert data.X.shape == (88, 45)
    samples = np.array(
        [[float(f) for f in line.split(",")] for line in sports_files()["data/a02/p1/s02.txt"].splitlines()]
    )
    np.testing.assert_allclose(
        data.X[5 * 11 : 6 * 11], samples[:110].reshape(11, 10, 45).mean(axis=1), rtol=1e-5
    )
    assert data.y.tolist() == [0] * 44 + [1] * 44
    assert data.groups.tolist() == ([1] * 22 + [2] * 22) * 2


def test_statlog_labels(put):
    assert put("statlog")().y.tolist() == [0, 1, 2, 3] * 9


def put_mnist(tmp_path, monkeypatch, files):
    with serving() as nowhere:
        monkeypatch.setitem(registry.SOURCES, "mnist", small_source("mnist", nowhere, 4))
    (tmp_path / "archives").mkdir(exist_ok=True)
    for name, content in files.items():
        (tmp_path / "archives" / name).write_bytes(content)


def test_mnist_images(tmp_path, monkeypatch):
    files = mnist_files()
    # a file that was unpacked on the way counts too
    files["train-images-idx3-ubyte.gz"] = gzip.decompress(files["train-images-idx3-ubyte.gz"])
    put_mnist(tmp_path, monkeypatch, files)
    data = datasets.load("mnist", data_folder=tmp_path)
    assert data.X.shape == (8, 784)
    assert data.X.dtype == np.uint8
    assert data.y.tolist() == [0, 1, 2, 3, 4, 0, 1, 2]
    assert data.test.tolist() == [False] * 5 + [True] * 3
    assert data.image_shape == (28, 28)


@pytest.mark.parametrize(
    "broken, message",
    [
        ({"t10k-labels-idx1-ubyte.gz": idx(np.zeros(2))}, r"\b2 labels"),
        ({"t10k-labels-idx1-ubyte.gz": idx(np.full(3, 11))}, "label 11"),
        ({"t10k-images-idx3-ubyte.gz": b"\x1f\x8bnonsense"}, "damaged or not whole"),
        (
            {"t10k-images-idx3-ubyte.gz": mnist_files()["t10k-images-idx3-ubyte.gz"][:-9]},
            "damaged or not whole",
        ),
        ({"t10k-images-idx3-ubyte.gz": gzip.compress(b"\x00" * 40)}, "is not an idx file"),
        (
            {"t10k-images-idx3-ubyte.gz": gzip.compress(bytes([0, 0, 8, 3, *([255] * 12)]) + b"x" * 9)},
            "9 bytes do not fill",
        ),
        ({"t10k-images-idx3-ubyte.gz": gzip.compress(b"\x00" * (65 << 20))}, "more than"),
    ],
)
def test_broken_mnist_is_refused(broken, message, tmp_path, monkeypatch):
    put_mnist(tmp_path, monkeypatch, mnist_files() | broken)
    with pytest.raises(DatasetError, match=message):
        datasets.load("mnist", data_folder=tmp_path)
    assert not (tmp_path / "mnist.npz").exists()


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


def test_command_fetches(monkeypatch, tmp_path, put):
    put("statlog")
    monkeypatch.setenv("ETHEREAL_DATA", str(tmp_path))
    run = CliRunner().invoke(app, ["datasets", "fetch", "statlog", "digits"])
    assert run.exit_code == 0
    says(run.stdout, "statlog: 28", "8", "36", "846")
    run = CliRunner().invoke(app, ["datasets", "fetch", "statlog", "hra"])
    assert run.exit_code == 2
    says(run.stderr, "mean 'har'")


def test_settings_name_known_sets():
    assert set(SETTINGS) < set(datasets.names())  # a data set need not be in the study
    literals = {
        "emg": 320,
        "gas": 256,
        "gesture": 360,
        "har": 1120,
        "mammography": 30,
        "sensorless": 288,
        "sports": 90,
    }
    for name, published in literals.items():  # the paper's table 1
        s = SETTINGS[name]
        bits = 1 if s.n_bins == 2 else s.n_bins
        assert 2 * bits * (s.n_features or registry.SOURCES[name].features) == published
    assert SETTINGS["mnist"].booleanizer().fit(np.arange(9.0)[:, None]).n_features_in_ == 1


def test_the_studys_data_loads(study_data):
    for name in datasets.names():
        if name == "digits" or not (study_data / f"{name}.npz").exists():
            continue
        data = datasets.load(name, data_folder=study_data)
        assert data.n_classes == registry.SOURCES[name].classes
        assert len(data.feature_names) == data.n_features
