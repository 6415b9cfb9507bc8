"""One function per archive, from its files as published to rows, labels, groups and the study's split.

Rows come in the order of the archive's files. The study's split depends on the order in which it read them.
Where that is another one, the split is made in its order and carried over (emg, gas).
"""

from __future__ import annotations

import io
import math
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.checks import check_integer
from ethereal.datasets.catalogue import DatasetError
from ethereal.datasets.rows import Rows
from ethereal_study.sets.archive import Archive, read_gzip
from ethereal_study.sets.registry import CLASSES, FEATURES, PublishedSource

STUDY_SPLIT = "the study's 80/20 split, to the row"  # where a function does not say another
_EMG_LONGEST = 600_000  # milliseconds, where the recordings last about a minute


def emg(archive: Archive, source: PublishedSource) -> Rows:
    """36 folders with two recordings of time in ms, 8 channels and class. Gaps in time are filled.

    Steps are roots of the sum of squares over 100 ms. Every third window of 20 steps has its majority label.
    """
    names = _expect(archive, r"(?:.*/)?\d\d/[12]_raw_data_.*\.txt", source)
    from ethereal.features.windows import SlidingWindows, WindowPooling  # and scikit-learn with it

    pool, windows = WindowPooling(100, "rss", drop_last=True), SlidingWindows(20, 3)
    steps: list[NDArray[Any]] = []
    labels: list[NDArray[Any]] = []
    for name in names:
        text = text_of(archive.read(name)).rstrip()
        last = text.rfind("\n")
        if len(text[last:].split()) < 10:  # one recording ends within its last line
            text = text[:last]
        table = read_numbers(text, name, 10, skip=1)
        # A row stands for the milliseconds since the one before it.
        repeats = np.maximum(np.diff(table[:, 0].astype(np.int64), prepend=0), 0)
        if repeats.sum() > _EMG_LONGEST:
            line = int(np.argmax(repeats)) + 2
            raise DatasetError(f"{name}, line {line}: the time jumps by {repeats.max()} ms")
        _check_labels(table[:, 9], 0, 7, name)
        filled = np.repeat(table, repeats, axis=0)
        steps += pool.transform([filled[:, 1:9]])
        labels += pool.transform_labels([filled[:, 9].astype(np.int64)])
    y = windows.transform_labels(labels)
    # The study splits the unmarked windows of all recordings followed by the marked ones.
    order = np.argsort(y != 0, kind="stable")
    return Rows(
        X=windows.transform(steps).astype(np.float32),
        y=y,
        test=_carried(_split(len(y)), order),
        groups=windows.groups(steps),
    )


def gas(archive: Archive, source: PublishedSource) -> Rows:
    """Ten files in libsvm form: `label 1:value ... 128:value` (or `label;concentration 1:value ...`)."""
    names = _expect(archive, r"(?:.*/)?batch\d+\.dat", source)
    batches = {int(re.sub(r".*batch(\d+)\.dat", r"\1", n)): n for n in names}
    blocks, group = [], []
    for batch, name in sorted(batches.items()):
        text = re.sub(r"(?m)^(\s*\d+);\S+", r"\1", text_of(archive.read(name)))
        table = read_numbers(text.replace(":", " "), name, 257)
        wrong = (table[:, 1::2] != np.arange(1, 129)).any(axis=1)
        if wrong.any():
            row = int(np.argmax(wrong)) + 1
            raise DatasetError(f"{name}, row {row}: the features are not numbered 1 to 128")
        _check_labels(table[:, 0], 1, 6, name)
        blocks.append(table)
        group.append(np.full(len(table), batch))
    table, batch_of = np.concatenate(blocks), np.concatenate(group)
    # The study reads the files sorted by name (1, 10, 2, ...) and skips the first row of each as if it were a
    # header. Those ten rows are training rows here.
    rank = {b: i for i, b in enumerate(sorted(batches, key=str))}
    order = np.argsort([rank[b] for b in batch_of], kind="stable")
    first = np.concatenate([[True], np.diff(batch_of[order]) != 0])
    test = np.zeros(len(table), dtype=np.bool_)
    test[order[~first]] = _split(int((~first).sum()))
    return Rows(table[:, 2::2].astype(np.float32), table[:, 0].astype(np.int64) - 1, test, batch_of)


