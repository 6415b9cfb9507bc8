"""Rows of a file for a model that knows its columns by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ethereal import datasets
from ethereal.cli.predict import categories_of, choose_columns, known_labels, open_rows
from ethereal.datasets.files import LabelledTable, labels_from, read_table
from ethereal.datasets.options import TableOptions
from ethereal.datasets.recordings import windows_for
from ethereal.datasets.room import all_rows
from ethereal.datasets.tables import is_missing

if TYPE_CHECKING:
    from ethereal.model import Model


class RowsFor(NamedTuple):
    """Rows of features for a model, their labels, and the training rows of a source that has a split."""

    X: NDArray[Any]
    y: NDArray[Any] | None
    train: NDArray[Any] | None


def rows_for(model: Model, source: str, options: TableOptions) -> RowsFor:
    """Return rows for a model, the test rows where the source has a split of its own."""
    X, y, test, _ = read_for(model, source, options)
    return RowsFor(X, y, None) if test is None else RowsFor(X[test], None if y is None else y[test], X[~test])


def read_for(
    model: Model, source: str, options: TableOptions
) -> tuple[NDArray[Any], NDArray[Any] | None, NDArray[np.bool_] | None, NDArray[Any] | None]:
    """Return rows with the features that a model reads, their labels, test rows and groups.

    Which rows are test rows, and of which person or recording each row is, is None where it is not known.

    The file that the model was trained on is taken as it is. Columns are found by the model's names, and
    others are ignored. Where there are no names, columns are taken in order. A model with a front end gets
    windows of recordings.
    """
    if model.front_end is not None:
        found = windows_for(model.front_end, source, options)
        return found.X, known_labels(found.y, model), found.test, found.groups
    if source in datasets.names() or source.lower().endswith(".npz"):
        found = read_table(source, TableOptions(large=options.large))
        features, _ = choose_columns(LabelledTable(found, source), model, None, ())
        return found.X[:, features], found.y, found.test, found.groups
    table, _ = open_rows(source, options)
    features, target = choose_columns(table, model, options.label, options.drop or ())
    X, y = all_rows(table, features, target, categories_of(model, features), large=options.large)
    if y is None:
        return X, None, None, None
    missing = is_missing(y)
    labels = labels_from(y[~missing])
    # Labels such as 0.5 are texts in a model.
    return X[~missing], labels.astype(str) if model.classes.dtype.kind == "U" else labels, None, None
