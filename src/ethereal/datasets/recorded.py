"""Recordings in files, cut into pieces that windows may lie in: CSV and Parquet by columns, and wav.

A piece ends where the file, the recording, the group or the label ends, and where samples were lost.
"""

from __future__ import annotations

import io
import itertools
import math
import re
import wave
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.atomic import open_atomically, write_bytes
from ethereal.base.messages import say
from ethereal.datasets.files import texts_of
from ethereal.datasets.options import TableOptions
from ethereal.datasets.tables import (
    Room,
    Table,
    TableError,
    check_different,
    column_index,
    columns_named,
    is_missing,
    joined,
    listed,
    open_table,
)
from ethereal.features.front_end import to_counts

TABLES = (".csv", ".tsv", ".tab", ".txt", ".parquet")
_RECORDING, _NUMBERS = "recording", "sample"
# Names of a time column, with or without a unit: time, t_ms, timestamp_us, millis.
_TIME = re.compile(rf"(t|time|timestamp|elapsed)_(s|ms|us|ns)|time|timestamp|millis|micros|{_NUMBERS}")
_UNIT = re.compile(r"\s*(\[[^\]]*\]|\([^)]*\))$")  # of a column, at the end of its name
# Usual steps of the time column. A longer one says that samples were lost. Of an even clock one is noticed.
_LOST, _LOST_OF_EVEN = 2.5, 1.5
_EVEN, _MOSTLY = 0.2, 0.9  # so many steps of an even clock differ by no more
_UNITS = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
_FEW_STEPS = 20  # by which nothing is told from a clock
_NEAR = 0.2  # by which the rate of a time column may differ


@dataclass(frozen=True, eq=False)
class Piece:
    """Samples without a break, all of one label."""

    samples: NDArray[Any]  # samples x axes
    path: Path
    recording: Any  # what tells this recording from the others of the file
    label: str | None = None
    group: str | None = None
    axes: tuple[str, ...] | None = None  # None where the file does not name them
    rate: float | None = None  # None where the file does not tell it
    after_gap: bool = False  # whether samples were lost before it


@dataclass(frozen=True)
class Reading:
    """What is known of a file before it is read."""

    options: TableOptions
    rate: float | None = None  # samples per second, as asked for
    axes: tuple[str, ...] | None = None  # of the model that will read the samples
    label: str | None = None  # by the file's folder
    group: str | None = None

    @property
    def is_for_training(self) -> bool:
        """Whether labels are needed."""
        return self.axes is None


def pieces_of_wav(path: Path, reading: Reading) -> Iterator[Piece]:
    """Yield the samples of a wav file of 16-bit numbers."""
    try:
        with wave.open(str(path), "rb") as file:
            width, channels, rate = file.getsampwidth(), file.getnchannels(), file.getframerate()
            n_frames, data = file.getnframes(), file.readframes(file.getnframes())
    except (wave.Error, EOFError) as error:
        why = f"cannot be read as a wav file ({error or 'it ends too early'})"
        raise TableError(f"{path}: {why}. {_convert(path)}") from error
    if width != 2:
        raise TableError(f"{path}: its samples have {8 * width} bits, but 16 are needed. {_convert(path)}")
    if reading.rate is not None and rate != reading.rate:
        what = f"it has {rate} samples per second, but the rate is {reading.rate:g}"
        raise TableError(f"{path}: {what}. {_convert(path, f'-ar {reading.rate:g} ')}")
    whole = len(data) // (2 * channels)
    if whole < n_frames:
        what = f"it ends after {whole} of {n_frames} samples"
        raise TableError(f"{path}: {what}. Copy it again, or leave it out.")
    samples = np.frombuffer(data, dtype="<i2").reshape(-1, channels).astype(np.int16)
    yield Piece(samples, path, 0, reading.label, reading.group, None, float(rate))


def write_part(path: Path, target: Path, first: int, end: int) -> None:
    """Write the samples of a wav or CSV file from `first` to `end` to another file of its kind."""
    if path.suffix.lower() == ".wav":
        with wave.open(str(path), "rb") as whole:
            whole.setpos(min(first, whole.getnframes()))
            data, about = whole.readframes(end - first), whole.getparams()
        sound = wave.Wave_write(content := io.BytesIO())
        sound.setparams(about._replace(nframes=0))
        sound.writeframes(data)
        sound.close()
        write_bytes(target, content.getvalue())
        return
    with open(path, "rb") as lines, open_atomically(target) as file:
        file.write(lines.readline())
        file.writelines(itertools.islice((line for line in lines if line.strip()), first, end))


def _convert(path: Path, more: str = "") -> str:
    return f"Convert it with: ffmpeg -i {path.name} {more}-c:a pcm_s16le new.wav"


