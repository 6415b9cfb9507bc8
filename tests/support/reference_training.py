"""The training step in plain Python, written for reading; the native trainer must give the same states.

States are 0..255, included from 128 on. Literals are the Booleans, then their negations. In each class the
first half of the clauses is positive, with the middle one of an odd number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

MASK = 2**64 - 1
MIDDLE = 128

# How the native trainer serves random bytes; see native/train_class_impl.hpp.
POOL_STEP, POOL_PLACES, POOL_LIFE = 32, 256, 128
ORDER_STREAM = MASK
START = MASK  # stands for the epoch where automata start at random


def mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


class Stream:
    """Random numbers that depend on three numbers only."""

    def __init__(self, seed: int, a: int, b: int) -> None:
        self.state = mix((mix((mix(seed) + a) & MASK) + b) & MASK)

    def next(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        return mix(self.state)

    def below(self, n: int) -> int:
        return ((self.next() >> 32) * n) >> 32

    def uniform(self) -> float:
        return (self.next() >> 11) * 2.0**-53


class Pool:
    """Random bytes that events read from a place of their own, with a key of their own added."""

    def __init__(self, stream: Stream, n_clauses: int, n_literals: int) -> None:
        lanes = (n_clauses + 7) // 8 * 8
        size = POOL_STEP * POOL_PLACES + max((n_literals + 63) // 64 * 64, 2 * lanes + 64)
        self.bytes = b"".join(stream.next().to_bytes(8, "little") for _ in range(size // 8))

    def read(self, place: int, key: int, count: int, width: int) -> list[int]:
        """Signed numbers of `width` bytes, the key's parts added in turn."""
        parts = key.to_bytes(8, "little")
        values = []
        for i in range(count):
            at = POOL_STEP * place + i * width
            part = (i * width) % 8
            value = int.from_bytes(self.bytes[at : at + width], "little")
            value = (value + int.from_bytes(parts[part : part + width], "little")) % 256**width
            values.append(value - 256**width if value >= 256**width // 2 else value)
        return values


class Machine:
    def __init__(
        self,
        n_classes: int,
        n_clauses: int,
        n_booleans: int,
        T: int,
        s: float,
        boost_true_positive: bool = True,
        literal_budget: int | None = None,
        seed: int = 0,
        random_start: bool = False,
    ) -> None:
        self.n_classes, self.n_clauses, self.n_literals = n_classes, n_clauses, 2 * n_booleans
        self.T, self.s, self.boost, self.seed = T, s, boost_true_positive, seed
        self.budget = 2 * n_booleans if literal_budget is None else literal_budget
        self.epochs_done = 0
        self.states = [[[MIDDLE - 1] * self.n_literals for _ in range(n_clauses)] for _ in range(n_classes)]
        if random_start:
            self.start_at_random()

    def start_at_random(self) -> None:
        """Each automaton just below or just above the middle, a bit of a 64-bit draw each."""
        for c, clauses in enumerate(self.states):
            draws = Stream(self.seed, START, c)
            for states in clauses:
                for start in range(0, self.n_literals, 64):
                    bits = draws.next()
                    for i in range(start, min(start + 64, self.n_literals)):
                        states[i] = MIDDLE - 1 + (bits >> (i - start) & 1)

    def epoch(
        self, rows: Sequence[Sequence[bool]], classes: Sequence[int], weights: Sequence[float] | None = None
    ) -> None:
        """Each row updates its own class with y=1 and one other class, drawn at random, with y=0."""
        literals = [[*row, *(not value for value in row)] for row in rows]
        stream = Stream(self.seed, self.epochs_done, ORDER_STREAM)
        order: list[int] = []
        for i in range(len(rows)):
            visits = 1 if weights is None else int(weights[i] + stream.uniform())
            order += [i] * visits
        for i in range(len(order), 1, -1):
            j = stream.below(i)
            order[i - 1], order[j] = order[j], order[i - 1]
        events: list[list[tuple[int, bool]]] = [[] for _ in range(self.n_classes)]
        for row in order:
            label = classes[row]
            other = stream.below(self.n_classes - 1)
            other += other >= label
            events[label].append((row, True))
            events[other].append((row, False))
        for c in range(self.n_classes):
            draws = Stream(self.seed, self.epochs_done, c)
            for i, (row, y) in enumerate(events[c]):
                if i % POOL_LIFE == 0:
                    pool = Pool(draws, self.n_clauses, self.n_literals)
                self.update(self.states[c], literals[row], y, draws, pool)
        self.epochs_done += 1

    def update(
        self, clauses: list[list[int]], literals: Sequence[bool], y: bool, draws: Stream, pool: Pool
    ) -> None:
        half = (self.n_clauses + 1) // 2
        outputs = [self.output(states, literals) for states in clauses]
        total = sum(outputs[:half]) - sum(outputs[half:])
        clipped = max(-self.T, min(self.T, total))
        gap = self.T - clipped if y else self.T + clipped  # feedback has probability gap / 2T
        if gap == 0:
            return
        drawn = self.draw_clauses(gap, draws, pool)
        # 64 clauses at a time: Type I to those that output 0, Type I to those that output 1, Type II
        for start in range(0, self.n_clauses, 64):
            block = [j for j in range(start, min(start + 64, self.n_clauses)) if drawn[j]]
            type_i = [j for j in block if (j < half) == y]
            type_ii = [j for j in block if (j < half) != y]
            for j in type_i:
                if not outputs[j]:
                    self.type_i_output_0(clauses[j], draws, pool)
            for j in type_i:
                if outputs[j]:
                    self.type_i_output_1(clauses[j], literals, draws, pool)
            for j in type_ii:
                if outputs[j]:
                    self.type_ii_output_1(clauses[j], literals, draws)

    def output(self, states: Sequence[int], literals: Sequence[bool]) -> bool:
        """AND of the included literals; an empty clause outputs 1 while learning."""
        return all(value for state, value in zip(states, literals, strict=True) if state >= MIDDLE)

    def draw_clauses(self, gap: int, draws: Stream, pool: Pool) -> list[bool]:
        hits = (gap * 65536 + self.T) // (2 * self.T)
        if hits >= 65536:
            return [True] * self.n_clauses
        r = draws.next()
        values = pool.read(mix(r) % POOL_PLACES, r, self.n_clauses, width=2)
        return [value > 32767 - hits for value in values]

    def draw_literals(self, draws: Stream, pool: Pool) -> list[bool]:
        """One draw of probability 1/s per literal; 256/s is rounded so that it is right on average."""
        r = draws.next()
        place = mix(r)
        whole = int(256 / self.s)
        hits = whole + ((place >> 48) < int((256 / self.s - whole) * 65536 + 0.5))
        if hits >= 256:
            return [True] * self.n_literals
        values = pool.read(place % POOL_PLACES, r, self.n_literals, width=1)
        return [value > 127 - hits for value in values]

    def type_i_output_0(self, states: list[int], draws: Stream, pool: Pool) -> None:
        for i, hit in enumerate(self.draw_literals(draws, pool)):
            if hit:
                states[i] = max(0, states[i] - 1)

    def type_i_output_1(self, states: list[int], literals: Sequence[bool], draws: Stream, pool: Pool) -> None:
        before = list(states)
        for i, hit in enumerate(self.draw_literals(draws, pool)):
            if literals[i]:
                if self.boost or not hit:
                    states[i] = min(255, states[i] + 1)
            elif hit:
                states[i] = max(0, states[i] - 1)
        self.keep_budget(states, before, draws)

    def type_ii_output_1(self, states: list[int], literals: Sequence[bool], draws: Stream) -> None:
        before = list(states)
        for i, value in enumerate(literals):
            if not value and states[i] < MIDDLE:
                states[i] += 1
        self.keep_budget(states, before, draws)

    def keep_budget(self, states: list[int], before: Sequence[int], draws: Stream) -> None:
        count = sum(state >= MIDDLE for state in states)
        fresh = [i for i in range(self.n_literals) if states[i] >= MIDDLE > before[i]]
        while self.budget < self.n_literals and count > self.budget and fresh:
            k = draws.below(len(fresh))
            fresh[k], fresh[-1] = fresh[-1], fresh[k]
            states[fresh.pop()] = MIDDLE - 1
            count -= 1

    def exclude(self) -> None:
        """Per class, a literal included in clauses of both polarities is lowered by 128 where included."""
        half = (self.n_clauses + 1) // 2
        for clauses in self.states:
            for i in range(self.n_literals):
                including = [j for j in range(self.n_clauses) if clauses[j][i] >= MIDDLE]
                if including and including[0] < half <= including[-1]:
                    for j in including:
                        clauses[j][i] -= MIDDLE


class PatchMachine(Machine):
    """The same for clauses over a patch, given as an `ethereal.model.Patch`. Rows are cell after cell.

    A clause outputs 1 if it does at any position. One of these positions is drawn for its feedback. A clause
    that includes more literals than its budget only forgets, where it would be strengthened.
    """

    def __init__(self, patch: Any, n_classes: int, n_clauses: int, *settings: Any, **keywords: Any) -> None:
        super().__init__(n_classes, n_clauses, patch.n_booleans, *settings, **keywords)
        self.patch = patch
        self.most, self.budget = self.budget, self.n_literals

    def update(
        self, clauses: list[list[int]], literals: Sequence[bool], y: bool, draws: Stream, pool: Pool
    ) -> None:
        row = np.array([literals[: self.patch.n_row_booleans]], dtype=bool)
        seen = [[*window[0].tolist(), *(~window[0]).tolist()] for window in self.patch.windows(row)]
        where = [[p for p, here in enumerate(seen) if self.output(states, here)] for states in clauses]
        half = (self.n_clauses + 1) // 2
        total = sum(map(bool, where[:half])) - sum(map(bool, where[half:]))
        clipped = max(-self.T, min(self.T, total))
        gap = self.T - clipped if y else self.T + clipped
        if gap == 0:
            return
        drawn = self.draw_clauses(gap, draws, pool)
        for start in range(0, self.n_clauses, 64):
            block = [j for j in range(start, min(start + 64, self.n_clauses)) if drawn[j]]
            for j in (j for j in block if (j < half) == y and not where[j]):
                self.type_i_output_0(clauses[j], draws, pool)
            for j in (j for j in block if (j < half) == y and where[j]):
                if sum(state >= MIDDLE for state in clauses[j]) > self.most:
                    self.type_i_output_0(clauses[j], draws, pool)
                    continue
                here = seen[where[j][draws.below(len(where[j]))]]
                self.type_i_output_1(clauses[j], here, draws, pool)
            for j in (j for j in block if (j < half) != y and where[j]):
                here = seen[where[j][draws.below(len(where[j]))]]
                self.type_ii_output_1(clauses[j], here, draws)
