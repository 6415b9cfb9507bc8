"""The study's data sets, loaded from one npz file each or fetched from where they are published.

`load("har")` reads `har.npz` from the folder in the environment variable ETHEREAL_DATA, else from the user's
cache. When it is not there, the original archive is downloaded, parsed once and kept as that file.
"""

from __future__ import annotations

import difflib
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pooch

from ethereal.base.atomic import only_one
from ethereal.base.npz import NpzError, read_arrays, shape_of
from ethereal.base.splits import hold_out
from ethereal.datasets.dataset import Dataset, read_npz, write_npz
from ethereal.datasets.rows import Rows
from ethereal.datasets.sets import download, parsers, registry
from ethereal.datasets.sets.archive import Archive
from ethereal.datasets.sets.registry import CLASSES, FEATURES, DatasetError, Source


def names() -> list[str]:
    """Return the names that `load` knows.

    >>> "har" in names()
    True
    """
    return list(registry.SOURCES)


def folder() -> Path:
    """Return the data folder, which is ETHEREAL_DATA when set, else the user's cache folder."""
    named = os.environ.get("ETHEREAL_DATA")
    return Path(named).expanduser() if named else Path(pooch.os_cache("ethereal"))


def load(name: str, *, data_folder: str | Path | None = None, progress: bool | None = None) -> Dataset:
    """Return one data set by name, fetched first when it is not in the data folder.

    Parameters
    ----------
    name
        One of `names()`.
    data_folder
        Another folder than `folder()`.
    progress
        Whether to show a bar while downloading. None shows it when standard error is a terminal.

    Examples
    --------
    >>> digits = load("digits")
    >>> digits.X.shape, digits.class_names[:3], int(digits.test.sum())
    ((1797, 64), ('0', '1', '2'), 360)
    """
    source = _source(name)
    if not source.files:
        return _digits(source)
    path = _npz(source, data_folder)
    if not path.exists():
        fetch(name, data_folder=data_folder, progress=progress)
    found = read_npz(path, name)
    unknown = f"{_completeness(found, source)} (judged by its size: the file does not say)"
    features = found.feature_names or tuple(FEATURES.get(name, ()))
    if len(features) != found.n_features:
        features = tuple(f"x{i}" for i in range(found.n_features))
    return replace(
        found,
        completeness=found.completeness or unknown,
        how=found.how or "as marked in the file",
        feature_names=features,
        class_names=found.class_names or tuple(CLASSES[name]),
        licence=source.licence,
        citation=source.citation,
        image_shape=source.image_shape if found.n_features == source.features else None,
    )


def fetch(
    name: str, *, data_folder: str | Path | None = None, force: bool = False, progress: bool | None = None
) -> Path | None:
    """Download and parse one set when its npz file is not there, and return the path of that file.

    The path is None for a set that needs no file. `force` downloads again. The hash must still be the same.
    """
    source = _source(name)
    if not source.files:
        return None
    path = _npz(source, data_folder)
    archives = path.parent / "archives"
    show = sys.stderr.isatty() if progress is None else progress
    if path.exists() and not force:
        return path
    with _alone(archives):
        if path.exists() and not force:  # another process was faster
            return path
        if force:
            for file in source.files:
                (archives / file.name).unlink(missing_ok=True)
        files = [download.fetch(file.urls, archives, file.hash, progress=show) for file in source.files]
        if show:
            print(f"{name}: reading {files[0].name} ({source.members} files of data)", file=sys.stderr)
        parsed = _parse(files, source)
        assert parsed.test is not None
        # Only what could be read is worth remembering.
        for file, got in zip(source.files, files, strict=True):
            if file.hash is None:
                download.remember(got)
        dataset = Dataset(
            name=name,
            X=parsed.X,
            y=parsed.y.astype(np.int16),
            test=parsed.test,
            feature_names=tuple(parsed.feature_names or FEATURES[name]),
            class_names=tuple(parsed.class_names or CLASSES[name]),
            groups=None if parsed.groups is None else parsed.groups.astype(np.int32),
            how=parsed.how or parsers.STUDY_SPLIT,
        )
        write_npz(path, replace(dataset, completeness=_completeness(dataset, source)))
    return path


@dataclass(frozen=True)
class Status:
    """What is on disk of one set."""

    source: Source
    # "ready", "archive" (downloaded, not parsed), "partial" (a broken download), "absent" or "bundled"
    state: str
    path: Path | None
    bytes: int
    completeness: str = ""  # "complete: ...", "partial: ..." or "damaged", empty unless ready or bundled


