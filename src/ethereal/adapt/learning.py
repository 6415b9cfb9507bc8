"""The rule by which votes learn: what it knows of a model (`Learning`), and the rows that it keeps (`State`).

Votes are a function of the kept rows in their order. Every export has the same fields, the same phases and
the same order, so that all of them agree on every bit.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.adapt.learn_options import DEFAULT_ROWS, FORMS, LearnOptions
from ethereal.base.checks import check_integer, check_number
from ethereal.model import Model
from ethereal.model.needs import WINDOWS, Supports

SIXTEENTHS = 16  # of a vote, in which votes are learned
CLIP = 127  # of a learned vote, in sixteenths
PASSES = 20
MOVES = 4  # that one row may cause, more where votes are heavy. General rows stay at 4.
MOST_MOVES = 32  # that a kept row may cause, and does where there are new classes
RULE = 2  # number of the rule. A state of another one is refused.
NEVER = -(1 << 30)  # the sum of a class that nobody taught yet
MOST_ROWS = 10_000
SUPPORTS = Supports("learning on the board", front_ends=WINDOWS, n_classes=255, heaviest_vote=(1 << 15) - 1)


@dataclass(frozen=True, eq=False)
class Learning:
    """How one model learns."""

    general: Model  # simplified, in whole votes
    form: str  # "votes" or "bias"
    n_rows: int  # that are kept at most
    has_guard: bool
    margin: int  # in sixteenths
    new_labels: tuple[Any, ...]  # of classes that the model does not know
    anchors: tuple[bytes, ...]  # general rows, each its class and its clause bits

    @classmethod
    def asked(cls, model: Model, options: LearnOptions) -> Learning | None:
        """Return how an export with these options learns, None if it does not."""
        if options.learn is None:
            return None
        kept = {name: getattr(options, name) for name in ("guard", "classes", "anchors", "margin")}
        return cls.of(model, options.learn, options.learn_rows, **kept)

    @classmethod
    def of(
        cls,
        model: Model,
        form: str = "votes",
        n_rows: int = DEFAULT_ROWS,
        *,
        guard: bool = True,
        classes: int | Sequence[Any] = 0,
        anchors: tuple[ArrayLike, ArrayLike] | None = None,
        margin: float | None = None,
    ) -> Learning:
        """Check everything and return how `model` learns. The parameters are those of `LearnOptions`."""
        if form not in FORMS:
            raise ValueError(f"learn is {form!r}. It must be one of {', '.join(FORMS)}.")
        SUPPORTS.check(model.needs)
        small = model.simplify()
        if small.n_clauses == 0:
            raise ValueError("The model has no clause that can vote. Train it longer.")
        new = _new_labels(small.classes.tolist(), classes)
        if small.n_classes + len(new) < 2:
            raise ValueError("The model has one class, so there is nothing to tell apart. Train it on two.")
        if small.n_classes + len(new) > SUPPORTS.n_classes:
            raise ValueError(f"There are {small.n_classes + len(new)} classes. At most 255 can learn.")
        if new and anchors is None:
            raise ValueError(
                "New classes need general rows, or the board forgets the old ones. Give some training rows "
                "of each class as anchors=(X, y)."
            )
        heaviest = int(np.abs(small.weights.astype(np.int64)).sum(axis=0).max())
        if heaviest >= 1 << 24:
            raise ValueError(f"Votes of a class add up to {heaviest}. Learning takes less than {1 << 24}.")
        n_rows, votes_ahead = check_integer("learn_rows", n_rows, 1, MOST_ROWS), _margin(small, margin)
        return cls(small, form, n_rows, bool(guard), votes_ahead, new, _anchor_rows(small, anchors))

    @property
    def n_clauses(self) -> int:
        """Clauses, each a bit of a kept row."""
        return self.general.n_clauses

    @property
    def n_classes(self) -> int:
        """Classes that the model knows, and new ones."""
        return self.general.n_classes + len(self.new_labels)

    @property
    def labels(self) -> list[Any]:
        """Labels of all classes."""
        return [*self.general.classes.tolist(), *self.new_labels]

    @property
    def row_bytes(self) -> int:
        """Bytes of a kept row, its class and its clause bits."""
        return 1 + (self.n_clauses + 7) // 8

    @property
    def n_votes(self) -> int:
        """Learned numbers, a byte each."""
        return self.n_classes * (self.n_clauses if self.form == "votes" else 1)

    @cached_property
    def moves(self) -> int:
        """How often a kept row may move votes: often enough to put its class ahead by a margin.

        A move is worth two sixteenths for each clause that fires, and two for a bias. Where votes are heavy
        and few clauses fire, four moves change no answer. The guard then finds nothing better.
        """
        if self.new_labels:
            return MOST_MOVES
        if (typical := _typical(self.general)) is None:
            return MOVES
        fires = self.general.clauses.fires(typical).sum(axis=1)
        worth = max(float(np.median(fires)), 1.0) if self.form == "votes" else 1.0
        return min(MOST_MOVES, max(MOVES, math.ceil(self.margin / (2 * worth))))

    @property
    def ram_bytes(self) -> int:
        """RAM of a state on the board, without padding."""
        counts = self.n_rows + len(self.anchors)
        return self.n_votes + self.n_rows * self.row_bytes + counts + len(self.new_labels) + 16

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """Votes in flash in sixteenths, clauses x all classes."""
        sixteenths = SIXTEENTHS * self.general.weights.astype(np.int64)
        return np.pad(sixteenths, ((0, 0), (0, len(self.new_labels))))

    @cached_property
    def identity(self) -> int:
        """CRC-32 of all that decides on the answers, so that a state of another model is refused."""
        clauses, feature_map = self.general.clauses, self.general.feature_map
        facts = (RULE, FORMS.index(self.form), self.has_guard, self.margin, self.moves, len(self.new_labels))
        kinds = clauses.offsets, clauses.literals, feature_map.feature, feature_map.kind
        parts = (
            struct.pack("<6i", *facts),
            clauses.weights.astype("<i4").tobytes(),
            *(array.astype("<u4").tobytes() for array in kinds),
            feature_map.thresholds_float32.astype("<f4").tobytes(),
            *self.anchors,
        )
        return zlib.crc32(b"".join(parts))

    def ahead(self, class_: int) -> int:
        """Return the sixteenths that a right class should be ahead, twice as many for a new one."""
        return 2 * self.margin if class_ >= self.general.n_classes else self.margin

    def bits(self, X: ArrayLike) -> list[bytes]:
        """Return which clauses fire on each row, a bit each, clause 0 in bit 0 of the first byte."""
        return packed(self.general.clause_outputs(X))


def packed(fires: NDArray[np.bool_]) -> list[bytes]:
    """Return rows of clause outputs as bits."""
    return [row.tobytes() for row in np.packbits(fires, axis=1, bitorder="little")]


def _typical(model: Model) -> NDArray[np.bool_] | None:
    """Return the Booleans of the typical rows that a model carries, None if it has none."""
    rows = model.typical_rows
    if rows is None or len(rows) == 0:
        return None
    return np.unpackbits(rows, axis=1, count=model.n_booleans, bitorder="little").astype(bool)


def _margin(small: Model, asked: float | None) -> int:
    """Return the lead that a right class should have, in sixteenths."""
    if asked is not None:
        return round(SIXTEENTHS * check_number("margin", asked, 1 / SIXTEENTHS, 1 << 20))
    if (typical := _typical(small)) is None:
        raise ValueError(
            "The model carries no typical rows to measure the usual lead of a class by. Say how many votes "
            "the right class should be ahead, such as margin=10."
        )
    if small.n_classes < 2:
        return SIXTEENTHS
    sums = np.sort(small.clauses.fires(typical) @ small.weights.astype(np.int64), axis=1)
    return max(1, round(SIXTEENTHS * float(np.median(sums[:, -1] - sums[:, -2]))))


def _new_labels(known: list[Any], asked: int | Sequence[Any]) -> tuple[Any, ...]:
    """Return the labels of classes that are yet to be learned."""
    if not isinstance(asked, (int, np.integer)):
        new = tuple(asked)
        twice = [label for label in new if label in known or new.count(label) > 1]
        if twice:
            raise ValueError(f"classes names {twice[0]!r} twice, or the model knows it. Name it once.")
        if any(type(label) is not type(known[0]) for label in new):
            raise TypeError(f"classes has {new!r}. The model's labels are of the type of {known[0]!r}.")
        return new
    check_integer("classes", asked, 0, 200)
    if asked and isinstance(known[0], str):
        free = [name for i in range(1, len(known) + asked + 1) if (name := f"new {i}") not in known]
        return tuple(free[:asked])
    if asked and (isinstance(known[0], bool) or not isinstance(known[0], int)):
        raise TypeError(f"New classes need labels that are texts or integers, and not {known[0]!r}.")
    return tuple(range(max(known) + 1, max(known) + 1 + asked)) if asked else ()


def _anchor_rows(small: Model, anchors: tuple[ArrayLike, ArrayLike] | None) -> tuple[bytes, ...]:
    """Return general rows as the board keeps them."""
    if anchors is None:
        return ()
    X, y = anchors
    wanted, known = np.asarray(y).tolist(), small.classes.tolist()
    bits = packed(small.clause_outputs(X))
    if len(bits) != len(wanted):
        raise ValueError(f"anchors has {len(bits)} rows and {len(wanted)} labels. Give a label per row.")
    if len(bits) > MOST_ROWS:
        raise ValueError(f"anchors has {len(bits)} rows. At most {MOST_ROWS} can be kept in flash.")
    strange = [label for label in wanted if label not in known]
    if strange:
        raise ValueError(f"anchors has the label {strange[0]!r}, which the model does not know.")
    return tuple(bytes([known.index(label)]) + row for label, row in zip(wanted, bits, strict=True))


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
        learning = self.learning
        shape = (learning.n_clauses if learning.form == "votes" else 1, learning.n_classes)
        self.votes = np.zeros(shape, dtype=np.int64)
        self.taught: set[int] = set()  # new classes that may be answered
        self.is_personal = False
        self._moves = [0] * (len(self.rows) + len(learning.anchors))

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
        if bits not in self._known:
            array = np.frombuffer(bits, dtype=np.uint8)
            fired = np.flatnonzero(np.unpackbits(array, count=self.learning.n_clauses, bitorder="little"))
            if len(self._known) > 4 * self.learning.n_rows + len(self.learning.anchors):
                self._known.clear()
            self._known[bits] = fired, self.learning.weights[fired].sum(axis=0)
        return self._known[bits]

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
        counts, checks = [0] * self.learning.n_classes, set()
        for i, row in enumerate(self.rows):
            if counts[row[0]] % 3 == 1:
                checks.add(i)
            counts[row[0]] += 1
        return checks

    def _begin(self, phase: Phase) -> None:
        first = self.learning.general.n_classes
        self.taught = {row[0] for row in self.rows if row[0] >= first}
        self.is_personal = True
        self.phase = phase
        self._n_pass = self._at = self._moved = 0

    def _replay(self, i: int) -> int:
        """Let one row move the votes, if the right class is not a margin ahead. Returns 1 if it did."""
        learning = self.learning
        is_kept = i < len(self.rows)
        if self._moves[i] >= (learning.moves if is_kept else MOVES):
            return 0
        row = self.rows[i] if is_kept else learning.anchors[i - len(self.rows)]
        sums, right = self.sums(row[1:]), row[0]
        others = sums.copy()
        others[right] = NEVER - 1
        best_other = int(others.argmax())
        if sums[right] - sums[best_other] >= learning.ahead(right):
            return 0
        self._moves[i] += 1
        moved: NDArray[np.intp] | int = self._of(row[1:])[0] if learning.form == "votes" else 0
        self.votes[moved, right] = np.minimum(self.votes[moved, right] + 1, CLIP)
        self.votes[moved, best_other] = np.maximum(self.votes[moved, best_other] - 1, -CLIP)
        return 1

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
                right, bits = self.rows[i][0], self.rows[i][1:]
                before, after = (self.sums(bits, is_personal=x).argmax() == right for x in (False, True))
                self._better += int(after) - int(before)  # -1 if the learned votes spoil the row
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
        return rows + struct.pack("<I", zlib.crc32(rows, self.learning.identity))

    def _is_whole(self, data: bytes, n_rows: int) -> bool:
        """Whether rows with their checksum are as they were written by this model."""
        size = self.learning.row_bytes
        if len(data) != n_rows * size + 4 or self._sealed(data[:-4]) != data:
            return False
        learning = self.learning
        spare = learning.n_clauses % 8 or 8  # the last byte has bits of so many clauses
        ends = range(size - 1, n_rows * size, size)
        return all(data[i - size + 1] < learning.n_classes and data[i] >> spare == 0 for i in ends)
