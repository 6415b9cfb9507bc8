"""Rows as a model reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.matrices import boolean_matrix, feature_matrix, is_frame
from ethereal.features.frames import to_numbers

if TYPE_CHECKING:
    from ethereal.model.model import Model


def features_of(model: Model, X: Any, n_jobs: int | None = None) -> Any:
    """Return the features of raw windows (3-D) for a model with a front end, and anything else as it is.

    Rows of features that were made before are 2-D, as for every model.
    """
    if model.front_end is None or not is_windows(model, X):
        return X
    return model.front_end.transform(X, n_jobs)


def is_windows(model: Model, X: Any) -> bool:
    """Whether these are raw windows for a model with a front end, and not rows of features."""
    return model.front_end is not None and not is_frame(X) and np.ndim(X) == 3


def input_matrix(model: Model, X: Any) -> NDArray[Any]:
    """Rows of what a model reads, checked: numbers, or Booleans when it has no Booleanizer."""
    X = features_of(model, X)
    if model.fitted is None:
        return boolean_matrix(X, model.n_booleans, model.feature_names)
    numbers = to_numbers(X, model.feature_map.categories)
    return feature_matrix(numbers, model.n_features, model.feature_names)


def booleans_of(model: Model, X: Any) -> NDArray[np.bool_]:
    """Booleans of the rows that a model reads, rows x Booleans."""
    matrix = input_matrix(model, X)
    return matrix if model.fitted is None else model.feature_map.booleans(matrix, model.input_names)