def status(name: str, *, data_folder: str | Path | None = None) -> Status:
    """Return whether a set is at hand, and how much room it takes.

    >>> status("digits").state
    'bundled'
    """
    source = _source(name)
    if not source.files:
        return Status(source, "bundled", None, 0, f"complete: {source.rows} rows")
    path = _npz(source, data_folder)
    archives = [path.parent / "archives" / file.name for file in source.files]
    parts = [p.with_name(p.name + ".part") for p in archives]
    size = sum(p.stat().st_size for p in (path, *archives, *parts) if p.exists())
    if path.exists():
        return Status(source, "ready", path, size, _completeness_of(path, source))
    if all(p.exists() for p in archives):
        return Status(source, "archive", archives[0], size)
    return Status(source, "partial" if size else "absent", None, size)


def _source(name: str) -> Source:
    if not isinstance(name, str) or name not in registry.SOURCES:
        near = difflib.get_close_matches(str(name).lower(), registry.SOURCES, n=1, cutoff=0.4)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known are {', '.join(registry.SOURCES)}."
        raise ValueError(f"no data set is called {name!r}. {hint}")
    return registry.SOURCES[name]


def _npz(source: Source, data_folder: str | Path | None) -> Path:
    return (folder() if data_folder is None else Path(data_folder)) / f"{source.name}.npz"


def _parse(files: list[Path], source: Source) -> Rows:
    if source.name == "mnist":
        return parsers.mnist(files, source)
    with Archive(files[0]) as archive:
        return parsers.FROM_ARCHIVE[source.name](archive, source)


def _digits(source: Source) -> Dataset:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    test = np.zeros(len(bunch.target), dtype=np.bool_)
    test[hold_out(bunch.target, 0.2, 0)[1]] = True
    return Dataset(
        name=source.name,
        X=bunch.data.astype(np.uint8),
        y=bunch.target.astype(np.int16),
        test=test,
        feature_names=tuple(bunch.feature_names),
        class_names=tuple(str(n) for n in bunch.target_names),
        completeness=f"complete: {len(test)} rows",
        how="80/20, stratified, random_state 0",
        licence=source.licence,
        citation=source.citation,
        image_shape=source.image_shape,
    )


def _completeness_of(path: Path, source: Source) -> str:
    """Say how much of a set its file has, without reading its rows."""
    try:
        labels = read_arrays(path, only=("y", "completeness"))
        if "completeness" in labels:
            return str(labels["completeness"])
        shape, dtype = shape_of(path, "X")
        return _compared(shape[0], shape[1], len(np.unique(labels["y"])), dtype == np.bool_, source)
    except (NpzError, KeyError, IndexError):
        return "damaged"


def _completeness(found: Dataset, source: Source) -> str:
    n_classes = len(np.unique(found.y))
    return _compared(len(found.y), found.n_features, n_classes, found.X.dtype == np.bool_, source)


def _compared(rows: int, features: int, classes: int, is_boolean: bool, source: Source) -> str:
    if (rows, features, classes) == (source.rows, source.features, source.classes):
        return f"complete: {rows} rows"
    kind = "Boolean " if is_boolean else ""
    differs = {
        f"{rows} of {source.rows} rows": rows != source.rows,
        f"{features} {kind}features instead of {source.features}": features != source.features,
        f"{classes} of {source.classes} classes": classes != source.classes,
    }
    return "partial: " + ", ".join(text for text, is_so in differs.items() if is_so)


@contextmanager
def _alone(archives: Path) -> Iterator[None]:
    """Allow one fetch at a time per folder, where the system can lock files. Others wait."""
    try:
        archives.mkdir(parents=True, exist_ok=True)
        if not os.access(archives, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as e:
        raise DatasetError(
            f"{archives}: cannot be written ({e.strerror or e}). Point ETHEREAL_DATA to a folder that can be."
        ) from e
    with only_one(archives / ".lock") as is_alone:
        if is_alone:
            # Nobody else writes now, so temporary names (pooch's and ours) were left by killed processes.
            ours = (*archives.glob(".*.tmp"), *archives.parent.glob(".*.npz.*.tmp"))
            for left in (*archives.glob("tmp*"), *ours):
                left.unlink(missing_ok=True)
        yield
