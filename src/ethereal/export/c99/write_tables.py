"""Write the tables of a layout as C."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ethereal.export.c99.cells import Cells
from ethereal.export.c99.device_rows import Slots, Vote
from ethereal.export.c99.layouts.fast.lists import Lists
from ethereal.export.c99.layouts.fast.masks import Masks
from ethereal.export.c99.layouts.fast.nodes import Nodes
from ethereal.export.c99.layouts.fast.tables import FastTables
from ethereal.export.c99.layouts.sliced.tables import SlicedTables
from ethereal.export.c99.tables import Tables, comment, unsigned_type
from ethereal.export.numbers import NumberType, Scale
from ethereal.features.rounding import places_of
from ethereal.model.codes.compact import Payload

# Tables that a prediction reads when the class of every row is in a table.
READ_WITH_CELLS = frozenset(
    (
        "et_cells",
        "et_features",
        "et_missing_states",
        "et_slot_states",
        "et_threshold_counts",
        "et_thresholds",
    )
)


def write_row(out: Tables, slots: Slots, kind: NumberType, scales: Sequence[Scale], *, unfolds: bool) -> None:
    """What a row is and how it is Booleanized; `scales` per feature, none where features are floats."""
    model = slots.model
    out.define("ET_CLASSES", f"{model.n_classes}u")
    out.define("ET_SLOTS", f"{slots.n_slots}u")
    out.define("ET_ROW_WORDS", f"{(slots.n_slots + 3) // 4}u")
    out.define("ET_BINARY", int(slots.is_binary))
    out.define("ET_BINS", int(not slots.is_level))
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
    """Which states make the Booleans of each slot true."""
    out.array(
        "uint8_t", "et_slot_sizes", [len(slot.booleans) for slot in slots.slots], "Booleans of each slot"
    )
    if not slots.is_level:
        tests = [0x80 | min(states) if slot.kind == "bin" else i
                 for slot in slots.slots for i, states in enumerate(slot.true_states)]  # fmt: skip
        out.array("uint8_t", "et_tests", tests, "per Boolean: true above this state; from 128 on, in it only")


def _write_thresholds(out: Tables, slots: Slots, kind: NumberType, scales: Sequence[Scale]) -> None:
    model, is_float = slots.model, kind.name == "float"
    is_boolean = model.booleanizer is None
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
    out.define("ET_CAN_BE_NAN", int(slots.accepts_missing))
    if len(set(counts)) == 1:
        out.define("ET_THRESHOLDS(s)", f"{counts[0]}u")
    else:
        out.array("uint8_t", "et_threshold_counts", counts, "thresholds of each slot")
        out.define("ET_THRESHOLDS(s)", "ET_READ(et_threshold_counts[s])")
    out.define("ET_VALUE(x)", "et_order(x)" if is_float else "(x)")
    states = [slot.missing_state for slot in slots.slots]
    has_missing_states = _has_missing_states(slots, kind)
    out.define("ET_CAN_MISS", int(has_missing_states))
    # Where no threshold is negative, negative floats may be below it in any order; a missing one may not.
    out.define("ET_SIGNED_ORDER", int(has_missing_states or min(thresholds, default=0) < 0))
    if has_missing_states:
        out.array("uint8_t", "et_missing_states", states, "the state of each slot when its value is missing")
        out.define("ET_MISSING_VALUE", "INT32_MIN" if is_float else f"({kind.missing})")


def _has_missing_states(slots: Slots, kind: NumberType) -> bool:
    """Whether missing values need a look of their own; a float that is missing is in the lowest state."""
    return slots.accepts_missing and (kind.name != "float" or any(slot.missing_state for slot in slots.slots))


def write_states(out: Tables, slots: Slots) -> None:
    """How many states each slot has."""
    states = [slot.n_states for slot in slots.slots]
    is_raw = slots.model.booleanizer is not None
    if is_raw and all(slot.n_states == len(slot.thresholds) + 1 for slot in slots.slots):
        out.define("ET_SLOT_STATES(s)", "(ET_THRESHOLDS(s) + 1u)")
    elif len(set(states)) == 1:
        out.define("ET_SLOT_STATES(s)", f"{states[0]}u")
    else:
        out.array("uint8_t", "et_slot_states", states, "states of each slot")
        out.define("ET_SLOT_STATES(s)", "ET_READ(et_slot_states[s])")


def write_cells(out: Tables, cells: Cells | None) -> None:
    """The class of every row."""
    out.define("ET_CELLS", 0 if cells is None else len(cells.data))
    if cells is not None:
        out.define("ET_CELL_BITS", f"{cells.bits}u")
        out.array("uint8_t", "et_cells", cells.data, "the class of every combination of states")


def write_fusion(
    out: Tables, slots: Slots, masks: Masks | None, cells: Cells | None, kind: NumberType
) -> None:
    """Whether a state is used as soon as it is known, without a Booleanized row."""
    is_plain = slots.model.booleanizer is not None and not _has_missing_states(slots, kind)
    is_fused = masks is not None and masks.is_one_block and cells is None and is_plain
    out.define("ET_FUSED", int(is_fused))
    if is_fused:
        out.define("ET_SINGLES", f"{slots.n_singles}u")


def write_fast(out: Tables, slots: Slots, tables: FastTables) -> None:
    """Tables of runtime/fast.h."""
    votes = [*(tables.masks.votes if tables.masks else ()), *(tables.nodes.votes if tables.nodes else ())]
    is_small = slots.model.n_classes <= 256 and all(abs(v.weight) < 128 for v in votes)
    fields = (
        [("uint8_t", "class_"), ("int8_t", "weight")]
        if is_small
        else [("uint16_t", "class_"), ("int16_t", "weight")]
    )
    out.define("ET_USES_LEADING_ZEROS", int(tables.masks is not None))
    _write_masks(out, tables.masks, fields)
    bias = tables.bias(slots.model.n_classes)
    if bias.any():
        is_short = np.abs(bias).max() < 1 << 15
        out.array("int16_t" if is_short else "int32_t", "et_bias", bias, "per class: the sum to begin with")
    out.define("ET_BIAS(c)", "ET_READ(et_bias[c])" if bias.any() else "0")
    _write_lists(out, slots, tables.lists)
    _write_nodes(out, tables.nodes, fields)


def _votes(votes: Sequence[Vote]) -> list[tuple[int, int]]:
    return [(vote.class_, vote.weight) for vote in votes]


def _write_masks(out: Tables, masks: Masks | None, fields: Sequence[tuple[str, str]]) -> None:
    out.define("ET_MASK_BLOCKS", f"{len(masks.words)}u" if masks else "0")
    if masks is None:
        return
    out.define("ET_MASK_WORDS", f"{masks.words.shape[2]}u")
    out.array(
        "uint32_t", "et_masks", masks.words.ravel(), "per block, slot and state: clauses that may be true"
    )
    out.define("ET_LANES", f"{masks.lanes.shape[1]}u")
    if masks.lanes.size:
        note = "per bit of the masks: votes for two classes in each word"
        out.array("uint32_t", "et_mask_votes", masks.lanes.ravel(), note)
        return
    out.records(
        "et_vote", fields, "et_mask_votes", _votes(masks.votes), "per bit of the masks: class and weight"
    )


def _write_lists(out: Tables, slots: Slots, lists: Lists | None) -> None:
    out.define("ET_LIST_GROUPS", f"{len(lists.groups)}u" if lists else "0")
    if lists is None:
        return
    out.define("ET_LIST_SLOTS", f"{len(lists.slots)}u")
    if lists.slots == list(range(slots.n_slots)):
        out.define("ET_LIST_SLOT(i)", "(i)")
    else:
        out.array(unsigned_type(max(lists.slots)), "et_list_slots", lists.slots, "slots that have lists")
        out.define("ET_LIST_SLOT(i)", "ET_READ(et_list_slots[i])")
    runs, lengths = [run for run, _ in lists.runs], [length for _, length in lists.runs]
    if len(set(lists.runs)) == 1:
        out.define("ET_LIST_RUN(i)", f"{runs[0]}u")
        out.define("ET_LIST_LENGTHS(i)", f"{lengths[0]}u")
    else:
        out.array("uint8_t", "et_list_runs", runs, "per slot: lists in the run of a state")
        out.array("uint8_t", "et_list_lengths", lengths, "per slot: lists in all")
        out.define("ET_LIST_RUN(i)", "ET_READ(et_list_runs[i])")
        out.define("ET_LIST_LENGTHS(i)", "ET_READ(et_list_lengths[i])")
    offset = unsigned_type(len(lists.clauses))
    out.array(offset, "et_list_starts", lists.starts, "where each list begins", typedef="et_offset")
    out.array("uint16_t", "et_lists", lists.clauses, "clauses that are false")
    class_, sign = ("uint8_t", "int8_t") if slots.model.n_classes <= 256 else ("uint16_t", "int16_t")
    fields = [(class_, "class_"), (sign, "sign"), ("uint16_t", "words")]
    out.records("et_group", fields, "et_list_groups", lists.groups, "class, sign, and words of four clauses")
    out.define("ET_LIST_WORDS", f"{len(lists.votes) // 4}u")
    heavy = [] if lists.copies_votes else lists.heavy.tolist()
    out.define("ET_LIST_HEAVY", f"{len(heavy)}u" if heavy else "0")
    if lists.copies_votes:
        words = lists.votes.reshape(-1, 4).astype(np.uint32) << (8 * np.arange(4, dtype=np.uint32))
        out.array("uint32_t", "et_list_votes", words.sum(axis=1), "votes of four clauses each")
        out.define("ET_LIST_VOTES(i)", "ET_READ(et_list_votes[i])")
    else:
        out.define("ET_LIST_VOTES(i)", "0x01010101u")
    if heavy:
        fields = [("uint16_t", "clause"), ("uint16_t", "votes")]
        rows = [(j, int(lists.votes[j])) for j in heavy]
        out.records("et_heavy_clause", fields, "et_heavy", rows, "clauses with more than one vote")


def _write_nodes(out: Tables, nodes: Nodes | None, fields: Sequence[tuple[str, str]]) -> None:
    out.define("ET_NODES", f"{len(nodes.words)}u" if nodes else "0")
    if nodes is None:
        return
    out.define("ET_ROOTS", f"{len(nodes.roots) - nodes.n_long}u")
    out.define("ET_LONG_ROOTS", f"{nodes.n_long}u")
    out.define("ET_SKIP_BITS", f"{nodes.skip_bits}u")
    out.define("ET_SKIP_MASK", f"{(1 << nodes.skip_bits) - 1}u")
    out.define("ET_LITERAL_WORDS", f"{nodes.n_literal_words}u")
    out.define("ET_LEAF_WORDS", f"{nodes.n_leaf_words}u")
    out.array(
        "uint16_t", "et_roots", [x for root in nodes.roots for x in root], "root literals, nodes below each"
    )
    out.array("uint16_t", "et_nodes", nodes.words, "literals with skips or votes")
    out.records(
        "et_vote", fields, "et_node_votes", [(0, 0), *_votes(nodes.votes)], "class and weight; the first ends"
    )


def write_compact(out: Tables, slots: Slots, stream: Payload) -> None:
    """Tables of runtime/compact.h."""
    out.define("ET_USES_LEADING_ZEROS", 1)
    out.define("ET_BOOLEANS", f"{slots.n_booleans}u")
    out.define("ET_SEGMENTS", stream.segments)
    out.define("ET_VOTES_PER_CLAUSE", int(stream.votes_per_clause))
    out.define("ET_COUNT_PARAMETER", f"{stream.count_parameter}u")
    out.define("ET_NEGATED_PARAMETER", f"{stream.negated_parameter}u")
    out.define("ET_CLASS_PARAMETER", f"{stream.class_parameter}u")
    out.define("ET_WEIGHT_PARAMETER", f"{stream.weight_parameter}u")
    out.array("uint8_t", "et_stream", [*stream.data, 0, 0, 0, 0], "the clauses")


def write_sliced(out: Tables, slots: Slots, tables: SlicedTables) -> None:
    """Tables of runtime/sliced.h."""
    out.define("ET_USES_LEADING_ZEROS", 0)
    out.define("ET_BOOLEANS", f"{tables.n_booleans}u")
    out.define("ET_COUNT_BITS", f"{tables.count_bits}u")
    out.define("ET_SUM_BITS", f"{tables.sum_bits}u")
    out.define("ET_SUM_OFFSET", tables.sum_offset)
    out.define("ET_CLASS_BITS", f"{max(1, (slots.model.n_classes - 1).bit_length())}u")
    if not slots.is_binary:
        write_tests(out, slots)
    if not slots.is_level:
        out.array("uint16_t", "et_slot_bases", slots.bases[:-1], "the first Boolean of each slot")
    out.define("ET_GROUPS", f"{len(tables.groups)}u")
    fields = [("uint16_t", "class_"), ("uint8_t", "shift"), ("uint8_t", "against"), ("uint16_t", "fours")]
    rows = [(class_, shift, int(against), fours) for class_, shift, against, fours in tables.groups]
    out.records("et_group", fields, "et_groups", rows, "class, power of two, sign, and number of fours")
    ctype = "uint8_t" if tables.literal_bytes == 1 else "uint16_t"
    out.array(ctype, "et_literals", tables.literals, "planes of the clauses, in fours", typedef="et_plane")
