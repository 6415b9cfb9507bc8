"""The layout "straight": code over features, without tables of its own and without a Booleanized row.

`tree.py` nests the tests, `fields.py` has the sums, `write.py` the C, and this file estimates what it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.ctext import Tables
from ethereal.export.c99.device_rows import Slots
from ethereal.export.c99.layouts import FRAMES, Costs, Plan
from ethereal.export.c99.layouts.straight.fields import Fields, make_fields, move_votes
from ethereal.export.c99.layouts.straight.tree import Block, Builder, If, Test, asked_tests
from ethereal.export.c99.layouts.straight.write import Writer, arrange
from ethereal.model.output import early_answers, parts_of

_WORD = 1 << 32
# Instructions and bytes on a Cortex-M7, fitted to what twenty pruned models of five data sets take.
_SHORT_TEST, _TEST, _NAN = (3.25, 9.7), (3.9, 13.6), (2.0, 8.0)
_SHORT_VOTE, _LONG_VOTE = (1.0, 3.0), (2.65, 6.4)
_PER_CLASS, _PER_WORD, _ALWAYS = (5.0, 14.0), (3.0, 8.0), (15.0, 40.0)
_PER_CHECK, _CHECK_PER_CLASS = (15.0, 40.0), (7.0, 16.0)
_ROUND_UP = 1.15


@dataclass
class Amount:
    """Instructions that an average row executes, and bytes."""

    instructions: float = 0.0
    bytes: float = 0.0

    def add(self, what: tuple[float, float], share: float = 1.0, times: float = 1.0) -> None:
        """Add code that a share of the rows executes."""
        self.instructions += share * what[0] * times
        self.bytes += what[1] * times


def is_held(constant: int) -> bool:
    """Whether an instruction of a Cortex-M7 holds a constant or its opposite.

    That is so up to twelve bits, or for eight bits anywhere in the word.

    >>> is_held(0xFF000), is_held(-3), is_held(4095), is_held(0x10001), is_held(4097)
    (True, True, True, False, False)
    """
    both = constant % _WORD, -constant % _WORD
    return any(one < 4096 or one >> ((one & -one).bit_length() - 1) < 256 for one in both)


class Estimator:
    """Estimates the code of one model."""

    def __init__(self, slots: Slots, fields: Fields) -> None:
        self._slots = slots
        self._fields = fields
        self._is_float = slots.model.fitted is not None and not slots.scales
        self._accepts_missing = self._is_float and slots.accepts_missing

    def costs(self, parts: Sequence[Block], shares: Sequence[float]) -> Costs:
        """Return what a row takes, if these shares of all rows come to the parts of the code."""
        amount = Amount()
        amount.add(_PER_CLASS, times=len(self._fields.of_class) - self._fields.n_bits)
        amount.add(_PER_WORD, times=self._fields.n_words)
        amount.add(_ALWAYS)
        for part, share in zip(parts, shares, strict=True):
            for item in part.items:
                self._question(item, amount, part.weight / max(share, 1e-9), share)
        for share in shares[:-1]:
            amount.add(self.check, share)
        stack = 4 * self._fields.n_words + FRAMES // 2
        return Costs(amount.instructions, stack, round(_ROUND_UP * amount.bytes))

    @property
    def check(self) -> tuple[float, float]:
        """Instructions and bytes of a check whether the answer is known."""
        n = len(self._fields.of_class)
        return _PER_CHECK[0] + _CHECK_PER_CLASS[0] * n, _PER_CHECK[1] + _CHECK_PER_CLASS[1] * n

    def instructions(self, item: If, rows: float) -> float:
        """Return the instructions of one question."""
        amount = Amount()
        self._question(item, amount, rows, 1.0)
        return amount.instructions

    def _question(self, item: If, amount: Amount, rows: float, share: float) -> None:
        n_tests = item.asked.n_tests
        for test in asked_tests(item.asked):
            rows_per_test = share * item.tests / n_tests
            amount.add(self._test(test), rows_per_test)
            if self._accepts_missing and test.kind == "above":
                amount.add(_NAN, rows_per_test)
        for side in (item.then, item.otherwise):
            part = side.weight / rows
            for word in self._fields.words(side.votes.tolist()):
                if word:
                    amount.add(_SHORT_VOTE if is_held(word) else _LONG_VOTE, part)
            for inner in side.items:
                self._question(inner, amount, rows, part)

    def _test(self, test: Test) -> tuple[float, float]:
        if self._is_float:
            return _TEST
        scales = self._slots.scales
        threshold = scales[test.feature].threshold(test.threshold) if scales and test.kind == "above" else 0
        return _SHORT_TEST if is_held(threshold) or is_held(threshold + 1) else _TEST


def plan(slots: Slots, rows: Callable[[], NDArray[np.bool_]], max_bytes: int | None) -> Plan:
    """Arrange the clauses of `slots`, in the same way whatever bytes there are."""
    model, typical = slots.model, rows()
    builder = Builder(slots, typical)
    votes = np.cumsum(
        (model.clauses.lengths > 0) & model.weights.any(axis=1)
    )  # the others are not in `slots`
    ends = [0, *(int(votes[check.n_clauses - 1]) for check in model.early), len(slots.clauses)]
    parts = [builder.build(first, last) for first, last in pairwise(ends)]
    fields = make_fields(parts)
    for part in parts:
        move_votes(part, fields)
    costs = Estimator(slots, fields).costs(parts, _shares(slots, typical))

    def write(out: Tables) -> None:
        for part in parts:
            arrange(part)
        Writer(slots, fields).write(out, parts)

    return Plan(write, None, costs)


def _shares(slots: Slots, typical: NDArray[np.bool_]) -> list[float]:
    """Return the share of typical rows that comes to each part."""
    if not slots.model.early:
        return [1.0]
    booleans = np.zeros((len(typical), slots.model.n_booleans), dtype=bool)
    booleans[:, slots.used] = typical
    _, known = early_answers(slots.model, parts_of(slots.model), lambda part: part._votes(booleans))
    return [float((known >= i).mean()) for i in range(len(slots.model.early) + 1)]
