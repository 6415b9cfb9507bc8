"""Labelled windows of recordings: a folder per class, tables of samples, wav files, or an npz file.

Windows lie within a piece (see `recorded`), so that none crosses two recordings or a change of the label.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.checks import check_integer
from ethereal.base.messages import say
from ethereal.datasets.files import labelled_arrays, labels_from
from ethereal.datasets.options import SourceOptions, TableOptions
from ethereal.datasets.recorded import (
    TABLES,
    Piece,
    Reading,
    counts_of,
    pieces_of_table,
    pieces_of_wav,
    scale_of,
)
from ethereal.datasets.rows import Rows
from ethereal.datasets.tables import TableError
from ethereal.features.front_end import KERNELS, FrontEnd

if TYPE_CHECKING:
    from ethereal.features.window_features import WindowFeatures

_LEAST, _MOST = 32, 2**15  # samples of a window
_SHORTEST_SOUND = 256  # samples of a window that mel bands are made of
_SOUND_RATE = 4000  # samples per second, from which on one axis is sound. Movement has some hundred.
_LONG_WINDOW = 2000  # samples, more than a window of movement has


def read_recordings(source: str, options: SourceOptions) -> Rows:
    """Read windows to learn from. Notes on stderr say what was left out.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for label in ("rest", "walk"):
    ...         Path(folder, label).mkdir()
    ...         lines = "ax,ay\\n" + "1,2\\n" * 100
    ...         _ = Path(folder, label, "1.csv").write_text(lines)
    ...     rows = read_recordings(folder, SourceOptions(window=64, hop=32, kernels="stats"))
    >>> rows.X.shape, rows.y.tolist(), rows.groups.tolist()
    ((4, 64, 2), ['rest', 'rest', 'walk', 'walk'], [0, 0, 1, 1])
    """
    path = Path(source)
    scale = scale_of(options.scale)
    if path.suffix.lower() == ".npz":
        return _of_npz(path, options, scale)
    window = window_of(options)
    pieces = list(_pieces(path, Reading(options, options.rate)))
    check_alike(pieces)
    return rows_of(_labelled(pieces), path, window, options, scale)


def windows_for(front_end: FrontEnd, source: str, options: TableOptions) -> Rows:
    """Return windows as a model with a front end reads them, with labels where the source has them.

    `y` is empty where it has none. Labels are taken from the column of `options`, and from folders.
    """
    path = Path(source)
    if path.suffix.lower() == ".npz":
        return _npz_for(front_end, path, options)
    pieces = list(_pieces(path, Reading(options, front_end.rate, front_end.axes)))
    for piece in pieces:
        if piece.samples.shape[1] != len(front_end.axes):
            n = piece.samples.shape[1]
            raise TableError(f"{piece.path}: has {n} axes, but the model reads {len(front_end.axes)}.")
    return rows_of(pieces, path, (front_end.window, front_end.hop), options, front_end.scale, front_end)


def window_of(options: SourceOptions) -> tuple[int, int]:
    """Return the samples of a window, and from one to the next."""
    if options.window is None:
        what = "Recordings are cut into windows, but window= is missing. Give it in samples"
        raise TableError(f"{what}, such as window=128. At 50 samples per second that is 2.6 seconds.")
    window = check_integer("window", options.window, _LEAST, _MOST)
    return window, window if options.hop is None else check_integer("hop", options.hop, 1, window)


def _pieces(path: Path, reading: Reading) -> Iterator[Piece]:
    """Yield the pieces of a file, or of all files of a folder in the order of their names."""
    if path.is_file():
        yield from pieces_of_file(path, reading)
        return
    if not path.is_dir():
        raise TableError(f"{path}: there is no such file or folder")

    def holds_samples(file: Path) -> bool:
        is_hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
        return file.suffix.lower() in (*TABLES, ".wav") and file.is_file() and not is_hidden

    if not (files := sorted(filter(holds_samples, path.rglob("*")))):
        raise TableError(f"{path}: has no recordings. They end in .csv, .tsv, .tab, .txt, .parquet or .wav.")
    for file in files:
        folders = file.relative_to(path).parts[:-1]
        label, group = (*folders, None, None)[:2]
        if group is not None and len(folders) > 2:
            group = "/".join(folders[1:])
        for piece in pieces_of_file(file, replace(reading, label=label, group=group)):
            if reading.options.group is not None and piece.group is None:
                raise TableError(
                    f"{file}: its {reading.options.group} is not known. It has no such column. Put the files "
                    f"of each into a folder: {Path(*folders, 'anna', file.name)}. Or leave group= out."
                )
            yield piece


def pieces_of_file(path: Path, reading: Reading) -> Iterator[Piece]:
    """Yield the pieces of a table of samples, or of a wav file."""
    if path.suffix.lower() != ".wav":
        return pieces_of_table(path, reading)
    if reading.is_for_training and reading.label is None:
        raise TableError(f"{path}: its label is not known. Put it into a folder named after its class.")
    return pieces_of_wav(path, reading)


def check_alike(pieces: Sequence[Piece]) -> None:
    """Refuse files with other axes or another rate than the first file."""
    first, remedy = pieces[0], "Convert one of them."
    for piece in pieces:
        both = piece, first
        n, n_first = (each.samples.shape[1] for each in both)
        if n != n_first and all(each.path.suffix.lower() == ".wav" for each in both):
            has, wanted = (f"{count} channel{'s' * (count > 1)}" for count in (n, n_first))
        elif n != n_first or piece.axes != first.axes:
            has, wanted = (", ".join(e.axes or [f"{e.samples.shape[1]} without names"]) for e in both)
            has = f"the axes {has}"
            remedy = "All recordings need the same. Leave other columns out with drop=COLUMN."
        elif piece.rate != first.rate:
            rates = (each.rate for each in both)
            has, wanted = ("an unknown rate" if r is None else f"{r:g} samples per second" for r in rates)
        else:
            continue
        raise TableError(f"{piece.path}: has {has}, but {first.path.name} has {wanted}. {remedy}")


def _labelled(pieces: list[Piece]) -> list[Piece]:
    """Leave out pieces whose label is missing, and say so."""
    there = [piece for piece in pieces if piece.label is not None]
    if not there:
        raise TableError(f"{pieces[0].path}: no sample has a label. Fill the column, or name another.")
    if lost := sum(len(piece.samples) for piece in pieces if piece.label is None):
        say(f"note: {lost:,} samples without a label are left out. Windows do not cross them.", err=True)
    return there


def rows_of(
    pieces: Sequence[Piece],
    path: Path,
    cut: tuple[int, int],
    options: TableOptions,
    scale: tuple[float, ...] | None,
    front_end: FrontEnd | None = None,
) -> Rows:
    """Cut pieces into windows."""
    window, hop = cut
    samples = counts_of(pieces, scale)
    n_axes = samples[0].shape[1]
    # Tables are read without scikit-learn, so that a table which is refused costs no seconds of imports.
    from ethereal.features.windows import SlidingWindows

    cutter = SlidingWindows(window, hop)
    X = cutter.transform(samples).reshape(-1, window, n_axes)
    of = cutter.groups(samples)
    _tell_of_gaps(pieces)
    _tell_of_short(pieces, window, len(X))
    labels = [piece.label for piece in pieces]
    y = labels_from(np.array(labels)[of]) if None not in labels else np.empty(0)
    groups, kind = _groups(pieces, of, options)
    if front_end is not None:
        places = _places(pieces, path, of, hop, front_end.rate)
        return Rows(X, y, None, groups, name=path.stem, groups_are=kind, places=places)
    assert isinstance(options, SourceOptions)
    if options.group is None:
        remedy = "Give group= with the column or folder of the person, where new people will come."
        say(f"note: no group= is given, so whole recordings are kept for the test. {remedy}", err=True)
    made = _front_end(options, (window, hop), scale, pieces[0]).fit(X)
    names = made.front_end_.names
    return Rows(X, y, None, groups, names, name=path.resolve().stem, front_end=made, groups_are=kind)


def _places(
    pieces: Sequence[Piece], source: Path, of: NDArray[np.int64], hop: int, rate: float | None
) -> dict[str, NDArray[Any]]:
    """Return for each window its recording, its first sample there, and the seconds where the rate is known.

    Samples are counted as they were recorded, without those that were lost.
    """
    names, starts, counted = [], [], dict[str, int]()
    for piece in pieces:
        name = piece.path.name if source.is_file() else piece.path.relative_to(source).as_posix()
        name = f"{name}:{piece.recording}" if isinstance(piece.recording, str) else name
        names.append(name)
        starts.append(counted.get(name, 0))
        counted[name] = starts[-1] + len(piece.samples)
    first = np.searchsorted(of, np.arange(len(pieces)))  # the first window of each piece
    samples = np.array(starts, dtype=np.int64)[of] + hop * (np.arange(len(of)) - first[of])
    places = {"recording": np.array(names)[of], "sample": samples}
    return places if rate is None else {**places, "seconds": (samples / rate).round(3)}


def _groups(
    pieces: Sequence[Piece], of: NDArray[np.int64], options: TableOptions
) -> tuple[NDArray[Any], str]:
    """What stays on one side of a split, for each window: the group, else the recording."""
    if options.group is not None:
        return np.array([str(piece.group) for piece in pieces])[of], "groups"
    is_one_file = len({piece.path for piece in pieces}) == 1
    numbers, each = dict[Any, int](), list[int]()
    for piece in pieces:
        key = piece.path, piece.recording if is_one_file or isinstance(piece.recording, str) else 0
        each.append(numbers.setdefault(key, len(numbers)))
    return np.array(each)[of], "recordings"


def _front_end(
    options: SourceOptions, cut: tuple[int, int], scale: tuple[float, ...] | None, first: Piece
) -> WindowFeatures:
    """Return the features that the options ask for, else those that suit the window. Sound gets mel bands."""
    from ethereal.features.window_features import DEFAULT_KERNELS, WindowFeatures

    names = None if options.kernels is None else [name.strip() for name in options.kernels.split(",")]
    rate = first.rate if options.rate is None else options.rate
    is_sound = _is_sound(first, rate, cut[0])
    if is_sound and names is None and first.path.suffix.lower() != ".wav":
        why = f"one axis at {rate:g} samples per second is taken for sound"
        say(f"note: {why}, so the kernel is mel. kernels= sets others.", err=True)
    usual = [KERNELS[name] for name in (("mel",) if is_sound else DEFAULT_KERNELS)]
    n_axes = first.samples.shape[1]
    fitting = [k.name for k in usual if k.least <= cut[0] <= k.most and (k.of != "pair" or n_axes > 1)]
    known: dict[str, Any] = {"axes": first.axes, "window": cut[0], "hop": cut[1], "rate": rate}
    of_axes = scale[0] if scale is not None and len(scale) == 1 else scale
    return WindowFeatures(names or fitting, **known, scale=of_axes, units=options.units)


def _is_sound(first: Piece, rate: float | None, window: int) -> bool:
    """Whether samples are sound, by the kind of the file or the rate. Mel bands need a rate."""
    if first.samples.shape[1] != 1 or window < _SHORTEST_SOUND:
        return False
    if first.path.suffix.lower() == ".wav":
        return True
    if rate is None and window >= _LONG_WINDOW:
        say(f"note: windows of one axis have {window:,} samples. If they are sound, give rate=.", err=True)
    return rate is not None and rate >= _SOUND_RATE


def _tell_of_gaps(pieces: Sequence[Piece]) -> None:
    """Say where samples were lost."""
    if cut := [piece.path for piece in pieces if piece.after_gap]:
        where = cut[0].name if len(set(cut)) == 1 else f"{len(set(cut))} recordings"
        what = f"samples were lost at {len(cut):,} places of {where}"
        say(f"note: {what}. Windows do not cross them.", err=True)


def _tell_of_short(pieces: Sequence[Piece], window: int, n_windows: int) -> None:
    """Say what is too short for a window, and refuse when all is."""
    short = [piece for piece in pieces if len(piece.samples) < window]
    if not short:
        return
    longest = max(pieces, key=lambda piece: len(piece.samples))
    if n_windows == 0:
        n = len(longest.samples)
        fits = 1 << max(n, 1).bit_length() - 1
        remedy = f"Give window={fits}" if fits >= _LEAST else "Record longer"
        raise TableError(
            f"{longest.path}: no recording holds a window of {window} samples. The longest piece has {n}. "
            f"{remedy}. A piece ends with its recording, and where the label changes or samples were lost."
        )
    names = ", ".join([*(f"{p.path.name} ({len(p.samples)})" for p in short[:3]), "..."][: len(short)])
    what = f"{len(short)} of {len(pieces)} pieces of recordings are shorter than a window of {window} samples"
    say(f"note: {what} and are skipped: {names}.", err=True)


def _of_npz(path: Path, options: SourceOptions, scale: tuple[float, ...] | None) -> Rows:
    """Return windows that were cut before, to learn from. What the file says gives way to the options."""
    arrays = _windows_in(path, options)
    X, rate = arrays["X"], arrays.get("rate")
    n_samples, n_axes = X.shape[1:]
    if "y" not in arrays:
        raise TableError(f"{path}: has no array y. It must have a label for each window.")
    if options.window not in (None, n_samples):
        raise TableError(f"{path}: window is {options.window}, but the windows have {n_samples} samples.")
    if not _LEAST <= n_samples <= _MOST:
        what = f"its windows have {n_samples} samples, but a window has {_LEAST} to {_MOST}"
        raise TableError(f"{path}: {what}. Cut the recordings anew.")
    if rate is not None and (rate.size != 1 or rate.dtype.kind not in "fiu"):
        raise TableError(f"{path}: rate has dtype {rate.dtype} and shape {rate.shape}. Give one number.")
    axes = _each(path, arrays, "axes" if "axes" in arrays else "axis_names", n_axes, "U")
    units = _each(path, arrays, "units", n_axes, "U")
    scale = _each(path, arrays, "scale", n_axes, "fiu") if scale is None else scale
    known = None if rate is None else float(rate.item())
    piece = Piece(X.reshape(-1, n_axes), path, 0, axes=axes, rate=known)
    X = counts_of([piece], scale)[0].reshape(X.shape)
    made = _front_end(options, window_of(replace(options, window=n_samples)), scale, piece)
    if options.units is None and units is not None:
        made.set_params(units=units)
    if "groups" not in arrays and "test" not in arrays:
        what = "the file has no array groups"
        say(f"note: {what}, so windows of a recording may be learned from and tested on.", err=True)
    test, groups, names = arrays.get("test"), arrays.get("groups"), made.fit(X).front_end_.names
    return Rows(X, arrays["y"], test, groups, names, name=path.stem, front_end=made)


def _npz_for(front_end: FrontEnd, path: Path, options: TableOptions) -> Rows:
    """Return windows that were cut before, for a model."""
    arrays = _windows_in(path, options)
    X, wanted = arrays["X"], (front_end.window, len(front_end.axes))
    if X.shape[1:] != wanted:
        what = f"has windows of {X.shape[1]} x {X.shape[2]}"
        reads = f"but the model reads {wanted[0]} samples x {wanted[1]} axes"
        raise TableError(f"{path}: {what}, {reads}. Cut the recordings anew.")
    piece = Piece(X.reshape(-1, wanted[1]), path, 0)
    counts = counts_of([piece], front_end.scale)[0].reshape(X.shape)
    y, groups = arrays.get("y", np.empty(0)), arrays.get("groups")
    return Rows(counts, y, test=arrays.get("test"), groups=groups, name=path.stem)


def _windows_in(path: Path, options: TableOptions) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file with windows, perhaps with axes, rate, scale and units."""
    arrays = labelled_arrays(path, options)
    X = arrays["X"]
    if X.ndim != 3 or X.dtype.kind not in "fiu" or 0 in X.shape:
        what = f"X of dtype {X.dtype} and shape {X.shape}"
        raise TableError(f"{path}: has {what}. X must hold numbers, windows x samples x axes.")
    if not np.isfinite(X).all():
        place = np.argwhere(~np.isfinite(X))[0].tolist()
        raise TableError(f"{path}: X{place} is {X[tuple(place)]}. Fill it, or leave the window out.")
    return arrays


def _each(path: Path, arrays: dict[str, NDArray[Any]], name: str, n_axes: int, kinds: str) -> Any:
    """Return an array of one entry per axis as a tuple, None where there is none."""
    if (array := arrays.get(name)) is None:
        return None
    if array.size not in (1, n_axes) or array.dtype.kind not in kinds:
        what = f"dtype {array.dtype} and shape {array.shape}"
        raise TableError(f"{path}: {name} has {what}. It must have one entry per axis, which are {n_axes}.")
    return tuple(np.broadcast_to(array.ravel(), n_axes).tolist())
