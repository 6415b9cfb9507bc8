"""A model as C text: header, source and runtime, to be compiled or written to a folder."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.adapt import Learning
from ethereal.export.c99.ctext import Tables, package_version
from ethereal.export.c99.device_rows import (
    NumberType,
    Scale,
    Slots,
    calibration,
    find_number_type,
    simplified,
)
from ethereal.export.c99.layouts import REGISTRY, CLayout, Costs, find_layout, row_bytes
from ethereal.export.c99.parts import PARTS
from ethereal.export.c99.parts.learn import Learn
from ethereal.export.c99.parts.part import Draft, Part
from ethereal.export.c99.writer import files_of, write_all, write_code
from ethereal.export.names import check_identifier
from ethereal.export.options import ExportOptions
from ethereal.features.rounding import to_float32
from ethereal.model import Model
from ethereal.model.engine import booleans_of, input_matrix
from ethereal.model.needs import NotSupported


@dataclass(frozen=True)
class Program:
    """C files of one model in one layout."""

    model: Model  # as given, or without the kernels that no clause uses
    options: ExportOptions
    c_layout: CLayout
    clause_bytes: int | None  # bound for the clauses that the layout got
    slots: Slots  # of the simplified model
    costs: Costs  # of a row, estimated
    tables: Tables
    parts: tuple[Part, ...]  # what the C has beside a prediction
    columns: NDArray[np.intp] | None = None  # features of the model that was given, None for all

    @property
    def name(self) -> str:
        """Name of the files, and prefix of all C names."""
        return self.options.name

    @property
    def layout(self) -> str:
        """Name of the layout."""
        return self.c_layout.name

    @property
    def input(self) -> NumberType:
        """Number type of the features."""
        return self.slots.kind

    @property
    def scales(self) -> tuple[Scale, ...]:
        """How the values of each feature become integers, none for floats."""
        return self.slots.scales

    @property
    def learning(self) -> Learning | None:
        """How it learns on the board, None if it does not."""
        return next((part.learning for part in self.parts if isinstance(part, Learn)), None)

    @property
    def about(self) -> str:
        """What the program is, a line per sentence."""
        small = self.slots.model
        lines = [
            f"{self.name}: a Tsetlin machine with {small.n_clauses} clauses and {small.n_includes} literals,",
            f'exported by ethereal {package_version()} in the layout "{self.layout}".',
            *(part.about(self) for part in self.parts),
        ]
        return "\n".join(filter(None, lines))

    @property
    def class_names(self) -> list[str]:
        """Names of all classes, those that the board is yet to learn included."""
        known = [str(label) for label in self.model.classes.tolist()]
        return known + [name for part in self.parts for name in part.classes()]

    @property
    def answer_names(self) -> list[str]:
        """Names of all answers, in the order of their numbers."""
        return self.class_names + [name for part in self.parts for name in part.answers(self)]

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
        of_parts = sum(part.code_bytes() for part in self.parts)
        return self.table_bytes + self.c_layout.code_bytes + self.costs.code_bytes + of_parts

    @property
    def ram_bytes(self) -> int:
        """RAM of variables that outlive a call."""
        return sum(part.ram_bytes(self.options) for part in self.parts)

    @property
    def stack_bytes(self) -> int:
        """Stack of a prediction, from raw samples where there are any. Estimated for a Cortex-M."""
        return self.costs.stack_bytes + sum(part.stack_bytes for part in self.parts)

    @property
    def predict_function(self) -> str:
        """The function from features to classes, of one row or of several."""
        return f"{self.name}_predict{'' if self.c_layout.rows_per_call == 1 else '_batch'}"

    @property
    def entry_points(self) -> list[str]:
        """Functions that firmware calls and flash is counted for.

        They are a prediction, or what takes raw samples, the check at start-up, and those that teach.
        """
        predicts = [f"{self.name}_{function}" for part in self.parts for function in part.predicts]
        others = [f"{self.name}_{function}" for part in self.parts for function in part.functions]
        return [*(predicts or [self.predict_function]), *others]

    def read_columns(self, X: ArrayLike) -> Any:
        """Return windows as they are, and of rows of features those columns that the program reads."""
        return X if self.columns is None else _columns_of(X, self.columns)

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
    draft = Draft(model, small, options, find_number_type(options.input))
    why = layout.supports.refusal(small.needs)
    parts = tuple(part for each in PARTS if (part := each.of(draft)) is not None)
    if why is not None:
        others = [other.name for other in REGISTRY if other.supports.refusal(small.needs) is None]
        raise NotSupported(why + (f" Or use the layout {' or '.join(others)}." if others else ""))
    model, small, columns = draft.model, draft.small, draft.columns
    slots = None if kept is None else kept.get(layout.singles_first)
    if slots is None:
        slots = Slots(
            small, singles_first=layout.singles_first, kind=draft.kind, n_new_classes=draft.n_new_classes
        )
    if kept is not None:
        kept[layout.singles_first] = slots
    rows = options.rows if columns is None else _columns_of(options.rows, columns)
    plan = layout.plan(slots, lambda: calibration(model, slots, rows), max_bytes)
    tables = write_all(slots, plan, parts, options) if layout.has_rows else write_code(plan, parts, options)
    bound = max_bytes if layout.smaller else None
    return Program(model, options, layout, bound, slots, plan.costs, tables, parts, columns)


def _columns_of(rows: Any, columns: NDArray[np.intp]) -> Any:
    """Return these columns of rows of features. Windows, and rows that have no others, stay as they are."""
    if np.ndim(rows) != 2 or np.shape(rows)[1] == len(columns):
        return rows
    return np.asarray(rows)[:, columns]
