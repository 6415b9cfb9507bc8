"""Tables of the layout "lists": the tests of each clause, and its votes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ethereal.adapt.learning import SIXTEENTHS
from ethereal.export.c99.ctext import Tables, unsigned_type
from ethereal.export.c99.device_rows import Slots, Vote
from ethereal.export.c99.layouts import Plan, costs_of_row

# Instructions on a Cortex-M7, fitted to what six models take.
_PER_TEST, _PER_CLAUSE, _PER_VOTE = 10.0, 22.0, 7.0
BLOCK = 256  # clauses whose numbers are on the stack while votes are added
Test = tuple[int, int, int]  # slot, lowest state, and how many more states after it, counted modulo 256


def plan(slots: Slots, rows: Callable[[], NDArray[np.bool_]], max_bytes: int | None) -> Plan:
    """Arrange the clauses of `slots` in the model's order. Tests that fail often on `rows` come first."""
    states = slots.rows(slots.every_boolean(rows()))
    clauses = [_ordered(tests_of(slots, clause.literals), states) for clause in slots.clauses]

    def write(out: Tables) -> None:
        out.define("ET_USES_LEADING_ZEROS", 0)
        out.define("ET_CLAUSES", f"{len(clauses)}u")
        slot = unsigned_type(slots.n_slots - 1)
        fields = [(slot, "slot"), ("uint8_t", "low"), ("uint8_t", "span")]
        out.array("uint8_t", "et_test_counts", map(len, clauses), "tests of each clause")
        every = [test for tests in clauses for test in tests]
        out.records(
            "et_test", fields, "et_list", every, "a slot is in `low` or one of `span` states after it"
        )
        write_votes(out, [clause.votes for clause in slots.clauses])

    asked, fired = _met(clauses, states)
    per_row = _PER_TEST * asked + _PER_CLAUSE * len(clauses) + _PER_VOTE * fired * slots.model.n_classes
    return Plan(write, None, costs_of_row(slots, per_row, BLOCK))


def write_votes(out: Tables, votes: Sequence[Sequence[Vote]]) -> None:
    """Write the votes of each clause, given in sixteenths, as whole ones."""
    heaviest = max(abs(vote.weight) for of_clause in votes for vote in of_clause) // SIXTEENTHS
    ends = np.cumsum([0, *map(len, votes)])
    out.array(unsigned_type(int(ends[-1])), "et_vote_ends", ends, "where the votes of each clause begin")
    out.array(
        "uint8_t", "et_vote_classes", [v.class_ for of_clause in votes for v in of_clause], "their classes"
    )
    weights = [v.weight // SIXTEENTHS for of_clause in votes for v in of_clause]
    out.array("int8_t" if heaviest < 128 else "int16_t", "et_vote_weights", weights,
              "and how many each", typedef="et_weight")  # fmt: skip


def tests_of(slots: Slots, literals: tuple[int, ...]) -> list[Test]:
    """Return the tests of a clause. Several literals of a slot are one test where its states follow."""
    wanted: dict[int, list[frozenset[int]]] = {}
    for literal in literals:
        slot, states = slots.states_of(literal)
        wanted.setdefault(slot, []).append(states)
    tests: list[Test] = []
    for slot, sets in wanted.items():
        n = slots.slots[slot].n_states
        together = _interval(frozenset.intersection(*sets), n)
        for low, span in [together] if together is not None else [_interval(each, n) for each in sets]:  # type: ignore[misc]
            tests.append((slot, low, span))
    return tests


def _interval(states: frozenset[int], n_states: int) -> tuple[int, int] | None:
    """Return the first of states in a row and how many follow, or None if they are not in a row.

    >>> _interval(frozenset({2, 3}), 4), _interval(frozenset({0, 2}), 3), _interval(frozenset({0, 3}), 4)
    ((2, 1), (2, 254), None)
    """
    if not states:
        return None
    low, high = min(states), max(states)
    if len(states) == high - low + 1:
        return low, high - low
    (missing, *others) = set(range(n_states)) - states
    return None if others else (missing + 1, 254)  # 256 states in a ring without this one


def _ordered(tests: list[Test], states: NDArray[np.uint8]) -> list[Test]:
    return sorted(tests, key=lambda test: (float(_holds(test, states).mean()), test))


def _holds(test: Test, states: NDArray[np.uint8]) -> NDArray[np.bool_]:
    slot, low, span = test
    return (states[:, slot].astype(np.int64) - low) % 256 <= span


def _met(clauses: list[list[Test]], states: NDArray[np.uint8]) -> tuple[float, float]:
    """Return how many tests a typical row asks, and how many clauses fire on it."""
    asked = fired = 0.0
    for tests in clauses:
        alive = np.ones(len(states), dtype=bool)
        for test in tests:
            asked += float(alive.mean())
            alive &= _holds(test, states)
        fired += float(alive.mean())
    return asked, fired
