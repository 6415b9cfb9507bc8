"""A model as C: header, source and runtime, to be compiled or written to a folder.

The text is made of templates, which are filled with tables, names and parts.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.adapt import Learning
from ethereal.export.c99.ctext import Tables, comment, fill, filled, package_version, read, unsigned_type
from ethereal.export.c99.device_rows import (
    NumberType,
    Scale,
    Slots,
    calibration,
    find_number_type,
    simplified,
)
from ethereal.export.c99.layouts import REGISTRY, CLayout, Costs, Plan, find_layout, row_bytes
from ethereal.export.c99.parts import PARTS
from ethereal.export.c99.parts.learn import Learn
from ethereal.export.c99.parts.number import Number
from ethereal.export.c99.parts.part import Draft, Part, sections
from ethereal.export.names import check_identifier
from ethereal.export.options import ExportOptions
from ethereal.features.rounding import places_of, to_float32
from ethereal.model import Model
from ethereal.model.engine import booleans_of, input_matrix
from ethereal.model.needs import NotSupported

# Tables that a prediction reads when the class of every row is in a table, beside those of parts.
_READ_WITH_CELLS = frozenset((
    "et_cells", "et_features", "et_missing_states", "et_slot_states", "et_threshold_counts", "et_thresholds",
))  # fmt: skip
# What templates are filled with where no part says otherwise.
_USUAL = {
    "answer": "uint32_t sums[ET_WORDS];\n\n    et_sum(features, sums);\n    return @best@(sums);",
    "answers": "class is always below @NAME@_CLASSES",
    "argmax": "et_argmax",
    "best": "et_best",
    "expect": "",
    "line": "",
    "input_note": ", one byte each, 0 or 1",
    "nan_note": "",
    "sliced_argmax": "et_sliced_argmax(et_sums, classes);",
    "told": "class sums",
    "tasks_note": "Functions keep nothing between calls, so they may be called from several tasks at once.",
    "winner": "",
    "memory": (
        "No heap, no recursion, no variables that outlive a call. RAM: none. Stack: about @stack@ bytes,\n"
        " *    estimated for a Cortex-M."
    ),
}


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
    def number(self) -> Number | None:
        """How its answer is a number, None if it is a class."""
        return next((part for part in self.parts if isinstance(part, Number)), None)

    def project_texts(self, values: dict[str, str]) -> dict[str, str]:
        """Return what templates of projects say of a class or of a number, by the names of their sections."""
        texts = self.number.values(self) if self.number else {}
        for name in itertools.dropwhile(lambda name: name != "use", sections(self._answer_part)):
            texts[name] = self.answer_texts(values | texts, **{name: name})[name].rstrip("\n")
        return texts

    @property
    def _answer_part(self) -> str:
        return "classes" if self.number is None else "number"

    def answer_texts(self, values: dict[str, str], **which: str) -> dict[str, str]:
        """Return sections of the texts for the kind of answer, a class or a number, filled with values."""
        texts = sections(self._answer_part)
        return {key: filled(texts[section], values) for key, section in which.items()}

    @property
    def about(self) -> str:
        """What the program is, a line per sentence."""
        small = self.slots.model
        lines = [
            f"{self.name}: {_contents(small)},",
            f'exported by ethereal {package_version()} in the layout "{self.layout}".',
            *(part.about(self) for part in self.parts),
        ]
        return "\n".join(filter(None, lines))

    @property
    def class_names(self) -> list[str]:
        """Names of all classes, those that the board is yet to learn included."""
        known = [] if self.number else [str(label) for label in self.model.classes.tolist()]
        return known + [name for part in self.parts for name in part.classes()]

    @property
    def answer_names(self) -> list[str]:
        """Names of all answers, in the order of their numbers."""
        return self.class_names + [name for part in self.parts for name in part.answers(self)]

    @cached_property
    def files(self) -> dict[str, str]:
        """Texts by the names of the files."""
        return _files(self)

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
        """The function from features to the class or the sum of votes, or to the classes of several rows."""
        if self.number:
            return f"{self.name}_sum"
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
        if self.model.output.kind == "normal":
            return self.model.class_sums(features)
        votes = self.slots.model._votes(self.device_booleans(features))
        line = None if self.number is None else self.number.output.line
        if line is not None and self.number is not None:
            votes[:, 0] += line.votes(features, self.number.output.scale).astype(np.int32)
        return votes

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


def _contents(small: Model) -> str:
    """Return what a model is made of, in words."""
    if small.output.kind == "normal" and small.normal is not None:
        n_centres, n_features = small.normal.centres.shape
        return f"what is normal, by {n_centres} centres of {n_features} features"
    return f"a {small.kind} with {small.n_clauses} clauses and {small.n_includes} literals"


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
        raise NotSupported(why + _others(small, layout))
    model, small, columns = draft.model, draft.small, draft.columns
    first, kept = layout.singles_first, {} if kept is None else kept
    if first not in kept:
        kept[first] = Slots(small, singles_first=first, kind=draft.kind, n_new_classes=draft.n_new_classes)
    slots = kept[first]
    rows = options.rows if columns is None else _columns_of(options.rows, columns)
    try:
        plan = layout.plan(slots, lambda: calibration(model, slots, rows), max_bytes)
    except NotSupported as error:
        raise NotSupported(f"{error}{_others(small, layout)}") from None
    tables = _tables(slots, plan, parts, options, layout)
    bound = max_bytes if layout.smaller else None
    return Program(model, options, layout, bound, slots, plan.costs, tables, parts, columns)


def _others(small: Model, refused: CLayout) -> str:
    """Name the layouts that take a model which one has refused."""
    others = [
        other.name
        for other in REGISTRY
        if other is not refused and other.supports.refusal(small.needs) is None
    ]
    return f" Or use the layout {' or '.join(others)}." if others else ""


def _columns_of(rows: Any, columns: NDArray[np.intp]) -> Any:
    """Return these columns of rows of features. Windows, and rows that have no others, stay as they are."""
    if np.ndim(rows) != 2 or np.shape(rows)[1] == len(columns):
        return rows
    return np.asarray(rows)[:, columns]


def usual_values(program: Program) -> dict[str, str]:
    """Return what the templates of a model and of its projects have in common."""
    model = program.model
    values = {
        "name": program.name,
        "NAME": program.name.upper(),
        "version": package_version(),
        "machine": model.kind,
        "keyword": model.kind.lower(),
        "layout": program.layout,
        "classes": str(len(program.class_names)),
        "features": str(model.n_features),
        "stack": str(program.stack_bytes),
        **_USUAL,
    }
    for part in program.parts:
        values |= part.fills(program)
    return values | {key: filled(values[key], values) for key in _USUAL}


def _files(program: Program) -> dict[str, str]:
    """Return texts by the names of the files."""
    name, layout, tables, has_rows = program.name, program.c_layout, program.tables, program.c_layout.has_rows

    def of_parts(which: str) -> str:
        return "".join(part.text(which, program) for part in program.parts)

    values = usual_values(program) | _model_values(program)
    headers = [header for part in program.parts for header in part.includes]
    values["macros"] = "".join(f"\n#include <{header}>\n" for header in headers) + of_parts("macros")
    values["declarations"] = of_parts("header")
    layout_folder = f"c99/layouts/{layout.name}"
    side = layout_folder if layout.rows_per_call > 1 else "c99/templates"
    values |= {piece: fill(f"{piece}.c", values, side).strip() for piece in ("predict", "batch")}
    values["row"] = fill("row.h", values) if has_rows else ""
    values["two_steps"] = ""
    values |= program.answer_texts(values, count="count", interface="interface")
    values |= program.answer_texts(values, two_steps="two steps") if has_rows else {}
    how = "functions" if has_rows else "functions of straight code"
    values |= {key: text.rstrip() for key, text in program.answer_texts(values, functions=how).items()}
    flash, is_single = read("c99/runtime/flash.h"), program.options.single_header
    values["flash"] = flash.strip() if is_single else '#include "ethereal_flash.h"'
    header = fill("model.h", values)
    row = f"typedef {name}_row et_row;\n" if has_rows else ""
    # Straight code that does not learn has no loop over classes.
    n_classes = "1u" if program.number else f"{name.upper()}_CLASSES"
    classes = f"#define ET_CLASSES {n_classes}\n" if layout.has_tables or layout.learns else ""
    arranged = tables.render().replace("@name@", name)  # the same tables serve a program of another name
    body = f"typedef {name}_input et_input;\n{row}\n{classes}{arranged}"
    functions = fill("model.c", values, "c99/templates" if has_rows else layout_folder) + of_parts("source")
    for before in (of_parts("before"), tables.functions):
        functions = f"{before}\n{functions}" if before else functions
    runtime, common = {path: read(where) for path, where in layout.runtime.items()}, {}
    if has_rows:
        text = read("c99/runtime/common.h")
        for piece in ("order", "best", "crc"):
            text = text.replace(f"/* {piece}.h */\n", read(f"c99/runtime/{piece}.h"))
        common["ethereal.h"] = text
    if is_single:
        texts = [f"#define ET_API static inline\n\n{body}", common.get("ethereal.h", ""), *runtime.values()]
        everything = "\n".join([*texts, functions])
        return {f"{name}.h": _one_header(name, header, everything)}
    included = "".join(f'#include "{path}"\n' for path in [*common, *runtime])
    source = (
        f'/* {"Tables" if layout.has_tables else "Code"} of {name}; see {name}.h. */\n#include "{name}.h"\n\n'
        f"#define ET_API\n\n{body}\n{included}\n{functions}"
    )
    files = {f"{name}.h": header, f"{name}.c": source, **common, "ethereal_flash.h": flash}
    for part in program.parts:
        files |= part.runtime()
    return files | runtime


def _model_values(program: Program) -> dict[str, str]:
    """Return what only the templates of the model are filled with."""
    n_at_once, tables = program.c_layout.rows_per_call, program.tables
    return {
        "about": "\n".join(f" * {comment(line)}" for line in program.about.splitlines()),
        "checksum": f"{tables.checksum(True):08X}",
        "sums_checksum": f"{tables.checksum(False):08X}",
        "input": "uint8_t" if program.model.fitted is None else program.input.ctype,
        "tasks": "The functions" if program.ram_bytes == 0 else "All other functions",
        "row_words": str(program.row_bytes // 4),
        "class_list": "\n".join(f"   {i}: {comment(label)}" for i, label in enumerate(program.answer_names)),
        "batch_note": f", {n_at_once} at a time" if n_at_once > 1 else "",
    }


# Comments and strings stay as they are, because they may hold names that the user gave.
_RUNTIME_NAME = re.compile(r'/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\bet_(?=\w)|\bET_(?!FLASH|READ)(?=\w)', re.DOTALL)


def _one_header(name: str, header: str, body: str) -> str:
    """Return one header with static inline functions, in which the model's name begins every name.

    The macros of flash.h keep their names, because the self-test uses them and they are always the same.
    """
    prefixes = {"et_": f"{name}_et_", "ET_": f"{name.upper()}_ET_"}
    body = _RUNTIME_NAME.sub(lambda match: prefixes.get(match[0], match[0]), body)
    body = re.sub(r"(?m)^static (?=(void|uint32_t|unsigned|const \w+ \*) ?\w+\()", "static inline ", body)
    # The declarations stand between two blocks for C++, which static functions do not need.
    head, rest = header.split("#ifdef __cplusplus\nextern", 1)
    declarations = rest.split("#endif\n", 1)[1].split("#ifdef __cplusplus", 1)[0]
    declarations = re.sub(
        r"(?m)^(?=(unsigned|void|int|int32_t|float|size_t|const \w+ \*) ?\w+\()",
        "static inline ",
        declarations,
    )
    return f"{head}{declarations}\n{body}\n#endif\n"


def _tables(
    slots: Slots, plan: Plan, parts: Sequence[Part], options: ExportOptions, layout: CLayout
) -> Tables:
    """Return all tables and functions of a program.

    Code without tables is written when its text is asked for. A search asks many programs for a size only.
    """
    has_rows = layout.has_rows
    if not layout.has_tables and not any(part.writes_tables for part in parts):
        return Tables.of_code(plan.write)
    read_with_cells = _READ_WITH_CELLS.union(*(part.tables for part in parts))
    out = Tables(None if plan.cells is None else read_with_cells)
    if has_rows:
        _write_row(out, slots, plan.unfolds)
    plan.write(out)
    if has_rows:
        _write_shortcuts(out, slots, plan)
    for part in parts:
        part.write_tables(out, options)
    return out


def _write_row(out: Tables, slots: Slots, unfolds: bool) -> None:
    """Write what a row is and how it is Booleanized."""
    out.define("ET_SLOTS", f"{slots.n_slots}u")
    out.define("ET_ROW_WORDS", f"{(slots.n_slots + 3) // 4}u")
    out.define("ET_BINARY", int(slots.is_binary))
    out.define("ET_UNFOLDS", int(unfolds))
    features = [slot.feature for slot in slots.slots]
    usual = "(s)" if features == list(range(slots.n_slots)) else ""
    ctype = unsigned_type(max(features))
    out.lookup("ET_FEATURE(s)", usual, ctype, "et_features", features, "the feature of each slot")
    _write_thresholds(out, slots)
    if unfolds:
        write_tests(out, slots)


def write_tests(out: Tables, slots: Slots) -> None:
    """Write which states make the Booleans of each slot true."""
    out.define("ET_BINS", int(not slots.is_level))
    sizes = [len(slot.booleans) for slot in slots.slots]
    out.array("uint8_t", "et_slot_sizes", sizes, "Booleans of each slot")
    if not slots.is_level:
        tests = [0x80 | min(states) if slot.kind == "bin" else i
                 for slot in slots.slots for i, states in enumerate(slot.true_states)]  # fmt: skip
        out.array("uint8_t", "et_tests", tests, "per Boolean: true above this state; from 128 on, in it only")


def _write_thresholds(out: Tables, slots: Slots) -> None:
    model, kind, scales = slots.model, slots.kind, slots.scales
    is_boolean, is_float = model.fitted is None, kind.name == "float"
    out.define("ET_BOOLEAN_INPUT", int(is_boolean))
    out.define("ET_FLOAT_INPUT", int(not is_boolean and is_float))
    if is_boolean:
        return
    thresholds: list[int] = []
    unit = "floats by their order, see et_order" if is_float else "before they are scaled"
    notes = [f"thresholds of the slots ({unit}):"]
    for slot in slots.slots:
        limits, scale = slot.thresholds, scales[slot.feature] if scales else None
        thresholds += map(int, places_of(limits) if scale is None else map(scale.threshold, limits))
        if limits:
            listed = ", ".join(f"{t:.9g}" for t in limits)
            notes.append(f"   {comment(model.input_names[slot.feature])}: {listed}")
    out.array(kind.threshold_ctype, "et_thresholds", thresholds, "\n".join(notes), typedef="et_threshold")
    counts = [len(slot.thresholds) for slot in slots.slots]
    out.define("ET_ONE_THRESHOLD", int(set(counts) == {1}))
    usual, note = _if_constant(counts), "thresholds of each slot"
    out.lookup("ET_THRESHOLDS(s)", usual, "uint8_t", "et_threshold_counts", counts, note)
    out.define("ET_VALUE(x)", "et_order(x)" if is_float else "(x)")
    has_missing_states = _has_missing_states(slots)
    out.define("ET_CAN_MISS", int(has_missing_states))
    if is_float:
        out.define("ET_CAN_BE_NAN", int(slots.accepts_missing))
        # Without negative thresholds the order of negative floats does not matter, unless one may be missing.
        out.define("ET_SIGNED_ORDER", int(has_missing_states or min(thresholds, default=0) < 0))
    if has_missing_states:
        states = [slot.missing_state for slot in slots.slots]
        out.array("uint8_t", "et_missing_states", states, "the state of each slot when its value is missing")
        out.define("ET_MISSING_VALUE", "INT32_MIN" if is_float else f"({kind.missing})")


def _if_constant(values: Sequence[int]) -> str:
    """Return the number that all values are, nothing if they differ."""
    return f"{values[0]}u" if len(set(values)) == 1 else ""


def _has_missing_states(slots: Slots) -> bool:
    """Return whether missing values need a test. A missing float is in the lowest state without one.

    So is a missing integer when the lowest one stands for it.
    """
    kind = slots.kind
    is_lowest = kind.name == "float" or kind.missing == kind.low
    return slots.accepts_missing and (not is_lowest or any(slot.missing_state for slot in slots.slots))


def _write_shortcuts(out: Tables, slots: Slots, plan: Plan) -> None:
    """Write the class of every row, whether a state is used as soon as it is known, and numbers of states."""
    cells, is_raw = plan.cells, slots.model.fitted is not None
    out.define("ET_CELLS", 0 if cells is None else len(cells.data))
    if cells is not None:
        out.define("ET_CELL_BITS", f"{cells.bits}u")
        out.array("uint8_t", "et_cells", cells.data, "the class of every combination of states")
    is_fused = plan.may_fuse and cells is None and is_raw and not _has_missing_states(slots)
    out.define("ET_FUSED", int(is_fused))
    if is_fused:
        out.define("ET_SINGLES", f"{slots.n_singles}u")
    if cells is not None or plan.reads_states:
        states = [slot.n_states for slot in slots.slots]
        is_next = is_raw and all(slot.n_states == len(slot.thresholds) + 1 for slot in slots.slots)
        usual = "(ET_THRESHOLDS(s) + 1u)" if is_next else _if_constant(states)
        out.lookup("ET_SLOT_STATES(s)", usual, "uint8_t", "et_slot_states", states, "states of each slot")
