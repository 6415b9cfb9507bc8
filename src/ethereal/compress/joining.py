"""Several machines as one: a committee, whose votes are added."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ethereal.model.clauses import Clauses
from ethereal.model.needs import WINDOWS, Supports

if TYPE_CHECKING:
    from ethereal.model import Model

SUPPORTS = Supports("joining", front_ends=WINDOWS)


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
        SUPPORTS.check(model.needs)
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
