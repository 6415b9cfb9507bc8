"""Checks of the parts of a Model. Each returns its read-only form or says which value is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.base.checks import check_integer, check_number
from ethereal.features.feature_map import FeatureMap
from ethereal.features.front_end import FrontEnd
from ethereal.features.matrices import frozen
from ethereal.model.clauses import Clauses, integers
from ethereal.model.linear import Linear
from ethereal.model.output import MOST_SUM, Classes, ClassesOrUnknown, Number
from ethereal.model.patch import Patch

if TYPE_CHECKING:
    from ethereal.features.booleanizer import Booleanizer


class Fitted(NamedTuple):
    """What a Model keeps of a fitted Booleanizer, so that predicting does not import scikit-learn."""

    feature_map: FeatureMap
    names: tuple[str, ...] | None  # of the features while fitting


def labels(classes: ArrayLike) -> NDArray[Any]:
    """Return distinct labels (texts, integers, floats or Booleans) in their own type."""
    array = frozen(classes, None)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(f"classes has shape {array.shape}. It must be a list with one label per class.")
    texts = array.dtype == object and all(isinstance(label, str) for label in array)
    if not texts and array.dtype.kind not in "biufU":
        raise TypeError(f"classes has dtype {array.dtype}. Labels are texts, integers, floats or Booleans.")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ValueError("classes holds NaN. A label must equal itself.")
    seen = set(array.tolist())
    if len(seen) != len(array):
        raise ValueError(f"classes has {len(array)} labels but only {len(seen)} different ones")
    return array


def output(classes: ArrayLike | None, number: Number | None) -> Classes | Number:
    """Return what answers: with labels, or with a number."""
    if (classes is None) == (number is None):
        both = "neither classes nor output" if number is None else "both classes and output"
        raise TypeError(f"The model is given {both}. Give the labels of its classes, or a Number as output.")
    if number is None:
        return Classes(labels(classes))  # type: ignore[arg-type]
    if not isinstance(number, Number):
        raise TypeError(f"output is {number!r}. It must be an ethereal.model.Number.")
    return number


def line(linear: Linear | None, fitted: Fitted | None, front_end: FrontEnd | None) -> None:
    """Refuse a linear part of features that the model does not read as numbers."""
    if linear is None:
        return
    if fitted is None or front_end is not None:
        raise ValueError("A linear part needs features that are numbers, and neither Booleans nor windows.")
    of, last = fitted.feature_map, linear.slopes[-1].feature
    if last >= of.n_features:
        raise ValueError(f"linear has a slope of feature {last}, but there are {of.n_features} features.")
    if named := sorted(set(of.categories) & {slope.feature for slope in linear.slopes}):
        raise ValueError(f"linear has a slope of feature {named[0]}, which has categories.")


def votes_of_number(clauses: Clauses, number: Number, answers_early: bool) -> None:
    """Refuse votes that cannot be a number: of several columns, too many to be exact, or counted in part."""
    if clauses.weights.shape[1] != 1:
        raise ValueError(f"weights has shape {clauses.weights.shape}. A number has votes in one column.")
    if answers_early:
        raise ValueError("A number has no early answers, because it needs the votes of all clauses.")
    low, high = (0, 0) if number.line is None else number.line.bounds(number.scale)
    positive = int(np.maximum(clauses.weights, 0).sum(dtype=np.int64))
    if (most := max(high + positive, positive - low - int(clauses.weights.sum(dtype=np.int64)))) > MOST_SUM:
        raise ValueError(
            f"weights add up to {most:,} on one side of zero. The votes for a number may add up to "
            f"{MOST_SUM:,}, which float32 holds exactly. Use a larger scale and smaller votes."
        )


def answering(
    classes: NDArray[Any], margin: int | None, label: Any = None, answers_early: bool = False
) -> Classes:
    """Return what answers with labels, or with `label` where the first class leads by less than `margin`."""
    if margin is None:
        return Classes(classes)
    if answers_early:
        raise ValueError(
            "A model with early answers does not always count all votes, so it cannot tell when to answer "
            "unknown. Use the model as it was before early answers were added."
        )
    margin = check_integer("margin", margin, 0, 2**31 - 1)
    if len(classes) < 2:
        raise ValueError(f"The model has one class, {classes.tolist()}, and no class can lead it.")
    kind = classes.dtype.kind
    if kind == "b":
        raise TypeError('Labels are Booleans, and none of them means "unknown". Train with texts or numbers.')
    known = set(classes.tolist())
    if label is None:
        free = {"i": range(-1, -len(known) - 2, -1), "u": range(-1, -2, -1), "f": (float("nan"),)}
        texts = ("unknown", *("unknown" + "_" * i for i in range(1, len(known) + 1)))
        label = next(one for one in free.get(kind, texts) if one not in known)
    wanted = {"i": int, "u": int, "f": float}.get(kind, str)
    if type(label) is not wanted:
        raise TypeError(
            f'label is {label!r}. What stands for "unknown" must be of the type {wanted.__name__}.'
        )
    if label in known:
        raise ValueError(f"label is {label!r}, which is a class already. Give another.")
    return ClassesOrUnknown(classes, margin, label)


def names(feature_names: Sequence[str]) -> tuple[str, ...]:
    """Names of features, texts."""
    for f, name in enumerate(feature_names):
        if not isinstance(name, str):
            raise TypeError(f"feature_names[{f}] is {name!r}. It must be a text.")
    return tuple(str(name) for name in feature_names)


def rates(boolean_rates: ArrayLike) -> NDArray[np.float32]:
    """Shares from 0 to 1."""
    array = frozen(boolean_rates, np.float32)
    if array.ndim != 1 or not ((array >= 0) & (array <= 1)).all():
        raise ValueError("boolean_rates must be one share from 0 to 1 per Boolean")
    return array


def bit_rows(typical_rows: ArrayLike, n_booleans: int) -> NDArray[np.uint8]:
    """Return Boolean rows as bits, rows x bytes, the first Boolean lowest and spare bits zero."""
    array: NDArray[np.uint8] = integers(typical_rows, np.uint8, "typical_rows", 2)
    n_bytes = (n_booleans + 7) // 8
    if array.shape[1] != n_bytes:
        raise ValueError(
            f"typical_rows has {array.shape[1]} bytes per row. {n_booleans} Booleans take {n_bytes}."
        )
    if n_booleans % 8 and (array[:, -1] >> n_booleans % 8).any():
        raise ValueError(f"typical_rows has bits beyond the last of {n_booleans} Booleans")
    return array


def temperature(votes: float) -> float:
    """Votes that make a class e times as likely."""
    return check_number("temperature", votes, 1e-6, 1e9)


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
    """Return what a Booleanizer was fitted to. `feature_names` must agree."""
    if isinstance(booleanizer, Fitted):
        parts = booleanizer
    else:
        from sklearn.utils.validation import check_is_fitted  # here, so that models do without it

        from ethereal.features.booleanizer import Booleanizer

        if not isinstance(booleanizer, Booleanizer):
            raise TypeError(f"booleanizer is {booleanizer!r}. It must be a fitted Booleanizer or None.")
        check_is_fitted(booleanizer)
        names = getattr(booleanizer, "feature_names_in_", None)
        parts = Fitted(booleanizer.feature_map_, None if names is None else tuple(names))
    if parts.names is not None and feature_names is not None and tuple(feature_names) != parts.names:
        raise ValueError("feature_names are not those the booleanizer was fitted with. Leave them out.")
    return parts


def front_end(front_end: FrontEnd, fitted: Fitted | None, patch: Patch | None) -> None:
    """Refuse a front end that does not give the features that the Booleanizer reads."""
    if not isinstance(front_end, FrontEnd):
        raise TypeError(f"front_end is {front_end!r}. Give the front_end_ of a fitted WindowFeatures.")
    if fitted is None or fitted.feature_map.n_features != front_end.n_features:
        n = 0 if fitted is None else fitted.feature_map.n_features
        raise ValueError(
            f"the front end gives {front_end.n_features} features, but the booleanizer reads {n}"
        )
    shape = None if front_end.frames is None else (front_end.n_frames,)
    if shape != (None if patch is None else patch.shape):
        raise ValueError(
            "the front end makes frames, and clauses look at whole rows, or the other way round. Give "
            "WindowFeatures(frames=...) and patch= together."
        )
    if fitted.feature_map.missing.any() or fitted.feature_map.categories:
        raise ValueError("a model with a front end has features that may be missing, or that are categories")


def includes(masks: ArrayLike) -> NDArray[np.bool_]:
    """Return include masks, classes x clauses x literals."""
    array = np.asarray(masks)
    if array.dtype != bool or array.ndim != 3 or array.shape[2] % 2:
        raise ValueError(
            f"includes has dtype {array.dtype} and shape {array.shape}. It must be bool, classes x "
            "clauses (first the positive ones) x literals (Booleans, then their negations)."
        )
    return array


def a_model(value: Any) -> None:
    """Refuse what is not a Model, such as the estimator that has one."""
    from ethereal.model import Model

    if not isinstance(value, Model):
        is_estimator = hasattr(value, "calibrate_unknown")
        what = f"an {type(value).__name__}" if is_estimator else repr(value)
        remedy = "Give its model: clf.model_, or clf.plain_model_ to prune it for a board."
        raise TypeError(f"model is {what}. {remedy if is_estimator else 'It must be a Model.'}")
