"""Data sets by name: digits, and those that installed packages add in the group `ethereal.datasets`.

`load("har")` reads `har.npz` from the folder in the environment variable ETHEREAL_DATA, else from the user's
cache. When it is not there, the original archive is downloaded, parsed once and kept as that file.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ethereal.base.package import added
from ethereal.base.splits import hold_out
from ethereal.datasets.rows import Rows


class DatasetError(RuntimeError):
    """A data set cannot be had, for example without a network or with a full disk."""


class Unreachable(DatasetError):
    """No server answered, so that trying other sets is in vain. `reason` says so in one line."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, eq=False)
class Dataset(Rows):
    """A set by name: `Rows` with a split, and where they come from.

    Examples
    --------
    >>> import ethereal.datasets
    >>> digits = ethereal.datasets.load("digits")
    >>> digits.X_train.shape, digits.X_test.shape, digits.n_classes
    ((1437, 64), (360, 64), 10)
    """

    y: NDArray[np.int16]  # labels from 0 on
    test: NDArray[np.bool_]
    feature_names: tuple[str, ...] = ()
    class_names: tuple[str, ...] = ()
    completeness: str = ""  # whether all rows of the original are there, and which are not
    licence: str = ""
    citation: str = ""

    @property
    def n_classes(self) -> int:
        """Number of classes, those without a row included."""
        return len(self.class_names)

    @property
    def n_features(self) -> int:
        """Number of raw features."""
        return int(self.X.shape[1])

    def with_split(self, test: NDArray[np.bool_], how: str) -> Dataset:
        """Return the same rows with another split, such as `ethereal.base.splits.group_split(y, groups)`."""
        mask = np.asarray(test)
        if mask.dtype != np.bool_ or mask.shape != self.y.shape:
            what = f"dtype {mask.dtype} and shape {mask.shape}"
            raise ValueError(f"test has {what}. It must be {len(self.y)} Booleans.")
        if mask.all() or not mask.any():
            raise ValueError("test marks all rows or none. Both parts need rows.")
        return replace(self, test=mask, how=how)


@dataclass(frozen=True)
class Source:
    """One data set as its original is published."""

    name: str
    title: str
    rows: int
    features: int
    classes: int
    licence: str
    citation: str
    image_shape: tuple[int, int] | None = None


@dataclass(frozen=True)
class Status:
    """What is on disk of one set."""

    source: Source
    # "ready", "archive" (downloaded, not parsed), "partial" (a broken download), "absent" or "bundled"
    state: str
    path: Path | None
    bytes: int
    completeness: str = ""  # "complete: ...", "partial: ..." or "damaged", empty unless ready or bundled


class Collection(Protocol):
    """What is asked of a module that the group `ethereal.datasets` names. Its sets have files in a folder."""

    SOURCES: Mapping[str, Source]

    def load(self, name: str, folder: Path, progress: bool | None) -> Dataset:
        """Return a set, fetched first when it is not in the folder."""

    def fetch(self, name: str, folder: Path, force: bool, progress: bool | None) -> Path:
        """Download and parse a set when its file is not there, and return the path of that file."""

    def status(self, name: str, folder: Path) -> Status:
        """Return whether a set is at hand, and how much room it takes."""


_DIGITS = Source(
    "digits",
    "Optical digits: 8 x 8 counts of ink, the test part, bundled with scikit-learn",
    *(1797, 64, 10, "CC BY 4.0"),
    "E. Alpaydin, C. Kaynak, Optical recognition of handwritten digits, 1998; doi:10.24432/C50P49",
    image_shape=(8, 8),
)


@cache
def _collections() -> list[Collection]:
    return list(added("ethereal.datasets").values())


def names() -> list[str]:
    """Return the names that `load` knows.

    >>> "har" in names()
    True
    """
    return [*(name for one in _collections() for name in one.SOURCES), _DIGITS.name]


def missing_sets() -> str:
    """Return a sentence for a message about an unknown name, when a package with sets is not there."""
    what = "The public sets come with the package ethereal_study, which is missing"
    return "" if _collections() else f" {what}. Install ethereal-tm again to have them."


def folder() -> Path:
    """Return the data folder, which is ETHEREAL_DATA when set, else the user's cache folder."""
    if named := os.environ.get("ETHEREAL_DATA"):
        return Path(named).expanduser()
    import pooch

    return Path(pooch.os_cache("ethereal"))


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
    collection = _collection_of(name)
    return _digits() if collection is None else collection.load(name, _in(data_folder), progress)


def fetch(
    name: str, *, data_folder: str | Path | None = None, force: bool = False, progress: bool | None = None
) -> Path | None:
    """Download and parse one set when its npz file is not there, and return the path of that file.

    The path is None for a set that needs no file. `force` downloads again. The hash must still be the same.
    """
    collection = _collection_of(name)
    return None if collection is None else collection.fetch(name, _in(data_folder), force, progress)


def status(name: str, *, data_folder: str | Path | None = None) -> Status:
    """Return whether a set is at hand, and how much room it takes.

    >>> status("digits").state
    'bundled'
    """
    if (collection := _collection_of(name)) is not None:
        return collection.status(name, _in(data_folder))
    return Status(_DIGITS, "bundled", None, 0, f"complete: {_DIGITS.rows} rows")


def _collection_of(name: str) -> Collection | None:
    """Return the collection that has a set, None for digits."""
    known = names()
    if name not in known:
        near = difflib.get_close_matches(str(name).lower(), known, n=1, cutoff=0.4)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known are {', '.join(known)}.{missing_sets()}"
        raise ValueError(f"no data set is called {name!r}. {hint}")
    return next((one for one in _collections() if name in one.SOURCES), None)


def _in(data_folder: str | Path | None) -> Path:
    return folder() if data_folder is None else Path(data_folder)


def _digits() -> Dataset:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    test = np.zeros(len(bunch.target), dtype=np.bool_)
    test[hold_out(bunch.target, 0.2, 0)[1]] = True
    return Dataset(
        name=_DIGITS.name,
        X=bunch.data.astype(np.uint8),
        y=bunch.target.astype(np.int16),
        test=test,
        feature_names=tuple(bunch.feature_names),
        class_names=tuple(str(n) for n in bunch.target_names),
        completeness=f"complete: {len(test)} rows",
        how="80/20, stratified, random_state 0",
        licence=_DIGITS.licence,
        citation=_DIGITS.citation,
        image_shape=_DIGITS.image_shape,
    )
