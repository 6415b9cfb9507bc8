"""Categories: features whose value is the number of a name, such as colour, with a Boolean for each name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

MOST = 64  # categories of one feature
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{2}|\d{4})([T ,].*)?"
    r"|\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp][Mm])?"
    r"|[^\W\d]{3,9}\.? \d{1,2},? \d{4}([T ,].*)?|\d{1,2}\.?[- /][^\W\d]{3,9}\.?[- /,]+(\d{2}|\d{4})([T ,].*)?"
)
_WITH_UNIT = re.compile(r"[^\w\s]{0,3}\s?\d[\d.,]*\s?[^\d\s]{0,8}")


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


def name_booleans(feature: str, names: Sequence[str]) -> list[str]:
    """Return the names of a feature's Booleans, without the one that says the value is missing.

    Two categories have one Boolean, that of the second name.

    >>> name_booleans("colour", ("blue", "green", "red"))
    ['colour is blue', 'colour is green', 'colour is red']
    """
    return [f"{feature} is {name}" for name in (names if len(names) > 2 else names[1:])]


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
    return (
        f"{feature} is not {others[0]}"
        if len(others) == 1
        else f"{feature} is neither {' nor '.join(others)}"
    )


def numbers_of(values: Iterable[object], names: Sequence[str]) -> NDArray[np.float64]:
    """Return the number of each value's category, NaN for one that is not among the names.

    >>> numbers_of(["red", None, "blue", "pink"], ("blue", "red"))
    array([ 1., nan,  0., nan])
    """
    index = {name: float(i) for i, name in enumerate(names)}
    return np.array([index.get(str(value), np.nan) for value in values], dtype=np.float64)
