"""C code with rows and answers, to be executed and measured. It is an exported model or a rival."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.export.c99 import windows
from ethereal.export.c99.assumed import TEACHES, Assumed, of_state, sum_words
from ethereal.export.c99.program import Program
from ethereal.export.c99.stand_ins import stand_ins

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
    # Per feature of a row, values that stand for all others: `ethereal.export.c99.stand_ins`. None where
    # no bound of instructions is to be found.
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
    own, name, learning = program.model.front_end, program.name, program.learning
    found = replace(found, stand_ins=stand_ins(program))
    assumed: dict[str, list[list[Assumed]]] = {}
    if learning is not None:
        n_before = sum_words(program.files)
        assumed = {f"{name}_{teaches}": of_state(learning, teaches, n_before) for teaches in TEACHES}
        found = replace(found, streams=tuple(assumed))
        assumed[found.function] = of_state(learning, n_before=n_before)
    if own is None or found.function == program.predict_function:
        return replace(found, assumed=assumed)
    push = f"{name}_push"
    values = windows.stream_values(own, program.options.majority)
    stream = [Assumed(variable, each) for variable, each in values.items()]
    assumed[push] = [[*stream, *each] for each in assumed.get(found.function, [[]])]
    return replace(found, row=windows.ROW, streams=(push, *found.streams), assumed=assumed)


def on_rows(program: Program, X: ArrayLike) -> CProgram:
    """Return the program of an exported model on every row of `X`, or on every raw window."""
    X = program.own_rows(X)
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
