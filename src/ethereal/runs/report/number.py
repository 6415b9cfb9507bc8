"""What the page holds of a model whose answer is a number, in place of what it holds of classes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.model import Model

_MOST_POINTS = 1000  # of the charts of errors
_TIME = re.compile(r"(?i)(^|[_\W])(time|timestamp|date|day|hours?|seconds?|sec|ms|elapsed|clock)($|[_\W])")
_LEAST_TIMES = 20  # different values of a column that is a time


def errors_of(model: Model, X: NDArray[Any], y: NDArray[Any]) -> dict[str, Any]:
    """Return true and predicted numbers of test rows, and their time where it is known, as JSON has them."""
    predicted = model.predict(X).astype(np.float64)
    some = np.linspace(0, len(X) - 1, min(len(X), _MOST_POINTS)).astype(np.intp)
    time = time_column(X, model.input_names)
    points = [[float(a), float(b)] for a, b in zip(y[some], predicted[some], strict=True)]
    named = None
    if time is not None:
        named = {"name": model.input_names[time], "values": X[some, time].astype(float).tolist()}
    return {"points": points, "time": named}


def time_column(X: NDArray[Any], names: Sequence[str]) -> int | None:
    """Return the column that is a time by its name and its values, or None.

    >>> X = np.stack([np.arange(40.0), np.arange(40.0) % 3], axis=1)
    >>> time_column(X, ["time_s", "day"]), time_column(X, ["runtime", "day"])
    (0, None)
    """
    for f, name in enumerate(names):
        if _TIME.search(name) and X.ndim == 2:
            column = X[:, f]
            known = column.dtype.kind in "iu" or (column.dtype.kind == "f" and np.isfinite(column).all())
            if known and len(np.unique(column)) >= _LEAST_TIMES:
                return f
    return None
