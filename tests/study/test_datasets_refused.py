"""Archives and npz files that are broken, cut off or meant to do harm: refused, and nothing is left."""

import os

import numpy as np
import pytest

from dataset_archives import (
    ARCHIVES,
    GOOD,
    emg_files,
    gas_files,
    gesture_files,
    har_files,
    mammography_files,
    saved,
    sports_files,
    statlog_files,
    zipped,
)
from ethereal import datasets
from ethereal.base.npz import NpzError, read_arrays
from ethereal.datasets import DatasetError
from ethereal_study.sets import archive
from ethereal_study.sets.archive import Archive


def edited(files, name, old, new, count=1):
    assert old in files[name]
    return zipped(files | {name: files[name].replace(old, new, count)})


def without(files, name):
    assert name in files
    return zipped({n: t for n, t in files.items() if n != name})


FIRST_EMG = "EMG_data_for_gestures-master/01/1_raw_data_13-11_22.03.16.txt"
BROKEN = [
    ("statlog", lambda: ARCHIVES["statlog"][0]()[:-30], r"\.zip is damaged or not whole.*Delete"),
    ("statlog", lambda: b"<html>not found</html>", "damaged or not whole"),
    ("statlog", lambda: b"", "damaged or not whole"),
    ("statlog", lambda: without(statlog_files(), "xae.dat"), "holds 8 of the 9 files of statlog"),
    (
        "statlog",
        lambda: edited(statlog_files(), "xab.dat", "saab", "tram"),
        "xab.dat, line 2: 'tram' is not one of van",
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
        "holds no file Sensorless_drive_diagnosis.txt. It has other",
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
    with pytest.raises(DatasetError, match=r"zeros unpacks.*\b200\b"):
        Archive(bomb)
    bomb.write_bytes(zipped({"inner.zip": zipped({"zeros": bytes(3 << 20)})}))
    with pytest.raises(DatasetError, match=r"inner\.zip/zeros unpacks"):
        Archive(bomb)
    noise = os.urandom(1 << 16)
    monkeypatch.setattr(archive, "MAX_TOTAL", 1 << 17)
    bomb.write_bytes(zipped({f"n{i}": noise for i in range(3)}))
    with pytest.raises(DatasetError, match=r"unpacks.*\b0 MiB"):
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


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "damaged"),
        (b"PK\x03\x04", "damaged"),
        (saved(**GOOD)[:-40], "damaged"),
        (saved(X=GOOD["X"], y=GOOD["y"]), "lacks the arrays test"),
        (saved(**GOOD | {"X": np.array([[{}]] * 4, dtype=object)}), "damaged"),  # would need pickle
        (saved(**GOOD | {"X": np.zeros(4)}), "X is not a matrix"),
        (saved(**GOOD | {"y": np.array([0, 1, 0])}), "y is not one label"),
        (saved(**GOOD | {"y": np.array([0, -1, 0, 0])}), "y is not one label"),
        (saved(**GOOD | {"y": np.array([0.0, 1.0, 0, 0])}), "y is not one label"),
        (saved(**GOOD | {"test": np.zeros(4, dtype=bool)}), "test does not mark"),
        (saved(**GOOD | {"test": np.ones(4)}), "test does not mark"),
        (saved(**GOOD, group=np.zeros(3, dtype=int)), "group"),
        (saved(**GOOD, feature_names=np.array(["a"])), r"feature_names.*\b2\b"),
        (saved(**GOOD, class_names=np.array(["a"])), "class_names"),
    ],
)
def test_broken_npz_is_refused(content, message, tmp_path):
    (tmp_path / "statlog.npz").write_bytes(content)
    with pytest.raises(DatasetError, match=message):
        datasets.load("statlog", data_folder=tmp_path)


def test_npz_that_is_something_else_or_too_large(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(NpzError, match="it holds one array"):
        read_arrays(path)
    path.write_bytes(zipped({"X.npy": b"no array"}))
    with pytest.raises(NpzError, match="member 'X'"):
        read_arrays(path)
    path.write_bytes(saved(**GOOD))
    assert set(read_arrays(path)) == set(GOOD)
    monkeypatch.setattr("ethereal.base.npz.MAX_BYTES", 100)
    with pytest.raises(NpzError, match=r"bytes.*\b100\b"):
        read_arrays(path)
