"""Everything that reads bytes of somebody else's, each as a function that must not fail but in its own way.

A target takes any bytes. It reads them as a user's call would, accepts the error that the reader is
documented to raise, and checks what was read. Checksums are made to fit first, so that what lies behind them
is reached.
Used by test_fuzz.py (hypothesis, in every run) and by tools/fuzz.py (coverage-guided).
"""

from __future__ import annotations

import hashlib
import io
import re
import struct
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from ethereal import Model
from ethereal.adapt import Votes
from ethereal.adapt.learning import RefusedState
from ethereal.base.npz import NpzError, read_arrays
from ethereal.datasets.catalogue import DatasetError
from ethereal.datasets.files import read_table
from ethereal.datasets.tables import TableError, open_table
from ethereal.model.codes import CodeError, compact, from_bytes, redress, to_bytes
from ethereal.model.codes.compact import Payload
from ethereal.model.file import ModelFileError, from_file_bytes, to_file_bytes
from ethereal.runs.folder import RunFolder
from ethereal.train.checkpoint import Checkpoint, CheckpointError
from ethereal_study.sets import parsers, registry
from ethereal_study.sets.archive import Archive, read_gzip
from ethereal_study.sets.npz import read_npz
from ethereal_study.store import Cell, Store

FOLDER = Path(tempfile.mkdtemp(prefix="ethereal-fuzz-"))


def as_file(data: bytes, name: str) -> Path:
    path = FOLDER / name
    path.write_bytes(data)
    return path


def use(model: Model) -> None:
    """Whatever a reader lets through must work."""
    assert from_file_bytes(to_file_bytes(model)) == model
    if model.n_booleans > 2000 or model.n_classes * model.n_clauses > 10_000:
        return
    rows = np.zeros((3, model.n_features), bool if model.booleanizer is None else np.float64)
    rows[1] = 1
    sums = model.class_sums(rows)
    assert len(model.predict(rows)) == 3
    if not model.is_number and np.abs(model.weights.astype(np.int64)).sum() < 1000:
        again = from_bytes(to_bytes(model, "compact"))
        assert np.array_equal(again.class_sums(rows), sums)
    model.describe(max_rules=2)


def etm(data: bytes) -> None:
    place = re.search(rb'\\"sha256\\":\\"([0-9a-f]{64})\\"', data)
    if place:
        start, end = place.span(1)
        blank = data[:start] + b"0" * 64 + data[end:]
        data = blank[:start] + hashlib.sha256(blank).hexdigest().encode() + blank[end:]
    try:
        model = from_file_bytes(data)
    except ModelFileError:
        return
    use(model)


def container(data: bytes) -> None:
    sealed = data[:-4] + struct.pack("<I", zlib.crc32(data[:-4])) if len(data) > 4 else data
    try:
        model = from_bytes(sealed)
    except CodeError:
        return
    use(model)


def compact_code(data: bytes) -> None:
    if len(data) < 4:
        return
    choices, n_booleans, n_classes = struct.unpack_from("<HBB", data)
    try:
        stream = Payload.from_choices(data[4:], choices)
        c = compact.read_payload(stream, n_booleans, n_classes + 1)
    except CodeError:
        return
    use(Model(c.literals, c.offsets, c.weights, n_booleans=n_booleans, classes=np.arange(n_classes + 1)))


def redress_words(data: bytes) -> None:
    if not data:
        return
    counts = np.frombuffer(data[1 : 1 + data[0] % 8], np.uint8)
    words = data[1 + data[0] % 8 :]
    try:
        model = redress.read_words(np.frombuffer(words[: len(words) & ~1], "<u2"), counts)
    except CodeError:
        return
    except ValueError as error:  # counts of no class at all
        assert "classes" in str(error)
        return
    use(model)


def redress_text(data: bytes) -> None:
    words, _, counts = data.decode("utf-8", "replace").partition("#")
    try:
        model = redress.read_text(words, counts)
    except CodeError:
        return
    except ValueError as error:
        assert "classes" in str(error)
        return
    use(model)


def _table(data: bytes, name: str) -> None:
    path = as_file(data, name)
    for header in (True, False):
        try:
            table = open_table(path, header=header)
            columns = list(range(table.n_columns - 1))[:5]
            for chunk in table.chunks(columns, table.n_columns - 1):
                assert chunk.X.shape[1] == len(columns)
                assert chunk.label is not None
                assert len(chunk.label) == len(chunk.X)
        except TableError as error:
            assert str(path) in str(error)


