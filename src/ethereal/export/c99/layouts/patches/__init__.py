"""Tables of the layout "patches": thresholds of the planes, the literals of each clause, and its votes."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.ctext import Tables, unsigned_type
from ethereal.export.c99.device_rows import Slots
from ethereal.export.c99.layouts import FRAMES, Costs, Plan
from ethereal.features.feature_map import THRESHOLD
from ethereal.features.rounding import places_of
from ethereal.model.clauses import decode
from ethereal.model.needs import NotSupported
from ethereal.model.patch import cell_map

# Instructions on a Cortex-M7, fitted to two models.
PER_CELL, _PER_TEST, _PER_LINE, _PER_CLAUSE = 6.0, 13.0, 10.0, 30.0
_WIDEST = 64  # cells of a line, which are the bits of a word
ROWS = 16  # typical rows that costs are estimated on


def plan(slots: Slots, rows: Callable[[], NDArray[np.bool_]], max_bytes: int | None) -> Plan:
    """Arrange the clauses of `slots` in the model's order. Literals that fail often on `rows` come first."""
    arranged = Arranged(slots, slots.every_boolean(rows()[:ROWS]))
    bits, lines = arranged.word_bits, len(arranged.planes) * arranged.height
    stack = lines * bits // 8 + 4 * slots.model.n_classes + FRAMES
    return Plan(arranged.write, None, Costs(arranged.instructions(), stack))


