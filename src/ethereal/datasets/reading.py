"""Labelled rows, whatever holds them: `read` takes them at once, and `open_rows` in parts for a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ethereal.base.npz import NpzError, shape_of
from ethereal.datasets import catalogue
from ethereal.datasets.files import TableOfRows, labels_from, numbers_from, read_table, texts_of
from ethereal.datasets.options import SourceOptions, TableOptions
from ethereal.datasets.recordings import read_recordings, windows_for
from ethereal.datasets.rows import Rows
from ethereal.datasets.tables import (
    Categories,
    Chunk,
    Table,
    TableError,
    all_rows,
    check_different,
    column_index,
    columns_named,
    is_missing,
    listed,
    open_table,
)

if TYPE_CHECKING:
    from ethereal.features.feature_map import FeatureMap
    from ethereal.features.front_end import FrontEnd

_DEFAULT = SourceOptions()


class Model(Protocol):
    """What `read` asks of a model, which is of a later layer."""

    feature_names: tuple[str, ...] | None
    front_end: FrontEnd | None

    @property
    def feature_map(self) -> FeatureMap:
        """What each Boolean says, and the names of categories."""

    @property
    def is_number(self) -> bool:
        """Whether it answers with a number, and has no classes."""

    @property
    def classes(self) -> NDArray[Any]:
        """Labels."""


def read(source: str | Path, options: TableOptions = _DEFAULT, *, like: Model | None = None) -> Rows:
    """Read labelled rows: a data set by name, a table, an npz file, or recordings that are cut into windows.

    Parameters
    ----------
    source
        A path, or one of `ethereal.datasets.names()`. A folder or a wav file holds recordings, and so does
        a table when `options.window` is given.
    options
        How the source is read, which columns hold labels and groups, and how recordings are cut.
    like
        A model whose features are wanted. Columns are then found by the model's names, or taken in order
        where there are none. Labels are optional: without them `y` is empty.

    Examples
    --------
    >>> rows = read("digits")
    >>> rows.X.shape, rows.y_test.shape
    ((1797, 64), (360,))
    """
    source = str(source)
    if like is None:
        wants_windows = isinstance(options, SourceOptions) and options.window is not None
        if wants_windows or _holds_recordings(Path(source)):
            if options.task == "number":
                raise TableError(f"{source}: recordings have classes. task=number is for rows of a table.")
            return read_recordings(source, SourceOptions.of(options))
        return read_table(source, options)
    if like.front_end is not None:
        rows = windows_for(like.front_end, source, options)
        return rows if _are_classes(rows.y, like) else replace(rows, y=rows.y[:0])
    if is_in_memory(source):  # what the model was trained on is taken as it is
        rows = read_table(source, TableOptions(large=options.large, group=options.group))
        features, _ = _columns(TableOfRows(rows, source), like, None, ())
        return replace(rows, X=rows.X[:, features], feature_names=None, categories={})
    return _of_table(open_rows(source, like, options), like, options)


def _holds_recordings(path: Path) -> bool:
    if path.is_dir() or path.suffix.lower() == ".wav":
        return True
    if path.suffix.lower() != ".npz" or not path.is_file():
        return False
    try:
        return len(shape_of(path, "X")[0]) == 3
    except NpzError:
        return False  # which the reader of tables explains


def is_in_memory(source: str) -> bool:
    """Whether a source is read whole: a data set or an npz file."""
    return source in catalogue.names() or source.lower().endswith(".npz")


def _are_classes(y: NDArray[Any], model: Model) -> bool:
    """Whether labels are those of a model. A folder of recordings may be named after something else."""
    if model.is_number:
        return y.dtype.kind in "iuf"
    return set(map(str, np.unique(y).tolist())) <= set(map(str, model.classes.tolist()))


def _of_table(opened: OpenRows, model: Model, options: TableOptions) -> Rows:
    """Return the rows of a table that have a label and a group, where these are asked for."""
    table = opened.table
    X, labels = all_rows(table, opened.features, opened.label, opened.categories, large=options.large)
    y, groups, there = np.empty(0), None, np.ones(len(X), dtype=bool)
    if options.group is not None:
        groups = texts_of(table, column_index(table, options.group, "group"))
        there = ~is_missing(groups)
    if labels is not None:
        there &= ~is_missing(labels)
        y = numbers_from(labels[there]) if model.is_number else labels_from(labels[there])
        if not model.is_number and model.classes.dtype.kind == "U":  # labels such as 0.5 are texts in a model
            y = y.astype(str)
    groups = None if groups is None else groups[there].astype(str)
    return Rows(X if there.all() else X[there], y, groups=groups, name=table.path.stem)


@dataclass(frozen=True)
class OpenRows:
    """Rows of a source as a model reads them. Memory does not grow with a table."""

    table: Table
    features: Sequence[int]  # columns, in the order of the model
    label: int | None  # column
    categories: Categories
    is_file: bool  # which must not be written while it is read

    def chunks(self) -> Iterator[Chunk]:
        """Yield some rows at a time."""
        return self.table.chunks(self.features, self.label, self.categories)


def open_rows(source: str, model: Model, options: TableOptions) -> OpenRows:
    """Open a source for a model. Of a data set the test rows are read, and of recordings all windows."""
    if model.front_end is not None:
        return OpenRows(TableOfRows(read(source, options, like=model), source), [], 0, {}, is_file=False)
    is_file = not is_in_memory(source)
    if is_file:
        table = open_table(source, header=options.header, encoding=options.encoding, decimal=options.decimal)
    else:
        table = TableOfRows(read_table(source, TableOptions(large=options.large)), source)
    left_out = [*(options.drop or ()), *(() if options.group is None else (options.group,))]
    features, label = _columns(table, model, options.label, left_out)
    categories = {features[f]: names for f, names in model.feature_map.categories.items()}
    return OpenRows(table, features, label, categories, is_file)


def _columns(
    table: Table, model: Model, label: str | None, drop: Sequence[str]
) -> tuple[list[int], int | None]:
    """Return the columns of the model's features, in the model's order, and that of the label.

    Columns that a model with names does not read are ignored.
    """
    target = None if label is None else column_index(table, label, "label")
    left_out = {target, *columns_named(table, drop)}
    rest = [i for i in range(table.n_columns) if i not in left_out]
    names = model.feature_names
    heads = table.names or tuple(str(i + 1) for i in range(table.n_columns))  # as training calls them
    by_number = table.names is None and not set(names or ()) <= set(heads)
    if names is None or by_number or len(set(names)) < len(names):
        if len(rest) != (n_features := model.feature_map.n_features):
            what = f"has {len(rest)} columns, but the model reads {n_features}"
            remedy = "Leave others out with drop=COLUMN, and the label with label=COLUMN."
            raise TableError(f"{table.path}: {what}. {remedy}")
        return rest, target
    place = {heads[i]: i for i in rest}
    if lacking := [name for name in names if name not in place]:
        what = f"lacks {listed(lacking)} that the model reads"
        raise TableError(f"{table.path}: {what}. It has {listed(place)}.")
    check_different(table, [i for i in rest if heads[i] in set(names)])
    return [place[name] for name in names], target
