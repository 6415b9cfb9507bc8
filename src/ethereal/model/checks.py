"""Checks of the parts of a Model: each returns its read-only form or says what is wrong with which value."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.base.checks import frozen
from ethereal.features.feature_map import FeatureMap

if TYPE_CHECKING:
    from ethereal.features.booleanizer import Booleanizer


class Fitted(NamedTuple):
    """What a Model keeps of a fitted Booleanizer, so that predicting does not import scikit-learn."""

    feature_map: FeatureMap
    names: tuple[str, ...] | None  # of the features while fitting


def integers(values: ArrayLike, dtype: Any, name: str, ndim: int) -> NDArray[Any]:
    """Read-only integers; floats and numbers beyond the type's range are refused, not cast."""
    array = np.asarray(values)
    if array.ndim != ndim:
        raise ValueError(f"{name} has shape {array.shape}; it must have {ndim} dimension{'s' * (ndim > 1)}")
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{name} has dtype {array.dtype}; it must hold integers")
    limits = np.iinfo(dtype)
    if array.size and (array.min() < limits.min or array.max() > limits.max):
        raise ValueError(f"{name} holds values that do not fit {limits.bits} bits")
    return frozen(array, dtype)


def labels(classes: ArrayLike) -> NDArray[Any]:
    """Distinct labels: texts, integers, floats or Booleans, in the type they come in."""
    array = frozen(classes, None)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(f"classes has shape {array.shape}; it must be a list of one label per class")
    texts = array.dtype == object and all(isinstance(label, str) for label in array)
    if not texts and array.dtype.kind not in "biufU":
        raise TypeError(f"classes has dtype {array.dtype}; labels are texts, integers, floats or Booleans")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ValueError("classes holds NaN; a label must equal itself")
    seen = set(array.tolist())
    if len(seen) != len(array):
        raise ValueError(f"classes has {len(array)} labels but only {len(seen)} different ones")
    return array


def clauses(literals: NDArray[np.int32], offsets: NDArray[np.int64], n_booleans: int) -> None:
    """Check that offsets cut the literals into clauses whose literals are in range and ascending."""
    if (
        len(offsets) == 0
        or offsets[0] != 0
        or offsets[-1] != len(literals)
        or (offsets[1:] < offsets[:-1]).any()
    ):
        raise ValueError(f"offsets must ascend from 0 to the number of literals, {len(literals)}")
    # Comparisons take a byte per literal where differences would take four: a file may be large.
    if len(literals) and (literals.min() < 0 or literals.max() >= 2 * n_booleans):
        place = int(np.argmax((literals < 0) | (literals >= 2 * n_booleans)))
        raise ValueError(
            f"literals[{place}] is {literals[place]}; with {n_booleans} Booleans literals run "
            f"from 0 to {2 * n_booleans - 1}"
        )
    may_fall = np.zeros(len(literals) + 1, dtype=bool)
    may_fall[offsets] = True  # a literal may be below its predecessor only where a clause starts
    wrong = literals[1:] <= literals[:-1]
    wrong &= ~may_fall[1:-1]
    if wrong.any():
        j = int(np.searchsorted(offsets, int(np.argmax(wrong)), side="right")) - 1
        raise ValueError(f"the literals of clause {j} are not in strictly ascending order")


def votes(weights: NDArray[np.int32], n_clauses: int, n_classes: int) -> None:
    """Check that there is a weight per clause and class and that no sum of votes can overflow."""
    if weights.shape != (n_clauses, n_classes):
        raise ValueError(
            f"weights has shape {weights.shape}; for {n_clauses} clauses (from offsets) and {n_classes} "
            f"classes it must be {(n_clauses, n_classes)}"
        )
    # Sums in 64 bits without a copy of the weights in 64 bits.
    positive = np.sum(weights, axis=0, dtype=np.int64, where=weights > 0)
    negative = np.sum(weights, axis=0, dtype=np.int64, where=weights < 0)
    if n_clauses and (positive - negative).max() >= 2**31:
        raise ValueError("weights of a class add up to 2**31 or more; its votes would overflow 32 bits")


def names(feature_names: Sequence[str]) -> tuple[str, ...]:
    """Names of features, texts."""
    for f, name in enumerate(feature_names):
        if not isinstance(name, str):
            raise TypeError(f"feature_names[{f}] is {name!r}; it must be a text")
    return tuple(str(name) for name in feature_names)


def rates(boolean_rates: ArrayLike) -> NDArray[np.float32]:
    """Shares from 0 to 1."""
    array = frozen(boolean_rates, np.float32)
    if array.ndim != 1 or not ((array >= 0) & (array <= 1)).all():
        raise ValueError("boolean_rates must be one share from 0 to 1 per Boolean")
    return array


def bit_rows(typical_rows: ArrayLike, n_booleans: int) -> NDArray[np.uint8]:
    """Boolean rows as bits, the first Boolean lowest: rows x bytes, the bits beyond the last Boolean zero."""
    array: NDArray[np.uint8] = integers(typical_rows, np.uint8, "typical_rows", 2)
    n_bytes = (n_booleans + 7) // 8
    if array.shape[1] != n_bytes:
        raise ValueError(
            f"typical_rows has {array.shape[1]} bytes per row; {n_booleans} Booleans take {n_bytes}"
        )
    if n_booleans % 8 and (array[:, -1] >> n_booleans % 8).any():
        raise ValueError(f"typical_rows has bits beyond the last of {n_booleans} Booleans")
    return array


def provenance(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read-only mapping of what JSON can hold, numpy's numbers and arrays as plain ones."""
    try:
        text = json.dumps(dict(values), allow_nan=False, default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise type(error)(f"provenance must be what JSON can hold: {error}") from None
    return MappingProxyType(json.loads(text))


def _plain(value: Any) -> Any:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"{value!r} of type {type(value).__name__}")


def fitted(booleanizer: Booleanizer | Fitted, feature_names: Sequence[str] | None) -> Fitted:
    """What a Booleanizer was fitted to, which a later fit cannot change; `feature_names` must agree."""
    if not isinstance(booleanizer, Fitted):
        booleanizer = _fitted(booleanizer)
    names = booleanizer.names
    if names is not None and feature_names is not None and tuple(feature_names) != names:
        raise ValueError("feature_names are not those the booleanizer was fitted with; leave them out")
    return booleanizer


def _fitted(booleanizer: Booleanizer) -> Fitted:
    from sklearn.utils.validation import check_is_fitted  # here, so that models do without it

    from ethereal.features.booleanizer import Booleanizer

    if not isinstance(booleanizer, Booleanizer):
        raise TypeError(f"booleanizer is {booleanizer!r}; it must be a fitted Booleanizer or None")
    check_is_fitted(booleanizer)
    names = getattr(booleanizer, "feature_names_in_", None)
    return Fitted(booleanizer.feature_map_, None if names is None else tuple(names))
