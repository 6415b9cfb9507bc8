"""The training step in plain Python, written for reading; the native trainer must give the same states.

States are 0..255, included from 128 on. Literals are the Booleans, then their negations. In each class the
first half of the clauses is positive, with the middle one of an odd number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ethereal.train.machine import Machine as Variant

MASK = 2**64 - 1
MIDDLE = 128
LARGEST_VOTE = 32767

# How the native trainer serves random bytes; see native/train_class_impl.hpp.
POOL_STEP, POOL_PLACES, POOL_LIFE = 32, 256, 128
ORDER_STREAM, DROP_STREAM = MASK, MASK - 1
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
        variant: Variant | None = None,
    ) -> None:
        self.n_classes, self.n_clauses, self.n_literals = n_classes, n_clauses, 2 * n_booleans
        self.T, self.s, self.boost, self.seed = T, s, boost_true_positive, seed
        self.budget = 2 * n_booleans if literal_budget is None else literal_budget
        self.variant = Variant() if variant is None else variant
        self.epochs_done = 0
        n_banks = 1 if self.variant.coalesced else n_classes
        self.states = [[[MIDDLE - 1] * self.n_literals for _ in range(n_clauses)] for _ in range(n_banks)]
        if random_start:
            self.start_at_random()
        self.votes = [self.first_votes(c) for c in range(n_classes)]

    def first_votes(self, c: int) -> list[int]:
        """1 for the first half and -1 for the second. Shared clauses vote for or against by chance."""
        half = (self.n_clauses + 1) // 2
        draws = Stream(self.seed, START, MASK - c)
        by_chance = [1 if draws.next() & 1 else -1 for _ in range(self.n_clauses)]
        return by_chance if self.variant.coalesced else [1 if j < half else -1 for j in range(self.n_clauses)]

    def start_at_random(self) -> None:
        """Each automaton just below or just above the middle, a bit of a 64-bit draw each."""
        for c, clauses in enumerate(self.states):
            draws = Stream(self.seed, START, c)
            for states in clauses:
                for start in range(0, self.n_literals, 64):
                    bits = draws.next()
                    for i in range(start, min(start + 64, self.n_literals)):
                        usable = self.variant.negated_literals or i < self.n_literals // 2
                        states[i] = MIDDLE - 1 + (bits >> (i - start) & 1 if usable else 0)

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
        self.start_epoch()
        for row in order:
            label = classes[row]
            other = self.draw_other(literals[row], label, stream)
            self.learn(literals[row], label, True)
            if other is not None:
                self.learn(literals[row], other, False)
        self.epochs_done += 1

    def start_epoch(self) -> None:
        """Draw which clauses of each bank, and which literals of all, take no part in the epoch."""
        of_literals = Stream(self.seed, self.epochs_done, DROP_STREAM)
        share = self.variant.drop_literals
        self.idle = [share > 0 and of_literals.uniform() < share for _ in range(self.n_literals)]
        if not self.variant.negated_literals:
            self.idle[self.n_literals // 2 :] = [True] * (self.n_literals // 2)
        self.streams = [Stream(self.seed, self.epochs_done, bank) for bank in range(len(self.states))]
        share = self.variant.drop_clauses
        self.learning = [
            [not (share > 0 and stream.uniform() < share) for _ in range(self.n_clauses)]
            for stream in self.streams
        ]
        self.pools: list[Pool | None] = [None] * len(self.states)
        self.n_taught = [0] * len(self.states)

    def draw_other(self, literals: Sequence[bool], label: int, stream: Stream) -> int | None:
        """Another class than the row's. Focused: in proportion to how far its sum is above -T."""
        if not self.variant.focused_negatives:
            other = stream.below(self.n_classes - 1)
            return other + (other >= label)
        wrong = [0 if c == label else self.T + self.sum_of(literals, c) for c in range(self.n_classes)]
        if sum(wrong) == 0:
            return None
        left, c = stream.below(sum(wrong)), 0
        while left >= wrong[c]:
            left -= wrong[c]
            c += 1
        return c

    def bank_of(self, c: int) -> int:
        return 0 if self.variant.coalesced else c

    def outputs_of(self, literals: Sequence[bool], bank: int) -> tuple[list[bool], Any]:
        """What each clause says of a row, and what `literals_for` needs. A dropped clause says nothing."""
        clauses = zip(self.states[bank], self.learning[bank], strict=True)
        return [learns and self.output(states, literals) for states, learns in clauses], literals

    def literals_for(self, seen: Any, clause: int, draws: Stream) -> Sequence[bool]:
        """The literals that a clause which fires gets its feedback from."""
        return seen

    def sum_of(self, literals: Sequence[bool], c: int) -> int:
        outputs, _ = self.outputs_of(literals, self.bank_of(c))
        total = sum(vote for vote, output in zip(self.votes[c], outputs, strict=True) if output)
        return max(-self.T, min(self.T, total))

    def learn(self, literals: Sequence[bool], c: int, y: bool) -> None:
        """Feedback from a row to class c, which is the row's or not."""
        bank = self.bank_of(c)
        clauses, votes, draws = self.states[bank], self.votes[c], self.streams[bank]
        if self.n_taught[bank] % POOL_LIFE == 0:
            self.pools[bank] = Pool(draws, self.n_clauses, self.n_literals)
        self.n_taught[bank] += 1
        pool = self.pools[bank]
        outputs, seen = self.outputs_of(literals, bank)
        total = self.sum_of(literals, c)
        gap = self.T - total if y else self.T + total  # feedback has probability gap / 2T
        if gap == 0:
            return
        drawn = self.draw_clauses(gap, draws, pool)
        is_type_i = [(vote >= 0) == y for vote in votes]
        # 64 clauses at a time: Type I to those that output 0, Type I to those that output 1, Type II
        for start in range(0, self.n_clauses, 64):
            block = [j for j in range(start, min(start + 64, self.n_clauses))
                     if drawn[j] and self.learning[bank][j]]  # fmt: skip
            for j in (j for j in block if is_type_i[j] and not outputs[j]):
                self.type_i_output_0(clauses[j], draws, pool)
            for j in (j for j in block if is_type_i[j] and outputs[j]):
                if self.only_forgets(clauses[j]):
                    self.type_i_output_0(clauses[j], draws, pool)
                else:
                    self.type_i_output_1(clauses[j], self.literals_for(seen, j, draws), draws, pool)
            for j in (j for j in block if not is_type_i[j] and outputs[j]):
                self.type_ii_output_1(clauses[j], self.literals_for(seen, j, draws), draws)
            for j in (j for j in block if outputs[j]):
                self.move_vote(votes, j, 1 if y else -1)

    def only_forgets(self, states: Sequence[int]) -> bool:
        return False

    def move_vote(self, votes: list[int], clause: int, step: int) -> None:
        """Votes of clauses that fire grow by a row of their class. Only shared ones change their sign."""
        vote = votes[clause] + step
        if self.variant.coalesced or (self.variant.weighted and vote != 0):
            votes[clause] = max(-LARGEST_VOTE, min(LARGEST_VOTE, vote))

    def output(self, states: Sequence[int], literals: Sequence[bool]) -> bool:
        """AND of the included literals that are not idle; an empty clause outputs 1 while learning."""
        return all(
            value or idle
            for state, value, idle in zip(states, literals, self.idle, strict=True)
            if state >= MIDDLE
        )

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
            if hit and not self.idle[i]:
                states[i] = max(0, states[i] - 1)

    def type_i_output_1(self, states: list[int], literals: Sequence[bool], draws: Stream, pool: Pool) -> None:
        before = list(states)
        for i, hit in enumerate(self.draw_literals(draws, pool)):
            if self.idle[i]:
                continue
            if literals[i]:
                if self.boost or not hit:
                    states[i] = min(255, states[i] + 1)
            elif hit:
                states[i] = max(0, states[i] - 1)
        self.keep_budget(states, before, draws)

    def type_ii_output_1(self, states: list[int], literals: Sequence[bool], draws: Stream) -> None:
        before = list(states)
        for i, value in enumerate(literals):
            if not value and states[i] < MIDDLE and not self.idle[i]:
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

    def outputs_of(self, literals: Sequence[bool], bank: int) -> tuple[list[bool], Any]:
        row = np.array([literals[: self.patch.n_row_booleans]], dtype=bool)
        seen = [[*window[0].tolist(), *(~window[0]).tolist()] for window in self.patch.windows(row)]
        where = [
            [here for here in seen if self.output(states, here)] if learns else []
            for states, learns in zip(self.states[bank], self.learning[bank], strict=True)
        ]
        return [bool(here) for here in where], where

    def literals_for(self, seen: Any, clause: int, draws: Stream) -> Sequence[bool]:
        return seen[clause][draws.below(len(seen[clause]))]

    def only_forgets(self, states: Sequence[int]) -> bool:
        return sum(state >= MIDDLE for state in states) > self.most
