"""Lossless simplification: the same class sums on every input that the Booleanizer can produce."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ethereal.model.needs import Supports
from ethereal.model.simplify.passes import PASSES

if TYPE_CHECKING:
    from ethereal.model import Model

SUPPORTS = Supports("simplification")


def simplify(model: Model) -> Model:
    """Drop, shorten and merge clauses without changing a class sum; see `Model.simplify`.

    >>> from ethereal import Model
    >>> model = Model([0, 2, 1, 1], [0, 2, 3, 4], [[1], [2], [3]], n_booleans=2, classes=["x"])
    >>> list(simplify(model))  # "a AND NOT a" is gone, "b" and "b" are one
    [Clause(literals=(1,), weights={0: 5})]
    """
    SUPPORTS.check(model.needs)
    clauses = model.clauses
    for one in PASSES:
        clauses = one(clauses, model.feature_map)
    return model._with(clauses=clauses)
