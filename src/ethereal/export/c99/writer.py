"""The text of a program: templates filled with its tables, its names and its parts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ethereal.export.c99.ctext import Tables, comment, fill, filled, package_version, read, unsigned_type
from ethereal.export.c99.device_rows import Cells, NumberType, Scale, Slots
from ethereal.export.c99.layouts import Plan
from ethereal.features.rounding import places_of

if TYPE_CHECKING:
    from ethereal.export.c99.parts.part import Part
    from ethereal.export.c99.program import Program
    from ethereal.export.options import ExportOptions

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
    "input_note": ", one byte each, 0 or 1",
    "nan_note": "",
    "sliced_argmax": "et_sliced_argmax(et_sums, classes);",
    "tasks_note": "Functions keep nothing between calls, so they may be called from several tasks at once.",
    "winner": "",
    "memory": (
        "No heap, no recursion, no variables that outlive a call. RAM: none. Stack: about @stack@ bytes,\n"
        " *    estimated for a Cortex-M."
    ),
}


def usual_values(program: Program) -> dict[str, str]:
    """Return what the templates of a model and of its projects have in common."""
    model = program.model
    values = {
        "name": program.name,
        "NAME": program.name.upper(),
        "version": package_version(),
        "layout": program.layout,
        "classes": str(len(program.class_names)),
        "features": str(model.n_features),
        "stack": str(program.stack_bytes),
        **_USUAL,
    }
    for part in program.parts:
        values |= part.fills(program)
    return values | {key: filled(values[key], values) for key in _USUAL}


def files_of(program: Program) -> dict[str, str]:
    """Return texts by the names of the files."""
    name, layout, tables = program.name, program.c_layout, program.tables

    def of_parts(which: str) -> str:
        return "".join(part.text(which, program) for part in program.parts)

    values = usual_values(program) | _model_values(program)
    values["macros"] = "".join(
        f"\n#include <{header}>\n" for part in program.parts for header in part.includes
    ) + of_parts("macros")
    values["declarations"] = of_parts("header")
    layout_folder = f"c99/layouts/{layout.name}"
    side = layout_folder if layout.rows_per_call > 1 else "c99/templates"
    values["predict"] = fill("predict.c", values, side).strip()
    values["batch"] = fill("batch.c", values, side).strip()
    for piece in ("row", "two_steps"):
        values[piece] = fill(f"{piece}.h", values) if layout.has_rows else ""
    flash, is_single = read("c99/runtime/flash.h"), program.options.single_header
    values["flash"] = flash.strip() if is_single else '#include "ethereal_flash.h"'
    header = fill("model.h", values)
    row = f"typedef {name}_row et_row;\n" if layout.has_rows else ""
    # Straight code that does not learn has no loop over classes.
    loops = layout.has_rows or layout.learns
    classes = f"#define ET_CLASSES {name.upper()}_CLASSES\n" if loops else ""
    body = f"typedef {name}_input et_input;\n{row}\n{classes}{tables.render()}"
    functions = fill("model.c", values, "c99/templates" if layout.has_rows else layout_folder)
    functions += of_parts("source")
    common = read("c99/runtime/common.h").replace("/* crc.h */\n", read("c99/runtime/crc.h"))
    common = common if layout.has_rows else ""
    runtime = {path: read(where) for path, where in layout.runtime.items()}
    for before in (of_parts("before"), tables.functions):
        functions = f"{before}\n{functions}" if before else functions
    if is_single:
        headers = "\n".join([common, *runtime.values()])
        everything = f"#define ET_API static inline\n\n{body}\n{headers}\n{functions}"
        return {f"{name}.h": _one_header(name, header, everything)}
    included = "".join(
        f'#include "{path}"\n' for path in ((["ethereal.h"] if layout.has_rows else []) + [*runtime])
    )
    source = (
        f'/* {"Tables" if layout.has_rows else "Code"} of {name}; see {name}.h. */\n#include "{name}.h"\n\n'
        f"#define ET_API\n\n{body}\n{included}\n{functions}"
    )
    files = {f"{name}.h": header, f"{name}.c": source, "ethereal.h": common, "ethereal_flash.h": flash}
    for part in program.parts:
        files |= part.runtime()
    return {path: text for path, text in files.items() if text} | runtime


def _model_values(program: Program) -> dict[str, str]:
    """Return what only the templates of the model are filled with."""
    n_at_once = program.c_layout.rows_per_call
    return {
        "about": "\n".join(f" * {comment(line)}" for line in program.about.splitlines()),
        "checksum": f"{program.tables.checksum:08X}",
        "sums_checksum": f"{program.tables.sums_checksum:08X}",
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
        r"(?m)^(?=(unsigned|void|int|size_t|const \w+ \*) ?\w+\()", "static inline ", declarations
    )
    return f"{head}{declarations}\n{body}\n#endif\n"


def write_code(plan: Plan, parts: Sequence[Part] = (), options: ExportOptions | None = None) -> Tables:
    """Return the functions of a program without Booleanized rows, and the tables of its parts.

    Without tables, the text is made when it is asked for. A search asks many programs for their size only.
    """
    if not any(part.writes_tables for part in parts):
        return Tables.of_code(plan.write)
    out = Tables()
    plan.write(out)
    _write_parts(out, parts, options)
    return out


def _write_parts(out: Tables, parts: Sequence[Part], options: ExportOptions | None) -> None:
    for part in parts:
        if options is not None:
            part.write_tables(out, options)


def write_all(slots: Slots, plan: Plan, parts: Sequence[Part], options: ExportOptions) -> Tables:
    """Return all tables of a program."""
    kind, scales = slots.kind, slots.scales
    read_with_cells = _READ_WITH_CELLS.union(*(part.tables for part in parts))
    out = Tables(None if plan.cells is None else read_with_cells)
    _write_row(out, slots, kind, scales, plan.unfolds)
    plan.write(out)
    _write_cells(out, plan.cells)
    _write_fusion(out, slots, plan, kind)
    if plan.cells is not None or plan.reads_states:
        _write_states(out, slots)
    _write_parts(out, parts, options)
    return out


def _write_row(out: Tables, slots: Slots, kind: NumberType, scales: Sequence[Scale], unfolds: bool) -> None:
    """Write what a row is and how it is Booleanized."""
    out.define("ET_SLOTS", f"{slots.n_slots}u")
    out.define("ET_ROW_WORDS", f"{(slots.n_slots + 3) // 4}u")
    out.define("ET_BINARY", int(slots.is_binary))
    out.define("ET_UNFOLDS", int(unfolds))
    features = [slot.feature for slot in slots.slots]
    if features == list(range(slots.n_slots)):
        out.define("ET_FEATURE(s)", "(s)")
    else:
        out.array(unsigned_type(max(features)), "et_features", features, "the feature of each slot")
        out.define("ET_FEATURE(s)", "ET_READ(et_features[s])")
    _write_thresholds(out, slots, kind, scales)
    if unfolds:
        write_tests(out, slots)


def write_tests(out: Tables, slots: Slots) -> None:
    """Write which states make the Booleans of each slot true."""
    out.define("ET_BINS", int(not slots.is_level))
    out.array(
        "uint8_t", "et_slot_sizes", [len(slot.booleans) for slot in slots.slots], "Booleans of each slot"
    )
    if not slots.is_level:
        tests = [0x80 | min(states) if slot.kind == "bin" else i
                 for slot in slots.slots for i, states in enumerate(slot.true_states)]  # fmt: skip
        out.array("uint8_t", "et_tests", tests, "per Boolean: true above this state; from 128 on, in it only")


def _write_thresholds(out: Tables, slots: Slots, kind: NumberType, scales: Sequence[Scale]) -> None:
    model, is_float = slots.model, kind.name == "float"
    is_boolean = model.fitted is None
    out.define("ET_BOOLEAN_INPUT", int(is_boolean))
    out.define("ET_FLOAT_INPUT", int(not is_boolean and is_float))
    if is_boolean:
        return
    thresholds: list[int] = []
    notes = []
    for slot in slots.slots:
        name = model.input_names[slot.feature]
        in_type = (
            map(scales[slot.feature].threshold, slot.thresholds) if scales else places_of(slot.thresholds)
        )
        thresholds += map(int, in_type)
        if slot.thresholds:
            notes.append(f"   {comment(name)}: {', '.join(f'{t:.9g}' for t in slot.thresholds)}")
    counts = [len(slot.thresholds) for slot in slots.slots]
    unit = "floats by their order, see et_order" if is_float else "before they are scaled"
    note = "\n".join([f"thresholds of the slots ({unit}):", *notes])
    out.array(kind.threshold_ctype, "et_thresholds", thresholds, note, typedef="et_threshold")
    out.define("ET_ONE_THRESHOLD", int(set(counts) == {1}))
    if len(set(counts)) == 1:
        out.define("ET_THRESHOLDS(s)", f"{counts[0]}u")
    else:
        out.array("uint8_t", "et_threshold_counts", counts, "thresholds of each slot")
        out.define("ET_THRESHOLDS(s)", "ET_READ(et_threshold_counts[s])")
    out.define("ET_VALUE(x)", "et_order(x)" if is_float else "(x)")
    states = [slot.missing_state for slot in slots.slots]
    has_missing_states = _has_missing_states(slots, kind)
    out.define("ET_CAN_MISS", int(has_missing_states))
    if is_float:
        out.define("ET_CAN_BE_NAN", int(slots.accepts_missing))
        # Without negative thresholds the order of negative floats does not matter, unless one may be missing.
        out.define("ET_SIGNED_ORDER", int(has_missing_states or min(thresholds, default=0) < 0))
    if has_missing_states:
        out.array("uint8_t", "et_missing_states", states, "the state of each slot when its value is missing")
        out.define("ET_MISSING_VALUE", "INT32_MIN" if is_float else f"({kind.missing})")


def _has_missing_states(slots: Slots, kind: NumberType) -> bool:
    """Return whether missing values need a test. A missing float is in the lowest state without one.

    So is a missing integer when the lowest one stands for it.
    """
    is_lowest = kind.name == "float" or kind.missing == kind.low
    return slots.accepts_missing and (not is_lowest or any(slot.missing_state for slot in slots.slots))


def _write_states(out: Tables, slots: Slots) -> None:
    """Write how many states each slot has."""
    states = [slot.n_states for slot in slots.slots]
    is_raw = slots.model.fitted is not None
    if is_raw and all(slot.n_states == len(slot.thresholds) + 1 for slot in slots.slots):
        out.define("ET_SLOT_STATES(s)", "(ET_THRESHOLDS(s) + 1u)")
    elif len(set(states)) == 1:
        out.define("ET_SLOT_STATES(s)", f"{states[0]}u")
    else:
        out.array("uint8_t", "et_slot_states", states, "states of each slot")
        out.define("ET_SLOT_STATES(s)", "ET_READ(et_slot_states[s])")


def _write_cells(out: Tables, cells: Cells | None) -> None:
    """Write the class of every row."""
    out.define("ET_CELLS", 0 if cells is None else len(cells.data))
    if cells is not None:
        out.define("ET_CELL_BITS", f"{cells.bits}u")
        out.array("uint8_t", "et_cells", cells.data, "the class of every combination of states")


def _write_fusion(out: Tables, slots: Slots, plan: Plan, kind: NumberType) -> None:
    """Write whether a state is used as soon as it is known, without a Booleanized row."""
    is_plain = slots.model.fitted is not None and not _has_missing_states(slots, kind)
    is_fused = plan.may_fuse and plan.cells is None and is_plain
    out.define("ET_FUSED", int(is_fused))
    if is_fused:
        out.define("ET_SINGLES", f"{slots.n_singles}u")
