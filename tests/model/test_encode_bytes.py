"""Self-describing bytes: round trips with labels and Booleanizer, damage of every kind."""

import json
import struct
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethereal import Booleanizer, Model
from ethereal.features.feature_map import FeatureMap
from ethereal.model.codes import CodeError, from_bytes, to_bytes
from strategies import feature_maps, models_of, raw_rows
from thinned import examples

CODES = ["redress", "compact"]
DATA = Path(__file__).parents[1] / "data"


def small_weights(model):
    return np.abs(model.weights.astype(int)).sum() <= 3000


def votes(model):
    """Votes of each set of literals, whatever the order and the repetitions."""
    hashes = {}
    for clause in model:
        if clause.literals:
            row = hashes.setdefault(clause.literals, np.zeros(model.n_classes, dtype=int))
            for c, weight in clause.weights.items():
                row[c] += weight
    return {literals: row.tolist() for literals, row in hashes.items() if row.any()}


@pytest.mark.parametrize("code", CODES)
def test_codes_of_version_1_stay_readable(code):
    model = Model.load(DATA / "version-1.etm")
    kept = (DATA / f"version-1.{code}").read_bytes()
    back = from_bytes(kept)
    assert (votes(back), back.classes.tolist()) == (votes(model), model.classes.tolist())
    assert back.booleanizer.feature_map_ == model.booleanizer.feature_map_
    assert to_bytes(model, code) == kept  # the code has not changed since


@given(st.data(), st.sampled_from(CODES))
@examples(60)
def test_round_trip(data, code):
    feature_map = data.draw(st.one_of(st.none(), feature_maps()))
    model = data.draw(models_of(feature_map).filter(small_weights))
    back = from_bytes(to_bytes(model, code))
    assert votes(back) == votes(model)
    assert back.n_booleans == model.n_booleans
    assert back.classes.tolist() == model.classes.tolist()
    assert back.classes.dtype == model.classes.dtype
    if feature_map is None:
        assert back.booleanizer is None
        rows = np.array(data.draw(st.lists(st.lists(st.booleans(), min_size=model.n_booleans,
                        max_size=model.n_booleans), min_size=1, max_size=4)), dtype=bool)  # fmt: skip
    else:
        assert back.booleanizer.feature_map_ == feature_map
        rows = data.draw(raw_rows(feature_map))
    assert np.array_equal(back.class_sums(rows), model.class_sums(rows))
    assert to_bytes(back, code) == to_bytes(from_bytes(to_bytes(back, code)), code)


def example():
    booleanizer = Booleanizer(thresholds=[0.1, 1e30]).fit([[0.0, np.nan]] * 2)
    n = booleanizer.feature_map_.n_booleans
    return Model(
        literals=[0, 2, 1, 2 * n - 1, 3],
        offsets=[0, 2, 4, 4, 5],
        weights=[[1, 0], [0, -3], [1, 1], [2, 2]],
        n_booleans=n,
        classes=["no", "yes"],
        booleanizer=booleanizer,
    )


def test_methods_of_the_model():
    model = example()
    assert model.to_bytes("redress") == to_bytes(model, "redress")
    assert model.to_bytes() == to_bytes(model, "compact") == to_bytes(model)
    assert Model.from_bytes(model.to_bytes()) == from_bytes(to_bytes(model))
    assert model.from_bytes(model.to_bytes()) == from_bytes(to_bytes(model))  # called on a model, too
    assert from_bytes(bytearray(model.to_bytes())) == from_bytes(memoryview(model.to_bytes()))


def test_thresholds_are_exact_and_short_when_they_can_be():
    narrow = Booleanizer(thresholds=[0.5, 1.5]).fit(np.zeros((1, 10)))
    wide = Booleanizer.from_feature_map(
        FeatureMap([0.1, 0.5] * 10, range(0, 21, 2), [False] * 10, precision="float64")
    )
    lengths = []
    for booleanizer in (narrow, wide):
        model = Model([], [0], np.zeros((0, 1), int), n_booleans=20, classes=["x"], booleanizer=booleanizer)
        lengths.append(len(to_bytes(model)))
        assert from_bytes(to_bytes(model)).booleanizer.feature_map_ == booleanizer.feature_map_
    assert lengths[1] - lengths[0] == 20 * 4


