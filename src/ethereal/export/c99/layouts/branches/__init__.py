"""The code of the layout "branches", and the votes that kept rows are replayed with.

It is straight code in which every clause votes for its class and, with one vote, for itself. So the words of
sums end with a bit per clause, and the votes of likely clauses are moved as those of straight code are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ethereal.adapt.learning import SIXTEENTHS
from ethereal.export.c99.ctext import Tables
from ethereal.export.c99.device_rows import SlotClause, Slots, Vote
from ethereal.export.c99.layouts import Costs, Plan
from ethereal.export.c99.layouts.lists import BLOCK, write_votes
from ethereal.export.c99.layouts.straight import Estimator, Writer, arrange, function_of, sum_of
from ethereal.export.c99.layouts.straight.tree import (
    Block,
    Builder,
    Field,
    Fields,
    bounds,
    move_votes,
    sum_fields,
)

# Instructions of a Cortex-M7 beside the branches: of a clause that fires, and of a learned vote of it.
_PER_FIRED, _PER_VOTE, _PER_CLAUSE = 16.5, 1.1, 1.2
_WORD = 32


def plan(slots: Slots, rows: Callable[[], NDArray[np.bool_]], max_bytes: int | None) -> Plan:
    """Arrange the clauses of `slots`, in the same way whatever bytes there are."""
    n_classes, n_clauses = slots.model.n_classes, len(slots.clauses)
    typical = rows()
    voting = []
    for j, clause in enumerate(slots.clauses):
        votes = (Vote(vote.class_, vote.weight // SIXTEENTHS) for vote in clause.votes)
        voting.append(SlotClause(clause.literals, (*votes, Vote(n_classes + j, 1))))
    code = Builder(slots, typical, voting, n_classes + n_clauses).build()
    fields = _fields(code, n_classes, n_clauses)
    move_votes(code, fields)
    costs = Estimator(slots, fields).costs([code], [1.0])
    booleans = slots.every_boolean(typical)
    fired = float(slots.model.clauses.fires(booleans).sum(axis=1).mean()) if len(typical) else n_clauses / 4
    n_all = n_classes + slots.n_new_classes
    learned = fired * (_PER_FIRED + _PER_VOTE * n_all) + _PER_CLAUSE * n_clauses
    stack = costs.stack_bytes + 4 * n_all + BLOCK

    def write(out: Tables) -> None:
        out.define("ET_CLAUSES", f"{n_clauses}u")
        write_votes(out, [clause.votes for clause in slots.clauses])
        arrange(code)
        _BitWriter(slots, fields).write(out, [code])

    return Plan(write, None, Costs(costs.instructions + learned, stack, costs.code_bytes))


def _fields(code: Block, n_classes: int, n_clauses: int) -> Fields:
    """Return fields of class sums, and behind them a bit per clause in words of their own."""
    low, high = bounds(code)
    sums = sum_fields(low[:n_classes], high[:n_classes])
    bits = [Field(sums.n_words + j // _WORD, j % _WORD, 1, 0) for j in range(n_clauses)]
    n_words = sums.n_words + (n_clauses + _WORD - 1) // _WORD
    return Fields((*sums.of_class, *bits), n_words, n_bits=n_clauses)


class _BitWriter(Writer):
    """Writes straight code that leaves the words with the bits of the clauses in memory."""

    def __init__(self, slots: Slots, fields: Fields) -> None:
        super().__init__(slots, fields)
        self._n_kept = fields.n_words - (fields.n_bits + _WORD - 1) // _WORD

    def write(self, out: Tables, parts: Sequence[Block]) -> None:
        """Write definitions and functions."""
        self._define(out, 1)
        out.define("ET_SUM_WORDS", f"{self._n_kept}u /* words of sums, before those of the clauses */")
        self._write_sums(out, ["et_sum"], parts)
        class_fields = self._fields.of_class[: self._slots.model.n_classes]
        lines = [f"votes[{c}] = ({sum_of(field)}) * {SIXTEENTHS};" for c, field in enumerate(class_fields)]
        lines += [f"votes[{len(class_fields) + i}] = 0;" for i in range(self._slots.n_new_classes)]
        out.code(function_of("static void et_unpack(const uint32_t *sums, int32_t *votes)", lines))

    def _voted(self, c: int, votes: int) -> str:
        first = self._slots.model.n_classes
        return super()._voted(c, votes) if c < first else f"{votes:+d} clause {c - first}"
