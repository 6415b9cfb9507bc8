"""What straight code can ask of a feature: comparisons, each true in some states of a slot.

States are sets of bits. A comparison is false for a missing value, whatever state that is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ethereal.export.c99.device_rows import Slot, Slots

States = int  # a bit per state of a slot


@dataclass(frozen=True)
class Test:
    """One question about a row."""

    slot: int
    feature: int
    kind: Literal["above", "missing", "true"]
    threshold: float  # of "above"
    states: States  # in which it is true


@dataclass(frozen=True)
class Asked:
    """A condition: one test or its opposite, or several conditions of which all or any must hold."""

    how: Literal["test", "not", "all", "any"]
    test: Test | None = None
    parts: tuple[Asked, ...] = ()

    @property
    def n_tests(self) -> int:
        """Number of tests in it."""
        return 1 if self.test is not None else sum(part.n_tests for part in self.parts)


def asked_tests(asked: Asked) -> list[Test]:
    """Return the tests of a condition, in the order in which they are made."""
    if asked.test is not None:
        return [asked.test]
    return [test for part in asked.parts for test in asked_tests(part)]


class SlotTests:
    """The tests of all slots."""

    def __init__(self, slots: Slots) -> None:
        self.every: list[States] = [(1 << slot.n_states) - 1 for slot in slots.slots]
        self.of_slot = [_tests(s, slot) for s, slot in enumerate(slots.slots)]

    def condition(self, slot: int, wanted: States, possible: States) -> Asked:
        """Return what to ask so that the state is one of `wanted`, when it is one of `possible`."""
        wanted &= possible
        tests = self.of_slot[slot]
        for test in tests:
            if test.states & possible == wanted:
                return Asked("test", test)
            if ~test.states & possible == wanted:
                return Asked("not", test)
        levels = [test for test in tests if test.kind == "above"]
        absent = next((test for test in tests if test.kind == "missing"), None)
        if absent is not None and absent.states & possible and possible & ~absent.states:
            # What comparisons take a missing value for is the lowest state.
            inner = self.condition(slot, wanted & ~absent.states, possible & ~absent.states)
            if wanted & absent.states:
                return _join("any", Asked("test", absent), inner)
            return _join("all", Asked("not", absent), inner)
        runs = _runs(wanted, possible, len(levels) + 1)
        return _join("any", *(_between(levels, run, possible) for run in runs))


def _tests(s: int, slot: Slot) -> list[Test]:
    if slot.kind == "level" and not slot.thresholds:
        return [Test(s, slot.feature, "true", 0.0, 0b10)]
    above = (1 << (len(slot.thresholds) + 1)) - 1
    found = [
        Test(s, slot.feature, "above", t, above & ~((1 << (i + 1)) - 1))
        for i, t in enumerate(slot.thresholds)
    ]
    if slot.missing_state:
        found.append(Test(s, slot.feature, "missing", 0.0, 1 << slot.missing_state))
    return found


def _runs(wanted: States, possible: States, n: int) -> list[tuple[int, int]]:
    """Return the first and last of neighbouring wanted states, passing over those that are not possible.

    >>> _runs(0b01101, 0b11101, 5), _runs(0b1001, 0b1111, 4)
    ([(0, 3)], [(0, 0), (3, 3)])
    """
    found: list[tuple[int, int]] = []
    is_open = False
    for state in range(n):
        if not possible >> state & 1:
            continue
        if not wanted >> state & 1:
            is_open = False
            continue
        found[-1:] = [(found[-1][0], state)] if is_open else [*found[-1:], (state, state)]
        is_open = True
    return found


def _between(levels: list[Test], run: tuple[int, int], possible: States) -> Asked:
    """Return what to ask so that the state lies from the first to the last of a run."""
    first, last = run
    parts = []
    if possible & ((1 << first) - 1):
        parts.append(Asked("test", levels[first - 1]))
    if possible >> (last + 1) & ((1 << (len(levels) - last)) - 1):
        parts.append(Asked("not", levels[last]))
    return _join("all", *parts)


def _join(how: Literal["all", "any"], *parts: Asked) -> Asked:
    return parts[0] if len(parts) == 1 else Asked(how, parts=parts)
