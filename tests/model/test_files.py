"""Model files: round trips, and every way in which a file can be wrong."""

import errno
import hashlib
import json
import os
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save as save_tensors

from ethereal import Booleanizer, Model
from ethereal.base.atomic import write_bytes
from ethereal.model import file as files
from ethereal.model.file import ModelFileError, from_file_bytes, to_file_bytes
from strategies import models

FIXTURE = Path(__file__).parents[1] / "data" / "version-1.etm"


def example():
    """A model with everything a file can hold."""
    booleanizer = Booleanizer(thresholds=[[1.0, 2.5], [0.1]], encoding="onehot").fit(
        [[0.0, 1.0], [np.nan, 1.0]]
    )
    return Model(
        [0, 4, 6, 3],
        [0, 1, 3, 4],
        [[1, -1, 0], [0, 3, 2], [-7, 0, 1]],
        n_booleans=5,
        classes=["rest", "walk", "läuft"],
        booleanizer=booleanizer,
        feature_names=["width", 'height > 2 "quoted" 身長'],
        boolean_rates=[0.0, 0.25, 0.5, 0.1, 1.0],
        typical_rows=[[1], [30]],
        provenance={"seed": 7, "parameters": {"T": 15, "s": 3.9}},
    )


def same(a, b):
    """Equal, and the parts that equality leaves out too."""
    rates = (None if m.boolean_rates is None else m.boolean_rates.tolist() for m in (a, b))
    rows = (None if m.typical_rows is None else m.typical_rows.tolist() for m in (a, b))
    return (
        a == b
        and a.provenance == b.provenance
        and next(rates) == next(rates)
        and next(rows) == next(rows)
        and a.classes.dtype == b.classes.dtype
        and (a.booleanizer is None or vars(a.booleanizer).keys() == vars(b.booleanizer).keys())
    )


def repacked(change, tensors=None):
    """File of the example whose description (or tensors) a hostile hand changed, checksum made to fit."""
    blank = to_file_bytes(example())
    length = struct.unpack("<Q", blank[:8])[0]
    header = json.loads(blank[8 : 8 + length])
    about = json.loads(header["__metadata__"]["ethereal"])
    arrays = dict(files.safetensors.load(blank))
    about["sha256"] = "0" * 64
    change(about)
    arrays.update(tensors or {})
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items() if array is not None}
    return signed(save_tensors(arrays, {"ethereal": json.dumps(about, separators=(",", ":"))}))


def signed(blank):
    """The bytes with the digest of the bytes in its place."""
    return blank.replace(b"0" * 64, hashlib.sha256(blank).hexdigest().encode(), 1)


@given(models())
def test_a_model_comes_back_as_it_was(model):
    data = to_file_bytes(model)
    again = from_file_bytes(data)
    assert same(again, model)
    assert to_file_bytes(again) == data


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "b"],
        [3, -4],
        [0.5, float("inf")],
        [False, True],
        np.array(["a", "bc"], dtype=object),
        np.array([1, 2], dtype=np.uint8),
        np.array([1, 2], dtype=np.int16),
        np.array([0, 2**64 - 1], dtype=np.uint64),
        np.array([0.1, 0.2], dtype=np.float32),
    ],
)
def test_labels_keep_their_type(labels, tmp_path):
    model = Model([0], [0, 1], [[1, 0]], n_booleans=1, classes=labels)
    model.save(tmp_path / "m.etm")
    again = Model.load(tmp_path / "m.etm")
    assert again == model
    assert again.classes.dtype == model.classes.dtype
    assert [type(x) for x in again.predict([[1]]).tolist()] == [
        type(x) for x in model.predict([[1]]).tolist()
    ]


def test_files_of_version_1_stay_readable():
    # Written before models carried typical rows, and when thresholds were compared in float64.
    loaded, now = Model.load(FIXTURE), example()
    assert loaded.feature_map.precision == "float64"
    assert now.feature_map.precision == "float32"
    assert same(loaded.in_float32(), now.with_typical_rows(None))


def test_the_booleanizers_names_come_back(tmp_path):
    booleanizer = Booleanizer(2).fit(pd.DataFrame({"a": [1.0, 2.0]}))
    model = Model([0], [0, 1], [[1]], n_booleans=1, classes=["x"], booleanizer=booleanizer)
    model.save(tmp_path / "m.etm")
    assert same(Model.load(tmp_path / "m.etm"), model)
    with pytest.raises(ValueError, match="column 0 of X is 'b'"):
        Model.load(tmp_path / "m.etm").predict(pd.DataFrame({"b": [1.0]}))


def test_every_changed_byte_is_noticed():
    data = to_file_bytes(example())
    rng = np.random.default_rng(0)
    for i in range(len(data)):
        wrong = bytearray(data)
        wrong[i] ^= 1 << rng.integers(8)
        with pytest.raises(ModelFileError):
            from_file_bytes(bytes(wrong))


