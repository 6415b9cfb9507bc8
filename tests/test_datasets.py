"""The parsers on small archives of the originals' layout, and the files that `load` reads and writes."""

import gzip
import io
import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from dataset_archives import (
    ARCHIVES,
    emg_files,
    gas_files,
    gesture_files,
    har_files,
    idx,
    mammography_files,
    mnist_files,
    serving,
    small_source,
    sports_files,
    statlog_files,
    zipped,
)
from ethereal import datasets
from ethereal.cli import app
from ethereal.datasets import DatasetError, archive, registry
from ethereal.datasets.archive import Archive
from ethereal.datasets.dataset import read_npz, write_npz
from ethereal.preprocess import study_split
from ethereal.study.settings import SETTINGS


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Put an archive where a user would put it by hand; returns a function that then loads the set."""

    def put_archive(name, content=None, members=None):
        with serving() as nowhere:
            source = small_source(name, nowhere, members)
        monkeypatch.setitem(registry.SOURCES, name, source)
        path = tmp_path / "archives" / source.files[0].name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(ARCHIVES[name][0]() if content is None else content)
        return lambda: datasets.load(name, data_folder=tmp_path)

    return put_archive


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
    assert first.split
    assert first.name == name
    (tmp_path / "archives" / source.files[0].name).unlink()  # from here on NAME.npz is all there is
    again = load()
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.test, again.test)
    assert (again.completeness, again.split, again.class_names) == (
        first.completeness,
        first.split,
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
    np.testing.assert_array_equal(data.group, groups)
    unmarked_first = np.concatenate([np.flatnonzero(data.y == 0), np.flatnonzero(data.y != 0)])
    np.testing.assert_array_equal(data.test[unmarked_first], study_split(len(data.y)))


def test_gas_keeps_first_rows_for_training_and_splits_in_the_order_of_file_names(put):
    data = put("gas", zipped(gas_files(rows=30)))()
    assert data.X.shape == (300, 128)
    assert data.group.tolist() == np.repeat(np.arange(1, 11), 30).tolist()
    order = np.concatenate([np.flatnonzero(data.group == b)[1:] for b in (1, 10, 2, 3, 4, 5, 6, 7, 8, 9)])
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
    assert data.group.tolist() == np.repeat(np.arange(7), 6).tolist()
    np.testing.assert_array_equal(data.test, study_split(42))
    assert data.X.dtype == np.float64
    assert data.feature_names[:4] == ("lhx", "lhy", "lhz", "rhx")


def test_har_keeps_its_own_split_and_names_the_axes_of_energy_bands(put):
    data = put("har")()
    assert data.test.tolist() == [False] * 12 + [True] * 6
    assert data.feature_names[-3:] == tuple(f"fBodyAcc-bandsEnergy-1,8-{axis}" for axis in "XYZ")
    assert data.group.tolist() == [1 + i // 3 for i in range(12)] + [1 + i // 3 for i in range(6)]
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
    assert data.group.tolist() == ([1] * 22 + [2] * 22) * 2


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
        ({"t10k-labels-idx1-ubyte.gz": idx(np.zeros(2))}, "do not fit 2 labels"),
        ({"t10k-labels-idx1-ubyte.gz": idx(np.full(3, 11))}, "label 11"),
        ({"t10k-images-idx3-ubyte.gz": b"\x1f\x8bnonsense"}, "damaged or not whole"),
        (
            {"t10k-images-idx3-ubyte.gz": mnist_files()["t10k-images-idx3-ubyte.gz"][:-9]},
            "damaged or not whole",
        ),
        ({"t10k-images-idx3-ubyte.gz": gzip.compress(b"\x00" * 40)}, "no idx file"),
        (
            {"t10k-images-idx3-ubyte.gz": gzip.compress(bytes([0, 0, 8, 3, *([255] * 12)]) + b"x" * 9)},
            "not whole",
        ),
        ({"t10k-images-idx3-ubyte.gz": gzip.compress(b"\x00" * (65 << 20))}, "more than"),
    ],
)
def test_broken_mnist_is_refused(broken, message, tmp_path, monkeypatch):
    put_mnist(tmp_path, monkeypatch, mnist_files() | broken)
    with pytest.raises(DatasetError, match=message):
        datasets.load("mnist", data_folder=tmp_path)
    assert not (tmp_path / "mnist.npz").exists()


def edited(files, name, old, new, count=1):
    assert old in files[name]
    return zipped(files | {name: files[name].replace(old, new, count)})


def without(files, name):
    assert name in files
    return zipped({n: t for n, t in files.items() if n != name})


FIRST_EMG = "EMG_data_for_gestures-master/01/1_raw_data_13-11_22.03.16.txt"
BROKEN = [
    ("statlog", lambda: ARCHIVES["statlog"][0]()[:-30], r"\.zip is damaged or not whole.*delete"),
    ("statlog", lambda: b"<html>not found</html>", "damaged or not whole"),
    ("statlog", lambda: b"", "damaged or not whole"),
    ("statlog", lambda: without(statlog_files(), "xae.dat"), "holds 8 of the 9 files of statlog"),
    (
        "statlog",
        lambda: edited(statlog_files(), "xab.dat", "saab", "tram"),
        "xab.dat, line 2: 'tram' is none of van",
    ),
    (
        "statlog",
        lambda: edited(statlog_files(), "xab.dat", " saab", ""),
        "xab.dat, line 2: 18 fields instead of 19",
    ),
    ("statlog", lambda: zipped(statlog_files() | {"xac.dat": ""}), "xac.dat: holds no rows"),
    (
        "statlog",
        lambda: edited(statlog_files(), "xaa.dat", " ", " x", 1),
        "xaa.dat, line 1: could not convert",
    ),
    ("emg", lambda: without(emg_files(), FIRST_EMG), "holds 3 of the 4 files of emg"),
    (
        "emg",
        lambda: edited(emg_files(), FIRST_EMG, "\n2\t", "\n2x\t"),
        r"13-11_22.03.16.txt, line 3: '2x' is not a",
    ),
    (
        "emg",
        lambda: edited(emg_files(), FIRST_EMG, "\n1000\t", "\n1000\t5\t"),
        "line 801: 11 fields instead of 10",
    ),
    ("emg", lambda: edited(emg_files(), FIRST_EMG, "\n1000\t", "\n9000000\t"), "line 801: the time jumps"),
    (
        "emg",
        lambda: edited(emg_files(), FIRST_EMG, "\t0\n", "\t8\n"),
        "row 1: the label 8 is not one of 0 to 7",
    ),
    ("gas", lambda: without(gas_files(), "Dataset/batch7.dat"), "holds 9 of the 10 files of gas"),
    (
        "gas",
        lambda: edited(gas_files(), "Dataset/batch3.dat", " 7:", " 8:"),
        "batch3.dat, row 1: .* 1 to 128",
    ),
    ("gas", lambda: edited(gas_files(), "Dataset/batch3.dat", " 7:", " 7"), "batch3.dat, line 1: 256 fields"),
    (
        "gas",
        lambda: edited(gas_files(), "Dataset/batch3.dat", "5 1:", "9 1:"),
        "batch3.dat, row 2: the label 9",
    ),
    (
        "gesture",
        lambda: edited(gesture_files(), "a3_raw.csv", "Stroke", "Sleep"),
        "a3_raw.csv, line 4: 'Sleep'",
    ),
    (
        "gesture",
        lambda: edited(gesture_files(), "a3_raw.csv", "lhx", "foo"),
        "a3_raw.csv, line 1: the columns",
    ),
    ("har", lambda: without(har_files(), "UCI HAR Dataset/test/y_test.txt"), "holds no file test/y_test.txt"),
    (
        "har",
        lambda: edited(har_files(), "UCI HAR Dataset/test/y_test.txt", "1\n", ""),
        "test has 6 rows, 5 labels",
    ),
    (
        "har",
        lambda: edited(har_files(), "UCI HAR Dataset/features.txt", "\n5 tBodyAcc-4()", ""),
        "560 features",
    ),
    (
        "har",
        lambda: edited(har_files(), "UCI HAR Dataset/test/X_test.txt", "e-01", "e+999"),
        "not a finite number",
    ),
    (
        "mammography",
        lambda: edited(mammography_files(), "mammographic_masses.data", "3,1\n", "3,2\n"),
        "label 2",
    ),
    (
        "mammography",
        lambda: edited(mammography_files(), "mammographic_masses.data", "41,", ""),
        "line 2: 5 fields",
    ),
    (
        "sensorless",
        lambda: zipped({"other.txt": "1"}),
        "holds no file Sensorless_drive_diagnosis.txt; it has other",
    ),
    ("sports", lambda: without(sports_files(), "data/a02/p1/s01.txt"), "holds 7 of the 8 files of sports"),
    (
        "sports",
        lambda: zipped(sports_files() | {"data/a02/p1/s01.txt": "1," * 44 + "1\n"}),
        "a02/p1/s01.txt: 1 samples instead of 125",
    ),
]


@pytest.mark.parametrize("name, content, message", BROKEN)
def test_broken_archives_are_refused_and_nothing_is_left(name, content, message, put, tmp_path):
    load = put(name, content())
    with pytest.raises(DatasetError, match=message):
        load()
    assert [p.name for p in tmp_path.iterdir()] == ["archives"]
    assert not list((tmp_path / "archives").glob("*.sha256"))  # what could not be read is not remembered


def test_a_damaged_member_is_named(put):
    data = bytearray(ARCHIVES["sensorless"][0]())
    data[200:210] = b"\x00" * 10
    with pytest.raises(DatasetError, match=r"Sensorless_drive_diagnosis\.txt is damaged"):
        put("sensorless", bytes(data))()


def test_members_that_point_outside_are_never_written(put, tmp_path):
    files = {"../../outside.txt": "x", "/etc/ethereal-test": "x", "..\\outside.txt": "x"}
    assert put("statlog", zipped(statlog_files() | files))().X.shape == (36, 18)
    assert not list(tmp_path.parent.glob("**/*outside*"))


def test_bombs_are_refused(tmp_path, monkeypatch):
    bomb = tmp_path / "bomb.zip"
    bomb.write_bytes(zipped({"zeros": bytes(3 << 20)}))
    with pytest.raises(DatasetError, match="zeros unpacks to more than 200 times its size"):
        Archive(bomb)
    bomb.write_bytes(zipped({"inner.zip": zipped({"zeros": bytes(3 << 20)})}))
    with pytest.raises(DatasetError, match=r"inner\.zip/zeros unpacks"):
        Archive(bomb)
    noise = os.urandom(1 << 16)
    monkeypatch.setattr(archive, "MAX_TOTAL", 1 << 17)
    bomb.write_bytes(zipped({f"n{i}": noise for i in range(3)}))
    with pytest.raises(DatasetError, match="unpacks to more than 0 MiB"):
        Archive(bomb)
    monkeypatch.setattr(archive, "MAX_MEMBERS", 2)
    bomb.write_bytes(zipped({f"n{i}": b"" for i in range(4)}))
    with pytest.raises(DatasetError, match="more than 2 files"):
        Archive(bomb)


def test_zips_nest_only_once_and_encrypted_members_are_refused(tmp_path):
    deep = tmp_path / "deep.zip"
    deep.write_bytes(zipped({"a.zip": zipped({"b.zip": zipped({"c.zip": b"not opened"})})}))
    with Archive(deep) as opened:
        assert opened.names(".*") == ["a.zip/b.zip"]
    data = bytearray(zipped({"a": "b"}))
    data[6] |= 1  # flag of the local header
    data[data.index(b"PK\x01\x02") + 8] |= 1  # and of the directory
    deep.write_bytes(bytes(data))
    with pytest.raises(DatasetError, match="encrypted"):
        Archive(deep)


def test_a_member_twice_is_ambiguous(tmp_path):
    path = tmp_path / "twice.zip"
    path.write_bytes(zipped({"x/a.txt": "1", "y/a.txt": "2"}))
    with Archive(path) as opened, pytest.raises(DatasetError, match="more than once"):
        opened.read("a.txt")


def saved(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


GOOD = {"X": np.zeros((4, 2)), "y": np.array([0, 1, 0, 1]), "test": np.array([True, False, False, True])}


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "damaged"),
        (b"PK\x03\x04", "damaged"),
        (saved(**GOOD)[:-40], "damaged"),
        (saved(X=GOOD["X"], y=GOOD["y"]), "lacks the arrays test"),
        (saved(**GOOD | {"X": np.array([[{}]] * 4, dtype=object)}), "damaged"),  # would need pickle
        (saved(**GOOD | {"X": np.zeros(4)}), "X is no matrix"),
        (saved(**GOOD | {"y": np.array([0, 1, 0])}), "y is not one label"),
        (saved(**GOOD | {"y": np.array([0, -1, 0, 0])}), "y is not one label"),
        (saved(**GOOD | {"y": np.array([0.0, 1.0, 0, 0])}), "y is not one label"),
        (saved(**GOOD | {"test": np.zeros(4, dtype=bool)}), "test does not mark"),
        (saved(**GOOD | {"test": np.ones(4)}), "test does not mark"),
        (saved(**GOOD, group=np.zeros(3, dtype=int)), "group"),
        (saved(**GOOD, feature_names=np.array(["a"])), "feature_names are not 2"),
        (saved(**GOOD, class_names=np.array(["a"])), "class_names are too few"),
    ],
)
def test_broken_npz_is_refused(content, message, tmp_path):
    (tmp_path / "statlog.npz").write_bytes(content)
    with pytest.raises(DatasetError, match=message):
        datasets.load("statlog", data_folder=tmp_path)


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
    write_npz(tmp_path / "digits.npz", replace(data, group=np.arange(len(data.y), dtype=np.int32)))
    again = read_npz(tmp_path / "digits.npz", "digits")
    np.testing.assert_array_equal(again.X, data.X)
    np.testing.assert_array_equal(again.group, np.arange(len(data.y)))
    assert (again.feature_names, again.class_names, again.split) == (
        data.feature_names,
        data.class_names,
        data.split,
    )
    np.testing.assert_array_equal(again.group_train, np.flatnonzero(~data.test))


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
    assert other.split == "every fourth row"
    assert len(other.y_test) == 450
    for bad in (np.zeros(3, dtype=bool), np.zeros(len(data.y), dtype=bool), np.arange(len(data.y))):
        with pytest.raises(ValueError, match="test:"):
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
    with pytest.raises(ValueError, match=f"did you mean '{near}'"):
        datasets.load(name)


def test_unknown_names_list_the_known():
    with pytest.raises(ValueError, match="known are emg, gas"):
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
    assert "statlog: 28 training and 8 test rows, partial: 36 of 846 rows" in run.stdout
    run = CliRunner().invoke(app, ["datasets", "fetch", "statlog", "hra"])
    assert run.exit_code == 2
    assert "did you mean 'har'" in run.stderr


def test_settings_name_known_sets():
    assert set(SETTINGS) == set(datasets.names()) - {"digits"}
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
