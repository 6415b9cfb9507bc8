"""How features come in: a value a clock or several, compared on arrival, with the bits kept in chains.

Features come in a fixed order, so a counter knows which thresholds to compare with. They are in a small
memory beside it. Each comparator feeds a chain of flip-flops, which moves on when there is a bit. So
no bit needs an address: after the last value of a row, each is in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.base.checks import check_integer
from ethereal.export.c99.device_rows import Slots
from ethereal.features.feature_map import BIN, MISSING

LANES = 8  # Booleans in a byte
SMALL = 512  # bits of a memory, up to which the synthesis may make it of lookup tables
_WIDEST = 64  # bits of a transfer
_SLOWER = 1.25  # times the values of a row, that a row may take in clocks so that comparators are saved
_QUICK = 16  # clocks of a row, up to which nobody minds
_MISSING = "missing"
Bit = tuple[int, int | str]  # a feature with a threshold, "missing", or 0 for Boolean input


@dataclass(frozen=True)
class Step:
    """What happens in a clock: what each comparator looks for."""

    bits: tuple[Bit | None, ...]  # per comparator
    missing: tuple[Bit | None, ...]  # per lane
    is_last: bool  # whether the transfer is done with


class Stream:
    """The steps of a row for the slots of a model, with the features that are in use or all of them.

    A transfer has `bus` lanes, each with a feature or with eight Booleans, and with comparators that look at
    it alone.
    """

    def __init__(self, slots: Slots, *, every_feature: bool = False, bus: int = 1) -> None:
        self.slots, self.model = slots, slots.model
        used = sorted({slot.feature for slot in slots.slots})
        self.features = list(range(self.model.n_features)) if every_feature else used
        self.is_boolean = self.model.fitted is None
        self.value_bits = LANES if self.is_boolean else 8 * np.dtype(slots.kind.dtype).itemsize
        self.bus = check_integer("bus", bus, 1, _WIDEST // self.value_bits)
        self.lane_of: list[int] = []  # of each comparator
        self.steps = self._of_booleans(used) if self.is_boolean else self._of_numbers()
        self.chains = [
            [bit for step in self.steps if (bit := step.bits[k])] for k in range(len(self.lane_of))
        ]
        self.missing_chains = [
            [bit for step in self.steps if (bit := step.missing[lane])] for lane in range(self.bus)
        ]

    @property
    def data_bits(self) -> int:
        """Bits of a transfer."""
        return self.bus * self.value_bits

    @property
    def in_transfer(self) -> int:
        """Features of a transfer."""
        return LANES * self.bus if self.is_boolean else self.bus

    @property
    def n_beats(self) -> int:
        """Transfers of a row."""
        return -(-len(self.features) // self.in_transfer)

    def absent(self, lane: int) -> str:
        """Return the name of the chain of missing values of a lane, which is usually the only one."""
        return "absent" if self.bus == 1 else f"absent{lane}"

    @property
    def missing_value(self) -> int | None:
        """The value that stands for a missing one, None where no feature may be missing."""
        return self.slots.kind.missing if self.slots.accepts_missing and not self.is_boolean else None

    @property
    def is_signed(self) -> bool:
        """Whether values are signed."""
        return self.slots.kind.low < 0

    def beats(self, features: ArrayLike) -> NDArray[np.uint64]:
        """Return rows as they are transferred, rows x beats, for rows of all features as the C reads them."""
        rows = np.asarray(features)[:, self.features].astype(np.int64)
        width = 1 if self.is_boolean else self.value_bits
        values = (rows != 0 if self.is_boolean else rows & ((1 << width) - 1)).astype(np.uint64)
        padded = np.pad(values, ((0, 0), (0, self.in_transfer * self.n_beats - rows.shape[1])))
        lanes = padded.reshape(len(rows), self.n_beats, self.in_transfer)
        at = np.arange(0, width * self.in_transfer, width, dtype=np.uint64)
        return np.asarray(np.bitwise_or.reduce(lanes << at, axis=2), dtype=np.uint64)

    def boolean(self, b: int) -> str:
        """Return a Boolean of the model as an expression of the chains."""
        of = self.model.feature_map
        f, position = int(of.feature[b]), int(of.position[b])
        if self.is_boolean:
            return self._bit((f, 0))
        if of.kind[b] == MISSING:
            return self._bit((f, _MISSING))
        limits = self.limits(f)
        if of.kind[b] != BIN:
            return self._bit((f, limits[position]))
        ends = []
        if position > 0:
            ends.append(self._bit((f, limits[position - 1])))
        elif of.accepts_missing(f):
            ends.append("~" + self._bit((f, _MISSING)))
        if position < len(limits):
            ends.append("~" + self._bit((f, limits[position])))
        return " & ".join(ends)

    @cached_property
    def places(self) -> dict[Bit, str]:
        """Where each bit is after the last value of a row."""
        places: dict[Bit, str] = {}
        for k, chain in enumerate(self.chains):  # the first bit of a row has moved on most
            places |= {bit: f"chain{k}[{len(chain) - 1 - i}]" for i, bit in enumerate(chain) if bit}
        for lane, chain in enumerate(self.missing_chains):
            places |= {bit: f"{self.absent(lane)}[{len(chain) - 1 - i}]" for i, bit in enumerate(chain)}
        return places

    def limits(self, feature: int) -> list[int]:
        """Return all thresholds of a feature as the integers that values are compared with."""
        of, scale = self.model.feature_map, self.slots.scales[feature]
        begin, end = of.threshold_offsets[feature : feature + 2]
        return [scale.threshold(t) for t in of.thresholds_float32[begin:end].tolist()]

    @property
    def luts(self) -> float:
        """Lookup tables of counter, small memory, comparators and handshakes, estimated."""
        steps, columns = len(self.steps), columns_of(self)
        counter = 2.0 * (steps - 1).bit_length() + 5
        compared = 0 if self.is_boolean else len(self.chains)
        absent = 0.0 if self.missing_value is None else self.data_bits / 3
        size = steps * sum(column.width for column in columns if len(set(column.numbers)) > 1)
        varying = sum(_varying(column.numbers) for column in columns)
        return counter + compared + absent + (varying if size <= SMALL else 0)

    @property
    def flip_flops(self) -> int:
        """Flip-flops of the chains and of the counter."""
        chains = [*self.chains, *self.missing_chains]
        return sum(map(len, chains)) + (len(self.steps) - 1).bit_length() + 2

    def _bit(self, bit: Bit) -> str:
        return self.places[bit]

    def _of_booleans(self, used: Sequence[int]) -> list[Step]:
        wanted, steps, n = set(used), [], self.in_transfer
        self.lane_of = [k // LANES for k in range(n)]
        for begin in range(0, len(self.features), n):
            lanes: list[Bit | None] = [
                (f, 0) if f in wanted else None for f in self.features[begin : begin + n]
            ]
            steps.append(Step((*lanes, *[None] * (n - len(lanes))), (None,) * self.bus, True))
        return steps

    def _of_numbers(self) -> list[Step]:
        wanted: dict[int, list[Bit]] = {f: [] for f in self.features}
        absent: dict[int, Bit | None] = dict.fromkeys(self.features)
        of, compared = self.model.feature_map, dict[int, set[int]]()
        for b in self.slots.used.tolist():
            f, position = int(of.feature[b]), int(of.position[b])
            limits = self.limits(f)
            is_bin = of.kind[b] == BIN
            if of.kind[b] == MISSING or (is_bin and position == 0 and of.accepts_missing(f)):
                absent[f] = (f, _MISSING)
            if of.kind[b] != MISSING:
                ends = (position - 1, position) if is_bin else (position,)
                compared.setdefault(f, set()).update(limits[p] for p in ends if 0 <= p < len(limits))
        for f, thresholds in compared.items():
            wanted[f] = [(f, t) for t in sorted(thresholds)]
        return self._with_comparators(wanted, absent)

    def _with_comparators(self, wanted: dict[int, list[Bit]], absent: dict[int, Bit | None]) -> list[Step]:
        """Return the steps with as few comparators as do not make a row much slower."""
        transfers = [self.features[i : i + self.bus] for i in range(0, len(self.features), self.bus)]
        bits = [[wanted[f] for f in features] for features in transfers]
        most = max([1, *map(len, wanted.values())])
        allowed = max(_QUICK, _SLOWER * len(transfers))
        n = next(n for n in range(1, most + 1) if n == most or _clocks(bits, [n] * self.bus) <= allowed)
        of_lane, needed = [n] * self.bus, _clocks(bits, [n] * self.bus)
        for lane in range(self.bus):  # each with as few as take no more clocks
            fewer = ([*of_lane[:lane], k, *of_lane[lane + 1 :]] for k in range(1, n + 1))
            of_lane = next(some for some in fewer if _clocks(bits, some) <= needed)
        self.lane_of = [lane for lane, k in enumerate(of_lane) for _ in range(k)]
        steps = []
        for features, parts in zip(transfers, bits, strict=True):
            n_steps = _clocks([parts], of_lane)
            gone = [absent[f] for f in features] + [None] * (self.bus - len(features))
            for i in range(n_steps):
                compared = list[Bit | None]()
                for k, part in zip(of_lane, [*parts, *[[]] * (self.bus - len(parts))], strict=True):
                    now: list[Bit | None] = [*part[i * k : (i + 1) * k]]
                    compared += now + [None] * (k - len(now))
                is_last = i == n_steps - 1
                steps.append(Step(tuple(compared), tuple(gone) if is_last else (None,) * self.bus, is_last))
        return steps


def _clocks(transfers: Sequence[Sequence[Sequence[Bit]]], of_lane: Sequence[int]) -> int:
    """Return the clocks of a row, from what is compared in each lane of each transfer.

    >>> _clocks([[[(0, 1), (0, 2)], [(1, 5)]], [[(2, 0)]]], [1, 1])
    3
    """
    return sum(
        max([1, *(-(-len(bits) // n) for bits, n in zip(lanes, of_lane, strict=False))])
        for lanes in transfers
    )


@dataclass(frozen=True)
class Column:
    """Bits of the memory: a name, a width, and a number for each step."""

    name: str
    width: int
    numbers: tuple[int, ...]


def _varying(numbers: Sequence[int]) -> int:
    """Return how many bits are not the same in all numbers.

    >>> _varying((0b1100, 0b1001))
    2
    """
    ones, zeros = numbers[0], ~numbers[0]
    for number in numbers:
        ones, zeros = ones & number, zeros & ~number
    return (~ones & ~zeros & ((1 << 64) - 1)).bit_count()


def columns_of(stream: Stream) -> list[Column]:
    """Return what the memory holds for each step, without what is the same for all of them.

    These are the thresholds, which chains move on, and whether the value is done with. A threshold is stored
    inverted: a value is above it when their sum has a carry. An iCE40 adds in half of what comparing takes.
    """
    steps, columns = stream.steps, list[Column]()
    mask = (1 << stream.value_bits) - 1
    least = 1 << stream.value_bits - 1 if stream.is_signed else 0
    for k in range(len(stream.chains)):
        if not stream.is_boolean:
            limits = tuple(~(int(bit[1]) + least) & mask if (bit := step.bits[k]) else 0 for step in steps)
            columns.append(Column(f"limit{k}", stream.value_bits, limits))
        columns.append(Column(f"moves{k}", 1, tuple(int(step.bits[k] is not None) for step in steps)))
    for lane, chain in enumerate(stream.missing_chains):
        if chain:
            moves = tuple(int(step.missing[lane] is not None) for step in steps)
            columns.append(Column(f"moves_{stream.absent(lane)}", 1, moves))
    columns.append(Column("is_done", 1, tuple(int(step.is_last) for step in steps)))
    return columns
