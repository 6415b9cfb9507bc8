"""Tables of the layout "sliced". sliced.h says what they mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

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


@dataclass(frozen=True)
class SlicedTables:
    """What the runtime needs."""

    n_booleans: int  # planes of Booleans, then come as many negations, a false and a true plane
    literals: list[int]  # numbers of literals and of planes
    groups: list[tuple[int, int, bool, int]]  # class, shift, against, fours of clauses
    count_bits: int  # of the clauses in a group
    sum_bits: int
    sum_offset: int

    @property
    def n_planes(self) -> int:
        """Planes in all."""
        return 2 * self.n_booleans + 2

    @property
    def literal_bytes(self) -> int:
        """Size of a plane's number."""
        return 1 if self.n_planes <= 256 else 2

    @property
    def bytes(self) -> int:
        """Size of the tables."""
        return self.literal_bytes * len(self.literals) + 6 * len(self.groups)


def plan(slots: Slots, rows: Callable[[], NDArray[np.bool_]], max_bytes: int | None) -> Plan:
    """Arrange the clauses of `slots`, in the same way for all rows."""
    tables = sliced_tables(slots)
    cells = make_cells(slots, most_bytes=tables.bytes)
    return Plan(lambda out: _write(out, slots, tables), cells, _costs(slots, tables, cells is not None))


def _costs(slots: Slots, tables: SlicedTables, has_cells: bool) -> Costs:
    """Return the costs of a row. 32 rows are on the stack."""
    stack = 32 * row_bytes(slots) + 64 + FRAMES
    if has_cells:
        return Costs(costs_of_cells(slots).instructions, stack)
    planes = 4 * tables.n_planes + 4 * tables.sum_bits * slots.model.n_classes
    of_32 = _PER_LITERAL * len(tables.literals) + _PER_BOOLEAN * slots.n_booleans + _PER_SLOT * slots.n_slots
    return Costs(booleanizing(slots) + of_32 / 32, stack + planes)


def _write(out: Tables, slots: Slots, tables: SlicedTables) -> None:
    out.define("ET_USES_LEADING_ZEROS", 0)
    out.define("ET_BOOLEANS", f"{tables.n_booleans}u")
    out.define("ET_COUNT_BITS", f"{tables.count_bits}u")
    out.define("ET_SUM_BITS", f"{tables.sum_bits}u")
    out.define("ET_SUM_OFFSET", f"{tables.sum_offset}u")
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


def sliced_tables(slots: Slots) -> SlicedTables:
    """Return the tables for the clauses of `slots`."""
    # Slots of one Boolean are sliced four at a time.
    n_booleans = (slots.n_booleans + 3) // 4 * 4 if slots.is_binary else slots.n_booleans
    false, true = 2 * n_booleans, 2 * n_booleans + 1
    by_group: _Groups = defaultdict(list)
    most, least = np.zeros((2, slots.model.n_classes), dtype=np.int64)
    for clause in slots.clauses:
        decoded = (decode(x, slots.n_booleans) for x in clause.literals)
        planes = tuple(boolean + negated * n_booleans for boolean, negated in decoded)
        sides = [
            (vote.class_, vote.weight < 0, shift)
            for vote in clause.votes
            for shift in range(abs(vote.weight).bit_length())
            if abs(vote.weight) >> shift & 1
        ]
        for side in sides:
            by_group[side].append(planes)
        for vote in clause.votes:
            most[vote.class_] += max(vote.weight, 0)
            least[vote.class_] += min(vote.weight, 0)
    _fold(by_group)
    literals: list[int] = []
    groups: list[tuple[int, int, bool, int]] = []
    for (class_, against, shift), members in sorted(by_group.items()):
        members.sort(key=lambda planes: (len(planes), planes))
        fours = [members[i : i + 4] for i in range(0, len(members), 4)]
        fours[-1] = fours[-1] + [(false,)] * (4 - len(fours[-1]))
        for four in fours:
            length = max(len(planes) for planes in four)
            literals.append(length - 1)
            for i in range(length):
                literals += [planes[i] if i < len(planes) else true for planes in four]
        groups.append((class_, shift, against, len(fours)))
    # Sums begin with an offset that no row can take below zero.
    offset = int(-least.min(initial=0))
    return SlicedTables(
        n_booleans=n_booleans,
        literals=literals,
        groups=groups,
        count_bits=max((4 * fours for *_, fours in groups), default=4).bit_length(),
        sum_bits=int(most.max(initial=0) + offset).bit_length() or 1,
        sum_offset=offset,
    )


def _fold(by_group: _Groups) -> None:
    """Count the few clauses of a weight twice with half of it instead."""
    for class_, against, shift in sorted(by_group, key=lambda side: -side[2]):
        members = by_group[class_, against, shift]
        if shift > 0 and len(members) < _FEW_CLAUSES:
            by_group[class_, against, shift - 1] += 2 * members
            del by_group[class_, against, shift]
