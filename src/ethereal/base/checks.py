"""Checks of single parameters, whose message names the parameter, the value and what is allowed."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # imported where it is used: options are checked here, too, and `ethereal --help` is quick
    from numpy.typing import ArrayLike, NDArray


def check_integer(name: str, value: object, least: int, most: int) -> int:
    """Return `value` as an int when it is a whole number type within bounds.

    >>> check_integer("T", 15, 1, 100)
    15
    >>> check_integer("T", 0, 1, 100)
    Traceback (most recent call last):
        ...
    ValueError: T is 0. It must be an integer from 1 to 100.
    """
    wrong = f"{name} is {value!r}. It must be an integer from {least} to {most}."
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(wrong)
    if not least <= int(value) <= most:
        raise ValueError(wrong)
    return int(value)


def check_number(name: str, value: object, least: float, most: float) -> float:
    """Return `value` as a float when it is a real number within bounds.

    >>> check_number("s", 0.5, 1.0, 1e6)
    Traceback (most recent call last):
        ...
    ValueError: s is 0.5. It must be a number from 1 to 1e+06.
    """
    wrong = f"{name} is {value!r}. It must be a number from {least:g} to {most:g}."
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(wrong)
    if not least <= float(value) <= most:  # false for NaN
        raise ValueError(wrong)
    return float(value)


def count_threads(n_jobs: object) -> int:
    """Return the threads that `n_jobs` asks for, as in scikit-learn. None is one, -1 is one per core.

    >>> count_threads(None), count_threads(3)
    (1, 3)
    >>> count_threads(0)
    Traceback (most recent call last):
        ...
    ValueError: n_jobs is 0. It must be None, a number of threads, or -1 for one per core.
    """
    if n_jobs is None:
        return 1
    wrong = f"n_jobs is {n_jobs!r}. It must be None, a number of threads, or -1 for one per core."
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral):
        raise TypeError(wrong)
    if n_jobs == 0:
        raise ValueError(wrong)
    import joblib

    return int(joblib.effective_n_jobs(int(n_jobs)))


def frozen(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Read-only copy of an array."""
    import numpy as np

    array = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array
