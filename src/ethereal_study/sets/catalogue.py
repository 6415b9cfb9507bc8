"""The study's data sets, loaded from one npz file each or fetched from where they are published.

`pyproject.toml` names this module in the group `ethereal.datasets`, and `ethereal.datasets` asks it.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ethereal.base.atomic import only_one
from ethereal.base.npz import NpzError, read_arrays, shape_of
from ethereal.datasets.catalogue import Dataset, DatasetError, Status
from ethereal_study.sets.npz import read_npz, write_npz
from ethereal_study.sets.registry import CLASSES, FEATURES, SOURCES, PublishedSource

if TYPE_CHECKING:
    from ethereal.datasets.rows import Rows


def load(name: str, folder: Path, progress: bool | None) -> Dataset:
    """Return one data set by name, fetched first when it is not in the folder."""
    source, path = SOURCES[name], _npz(name, folder)
    if not path.exists():
        fetch(name, folder, False, progress)
    dataset = read_npz(path, name)
    unknown = f"{_completeness(dataset, source)} (judged by its size: the file does not say)"
    features = dataset.feature_names or tuple(FEATURES.get(name, ()))
    if len(features) != dataset.n_features:
        features = tuple(f"x{i}" for i in range(dataset.n_features))
    return replace(
        dataset,
        completeness=dataset.completeness or unknown,
        how=dataset.how or "as marked in the file",
        feature_names=features,
        class_names=dataset.class_names or tuple(CLASSES[name]),
        licence=source.licence,
        citation=source.citation,
        image_shape=source.image_shape if dataset.n_features == source.features else None,
    )


def fetch(name: str, folder: Path, force: bool, progress: bool | None) -> Path:
    """Download and parse one set when its npz file is not there, and return the path of that file."""
    source, path, archives = SOURCES[name], _npz(name, folder), folder / "archives"
    show = sys.stderr.isatty() if progress is None else progress
    if path.exists() and not force:
        return path
    from ethereal_study.sets import download, parsers

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


def status(name: str, folder: Path) -> Status:
    """Return whether a set is at hand, and how much room it takes."""
    source, path = SOURCES[name], _npz(name, folder)
    archives = [folder / "archives" / file.name for file in source.files]
    parts = [p.with_name(p.name + ".part") for p in archives]
    size = sum(p.stat().st_size for p in (path, *archives, *parts) if p.exists())
    if path.exists():
        return Status(source, "ready", path, size, _completeness_of(path, source))
    if all(p.exists() for p in archives):
        return Status(source, "archive", archives[0], size)
    return Status(source, "partial" if size else "absent", None, size)


def _npz(name: str, folder: Path) -> Path:
    return folder / f"{name}.npz"


def _parse(files: list[Path], source: PublishedSource) -> Rows:
    from ethereal_study.sets import archive, parsers

    if source.name == "mnist":
        return parsers.mnist(files, source)
    with archive.Archive(files[0]) as opened:
        return parsers.FROM_ARCHIVE[source.name](opened, source)


def _completeness_of(path: Path, source: PublishedSource) -> str:
    """Say how much of a set its file has, without reading its rows."""
    try:
        labels = read_arrays(path, only=("y", "completeness"))
        if "completeness" in labels:
            return str(labels["completeness"])
        shape, dtype = shape_of(path, "X")
        return _compared(shape[0], shape[1], len(np.unique(labels["y"])), dtype == np.bool_, source)
    except (NpzError, KeyError, IndexError):
        return "damaged"


def _completeness(dataset: Dataset, source: PublishedSource) -> str:
    n_classes = len(np.unique(dataset.y))
    return _compared(len(dataset.y), dataset.n_features, n_classes, dataset.X.dtype == np.bool_, source)


def _compared(rows: int, features: int, classes: int, is_boolean: bool, source: PublishedSource) -> str:
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