def test_an_encoding_for_each_of_more_features_than_a_byte_has_bits():
    encodings = ["onehot" if f in (0, 3, 8, 9) else "thermometer" for f in range(11)]
    booleanizer = Booleanizer(3, encodings).fit(np.random.default_rng(0).random((30, 11)))
    n = booleanizer.feature_map_.n_booleans
    model = Model([1], [0, 1], [[1]], n_booleans=n, classes=["x"], booleanizer=booleanizer)
    back = from_bytes(to_bytes(model)).booleanizer.feature_map_
    assert back == booleanizer.feature_map_
    assert back.encoding == tuple(encodings)


@pytest.mark.parametrize("n_thresholds, n_bytes", [(1, 1), (255, 1), (256, 2), (65_535, 2), (65_536, 4)])
def test_numbers_of_thresholds_take_the_fewest_bytes(n_thresholds, n_bytes):
    lengths = []
    for features in ([n_thresholds], [n_thresholds, 0, 0, 0, 0, 0, 0, 0]):  # one byte of masks each
        thresholds = [list(range(n)) for n in features]
        booleanizer = Booleanizer(thresholds=thresholds).fit(np.zeros((1, len(features))))
        model = Model([0], [0, 1], [[1]], n_booleans=n_thresholds, classes=["x"], booleanizer=booleanizer)
        lengths.append(len(to_bytes(model)))
    assert lengths[1] - lengths[0] == 7 * n_bytes


def test_many_thresholds():
    booleanizer = Booleanizer(thresholds=[list(range(70_000)), [], list(range(300))]).fit(np.zeros((1, 3)))
    model = Model([5, 70_299], [0, 2], [[1]], n_booleans=70_300, classes=["x"], booleanizer=booleanizer)
    back = from_bytes(to_bytes(model))
    assert back.booleanizer.feature_map_ == booleanizer.feature_map_
    assert votes(back) == votes(model)


@pytest.mark.parametrize("code", CODES)
def test_every_cut_and_every_flipped_bit_is_found(code):
    data = to_bytes(example(), code)
    for n in range(len(data)):
        with pytest.raises(CodeError):
            from_bytes(data[:n])
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CodeError):
            from_bytes(bytes(damaged))
    with pytest.raises(CodeError, match="cut off or padded"):
        from_bytes(data + b"\0")


def seal(data):
    """Give changed bytes a checksum that fits, so that they are looked at."""
    return data[:-4] + struct.pack("<I", zlib.crc32(data[:-4]))


EXAMPLES = {code: to_bytes(example(), code) for code in CODES}


@given(st.sampled_from(CODES), st.data())
@examples(300)
def test_damage_behind_a_good_checksum_is_refused_or_harmless(code, data):
    damaged = bytearray(EXAMPLES[code])
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 5))] = data.draw(st.integers(0, 255))
    try:
        model = from_bytes(seal(bytes(damaged)))
    except CodeError:
        return
    assert isinstance(model, Model)


@given(st.binary(max_size=300))
def test_foreign_bytes(data):
    with pytest.raises(CodeError):
        from_bytes(data)
    with pytest.raises(CodeError):
        from_bytes(b"ETHC" + data)


def container(code=2, choices=0, n_booleans=1, labels=None, booleanizer=b"", body=b"", version=1):
    text = json.dumps({"dtype": "int64", "values": [0, 1]} if labels is None else labels).encode()
    head = struct.pack(
        "<4sBBHIIII", b"ETHC", version, code, choices, n_booleans, len(text), len(booleanizer), len(body)
    )
    return seal(head + text + booleanizer + body + b"\0\0\0\0")


def test_the_container_of_these_tests_is_right():
    assert from_bytes(container(body=b"\x80")).n_clauses == 0
    counts, word = struct.pack("<II", 0, 1), struct.pack("<H", 0x8001)
    assert votes(from_bytes(container(code=1, body=counts + word))) == {(1,): [0, -1]}


