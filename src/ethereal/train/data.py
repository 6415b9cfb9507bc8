"""Checks of the rows, labels, weights and parameters that a classifier gets, and its Booleanizer."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ethereal.base.checks import check_integer, check_number, count_threads
from ethereal.features import matrices
from ethereal.features.booleanizer import Booleanizer
from ethereal.features.categories import find_categories, to_numbers
from ethereal.features.packing import PackedRows, is_boolean, pack
from ethereal.features.window_features import WindowFeatures
from ethereal.train.grids import check_patch, fit_cells, literal_budget, rows_of_cells
from ethereal.train.machine import Machine

if TYPE_CHECKING:
    from ethereal.train.classifier import EtherealClassifier


_MILLION = 1_000_000  # most clauses, epochs, T and s
_WHOLE_OR_NONE = {  # parameters that are None or a number from 1 to this
    **dict.fromkeys(("T", "epochs", "exclude_every", "patience"), _MILLION),
    "literal_budget": 2**31 - 1,
    "epoch_rows": 2**63 - 1,
}


@dataclass(frozen=True)
class TrainingData:
    """Rows to learn from."""

    array: NDArray[Any]  # rows x features, numbers
    codes: NDArray[np.int32]  # index of each row's label among the classes
    classes: NDArray[Any]  # labels, ascending
    weights: NDArray[np.float64] | None  # of the rows, None if all are equal
    class_weights: NDArray[np.float64] | None  # of the classes, part of `weights`
    categories: Mapping[int, Sequence[str]]  # names of the values 0, 1, ... of features that had texts

    def visits(self, rows: NDArray[np.intp] | None = None) -> NDArray[np.float64] | None:
        """Return the mean visits per epoch of each row, or of some rows. Their sum is the number of rows."""
        if self.weights is None:
            return None
        weights = self.weights if rows is None else self.weights[rows]
        if not weights.sum() > 0:
            raise ValueError(
                "sample_weight is zero for every row that is not held out. Give more rows a positive weight, "
                "or set validation_fraction=0."
            )
        return np.ascontiguousarray(weights * (len(weights) / weights.sum()), dtype=np.float64)


def read_training_data(
    clf: EtherealClassifier,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None,
    classes: ArrayLike | None = None,
    *,
    categories: Mapping[int, Sequence[str]] | None = None,
    reset: bool = True,
) -> TrainingData:
    """Check and return what `fit` is given. `classes` are all possible labels, by default those of `y`.

    With `reset` the classifier takes the number and names of features from `X`, else `X` must match them.
    """
    X, names = numbers_of(clf, X, reset=reset)
    matrices.refuse_odd_labels(y)
    if classes is not None:
        matrices.refuse_odd_labels(classes, "classes")
    array, y = validate_data(
        clf, X, y, reset=reset, dtype="numeric", ensure_all_finite=False, ensure_min_samples=1
    )
    check_classification_targets(y)
    labels = np.unique(y if classes is None else np.asarray(classes))
    if len(labels) < 2:
        raise ValueError(f"y has one class only, {labels.tolist()}. A classifier needs at least two.")
    unseen = np.setdiff1d(y, labels)
    if len(unseen):
        raise ValueError(f"y has labels that are not in classes: {unseen[:5].tolist()}. Add them to classes.")
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
        raise ValueError(f"{name} is zero for every row. Give some rows a positive weight.")
    if weights is not None and weights.min() == weights.max():
        weights = None  # so that equal weights give the model of none, to the bit
    return TrainingData(array, codes, labels, weights, per_class, {**names, **(categories or {})})


def numbers_of(clf: Any, X: Any, *, reset: bool) -> tuple[Any, Mapping[int, Sequence[str]]]:
    """Return rows as numbers, and the names of the values 0, 1, ... of features that are categories.

    Windows become their features. With `reset` the front end is fitted, and the categories are found anew.
    """
    if getattr(clf, "patch", None) is not None:
        return rows_of_cells(clf, X, reset=reset), {}
    if clf.front_end is not None:
        if reset:
            clf.front_end_ = clone(clf.front_end).fit(X)
        X = clf.front_end_.transform(X)
    matrices.refuse_levels_of_columns(X)
    booleanizer = getattr(clf, "booleanizer_", None)
    names = {} if booleanizer is None else booleanizer.feature_map_.categories
    if reset:
        names = find_categories(X)
    X = to_numbers(X, names)
    matrices.refuse_non_numeric_columns(X)
    return matrices.dense_rows(X), names


def _class_weights(given: Any, labels: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    """Return the weight of each label."""
    absent = np.setdiff1d(labels, y)
    if given == "balanced" and len(absent):
        raise ValueError(
            f'class_weight is "balanced", but these rows have none of the classes {absent[:5].tolist()}. '
            "Give a mapping from label to weight."
        )
    try:
        weights: NDArray[np.float64] = compute_class_weight(given, classes=labels, y=y)
    except ValueError as error:
        raise ValueError(f"class_weight does not fit the labels {labels[:5].tolist()}: {error}") from None
    return weights


def read_prediction_rows(clf: EtherealClassifier, X: Any) -> NDArray[Any]:
    """Check and return rows with the features of training."""
    check_is_fitted(clf, "classes_")
    X, _ = numbers_of(clf, X, reset=False)
    array: NDArray[Any] = validate_data(clf, X, reset=False, dtype="numeric", ensure_all_finite=False)
    if clf.booleanizer_ is None and clf.booleanizer is not None and array.dtype.kind == "f":
        array = np.where(np.isnan(array), 0, array)  # which is no more above a threshold than NaN is
    return array


def read_pair(clf: EtherealClassifier, name: str, pair: Any) -> PackedRows:
    """Return the packed rows and labels of an `eval_set` or `validation_set`.

    Only a `validation_set` is part of training, so only there a missing value counts as one met in training.
    """
    try:
        X, y = pair
    except (TypeError, ValueError):
        raise ValueError(f"{name} is not a pair. Give (X, y).") from None
    array = read_prediction_rows(clf, X)
    y = np.asarray(y)
    if y.shape != (len(array),):
        raise ValueError(f"{name}: X has {len(array)} rows, y has shape {y.shape}. Give one label per row.")
    booleanizer = clf.booleanizer_
    if name == "validation_set" and booleanizer is not None:
        booleanizer.look_for_missing(array, learn=False)
    codes = matrices.class_codes(y, clf.classes_)  # -1 is a label that training does not know
    # The rows are answered as `predict` does, whatever training has seen.
    if booleanizer is not None and booleanizer.missing == "auto":
        booleanizer = copy(booleanizer)
        feature_map = booleanizer.feature_map_
        booleanizer.feature_map_ = feature_map.with_missing(feature_map.missing, "ignore")
    return pack(array, codes.astype(np.int32), booleanizer)


def validation_rows(
    clf: EtherealClassifier, data: TrainingData, given: Any, held_out: NDArray[np.intp] | None
) -> tuple[PackedRows | None, NDArray[np.float64] | None]:
    """Return the rows to choose the epoch by, given or held out, and their weights.

    Rows of weight 0 are left out. The result is (None, None) without any rows.
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


