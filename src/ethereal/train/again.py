"""Trains another machine like the one that a model came from, on other rows.

A model knows the rows that it learned from. So pruning asks machines of the same kind that did not see them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from ethereal.features.booleanizer import Booleanizer
from ethereal.model import Model
from ethereal.train.classifier import EtherealClassifier
from ethereal.train.regressor import EtherealRegressor


def trained_again(model: Model) -> Callable[[NDArray[Any], NDArray[Any]], Model] | None:
    """Return what trains a machine with the parameters and thresholds of a model, from rows and labels.

    Of joined machines it is the first. The result is None where the model's record does not tell how: it was
    pruned, imported or written by hand, parameters were changed on the way, or it reads windows or patches.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EtherealClassifier(10, epochs=3, random_state=1).fit(X, y).model_
    >>> trained_again(model)(X, y) == model, trained_again(model)(X[::2], y[::2]).n_clauses > 0
    (True, True)
    """
    record, reads_rows = model.provenance, model.front_end is None and model.patch is None
    kind = EtherealRegressor if model.is_number else EtherealClassifier
    parameters = _given(dict(record.get("parameters", {})), kind)
    if parameters is None or not reads_rows or model.deployment is not None or "changes" in record:
        return None
    if isinstance(ways := parameters.get("monotonic"), dict):  # by column, as rows have no names
        names = list(model.feature_names or ())
        parameters["monotonic"] = {names.index(k) if k in names else int(k): way for k, way in ways.items()}
    known, thresholds = model.feature_map, None
    if model.fitted is not None:
        thresholds = Booleanizer(encoding=known.encoding, thresholds=known, missing=known.missing_policy)
    is_plain = not model.is_number and "votes" not in record  # without noise clauses and fitted votes

    def train(X: NDArray[Any], y: NDArray[Any]) -> Model:
        seed = record.get("seed") or 0
        made = kind(**parameters, booleanizer=thresholds, random_state=seed)
        made.fit(X, y, categories=known.categories)
        return made.plain_model_ if is_plain else made.model_

    return train


def _given(parameters: dict[str, Any], kind: type) -> dict[str, Any] | None:
    """Return the recorded parameters of an estimator, None where a text stands for one of them."""
    known = inspect.signature(kind).parameters
    is_text = parameters.get("class_weight") not in (None, "balanced") or parameters.get("init") == "given"
    is_rule = parameters.get("exclude", "shared") != "shared"
    return parameters if parameters and parameters.keys() <= known.keys() and not is_text | is_rule else None
