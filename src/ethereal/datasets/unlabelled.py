"""Rows and windows without labels, to learn what is normal from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.messages import say
from ethereal.datasets.files import texts_of
from ethereal.datasets.options import SourceOptions
from ethereal.datasets.recorded import TABLES, Piece, Reading, scale_of
from ethereal.datasets.recordings import check_alike, pieces_of_file, rows_of, window_of, windows_for
from ethereal.datasets.rows import Rows
from ethereal.datasets.tables import TableError, all_rows, column_index, columns_named, is_missing, open_table

_LABEL = "normal"
_RISING = 20  # rows, of which no column rises by chance
_ROWS = 1 << 16  # that are compared at once


def read_unlabelled(source: str, options: SourceOptions, like: Rows | None = None) -> Rows:
    """Read a table, or a folder of recordings that are cut into windows.

    Windows are of the group that a column names, else of their folder, else of their file. `like` has rows
    that were read before: columns, axes and windows must be theirs.
    """
    path = Path(source)
    if not path.exists():
        raise TableError(f"{path}: there is no such file or folder.")
    if path.suffix.lower() == ".npz":
        raise TableError(f"{path}: rows without labels are not read from npz. Give a table or a folder.")
    holds_recordings = path.is_dir() or path.suffix.lower() == ".wav" or options.window is not None
    if like is not None and like.front_end is not None:
        return windows_for(like.front_end.front_end_, source, options)
    if not holds_recordings:
        return _of_table(path, options, like)
    pieces = list(_pieces(path, options))
    check_alike(pieces)
    by_group = replace(options, group=options.group or "group")  # so that folders, then files, are groups
    return rows_of(pieces, path, window_of(options), by_group, scale_of(options.scale))


def _pieces(path: Path, options: SourceOptions) -> Iterator[Piece]:
    """Yield the pieces of all files. A folder in the folder is a group."""
    reading = Reading(options, options.rate, label=_LABEL)
    if path.is_file():
        yield from pieces_of_file(path, reading)
        return
    kinds = (*TABLES, ".wav")
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in kinds and file.is_file())
    if not files:
        raise TableError(f"{path}: has no recordings. They end in {', '.join(kinds)}.")
    for file in files:
        folder = file.relative_to(path).parent.as_posix()
        for piece in pieces_of_file(file, replace(reading, group=None if folder == "." else folder)):
            yield replace(piece, group=piece.group or file.stem)


def _of_table(path: Path, options: SourceOptions, like: Rows | None) -> Rows:
    """Return the columns of numbers. Rows with a missing value are left out."""
    table = open_table(path, header=options.header, encoding=options.encoding, decimal=options.decimal)
    grouped = None if options.group is None else column_index(table, options.group, "group")
    left_out = {grouped, *columns_named(table, options.drop or ())}
    names = table.names or tuple(str(i + 1) for i in range(table.n_columns))
    columns = [i for i in range(table.n_columns) if i not in left_out]
    if like is not None and like.feature_names is not None:
        lacking = [name for name in like.feature_names if name not in names]
        if lacking:
            raise TableError(f"{path}: has no column {lacking[0]!r}, which the normal rows have.")
        columns = [names.index(name) for name in like.feature_names]
    elif texts := sorted(table.categories(columns)):
        shown = ", ".join(repr(names[i]) for i in texts[:3])
        say(f"note: {path.name}: {shown} has texts, which have no distance, and is left out.", err=True)
        columns = [i for i in columns if i not in texts]
    if not columns:
        raise TableError(f"{path}: no column of numbers is left.")
    X, _ = all_rows(table, columns, large=options.large)
    there = ~np.isnan(X).any(axis=1) if X.dtype.kind == "f" else np.ones(len(X), dtype=bool)
    groups = None if grouped is None else texts_of(table, grouped)
    if groups is not None:
        there &= ~is_missing(groups)
    if not there.any():
        raise TableError(f"{path}: every row has a missing value. Leave the empty columns out with drop=.")
    if not there.all():
        say(f"note: {path.name}: {int((~there).sum())} rows with a missing value are left out.", err=True)
    if like is None and len(rising := _rising(X[there])):
        shown = ", ".join(repr(names[columns[i]]) for i in rising[:3])
        say(
            f"note: {path.name}: {shown} only rises or falls, as row numbers and times do, and is left out.",
            err=True,
        )
        X, columns = np.delete(X, rising, axis=1), list(np.delete(columns, rising))
        if not columns:
            raise TableError(f"{path}: no column is left that does not only rise or fall.")
    return Rows(
        X[there],
        np.empty(0),
        groups=None if groups is None else groups[there].astype(str),
        feature_names=tuple(names[i] for i in columns),
        name=path.stem,
    )


def _rising(X: NDArray[Any]) -> list[int]:
    """Return the columns whose values only rise, or only fall, so that no later row is like an earlier one.

    >>> _rising(np.column_stack([np.arange(30.0), -np.arange(30) ** 2, np.arange(30) % 7]))
    [0, 1]
    """
    if len(X) < _RISING:
        return []
    falls, rises = (np.ones(X.shape[1], dtype=bool) for _ in range(2))
    for begin in range(0, len(X) - 1, _ROWS):
        some = X[begin : begin + _ROWS + 1].astype(np.float64)
        falls &= (some[1:] < some[:-1]).all(axis=0)
        rises &= (some[1:] > some[:-1]).all(axis=0)
    return np.flatnonzero(falls | rises).tolist()
