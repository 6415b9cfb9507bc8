"""Categories: features whose value is the number of a name, such as colour, with a Boolean for each name.

Columns of text in frames are found in training, and turned into the numbers of their categories.
"""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.features.matrices import is_frame, is_numeric

MOST = 64  # categories of one feature
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{2}|\d{4})([T ,].*)?"
    r"|\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp][Mm])?"
    r"|[^\W\d]{3,9}\.? \d{1,2},? \d{4}([T ,].*)?|\d{1,2}\.?[- /][^\W\d]{3,9}\.?[- /,]+(\d{2}|\d{4})([T ,].*)?"
)
_WITH_UNIT = re.compile(r"[^\w\s]{0,3}\s?\d[\d.,]*\s?[^\d\s]{0,8}")
_TIMES = ("date", "time", "duration", "period")  # in the names of types
_LEAVE_OUT = "Leave the column out"


def of_values(values: Iterable[str], n_rows: int, column: str, leave_out: str) -> tuple[str, ...]:
    """Return the different names in a column of texts in so many rows, ascending.

    Dates and too many names are refused. `leave_out` is the remedy.

    >>> of_values(["red", "blue", "red"], 3, "column 'colour'", "Leave the column out")
    ('blue', 'red')
    >>> of_values(["2026-01-31"], 1, "'day'", "Drop it")
    Traceback (most recent call last):
        ...
    ValueError: 'day' holds dates or times, such as '2026-01-31'. Drop it, or make numbers of them first.
    """
    names = sorted(set(values))
    if names and all(_DATE.fullmatch(name) for name in names):
        raise ValueError(refuse_dates(column, repr(names[0]), leave_out))
    if len(names) > MOST:
        if all(map(_WITH_UNIT.fullmatch, names)):
            raise ValueError(
                f"{column} has numbers with signs or units, such as {names[0][:40]!r}. Keep the numbers "
                f"alone, and put the unit into the column's name. Or {leave_out[0].lower()}{leave_out[1:]}."
            )
        seems = "It looks like an id. " if 2 * len(names) > n_rows else ""
        raise ValueError(
            f"{column} has {len(names)} different texts, such as {names[0][:40]!r}. "
            f"At most {MOST} are taken. {seems}{leave_out}, or give rare values one name."
        )
    return tuple(names)


def refuse_dates(column: str, such: str, leave_out: str) -> str:
    """Return the message about a column of dates."""
    return f"{column} holds dates or times, such as {such}. {leave_out}, or make numbers of them first."


def checked(categories: Mapping[int, Sequence[str]] | None, n_features: int) -> Mapping[int, tuple[str, ...]]:
    """Return categories by feature, ascending and read-only. Each has different texts as names.

    >>> dict(checked({1: ["blue", "red"]}, 2))
    {1: ('blue', 'red')}
    """
    result = {}
    for f, names in sorted((categories or {}).items()):
        if not isinstance(f, int) or not 0 <= f < n_features:
            raise ValueError(f"categories has the feature {f!r}. It must be below {n_features}.")
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise TypeError(f"categories of feature {f} are {names!r}. They must be a list of texts.")
        if len(set(names)) != len(names) or not 1 <= len(names) <= MOST:
            raise ValueError(f"categories of feature {f} must be 1 to {MOST} different texts")
        result[f] = tuple(str(name) for name in names)
    return MappingProxyType(result)


def thresholds_between(n_categories: int) -> NDArray[np.float64]:
    """Return the thresholds between the numbers of categories.

    >>> thresholds_between(3)
    array([0.5, 1.5])
    """
    return np.arange(0.5, n_categories - 1)


def describe(feature: str, names: Sequence[str], allowed: Sequence[bool], unknown: bool) -> str:
    """Return the condition that takes some of the categories, and with `unknown` any other value.

    >>> names = ("blue", "green", "red")
    >>> describe("colour", names, [True, False, True], False)
    'colour is blue or red'
    >>> describe("colour", names, [True, False, True], True)
    'colour is not green'
    >>> describe("colour", names, [False, False, True], True)
    'colour is neither blue nor green'
    """
    chosen = [name for name, flag in zip(names, allowed, strict=True) if flag]
    others = [name for name, flag in zip(names, allowed, strict=True) if not flag]
    if not chosen:
        return f"{feature} is missing" if unknown else f"{feature} is contradictory"
    if not others:
        return f"{feature} is known"
    if not unknown:
        return f"{feature} is {' or '.join(chosen)}"
    return f"{feature} is {'not' if len(others) == 1 else 'neither'} {' nor '.join(others)}"


def numbers_of(values: Iterable[object], names: Sequence[str]) -> NDArray[np.float64]:
    """Return the number of each value's category, NaN for one that is not among the names.

    >>> numbers_of(["red", None, "blue", "pink"], ("blue", "red"))
    array([ 1., nan,  0., nan])
    """
    index = {name: float(i) for i, name in enumerate(names)}
    return np.array([index.get(str(value), np.nan) for value in values], dtype=np.float64)


def find_categories(X: Any) -> dict[int, tuple[str, ...]]:
    """Return the names in the columns of text of a pandas or polars frame, by column. Else nothing.

    >>> import pandas as pd
    >>> find_categories(pd.DataFrame({"size": [1, 2, 3], "colour": ["red", None, "blue"]}))
    {1: ('blue', 'red')}
    """
    if not is_frame(X):
        return {}
    categories = {}
    for f, (name, dtype) in enumerate(zip(X.columns, X.dtypes, strict=True)):
        if is_numeric(dtype):
            continue
        column = f"column {name!r} of X"
        if any(word in str(dtype).lower() for word in _TIMES):
            raise ValueError(refuse_dates(column, str(dtype), _LEAVE_OUT))
        values = [value for value in _values(X, f) if value is not None]
        is_category = "cat" in str(dtype).lower() or str(dtype).startswith("Enum")
        if all(isinstance(value, str) for value in values) or is_category:
            categories[f] = of_values(map(str, values), len(values), column, _LEAVE_OUT)
    return categories


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
            result[:, f] = numbers_of(result[:, f], names)
    try:
        return result.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X is not a matrix of numbers and known texts: {error}") from None


def _values(X: Any, f: int) -> list[Any]:
    """Values of a column, None where it is missing."""
    if hasattr(X, "get_columns"):  # polars
        return list(X.get_columns()[f].to_list())
    column = X.iloc[:, f]
    pairs = zip(column.tolist(), column.isna().tolist(), strict=True)
    return [None if is_missing else value for value, is_missing in pairs]


def _frame_of_numbers(X: Any, categories: Mapping[int, Sequence[str]]) -> Any:
    present = ((f, names) for f, names in categories.items() if f < len(X.columns))
    columns: dict[Any, Any] = {X.columns[f]: numbers_of(_values(X, f), names) for f, names in present}
    if hasattr(X, "get_columns"):
        import polars

        return X.with_columns([polars.Series(name, values) for name, values in columns.items()])
    result = X.copy()
    for name, values in columns.items():
        result[name] = values
    return result
