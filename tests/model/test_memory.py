"""Reading bytes takes at most ten times their size in memory, or is refused before the memory is taken."""

import json
import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from safetensors.numpy import save as save_tensors

from ethereal import Model
from ethereal.model.codes import CodeError, from_bytes
from ethereal.model.file import ModelFileError, from_file_bytes, to_file_bytes

N = 2_000_000  # words: 4 MB, well above what small codes may take


def container(words, counts, n_booleans=8192):
    labels = json.dumps({"dtype": "int64", "values": list(range(len(counts)))}).encode()
    body = np.asarray(counts, "<u4").tobytes() + words.astype("<u2").tobytes()
    data = struct.pack("<4sBBHIIII", b"ETHC", 1, 1, 0, n_booleans, len(labels), 0, len(body)) + labels + body
    return data + struct.pack("<I", zlib.crc32(data))


def clauses(length, n_classes, *, ascending=True, seed=0):
    """Words of clauses with so many literals each, and counts, the classes equally large."""
    n_clauses = N // length
    literals = np.sort(np.random.default_rng(seed).integers(0, 2**14, (n_clauses, length)), axis=1)
    if not ascending:
        literals = literals[:, ::-1]
    words = (literals & 0x1FFF) << 1 | literals >> 13 | np.arange(n_clauses)[:, None] % 2 << 14
    per_class = np.full(n_classes, n_clauses // n_classes)
    per_class[-1] += n_clauses - per_class.sum()
    return words.ravel(), per_class * length


def memory(read, data):
    """Peak while reading, the bytes themselves included, as a multiple of their size; and the result."""
    tracemalloc.start()
    try:
        result = read(data)
    except ValueError as error:
        result = error
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return 1 + peak / len(data), result


@pytest.mark.parametrize("length, n_classes", [(5, 1), (8, 4), (20, 10), (40, 26), (N, 1)])
@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("n_booleans", [8192, 2**24])
def test_redress_containers(length, n_classes, ascending, n_booleans):
    words, counts = clauses(length, n_classes, ascending=ascending)
    times, model = memory(from_bytes, container(words, counts, n_booleans))
    assert isinstance(model, Model)
    assert model.n_clauses == N // length
    assert times < 10


@pytest.mark.parametrize("length, n_classes", [(1, 1), (1, 2), (2, 1), (10, 100), (1, 5000)])
def test_redress_containers_of_clauses_without_number_are_refused_at_once(length, n_classes):
    words, counts = clauses(length, n_classes)
    data = container(words, counts)
    times, error = memory(from_bytes, data)
    assert isinstance(error, CodeError)
    assert f"has {N // length:,} clauses for {n_classes:,} classes" in str(error)
    assert "bytes of memory. At most" in str(error)
    assert times < 4


def test_honest_small_models_with_many_classes_are_read():
    """A table of votes is larger than a code of short clauses, but small."""
    n, n_classes = 6_000, 26
    rng = np.random.default_rng(0)
    literals = np.sort(rng.permuted(np.tile(np.arange(60), (n, 1)), axis=1)[:, :3], axis=1)
    weights = np.zeros((n, n_classes), int)
    weights[np.arange(n), rng.integers(0, n_classes, n)] = 1
    model = Model(
        literals.ravel(), np.arange(n + 1) * 3, weights, n_booleans=30, classes=list(range(n_classes))
    )
    for code in ("redress", "compact"):
        data = model.to_bytes(code)
        rows = rng.random((20, 30)) < 0.5
        assert np.array_equal(from_bytes(data).class_sums(rows), model.class_sums(rows))
        assert memory(from_bytes, data)[0] * len(data) < 2**24


@pytest.mark.parametrize("power", [18, pytest.param(22, marks=pytest.mark.slow)])
def test_compact_streams_are_bounded(power, monkeypatch):
    """One bit per literal: a Model takes 32 times the bytes of such a stream."""
    n, most = 2**power, 2 ** (power + 2)
    monkeypatch.setattr("ethereal.model.codes.container.LEAST_MEMORY", most)
    model = Model(np.arange(n), [0, n], [[1]], n_booleans=n, classes=["x"])
    data = model.to_bytes("compact")
    assert len(data) < most // 16
    times, error = memory(from_bytes, data)
    assert isinstance(error, CodeError)
    assert f"bytes of memory. At most {most:,} are allowed" in str(error)
    assert times * len(data) < most


def test_model_files():
    n = 300_000
    literals, offsets = np.tile(np.arange(5), n), np.arange(n + 1) * 5
    model = Model(literals, offsets, np.ones((n, 3), int), n_booleans=5, classes=[1, 2, 3])
    times, same = memory(from_file_bytes, to_file_bytes(model))
    assert same == model
    assert times < 6


@pytest.mark.parametrize("item", ["[]", "{}", '"ab"', "1.5"])
def test_descriptions_that_fill_the_memory(item):
    about = '{"format_version":1,"provenance":{"a":[' + ",".join([item] * 2_000_000) + "]}}"
    data = save_tensors({"literals": np.zeros(1, np.int32)}, {"ethereal": about})
    times, error = memory(from_file_bytes, data)
    assert isinstance(error, ModelFileError)
    assert "its description has 2,000,0" in str(error)
    assert times < 3
