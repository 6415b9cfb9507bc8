"""Rows for a model from a data set or a file, and sizes in bytes: what the device commands read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ethereal.cli.data import read_table

if TYPE_CHECKING:
    from ethereal.model import Model

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20}


def rows_for(model: Model, source: str, label: str | None = None) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Rows of features to execute and, where the source has a split of its own, the training rows.

    Columns are chosen by the model's names; without names they are taken in order.
    """
    found = read_table(source, label)
    names = model.feature_names
    if names is not None and found.feature_names is not None and set(names) <= set(found.feature_names):
        columns = [found.feature_names.index(name) for name in names]
    elif found.X.shape[1] >= model.n_features:
        columns = list(range(model.n_features))
    else:
        raise ValueError(f"{source} has {found.X.shape[1]} features, but the model takes {model.n_features}")
    X = found.X[:, columns]
    if found.test is None:
        return X, None
    return X[found.test], X[~found.test]


def parse_bytes(text: str | None, option: str) -> int | None:
    """Number of bytes: 8192, 8k or 1M.

    >>> parse_bytes("8k", "--flash")
    8192
    >>> parse_bytes("8 kilo", "--flash")
    Traceback (most recent call last):
      ...
    ValueError: --flash is '8 kilo'; write a number of bytes, such as 8192, 8k or 1M
    """
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kKmM]?)(?:i?[bB])?", text.strip())
    if match is None or float(match[1]) <= 0:
        raise ValueError(f"{option} is {text!r}; write a number of bytes, such as 8192, 8k or 1M")
    return int(float(match[1]) * _UNITS[match[2].lower()])