def pieces_of_table(path: Path, reading: Reading) -> Iterator[Piece]:
    """Yield the pieces of a table with a row per sample."""
    options = reading.options
    table = open_table(path, header=options.header, encoding=options.encoding, decimal=options.decimal)
    roles = _roles(table, reading)
    axes = _axes(table, reading, set(roles.values()))
    memory = Room(path, options.large)
    X = _samples(table, axes, memory)
    marks = {name: _texts(table, i, memory) for name, i in roles.items() if not name.startswith("drop")}
    if "group" in marks and (missing := is_missing(marks["group"])).any():
        place = table.place(int(np.argmax(missing)))
        raise TableError(f"{path}, {place}: {table.column(roles['group'])} is empty. Fill it.")
    times = marks.pop("time", None)
    names = None if table.names is None else tuple(table.names[i] for i in axes)
    is_numbered = "time" in roles and (table.names or ())[roles["time"]].lower() == _NUMBERS
    gaps, restarts = _lost(times, None if is_numbered else reading.rate, path)
    starts = _breaks(marks) | gaps | restarts
    if reading.is_for_training:
        _tell_of_clocks(X, sorted(starts), [table.column(i) for i in axes], path)
    for number, (first, end) in enumerate(itertools.pairwise([*sorted(starts), len(X)])):
        known: dict[str, Any] = {"recording": number, "label": reading.label, "group": reading.group}
        known |= {name: values[first] for name, values in marks.items()}
        yield Piece(X[first:end], path, **known, axes=names, after_gap=first in gaps)


def _roles(table: Table, reading: Reading) -> dict[str, int]:
    """Columns that are not axes, by what they are for."""
    options, names = reading.options, table.names or ()
    roles: dict[str, int] = {}
    # A folder may say what a column would say, so it is fine then when there is no such column.
    for role, name in (("label", options.label), ("group", options.group)):
        if name is not None and (reading.label is None or name in names):
            roles[role] = column_index(table, name, role)
    if reading.is_for_training and "label" not in roles and reading.label is None:
        remedy = "or put the file into a folder that is named after its class"
        raise TableError(
            f"{table.path}: its label is not known. Name the column with label=COLUMN, {remedy}."
        )
    if options.recording is not None:
        roles["recording"] = column_index(table, options.recording, "recording")
    elif _RECORDING in names and _RECORDING not in (reading.axes or ()):
        roles["recording"] = names.index(_RECORDING)
    for i, name in enumerate(names):
        what = _UNIT.sub("", name.lower())
        if _TIME.fullmatch(what) and name not in (reading.axes or ()) and i not in roles.values():
            roles["time"] = i
            break
    return roles | {f"drop {i}": i for i in columns_named(table, options.drop or ())}


def _axes(table: Table, reading: Reading, left_out: set[int]) -> list[int]:
    """Columns of the axes, in the order of the model where there is one."""
    rest = [i for i in range(table.n_columns) if i not in left_out]
    if reading.axes is None:
        if not rest:
            raise TableError(f"{table.path}: no column is left for the samples. It needs one per axis.")
        check_different(table, rest)
        for i in rest if table.names else ():
            if not re.fullmatch(r"[^.*|]{1,40}", table.names[i]):  # type: ignore[index]
                what = f"{table.column(i)} cannot name an axis"
                remedy = "Rename it, with up to 40 letters and without dots, * and |."
                raise TableError(f"{table.path}: {what}. {remedy}")
        return rest
    if table.names is None:
        if len(rest) != len(reading.axes):
            what = f"has {len(rest)} columns, but the model reads {len(reading.axes)} axes"
            raise TableError(f"{table.path}: {what}. Leave others out with drop=COLUMN.")
        return rest
    if lacking := [name for name in reading.axes if name not in table.names]:
        has = listed(table.names)
        raise TableError(f"{table.path}: lacks {listed(lacking)} that the model reads. It has {has}.")
    return [table.names.index(name) for name in reading.axes]


def _samples(table: Table, axes: Sequence[int], memory: Room) -> NDArray[Any]:
    """All rows of the axes, every value a number."""
    parts = []
    for chunk in table.chunks(axes):
        X = np.asarray(chunk.X, dtype=np.float64)
        if not np.isfinite(X).all():
            row, column = np.argwhere(~np.isfinite(X))[0].tolist()
            what = "is empty" if np.isnan(X[row, column]) else f"is {X[row, column]}"
            raise TableError(
                f"{table.path}, {table.place(chunk.first_row + row)}: {table.column(axes[column])} {what}. "
                "A sample needs a number on every axis. Fill it, or take the line out and split the file."
            )
        parts.append(X)
        memory.take(X.nbytes)
    if not parts:
        raise TableError(f"{table.path}: has no samples")
    return joined(parts)


def _texts(table: Table, index: int, memory: Room) -> NDArray[Any]:
    """A column as texts, None where a value is missing."""
    values = texts_of(table, index, memory)
    if values.dtype == object and {type(value) for value in values} <= {str, type(None)}:
        return values
    texts = values.astype(str).astype(object)
    texts[is_missing(values)] = None
    return texts


def _breaks(marks: dict[str, NDArray[Any]]) -> set[int]:
    """First samples of the pieces, by changes of label, group and recording."""
    return {0}.union(*((np.flatnonzero(v[1:] != v[:-1]) + 1).tolist() for v in marks.values()))


