"""A model as C text: header, source and runtime, to be compiled or written to a folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.export.c99 import tables as ctext
from ethereal.export.c99 import write_tables as write
from ethereal.export.c99.cells import make_cells
from ethereal.export.c99.costs import Costs, costs_of_compact, costs_of_fast, costs_of_sliced
from ethereal.export.c99.device_rows import Slots
from ethereal.export.c99.layouts.compact.tables import compact_stream
from ethereal.export.c99.layouts.fast.tables import fast_tables, most_cell_bytes
from ethereal.export.c99.layouts.sliced.tables import sliced_tables
from ethereal.export.c99.text import Texts
from ethereal.export.numbers import Input, NumberType, Scale, find_number_type, find_scale
from ethereal.features.rounding import to_float32
from ethereal.model import Model
from ethereal.model.inputs import booleans_of, input_matrix

Layout = Literal["compact", "fast", "sliced"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)

_MOST_WEIGHT = (1 << 15) - 1
_MOST_CLASSES = 1 << 16
_CALIBRATION_ROWS = 512
# Bytes of all instructions of a layout on a Cortex-M, Booleanizer and self-check included, rounded up.
_WHOLE_CODE: dict[Layout, int] = {"compact": 1200, "fast": 1200, "sliced": 1700}
_COMPACT_CODE = 500  # bytes of instructions that a table of all rows saves in "compact"


@dataclass(frozen=True)
class Program:
    """C files of one model in one layout; `files` maps names to texts."""

    name: str
    layout: Layout
    input: NumberType
    model: Model  # as given
    slots: Slots  # of the simplified model
    scales: tuple[Scale, ...]  # per feature: how its values become integers; none where they are floats
    files: dict[str, str]
    clause_bytes: int | None  # bound for the clauses in "fast", as `make_program` got it
    table_bytes: int  # of the tables that predictions read
    costs: Costs  # of a row, estimated
    about: str

    @property
    def row_bytes(self) -> int:
        """Size of a Booleanized row."""
        return (self.slots.n_slots + 3) // 4 * 4

    @property
    def flash_bytes(self) -> int:
        """Upper bound of the flash on a Cortex-M: the tables are known, the code is rounded up."""
        return self.table_bytes + _WHOLE_CODE[self.layout]

    @property
    def entry_points(self) -> list[str]:
        """What firmware calls, and what the flash is counted for: a prediction and the check at start-up."""
        predict = "predict_batch" if self.layout == "sliced" else "predict"
        return [f"{self.name}_{predict}", f"{self.name}_check"]

    def features(self, X: ArrayLike) -> NDArray[Any]:
        """Rows of features as the program reads them: rows x features."""
        rows = input_matrix(self.model, X)
        if self.model.booleanizer is None:
            return rows.astype(np.uint8)
        if rows.dtype.kind == "f" and self.model.feature_map.missing_policy == "raise":
            self.model.feature_map.refuse_unexpected_missing(rows, self.model.input_names)
        singles = to_float32(rows)
        if not self.scales:
            return singles
        columns = [scale.integers(column) for scale, column in zip(self.scales, singles.T, strict=True)]
        whole = np.where(np.isnan(singles), self.input.missing, np.stack(columns, axis=1))
        return whole.astype(self.input.dtype)

    def device_sums(self, features: NDArray[Any]) -> NDArray[np.int32]:
        """Class sums that the program gives for rows of `features`, worked out on the host."""
        states = np.zeros((len(features), self.slots.n_slots), dtype=np.uint8)
        for s, slot in enumerate(self.slots.slots):
            column = features[:, slot.feature]
            if self.model.booleanizer is None:
                states[:, s] = column != 0
                continue
            scale = self.scales[slot.feature] if self.scales else None
            limits = [scale.threshold(t) if scale else t for t in slot.thresholds]
            states[:, s] = sum((column > limit for limit in limits), np.zeros(len(column), dtype=int))
            absent = np.isnan(column) if scale is None else column == self.input.missing
            if self.model.feature_map.accepts_missing(slot.feature):
                states[absent, s] = slot.missing_state
        return self.slots.model._votes(self.slots.booleans(states))

    def rows(self, X: ArrayLike) -> NDArray[np.uint8]:
        """Booleanized rows as the program reads them: rows x bytes."""
        slots = self.slots.rows(booleans_of(self.model, X))
        return np.pad(slots, ((0, 0), (0, self.row_bytes - slots.shape[1])))


def make_program(
    model: Model,
    layout: Layout,
    *,
    name: str = "model",
    input: Input = "float",
    rows: ArrayLike | None = None,
    max_bytes: int | None = None,
    with_names: bool = False,
    single_header: bool = False,
) -> Program:
    """Write `model` as C.

    Parameters
    ----------
    model
        It is simplified first, which does not change its class sums.
    layout
        "compact", "fast" or "sliced".
    name
        Of the files, and prefix of all C names.
    input
        Number type of the device's features. Values become integers by a `Scale` of each feature; the
        export has a function that does it. Without a Booleanizer features are bytes, 0 or 1.
    rows
        Typical rows, for the order in which "fast" looks at literals; None: those the
        model carries, else what its `boolean_rates` tell.
    max_bytes
        Bound for the clauses in "fast", tables and code. With None, twice the bytes must save 30 % of
        the instructions, see `ethereal.export.c99.layouts.fast.tables.fast_tables`.
    with_names
        Whether to add functions that return the names of classes and features.
    single_header
        Everything in one header instead of a source and a runtime.
    """
    if layout not in LAYOUTS:
        raise ValueError(f"layout is {layout!r}; it must be one of {', '.join(LAYOUTS)} or auto")
    ctext.check_identifier(name)
    kind = find_number_type(input)
    small = model.simplify()
    _check_limits(small)
    slots = Slots(small, singles_first=layout == "fast")
    scales = _scales(slots, kind)
    out = ctext.Tables()
    masks = None
    if layout == "fast":
        fast = fast_tables(slots, _calibration(model, slots, rows), max_bytes)
        masks = fast.masks
        cells = make_cells(slots, most_bytes=most_cell_bytes(fast, slots, max_bytes))
        write.write_row(out, slots, kind, scales, unfolds=fast.nodes is not None and not slots.is_binary)
        write.write_fast(out, slots, fast)
        costs = costs_of_fast(slots, fast, cells)
    elif layout == "compact":
        stream = compact_stream(slots)
        cells = make_cells(slots, most_bytes=len(stream.data) + _COMPACT_CODE)
        write.write_row(out, slots, kind, scales, unfolds=not slots.is_binary)
        write.write_compact(out, slots, stream)
        costs = costs_of_compact(slots, cells)
    else:
        sliced = sliced_tables(slots)
        cells = make_cells(slots, most_bytes=sliced.bytes)
        write.write_row(out, slots, kind, scales, unfolds=False)
        write.write_sliced(out, slots, sliced)
        costs = costs_of_sliced(slots, sliced, cells)
    write.write_cells(out, cells)
    write.write_fusion(out, slots, masks, cells, kind)
    if cells is not None or masks is not None:
        write.write_states(out, slots)
    out.predict_reads = None if cells is None else write.READ_WITH_CELLS
    texts = Texts(
        model, slots, scales, name, layout, kind, out, stack_bytes=costs.stack_bytes, with_names=with_names
    )
    files = texts.files(single_header=single_header)
    bound = max_bytes if layout == "fast" else None
    return Program(
        name, layout, kind, model, slots, scales, files, bound, out.predict_bytes, costs, texts.about
    )


def _calibration(model: Model, slots: Slots, rows: ArrayLike | None) -> NDArray[np.bool_]:
    """Typical rows of the used Booleans."""
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


def _scales(slots: Slots, kind: NumberType) -> tuple[Scale, ...]:
    """Per feature: how its values become integers; none where they are floats or Booleans."""
    model = slots.model
    if model.booleanizer is None or kind.name == "float":
        return ()
    return tuple(
        find_scale(slots.thresholds_of(f), kind, model.input_names[f], accepts_missing=slots.accepts_missing)
        for f in range(model.n_features)
    )


def _check_limits(model: Model) -> None:
    if model.n_clauses == 0:
        raise ValueError("the model has no clause that can vote: there is nothing to export; train it longer")
    if model.n_classes > _MOST_CLASSES:
        raise ValueError(f"the model has {model.n_classes} classes; the device takes {_MOST_CLASSES}")
    heaviest = int(np.abs(model.weights).max())
    if heaviest > _MOST_WEIGHT:
        raise ValueError(
            f"a clause has the weight {heaviest}; the device takes up to {_MOST_WEIGHT}: scale them down"
        )
