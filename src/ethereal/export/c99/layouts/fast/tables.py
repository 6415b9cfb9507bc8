"""Tables of the layout "fast": each clause in masks, lists or a tree, see fast.h."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.cells import make_cells
from ethereal.export.c99.costs import Costs, booleanizing, costs_of_cells, costs_of_row, reading_a_cell
from ethereal.export.c99.device_rows import Slots
from ethereal.export.c99.layouts.fast.lists import Lists, make_lists
from ethereal.export.c99.layouts.fast.masks import Masks, make_masks
from ethereal.export.c99.layouts.fast.nodes import Nodes, make_nodes
from ethereal.export.c99.layouts.fast.write import write_fast
from ethereal.export.c99.layouts.plan import Plan

# Clauses with more false literals than this in an average row go to the tree, the others to lists.
_LIMITS = (-1.0, 1.2, 2.2, 3.5)
# Bytes times instructions to this power decide: twice the bytes are worth 30 % fewer instructions.
_WORTH = 2


@dataclass(frozen=True)
class FastTables:
    """What the runtime needs."""

    masks: Masks | None
    lists: Lists | None
    nodes: Nodes | None

    @property
    def bytes(self) -> int:
        """Size of the tables."""
        return sum(part.bytes for part in (self.masks, self.lists, self.nodes) if part is not None)

    def bias(self, n_classes: int) -> NDArray[np.int64]:
        """What class sums begin with."""
        zero = np.zeros(n_classes, dtype=np.int64)
        masks = zero if self.masks is None else self.masks.bias
        return masks + (zero if self.lists is None else self.lists.bias(n_classes))

    @property
    def flash_bytes(self) -> int:
        """The tables and, estimated on a Cortex-M7, the code that reads them."""
        long_clauses = self.nodes is not None and self.nodes.n_long > 0
        return self.bytes + sum(
            code
            for code, is_there in (
                (160, True),
                (430, self.masks is not None),
                (370, self.lists is not None),
                (130, self.nodes is not None),
                (120, long_clauses),
            )
            if is_there
        )

    @property
    def instructions(self) -> float:
        """Expected per row, on a Cortex-M7."""
        return sum(part.instructions for part in (self.masks, self.lists, self.nodes) if part is not None)


def plan(slots: Slots, rows: Callable[[], NDArray[np.bool_]], max_bytes: int | None) -> Plan:
    """Arrange the clauses of `slots`."""
    tables = fast_tables(slots, rows(), max_bytes)
    cells = make_cells(slots, most_bytes=most_cell_bytes(tables, slots, max_bytes))
    return Plan(
        write=lambda out: write_fast(out, slots, tables),
        cells=cells,
        costs=_costs(slots, tables) if cells is None else costs_of_cells(slots),
        unfolds=tables.nodes is not None and not slots.is_binary,
        reads_states=tables.masks is not None,
        may_fuse=tables.masks is not None and tables.masks.is_one_block,
    )


def _costs(slots: Slots, tables: FastTables) -> Costs:
    stack = 0
    if tables.masks is not None:
        stack += 8 * tables.masks.words.shape[2]
    if tables.lists is not None:
        stack += len(tables.lists.votes)
    if tables.nodes is not None:
        words = 2 * tables.nodes.n_literal_words + 2 * tables.nodes.n_leaf_words + 1
        stack += 4 * words + (0 if slots.is_binary else 4 * tables.nodes.n_literal_words)
    return costs_of_row(slots, tables.instructions, stack)


def fast_tables(slots: Slots, rows: NDArray[np.bool_], max_bytes: int | None = None) -> FastTables:
    """Choose the tables with which `rows` (rows x used Booleans) are expected to cost least.

    `max_bytes` bounds the tables with their code where that is possible. Without it, flash is paid for by
    speed: tables that take twice the bytes must save 30 % of a row's instructions, Booleanizing counted.
    """
    best: FastTables | None = None
    own = booleanizing(slots)
    for tables in _candidates(slots, rows):
        if best is None or _rank(tables, own, max_bytes) < _rank(best, own, max_bytes):
            best = tables
    return best or FastTables(None, None, None)


def most_cell_bytes(tables: FastTables, slots: Slots, max_bytes: int | None) -> int:
    """Bytes that a table of the classes of all rows may take instead of `tables`, by the same rule."""
    if max_bytes is not None:
        return max(tables.bytes, max_bytes)
    own = booleanizing(slots)
    quicker = (tables.instructions + own) / (reading_a_cell(slots.n_slots) + own)
    return int(tables.bytes * max(1.0, quicker**_WORTH))


def _rank(tables: FastTables, booleanize: float, max_bytes: int | None) -> tuple[float, float]:
    if max_bytes is None:
        return 0, tables.flash_bytes * (tables.instructions + booleanize) ** _WORTH
    return max(0, tables.flash_bytes - max_bytes), tables.instructions


def _candidates(slots: Slots, rows: NDArray[np.bool_]) -> list[FastTables]:
    clauses = slots.clauses
    if not clauses:
        return []
    p_true = rows.mean(axis=0)
    p_false = np.concatenate([1.0 - p_true, p_true])
    false_literals = np.array([p_false[list(c.literals)].sum() for c in clauses])  # in an average row
    candidates = [FastTables(masks, None, None) for masks in make_masks(slots, clauses, rows)]
    for copies in (False, True):
        candidates.append(FastTables(None, make_lists(slots, clauses, p_true, copies_votes=copies), None))
    for limit in _LIMITS if slots.is_level else ():
        in_tree = np.flatnonzero(false_literals > limit)
        nodes = make_nodes(slots, [clauses[j] for j in in_tree], rows)
        if nodes is None:
            continue
        listed = np.setdiff1d(np.arange(len(clauses)), in_tree)
        if len(listed) == 0:
            candidates.append(FastTables(None, None, nodes))
            continue
        for copies in (False, True):
            own = [clauses[j] for j in listed]
            candidates.append(FastTables(None, make_lists(slots, own, p_true, copies_votes=copies), nodes))
    return candidates
