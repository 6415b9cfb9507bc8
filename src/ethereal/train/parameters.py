"""Checks of the parameters of `EtherealClassifier`."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from ethereal.base.checks import check_integer, check_number, count_threads
from ethereal.features.booleanizer import Booleanizer

_MAX_EPOCHS = 1_000_000
_MAX_CLAUSES = 1_000_000
_MAX_T = 1_000_000
_MAX_S = 1e6


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


def check_classifier(given: Mapping[str, Any]) -> None:
    """Refuse parameters of `EtherealClassifier` that are out of range."""
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