def gesture(archive: Archive, source: PublishedSource) -> Rows:
    """Seven raw csv files with a header: 18 coordinates, time stamp, phase."""
    names = _expect(archive, r"(?:.*/)?[abc]\d_raw\.csv", source)
    rows: list[list[float]] = []
    y: list[int] = []
    group: list[int] = []
    points, phases = FEATURES["gesture"], CLASSES["gesture"]
    for number, name in enumerate(names):
        (_, header), *lines = lines_of(text_of(archive.read(name)), name, 20, delimiter=",")
        if [h.lower() for h in header[:18]] != points:
            raise DatasetError(f"{name}, line 1: the columns are not {', '.join(points)}, timestamp, phase")
        for i, fields in lines:
            # by the first letters: one row has its phase in Portuguese
            phase = [k for k, p in enumerate(phases) if fields[19].lower().startswith(p[:4])]
            if not phase:
                raise DatasetError(f"{name}, line {i}: {fields[19]!r} is not one of {', '.join(phases)}")
            y.append(phase[0])
            rows.append(_floats(fields[:18], name, i))
        group += [number] * len(lines)
    return Rows(np.array(rows), np.array(y), _split(len(y)), np.array(group))


def har(archive: Archive, source: PublishedSource) -> Rows:
    """Two folders, train and test, with X, y and subject files, and names of features beside."""
    lines = text_of(archive.read("features.txt")).split("\n")
    names = [re.sub(r"^\d+\s+", "", line) for line in lines if line.strip()]
    if len(names) != 561:
        raise DatasetError(f"{archive.path}: features.txt names {len(names)} features instead of 561")
    parts = []
    for part in ("train", "test"):
        where = [f"{part}/{kind}_{part}.txt" for kind in ("X", "y", "subject")]
        X = read_numbers(text_of(archive.read(where[0])), where[0], 561)
        y, subject = (read_numbers(text_of(archive.read(w)), w, 1)[:, 0] for w in where[1:])
        if not len(X) == len(y) == len(subject):
            counts = f"{len(X)} rows, {len(y)} labels, {len(subject)} subjects"
            raise DatasetError(f"{archive.path}: {part} has {counts}")
        _check_labels(y, 1, 6, where[1])
        parts.append((X, y, subject))
    (X, y, subject), sizes = (np.concatenate(a) for a in zip(*parts, strict=True)), [len(p[1]) for p in parts]
    return Rows(
        X=X.astype(np.float32),
        y=y.astype(np.int64) - 1,
        test=np.repeat([False, True], sizes),
        groups=subject.astype(np.int64),
        feature_names=tuple(_har_names(names)),
        how="the original's own: 21 subjects for training, 9 for the test",
    )


def _har_names(names: list[str]) -> list[str]:
    """Return names without `()`. Energy bands, named alike for three axes, get X, Y, Z in this order."""
    seen: dict[str, int] = {}
    result = []
    for name in names:
        short = name.strip().replace("()", "")
        seen[short] = seen.get(short, 0) + 1
        result.append(f"{short}-{'XYZ'[min(seen[short], 3) - 1]}" if names.count(name) > 1 else short)
    return result


def mammography(archive: Archive, source: PublishedSource) -> Rows:
    """One csv file without a header, `?` where a value is missing."""
    name = "mammographic_masses.data"
    lines = lines_of(text_of(archive.read(name)), name, 6, delimiter=",")
    X = [_floats([f if f != "?" else "nan" for f in fields[:5]], name, i) for i, fields in lines]
    y = np.array([_floats(fields[5:], name, i)[0] for i, fields in lines])
    _check_labels(y, 0, 1, name)
    return Rows(np.array(X, dtype=np.float32), y.astype(np.int64), _split(len(y)))


def sensorless(archive: Archive, source: PublishedSource) -> Rows:
    """One file of 48 numbers and the class per line."""
    name = "Sensorless_drive_diagnosis.txt"
    table = read_numbers(text_of(archive.read(name)), name, 49)
    _check_labels(table[:, 48], 1, 11, name)
    return Rows(table[:, :48].astype(np.float32), table[:, 48].astype(np.int64) - 1, _split(len(table)))


