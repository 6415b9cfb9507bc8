"""The file of a data set: one `NAME.npz` with X, y, test and what else is known of the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ethereal.base.npz import NpzError, read_arrays, write_arrays
from ethereal.datasets.catalogue import Dataset, DatasetError


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
        size = sum(array.nbytes for array in arrays.values()) >> 20
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
        feature_names=tuple(map(str, arrays.get("feature_names", ()))),
        class_names=tuple(map(str, arrays.get("class_names", ()))),
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
