"""Lossless simplification, with the same class sums on every input that the Booleanizer can produce."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ethereal.model.needs import ANSWERS, WINDOWS, Supports
from ethereal.model.simplify.shortest import shortest

if TYPE_CHECKING:
    from ethereal.model import Model

SUPPORTS = Supports("simplification", front_ends=WINDOWS, outputs=ANSWERS, early=True)
# A pass takes clauses and what their Booleans say, and returns clauses with the same class sums on reachable
# input. A new pass is an entry here and a property test. Merging needs what `shortest` writes.
PASSES = (shortest, lambda clauses, _: clauses.merged())


def simplify(model: Model) -> Model:
    """Drop, shorten and merge clauses without changing a class sum, see `Model.simplify`.

    >>> from ethereal import Model
    >>> model = Model([0, 2, 1, 1], [0, 2, 3, 4], [[1], [2], [3]], n_booleans=2, classes=["x"])
    >>> list(simplify(model))  # "a AND NOT a" is gone, "b" and "b" are one
    [Clause(literals=(1,), weights={0: 5})]
    """
    SUPPORTS.check(model.needs)
    if model.early:  # it was simplified before, and its clauses stay in their order
        return model
    clauses = model.clauses
    for one in PASSES:
        clauses = one(clauses, model.feature_map)
    return model._with(clauses=clauses, deployment=model.deployment)  # exports simplify it anyway
