"""Labelled rows, checked, and the parts of a fold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.base.matrices import refuse_non_numeric_columns

VALIDATION = 0.2  # share of the rows that validates, of one fold


def labelled(
    X: ArrayLike, y: ArrayLike, groups: ArrayLike | None, name: str
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Rows, labels and groups of rows as arrays, checked. `name` is that of the groups."""
    rows, labels = matrix(X), np.asarray(y)
    if labels.shape != (len(rows),):
        raise ValueError(f"y has shape {labels.shape}; it must have one label for each of {len(rows)} rows")
    together = None if groups is None else np.asarray(groups)
    if together is not None and together.shape != labels.shape:
        raise ValueError(
            f"{name} has shape {together.shape}; it must have one group for each of {len(rows)} rows"
        )
    return rows, labels, together


def matrix(X: Any) -> NDArray[Any]:
    """Rows of numbers as an array, checked."""
    refuse_non_numeric_columns(X)
    rows = np.asarray(X)
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":
        raise ValueError(f"X has dtype {rows.dtype} and shape {rows.shape}; it must be a matrix of numbers")
    return rows


def parts(
    X: NDArray[Any], y: NDArray[Any], held_out: NDArray[np.intp]
) -> tuple[tuple[NDArray[Any], NDArray[Any]], tuple[NDArray[Any], NDArray[Any]]]:
    """Rows to train on and rows to validate on."""
    train = np.ones(len(y), dtype=bool)
    train[held_out] = False
    return (X[train], y[train]), (X[held_out], y[held_out])