def _tell_of_clocks(X: NDArray[Any], starts: Sequence[int], names: Sequence[str], path: Path) -> None:
    """Say which axes only rise in every piece, as a clock does and no sensor."""
    if len(X) - len(starts) < _FEW_STEPS:
        return
    within = np.delete(np.diff(X, axis=0), [start - 1 for start in starts if start], axis=0)
    for axis in np.flatnonzero((within > 0).all(axis=0)).tolist():
        name = names[axis].removeprefix("column ").strip("'")
        what = f"{path.name}: {names[axis]} only rises, like a clock or a counter, but is taken for an axis"
        say(f"note: {what}. Give drop=[{name!r}] unless it is a sensor.", err=True)


def _lost(times: NDArray[Any] | None, rate: float | None, path: Path) -> tuple[set[int], set[int]]:
    """First samples after a gap of the time column, and those with which it begins anew.

    Its steps must be those of the rate.
    """
    try:
        steps = np.diff([] if times is None else times.astype(np.float64))
    except (ValueError, TypeError):  # dates and gaps, which are not checked
        return set(), set()
    usual = float(np.median(steps)) if len(steps) else 0.0
    if usual <= 0:
        return set(), set()
    if rate is not None and not any(abs(usual * rate / unit - 1) <= _NEAR for unit in _UNITS.values()):
        name = min(_UNITS, key=lambda name: abs(math.log(_UNITS[name] / usual / rate)))
        seems = _UNITS[name] / usual
        raise TableError(
            f"{path}: the time column has steps of {usual:g}, which are {seems:g} samples per second if "
            f"they are {name}, but rate is {rate:g}. Give the true rate, or resample the file."
        )
    is_even = (np.abs(steps / usual - 1) <= _EVEN).mean() >= _MOSTLY
    longest = (_LOST_OF_EVEN if is_even else _LOST) * usual
    lost, begins = np.flatnonzero(steps > longest) + 1, np.flatnonzero(steps < 0) + 1
    return set(lost.tolist()), set(begins.tolist())


_ENDS = (-(2**15), 2**15 - 1)  # of a count
_FEW_COUNTS = 256  # that the largest sample of an axis should have


def scale_of(text: str | None) -> tuple[float, ...] | None:
    """Return the numbers of an option such as "1000,1000,10", None without it."""
    if text is None:
        return None
    try:
        scale = tuple(float(part) for part in text.split(","))
    except ValueError:
        scale = ()
    if not scale or not all(0 < one < math.inf for one in scale):
        raise TableError(f"scale is {text!r}. Give counts per unit, such as 1000, or one per axis, 1000,10.")
    return scale


def counts_of(pieces: Sequence[Piece], scale: tuple[float, ...] | None) -> list[NDArray[np.int16]]:
    """Return the samples of pieces as int16. If not all are counts, all are multiplied by the scale."""
    samples = [piece.samples for piece in pieces]
    n_axes = samples[0].shape[1]
    if all(_odd_one(one) is None for one in samples):
        return [one.astype(np.int16, copy=False) for one in samples]
    largest = np.max([np.abs(one).max(axis=0) for one in samples if len(one)], axis=0)
    if scale is None:
        odd = ((piece.path, _odd_one(piece.samples)) for piece in pieces)
        where, value = next(pair for pair in odd if pair[1] is not None)
        raise TableError(
            f"{where}: has the sample {value:g}, but samples are whole numbers of 16 bits. "
            f"Say what the sensor sends as 1. The data allows scale={proposal(largest)}."
        )
    if len(scale) not in (1, n_axes):
        has = f"scale= has {len(scale)} numbers, but there are {n_axes} axes"
        raise TableError(f"{has}. Give one or {n_axes}.")
    counts = np.broadcast_to(scale, n_axes)
    if (beyond := int(sum((np.abs(one) * counts > _ENDS[1] + 1).any(axis=1).sum() for one in samples))) > 0:
        why = f"{beyond:,} samples go beyond 16 bits with scale={','.join(f'{s:g}' for s in scale)}"
        say(f"note: {why} and are cut off there. The data allows scale={proposal(largest)}.", err=True)
    return [to_counts(np.asarray(one, dtype=np.float64), counts.tolist()) for one in samples]


def _odd_one(samples: NDArray[Any]) -> float | None:
    """The first sample that is not a count, if there is one."""
    if samples.dtype == np.int16:
        return None
    odd = (samples != np.floor(samples)) | (samples < _ENDS[0]) | (samples > _ENDS[1])
    return float(samples[odd][0]) if odd.any() else None


def proposal(largest: NDArray[Any]) -> str:
    """Return a scale for axes with these largest samples, one per axis only where one does not do.

    >>> proposal(np.array([2.5, 1.0])), proposal(np.array([4.0, 2000.0, 0.0]))
    ('10000', '1000,10,10')
    """
    sizes = np.where(largest > 0, largest, largest.max() if largest.max() > 0 else 1.0)
    each = 10.0 ** np.floor(np.log10(_ENDS[1] / sizes))
    one = each.min()
    return f"{one:g}" if (one * sizes >= _FEW_COUNTS).all() else ",".join(f"{s:g}" for s in each)
