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


def count_threads(n_jobs: object) -> int:
    """Threads that `n_jobs` asks for, as in scikit-learn: None is one, -1 is one per core.

    >>> count_threads(None), count_threads(3)
    (1, 3)
    >>> count_threads(0)
    Traceback (most recent call last):
        ...
    ValueError: n_jobs is 0; it must be None, a number of threads, or -1 for one per core
    """
    if n_jobs is None:
        return 1
    what = "it must be None, a number of threads, or -1 for one per core"
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral):
        raise TypeError(f"n_jobs is {n_jobs!r}; {what}")
    if n_jobs == 0:
        raise ValueError(f"n_jobs is 0; {what}")
    import joblib

    return int(joblib.effective_n_jobs(int(n_jobs)))


def check_class_weight(value: object) -> None:
    """Refuse a `class_weight` that is not None, "balanced" or a mapping to weights.

    >>> check_class_weight({0: 1, 1: -1})
    Traceback (most recent call last):
        ...
    ValueError: class_weight of label 1 is -1; it must be a number from 0 on
    """
    if value is None or (isinstance(value, str) and value == "balanced"):
        return
    if not isinstance(value, Mapping):
        kind = ValueError if isinstance(value, str) else TypeError
        raise kind(
            f'class_weight is {value!r}; it must be None, "balanced" or a mapping from label to weight'
        )
    for label, weight in value.items():
        is_number = isinstance(weight, numbers.Real) and not isinstance(weight, bool)
        if not is_number or not 0 <= float(weight) < math.inf:
            raise ValueError(f"class_weight of label {label!r} is {weight!r}; it must be a number from 0 on")


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
    if given["epoch_rows"] is not None:
        check_integer("epoch_rows", given["epoch_rows"], 1, 2**63 - 1)
    count_threads(given["n_jobs"])
    check_class_weight(given["class_weight"])
    for name in ("boost_true_positive", "shorten", "keep_states"):
        if not isinstance(given[name], (bool, np.bool_)):
            raise TypeError(f"{name} is {given[name]!r}; it must be True or False")
    fraction = check_number("validation_fraction", given["validation_fraction"], 0.0, 1.0)
    if fraction == 1:
        raise ValueError("validation_fraction is 1: no rows would be left to train on; take less, e.g. 0.1")
    check_number("accuracy_tolerance", given["accuracy_tolerance"], 0.0, 1.0)
    own = given["booleanizer"]
    if own is not None and not isinstance(own, Booleanizer) and own != "auto":
        raise TypeError(f'booleanizer is {own!r}; it must be "auto", a Booleanizer or None')
