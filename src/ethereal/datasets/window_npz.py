"""Windows that were cut before, in an npz file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.npz import NpzError, shape_of
from ethereal.datasets.files import arrays_of, labels_from
from ethereal.datasets.tables import TableError


@dataclass(frozen=True, eq=False)
class CutWindows:
    """The arrays of a file, checked. All but the windows may be None."""

    X: NDArray[Any]  # windows x samples x axes
    y: NDArray[Any] | None
    test: NDArray[np.bool_] | None
    groups: NDArray[Any] | None
    axes: tuple[str, ...] | None
    rate: float | None
    scale: tuple[float, ...] | None
    units: tuple[str, ...] | None


def holds_windows(path: Path) -> bool:
    """Whether a file has an array X of three dimensions."""
    try:
        return len(shape_of(path, "X")[0]) == 3
    except NpzError:
        return False  # which the reader of tables explains


def read_windows(path: Path, large: bool = False) -> CutWindows:
    """Read a file with the array X, and perhaps y, groups, test, axes, rate, scale, units and class_names."""
    arrays = arrays_of(path, large)
    X, y, test = (arrays.get(key) for key in ("X", "y", "test"))
    groups = arrays.get("groups", arrays.get("group"))
    if X is None or X.ndim != 3 or X.dtype.kind not in "fiu" or 0 in X.shape:
        found = "no array X" if X is None else f"X of dtype {X.dtype} and shape {X.shape}"
        raise TableError(f"{path}: has {found}. X must hold numbers, windows x samples x axes.")
    for name, array in (("y", y), ("test", test), ("groups", groups)):
        if array is not None and array.shape != X.shape[:1]:
            raise TableError(f"{path}: {name} has shape {array.shape}. It must have {len(X)} entries.")
    if test is not None and test.dtype != bool:
        raise TableError(f"{path}: test has dtype {test.dtype}. Give a Boolean per window.")
    if not np.isfinite(X).all():
        place = np.argwhere(~np.isfinite(X))[0].tolist()
        raise TableError(f"{path}: X{place} is {X[tuple(place)]}. Fill it, or leave the window out.")
    classes = arrays.get("class_names")
    if classes is not None and y is not None:
        if y.dtype.kind not in "iu" or not 0 <= y.min() <= y.max() < len(classes):
            raise TableError(f"{path}: y must hold indices into the {len(classes)} class_names")
        y = classes[y]
    axes = _each(path, arrays, "axes" if "axes" in arrays else "axis_names", X.shape[2], "U")
    scale, rate = _each(path, arrays, "scale", X.shape[2], "fiu"), arrays.get("rate")
    if rate is not None and (rate.size != 1 or rate.dtype.kind not in "fiu"):
        raise TableError(f"{path}: rate has dtype {rate.dtype} and shape {rate.shape}. Give one number.")
    return CutWindows(
        X,
        None if y is None else labels_from(y),
        test,
        groups,
        axes,
        None if rate is None else float(rate.item()),
        scale,
        _each(path, arrays, "units", X.shape[2], "U"),
    )


def _each(path: Path, arrays: dict[str, NDArray[Any]], name: str, n_axes: int, kinds: str) -> Any:
    """Return an array of one entry per axis as a tuple, None where there is none."""
    array = arrays.get(name)
    if array is None:
        return None
    if array.size not in (1, n_axes) or array.dtype.kind not in kinds:
        what = f"dtype {array.dtype} and shape {array.shape}"
        raise TableError(f"{path}: {name} has {what}. It must have one entry per axis, which are {n_axes}.")
    return tuple(np.broadcast_to(array.ravel(), n_axes).tolist())
