"""A plain scan of the model's REDRESS words."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ethereal.device.program import CProgram
from ethereal.model import Model
from ethereal.model.codes.redress import words
from ethereal.model.inputs import booleans_of
from ethereal.study.rivals.base import table, template


def redress(model: Model, X: ArrayLike) -> CProgram:
    """Return the model, not simplified, in REDRESS words. A row is one byte per Boolean.

    >>> model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])
    >>> redress(model, [[True, True], [False, False]]).expected
    array([0, 1])
    """
    code, counts = words(model)
    source = (
        "#include <stdint.h>\n"
        + table("uint16_t", "words", code)
        + table("uint32_t", "counts", counts)
        + f"#define N_CLASSES {model.n_classes}\n"
        + template("redress.c")
    )
    rows = booleans_of(model, X).astype(np.uint8)
    expected = model.output.indices(model.class_sums(X))
    return CProgram("redress scan", {"redress.c": source}, "redress_predict", rows, expected)
