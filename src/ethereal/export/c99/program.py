"""A model as C text: header, source and runtime, to be compiled or written to a folder."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.adapt import Learning
from ethereal.export.c99 import learn, unknown, windows
from ethereal.export.c99.device_rows import Slots
from ethereal.export.c99.layouts import REGISTRY, find_layout
from ethereal.export.c99.layouts.plan import CLayout, Costs, row_bytes
from ethereal.export.c99.names import check_identifier
from ethereal.export.c99.tables import Tables
from ethereal.export.c99.text import files_of, package_version
from ethereal.export.c99.write_tables import write_all, write_code
from ethereal.export.numbers import NumberType, Scale, find_number_type
from ethereal.export.options import ExportOptions
from ethereal.features.rounding import to_float32
from ethereal.model import Model
from ethereal.model.engine import booleans_of, input_matrix
from ethereal.model.needs import NotSupported
from ethereal.model.simplify import drop_unused_kernels

_CALIBRATION_ROWS = 512


@dataclass(frozen=True)
class Program:
    """C files of one model in one layout."""

    model: Model  # as given, or without the kernels that no clause uses
    options: ExportOptions
    c_layout: CLayout
    clause_bytes: int | None  # bound for the clauses that the layout got
    input: NumberType
    slots: Slots  # of the simplified model
    scales: tuple[Scale, ...]  # how the values of each feature become integers, none for floats
    costs: Costs  # of a row, estimated
    tables: Tables
    columns: NDArray[np.intp] | None = None  # features of the model that was given, None for all
    learning: Learning | None = None  # how it learns on the board, None if it does not

    @property
    def name(self) -> str:
        """Name of the files, and prefix of all C names."""
        return self.options.name

    @property
    def layout(self) -> str:
        """Name of the layout."""
        return self.c_layout.name

    @property
    def about(self) -> str:
        """What the program is, in two lines."""
        small = self.slots.model
        return (
            f"{self.name}: a Tsetlin machine with {small.n_clauses} clauses and "
            f"{small.n_includes} literals,\n"
            f'exported by ethereal {package_version()} in the layout "{self.layout}".'
            + (f"\nClear rows are answered early, as by {self.name}.etm." if self.model.early else "")
        )

    @cached_property
    def files(self) -> dict[str, str]:
        """Texts by the names of the files."""
        return files_of(self)

    @property
    def table_bytes(self) -> int:
        """Size of the tables that predictions read."""
        return self.tables.predict_bytes

    @property
    def row_bytes(self) -> int:
        """Size of a Booleanized row."""
        return row_bytes(self.slots)

    @property
    def flash_bytes(self) -> int:
        """Upper bound of the flash on a Cortex-M. The tables are known, the code is rounded up."""
        own = self.model.front_end
        of_windows = 0 if own is None else windows.code_bytes(own)
        of_answers = unknown.CODE_BYTES * unknown.is_asked(self.model)
        return self.table_bytes + self.c_layout.code_bytes + self.costs.code_bytes + of_windows + of_answers

    @property
    def ram_bytes(self) -> int:
        """RAM of variables: those of windows and of learning."""
        return windows.ram_bytes(self) + (0 if self.learning is None else learn.ram_bytes(self.learning))

    @property
    def predict_function(self) -> str:
        """The function from features to classes, of one row or of several."""
        return f"{self.name}_predict{'' if self.c_layout.rows_per_call == 1 else '_batch'}"

    @property
    def entry_points(self) -> list[str]:
        """Functions that firmware calls and flash is counted for: a prediction and the check at start-up.

        An export that learns has those that teach, adapt and keep a state too.
        """
        more = [] if self.learning is None else [f"{self.name}_{function}" for function in learn.FUNCTIONS]
        if self.model.front_end is not None:
            return [f"{self.name}_{function}" for function in ("window", "push", "check")] + more
        return [
            self.predict_function,
            f"{self.name}_check",
            *more,
        ]

    def own_rows(self, X: ArrayLike) -> Any:
        """Return windows as they are, and of rows of features those columns that the program reads."""
        return X if self.columns is None else _own_columns(X, self.columns)

    def features(self, X: ArrayLike) -> NDArray[Any]:
        """Return rows of features as the program reads them, rows x features."""
        rows = input_matrix(self.model, X)
        if self.model.fitted is None:
            return rows.astype(np.uint8)
        if rows.dtype.kind == "f":
            self.model.feature_map.refuse_unexpected_missing(rows, self.model.input_names)
        singles = to_float32(rows)
        if not self.scales:
            return singles
        columns = [scale.integers(column) for scale, column in zip(self.scales, singles.T, strict=True)]
        absent = self.input.missing if self.slots.accepts_missing else self.scales[0].low
        return np.where(np.isnan(singles), absent, np.stack(columns, axis=1)).astype(self.input.dtype)

    def device_sums(self, features: NDArray[Any]) -> NDArray[np.int32]:
        """Return the class sums of the program for rows of `features`, computed on the host."""
        return self.slots.model._votes(self.device_booleans(features))

    def device_booleans(self, features: NDArray[Any]) -> NDArray[np.bool_]:
        """Return the Booleans that the program makes of rows of `features`, computed on the host."""
        states = np.zeros((len(features), self.slots.n_slots), dtype=np.uint8)
        for s, slot in enumerate(self.slots.slots):
            column = features[:, slot.feature]
            if self.model.fitted is None:
                states[:, s] = column != 0
                continue
            scale = self.scales[slot.feature] if self.scales else None
            limits = [scale.threshold(t) if scale else t for t in slot.thresholds]
            states[:, s] = sum((column > limit for limit in limits), np.zeros(len(column), dtype=int))
            absent = np.isnan(column) if scale is None else column == self.input.missing
            if self.model.feature_map.accepts_missing(slot.feature):
                states[absent, s] = slot.missing_state
        return self.slots.booleans(states)

    def rows(self, X: ArrayLike) -> NDArray[np.uint8]:
        """Return Booleanized rows as the program reads them, rows x bytes."""
        slots = self.slots.rows(booleans_of(self.model, X))
        return np.pad(slots, ((0, 0), (0, self.row_bytes - slots.shape[1])))


def make_program(model: Model, layout: str, **keywords: Any) -> Program:
    """Write `model` as C in one layout, whether it fits a chip or not.

    The model is simplified first, which does not change its class sums. The keywords are those of
    `ethereal.export.ExportOptions`.
    """
    options = ExportOptions.of("make_program", {"layout": layout, **keywords})
    return program_of(model, simplified(model), options, find_layout(layout), options.clause_bytes)


def simplified(model: Model) -> Model:
    """Return the simplified model, which must have a clause."""
    small = model.simplify()
    if small.n_clauses == 0:
        raise ValueError("The model has no clause that can vote. Train it longer.")
    return small


def program_of(
    model: Model,
    small: Model,
    options: ExportOptions,
    layout: CLayout,
    max_bytes: int | None,
    kept: dict[bool, Slots] | None = None,
) -> Program:
    """Return the program of a model, simplified to `small`. `max_bytes` may bound clause tables and code.

    `kept` has the slots of other programs of the same model with the same options, by their order.
    """
    check_identifier(options.name)
    kind, columns = find_number_type(options.input), None
    learning = Learning.asked(small, options)
    if small.front_end is not None:
        kind = windows.number_type(options.input)
        small, columns = drop_unused_kernels(small)
        model = small
    if (why := layout.supports.refusal(small.needs)) is not None:
        others = [other.name for other in REGISTRY if other.supports.refusal(small.needs) is None]
        raise NotSupported(why + (f" Or use the layout {' or '.join(others)}." if others else ""))
    if learning is not None:
        model, small = (learn.in_sixteenths(own, learning) for own in (model, small))
    n_new = 0 if learning is None else len(learning.new_labels)
    slots = None if kept is None else kept.get(layout.singles_first)
    if slots is None:
        slots = Slots(small, singles_first=layout.singles_first, kind=kind, n_new_classes=n_new)
    if kept is not None:
        kept[layout.singles_first] = slots
    rows = options.rows if columns is None else _own_columns(options.rows, columns)
    plan = layout.plan(slots, lambda: calibration(model, slots, rows), max_bytes)
    if layout.has_rows:
        tables = write_all(slots, plan)
    else:
        tables = write_code(plan, small.front_end, has_tables=learning is not None)
    if learning is not None:
        learn.write_tables(tables, learning, options)
    bound = max_bytes if layout.smaller else None
    return Program(
        model, options, layout, bound, kind, slots, slots.scales, plan.costs, tables, columns, learning
    )


def _own_columns(rows: Any, columns: NDArray[np.intp]) -> Any:
    """Return these columns of rows of features. Windows, and rows that have no others, stay as they are."""
    if np.ndim(rows) != 2 or np.shape(rows)[1] == len(columns):
        return rows
    return np.asarray(rows)[:, columns]


def calibration(model: Model, slots: Slots, rows: ArrayLike | None) -> NDArray[np.bool_]:
    """Return typical rows of the used Booleans."""
    if rows is not None:
        given = booleans_of(model, rows)
    elif model.typical_rows is not None:
        bits = np.unpackbits(model.typical_rows, axis=1, count=model.n_booleans, bitorder="little")
        given = bits.astype(bool)
    else:
        given = np.zeros((0, model.n_booleans), dtype=bool)
    if len(given) == 0:
        return slots.sample(_CALIBRATION_ROWS)
    return given[:: max(1, len(given) // _CALIBRATION_ROWS), slots.used]