def sports(archive: Archive, source: PublishedSource) -> Rows:
    """`aNN/pN/sNN.txt` (activity, subject, segment), 125 samples of 45 numbers: eleven means over ten."""
    names = _expect(archive, r"(?:.*/)?a\d\d/p\d/s\d\d\.txt", source)
    from ethereal.features.windows import WindowPooling

    pool = WindowPooling(10, "mean", drop_last=True)
    blocks, y, group = [], [], []
    for name in names:
        activity, subject = (int(part[1:]) for part in name.split("/")[-3:-1])
        if not 1 <= activity <= 19:
            raise DatasetError(f"{archive.path}: {name} is of an unknown activity")
        samples = read_numbers(text_of(archive.read(name)), name, 45, delimiter=",")
        if len(samples) != 125:
            raise DatasetError(f"{name}: {len(samples)} samples instead of 125")
        blocks.append(pool.transform([samples])[0].astype(np.float32))
        y += [activity - 1] * len(blocks[-1])
        group += [subject] * len(blocks[-1])
    return Rows(np.concatenate(blocks), np.array(y), _split(len(y)), np.array(group))


def statlog(archive: Archive, source: PublishedSource) -> Rows:
    """Nine files xaa.dat ... xai.dat: 18 whole numbers and the vehicle per line."""
    vehicles = CLASSES["statlog"]
    X: list[list[float]] = []
    y: list[int] = []
    for name in _expect(archive, r"(?:.*/)?xa[a-i]\.dat", source):
        for i, fields in lines_of(text_of(archive.read(name)), name, 19):
            if fields[18] not in vehicles:
                raise DatasetError(f"{name}, line {i}: {fields[18]!r} is not one of {', '.join(vehicles)}")
            X.append(_floats(fields[:18], name, i))
            y.append(vehicles.index(fields[18]))
    return Rows(np.array(X, dtype=np.float32), np.array(y), _split(len(y)))


def mnist(paths: list[Path], source: PublishedSource) -> Rows:
    """Four idx files: images and labels for training, then for the test."""
    parts = [(_idx(images, 3), _idx(labels, 1)) for images, labels in (paths[:2], paths[2:])]
    for (images, labels), path in zip(parts, paths[::2], strict=True):
        if len(images) != len(labels) or images.shape[1:] != (28, 28):
            raise DatasetError(f"{path}: {images.shape} images do not fit {len(labels)} labels")
        _check_labels(labels, 0, 9, str(path))
    return Rows(
        X=np.concatenate([images.reshape(len(images), 784) for images, _ in parts]),
        y=np.concatenate([labels for _, labels in parts]),
        test=np.repeat([False, True], [len(labels) for _, labels in parts]),
        how="the original's own: 60000 images for training, 10000 for the test",
    )


def _idx(path: Path, dimensions: int) -> NDArray[np.uint8]:
    """An idx file of bytes: 0, 0, 8, the number of dimensions, each as four bytes, then the data."""
    data = read_gzip(path, limit=64 << 20)
    head = 4 + 4 * dimensions
    if len(data) < head or data[:4] != bytes([0, 0, 8, dimensions]):
        raise DatasetError(f"{path}: is not an idx file of bytes with {dimensions} dimensions")
    shape = np.frombuffer(data, dtype=">u4", count=dimensions, offset=4).astype(np.int64)
    if int(shape.prod()) != len(data) - head:
        raise DatasetError(f"{path}: {len(data) - head} bytes do not fill {' x '.join(map(str, shape))}")
    return np.frombuffer(data, dtype=np.uint8, offset=head).reshape(tuple(shape))


# The sets that come as one zip. mnist and digits have their own ways.
FROM_ARCHIVE: dict[str, Callable[[Archive, PublishedSource], Rows]] = {
    f.__name__: f for f in (emg, gas, gesture, har, mammography, sensorless, sports, statlog)
}


def _expect(archive: Archive, pattern: str, source: PublishedSource) -> list[str]:
    names = archive.names(pattern)
    if len(names) != source.members:
        seen = f" The last is {names[-1]}." if names else ""
        raise DatasetError(
            f"{archive.path}: holds {len(names)} of the {source.members} files of {source.name}.{seen} "
            "Delete the archive and fetch it again."
        )
    return names


