"""Votes that fit few bits, for models that are to be pruned."""

from __future__ import annotations

import numpy as np

from ethereal.model import Model, Number

_WIDE, _NARROW = 2047, 127


def narrowed(model: Model) -> Model:
    """Return a model with votes up to 127 in place of one whose votes are wider than any machine's.

    Trees come in with votes of thousands, so that they answer as before. A pruned model does not, and wide
    votes would cost it flash.

    >>> wide = Model([0, 1], [0, 1, 2], [[8191], [-100]], n_booleans=1, classes=["x"], temperature=1000.0)
    >>> narrowed(wide).weights.ravel().tolist(), round(narrowed(wide).temperature, 1)
    ([127, -2], 15.5)
    """
    heaviest, is_number = model.needs.heaviest_vote, isinstance(model.output, Number)
    if heaviest <= (_NARROW if is_number else _WIDE):
        return model
    factor = _NARROW / heaviest
    if is_number:  # whose scale is a power of two
        factor = Number.scale_of(factor)
    votes = np.rint(model.weights * factor).astype(np.int32)
    narrow = model._with(clauses=model.clauses.voting(votes))
    if isinstance(model.output, Number):
        return narrow.with_number(scale=model.output.scale / factor)
    return narrow.with_temperature(max(1e-6, model.temperature * factor))