@pytest.mark.parametrize(
    "keywords, message",
    [
        ({"version": 2, "body": b"\x80"}, r"format.*\b2\b.*\b1\. Upgrade"),
        ({"version": 0, "body": b"\x80"}, "version 0"),
        ({"code": 3, "body": b"\x80"}, "code 3"),
        ({"n_booleans": 2**32 - 1, "body": b"\x80"}, "4294967295 Booleans"),
        ({"choices": 1 << 15, "body": b"\x80"}, "Only 14 bits"),
        ({"body": b""}, "ends within a number"),
        ({"body": b"\x80\0"}, "bytes follow"),
        ({"labels": [], "body": b"\x80"}, "labels"),
        ({"labels": {"dtype": "int64", "values": []}, "body": b"\x80"}, "classes"),
        ({"labels": {"dtype": "int64", "values": [1, 1]}, "body": b"\x80"}, "only 1 different"),
        ({"labels": {"dtype": "int64", "values": [1, "a"]}, "body": b"\x80"}, "labels"),
        ({"labels": {"dtype": "int8", "values": [1, 1000]}, "body": b"\x80"}, "labels"),
        ({"labels": {"dtype": 5, "values": [1]}, "body": b"\x80"}, "labels"),
        ({"code": 1, "body": b"\0" * 7}, "7 bytes are not 2 counts"),
        ({"code": 1, "body": b"\0" * 9}, r"\b9\b.*\b2\b.*REDRESS"),
        ({"code": 1, "body": b"\0" * 10}, r"adds.*\b0\b.*\b1\b"),
        ({"code": 1, "choices": 1, "body": b"\0" * 8}, "8 bytes are not"),
        ({"code": 1, "body": struct.pack("<IIH", 2**32 - 1, 1, 0)}, r"includes_per_class\[0\]"),
        ({"code": 1, "body": struct.pack("<IIH", 0, 1, 2)}, r"names Boolean 1\b.*\b1\b"),
        ({"booleanizer": b"\0\0", "body": b"\x80"}, "the Booleanizer is cut off"),
        ({"booleanizer": struct.pack("<BI", 0, 2**32 - 1), "body": b"\x80"}, "no room for 4294967295"),
        ({"booleanizer": struct.pack("<BI", 0xF8, 0), "body": b"\x80"}, "unknown flags"),
        ({"booleanizer": struct.pack("<BIBB", 0, 1, 0, 200), "body": b"\x80"}, "200 thresholds but 0 bytes"),
        ({"booleanizer": struct.pack("<BIBBf", 0, 1, 0, 1, np.nan), "body": b"\x80"}, "finite"),
        ({"booleanizer": struct.pack("<BIBB2f", 0, 1, 0, 2, 2, 1), "body": b"\x80"}, "ascending"),
        ({"booleanizer": struct.pack("<BIBB2f", 0, 1, 0, 2, 1, 2), "body": b"\x80"}, "2 Booleans"),
    ],
)
def test_bad_containers(keywords, message):
    with pytest.raises(CodeError, match=message):
        from_bytes(container(**keywords))


def test_votes_that_overflow_are_refused():
    # Two clauses of weight 2**30 each for one class, and the second time as many.
    model = Model([0, 1], [0, 1, 2], [[2**30], [2**30 - 1]], n_booleans=1, classes=["x"])
    data = bytearray(to_bytes(model))
    assert votes(from_bytes(bytes(data))) == votes(model)
    refused = 0
    for place in range(24, len(data) - 4):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[place] ^= 1 << bit
            try:
                from_bytes(seal(bytes(damaged)))
            except CodeError as error:
                refused += "overflow" in str(error) or "32 bits" in str(error)
    assert refused


def test_labels_that_nest_or_go_on():
    for text in (b"[" * 100_000, b'{"a":' * 50_000, b"\xff\xfe", b""):
        head = struct.pack("<4sBBHIIII", b"ETHC", 1, 2, 0, 1, len(text), 0, 1)
        with pytest.raises(CodeError):
            from_bytes(seal(head + text + b"\x80" + b"\0\0\0\0"))


def test_hostile_containers_take_little_memory():
    many = {"dtype": "int64", "values": list(range(2000))}
    tracemalloc.start()
    try:
        for body in (b"\xff" * 4000, b"\x55" * 4000, b"\0\0\0\x01" * 1000):
            for choices in range(4):
                with pytest.raises(CodeError):
                    from_bytes(container(choices=choices, n_booleans=2**24, labels=many, body=body))
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_labels_too_long():
    model = Model([], [0], np.zeros((0, 1), int), n_booleans=0, classes=["x" * 2**20])
    with pytest.raises(ValueError, match=r"bytes.*\b1048576\b"):
        to_bytes(model)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="code is 'dense'"):
        to_bytes(example(), "dense")
    with pytest.raises(TypeError, match="data is a str"):
        from_bytes("ETHC")


def test_as_many_labels_as_are_read(monkeypatch):
    model = Model([0], [0, 1], [[1, 0]], n_booleans=1, classes=["no", "yes"])
    data = to_bytes(model)
    length = len(json.dumps({"dtype": "str", "values": ["no", "yes"]}, separators=(",", ":")))
    monkeypatch.setattr("ethereal.model.codes.container.MAX_LABEL_BYTES", length)
    assert from_bytes(data) == model
    monkeypatch.setattr("ethereal.model.codes.container.MAX_LABEL_BYTES", length - 1)
    with pytest.raises(CodeError, match=f"{length} bytes of labels"):
        from_bytes(data)
