"""A plain scan of the model's REDRESS words on a core."""

from __future__ import annotations

from dataclasses import replace

from numpy.typing import ArrayLike

from ethereal.device.program import CProgram, on_rows
from ethereal.export.c99.layouts import find_layout
from ethereal.export.c99.program import program_of
from ethereal.export.options import ExportOptions
from ethereal.model import Model
from ethereal.model.engine import booleans_of


def redress_scan(model: Model, X: ArrayLike) -> CProgram:
    """Return the model in REDRESS words as the study has it, not simplified and without Booleanizing.

    It is the layout "redress". A row has a byte for every Boolean in use.

    >>> model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])
    >>> redress_scan(model, [[True, True], [False, False]]).expected
    array([0, 1])
    """
    of_booleans = Model.of(model.clauses, classes=model.classes)
    options = ExportOptions(layout="redress", name="scan")
    program = program_of(of_booleans, of_booleans, options, find_layout("redress"), None)
    scan, _ = on_rows(program, booleans_of(model, X)).steps
    return replace(scan, name="redress scan", is_model=False)
