"""Rows of a file for a model that knows its columns by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray

from ethereal.datasets.files import listed, read_table
from ethereal.datasets.options import TableOptions
from ethereal.datasets.tables import TableError

if TYPE_CHECKING:
    from ethereal.datasets.rows import Rows
    from ethereal.model import Model


class RowsFor(NamedTuple):
    """Rows of features for a model, their labels, and the training rows of a source that has a split."""

    X: NDArray[Any]
    y: NDArray[Any] | None
    train: NDArray[Any] | None


def rows_for(model: Model, source: str, options: TableOptions) -> RowsFor:
    """Return rows for a model, the test rows where the source has a split of its own."""
    found = read_for(model, source, options)
    if found.test is None:
        return RowsFor(found.X, found.y, None)
    return RowsFor(found.X_test, found.y_test, found.X_train)


def read_for(model: Model, source: str, options: TableOptions) -> Rows:
    """Return rows with the features that a model reads.

    Columns are found by the model's names. Where there are none, the first ones are taken in order.
    """
    names = model.feature_names
    found = read_table(source, options, only=names)
    in_order = not options.header and not set(names or ()) <= set(found.feature_names or ())
    if names is not None and found.feature_names is not None and not in_order:
        lacking = [name for name in names if name not in found.feature_names]
        if lacking:
            raise TableError(f"{source}: lacks {listed(lacking)} that the model reads")
        columns = [found.feature_names.index(name) for name in names]
    elif found.X.shape[1] < model.n_features:
        raise TableError(f"{source}: has {found.X.shape[1]} features, but the model reads {model.n_features}")
    else:
        columns = list(range(model.n_features))
    return replace(found, X=found.X[:, columns], feature_names=names)
