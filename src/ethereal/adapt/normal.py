"""A board that learns what is normal for its own machine, and the same on the host, bit for bit.

The features and their scales are those of the model, and centres and limit become the board's own. A row
waits among the last `HELD` before it is learned. What waits in the end was never learned, so the limit
comes from it. docs/guide/normal.md says how to use it. `export/c99/parts/own_normal.c.in` repeats the rule.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.base.checks import check_integer
from ethereal.model import Model, checks
from ethereal.model.normal import normal_in, rows_of
from ethereal.normal.record import Normal as Record

FINE = 3  # bits that a position has more than in the model
EDGE = 1023  # the largest position
HELD = 16  # rows that wait
MOST_COUNT = 64  # rows that a centre counts, so that it still moves
FAR = 4  # a row is refused when its squared distance is 2**FAR times the usual one
UNIT = 3  # bits of the distance that is usual for a feature
MOST_DEVIATIONS = 65535
SLOWNESS = 12  # a share forgets half of what was before after about 0.7 * 2**12 rows
MOST_FEATURES, MOST_CENTRES = 500, 64
DEFAULT_CENTRES = 8
RULE = 1  # number of the rule. A state of another one is refused.


class Normal:
    """What is normal for one machine, learned as its board learns it.

    Until `end` has said 1, scores and limit are those of the model.

    Parameters
    ----------
    model
        The model of an `EtherealDetector`, or one that knows what is normal (`Model.with_normal`).
    n_centres
        Centres that the board keeps in RAM.

    Examples
    --------
    >>> import numpy as np
    >>> from ethereal import EtherealDetector
    >>> rng = np.random.default_rng(0)
    >>> model = EtherealDetector().fit(rng.normal(0, 5, (500, 3))).model_  # of many machines
    >>> own = Normal(model)
    >>> own.begin()
    >>> taken = [own.learn(row) for row in rng.normal(2, 0.5, (200, 3))]
    >>> own.end()
    1
    >>> own.is_normal([[2.0, 2.0, 2.0], [-2.0, -2.0, -2.0]])
    array([ True, False])
    """

    def __init__(self, model: Model, n_centres: int = DEFAULT_CENTRES) -> None:
        checks.a_model(model)
        self.model = model.drop_unused_kernels()  # as exports do, so that a state is of both
        self.general: Record = normal_in(self.model)
        self.n_centres = check_integer("n_centres", n_centres, 2, MOST_CENTRES)
        self.n_features = len(self.general.features)
        if self.n_features > MOST_FEATURES:
            raise ValueError(
                f"What is normal has {self.n_features} features, and a board learns {MOST_FEATURES} at most. "
                "Fit with fewer n_features."
            )
        self.begin()

    @property
    def identity(self) -> int:
        """What tells states of this model from others."""
        parts = [array.tobytes() for array in self.general.tensors().values()]
        return zlib.crc32(b"".join(parts), zlib.crc32(struct.pack("<BBI", RULE, self.n_centres, 0)))

    @property
    def state_bytes(self) -> int:
        """Bytes of a saved state."""
        return (2 * self.n_centres + 1) * self.n_features + 13

    @property
    def ram_bytes(self) -> int:
        """RAM of the state on a board."""
        return (2 * self.n_centres + 2 * HELD + 5) * self.n_features + 2 * self.n_centres + 40

    def begin(self) -> None:
        """Forget what was learned, and begin to learn. The model's own centres answer."""
        self.is_own = False
        self.centres = np.zeros((0, self.n_features), dtype=np.int64)
        self.counts: list[int] = []
        self._held: list[NDArray[np.int64]] = []
        self._deviations = np.zeros(self.n_features, dtype=np.int64)
        self._n_deviations = self._n_learned = self._n_refused = self._mean = 0
        self.shifts = np.zeros(self.n_features, dtype=np.int64)
        self.limit = self.usual = self._rate = 0

    def positions(self, X: Any) -> NDArray[np.int64]:
        """Return positions of rows or windows, rows x features that tell."""
        general = self.general
        away = general.steps(rows_of(self.model, X)) - general.middles
        shift, size = (general.gains >> 3).astype(np.int64), np.abs(away)
        size = np.where(shift < FINE, np.minimum(size, EDGE), size)
        size = size * (64 + 8 * (general.gains & 7).astype(np.int64))
        size = np.where(
            shift < FINE, size << np.maximum(FINE - shift, 0), size >> np.maximum(shift - FINE, 0)
        )
        return np.asarray(np.sign(away) * np.minimum(size, EDGE))

    def learn(self, x: ArrayLike) -> int:
        """Take a row or a window. Return 1, or 0 when it is too far from those before to be learned."""
        (row,) = self.positions(np.asarray(x)[None])
        if self._n_learned >= 2 * self.n_centres:
            distance = int(((self.centres - row) ** 2).sum(axis=1).min())
            if distance >> FAR > self._mean + self.n_features:
                self._n_refused = min(self._n_refused + 1, 2**31)
                return 0
        if len(self._held) == HELD:
            self._absorb(self._held.pop(0))
        self._held.append(row)
        return 1

    def _absorb(self, row: NDArray[np.int64]) -> None:
        """Learn a row: the nearest centre moves, or the two nearest become one to make room."""
        self._n_learned = min(self._n_learned + 1, 2**31)
        if len(self.centres) < self.n_centres:
            self.centres = np.vstack([self.centres, row])
            self.counts.append(1)
            return
        distances = ((self.centres - row) ** 2).sum(axis=1)
        nearest = int(distances.argmin())
        distance = int(distances[nearest])
        if self._n_deviations < MOST_DEVIATIONS:
            self._deviations += np.abs(row - self.centres[nearest])
            self._n_deviations += 1
        is_first = self._n_deviations == 1
        self._mean = distance if is_first else self._mean - (self._mean >> 4) + (distance >> 4)
        first, second, least = 0, 0, 2**31
        for a in range(self.n_centres):
            for b in range(a + 1, self.n_centres):
                between = int(((self.centres[a] - self.centres[b]) ** 2).sum())
                if between < least:
                    first, second, least = a, b, between
        if distance <= least:
            self.counts[nearest] = min(self.counts[nearest] + 1, MOST_COUNT)
            self.centres[nearest] += _quotient(row - self.centres[nearest], self.counts[nearest])
            return
        one, other = self.counts[first], self.counts[second]
        sums = one * self.centres[first] + other * self.centres[second]
        self.centres[first] = _quotient(sums, one + other)
        self.counts[first] = min(one + other, MOST_COUNT)
        self.centres[second], self.counts[second] = row, 1

    def end(self) -> int:
        """Stop learning. Return 1 when there is a limit of its own now.

        Return 0 when there were less than 16 rows and two for each centre, or when more than a quarter were
        refused. Learning may then go on.
        """
        n_taken = self._n_learned + len(self._held)
        if len(self._held) < HELD or self._n_learned < 2 * self.n_centres:
            return 0
        if self._n_refused > n_taken // 3:
            return 0
        for f in range(self.n_features):
            mean, shift = int(self._deviations[f]) // self._n_deviations, 0
            while mean * mean >> (2 * shift + 1):
                shift += 1
            self.shifts[f] = shift
        scores = sorted(self._own_score(np.array(self._held)).tolist())
        self.usual = scores[3 * HELD // 4]
        self.limit = min(2 * scores[-1] - scores[HELD // 2], 2**31 - 1)
        self._rate = 1 << 22
        self.is_own = True
        return 1

    def _own_score(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        best = np.full(len(positions), 2**31 - 1, dtype=np.int64)
        for centre in self.centres:
            size = np.minimum(np.abs(positions - centre) << UNIT >> self.shifts, EDGE)
            best = np.minimum(best, (size * size).sum(axis=1))
        return best

    def score(self, X: Any) -> NDArray[np.int64]:
        """Return how far rows or windows are from what is normal here."""
        return (
            self._own_score(self.positions(X)) if self.is_own else self.general.score(rows_of(self.model, X))
        )

    def is_normal(self, X: Any) -> NDArray[np.bool_]:
        """Return which rows or windows are normal here."""
        return np.asarray(self.score(X) <= (self.limit if self.is_own else self.general.limit))

    def drift(self, score: int) -> int:
        """Take the latest score. Return how many of 1000 recent rows are farther than a quarter was at first.

        It begins at 250, and a row counts half after about 2,800 others. Without a limit of its own it is 0.
        """
        if not self.is_own:
            return 0
        self._rate -= self._rate >> SLOWNESS
        if score > self.usual:
            self._rate += 1 << 24 - SLOWNESS
        return self._rate * 125 >> 21

    def save(self) -> bytes:
        """Return what was learned with a checksum, nothing where `end` has not said 1."""
        if not self.is_own:
            return b""
        data = self.centres.astype("<i2").tobytes() + self.shifts.astype(np.uint8).tobytes()
        data += struct.pack("<BII", len(self.centres), self.limit, self.usual)
        return data + struct.pack("<I", zlib.crc32(data, self.identity))

    def restore(self, data: bytes) -> int:
        """Take a saved state. Return 0, and change nothing, when it is damaged, cut or of another model."""
        if len(data) != self.state_bytes:
            return 0
        body, (checksum,) = data[:-4], struct.unpack("<I", data[-4:])
        n = self.n_centres * self.n_features
        n_centres, limit, usual = struct.unpack("<BII", body[-9:])
        if zlib.crc32(body, self.identity) != checksum or n_centres != self.n_centres:
            return 0
        self.begin()
        self.centres = np.frombuffer(body[: 2 * n], "<i2").astype(np.int64).reshape(-1, self.n_features)
        self.counts = [1] * n_centres
        self.shifts = np.frombuffer(body[2 * n : -9], np.uint8).astype(np.int64)
        self.limit, self.usual, self._rate, self.is_own = limit, usual, 1 << 22, True
        return 1


def _quotient(numbers: NDArray[np.int64], divisor: int) -> NDArray[np.int64]:
    """Divide as C does, towards 0."""
    return np.asarray(np.sign(numbers) * (np.abs(numbers) // divisor))
