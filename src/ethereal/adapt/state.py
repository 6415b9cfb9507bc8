"""The rule: kept rows, and votes that are a function of the rows in their order.

Every export has the same fields, the same phases and the same order, so that all of them agree on every bit.
"""

from __future__ import annotations

import struct
import zlib
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from ethereal.adapt.learning import CLIP, MOVES, NEVER, PASSES, Learning

_CHECK = struct.Struct("<I")


class Phase(IntEnum):
    """What the next step of adapting does."""

    IDLE = 0
    TRY = 1  # learn from two thirds of the rows
    CHECK = 2  # compare on the third
    LEARN = 3  # learn from all rows


class RefusedState(ValueError):
    """Bytes that are not a state of this model."""


class State:
    """Kept rows and learned votes of one person."""

    def __init__(self, learning: Learning) -> None:
        self.learning = learning
        self.rows: list[bytes] = []  # each its class and its clause bits
        self.phase = Phase.IDLE
        self.result: int | None = None  # moves of the last pass, None when nothing was kept
        self._n_pass = self._at = self._moved = self._better = 0
        self._checks: set[int] = set()
        self._known: dict[bytes, tuple[NDArray[np.intp], NDArray[np.int64]]] = {}
        self._clear()

    def _clear(self) -> None:
        own = self.learning
        shape = (own.n_clauses if own.form == "votes" else 1, own.n_classes)
        self.votes = np.zeros(shape, dtype=np.int64)
        self.taught: set[int] = set()  # new classes that may be answered
        self.is_personal = False
        self._moves = [0] * (len(self.rows) + len(own.anchors))

    def sums(self, bits: bytes, *, is_personal: bool = True) -> NDArray[np.int64]:
        """Return the votes per class in sixteenths."""
        fired, general = self._of(bits)
        sums = general.copy()
        if is_personal and self.is_personal:
            sums += self.votes[fired].sum(axis=0) if self.learning.form == "votes" else self.votes[0]
        first = self.learning.general.n_classes
        for c in range(first, self.learning.n_classes):
            if not is_personal or c not in self.taught:
                sums[c] = NEVER
        return sums

    def _of(self, bits: bytes) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Return the clauses that fired, and the votes in flash. Rows are replayed often, so it is kept."""
        found = self._known.get(bits)
        if found is None:
            array = np.frombuffer(bits, dtype=np.uint8)
            fired = np.flatnonzero(np.unpackbits(array, count=self.learning.n_clauses, bitorder="little"))
            found = fired, self.learning.weights[fired].sum(axis=0)
            if len(self._known) > 4 * self.learning.n_rows + len(self.learning.anchors):
                self._known.clear()
            self._known[bits] = found
        return found

    def keep(self, class_: int, bits: bytes) -> int:
        """Keep a row. Returns 1, or 2 when an older row had to go."""
        self.phase = Phase.IDLE
        is_full = len(self.rows) >= self.learning.n_rows
        if is_full:
            classes = [row[0] for row in self.rows]
            most = max(range(self.learning.n_classes), key=lambda c: (classes.count(c), -c))
            del self.rows[classes.index(most)]
        self.rows.append(bytes([class_]) + bits)
        return 2 if is_full else 1

    def drop(self, i: int) -> bool:
        """Drop a row. Its votes stay until the next adapting. Returns whether there was such a row."""
        if not 0 <= i < len(self.rows):
            return False
        self.phase = Phase.IDLE
        del self.rows[i]
        return True

    def forget(self) -> None:
        """Drop all rows and votes."""
        self.rows.clear()
        self.phase = Phase.IDLE
        self._clear()

    def _find_checks(self) -> set[int]:
        """Return the rows that check: the second of each class, and every third after it."""
        counts, found = [0] * self.learning.n_classes, set()
        for i, row in enumerate(self.rows):
            if counts[row[0]] % 3 == 1:
                found.add(i)
            counts[row[0]] += 1
        return found

    def _begin(self, phase: Phase) -> None:
        first = self.learning.general.n_classes
        self.taught = {row[0] for row in self.rows if row[0] >= first}
        self.is_personal = True
        self.phase = phase
        self._n_pass = self._at = self._moved = 0

    def _replay(self, i: int) -> int:
        """Let one row move the votes, if the right class is not a margin ahead. Returns 1 if it did."""
        own = self.learning
        is_own = i < len(self.rows)
        if self._moves[i] >= (own.moves if is_own else MOVES):
            return 0
        row = self.rows[i] if is_own else own.anchors[i - len(self.rows)]
        sums, right = self.sums(row[1:]), row[0]
        others = sums.copy()
        others[right] = NEVER - 1
        rival = int(others.argmax())
        if sums[right] - sums[rival] >= own.ahead(right):
            return 0
        self._moves[i] += 1
        moved: NDArray[np.intp] | int = self._of(row[1:])[0] if own.form == "votes" else 0
        self.votes[moved, right] = np.minimum(self.votes[moved, right] + 1, CLIP)
        self.votes[moved, rival] = np.maximum(self.votes[moved, rival] - 1, -CLIP)
        return 1

    def _gain(self, row: bytes) -> int:
        """Return 1 if the learned votes mend a row, -1 if they spoil it, else 0."""
        before, after = (self.sums(row[1:], is_personal=x).argmax() == row[0] for x in (False, True))
        return int(after) - int(before)

    def step(self) -> bool:
        """Do one row of adapting, and return whether there is more to do."""
        if self.phase == Phase.IDLE:
            self.result, self._better = None, 0
            self._checks = self._find_checks()
            self._clear()
            if not self.rows:
                return False
            self._begin(Phase.TRY if self.learning.has_guard else Phase.LEARN)
        i = self._at
        if self.phase != Phase.LEARN and i in self._checks:
            if self.phase == Phase.CHECK:
                self._better += self._gain(self.rows[i])
        elif self.phase != Phase.CHECK:
            self._moved += self._replay(i)
        self._at += 1
        if self._at < len(self.rows) + len(self.learning.anchors):
            return True
        self._at = 0
        return self._after_pass()

    def _after_pass(self) -> bool:
        if self.phase == Phase.CHECK:
            is_better = self._better > 0
            self._clear()  # what is not better is not kept
            self.phase = Phase.IDLE
            if is_better:
                self._begin(Phase.LEARN)
            return is_better
        self._n_pass += 1
        if self._moved and self._n_pass < PASSES:
            self._moved = 0
            return True
        if self.phase == Phase.TRY:
            self.phase = Phase.CHECK
            return True
        self.phase, self.result = Phase.IDLE, self._moved
        return False

    def adapt(self) -> int | None:
        """Make the votes anew from the rows. Returns the moves of the last pass, None if nothing is kept."""
        self.phase = Phase.IDLE
        while self.step():
            pass
        return self.result

    def save(self) -> bytes:
        """Return the rows with a checksum that begins with the model's. The votes follow from the rows."""
        return self._sealed(b"".join(self.rows))

    def restore(self, data: bytes) -> None:
        """Take the rows of a saved state and adapt to them. Anything else is refused and changes nothing."""
        size = self.learning.row_bytes
        rows = [data[i : i + size] for i in range(0, len(data) - 4, size)]
        if not self._is_whole(data, len(rows)):
            raise RefusedState(
                f"These {len(data)} bytes are not a state of this model. They are damaged, cut, or of "
                "another model or other settings of learning. Restore an older copy, or teach it again."
            )
        if len(rows) > self.learning.n_rows:
            raise RefusedState(
                f"The state has {len(rows)} rows, and there is room for {self.learning.n_rows}. "
                "Give more rows=."
            )
        self.rows = rows
        self.adapt()

    def entry(self, i: int) -> bytes:
        """Return a row with a checksum, for a log in flash."""
        return self._sealed(self.rows[i])

    def keep_entry(self, entry: bytes) -> int:
        """Keep a row of a log. Returns 0 when it is damaged, cut or of another model, else as `keep`."""
        return self.keep(entry[0], entry[1:-4]) if self._is_whole(entry, 1) else 0

    def _sealed(self, rows: bytes) -> bytes:
        return rows + _CHECK.pack(zlib.crc32(rows, self.learning.identity))

    def _is_whole(self, data: bytes, n_rows: int) -> bool:
        """Whether rows with their checksum are as they were written by this model."""
        size = self.learning.row_bytes
        if len(data) != n_rows * size + 4 or self._sealed(data[:-4]) != data:
            return False
        own = self.learning
        spare = own.n_clauses % 8 or 8  # the last byte has bits of so many clauses
        ends = range(size - 1, n_rows * size, size)
        return all(data[i - size + 1] < own.n_classes and data[i] >> spare == 0 for i in ends)
