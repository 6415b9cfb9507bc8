"""Drop the literals that never decide: the same clause outputs on given rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal import _native
from ethereal.model.clauses import Clauses
from ethereal.model.inputs import booleans_of
from ethereal.model.needs import WINDOWS, Supports

if TYPE_CHECKING:
    from ethereal.model import Model

SUPPORTS = Supports("shortening", front_ends=WINDOWS)


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
    SUPPORTS.check(model.needs)
    simple = model.simplify()
    literals, offsets = _native.shorten(booleans, simple.literals, simple.offsets)
    shorter = Clauses._trusted(literals, offsets, simple.weights, model.n_booleans, simple.clauses.meaning)
    return simple._with(clauses=shorter).simplify()  # some clauses may have become equal
