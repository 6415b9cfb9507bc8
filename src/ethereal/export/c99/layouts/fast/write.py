"""Write the tables of the layout "fast" as C, see fast.h."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ethereal.export.c99.device_rows import Slots, Vote
from ethereal.export.c99.layouts.fast.lists import Lists
from ethereal.export.c99.layouts.fast.masks import Masks
from ethereal.export.c99.layouts.fast.nodes import Nodes
from ethereal.export.c99.tables import Tables, unsigned_type

if TYPE_CHECKING:
    from ethereal.export.c99.layouts.fast.tables import FastTables


def write_fast(out: Tables, slots: Slots, tables: FastTables) -> None:
    """Write all tables."""
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
