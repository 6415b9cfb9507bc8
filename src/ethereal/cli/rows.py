"""Rows of a file for a model that knows its columns by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ethereal import datasets
from ethereal.cli.predict import categories_of, choose_columns, open_rows
from ethereal.datasets.files import LabelledTable, read_table
from ethereal.datasets.options import TableOptions
from ethereal.datasets.tables import TableError

if TYPE_CHECKING:
    from ethereal.model import Model


class RowsFor(NamedTuple):
    """Rows of features for a model, their labels, and the training rows of a source that has a split."""

    X: NDArray[Any]
    y: NDArray[Any] | None
    train: NDArray[Any] | None


def rows_for(model: Model, source: str, options: TableOptions) -> RowsFor:
    """Return rows for a model, the test rows where the source has a split of its own.

    The file that the model was trained on is taken as it is. Columns are found by the model's names, and
    others are ignored. Where there are no names, columns are taken in order.
    """
    if source in datasets.names() or source.lower().endswith(".npz"):
        found = read_table(source)
        features, _ = choose_columns(LabelledTable(found, source), model, None, ())
        X = found.X[:, features]
        if found.test is None:
            return RowsFor(X, found.y, None)
        return RowsFor(X[found.test], found.y[found.test], X[~found.test])
    table, _ = open_rows(source, options)
    features, target = choose_columns(table, model, options.label, options.drop or ())
    chunks = list(table.chunks(features, target, categories_of(model, features)))
    if not chunks:
        raise TableError(f"{source}: has no rows")
    labels = None if target is None else np.concatenate([chunk.label for chunk in chunks])  # type: ignore[misc]
    return RowsFor(np.concatenate([chunk.X for chunk in chunks]), labels, None)