def _bytes_of(largest: int) -> int:
    """Return the bytes of numbers up to `largest`."""
    return max(1, (largest.bit_length() + 7) // 8)


def _votes(weights: NDArray[np.int32]) -> tuple[list[list[bytes]], int, int]:
    """Return the votes of each clause as bytes, how many of these follow a class, and what 0 stands for.

    Where it is shorter, a vote shares a byte with its class, and a large one is several votes.
    """
    clauses, classes = np.nonzero(weights)
    numbers = weights[clauses, classes]
    n_bytes = 1 if np.abs(numbers).max(initial=0) < 128 else 2
    is_packed = weights.shape[1] <= 16 and np.ceil(np.abs(numbers) / 7).sum() <= (1 + n_bytes) * len(numbers)
    least = 8 if is_packed else 1 << (8 * n_bytes - 1)
    votes: list[list[bytes]] = [[] for _ in range(len(weights))]
    for j, c, vote in zip(clauses.tolist(), classes.tolist(), numbers.tolist(), strict=True):
        if not is_packed:
            votes[j].append(bytes([c]) + (vote + least).to_bytes(n_bytes, "little"))
        while is_packed and vote:
            part = max(-7, min(7, vote))
            votes[j].append(bytes([c << 4 | part + least]))
            vote -= part
    return votes, 0 if is_packed else n_bytes, least


class Arranged:
    """The clauses of a model over patches, as lines of cells and literals."""

    def __init__(self, slots: Slots, typical: NDArray[np.bool_]) -> None:
        model, patch = slots.model, slots.model.patch
        assert patch is not None
        self.slots, self.patch, self.typical = slots, patch, typical
        self.height, self.width = ((1,) * (2 - len(patch.shape)) + patch.shape)[-2:]
        self.rows, self.columns = ((1,) * (2 - len(patch.shape)) + patch.positions)[-2:]
        if self.width > _WIDEST:
            raise NotSupported(
                f"layout patches takes rows of up to {_WIDEST} cells along the last axis, but the model has "
                f"{self.width}. Use shorter windows or narrower images."
            )
        cell = cell_map(patch, model.feature_map)
        clauses = model.clauses
        boolean = clauses.boolean
        is_content = boolean < patch.n_content
        # Those that are asked for, and one at least, because C has no empty arrays.
        asked = np.unique(boolean[is_content] % patch.n_planes)
        self.planes = asked if len(asked) else np.zeros(1, dtype=np.int64)
        if model.fitted is not None and (cell.kind[self.planes] != THRESHOLD).any():
            raise NotSupported(
                "layout patches takes thresholds only, not one-hot bins or missing values. Use the "
                "thermometer encoding."
            )
        self.cell = cell
        self.n_channels = cell.n_features
        self.word_bits = 32 if self.width <= 32 else 64
        cells = typical.reshape(len(typical), -1, patch.n_planes)
        self.rates = cells.mean(axis=(0, 1)) if len(typical) else np.full(patch.n_planes, 0.5)
        # The cells of the patch that are asked for, as a line behind that of the position, and a shift.
        self.used = np.unique(boolean[is_content])
        number = np.zeros(patch.n_booleans, dtype=np.int64)
        number[self.used] = np.arange(len(self.used))
        self.literals: list[list[int]] = []  # of each clause, those that are not negated first
        self.counts: list[tuple[int, int]] = []
        self.where: list[tuple[int, int, int, int]] = []  # of positions: top, left, bottom, right
        for clause in clauses:
            b, negated = decode(np.array(clause.literals, dtype=np.int64), patch.n_booleans)
            here = b < patch.n_content
            holds = np.where(negated, 1 - self.rates[b % patch.n_planes], self.rates[b % patch.n_planes])
            order = np.lexsort((b, holds, negated))
            order = order[here[order]]
            self.literals.append(number[b[order]].tolist())
            self.counts.append((int((here & ~negated).sum()), int((here & negated).sum())))
            self.where.append(self._where(b[~here] - patch.n_content, negated[~here]))

    def _where(self, place: NDArray[np.int64], negated: NDArray[np.bool_]) -> tuple[int, int, int, int]:
        """Return the range of rows and columns that Booleans of the place leave."""
        low, high = [], []
        for first, n in ((0, self.rows), (self.rows - 1, self.columns)):
            of_axis = (place >= first) & (place < first + n - 1)
            above = place[of_axis & ~negated] - first + 1
            below = place[of_axis & negated] - first + 1
            low.append(int(above.max(initial=0)))
            high.append(max(low[-1], int(below.min(initial=n))))
        return (*low, *high)  # type: ignore[return-value]

    def write(self, out: Tables) -> None:
        """Write all tables."""
        patch = self.patch
        self.write_planes(out)
        out.define("ET_CLAUSES", f"{len(self.counts)}u")
        shape = patch.size[-1]
        cell, plane = np.divmod(self.used, patch.n_planes)
        line = np.searchsorted(self.planes, plane) * self.height + cell // shape
        fields = [(unsigned_type(int(line.max(initial=0))), "line"), ("uint8_t", "shift")]
        pairs = list(zip(line.tolist(), (cell % shape).tolist(), strict=True))
        out.records(
            "et_cell", fields, "et_cells", pairs or [(0, 0)], "cells of the patch: a line, and a shift"
        )
        self._write_clauses(out)

    def _write_clauses(self, out: Tables) -> None:
        """Write each clause as bytes: counts, a mark, the ends of its positions, literals, and votes."""
        votes, vote_bytes, least = _votes(self.slots.model.weights)
        everywhere = (0, 0, self.rows, self.columns)
        are_placed = any(where != everywhere for where in self.where)
        n_votes = [len(one) for one in votes]
        sizes = {
            "CELL": _bytes_of(len(self.used) - 1),
            "PLACE": _bytes_of(max(self.rows, self.columns)),
            "COUNT": 0 if max(n_votes, default=0) < 16 else _bytes_of(max(n_votes)),
            "VOTE": vote_bytes,
            "MARK": int(are_placed or set(n_votes) != {1}),
        }
        is_short = max((max(count) for count in self.counts), default=0) < 16
        out.define("ET_SHORT", f"{int(is_short)}u")
        out.define("ET_PLACES", f"{int(are_placed)}u")
        for name, size in sizes.items():
            out.define(f"ET_{name}_BYTES", f"{size}u")
        out.define("ET_LEAST_VOTE", least)
        data = bytearray()

        def add(number: int, n_bytes: int) -> None:
            data.extend(number.to_bytes(n_bytes, "little"))

        for literals, counts, where, its_votes in zip(
            self.literals, self.counts, self.where, votes, strict=True
        ):
            data += bytes([counts[0] | counts[1] << 4] if is_short else counts)
            is_end = [end != usual for end, usual in zip(where, everywhere, strict=True)]
            told = 0 if sizes["COUNT"] else len(its_votes) << 4
            if sizes["MARK"]:
                data.append(sum(end << i for i, end in enumerate(is_end)) | told)
            if sizes["COUNT"]:
                add(len(its_votes), sizes["COUNT"])
            for end in itertools.compress(where, is_end):
                add(end, sizes["PLACE"])
            for literal in literals:
                add(literal, sizes["CELL"])
            data += b"".join(its_votes)
        out.array("uint8_t", "et_clauses", data, "one after the other, see ethereal_patches.h")

    def write_planes(self, out: Tables) -> None:
        """Write what says how a row becomes planes."""
        model, kind = self.slots.model, self.slots.kind
        sizes = {"HEIGHT": self.height, "WIDTH": self.width, "ROWS": self.rows, "COLUMNS": self.columns}
        sizes |= {"CHANNELS": self.n_channels, "PLANES": len(self.planes), "WORD_BITS": self.word_bits}
        for name, size in sizes.items():
            out.define(f"ET_{name}", f"{size}u")
        out.define("ET_BOOLEAN_INPUT", int(model.fitted is None))
        is_float = model.fitted is not None and kind.name == "float"
        out.define("ET_FLOAT_INPUT", int(is_float))
        channel = self.cell.feature[self.planes].astype(np.int64)
        out.array(unsigned_type(self.n_channels - 1), "et_channels", channel.tolist(), "of each plane")
        if model.fitted is not None:
            self._write_thresholds(out, channel, is_float)

    def _write_thresholds(self, out: Tables, channel: NDArray[np.int64], is_float: bool) -> None:
        kind, scales = self.slots.kind, self.slots.scales
        position = self.cell.position[self.planes]
        limits = [self.cell.thresholds_float32[self.cell.threshold_offsets[c] + p]
                  for c, p in zip(channel.tolist(), position.tolist(), strict=True)]  # fmt: skip
        numbers = places_of(limits).tolist() if is_float else [
            scales[c].threshold(float(t)) for c, t in zip(channel.tolist(), limits, strict=True)
        ]  # fmt: skip
        if is_float:
            out.define("ET_CAN_MISS", 0)
            out.define("ET_CAN_BE_NAN", 0)
            out.define("ET_SIGNED_ORDER", int(min(numbers, default=0) < 0))
        out.array(kind.threshold_ctype, "et_thresholds", numbers, "of each plane", typedef="et_threshold")

    def instructions(self) -> float:
        """Return the instructions of a typical row."""
        patch, tests, lines = self.patch, 0.0, 0.0
        for literals, (n_plain, _), (top, _, bottom, _) in zip(
            self.literals, self.counts, self.where, strict=True
        ):
            plane = self.used[literals] % patch.n_planes
            negated = np.arange(len(plane)) >= n_plain
            holds = np.where(negated, 1 - self.rates[plane], self.rates[plane])
            # Whether one of the positions of a line is left after so many literals.
            alive = 1 - (1 - np.cumprod(np.append(1.0, holds[:-1]))) ** (self.columns / 2)
            n_lines = (bottom - top) / 2 + 1
            tests += n_lines * float(alive.sum())
            lines += n_lines
        cells = PER_CELL * self.height * self.width * len(self.planes)
        return cells + _PER_TEST * tests + _PER_LINE * lines + _PER_CLAUSE * len(self.counts)
