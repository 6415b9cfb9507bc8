"""A Model to a smaller Model. What fits a device is a matter of `ethereal.prune` and `ethereal.tune`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal import _native
from ethereal.model import Model
from ethereal.model.clauses import Clauses
from ethereal.model.engine import booleans_of
from ethereal.model.needs import WINDOWS, Supports
from ethereal.model.simplify import simplify

__all__ = ["join", "shorten", "simplify"]

_SHORTENING = Supports(
    "shortening", front_ends=WINDOWS, outputs=frozenset({"classes", "number", "linear number"})
)
_JOINING = Supports("joining", front_ends=WINDOWS)


def shorten(model: Model, X: ArrayLike) -> Model:
    """Return a simplified model whose clauses fire on the same rows of `X` with fewer literals.

    A clause keeps the literal that is false on most rows, then the one that is false on most of the rest, and
    so on. The dropped literals decide nothing on these rows, so class sums on `X` stay as they are. On other
    rows a clause may fire that did not before. Give all training rows to make that rare.

    >>> import numpy as np
    >>> from ethereal import Model
    >>> model = Model([0, 1, 2], [0, 3], [[1]], n_booleans=3, classes=["x"])
    >>> X = np.array([[1, 1, 1], [1, 0, 1], [0, 0, 1]], dtype=bool)
    >>> list(shorten(model, X))  # wherever b is true, a and c are
    [Clause(literals=(1,), weights={0: 1})]
    """
    booleans = booleans_of(model, X)
    if len(booleans) == 0:
        raise ValueError("X has no rows. Give training rows, which show the literals that decide.")
    return shorten_on(model, booleans)


def shorten_on(model: Model, booleans: NDArray[np.bool_]) -> Model:
    """Return the same as `shorten` for Booleans, rows x Booleans."""
    _SHORTENING.check(model.needs)
    simple = model.simplify()
    literals, offsets = _native.shorten(booleans, simple.literals, simple.offsets)
    shorter = Clauses._trusted(literals, offsets, simple.weights, model.n_booleans, simple.clauses.meaning)
    return simple._with(clauses=shorter).simplify()  # some clauses may have become equal


def join(models: Sequence[Model]) -> Model:
    """Return the simplified model whose class sums are the sums of those of all `models`.

    All models must have the same classes and Booleans. To get them, give every classifier the thresholds of
    one fitted Booleanizer, `Booleanizer(thresholds=fitted.feature_map_)`.

    >>> from ethereal import Model
    >>> a = Model([0], [0, 1], [[1, 0]], n_booleans=2, classes=["x", "y"])
    >>> b = Model([0, 3], [0, 1, 2], [[1, 0], [0, 2]], n_booleans=2, classes=["x", "y"])
    >>> join([a, b]).class_sums([[True, False]])
    array([[2, 2]], dtype=int32)
    """
    if not models:
        raise ValueError("models is empty. Give at least one.")
    for model in models:
        _JOINING.check(model.needs)
    first = models[0]
    for i, model in enumerate(models[1:], 1):
        if not np.array_equal(model.classes, first.classes):
            raise ValueError(
                f"models[{i}] has the classes {model.classes.tolist()}, models[0] has "
                f"{first.classes.tolist()}. Train all on the same labels."
            )
        if model.n_booleans != first.n_booleans or model.feature_map != first.feature_map:
            raise ValueError(
                f"models[{i}] has other Booleans than models[0]. Give all classifiers "
                "booleanizer=Booleanizer(thresholds=fitted.feature_map_)."
            )
        if model.front_end != first.front_end:
            raise ValueError(
                f"models[{i}] has another front end than models[0]. Train all with the same one."
            )
    joined = first._with(clauses=Clauses.concatenate([model.clauses for model in models]))
    # The temperature grows with the sums, so that n equal models give the shares of one.
    return joined.with_temperature(sum(model.temperature for model in models)).simplify()
