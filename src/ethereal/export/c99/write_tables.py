"""Write the tables that every layout has beside its clauses as C."""

from __future__ import annotations

from collections.abc import Sequence

from ethereal.export.c99 import windows
from ethereal.export.c99.device_rows import Cells, Slots
from ethereal.export.c99.layouts.plan import Plan
from ethereal.export.c99.tables import Tables, comment, unsigned_type
from ethereal.export.numbers import NumberType, Scale
from ethereal.features.front_end import FrontEnd
from ethereal.features.rounding import places_of

# Tables that a prediction reads when the class of every row is in a table.
_READ_WITH_CELLS = (
    frozenset(
        (
            "et_cells",
            "et_features",
            "et_missing_states",
            "et_slot_states",
            "et_threshold_counts",
            "et_thresholds",
        )
    )
    | windows.TABLES
)


def write_code(plan: Plan, front_end: FrontEnd | None = None, *, has_tables: bool = True) -> Tables:
    """Return the functions of a program, and the tables of a front end.

    Without tables, the text is made when it is asked for. A search asks many programs for their size only.
    """
    if front_end is None and not has_tables:
        return Tables.of_code(plan.write)
    out = Tables()
    plan.write(out)
    if front_end is not None:
        windows.write_tables(out, front_end)
    return out


def write_all(slots: Slots, plan: Plan) -> Tables:
    """Return all tables of a program."""
    kind, scales = slots.kind, slots.scales
    out = Tables(None if plan.cells is None else _READ_WITH_CELLS)
    _write_row(out, slots, kind, scales, plan.unfolds)
    plan.write(out)
    _write_cells(out, plan.cells)
    _write_fusion(out, slots, plan, kind)
    if plan.cells is not None or plan.reads_states:
        _write_states(out, slots)
    if slots.model.front_end is not None:
        windows.write_tables(out, slots.model.front_end)
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
        own = map(scales[slot.feature].threshold, slot.thresholds) if scales else places_of(slot.thresholds)
        thresholds += map(int, own)
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
