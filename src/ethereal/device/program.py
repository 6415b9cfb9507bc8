"""C code with rows and answers, to be executed and measured. It is an exported model or a rival."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.export.c99.device_rows import stand_ins
from ethereal.export.c99.parts.part import Assumed
from ethereal.export.c99.program import Program

# How a function is called. "row": with a row, and it returns the class. "32 rows": with 32 rows and room for
# their classes. "batch": with rows, their number and room for the classes. "booleanize": with features and
# room for the Booleanized row.
Call = Literal["row", "32 rows", "batch", "booleanize"]


@dataclass(frozen=True)
class CProgram:
    """C files with a function that gives the classes of rows."""

    name: str
    files: dict[str, str]
    function: str
    rows: NDArray[Any]  # rows x what the function reads
    expected: NDArray[np.int64]  # class indices of the host
    call: Call = "row"
    beside: tuple[str, ...] = ()  # functions that flash is counted for too
    row_bytes: int = 0  # of a Booleanized row, where the function writes one
    # Functions that make up a model's: from a Booleanized row to its class, and from features to such a row.
    steps: tuple[CProgram, ...] = ()
    is_model: bool = False  # else it is a rival
    # Per feature of a row, values that stand for all others. None where no bound is to be found.
    stand_ins: tuple[NDArray[Any], ...] | None = None
    row: str = ""  # the variable where the function keeps the features that it makes of raw samples
    # Functions that have a bound of their own. One takes a sample and calls `function` once there are enough.
    # Another one teaches a row.
    streams: tuple[str, ...] = ()
    # What is assumed of variables, by functions. A function is followed for each list.
    assumed: dict[str, list[list[Assumed]]] = field(default_factory=dict)


def bare(program: Program) -> CProgram:
    """Return the program without rows, for what follows from its code alone."""
    function, *beside = program.entry_points
    none: NDArray[Any] = np.zeros((0, 0))
    call: Call = "row" if program.c_layout.rows_per_call == 1 else "batch"
    found = CProgram(
        program.layout, program.files, function, none, none.astype(np.int64), call, tuple(beside),
        is_model=True,
    )  # fmt: skip
    return _with_inputs(found, program)


def _with_inputs(found: CProgram, program: Program) -> CProgram:
    """Return the program with the values that its bound is found for."""
    predicts_rows = found.function == program.predict_function  # and no raw samples
    parts = [part for part in program.parts if not (predicts_rows and part.predicts)]
    streams = [function for part in parts for function in part.bounded]
    assumed: dict[str, list[list[Assumed]]] = {}
    for function in ("", *streams):
        ways = product(*(part.assumed(program, function) for part in parts))
        lists = [[each for of_part in way for each in of_part] for way in ways]
        if lists != [[]]:
            assumed[f"{program.name}_{function}" if function else found.function] = lists
    return replace(
        found,
        stand_ins=stand_ins(program.slots),
        row="".join(part.row_variable() for part in parts),
        streams=tuple(f"{program.name}_{function}" for function in streams),
        assumed=assumed,
    )


def on_rows(program: Program, X: ArrayLike) -> CProgram:
    """Return the program of an exported model on every row of `X`, or on every raw window."""
    X = program.read_columns(X)
    features, name = program.features(X), program.name
    if len(features) == 0:
        raise ValueError("X has no rows. Give at least one.")
    by_features: Call = "row" if program.c_layout.rows_per_call == 1 else "batch"
    by_row: Call = "row" if program.c_layout.rows_per_call == 1 else "32 rows"
    predict, *beside = program.entry_points
    expected = program.model._engine.winners(X)  # of the rows before rounding
    if program.model.front_end is not None and np.ndim(X) != 3:  # features that were made before
        predict, beside = f"{name}_predict", program.entry_points
    alone = CProgram(program.layout, program.files, predict, features, expected, by_features, is_model=True)
    alone = _with_inputs(alone, program)
    whole = alone
    if program.model.front_end is not None and np.ndim(X) == 3:
        counts = program.model.front_end.counts(X)
        whole = replace(alone, rows=counts.reshape(len(counts), -1))
    if not program.c_layout.has_rows:
        return replace(whole, beside=tuple(beside))
    rows = program.rows(X)
    clauses = replace(alone, function=f"{name}_predict_{by_row.replace(' ', '_')}", rows=rows, call=by_row)
    booleanize = replace(alone, function=f"{name}_booleanize", call="booleanize", row_bytes=rows.shape[1])
    return replace(whole, beside=tuple(beside), steps=(clauses, booleanize))