def test_every_cut_is_noticed():
    data = to_file_bytes(example())
    for i in range(len(data)):
        with pytest.raises(ModelFileError):
            from_file_bytes(data[:i])


@given(models(), st.data())
def test_any_damage_is_noticed(model, data):
    whole = to_file_bytes(model)
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    wrong = whole[:start] + data.draw(st.binary(max_size=20)) + whole[end:]
    if wrong != whole:
        with pytest.raises(ModelFileError):
            from_file_bytes(wrong)


@given(st.binary(max_size=200))
def test_foreign_bytes_are_refused(data):
    with pytest.raises(ModelFileError, match="not a model file"):
        from_file_bytes(data)
    with pytest.raises(ModelFileError, match="not a model file"):
        from_file_bytes(struct.pack("<Q", len(data)) + data)


def edit(**changes):
    return lambda about: about.update(changes)


def without(name):
    return lambda about: about.pop(name)


HOSTILE = {
    "literal out of range": ({}, {"literals": np.array([0, 4, 60, 3], np.int32)}),
    "negative literal": ({}, {"literals": np.array([-1, 4, 6, 3], np.int32)}),
    "literals not sorted": ({}, {"literals": np.array([0, 6, 4, 3], np.int32)}),
    "offsets beyond the end": ({}, {"offsets": np.array([0, 1, 3, 2**60])}),
    "offsets that fall": ({}, {"offsets": np.array([0, 3, 1, 4])}),
    "no offsets": ({}, {"offsets": np.zeros(0, np.int64)}),
    "weights of another size": ({}, {"weights": np.zeros((3, 2), np.int32)}),
    "weights with one dimension": ({}, {"weights": np.zeros(9, np.int32)}),
    "weights that overflow": ({}, {"weights": np.full((3, 3), 2**31 - 1, np.int32)}),
    "no rows, huge columns": ({}, {"weights": np.zeros((0, 2**40), np.int32)}),
    "another number type": ({}, {"weights": np.zeros((3, 3), np.int64)}),
    "float literals": ({}, {"literals": np.array([0, 4, 6, 3], np.float32)}),
    "NaN threshold": ({}, {"thresholds": np.array([1.0, np.nan, 0.1])}),
    "infinite threshold": ({}, {"thresholds": np.array([1.0, np.inf, 0.1])}),
    "thresholds that fall": ({}, {"thresholds": np.array([2.5, 1.0, 0.1])}),
    "threshold offsets": ({}, {"threshold_offsets": np.array([0, 2, 4])}),
    "missing flags": ({}, {"missing": np.array([True])}),
    "rates": ({}, {"boolean_rates": np.full(5, 1.5, np.float32)}),
    "too few rates": ({}, {"boolean_rates": np.full(4, 0.5, np.float32)}),
    "typical rows too wide": ({}, {"typical_rows": np.zeros((2, 2), np.uint8)}),
    "typical rows of one dimension": ({}, {"typical_rows": np.zeros(2, np.uint8)}),
    "typical rows beyond the Booleans": ({}, {"typical_rows": np.full((2, 1), 32, np.uint8)}),
    "typical rows of another type": ({}, {"typical_rows": np.zeros((2, 1), np.int32)}),
    "no literals": ({}, {"literals": None}),
    "no thresholds": ({}, {"thresholds": None}),
    "foreign tensor": ({}, {"code": np.zeros(3, np.uint8)}),
    "huge n_booleans": ({"n_booleans": 2**62}, {}),
    "n_booleans as text": ({"n_booleans": "5"}, {}),
    "negative n_booleans": ({"n_booleans": -5}, {}),
    "names too few": ({"feature_names": ["a"]}, {}),
    "names as one text": ({"feature_names": "ab"}, {}),
    "names as numbers": ({"feature_names": [1, 2]}, {}),
    "classes too few": ({"classes": {"dtype": "str", "values": ["a", "b"]}}, {}),
    "classes twice": ({"classes": {"dtype": "str", "values": ["a", "b", "b"]}}, {}),
    "classes of another type": ({"classes": {"dtype": "int64", "values": ["a", "b", "c"]}}, {}),
    "classes of a strange type": ({"classes": {"dtype": "datetime64[s]", "values": [1, 2, 3]}}, {}),
    "classes beyond their type": ({"classes": {"dtype": "int8", "values": [1, 2, 300]}}, {}),
    "class labels of huge size": ({"classes": {"dtype": "<U2000000000", "values": ["a", "b", "c"]}}, {}),
    "classes without values": ({"classes": {"dtype": "str"}}, {}),
    "classes as a list": ({"classes": ["a", "b", "c"]}, {}),
    "classes null": ({"classes": None}, {}),
    "unknown encoding": ({"booleanizer": {"encoding": "gray", "missing": "raise", "named": False}}, {}),
    "unknown policy": ({"booleanizer": {"encoding": "onehot", "missing": "drop", "named": False}}, {}),
    "booleanizer as a text": ({"booleanizer": "onehot"}, {}),
    "no booleanizer but its tensors": ({"booleanizer": None}, {}),
    "provenance as a number": ({"provenance": 3}, {}),
    "provenance as a list": ({"provenance": [1]}, {}),
    "version 0": ({"format_version": 0}, {}),
    "version as a text": ({"format_version": "1"}, {}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_contents_are_refused_even_with_a_fitting_checksum(name):
    about, tensors = HOSTILE[name]
    with pytest.raises(ModelFileError):
        from_file_bytes(repacked(edit(**about), tensors))


@pytest.mark.parametrize("name", ["n_booleans", "classes", "booleanizer", "feature_names", "sha256"])
def test_what_is_not_there_is_named(name):
    with pytest.raises(ModelFileError, match="checksum" if name == "sha256" else name):
        from_file_bytes(repacked(without(name)))


def test_a_hostile_hand_can_at_least_make_a_valid_file():
    assert same(from_file_bytes(repacked(edit())), example())  # so the tests above fail for their own reason


def test_newer_files_are_refused_with_advice():
    with pytest.raises(ModelFileError, match=r"version 9.*\b8\. Upgrade"):
        from_file_bytes(repacked(edit(format_version=9)))


def test_deep_nesting_and_long_numbers_are_refused():
    for text in ("[" * 100_000, '{"format_version":' + "9" * 10_000 + "}"):
        with pytest.raises(ModelFileError):
            from_file_bytes(signed(save_tensors({}, {"ethereal": text, "sha256": "0" * 64})))


def test_a_long_label_among_many_does_not_fill_memory():
    values = ["x" * 2**20] + [str(i) for i in range(2**16)]
    tensors = {"weights": np.zeros((3, len(values)), np.int32)}
    data = repacked(edit(classes={"dtype": "str", "values": values}), tensors)
    with pytest.raises(ModelFileError, match="labels are too long"):
        from_file_bytes(data)


@pytest.mark.parametrize("size", [2**63, 2**40, files.MAX_HEADER_BYTES + 1, 10**6])
def test_a_length_that_lies_takes_no_memory(size, tmp_path):
    path = tmp_path / "m.etm"
    path.write_bytes(struct.pack("<Q", size) + b"{}")
    tracemalloc.start()
    with pytest.raises(ModelFileError, match=str(path)):
        Model.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * 2**20


def test_a_small_file_takes_little_memory(tmp_path):
    """Not what a file may hold at most, which a single bounded read would reserve."""
    path = tmp_path / "m.etm"
    example().save(path)
    tracemalloc.start()
    Model.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * 2**20


def test_a_file_of_several_pieces_is_read_whole(monkeypatch, tmp_path):
    example().save(tmp_path / "m.etm")
    monkeypatch.setattr(files, "_PIECE", 100)
    assert Model.load(tmp_path / "m.etm") == example()


def test_a_huge_foreign_file_is_not_read(tmp_path):
    path = tmp_path / "huge.etm"
    with open(path, "wb") as file:
        file.truncate(2**36)  # sparse
    with pytest.raises(ModelFileError, match="not a model file"):
        Model.load(path)


def test_too_large_files_are_neither_read_nor_written(monkeypatch, tmp_path):
    data = to_file_bytes(example())
    (tmp_path / "m.etm").write_bytes(data)
    monkeypatch.setattr(files, "MAX_FILE_BYTES", len(data) - 1)
    with pytest.raises(ModelFileError, match="larger than a model file may be"):
        Model.load(tmp_path / "m.etm")
    with pytest.raises(ValueError, match="A file holds at most"):
        example().save(tmp_path / "n.etm")
    assert os.listdir(tmp_path) == ["m.etm"]


def test_errors_name_the_file(tmp_path):
    path = tmp_path / "broken.etm"
    path.write_bytes(to_file_bytes(example())[:-1] + b"\x99")
    with pytest.raises(ModelFileError, match=r"broken\.etm.*damaged.*checksum"):
        Model.load(path)
    with pytest.raises(FileNotFoundError):
        Model.load(tmp_path / "none.etm")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "m.etm"
    example().save(path)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"'.*/m\.etm'"):
        example().simplify().save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.etm"]


def test_write_bytes_replaces_and_respects_the_umask(tmp_path):
    path = tmp_path / "a.bin"
    old = os.umask(0o027)
    try:
        write_bytes(path, b"one")
        write_bytes(str(path), b"two")
    finally:
        os.umask(old)
    assert path.read_bytes() == b"two"
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(FileNotFoundError):
        write_bytes(tmp_path / "no folder" / "a.bin", b"")