def csv(data: bytes) -> None:
    _table(data, "fuzz.csv")


def parquet(data: bytes) -> None:
    _table(data, "fuzz.parquet")


def npy(data: bytes) -> None:
    _table(data, "fuzz.npy")


def npz(data: bytes) -> None:
    path = as_file(resealed(data), "fuzz.npz")
    for read, error in (
        (lambda: read_arrays(path), NpzError),
        (lambda: read_npz(path, "har"), DatasetError),
        (lambda: read_table(str(path)), TableError),
    ):
        with suppress(error):
            read()


def archive(data: bytes) -> None:
    path = as_file(resealed(data), "fuzz.zip")
    try:
        with Archive(path) as opened:
            for name in opened.names(".*")[:20]:
                opened.read(name)
    except DatasetError as error:
        assert str(path) in str(error)


def resealed(data: bytes) -> bytes:
    """A zip whose members can be read at all gets the checksums that fit them."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as old:
            infos = [info for info in old.infolist() if info.file_size < 1 << 20]
            contents = []
            for info in infos:
                start = (
                    info.header_offset + 30 + sum(struct.unpack_from("<HH", data, info.header_offset + 26))
                )
                packed = data[start : start + info.compress_size]
                plain = zlib.decompress(packed, -15) if info.compress_type == 8 else packed
                contents.append((info.filename, plain[: 1 << 20]))
    except Exception:
        return data
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name twice
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
            for name, plain in contents:
                new.writestr(name or "x", plain)
    return buffer.getvalue()


def gz(data: bytes) -> None:
    with suppress(DatasetError):
        assert len(read_gzip(as_file(data, "fuzz.gz"), 1 << 20)) <= 1 << 20


def dataset_text(data: bytes) -> None:
    """The first byte says which set's parser reads the rest as its only file."""
    names = {
        "emg": "01/1_raw_data_x.txt",
        "gas": "batch1.dat",
        "gesture": "a1_raw.csv",
        "mammography": "mammographic_masses.data",
        "sensorless": "Sensorless_drive_diagnosis.txt",
        "statlog": "xaa.dat",
    }
    name = list(names)[(data[0] if data else 0) % len(names)]
    path = FOLDER / "set.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(names[name], data[1:])
    source = registry.SOURCES[name]
    with suppress(DatasetError), Archive(path) as opened:
        parsers.FROM_ARCHIVE[name](opened, replace(source, members=1))


def checkpoint(data: bytes) -> None:
    kept = Checkpoint(FOLDER / "kept", "an identity")
    kept.path.parent.mkdir(exist_ok=True)
    kept.path.write_bytes(data + hashlib.sha256(data).digest())
    try:
        progress = kept.load()
    except CheckpointError:
        return
    assert progress is not None
    assert progress.states.dtype == np.uint8
    assert isinstance(progress.epochs_done, int)


def results(data: bytes) -> None:
    """What a study and a run read back of their own: damaged is the same as not there."""
    store, cell = Store(FOLDER / "store"), Cell("har", "ethereal", "honest", 0)
    (store.folder / f"{cell.key}.json").write_bytes(data)
    store.get(cell, {})
    (FOLDER / "run" / "stages").mkdir(parents=True, exist_ok=True)
    run = RunFolder(FOLDER / "run")
    for name in ("parameters.json", "stages/train.json"):
        (run.path / name).write_bytes(data)
    assert isinstance(run.parameters(), (dict, type(None)))
    assert isinstance(run.result("train"), (dict, type(None)))


def learned(data: bytes) -> None:
    """What a board learned, as it came and with a checksum that fits."""
    weights = np.arange(20).reshape(10, 2) % 5 - 2
    model = Model(np.arange(10), np.arange(11), weights, n_booleans=10, classes=["a", "b"])
    votes = Votes(model, 9, margin=1)
    rows = data[: len(data) // 3 * 3]
    for state in (data, rows + struct.pack("<I", zlib.crc32(rows, votes.learning.identity))):
        try:
            votes.restore(state)
        except RefusedState:
            continue
        assert votes.save() == state
        votes.class_sums(np.eye(10, dtype=bool))


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        *(etm, container, compact_code, redress_words, redress_text),
        *(csv, parquet, npy, npz, archive, gz, dataset_text, checkpoint, results, learned),
    )
}
