"""What `load` returns, and its file: one `NAME.npz` with X, y, test and what else is known of the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.npz import NpzError, read_arrays, write_arrays
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


def write_npz(path: Path, dataset: Dataset) -> None:
    """Write a set to `path`, under a temporary name first."""
    arrays: dict[str, Any] = {
        "X": dataset.X,
        "y": dataset.y.astype(np.int16),
        "test": dataset.test,
        "feature_names": np.array(dataset.feature_names),
        "class_names": np.array(dataset.class_names),
        "completeness": np.array(dataset.completeness),
        "split": np.array(dataset.how),
    }
    if dataset.groups is not None:
        arrays["group"] = dataset.groups
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_arrays(path, arrays, compressed=True)
    except OSError as e:
        size = sum(a.nbytes for a in map(np.asarray, arrays.values())) >> 20
        raise DatasetError(
            f"{path}: cannot be written ({e.strerror or e}). It needs up to {size} MiB. "
            "Free some space, or point ETHEREAL_DATA to a folder that can be written."
        ) from e


def read_npz(path: Path, name: str) -> Dataset:
    """Read and check a set's file. What the file lacks is empty or None."""
    try:
        arrays = read_arrays(path)
    except NpzError as e:
        raise DatasetError(f"{path}: damaged or no npz file ({e}). Delete it and fetch {name} again.") from e
    if fault := _fault(arrays):
        raise DatasetError(f"{path}: {fault}. Delete it and fetch {name} again.")
    group = arrays.get("group")
    return Dataset(
        name=name,
        X=arrays["X"],
        y=arrays["y"].astype(np.int16),
        test=arrays["test"],
        feature_names=tuple(str(n) for n in arrays.get("feature_names", ())),
        class_names=tuple(str(c) for c in arrays.get("class_names", ())),
        groups=None if group is None else group.astype(np.int32),
        completeness=str(arrays.get("completeness", "")),
        how=str(arrays.get("split", "")),
    )


def _fault(arrays: dict[str, Any]) -> str | None:
    """Say what is wrong with the arrays of a file, if anything."""
    if missing := [k for k in ("X", "y", "test") if k not in arrays]:
        return f"lacks the arrays {', '.join(missing)}"
    X, y, test = arrays["X"], arrays["y"], arrays["test"]
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        return f"X is not a matrix of numbers (shape {X.shape} of {X.dtype})"
    rows = (len(X),)
    if y.shape != rows or y.dtype.kind not in "iu" or (len(y) and not 0 <= y.min() <= y.max() < 2**15):
        return f"y is not one label from 0 on for each of the {len(X)} rows"
    if test.shape != rows or test.dtype != np.bool_ or test.all() or not test.any():
        return f"test does not mark a part of the {len(X)} rows"
    if "group" in arrays and (arrays["group"].shape != rows or arrays["group"].dtype.kind not in "iu"):
        return f"group is not one whole number for each of the {len(X)} rows"
    if "feature_names" in arrays and arrays["feature_names"].shape != X.shape[1:]:
        return f"feature_names are not {X.shape[1]} names"
    if "class_names" in arrays and not len(np.atleast_1d(arrays["class_names"])) > y.max():
        return f"class_names are too few for the label {y.max()}"
    return None
