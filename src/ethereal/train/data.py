"""What a classifier is given, checked: rows, labels, weights, other sets; and its Booleanizer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ethereal.base.matrices import (
    class_codes,
    refuse_levels_of_columns,
    refuse_non_numeric_columns,
    refuse_odd_labels,
)
from ethereal.features.booleanizer import Booleanizer
from ethereal.features.packing import PackedRows, is_boolean, pack

if TYPE_CHECKING:
    from ethereal.train.classifier import EtherealClassifier


@dataclass(frozen=True)
class TrainingData:
    """Rows to learn from."""

    array: NDArray[Any]  # rows x features, numbers
    codes: NDArray[np.int32]  # index of each row's label among the classes
    classes: NDArray[Any]  # labels, ascending
    weights: NDArray[np.float64] | None  # of the rows; None: all equal
    class_weights: NDArray[np.float64] | None  # of the classes, in `weights` already; None: all equal

    def visits(self, rows: NDArray[np.intp] | None = None) -> NDArray[np.float64] | None:
        """Mean visits per epoch of each row, or of some of them: as many in all as there are rows."""
        if self.weights is None:
            return None
        weights = self.weights if rows is None else self.weights[rows]
        if not weights.sum() > 0:
            raise ValueError(
                "sample_weight is zero for every row that is not held out; give more rows a positive weight, "
                "or hold out none: validation_fraction=0"
            )
        return np.ascontiguousarray(weights * (len(weights) / weights.sum()), dtype=np.float64)


def read_training_data(
    clf: EtherealClassifier,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None,
    classes: ArrayLike | None = None,
    *,
    reset: bool = True,
) -> TrainingData:
    """Check and return what `fit` is given; `classes` are all labels there can be, None: those of `y`.

    With `reset` the classifier takes number and names of the features from `X`, else `X` must have them.
    """
    refuse_levels_of_columns(X)
    refuse_non_numeric_columns(X)
    refuse_odd_labels(y)
    if classes is not None:
        refuse_odd_labels(classes, "classes")
    array, y = validate_data(
        clf, X, y, reset=reset, dtype="numeric", ensure_all_finite=False, ensure_min_samples=1
    )
    check_classification_targets(y)
    labels = np.unique(y if classes is None else np.asarray(classes))
    if len(labels) < 2:
        raise ValueError(f"y has one class only, {labels.tolist()}; a classifier needs at least two")
    unseen = np.setdiff1d(y, labels)
    if len(unseen):
        raise ValueError(f"y has labels that are not in classes: {unseen[:5].tolist()}")
    codes = np.searchsorted(labels, y).astype(np.int32)
    weights: NDArray[np.float64] | None = None
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, array, ensure_non_negative=True)
    per_class = None
    if clf.class_weight is not None:
        per_class = _class_weights(clf.class_weight, labels, y)
        weights = per_class[codes] * (1.0 if weights is None else weights)
    if weights is not None and not weights.sum() > 0:
        name = "class_weight" if sample_weight is None else "sample_weight"
        raise ValueError(f"{name} is zero for every row; give some rows a positive weight")
    return TrainingData(array, codes, labels, weights, per_class)


def _class_weights(given: Any, labels: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    """Weight of each label."""
    absent = np.setdiff1d(labels, y)
    if given == "balanced" and len(absent):
        raise ValueError(
            f'class_weight is "balanced", but these rows have none of the classes {absent[:5].tolist()}; '
            "give a mapping from label to weight"
        )
    try:
        weights: NDArray[np.float64] = compute_class_weight(given, classes=labels, y=y)
    except ValueError as error:
        raise ValueError(f"class_weight does not fit the labels {labels[:5].tolist()}: {error}") from None
    return weights


def read_prediction_rows(clf: EtherealClassifier, X: Any) -> NDArray[Any]:
    """Rows like those of training, numbers."""
    check_is_fitted(clf, "classes_")
    refuse_levels_of_columns(X)
    refuse_non_numeric_columns(X)
    array: NDArray[Any] = validate_data(clf, X, reset=False, dtype="numeric", ensure_all_finite=False)
    return array


def read_pair(clf: EtherealClassifier, name: str, pair: Any) -> PackedRows:
    """Rows and labels of an `eval_set` or `validation_set`, as the trainer judges them."""
    try:
        X, y = pair
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a pair (X, y)") from None
    array = read_prediction_rows(clf, X)
    y = np.asarray(y)
    if y.shape != (len(array),):
        raise ValueError(f"{name}: X has {len(array)} rows, y has shape {y.shape}")
    codes = class_codes(y, clf.classes_)  # -1, what training does not know, is never predicted
    return pack(array, codes.astype(np.int32), clf.booleanizer_)


def validation_rows(
    clf: EtherealClassifier, data: TrainingData, given: Any, held_out: NDArray[np.intp] | None
) -> tuple[PackedRows | None, NDArray[np.float64] | None]:
    """Rows to choose the epoch by, a pair that was given or those held out, and their weights.

    Rows of weight 0 are left out. (None, None) when none is left.
    """
    if given is not None:
        rows = read_pair(clf, "validation_set", given)
        if data.class_weights is None or len(rows) == 0:
            return rows, None
        weights = np.where(rows.classes >= 0, data.class_weights[rows.classes], 1.0)
        return rows, weights if weights.sum() > 0 else None
    if held_out is not None and data.weights is not None:
        held_out = held_out[data.weights[held_out] > 0]
    if held_out is None or len(held_out) == 0:
        return None, None
    rows = pack(data.array, data.codes, clf.booleanizer_, held_out)
    return rows, None if data.weights is None else data.weights[held_out]


def fit_booleanizer(
    wanted: Booleanizer | str | None,
    array: NDArray[Any],
    names: Sequence[str] | None,
    learn: NDArray[np.intp] | None = None,
) -> Booleanizer | None:
    """Thresholds from the rows to learn from; what may be missing from all: the split is our own."""
    own: Booleanizer | None = None
    if isinstance(wanted, Booleanizer):
        own = clone(wanted)
    elif wanted == "auto" and not is_boolean(array):
        own = Booleanizer()
    if own is not None:
        own.fit_named(array if learn is None else array[learn], names)
        if learn is not None and array.dtype.kind == "f":
            own.feature_map_ = own.feature_map_.with_missing(
                [bool(np.isnan(column).any()) for column in array.T]
            )
        if own.feature_map_.n_booleans == 0:
            raise ValueError("every feature of X is constant: there is nothing to learn from")
    return own
