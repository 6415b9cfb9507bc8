"""How much memory the content of a file may take: in proportion to the file, unless the user says more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.datasets.tables import NO_CATEGORIES, Categories, Table, TableError

FACTOR = 2  # bytes of content for a byte of a file
LEAST = 100 << 20  # bytes of content that any file may have


class Room:
    """What is left of the memory that a file may take.

    >>> Room(Path(__file__)).take(LEAST)
    """

    def __init__(self, path: Path, large: bool = False) -> None:
        self.path, self.size = path, path.stat().st_size
        self.left: float = math.inf if large else max(LEAST, FACTOR * self.size)

    def take(self, n_bytes: float) -> None:
        """Refuse the file if it takes more than is left."""
        self.left -= n_bytes
        if self.left < 0:
            most = max(LEAST, FACTOR * self.size)
            raise TableError(
                f"{self.path}: the file has {self.size / 1e6:.1f} MB, but its content takes more than the "
                f"{most / 1e6:,.0f} MB of memory that are allowed for it. If it is really that large, say "
                "--large (large=True in Python)."
            )


def all_rows(
    table: Table,
    columns: Sequence[int],
    label: int | None = None,
    categories: Categories = NO_CATEGORIES,
    *,
    large: bool = False,
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return some columns of a whole table, and one as labels."""
    room, parts, labels = Room(table.path, large), list[NDArray[Any]](), list[NDArray[Any]]()
    if table.n_rows is not None:
        Room(table.path, large).take(8 * table.n_rows * (len(columns) + (label is not None)))
    for chunk in table.chunks(columns, label, categories):
        parts.append(chunk.X)
        room.take(chunk.X.nbytes)
        if chunk.label is not None:
            labels.append(chunk.label)
            room.take(chunk.label.nbytes)
    if not parts:
        raise TableError(f"{table.path}: has no rows below the names of the columns. Add some.")
    return joined(parts), joined(labels) if labels else None


def joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Return arrays one after the other. The list is empty afterwards, so that no part is held twice.

    >>> joined([np.array([1, 2]), np.array([3])])
    array([1, 2, 3])
    """
    shape = sum(map(len, parts)), *parts[0].shape[1:]
    order: Any = "F" if all(part.flags.f_contiguous for part in parts) else "C"
    whole, end = np.empty(shape, np.result_type(*parts), order), shape[0]
    while parts:
        part = parts.pop()
        whole[end - len(part) : end] = part
        end -= len(part)
    return whole
