"""Rows that are grids of cells, frames or images, as a classifier with a patch gets them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ethereal.base.checks import check_integer
from ethereal.features.booleanizer import Booleanizer
from ethereal.features.front_end import ACTIVE
from ethereal.features.matrices import is_frame
from ethereal.features.packing import evenly
from ethereal.model.patch import OVER, Patch, tiled

if TYPE_CHECKING:
    from ethereal.train.classifier import EtherealClassifier

BUDGET = 16  # literals of a clause. Without a bound clauses grow far too long, see lab/notes/patterns.md
_BINS = 4  # of a channel, because a patch has as many Booleans for each of its cells
_MOST_VALUES = 1 << 21  # of a channel that thresholds are found on
_AXES = {1: "rows x frames x channels", 2: "rows x height x width, with or without channels"}


def literal_budget(given: int | None, patch: object) -> int | None:
    """Return the most literals of a clause, None for no bound."""
    if given is None:
        return None if patch is None else BUDGET
    return int(given)


def check_patch(given: Mapping[str, Any]) -> None:
    """Refuse a `patch` or `places` that is out of range, and what does not go with a patch."""
    patch, places = given["patch"], given["places"]
    if not (isinstance(places, str) and places == "auto") and not isinstance(places, (bool, np.bool_)):
        raise TypeError(f'places is {places!r}. It must be True, False or "auto".')
    if patch is None:
        return
    if isinstance(patch, str) or not isinstance(patch, (Sequence, np.ndarray)) or len(patch) not in OVER:
        raise ValueError(
            f"patch is {patch!r}. Give its length for frames, such as (8,), or its height and width for "
            "images, such as (10, 10)."
        )
    for i, length in enumerate(patch):
        check_integer(f"patch[{i}]", length, 1, 2**24)
    front_end = given["front_end"]
    if front_end is not None and (len(patch) != 1 or getattr(front_end, "frames", None) is None):
        raise ValueError(
            f"patch is {patch!r}, but front_end makes no frames. Give WindowFeatures(frames=...) and a "
            "length such as patch=(8,), or leave one of them out."
        )
    if given["shorten"]:
        raise ValueError("shorten=True does not take a patch. Set it to False.")
    if given["noise_clauses"] not in ("auto", 0):
        raise ValueError(f"noise_clauses is {given['noise_clauses']}, and a patch has none. Set it to 0.")


def rows_of_cells(clf: EtherealClassifier, X: Any, *, reset: bool) -> NDArray[Any]:
    """Return frames or images as rows of numbers, cell after cell. With `reset` their shape is learnt."""
    wanted = _AXES[len(clf.patch)]  # type: ignore[arg-type]
    if clf.front_end is not None and np.ndim(X) == 3:
        if reset:
            clf.front_end_ = clone(clf.front_end).fit(X)
        X = clf.front_end_.transform(X)
    if is_frame(X) or hasattr(X, "toarray"):
        raise TypeError(f"X is a {type(X).__name__}. With patch={clf.patch!r} give an array, {wanted}.")
    try:
        array = np.asarray(X)
    except ValueError:
        raise ValueError(f"X has rows of unequal size. With patch={clf.patch!r} give {wanted}.") from None
    if array.dtype.kind not in "biuf":
        raise TypeError(f"X has dtype {array.dtype}. With patch={clf.patch!r} give numbers, {wanted}.")
    n_axes = len(clf.patch)  # type: ignore[arg-type]
    if not reset and array.ndim == 2 and array.shape[1] == clf.n_features_in_:
        return array
    if array.ndim not in (n_axes + 1, n_axes + 2):
        raise ValueError(f"X has the shape {array.shape}. With patch={clf.patch!r} give {wanted}.")
    shape = array.shape[1 : n_axes + 1]
    if 0 in array.shape[1:]:
        raise ValueError(f"X has the shape {array.shape}, so its rows are empty. Give {wanted}.")
    if not reset and (shape != clf.row_shape_ or math.prod(array.shape[1:]) != clf.n_features_in_):
        n_channels = clf.n_features_in_ // math.prod(clf.row_shape_)
        known = " x ".join(map(str, clf.row_shape_))
        raise ValueError(
            f"X has the shape {array.shape}, but training had rows of {known} cells with {n_channels} "
            "numbers each. Cut or fill the rows to that size."
        )
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ValueError("X has NaN, and a patch takes no missing values. Fill them.")
    if reset:
        Patch(shape, tuple(clf.patch), 1)  # type: ignore[arg-type]  # refuses a patch that is too large
        clf.row_shape_ = shape
    return array.reshape(len(array), math.prod(array.shape[1:]))


def fit_cells(clf: EtherealClassifier, array: NDArray[Any], has_booleans: bool) -> Booleanizer | None:
    """Return a Booleanizer with thresholds for each channel, which all cells share."""
    given, n_cells = clf.booleanizer, math.prod(clf.row_shape_)
    if given is None or (not isinstance(given, Booleanizer) and has_booleans):
        return None
    booleanizer = clone(given) if isinstance(given, Booleanizer) else Booleanizer(_BINS)
    if not isinstance(given, (Booleanizer, str)):
        booleanizer = Booleanizer(given)
    if booleanizer.missing == "ignore":
        raise ValueError('booleanizer has missing="ignore", and a patch takes no missing values.')
    some = array[evenly(len(array), max(1, _MOST_VALUES // n_cells))]
    cells = some.reshape(len(some) * n_cells, -1)
    if clf.front_end is not None and (front_end := clf.front_end_.front_end_).is_sound:
        # Silence would take most of the thresholds. A frame says in its last number how loud it is.
        cells = cells[cells[:, front_end.names.index(f"{front_end.axes[0]}.loudness")] >= -ACTIVE]
    booleanizer.fit(cells)
    if booleanizer.feature_map_.n_booleans == 0:
        raise ValueError("Every channel of X is constant. Give channels that vary.")
    return Booleanizer.from_feature_map(tiled(booleanizer.feature_map_, n_cells))


def patch_of(clf: EtherealClassifier, n_row_booleans: int) -> Patch | None:
    """Return the patch for rows of so many Booleans, None for a classifier without one."""
    if clf.patch is None:
        return None
    places = len(clf.patch) == 2 if isinstance(clf.places, str) else bool(clf.places)
    return Patch(clf.row_shape_, tuple(clf.patch), n_row_booleans // math.prod(clf.row_shape_), places)
