"""How many lookup tables a model would take, without a synthesis."""

from __future__ import annotations

from ethereal.export.hdl.design import Design
from ethereal.model import Model


def luts_of(model: Model, lut: int = 4) -> int:
    """Return about how many lookup tables `ethereal.export.verilog` takes, before place and route.

    >>> luts_of(Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"]))
    7
    """
    return Design.of(model, lut=lut).luts
