"""Clauses as nested tests of features, and their votes, which are added to fields of words.

A test is a comparison that is true in some states of a slot. States are sets of bits. A comparison is false
for a missing value, whatever state that is.

The test that saves most on typical rows becomes `if (x > t) ... else ...`, with the clauses that it leaves
alive on either side. The other clauses follow after it. A clause of several features is written once. A
clause of one feature may be written on both sides, so that such clauses become a search over thresholds.

That tears the leaves of a tree apart, because other trees ask for the same test. So clauses can also be
placed in groups of which at most one clause fires (`groups.py`). Within a group, a test that decides every
clause comes first. Then a tree is written as the tree that it was.

Class sums are fields of as few 32-bit words as their ranges allow. A word is added to as a whole. A borrow
between two fields is undone by the votes to come, because every field holds a number from zero on at the end:
it starts with an offset that no row can take below zero.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import accumulate, groupby
from operator import or_
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.device_rows import Slot, SlotClause, Slots, bits_of

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

    @cached_property
    def tests(self) -> list[Test]:
        """The tests in it, in the order in which they are made."""
        if self.test is not None:
            return [self.test]
        return [test for part in self.parts for test in part.tests]


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


def _same_feature(slots: Slots) -> list[tuple[list[int], int | None]]:
    """Return the slots of features that have several: those of thresholds, ascending, and that of missing."""
    levels: dict[int, list[int]] = defaultdict(list)
    missing: dict[int, int] = {}
    for s, slot in enumerate(slots.slots):
        if slot.kind == "level" and slot.thresholds:
            levels[slot.feature].append(s)
        elif slot.kind == "missing":
            missing[slot.feature] = s
    several = [f for f, of_feature in levels.items() if len(of_feature) > 1 or f in missing]
    return [(levels[f], missing.get(f)) for f in several]


def _tests(s: int, slot: Slot) -> list[Test]:
    if slot.kind == "level" and not slot.thresholds:
        return [Test(s, slot.feature, "true", 0.0, 0b10)]
    above = (1 << (len(slot.thresholds) + 1)) - 1
    tests = [Test(s, slot.feature, "above", t, above & (-2 << i)) for i, t in enumerate(slot.thresholds)]
    if slot.missing_state:
        tests.append(Test(s, slot.feature, "missing", 0.0, 1 << slot.missing_state))
    return tests


def _runs(wanted: States, possible: States, n: int) -> list[tuple[int, int]]:
    """Return the first and last of neighbouring wanted states, passing over those that are not possible.

    >>> _runs(0b01101, 0b11101, 5), _runs(0b1001, 0b1111, 4)
    ([(0, 3)], [(0, 0), (3, 3)])
    """
    states = [state for state in range(n) if possible >> state & 1]
    together = [
        (is_wanted, list(run)) for is_wanted, run in groupby(states, lambda state: wanted >> state & 1)
    ]
    return [(run[0], run[-1]) for is_wanted, run in together if is_wanted]


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


Votes = NDArray[np.int64]  # per class
# Instructions of a Cortex-M7 that the tree is built by: of a test and of votes.
TEST, VOTE = 4.0, 1.5
_DEEPEST = 60  # nested tests. C compilers need not take more than 127 blocks within each other.
_RARE = 0.25  # rows that are thought to come anywhere, so that code which no typical row reaches is short


@dataclass
class Block:
    """Code that is executed together: votes, and questions one after the other."""

    weight: float  # rows that come here
    votes: Votes
    items: list[If] = field(default_factory=list)

    @property
    def n_tests(self) -> int:
        """Tests in it."""
        return sum(item.n_tests for item in self.items)


@dataclass
class If:
    """A condition with what is done if it holds, and if not."""

    asked: Asked
    then: Block
    otherwise: Block
    tests: float  # of it that a row at hand makes, on average
    clauses: tuple[int, ...] = ()  # that it is for

    @property
    def n_tests(self) -> int:
        """Tests in it."""
        return len(self.asked.tests) + self.then.n_tests + self.otherwise.n_tests

    def every_test(self) -> list[Test]:
        """Return all tests in it, in the order in which they are written."""
        inner = (*self.then.items, *self.otherwise.items)
        return [*self.asked.tests, *(test for item in inner for test in item.every_test())]


class Open(NamedTuple):
    """A clause with what is still to be asked: the states that it wants of each slot."""

    wants: tuple[tuple[int, States], ...]
    votes: Votes
    clauses: tuple[int, ...]  # its number, or those of several with the same literals


class Builder:
    """Makes the code of a model."""

    def __init__(
        self, slots: Slots, rows: NDArray[np.bool_], clauses: Sequence[SlotClause] = (), n_classes: int = 0
    ) -> None:
        """Make the code of the clauses of `slots`, or of other `clauses` that vote for so many classes."""
        self.tests = SlotTests(slots)
        self._n_classes = n_classes or slots.model.n_classes
        states = slots.rows(slots.every_boolean(rows))
        self._rows_in: list[list[int]] = [
            [bits_of(column == state) for state in range(slot.n_states)]
            for slot, column in zip(slots.slots, states.T, strict=True)
        ]
        self._everything = (1 << len(rows)) - 1
        # The rows in which a slot is in a state below each. A row is in one state of a slot.
        self._rows_below = [list(accumulate(of_slot, or_, initial=0)) for of_slot in self._rows_in]
        self._truths: dict[tuple[int, States], int] = {}
        self._of_literal: dict[int, tuple[int, States]] = {}
        self._clauses = [self._open(slots, i, clause) for i, clause in enumerate(clauses or slots.clauses)]
        # Thresholds of one feature, and whether it is missing, may be in several slots.
        self._levels: dict[int, tuple[list[int], int | None]] = {}
        for levels, missing in _same_feature(slots):
            of_feature = levels if missing is None else [*levels, missing]
            self._levels |= dict.fromkeys(of_feature, (levels, missing))

    def build(self, first: int = 0, last: int | None = None) -> Block:
        """Return the code of all clauses, or of those from the first to before the last."""
        return self._place(self.opened(first, last), self._everything, dict(enumerate(self.tests.every)), 0)

    def opened(self, first: int = 0, last: int | None = None) -> list[Open]:
        """Return the clauses that can fire, of all or from the first to before the last."""
        return [clause for clause in self._clauses[first:last] if clause is not None]

    def told(self, clause: Open) -> Open:
        """Return a clause that also wants what its wants say of other slots of the same features."""
        wants = dict(clause.wants)
        for slot, states in clause.wants:
            for other, implied in self._implied(slot, states):
                wants[other] = wants.get(other, self.tests.every[other]) & implied
        return clause if len(wants) == len(clause.wants) else clause._replace(wants=tuple(wants.items()))

    def _implied(self, slot: int, states: States) -> list[tuple[int, States]]:
        """Return the other slots of the same feature, and the states in which they must be.

        A value above a threshold is above those of the slots below, and is not missing.
        """
        if slot not in self._levels:
            return []
        levels, missing = self._levels[slot]
        every = self.tests.every
        if slot == missing:
            return [(other, 1) for other in levels] if not states & 1 else []
        implied: list[tuple[int, States]] = []
        place, top = levels.index(slot), (every[slot] + 1) >> 1
        if not states & 1:
            implied += [(other, (every[other] + 1) >> 1) for other in levels[:place]]
            implied += [] if missing is None else [(missing, 1)]
        if not states & top:
            implied += [(other, 1) for other in levels[place + 1 :]]
        return implied

    def build_groups(self, groups: Sequence[Sequence[Open]]) -> Block:
        """Return the code of groups of clauses, of each of which at most one clause fires."""
        whole = Block(self._everything.bit_count() + _RARE, np.zeros(self._n_classes, dtype=np.int64))
        for group in groups:
            part = self._place(group, self._everything, dict(enumerate(self.tests.every)), 0, decides=True)
            whole.votes += part.votes
            whole.items += part.items
        return whole

    def _open(self, slots: Slots, number: int, clause: SlotClause) -> Open | None:
        wants: dict[int, States] = {}
        for literal in clause.literals:
            if literal not in self._of_literal:
                slot, listed = slots.states_of(literal)
                self._of_literal[literal] = slot, sum(1 << state for state in listed)
            slot, states = self._of_literal[literal]
            wants[slot] = wants.get(slot, self.tests.every[slot]) & states
        if 0 in wants.values():
            return None
        sums = np.zeros(self._n_classes, dtype=np.int64)
        for vote in clause.votes:
            sums[vote.class_] += vote.weight
        rarest_first = sorted(wants.items(), key=lambda want: (self.truth(*want).bit_count(), want))
        left = tuple(want for want in rarest_first if want[1] != self.tests.every[want[0]])
        return Open(left, sums, (number,))

    def truth(self, slot: int, states: States) -> int:
        """Return the rows in which a slot is in one of these states."""
        if (slot, states) not in self._truths:
            first, last = (states & -states).bit_length() - 1, states.bit_length()
            if states.bit_count() == last - first:  # neighbours
                below = self._rows_below[slot]
                there = below[last] ^ below[first]
            else:
                there = reduce(
                    or_, (rows for state, rows in enumerate(self._rows_in[slot]) if states >> state & 1), 0
                )
            self._truths[slot, states] = there
        return self._truths[slot, states]

    def alone(self, clause: Open, active: int, known: int = -1, here: States = 0) -> float:
        """Return the instructions of a clause on its own on some rows. Its rarest part is asked first.

        The slot `known` is known to be in the states `here`, which let the clause fire.
        """
        cost, truths = 0.0, self._truths
        for want in clause.wants:
            if want[0] == known:
                want = known, want[1] & here
                if want[1] == here:
                    continue
            cost += TEST * (active.bit_count() + _RARE)
            true = truths.get(want)
            active &= self.truth(*want) if true is None else true
        return cost + VOTE * (active.bit_count() + _RARE)

    def _place(
        self,
        clauses: Sequence[Open],
        active: int,
        possible: dict[int, States],
        depth: int,
        *,
        decides: bool = False,
    ) -> Block:
        block = Block(active.bit_count() + _RARE, np.zeros(self._n_classes, dtype=np.int64))
        if decides and depth < _DEEPEST and (test := self._deciding(clauses, active, possible)) is not None:
            block.items.append(self._share(test, clauses, active, possible, depth, decides=True))
            return block
        level = _Level(self, clauses, active, possible)
        for clause in clauses:
            if not clause.wants:
                block.votes += clause.votes
        while depth < _DEEPEST and (test := level.best()) is not None:
            block.items.append(self._share(test, level.take(test), active, possible, depth, decides=decides))
        alone: dict[tuple[tuple[int, States], ...], Open] = {}
        for one in level.left():
            same = alone.get(one.wants)
            votes = one.votes if same is None else same.votes + one.votes
            alone[one.wants] = Open(one.wants, votes, (*(same.clauses if same else ()), *one.clauses))
        block.items += [self._one(one, active, possible) for one in alone.values()]
        return block

    def _deciding(self, clauses: Sequence[Open], active: int, possible: dict[int, States]) -> Test | None:
        """Return a test of which each clause wants one side, None if there is none.

        Best is a rare condition of all clauses, then the test that divides the rows most evenly.
        """
        if len(clauses) < 2:
            return None
        wanted = {slot: Counter[States]() for slot, _ in clauses[0].wants}
        for clause in clauses:
            of_clause = dict(clause.wants)
            wanted = {slot: masks for slot, masks in wanted.items() if slot in of_clause}
            if not wanted:
                return None
            for slot, masks in wanted.items():
                masks[of_clause[slot]] += 1
        best: tuple[tuple[int, ...], Test] | None = None
        for slot, masks in wanted.items():
            here = possible[slot]
            for test in self.tests.of_slot[slot]:
                yes = test.states & here
                no = here & ~test.states
                if not yes or not no or (n_yes := _wanting(masks, yes, no)) is None:
                    continue
                true, every = (active & self.truth(slot, yes)).bit_count(), active.bit_count()
                if n_yes in (0, len(clauses)):  # all are on one side, so this test need not be asked twice
                    order = 0, true if n_yes else every - true, 0
                else:
                    order = 1, abs(2 * true - every), abs(2 * n_yes - len(clauses))
                key = *order, slot, test.states
                if best is None or key < best[0]:
                    best = key, test
        return None if best is None else best[1]

    def _share(
        self,
        test: Test,
        clauses: Sequence[Open],
        active: int,
        possible: dict[int, States],
        depth: int,
        *,
        decides: bool = False,
    ) -> If:
        s, here = test.slot, possible[test.slot]
        sides: list[Block] = []
        for states in (test.states & here, here & ~test.states):
            alive = [kept for clause in clauses if (kept := restricted(clause, s, states)) is not None]
            rows, known = active & self.truth(s, states), {**possible, s: states}
            for other, implied in self._implied(s, states) if decides else ():
                alive = [kept for clause in alive if (kept := restricted(clause, other, implied)) is not None]
                known[other] = implied
            sides.append(self._place(alive, rows, known, depth + 1, decides=decides))
        numbers = tuple(number for clause in clauses for number in clause.clauses)
        return If(Asked("test", test), sides[0], sides[1], 1.0, numbers)

    def _one(self, clause: Open, active: int, possible: dict[int, States]) -> If:
        weight, tests, asked = active.bit_count() + _RARE, 0.0, []
        for slot, states in clause.wants:
            condition = self.tests.condition(slot, states, possible[slot])
            tests += (active.bit_count() + _RARE) * len(condition.tests)
            active &= self.truth(slot, states)
            asked.append(condition)
        whole = asked[0] if len(asked) == 1 else Asked("all", parts=tuple(asked))
        fires = active.bit_count() + _RARE / 2
        nothing = Block(weight - fires, np.zeros(self._n_classes, dtype=np.int64))
        return If(whole, Block(fires, clause.votes.copy()), nothing, tests / weight, clause.clauses)


def _wanting(masks: dict[States, int], yes: States, no: States) -> int | None:
    """Return how many clauses want one side of a test, None if one of them may want both."""
    n_yes = 0
    for one, n in masks.items():  # a plain loop, because large ensembles spend much of their time here
        if one & yes:
            if one & no:
                return None
            n_yes += n
    return n_yes


def restricted(clause: Open, slot: int, states: States) -> Open | None:
    """Return what is left of a clause when a slot is known to be in these states, None if it cannot fire."""
    for place, (of_slot, wanted) in enumerate(clause.wants):
        if of_slot == slot:
            left = wanted & states
            if not left:
                return None
            still = () if left == states else ((slot, left),)
            wants = clause.wants[:place] + still + clause.wants[place + 1 :]
            return Open(wants, clause.votes, clause.clauses)
    return clause


class _Level:
    """The clauses that are placed one after the other, with what each test would save."""

    def __init__(
        self, builder: Builder, clauses: Sequence[Open], active: int, possible: dict[int, States]
    ) -> None:
        self._builder, self._clauses, self._active = builder, clauses, active
        self._left = {i for i, clause in enumerate(clauses) if clause.wants}
        self._price = TEST * (active.bit_count() + _RARE)
        self._gains: dict[int, dict[tuple[int, int], float]] = {}
        self._scores: dict[tuple[int, int], float] = defaultdict(float)
        self._tests: dict[tuple[int, int], Test] = {}
        self._users: dict[tuple[int, int], list[int]] = defaultdict(list)
        by_slot: dict[int, list[tuple[int, States]]] = defaultdict(list)
        for i in self._left:
            for slot, states in clauses[i].wants:
                by_slot[slot].append((i, states))
        self._alone = {i: builder.alone(clauses[i], active) for i in self._left}
        for slot, users in sorted(by_slot.items()):
            here = possible[slot]
            for test in builder.tests.of_slot[slot]:
                yes = test.states & here
                if yes and yes != here:  # else the answer is known
                    self._try(test, users, yes, here & ~test.states)

    def _try(self, test: Test, users: list[tuple[int, States]], yes: States, no: States) -> None:
        key, builder = (test.slot, test.states), self._builder
        true, false = (self._active & builder.truth(test.slot, states) for states in (yes, no))
        for i, wanted in users:
            clause = self._clauses[i]
            then, otherwise = wanted & yes, wanted & no  # the states in which it can fire on either side
            if then and otherwise and len(clause.wants) > 1:
                continue
            cost = builder.alone(clause, true, test.slot, yes) if then else 0.0
            cost += builder.alone(clause, false, test.slot, no) if otherwise else 0.0
            gain = self._alone[i] - cost
            if gain > 0:
                self._tests[key] = test
                self._gains.setdefault(i, {})[key] = gain
                self._scores[key] += gain
                self._users[key].append(i)

    def best(self) -> Test | None:
        """Return the test that saves most, None if none saves anything."""
        key = max(self._tests, key=lambda one: (self._scores[one], one), default=None)
        if key is None or self._scores[key] <= 1.25 * self._price:
            return None
        return self._tests[key]

    def take(self, test: Test) -> list[Open]:
        """Return the clauses that a test decides, which are no longer left."""
        taken = [i for i in self._users[test.slot, test.states] if i in self._left]
        self._left.difference_update(taken)
        for i in taken:
            for key, gain in self._gains[i].items():
                self._scores[key] -= gain
        return [self._clauses[i] for i in taken]

    def left(self) -> list[Open]:
        """Return the clauses that no test was taken for."""
        return [self._clauses[i] for i in sorted(self._left)]


_WORD = 32


@dataclass(frozen=True)
class Field:
    """Where the sum of a class is. A class that nothing votes for has no bits."""

    word: int
    shift: int
    bits: int
    offset: int  # what a sum of zero is in the field


@dataclass(frozen=True)
class Fields:
    """The fields of all classes."""

    of_class: tuple[Field, ...]
    n_words: int
    n_bits: int = 0  # of the fields at the end, which are a bit each and are not sums

    def words(self, votes: Sequence[int]) -> list[int]:
        """Return what votes add to each word.

        >>> Fields((Field(0, 0, 4, 1), Field(0, 4, 4, 1)), 1).words([-1, 1])
        [15]
        """
        words = [0] * self.n_words
        for place, vote in zip(self.of_class, votes, strict=True):
            if place.bits:
                words[place.word] += int(vote) << place.shift
        return [word % (1 << _WORD) for word in words]


def make_fields(parts: Sequence[Block]) -> Fields:
    """Arrange the sums of code in parts, behind each of which they are looked at.

    Fields can be compared as they are if that takes no more words.
    """
    low, high = (np.cumsum(limits, axis=0) for limits in zip(*map(bounds, parts), strict=True))
    return sum_fields(low.min(axis=0), high.max(axis=0))


def sum_fields(low: Votes, high: Votes) -> Fields:
    """Arrange sums by the lowest and the highest that each can be."""
    used = (low != 0) | (high != 0)
    same = np.full(len(low), int(-low.min(initial=0)))
    ways = [_packed(used, high + offset, offset) for offset in (same, -low)]
    return min(ways, key=lambda way: way.n_words)


def bounds(code: Block) -> tuple[Votes, Votes]:
    """Return the lowest and the highest sum of each class that any way through the code can give."""
    low, high = code.votes.copy(), code.votes.copy()
    for item in code.items:
        then, otherwise = bounds(item.then), bounds(item.otherwise)
        low += np.minimum(then[0], otherwise[0])
        high += np.maximum(then[1], otherwise[1])
    return low, high


def _packed(used: NDArray[np.bool_], most: NDArray[np.int64], offset: NDArray[np.int64]) -> Fields:
    """Return fields of numbers up to `most`, the widest placed first.

    A used class has at least one bit. Its field may be 0 in every row, which is not a sum of 0 where there is
    an offset.
    """
    bits = [max(1, n.bit_length()) if is_used else 0 for n, is_used in zip(most.tolist(), used, strict=True)]
    left_in: list[int] = []
    places = {}
    for c, width in sorted(enumerate(bits), key=lambda one: -one[1]):
        word = next((w for w, left in enumerate(left_in) if width <= left), len(left_in))
        if word == len(left_in):
            left_in.append(_WORD)
        places[c] = Field(word, _WORD - left_in[word], width, int(offset[c]))
        left_in[word] -= width
    return Fields(tuple(places[c] for c in range(len(bits))), len(left_in))


def move_votes(code: Block, fields: Fields) -> None:
    """Move votes to where fewer rows add them. The sums at the end stay what they are.

    Votes of the likelier side of a question are taken before it, and the other side makes up for them.
    What comes before all questions costs nothing, because the words begin with it.
    """
    words = np.array([place.word if place.bits else -1 for place in fields.of_class])
    for word in range(fields.n_words):
        _Mover(words == word).move(code, is_free=True)


class _Mover:
    """Moves the votes of the classes of one word."""

    def __init__(self, in_word: NDArray[np.bool_]) -> None:
        self._in_word = in_word
        self._costs: dict[int, float] = {}

    def move(self, block: Block, *, is_free: bool) -> None:
        """Move votes within a block. With `is_free`, its own votes cost nothing."""
        if not is_free and not self._adds(block):
            for item in block.items:
                self.move(item.then, is_free=False)
                self.move(item.otherwise, is_free=False)
            return
        for item in block.items:
            likely, other = min(_both_ways(item), key=lambda sides: self._cost(*sides))
            self.move(likely, is_free=True)
            moved = np.where(self._in_word, likely.votes, 0)
            likely.votes -= moved
            other.votes -= moved
            block.votes += moved
            self.move(other, is_free=False)

    def _adds(self, block: Block) -> bool:
        """Return whether a block should add votes of its own."""
        if block.votes[self._in_word].any():
            return True
        still = sum(self._paid(side) for item in block.items for side in (item.then, item.otherwise))
        return block.weight + self._free(block) < still

    def _free(self, block: Block) -> float:
        """Return the additions in a block if its own votes cost nothing."""
        if id(block) not in self._costs:
            ways = (min(self._cost(*sides) for sides in _both_ways(item)) for item in block.items)
            self._costs[id(block)] = sum(ways)
        return self._costs[id(block)]

    def _paid(self, block: Block) -> float:
        """Return the additions in a block if its own votes are added there."""
        if not block.items and not block.votes[self._in_word].any():
            return 0.0
        return block.weight + self._free(block)

    def _cost(self, likely: Block, other: Block) -> float:
        """Return the additions of a question if the votes of one side are taken before it."""
        if not likely.items and not other.items and not (likely.votes - other.votes)[self._in_word].any():
            return 0.0
        return self._free(likely) + other.weight + self._free(other)


def _both_ways(item: If) -> tuple[tuple[Block, Block], tuple[Block, Block]]:
    return (item.then, item.otherwise), (item.otherwise, item.then)
