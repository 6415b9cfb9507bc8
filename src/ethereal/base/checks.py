"""Checks of parameters: numbers, and sizes and times in the texts in which people say them.

A message names the parameter, its value and what is allowed. Nothing heavy is loaded for it, because options
are checked first.
"""

from __future__ import annotations

import difflib
import math
import numbers
import re
from pathlib import Path
from typing import Any

_BYTES = {"": 1, "b": 1, "k": 1024, "kb": 1024, "kib": 1024, "m": 1 << 20, "mb": 1 << 20, "mib": 1 << 20}
_COUNTS = {"": 1, "k": 1e3, "m": 1e6}
_SECONDS = {"": 1, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}
_QUANTITY = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*([a-z]*)\s*", re.IGNORECASE)


class DoesNotFit(ValueError):
    """A model does not fit: a layout, a chip, or a budget."""


def check_integer(name: str, value: object, least: int, most: int) -> int:
    """Return `value` as an int when it is a whole number type within bounds."""
    wrong = f"{name} is {value!r}. It must be an integer from {least} to {most}."
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(wrong)
    if not least <= int(value) <= most:
        raise ValueError(wrong)
    return int(value)


def check_number(name: str, value: object, least: float, most: float) -> float:
    """Return `value` as a float when it is a real number within bounds."""
    wrong = f"{name} is {value!r}. It must be a number from {least:g} to {most:g}."
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(wrong)
    if not least <= float(value) <= most:  # false for NaN
        raise ValueError(wrong)
    return float(value)


def count_threads(n_jobs: object) -> int:
    """Return the threads that `n_jobs` asks for, as in scikit-learn. None is one, -1 is one per core."""
    if n_jobs is None:
        return 1
    wrong = f"n_jobs is {n_jobs!r}. It must be None, a number of threads, or -1 for one per core."
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral):
        raise TypeError(wrong)
    if n_jobs == 0:
        raise ValueError(wrong)
    import joblib

    return int(joblib.effective_n_jobs(int(n_jobs)))


def parse_bytes(name: str, value: object) -> int:
    """Return bytes from a number or a text. A k is 1024 bytes, as flash is sold."""
    return math.floor(_parse(name, value, _BYTES, "a number of bytes such as 900, 8k or 1M"))


def parse_count(name: str, value: object) -> float:
    """Return a count from a number or a text. A k is 1000."""
    return _parse(name, value, _COUNTS, "a count such as 900, 20k or 1.5M")


def parse_seconds(name: str, value: object) -> float:
    """Return seconds from a number or a text."""
    return _parse(name, value, _SECONDS, "a time such as 90s, 10m or 2h")


def _parse(name: str, value: object, units: dict[str, Any], allowed: str) -> float:
    if not isinstance(value, str):
        if (number := check_number(name, value, 0, 1e15)) == 0:
            raise ValueError(f"{name} is {value!r}. It must be {allowed}, more than 0.")
        return number
    match = _QUANTITY.fullmatch(value)
    unit = None if match is None else units.get(match[2].lower())
    if match is None or unit is None or float(match[1]) == 0:
        raise ValueError(f"{name} is {value!r}. It must be {allowed}.")
    return float(match[1]) * float(unit)


def bytes_text(n: float) -> str:
    """Return bytes as people say them. A kB is 1024 bytes, as in `parse_bytes`."""
    if n < 1000:
        return f"{n:.0f} B"
    return f"{n / 1024:.1f} kB" if n < 100 * 1024 else f"{n / 1024:,.0f} kB"


def seconds_text(seconds: float) -> str:
    """Return a short time in the unit that people say."""
    value, unit = (1e6 * seconds, "us") if seconds < 1e-3 else (1e3 * seconds, "ms")
    return f"{value:.1f} {unit}" if value < 10 else f"{value:,.0f} {unit}"


def duration_text(seconds: float) -> str:
    """Return a time that people wait, roughly."""
    if seconds < 10:
        return f"{max(1, round(seconds))} s"
    if seconds < 87.5:
        return f"{5 * round(seconds / 5)} s"
    return f"{round(seconds / 60)} min" if seconds < 3570 else f"{seconds / 3600:.1f} h"


def missing_file(source: str | Path) -> str | None:
    """Say that a file is not there, and which one may be meant. None when it is, or may be a data set."""
    path = Path(source)
    if not path.suffix or path.exists():
        return None
    try:
        beside = sorted(other.name for other in path.parent.iterdir() if not other.name.startswith("."))
    except OSError:
        return f"{path}: there is no such folder as {path.parent}. Look at the name."
    near = difflib.get_close_matches(path.name, beside, 1, 0.75)
    hint = f"Did you mean {path.with_name(near[0])}?" if near else "Look at the name and the folder."
    return f"{path}: there is no such file. {hint}"
