"""The pruner of numbers and its ridge regression in plain Python. The native code must give the same bits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from reference_training import Stream

LEAST_GAIN, MOST_VOTE, MOVES = 1e-4, 127, 1000


def vote_cost(vote: int, size: Sequence[float]) -> float:
    cost, left = size[3] if vote else 0.0, abs(vote)
    while left > 1:
        cost += size[4]
        left //= 2
    return cost


def away_from_zero(x: float) -> int:
    return int(math.copysign(math.floor(abs(x) + 0.5), x))


class Clause:
    def __init__(self, literals: list[int], vote: int, rows: list[int]) -> None:
        self.literals, self.vote, self.rows = literals, vote, rows


class SquareDescent:
    """Visits all clauses in random order, and makes the best move of each that pays."""

    def __init__(
        self, rows: Any, features: Any, targets: Any, literals: Any, offsets: Any, votes: Any, scale: float,
        seed: int, signs: Any,
    ) -> None:  # fmt: skip
        self.booleans = [[bool(v) for v in row] for row in rows]
        self.n, self.n_booleans = len(self.booleans), len(self.booleans[0])
        self.features = [int(f) for f in features]
        self.targets, self.scale, self.seed = [float(t) for t in targets], scale, seed
        self.signs, self.sweeps = [int(s) for s in signs], 0
        self.wanted = sum(self.targets)
        pairs = itertools.pairwise(int(o) for o in offsets)
        given = [(literals[a:b], int(v[0])) for (a, b), v in zip(pairs, votes, strict=True) if b > a]
        self.clauses = [Clause([int(x) for x in part], v, self.firing(part)) for part, v in given]
        self.sums = [0] * self.n
        self.merge()
        self.find_states()

    def is_true(self, literal: int, row: int) -> bool:
        n = self.n_booleans
        return self.booleans[row][literal % n] != (literal >= n)

    def firing(self, literals: Any) -> list[int]:
        return [i for i in range(self.n) if all(self.is_true(int(x), i) for x in literals)]

    def sign_of(self, literals: Sequence[int]) -> int:
        wanted = {self.signs[x] for x in literals if self.signs} - {0}
        return 2 if len(wanted) == 2 else wanted.pop() if wanted else 0

    def may_vote(self, literals: Sequence[int], vote: int) -> bool:
        sign = self.sign_of(literals)
        return sign == 0 or vote == 0 or (sign != 2 and (vote > 0) == (sign > 0))

    def merge(self) -> None:
        first: dict[tuple[int, ...], Clause] = {}
        kept = []
        for clause in self.clauses:
            if not clause.rows:
                continue
            one = first.setdefault(tuple(clause.rows), clause)
            if one is clause:
                kept.append(clause)
                continue
            vote = one.vote + clause.vote
            shorter = len(clause.literals) < len(one.literals)
            pair = (clause.literals, one.literals) if shorter else (one.literals, clause.literals)
            fitting = [literals for literals in pair if self.may_vote(literals, vote)]
            if not fitting:
                kept.append(clause)
            else:
                one.literals, one.vote = fitting[0], vote
        self.clauses = [c for c in kept if c.vote != 0 and self.may_vote(c.literals, c.vote)]
        self.uses = [0] * self.n_booleans
        for clause in self.clauses:
            for literal in clause.literals:
                self.uses[literal % self.n_booleans] += 1

    def find_states(self) -> None:
        self.states: dict[int, list[int]] = {}
        self.n_states: dict[int, int] = {}
        self.of_feature: dict[int, list[int]] = {}
        for b, f in enumerate(self.features):
            self.of_feature.setdefault(f, []).append(b)
        for f, part in self.of_feature.items():
            states, n = [0] * self.n, 1
            for b in part if len(part) > 1 else ():
                parted: dict[tuple[int, bool], int] = {}
                for i in range(self.n):
                    states[i] = parted.setdefault((states[i], self.booleans[i][b]), len(parted))
                n = len(parted)
            self.states[f], self.n_states[f] = states, n

    def offset(self) -> float:
        return (self.wanted - self.scale * float(self.total)) / float(self.n)

    def add(self, rows: Sequence[int], vote: int) -> None:
        for i in rows:
            self.sums[i] += vote
        self.total += vote * len(rows)

    def sweep(self, price: float, size: Sequence[float]) -> int:
        self.sums = [0] * self.n
        for clause in self.clauses:
            for i in clause.rows:
                self.sums[i] += clause.vote
        self.total = sum(self.sums)
        order, stream = list(range(len(self.clauses))), Stream(self.seed, self.sweeps, 0)
        self.sweeps += 1
        for i in range(len(order), 1, -1):
            j = stream.below(i)
            order[i - 1], order[j] = order[j], order[i - 1]
        moves = 0
        for k in order:
            clause = self.clauses[k]
            change = self.best_vote(clause, price, size)
            moves += change is not None
            if change == "remove":
                self.add(clause.rows, -clause.vote)
                for literal in clause.literals:
                    self.uses[literal % self.n_booleans] -= 1
                clause.rows = []
                continue
            if change is not None:
                self.add(clause.rows, change)
                clause.vote += change
            for _ in range(MOVES):
                if not self.change_literal(clause, price, size):
                    break
                moves += 1
        self.merge()
        return moves

    def best_vote(self, clause: Clause, price: float, size: Sequence[float]) -> Any:
        rows, vote, scale = float(len(clause.rows)), clause.vote, self.scale
        residuals = 0.0
        for i in clause.rows:
            residuals += self.targets[i] - scale * float(self.sums[i])
        residuals -= rows * self.offset()
        moving = rows * (1 - rows / float(self.n))

        def loss(change: int) -> float:
            x = scale * float(change)
            return 0.5 * x * x * moving - x * residuals

        sign = self.sign_of(clause.literals)
        least, most = (0 if sign > 0 else -MOST_VOTE), (0 if sign < 0 else MOST_VOTE)
        saved = size[0] + size[1] * float(len(clause.literals))
        for literal in clause.literals:
            saved += size[2] if self.uses[literal % self.n_booleans] == 1 else 0
        saved += vote_cost(vote, size)
        gain, best = LEAST_GAIN, None
        if price * saved - loss(-vote) > gain:
            gain, best = price * saved - loss(-vote), "remove"
        newton = residuals / (scale * moving) if moving > 0 else 0.0
        leap = away_from_zero(min(max(float(vote) + newton, float(least)), float(most))) - vote
        for change in (1, -1, leap):
            after = vote + change
            if change == 0 or after == 0 or not least <= after <= most:
                continue
            one = price * (vote_cost(vote, size) - vote_cost(after, size)) - loss(change)
            if one > gain:
                gain, best = one, change
        return best

    def losses(self, rows: Sequence[int], vote: int) -> list[float]:
        x, fixed = self.scale * float(vote), self.offset()
        residuals = [self.targets[i] - self.scale * float(self.sums[i]) - fixed for i in rows]
        return [0.5 * x * x - x * residual for residual in residuals]

    def may_move(self, literal: int) -> bool:
        return self.n_states[self.features[literal % self.n_booleans]] > 1

    def change_literal(self, clause: Clause, price: float, size: Sequence[float]) -> bool:
        if len(clause.literals) == 1 and not self.may_move(clause.literals[0]):
            return False
        kept_off: list[list[int]] = [[] for _ in clause.literals]
        for i in range(self.n):
            false = [k for k, literal in enumerate(clause.literals) if not self.is_true(literal, i)]
            if len(false) == 1:
                kept_off[false[0]].append(i)
        on = [self.losses(rows, clause.vote) for rows in kept_off]
        return self.drop(clause, kept_off, on, price, size) or self.move(clause, kept_off, on, price, size)

    def drop(self, clause: Clause, kept_off: Any, on: Any, price: float, size: Sequence[float]) -> bool:
        if len(clause.literals) < 2:
            return False
        gain, best = LEAST_GAIN, None
        for k, literal in enumerate(clause.literals):
            loss = 0.0
            for one in on[k]:
                loss += one
            one = price * (size[1] + (size[2] if self.uses[literal % self.n_booleans] == 1 else 0)) - loss
            if one > gain:
                gain, best = one, k
        if best is None:
            return False
        self.add(kept_off[best], clause.vote)
        self.uses[clause.literals.pop(best) % self.n_booleans] -= 1
        clause.rows = sorted(clause.rows + kept_off[best])
        return True

    def move(self, clause: Clause, kept_off: Any, on: Any, price: float, size: Sequence[float]) -> bool:
        if not any(map(self.may_move, clause.literals)):
            return False
        n, off = self.n_booleans, self.losses(clause.rows, -clause.vote)
        gain, best = LEAST_GAIN, None
        for k, literal in enumerate(clause.literals):
            b, negated = literal % n, literal >= n
            f = self.features[b]
            if self.n_states[f] == 1:
                continue
            when_on, when_off = [0.0] * self.n_states[f], [0.0] * self.n_states[f]
            for i, loss in zip(kept_off[k], on[k], strict=True):
                when_on[self.states[f][i]] += loss
            for i, loss in zip(clause.rows, off, strict=True):
                when_off[self.states[f][i]] += loss
            for other in self.of_feature[f]:
                new = other + n * negated
                if new in clause.literals or not self.may_vote([new], clause.vote):
                    continue
                truth = dict(zip(self.states[f], (row[other] for row in self.booleans), strict=True))
                freed, taken = self.uses[b] == 1, self.uses[other] == 0
                one = price * ((size[2] if freed else 0) - (size[2] if taken else 0))
                for state in range(self.n_states[f]):
                    one -= when_on[state] if truth[state] != negated else when_off[state]
                if one > gain:
                    gain, best = one, (k, new)
        if best is None:
            return False
        k, new = best
        self.uses[clause.literals[k] % n] -= 1
        self.uses[new % n] += 1
        clause.literals = sorted({*clause.literals, new} - {clause.literals[k]})
        self.add(clause.rows, -clause.vote)
        clause.rows = self.firing(clause.literals)
        self.add(clause.rows, clause.vote)
        return True

    def read(self) -> tuple[list[int], list[int], list[int]]:
        literals = [x for clause in self.clauses for x in clause.literals]
        offsets = [0, *itertools.accumulate(len(clause.literals) for clause in self.clauses)]
        return literals, offsets, [clause.vote for clause in self.clauses]


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    sums, whole = [0.0] * 4, len(a) // 4 * 4
    for k in range(whole):
        sums[k % 4] += a[k] * b[k]
    for k in range(whole, len(a)):
        sums[0] += a[k] * b[k]
    return (sums[0] + sums[1]) + (sums[2] + sums[3])


def ridge_votes(outputs: Any, weights: Any, targets: Any, strength: float) -> list[float]:
    """Return the votes of a ridge regression by Householder's way to a tridiagonal matrix."""
    n = len(outputs[0])
    rows = [{k: float(v) for k, v in enumerate(row) if v is not False} for row in outputs.tolist()]
    weight = 0.0
    for w in weights:
        weight += float(w)
    a = [[0.0] * n for _ in range(n)]
    for row, w in zip(rows, weights, strict=True):
        for j, k in itertools.combinations_with_replacement(row, 2):
            a[j][k] += float(w) * row[j] * row[k]
    totals = [0.0] * n
    for row, w in zip(rows, weights, strict=True):
        for k, v in row.items():
            totals[k] += float(w) * v
    means = [total / weight for total in totals]
    for j in range(n):
        for k in range(j, n):
            a[j][k] = a[k][j] = a[j][k] - weight * means[j] * means[k]
    total = 0.0
    for t, w in zip(targets, weights, strict=True):
        total += float(w) * float(t)
    z = [0.0] * n
    for row, t, w in zip(rows, targets, weights, strict=True):
        for k, v in row.items():
            z[k] += float(w) * (float(t) - total / weight) * v
    diagonal, beside, reflectors = [0.0] * n, [0.0] * n, []
    for k in range(n):
        diagonal[k] = a[k][k]
        v = a[k][k + 1 :]
        length = math.sqrt(dot(v, v))
        if not length > 1e-100:
            reflectors.append((0.0, v))
            continue
        beside[k] = -length if v[0] > 0 else length
        v = [v[0] - beside[k], *v[1:]]
        beta, p = 2 / dot(v, v), [0.0] * len(v)
        for j in range(len(v)):
            p = [x + beta * v[j] * y for x, y in zip(p, a[k + 1 + j][k + 1 :], strict=True)]
        back = -0.5 * beta * dot(p, v)
        p = [x + back * y for x, y in zip(p, v, strict=True)]
        for j in range(len(v)):
            row = a[k + 1 + j]
            row[k + 1 :] = [x + (-v[j] * q + -p[j] * u) for x, q, u in zip(row[k + 1 :], p, v, strict=True)]
        reflectors.append((beta, v))

    def turn(k: int) -> None:
        beta, v = reflectors[k]
        back = -beta * dot(v, z[k + 1 :])
        z[k + 1 :] = [x + back * y for x, y in zip(z[k + 1 :], v, strict=True)]

    for k in range(n - 1):
        turn(k)
    pivot = [0.0] * n
    for k in range(n):
        pivot[k] = diagonal[k] + strength
        if k:
            factor = beside[k - 1] / pivot[k - 1]
            pivot[k] -= factor * beside[k - 1]
            z[k] -= factor * z[k - 1]
    for k in reversed(range(n)):
        if k + 1 < n:
            z[k] -= beside[k] * z[k + 1]
        z[k] /= pivot[k]
    for k in reversed(range(n - 1)):
        turn(k)
    return z
