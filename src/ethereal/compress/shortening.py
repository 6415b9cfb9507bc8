"""Drop the literals that never decide: the same clause outputs on given rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal import _native
from ethereal.model.clauses import Clauses
from ethereal.model.inputs import booleans_of
from ethereal.model.needs import Supports

if TYPE_CHECKING:
    from ethereal.model import Model

SUPPORTS = Supports("shortening")


def shorten(model: Model, X: ArrayLike) -> Model:
    """Model whose clauses fire on the same rows of `X` with fewer literals, then simplified.

    A clause keeps a few of its literals that are false together wherever all of them are, found greedily: the
    literal that is false on most rows, then the one that is false on most of the rest, and so on. What is
    dropped has not decided anything on these rows, so class sums on `X` stay as they are. Other rows may make
    a clause fire that did not before; give all training rows to make that rare.

    >>> import numpy as np
    >>> from ethereal import Model
    >>> model = Model([0, 1, 2], [0, 3], [[1]], n_booleans=3, classes=["x"])
    >>> X = np.array([[1, 1, 1], [1, 0, 1], [0, 0, 1]], dtype=bool)
    >>> list(shorten(model, X))  # wherever b is true, a and c are
    [Clause(literals=(1,), weights={0: 1})]
    """
    booleans = booleans_of(model, X)
    if len(booleans) == 0:
        raise ValueError("X has no rows; shorten needs rows to tell which literals decide")
    return shorten_on(model, booleans)


def shorten_on(model: Model, booleans: NDArray[np.bool_]) -> Model:
    """`shorten` for rows that are Booleanized already: rows x Booleans."""
    SUPPORTS.check(model.needs)
    simple = model.simplify()
    literals, offsets = _native.shorten(booleans, simple.literals, simple.offsets)
    shorter = Clauses._trusted(literals, offsets, simple.weights, model.n_booleans, simple.clauses.meaning)
    return simple._with(clauses=shorter).simplify()  # equal ones may have come about