def _split(n_rows: int) -> NDArray[np.bool_]:
    if n_rows < 1:
        raise DatasetError("the files are there but too short, so no row can be made of them")
    return study_split(n_rows)


def _carried(test: NDArray[np.bool_], order: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a split made for rows in `order` as a mask for the rows as they are."""
    mask = np.zeros(len(test), dtype=np.bool_)
    mask[order] = test
    return mask


def _floats(fields: list[str], where: str, line: int) -> list[float]:
    try:
        return [float(f) for f in fields]
    except ValueError as e:
        raise DatasetError(f"{where}, line {line}: {e}: {' '.join(fields)[:80]!r}") from e


def _check_labels(labels: NDArray[Any], low: int, high: int, where: str) -> None:
    wrong = (labels < low) | (labels > high) | (labels != np.floor(labels))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise DatasetError(f"{where}, row {i + 1}: the label {labels[i]:g} is not one of {low} to {high}")


def study_split(n_rows: int) -> NDArray[np.bool_]:
    """Mark the test rows of the study's 80/20 split of `n_rows` rows.

    The study shuffles row numbers with Python's generator seeded by 1 and tests on the last fifth. The same
    rows in the same order give the published split to the row.

    >>> study_split(10).nonzero()[0].tolist()
    [6, 8]
    """
    check_integer("n_rows", n_rows, 1, 2**31 - 1)
    order = random.Random(1).sample(range(n_rows), n_rows)
    test = np.zeros(n_rows, dtype=np.bool_)
    test[order[int(n_rows * 0.8) :]] = True
    return test


def text_of(data: bytes) -> str:
    """Decode a member in UTF-8, else Latin-1 (one gesture file has an accented word in the latter).

    >>> text_of(b"a\\r\\nb"), text_of(b"Prepara\\xe7\\xe3o")
    ('a\\r\\nb', 'Preparação')
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def read_numbers(
    text: str, where: str, columns: int, *, delimiter: str | None = None, skip: int = 0
) -> NDArray[np.float64]:
    """Return rows x columns of finite numbers, without `skip` header lines and empty lines.

    >>> read_numbers("a b\\n1 2\\n3 4\\n", "f.txt", 2, skip=1).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    >>> read_numbers("1 2\\n3 x\\n", "f.txt", 2)
    Traceback (most recent call last):
    ...
    ethereal.datasets.catalogue.DatasetError: f.txt, line 2: 'x' is not a finite number: '3 x'
    """
    try:
        table = np.loadtxt(io.StringIO(text), delimiter=delimiter, skiprows=skip, comments=None, ndmin=2)
    except ValueError:
        table = np.empty((0, 0))
    if table.shape[0] == 0 or table.shape[1] != columns or not np.isfinite(table).all():
        raise DatasetError(_first_fault(text, where, columns, delimiter, skip))
    return table


def lines_of(
    text: str, where: str, columns: int, *, delimiter: str | None = None
) -> list[tuple[int, list[str]]]:
    """Return the number and the fields of every non-empty line, each with `columns` fields.

    >>> lines_of("1,2,van\\n\\n3,4,bus", "f.csv", 3, delimiter=",")
    [(1, ['1', '2', 'van']), (3, ['3', '4', 'bus'])]
    """
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            fields = [f.strip() for f in line.split(delimiter)]
            if len(fields) != columns:
                raise DatasetError(
                    f"{where}, line {number}: {len(fields)} fields instead of {columns}: {line[:80]!r}"
                )
            rows.append((number, fields))
    if not rows:
        raise DatasetError(f"{where}: holds no rows")
    return rows


def _first_fault(text: str, where: str, columns: int, delimiter: str | None, skip: int) -> str:
    for number, line in enumerate(text.splitlines(), 1):
        if number <= skip or not line.strip():
            continue
        fields = line.split(delimiter)
        if len(fields) != columns:
            return f"{where}, line {number}: {len(fields)} fields instead of {columns}: {line[:80]!r}"
        for field in fields:
            try:
                finite = math.isfinite(float(field))
            except ValueError:
                finite = False
            if not finite:
                return f"{where}, line {number}: {field.strip()!r} is not a finite number: {line[:80]!r}"
    return f"{where}: holds no rows"
