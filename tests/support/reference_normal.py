"""What is normal in plain Python: the score of a row, and the rule by which a board learns its own."""

from __future__ import annotations

import math
import struct


def steps(value: float, exponent: int) -> int:
    single = struct.unpack("f", struct.pack("f", max(-3.4e38, min(3.4e38, value))))[0]
    if math.isinf(value):
        return 8388607 if value > 0 else -8388607
    scaled = single * 2.0**exponent
    if abs(scaled) >= 8388607:
        return 8388607 if scaled > 0 else -8388607
    return math.ceil(scaled)


def position(away: int, gain: int, finer: int = 0) -> int:
    exact = abs(away) * (64 + 8 * (gain & 7)) * 2**finer // 2 ** (gain >> 3)
    size = min(exact, 1023 if finer else 127)
    return size if away > 0 else -size


def positions(normal, row, finer: int = 0) -> list[int]:
    """Of one row of numbers. `normal` is the record."""
    places = []
    for f, exponent, middle, gain in zip(
        normal.features.tolist(), normal.exponents.tolist(), normal.middles.tolist(), normal.gains.tolist(),
        strict=True,
    ):  # fmt: skip
        value = float(row[f])
        places.append(position(0 if math.isnan(value) else steps(value, exponent) - middle, gain, finer))
    return places


def squares(one, other) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


def score(normal, row) -> int:
    here = positions(normal, row)
    return min(squares(here, centre) for centre in normal.centres.tolist())


def quotient(number: int, divisor: int) -> int:
    return abs(number) // divisor * (1 if number >= 0 else -1)


class ReferenceBoard:
    """The board's own normal."""

    def __init__(self, normal, n_centres: int) -> None:
        self.normal, self.n_centres = normal, n_centres
        self.begin()

    def begin(self) -> None:
        self.centres, self.counts, self.waiting = [], [], []
        self.deviations = [0] * len(self.normal.features)
        self.n_deviations = self.n_learned = self.n_refused = self.mean = 0
        self.limit, self.shifts = None, None

    def learn(self, row) -> int:
        here = positions(self.normal, row, 3)
        if self.n_learned >= 2 * self.n_centres:
            distance = min(squares(here, centre) for centre in self.centres)
            if distance // 16 > self.mean + len(here):
                self.n_refused += 1
                return 0
        self.waiting.append(here)
        if len(self.waiting) > 16:
            self.absorb(self.waiting.pop(0))
        return 1

    def absorb(self, here) -> None:
        self.n_learned += 1
        if len(self.centres) < self.n_centres:
            self.centres.append(list(here))
            self.counts.append(1)
            return
        distances = [squares(here, centre) for centre in self.centres]
        distance = min(distances)
        near = distances.index(distance)
        self.deviations = [
            d + abs(a - b) for d, a, b in zip(self.deviations, here, self.centres[near], strict=True)
        ]
        self.n_deviations += 1
        self.mean = distance if self.n_deviations == 1 else self.mean - self.mean // 16 + distance // 16
        pairs = [(squares(self.centres[a], self.centres[b]), a, b)
                 for a in range(self.n_centres) for b in range(a + 1, self.n_centres)]  # fmt: skip
        least, a, b = min(pairs)
        if distance <= least:
            self.counts[near] = min(64, self.counts[near] + 1)
            self.centres[near] = [c + quotient(x - c, self.counts[near])
                                  for c, x in zip(self.centres[near], here, strict=True)]  # fmt: skip
            return
        n, m = self.counts[a], self.counts[b]
        self.centres[a] = [quotient(n * p + m * q, n + m)
                           for p, q in zip(self.centres[a], self.centres[b], strict=True)]  # fmt: skip
        self.counts[a], self.centres[b], self.counts[b] = min(64, n + m), list(here), 1

    def end(self) -> int:
        if len(self.waiting) < 16 or self.n_learned < 2 * self.n_centres:
            return 0
        if self.n_refused > (self.n_learned + 16) // 3:
            return 0
        means = [d // self.n_deviations for d in self.deviations]
        self.shifts = [next(s for s in range(16) if mean * mean < 2 ** (2 * s + 1)) for mean in means]
        scores = sorted(self.own_score(here) for here in self.waiting)
        self.limit = 2 * scores[15] - scores[8]
        return 1

    def own_score(self, here) -> int:
        return min(
            sum(
                min(1023, (abs(a - b) * 8) >> s) ** 2
                for a, b, s in zip(here, centre, self.shifts, strict=True)
            )
            for centre in self.centres
        )

    def score(self, row) -> int:
        if self.limit is None:
            return score(self.normal, row)
        return self.own_score(positions(self.normal, row, 3))