def automatic_booleanizer(n_bins: int | Literal["auto"]) -> Booleanizer:
    """Return the Booleanizer of `booleanizer="auto"`, or of a number of bins.

    Where values are missing, they may be missing later in a feature that had all, as happens between folds.
    Where none is missing, the model refuses NaN: on a device a test for it would cost time in every row. The
    estimator answers such a row, by the rule of `Model.ignoring_missing`.
    """
    return Booleanizer(n_bins, missing="auto")


def tunable(booleanizer: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters for `set_params`, where "auto" becomes a Booleanizer that takes its own."""
    inner = [name for name in params if name.startswith("booleanizer__")]
    given = params.get("booleanizer", booleanizer)
    if not inner or isinstance(given, Booleanizer):
        return params
    if given is None:
        raise ValueError(f"booleanizer is None, so {inner[0]} has no effect. Set booleanizer=Booleanizer().")
    return {**params, "booleanizer": automatic_booleanizer(given)}


def fit_booleanizer(
    clf: Any, data: TrainingData, learn: NDArray[np.intp] | None = None
) -> Booleanizer | None:
    """Fit thresholds on the rows to learn from, and look for missing values in all rows.

    The values of `categories` are numbers of names, and get a Boolean for each name.
    """
    wanted, array, categories = clf.booleanizer, data.array, data.categories
    if getattr(clf, "patch", None) is not None:
        return fit_cells(clf, array if learn is None else array[learn], is_boolean(array))
    names = getattr(clf, "feature_names_in_", None)
    if categories and wanted is None:
        name = f"column {min(categories)}" if names is None else f"column {str(names[min(categories)])!r}"
        raise ValueError(
            f"{name} holds text, but the values must be 0 and 1. Use a Booleanizer (bins=2 or more)."
        )
    booleanizer: Booleanizer | None = None
    if isinstance(wanted, Booleanizer):
        booleanizer = clone(wanted)
    elif wanted is not None and (categories or not is_boolean(array)):
        booleanizer = automatic_booleanizer(wanted)
    if booleanizer is not None:
        booleanizer.fit_named(array if learn is None else array[learn], names)
        booleanizer.feature_map_ = booleanizer.feature_map_.with_categories(categories)
        if learn is not None:
            booleanizer.look_for_missing(array, learn=True)
        if booleanizer.feature_map_.n_booleans == 0:
            raise ValueError("Every feature of X is constant. Give features that vary.")
    return booleanizer


def _check_class_weight(value: object) -> None:
    """Refuse a `class_weight` that is not None, "balanced" or a mapping to weights."""
    if value is None or (isinstance(value, str) and value == "balanced"):
        return
    if not isinstance(value, Mapping):
        kind = ValueError if isinstance(value, str) else TypeError
        raise kind(f'class_weight is {value!r}. Give None, "balanced" or a mapping from label to weight.')
    for label, weight in value.items():
        is_number = isinstance(weight, numbers.Real) and not isinstance(weight, bool)
        if not is_number or not 0 <= float(weight) < math.inf:
            raise ValueError(f"class_weight of label {label!r} is {weight!r}. It must be a number from 0 on.")


def _check_rule_and_start(given: Mapping[str, Any]) -> None:
    """Refuse an `exclude` or an `init` that is not what it must be, or that does not go with the rest."""
    rule, start = given["exclude"], given["init"]
    if not callable(rule) and not (isinstance(rule, str) and rule == "shared"):
        raise ValueError(f'exclude is {rule!r}. It must be "shared" or a function of the includes.')
    if callable(rule) and given["exclude_every"] is None:
        raise ValueError("exclude is a rule, but exclude_every is None, so it never runs. Set exclude_every.")
    if isinstance(start, str):
        if start not in ("middle", "random"):
            raise ValueError(f'init is {start!r}. It must be "middle", "random" or an array of automata.')
        budget = literal_budget(given["literal_budget"], given["patch"])
        if start == "random" and budget is not None:
            raise ValueError(
                f"literal_budget is {budget}, but a random start includes about half of all "
                'literals. Use init="middle".'
            )
    elif not isinstance(start, np.ndarray):
        kind = type(start).__name__
        raise TypeError(f'init is of type {kind}. It must be "middle", "random" or an array of automata.')


def _check_machine(given: Mapping[str, Any]) -> None:
    """Refuse a `machine` that is none, or that does not go with the rest."""
    machine = given["machine"]
    if machine is None:
        return
    if not isinstance(machine, Machine):
        raise TypeError(
            f"machine is {machine!r}. It must be a Machine, such as Machine(weighted=True), or None."
        )
    if machine.coalesced and given["exclude_every"] is not None:
        raise ValueError(
            "exclude_every= compares the clauses for a class with those against it, but the clauses of a "
            "coalesced machine are both. Leave it at None."
        )


def check_classifier(given: Mapping[str, Any]) -> None:
    """Refuse parameters of `EtherealClassifier` that are out of range."""
    check_integer("n_clauses", given["n_clauses"], 1, _MILLION)
    check_number("s", given["s"], 1.0, _MILLION)
    for name, most in _WHOLE_OR_NONE.items():
        if given[name] is not None:
            check_integer(name, given[name], 1, most)
    if given["noise_clauses"] != "auto":
        check_integer("noise_clauses", given["noise_clauses"], 0, _MILLION)
    if given["keep"] not in ("last", "best"):
        raise ValueError(f'keep is {given["keep"]!r}. It must be "last" or "best".')
    count_threads(given["n_jobs"])
    _check_class_weight(given["class_weight"])
    check_patch(given)
    _check_machine(given)
    _check_rule_and_start(given)
    for name in ("boost_true_positive", "refit_votes", "shorten", "keep_states"):
        if not isinstance(given[name], (bool, np.bool_)):
            raise TypeError(f"{name} is {given[name]!r}. It must be True or False.")
    fraction = check_number("validation_fraction", given["validation_fraction"], 0.0, 1.0)
    if fraction == 1:
        raise ValueError("validation_fraction is 1, which leaves no rows to train on. Take 0.1.")
    check_number("accuracy_tolerance", given["accuracy_tolerance"], 0.0, 1.0)
    check_booleans(given)


def check_booleans(given: Mapping[str, Any]) -> None:
    """Refuse a `booleanizer` or a `front_end` that is not what it must be."""
    booleanizer = given["booleanizer"]
    if isinstance(booleanizer, numbers.Integral) and not isinstance(booleanizer, bool):
        check_integer("booleanizer", booleanizer, 2, _MILLION)
    elif booleanizer is None and given["front_end"] is not None:
        raise ValueError('booleanizer is None, but features of windows are not 0 and 1. Leave it at "auto".')
    elif booleanizer is not None and not isinstance(booleanizer, Booleanizer) and booleanizer != "auto":
        wanted = '"auto", a number of bins, a Booleanizer or None'
        raise TypeError(f"booleanizer is {booleanizer!r}. It must be {wanted}.")
    if given["front_end"] is not None and not isinstance(given["front_end"], WindowFeatures):
        raise TypeError(f"front_end is {given['front_end']!r}. It must be a WindowFeatures or None.")
    if given.get("patch") is None and getattr(given["front_end"], "frames", None) is not None:
        raise ValueError("front_end makes frames, which clauses over a patch take. Give patch=(8,), too.")
