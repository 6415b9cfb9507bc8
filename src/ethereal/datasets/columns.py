"""What a column seems to be beside a feature: an id, a time stamp, a person. A remark names the remedy."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.datasets.tables import Categories

_BLOCK = 1 << 16  # rows
_FEW = 20  # rows in which nothing is noticed
_MOST_DIFFERENT = 0.9  # whole numbers that are measured repeat more often than this share
_STAMP = 1e8  # seconds since 1970, and milliseconds all the more, are above
_GROUP = re.compile(
    r"(^|[\W_])(person|subject|patient|user|participant|animal|session|recording|file|batch|lot)s?"
    r"([\W_]?(id|no|nr|num|number|name))?$",
    re.IGNORECASE,
)


def remarks(X: NDArray[Any], y: NDArray[Any], names: Sequence[str], categories: Categories) -> Iterator[str]:
    """Yield a sentence for each column that should perhaps not be learned from.

    >>> y = np.arange(40) % 2
    >>> list(remarks(np.arange(40.0)[:, None], y, ["row"], {}))
    ["column 'row' counts up, like an id or a time stamp. Say --drop row unless new rows will have it."]
    """
    for f, name in enumerate(names):
        column = np.asarray(X[:, f], dtype=np.float64)
        if len(column) < _FEW or np.isnan(column).any():
            continue
        quoted, before, after = shlex.quote(name), column[:-1], column[1:]
        is_clock = f not in categories and bool((before < after).all() or (before > after).all())
        is_whole = bool((column == np.floor(column)).all())
        if is_clock and not is_whole:
            what = f"column {name!r} only rises or only falls, like a clock"
            yield f"{what}. Say --drop {quoted} unless new rows will have it."
        if not is_whole:
            continue
        n_different = len(different(column))
        if is_clock:
            like = "a time stamp" if np.abs(column).min() > _STAMP else "an id or a time stamp"
            yield f"column {name!r} counts up, like {like}. Say --drop {quoted} unless new rows will have it."
        elif f not in categories and n_different > _MOST_DIFFERENT * len(column):
            what = f"column {name!r} has {n_different:,} different whole numbers in {len(column):,} rows"
            yield f"{what}, like an id. If it is one, say --drop {quoted}."
        elif f in categories and n_different == len(column):
            yield f"column {name!r} is different in every row, like an id. Say --drop {quoted}."
        elif _is_group(name, column, y, n_different):
            what = f"column {name!r} looks like a person, file or batch"
            yield f"{what}. If new ones will come, say --group {quoted}."


def different(values: NDArray[Any]) -> NDArray[Any]:
    """Return the different values, ascending, as `np.unique` does with several times the memory.

    >>> different(np.array([2, 1, 2]))
    array([1, 2])
    """
    parts = [np.unique(values[i : i + _BLOCK]) for i in range(0, len(values), _BLOCK)]
    return np.unique(np.concatenate(parts)) if parts else values[:0]


def _is_group(name: str, column: NDArray[np.float64], y: NDArray[Any], n_different: int) -> bool:
    """Whether the name says so, or each value is in one run of rows, with several labels within runs."""
    if not 2 < n_different <= len(column) // 2:
        return False
    starts = np.flatnonzero(np.diff(column, prepend=column[0] - 1))
    has_runs = len(starts) == n_different >= 5 and n_different <= len(column) // 5
    changes = np.flatnonzero(y[1:] != y[:-1]) + 1
    return _GROUP.search(name) is not None or (has_runs and bool((~np.isin(changes, starts)).any()))
