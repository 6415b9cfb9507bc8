"""Tables of the layout "sliced". sliced.h says what they mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.ctext import Tables
from ethereal.export.c99.device_rows import Slots, make_cells
from ethereal.export.c99.layouts import FRAMES, Costs, Plan, booleanizing, costs_of_cells, row_bytes
from ethereal.export.c99.program import write_tests
from ethereal.model.clauses import decode

_FEW_CLAUSES = 6  # not worth a group of their own
# Instructions for 32 rows at once, fitted to what ten models of four data sets take.
_PER_LITERAL, _PER_BOOLEAN, _PER_SLOT = 5.7, 45.0, 70.0

_Groups = dict[tuple[int, bool, int], list[tuple[int, ...]]]  # class, against, shift -> clauses as planes


def plan(slots: Slots, rows: Callable[[], NDArray[np.bool_]], max_bytes: int | None) -> Plan:
    """Arrange the clauses of `slots`, in the same way for all rows."""
    # Slots of one Boolean are sliced four at a time.
    n_booleans = (slots.n_booleans + 3) // 4 * 4 if slots.is_binary else slots.n_booleans
    n_planes = 2 * n_booleans + 2  # of Booleans, then of as many negations, a false and a true one
    literals, groups = _arranged(slots, n_booleans)
    # Sums begin with an offset that no row can take below zero.
    votes = slots.model.weights[slots.model.clauses.lengths > 0].astype(np.int64)
    least, most = np.minimum(votes, 0).sum(axis=0), np.maximum(votes, 0).sum(axis=0)
    offset = int(-least.min(initial=0))
    sum_bits = int(most.max(initial=0) + offset).bit_length() or 1
    bytes_each = 1 if n_planes <= 256 else 2
    cells = make_cells(slots, most_bytes=bytes_each * len(literals) + 6 * len(groups))

    def write(out: Tables) -> None:
        out.define("ET_USES_LEADING_ZEROS", 0)
        out.define("ET_BOOLEANS", f"{n_booleans}u")
        out.define("ET_COUNT_BITS", f"{max((4 * fours for *_, fours in groups), default=4).bit_length()}u")
        out.define("ET_SUM_BITS", f"{sum_bits}u")
        out.define("ET_SUM_OFFSET", f"{offset}u")
        out.define("ET_CLASS_BITS", f"{max(1, (slots.model.n_classes - 1).bit_length())}u")
        if not slots.is_binary:
            write_tests(out, slots)
        if not slots.is_level:
            out.array("uint16_t", "et_slot_bases", slots.bases[:-1], "the first Boolean of each slot")
        out.define("ET_GROUPS", f"{len(groups)}u")
        fields = [("uint16_t", "class_"), ("uint8_t", "shift"), ("uint8_t", "against"), ("uint16_t", "fours")]
        out.records("et_group", fields, "et_groups", groups, "class, power of two, sign, and number of fours")
        note = "planes of the clauses, in fours"
        out.array(f"uint{8 * bytes_each}_t", "et_literals", literals, note, typedef="et_plane")

    stack = 32 * row_bytes(slots) + 64 + FRAMES  # 32 rows are on the stack
    if cells is not None:
        return Plan(write, cells, Costs(costs_of_cells(slots).instructions, stack))
    of_32 = _PER_LITERAL * len(literals) + _PER_BOOLEAN * slots.n_booleans + _PER_SLOT * slots.n_slots
    stack += 4 * n_planes + 4 * sum_bits * slots.model.n_classes
    return Plan(write, None, Costs(booleanizing(slots) + of_32 / 32, stack))


def _arranged(slots: Slots, n_booleans: int) -> tuple[list[int], list[tuple[int, int, int, int]]]:
    """Return numbers of literals and of planes, and the groups: class, shift, against, fours of clauses."""
    false, true = 2 * n_booleans, 2 * n_booleans + 1
    by_group: _Groups = defaultdict(list)
    for clause in slots.clauses:
        decoded = (decode(x, slots.n_booleans) for x in clause.literals)
        planes = tuple(boolean + negated * n_booleans for boolean, negated in decoded)
        for vote in clause.votes:
            for shift in range(abs(vote.weight).bit_length()):
                if abs(vote.weight) >> shift & 1:
                    by_group[vote.class_, vote.weight < 0, shift].append(planes)
    _fold(by_group)
    literals: list[int] = []
    groups: list[tuple[int, int, int, int]] = []
    for (class_, against, shift), members in sorted(by_group.items()):
        members.sort(key=lambda planes: (len(planes), planes))
        members += [(false,)] * (-len(members) % 4)
        for i in range(0, len(members), 4):
            length = max(map(len, members[i : i + 4]))
            literals.append(length - 1)
            literals += [x for four in zip_longest(*members[i : i + 4], fillvalue=true) for x in four]
        groups.append((class_, shift, int(against), len(members) // 4))
    return literals, groups


def _fold(by_group: _Groups) -> None:
    """Count the few clauses of a weight twice with half of it instead."""
    for class_, against, shift in sorted(by_group, key=lambda side: -side[2]):
        members = by_group[class_, against, shift]
        if shift > 0 and len(members) < _FEW_CLAUSES:
            by_group[class_, against, shift - 1] += 2 * members
            del by_group[class_, against, shift]
