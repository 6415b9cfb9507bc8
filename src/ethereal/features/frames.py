"""Columns of text in frames: found in training, and turned into the numbers of their categories."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.matrices import is_frame, is_numeric
from ethereal.features import categories as category_names
from ethereal.features.feature_map import FeatureMap, encodings_of

_TIMES = ("date", "time", "duration", "period")  # in the names of types
_LEAVE_OUT = "Leave the column out"


def find_categories(X: Any) -> dict[int, tuple[str, ...]]:
    """Return the names in the columns of text of a pandas or polars frame, by column. Else nothing.

    >>> import pandas as pd
    >>> find_categories(pd.DataFrame({"size": [1, 2, 3], "colour": ["red", None, "blue"]}))
    {1: ('blue', 'red')}
    """
    if not is_frame(X):
        return {}
    found = {}
    for f, (name, dtype) in enumerate(zip(X.columns, X.dtypes, strict=True)):
        if is_numeric(dtype):
            continue
        column = f"column {name!r} of X"
        if any(word in str(dtype).lower() for word in _TIMES):
            raise ValueError(category_names.refuse_dates(column, str(dtype), _LEAVE_OUT))
        values = [value for value in _values(X, f) if value is not None]
        is_category = "cat" in str(dtype).lower() or str(dtype).startswith("Enum")
        if all(isinstance(value, str) for value in values) or is_category:
            found[f] = category_names.of_values(map(str, values), len(values), column, _LEAVE_OUT)
    return found


def to_numbers(X: Any, categories: Mapping[int, Sequence[str]]) -> Any:
    """Return rows with the numbers of these categories instead of their names. Other rows stay as they are.

    A frame holds names. A matrix of numbers holds the numbers already. NaN stands for a name that training
    did not know.

    >>> to_numbers([["red", 2.5], ["pink", 1.5]], {0: ("blue", "red")})
    array([[1. , 2.5],
           [nan, 1.5]])
    """
    if not categories:
        return X
    if is_frame(X):
        return _frame_of_numbers(X, categories)
    array = np.array(X, dtype=object) if isinstance(X, (list, tuple)) else X
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "OU" or array.ndim != 2:
        return X
    result = array.astype(object)
    for f, names in categories.items():
        if f < array.shape[1] and not all(isinstance(value, numbers.Number) for value in result[:, f]):
            result[:, f] = category_names.numbers_of(result[:, f], names)
    try:
        return result.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X is not a matrix of numbers and known texts: {error}") from None


def with_categories(feature_map: FeatureMap, categories: Mapping[int, Sequence[str]]) -> FeatureMap:
    """Return the map in which these features are categories, with a Boolean for each of their names.

    >>> feature_map = FeatureMap([3.0], [0, 0, 1], [False, False])
    >>> with_categories(feature_map, {0: "a b c".split()}).boolean_names(["k", "x"])
    ['k is a', 'k is b', 'k is c', 'x>3']
    """
    if not categories:
        return feature_map
    own = {**feature_map.categories, **{f: tuple(names) for f, names in categories.items()}}
    encodings = list(encodings_of(feature_map.encoding, feature_map.n_features))
    thresholds = [feature_map.thresholds_of(f) for f in range(feature_map.n_features)]
    for f, names in own.items():
        encodings[f], thresholds[f] = "onehot", category_names.thresholds_between(len(names))
    return FeatureMap(
        np.concatenate(thresholds),
        np.cumsum([0, *map(len, thresholds)]),
        feature_map.missing,
        encodings,
        feature_map.missing_policy,
        feature_map.precision,
        feature_map.is_boolean & ~np.isin(np.arange(feature_map.n_features), list(own)),
        own,
    )


def _values(X: Any, f: int) -> list[Any]:
    """Values of a column, None where it is missing."""
    if hasattr(X, "get_columns"):  # polars
        return list(X.get_columns()[f].to_list())
    column = X.iloc[:, f]
    pairs = zip(column.tolist(), column.isna().tolist(), strict=True)
    return [None if is_missing else value for value, is_missing in pairs]


def _frame_of_numbers(X: Any, categories: Mapping[int, Sequence[str]]) -> Any:
    columns: dict[Any, NDArray[np.float64]] = {
        X.columns[f]: category_names.numbers_of(_values(X, f), names)
        for f, names in categories.items()
        if f < len(X.columns)
    }
    if hasattr(X, "get_columns"):
        import polars

        return X.with_columns([polars.Series(name, values) for name, values in columns.items()])
    result = X.copy()
    for name, values in columns.items():
        result[name] = values
    return result
