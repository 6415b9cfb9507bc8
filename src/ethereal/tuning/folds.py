"""Rows to validate on."""

from __future__ import annotations

from collections.abc import Sequence
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


def make_folds(
    y: NDArray[Any], n_folds: int, share: float, seed: int, groups: NDArray[Any] | None = None
) -> tuple[NDArray[np.intp], ...]:
    """Rows to validate on: of one fold a share of every class, of several equal parts of every class.

    With groups these are about so many rows, all rows of a group or none.

    >>> [len(rows) for rows in make_folds(np.repeat([0, 1], 50), 1, 0.2, 0)]
    [20]
    >>> [len(rows) for rows in make_folds(np.repeat([0, 1], 50), 4, 0.2, 0)]
    [25, 25, 25, 25]
    >>> make_folds(np.array([0, 1] * 4), 2, 0.2, 0, np.array([1, 1, 2, 2, 3, 3, 4, 4]))
    (array([2, 3, 4, 5]), array([0, 1, 6, 7]))
    """
    from sklearn.model_selection import StratifiedKFold, train_test_split

    labels, counts = np.unique(y, return_counts=True)
    if len(labels) < 2:
        raise ValueError(f"y has one class only, {labels.tolist()}; tuning needs at least two")
    if counts.min() < max(2, n_folds):
        raise ValueError(
            f"label {labels.tolist()[counts.argmin()]!r} has {counts.min()} training rows; every class needs "
            f"{max(2, n_folds)} or more to validate on (folds={n_folds})"
        )
    if groups is not None:
        return _folds_of_groups(y, n_folds, share, seed, groups)
    if n_folds == 1:
        rows = train_test_split(np.arange(len(y)), test_size=share, stratify=y, random_state=seed)[1]
        return (np.sort(rows),)
    parts: Sequence[Any] = list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(y, y))
    return tuple(held_out for _, held_out in parts)


def _folds_of_groups(
    y: NDArray[Any], n_folds: int, share: float, seed: int, groups: NDArray[Any]
) -> tuple[NDArray[np.intp], ...]:
    from sklearn.model_selection import StratifiedGroupKFold

    n_groups, least = len(np.unique(groups)), max(2, n_folds)
    if n_groups < least:
        raise ValueError(
            f"row_groups has {n_groups} different groups; to validate on whole groups there must be {least} "
            f"or more (folds={n_folds})"
        )
    n_parts = n_folds if n_folds > 1 else min(n_groups, round(1 / share))
    parts = StratifiedGroupKFold(n_parts, shuffle=True, random_state=seed).split(y, y, groups)
    folds = tuple(held_out for _, held_out in parts)[:n_folds]
    for held_out in folds:
        lost = np.setdiff1d(y, np.delete(y, held_out))
        if len(lost):
            raise ValueError(
                f"all rows of label {lost.tolist()[0]!r} are in the groups that validate a fold; give "
                f"row_groups in which every label is in {least} groups or more, or no row_groups"
            )
    return folds


def parts(
    X: NDArray[Any], y: NDArray[Any], held_out: NDArray[np.intp]
) -> tuple[tuple[NDArray[Any], NDArray[Any]], tuple[NDArray[Any], NDArray[Any]]]:
    """Rows to train on and rows to validate on."""
    train = np.ones(len(y), dtype=bool)
    train[held_out] = False
    return (X[train], y[train]), (X[held_out], y[held_out])
