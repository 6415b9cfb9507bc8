"""Checks of single parameters, whose message names the parameter, the value and what is allowed."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_MAX_EPOCHS = 1_000_000
_MAX_CLAUSES = 1_000_000
_MAX_T = 1_000_000
_MAX_S = 1e6


def check_integer(name: str, value: object, least: int, most: int) -> int:
    """Return `value` as an int when it is a whole number type within bounds.

    >>> check_integer("T", 15, 1, 100)
    15
    >>> check_integer("T", 0, 1, 100)
    Traceback (most recent call last):
        ...
    ValueError: T is 0; it must be an integer from 1 to 100
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} is {value!r}; it must be an integer from {least} to {most}")
    number = int(value)
    if not least <= number <= most:
        raise ValueError(f"{name} is {value!r}; it must be an integer from {least} to {most}")
    return number


def check_number(name: str, value: object, least: float, most: float) -> float:
    """Return `value` as a float when it is a real number within bounds.

    >>> check_number("s", 0.5, 1.0, 1e6)
    Traceback (most recent call last):
        ...
    ValueError: s is 0.5; it must be a number from 1 to 1e+06
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is {value!r}; it must be a number from {least:g} to {most:g}")
    number = float(value)
    if math.isnan(number) or not least <= number <= most:
        raise ValueError(f"{name} is {value!r}; it must be a number from {least:g} to {most:g}")
    return number


def frozen(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Read-only copy of an array."""
    array = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array


def check_classifier(given: Mapping[str, Any]) -> None:
    """Refuse parameters of `EtherealClassifier` that are out of range."""
    from ethereal.booleanize import Booleanizer  # which takes its own checks from here

    n_clauses = check_integer("n_clauses", given["n_clauses"], 2, _MAX_CLAUSES)
    if n_clauses % 2:
        raise ValueError(
            f"n_clauses is {n_clauses}; it must be even: half of a class's clauses vote against it"
        )
    check_integer("T", given["T"], 1, _MAX_T)
    check_number("s", given["s"], 1.0, _MAX_S)
    check_integer("epochs", given["epochs"], 1, _MAX_EPOCHS)
    if given["exclude_every"] is not None:
        check_integer("exclude_every", given["exclude_every"], 1, _MAX_EPOCHS)
    if given["literal_budget"] is not None:
        check_integer("literal_budget", given["literal_budget"], 1, 2**31 - 1)
    for name in ("boost_true_positive", "shorten"):
        if not isinstance(given[name], (bool, np.bool_)):
            raise TypeError(f"{name} is {given[name]!r}; it must be True or False")
    fraction = check_number("validation_fraction", given["validation_fraction"], 0.0, 1.0)
    if fraction == 1:
        raise ValueError("validation_fraction is 1: no rows would be left to train on; take less, e.g. 0.1")
    check_number("accuracy_tolerance", given["accuracy_tolerance"], 0.0, 1.0)
    own = given["booleanizer"]
    if own is not None and not isinstance(own, Booleanizer) and own != "auto":
        raise TypeError(f'booleanizer is {own!r}; it must be "auto", a Booleanizer or None')
