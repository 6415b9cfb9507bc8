"""Rows of a file for a model that knows its columns by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal import datasets
from ethereal.cli.predict import choose_columns
from ethereal.datasets.files import LabelledTable, read_table
from ethereal.datasets.options import TableOptions
from ethereal.datasets.tables import TableError, open_table

if TYPE_CHECKING:
    from ethereal.model import Model


def rows_for(model: Model, source: str, options: TableOptions) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return rows of features for a model and, where the source has a split of its own, the training rows.

    The file that the model was trained on is taken as it is. Columns are found by the model's names, and
    others are ignored. Where there are no names, columns are taken in order.
    """
    if source in datasets.names() or source.lower().endswith(".npz"):
        found = read_table(source)
        features, _ = choose_columns(LabelledTable(found, source), model, None, ())
        X = found.X[:, features]
        return (X, None) if found.test is None else (X[found.test], X[~found.test])
    table = open_table(source, header=options.header, encoding=options.encoding, decimal=options.decimal)
    features, _ = choose_columns(table, model, options.label, options.drop or ())
    categories = {features[f]: names for f, names in model.feature_map.categories.items()}
    chunks = [chunk.X for chunk in table.chunks(features, None, categories)]
    if not chunks:
        raise TableError(f"{source}: has no rows")
    return np.concatenate(chunks), None
