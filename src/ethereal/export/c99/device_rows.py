"""How the device sees a row: number types, scales, and slots, each the state of one raw feature.

A float is compared by its place in the order of all floats. A `Scale` of each feature makes integers of the
user's numbers: `ceil((value - offset) * 2**exponent)` in float32, held within the type. Because the factor is
a power of two, `integer > threshold` means exactly `value > threshold` as long as the scaled threshold is a
whole number. Whole numbers need no scale.

The thresholds that the clauses use cut a feature into states. The state of a value is the number of these
thresholds below it. A Boolean is a statement about a state: `state > position` (thermometer, and every
feature with one threshold), `state == position` (one-hot bin), or "missing". Without a Booleanizer every
Boolean is a feature with the states 0 and 1. Features that no clause uses have no slot.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.features.feature_map import BIN, MISSING, FeatureMap
from ethereal.features.rounding import round_down, to_float32
from ethereal.model.engine import booleans_of
from ethereal.model.output import Number

if TYPE_CHECKING:
    from ethereal.model import Model


_FINEST, _COARSEST = 60, -126  # exponents of a scale: the largest float32 becomes a number of 8 bits


@dataclass(frozen=True)
class NumberType:
    """A number type of features."""

    name: str
    ctype: str
    threshold_ctype: str
    dtype: str
    low: int = 0
    high: int = 0
    missing: int = 0  # the value that stands for a missing one


NUMBER_TYPES: dict[str, NumberType] = {
    "float": NumberType("float", "float", "int32_t", "f4"),
    "int16": NumberType("int16", "int16_t", "int16_t", "i2", -(1 << 15), (1 << 15) - 1, -(1 << 15)),
    "uint16": NumberType("uint16", "uint16_t", "uint16_t", "u2", 0, (1 << 16) - 1, (1 << 16) - 1),
    "int8": NumberType("int8", "int8_t", "int8_t", "i1", -(1 << 7), (1 << 7) - 1, -(1 << 7)),
    "uint8": NumberType("uint8", "uint8_t", "uint8_t", "u1", 0, (1 << 8) - 1, (1 << 8) - 1),
}


def find_number_type(name: str) -> NumberType:
    """Return the number type of that name."""
    if name not in NUMBER_TYPES:
        raise ValueError(f"input is {name!r}. It must be one of {', '.join(NUMBER_TYPES)}.")
    return NUMBER_TYPES[name]


@dataclass(frozen=True)
class Scale:
    """How the values of a feature become integers from `low` to `high`.

    >>> scale = Scale(offset=0.0, exponent=4, low=0, high=255)
    >>> scale.integers([0.1, 5.0, 99.0]).tolist()
    [2, 80, 255]
    """

    offset: float
    exponent: int
    low: int
    high: int
    is_exact: bool = True  # whether `integer > threshold` is `value > threshold` for every value

    @property
    def factor(self) -> float:
        """What a value is multiplied with."""
        return 2.0**self.exponent

    def integers(self, values: Any) -> NDArray[np.int64]:
        """Return the integers of numbers, as the exported C computes them."""
        with np.errstate(all="ignore"):
            shifted = to_float32(values) - np.float32(self.offset)
        # In float64 no number becomes 0 by scaling, so that what is above 0 is rounded up to 1.
        steps = shifted.astype(np.float64) * self.factor
        steps = np.nan_to_num(steps, nan=self.low, posinf=self.high, neginf=self.low)
        whole: NDArray[np.float64] = np.ceil(np.clip(steps, self.low, self.high))
        return whole.astype(np.int64)

    def threshold(self, threshold: float) -> int:
        """Return the integer that stands for a threshold."""
        return math.floor((threshold - self.offset) * self.factor)

    def note(self) -> str:
        """Return the formula for readers.

        >>> Scale(20.0, 4, 0, 255).note(), Scale(0.0, 0, 0, 255).note()
        ('ceil((value - 20) * 16)', 'as it is, fractions rounded up')
        """
        shifted = f"(value - {self.offset:g})" if self.offset else "value"
        if self.exponent:
            return f"ceil({shifted} * {self.factor:g})"
        return f"ceil({shifted})" if self.offset else "as it is, fractions rounded up"


def find_scale(
    thresholds: Sequence[float], kind: NumberType, feature: str, *, accepts_missing: bool
) -> Scale:
    """Return a scale that keeps the thresholds of a feature apart, an exact one if the type has room.

    The simplest exact scale is taken: values as they are, then a power of two, then an offset too. If there
    is none, the finest that has room is taken, with thresholds rounded down. It is exact for the values that
    the integers can hold, such as whole numbers.

    >>> find_scale([2.5, 3.0], NUMBER_TYPES["int8"], "age", accepts_missing=False)
    Scale(offset=0.0, exponent=1, low=-128, high=127, is_exact=True)
    >>> find_scale([1000.25, 1000.5], NUMBER_TYPES["uint8"], "mV", accepts_missing=False)
    Scale(offset=1000.25, exponent=2, low=0, high=255, is_exact=True)
    >>> find_scale([0.001, 1.0, 1e6], NUMBER_TYPES["int16"], "lux", accepts_missing=False)
    Traceback (most recent call last):
      ...
    ValueError: Feature 'lux' has thresholds from 0.001 to 1e+06, some of which are the same in int16. ...
    """
    low = kind.low + (accepts_missing and kind.missing == kind.low)
    high = kind.high - (accepts_missing and kind.missing == kind.high)
    if not thresholds:
        return Scale(0.0, 0, low, high)
    needed = max(_exponent_of(t) for t in thresholds)
    plain = _largest_exponent(thresholds, low, high)
    if needed <= plain:
        return Scale(0.0, min(max(needed, 0), plain), low, high)
    shifted = _with_offset(thresholds, needed, low, high) if needed <= _FINEST else None
    if shifted is not None:
        return shifted
    finer = (_with_offset(thresholds, e, low, high) for e in range(min(needed, _FINEST), plain, -1))
    rounded = next(filter(None, finer), Scale(0.0, plain, low, high, is_exact=False))
    integers = [rounded.threshold(t) for t in thresholds]
    if len(set(integers)) < len(integers) or not all(low <= t < high for t in integers):
        raise ValueError(
            f"Feature {feature!r} has thresholds from {min(thresholds):g} to {max(thresholds):g}, some of "
            f"which are the same in {kind.name}. Use a wider number type or float, or train with fewer bins."
        )
    return rounded


def _exponent_of(threshold: float) -> int:
    """Return the smallest exponent with which a threshold is a whole number.

    >>> _exponent_of(20.375), _exponent_of(6.0), _exponent_of(0.0)
    (3, -1, -126)
    """
    numerator, denominator = float(threshold).as_integer_ratio()
    if numerator == 0:
        return _COARSEST
    return denominator.bit_length() - 1 if denominator > 1 else 1 - (numerator & -numerator).bit_length()


def _largest_exponent(thresholds: Sequence[float], low: int, high: int) -> int:
    """Return the largest exponent with which all thresholds lie within the type, below its largest number."""
    for exponent in range(_FINEST, _COARSEST, -1):
        if all(low <= t * 2.0**exponent <= high - 1 for t in thresholds):
            return exponent
    return _COARSEST


def _with_offset(thresholds: Sequence[float], exponent: int, low: int, high: int) -> Scale | None:
    """Return the scale whose smallest threshold becomes the type's smallest number, None without room."""
    step = 2.0**-exponent
    first = math.floor(min(thresholds) / step)
    offset = (first - low) * step
    if not abs(offset) <= 3e38 or float(np.float32(offset)) != offset:
        return None
    # If the next float32 above a threshold becomes a larger integer, every larger one does.
    scale = Scale(offset, exponent, low, high)
    exact = [scale.threshold(t) for t in thresholds]
    if not all(low <= t < high for t in exact):
        return None
    above = np.nextafter(to_float32(thresholds), np.float32(np.inf))
    same = scale.integers(thresholds).tolist() == exact and (scale.integers(above) > exact).all()
    is_exact = bool(same) and all(_exponent_of(t - offset) <= exponent for t in thresholds)
    return replace(scale, is_exact=is_exact)


_MOST_CELLS = 1 << 14
_CALIBRATION_ROWS = 512
_NO_NUMBERS = (0x7F800001, 0x7FFFFFFF, 0xFF800001, 0xFFFFFFFF)  # bits of floats
MOST_STATES = 128  # of a slot, because four states are compared at once in the bytes of a word


@dataclass(frozen=True)
class Slot:
    """One byte of a Booleanized row.

    Kinds: "level" (Boolean i of the slot is `state > i`), "bin" (its Booleans are true in one state each) and
    "missing" (state 1 when the value is missing).
    """

    kind: Literal["level", "bin", "missing"]
    feature: int
    booleans: tuple[int, ...]  # of the model, ascending
    true_states: tuple[frozenset[int], ...]  # per Boolean
    thresholds: tuple[float, ...]  # that separate the states, none for Boolean input
    n_states: int
    missing_state: int

    @property
    def is_single(self) -> bool:
        """Whether its state is that of one comparison."""
        return len(self.thresholds) == 1 and self.n_states == 2


@dataclass(frozen=True)
class Vote:
    """`weight` votes for one class."""

    class_: int
    weight: int


@dataclass(frozen=True)
class SlotClause:
    """A clause over the used Booleans: Boolean `b`, or NOT Boolean `b` as `n_booleans + b`."""

    literals: tuple[int, ...]
    votes: tuple[Vote, ...]


class Slots:
    """The Booleans that a model uses, as slots. With `singles_first`, those with one threshold come first.

    `kind` is the number type of the features.
    """

    def __init__(
        self,
        model: Model,
        *,
        singles_first: bool = False,
        kind: NumberType = NUMBER_TYPES["float"],
        n_new_classes: int = 0,
    ) -> None:
        self.model = model
        self.n_new_classes = n_new_classes  # that are yet to be learned
        self.kind = kind
        by_feature: dict[int, list[int]] = defaultdict(list)
        for b in used_booleans(model).tolist():
            by_feature[int(model.feature_map.feature[b])].append(b)
        self.slots: list[Slot] = []
        for feature, booleans in by_feature.items():
            self.slots += _slots_of(model.feature_map, feature, booleans, is_raw=model.fitted is not None)
        if singles_first:
            self.slots.sort(key=lambda slot: not slot.is_single)
        # The used Booleans in the order of the slots.
        self.used = np.array([b for slot in self.slots for b in slot.booleans], dtype=np.int64)
        self.bases = np.cumsum([0, *(len(slot.booleans) for slot in self.slots)])  # the first of each slot
        self.n_slots, self.n_booleans = len(self.slots), len(self.used)
        # Slots before the first that is not a single Boolean.
        self.n_singles = next((s for s, slot in enumerate(self.slots) if not slot.is_single), self.n_slots)
        # Whether every Boolean is `state > position`, and whether every slot is one Boolean.
        self.is_level = all(slot.kind != "bin" for slot in self.slots)
        self.is_binary = self.is_level and self.n_slots == self.n_booleans
        # Whether a feature that is looked at may be missing.
        accepts = model.feature_map.accepts_missing
        self.accepts_missing = any(accepts(slot.feature) for slot in self.slots)

    @cached_property
    def refused_features(self) -> list[int]:
        """The features whose missing values the host refuses."""
        accepts, is_raw = self.model.feature_map.accepts_missing, self.model.fitted is not None
        return [f for f in range(self.model.n_features) if is_raw and not accepts(f)]

    def thresholds_of(self, feature: int) -> list[float]:
        """Thresholds of a feature that clauses ask for, ascending."""
        return sorted({t for slot in self.slots if slot.feature == feature for t in slot.thresholds})

    @cached_property
    def scales(self) -> tuple[Scale, ...]:
        """How the values of each feature become integers. Floats and Booleans have no scale."""
        model = self.model
        if model.fitted is None or self.kind.name == "float":
            return ()
        if model.front_end is not None:  # features are whole numbers of this type, so rounding down is exact
            return (Scale(0.0, 0, self.kind.low, self.kind.high),) * model.n_features
        names, accepts = model.input_names, self.accepts_missing
        return tuple(
            find_scale(self.thresholds_of(f), self.kind, names[f], accepts_missing=accepts)
            for f in range(model.n_features)
        )

    @cached_property
    def clauses(self) -> list[SlotClause]:
        """Clauses that can vote, in terms of the used Booleans."""
        over = self.model.clauses.over(self.used)
        return [
            SlotClause(each.literals, tuple(Vote(*vote) for vote in each.weights.items())) for each in over
        ]

    def states_of(self, literal: int) -> tuple[int, frozenset[int]]:
        """Return the slot of a literal, and the states in which it is true."""
        return self._states_of_literals[literal]

    @cached_property
    def _states_of_literals(self) -> list[tuple[int, frozenset[int]]]:
        true = [(s, states) for s, slot in enumerate(self.slots) for states in slot.true_states]
        every = [frozenset(range(slot.n_states)) for slot in self.slots]
        return true + [(s, every[s] - states) for s, states in true]

    def every_boolean(self, used: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return rows of the model's Booleans for rows of the used ones. The others are false."""
        booleans = np.zeros((len(used), self.model.clauses.n_row_booleans), dtype=bool)
        booleans[:, self.used] = used
        return booleans

    def rows(self, booleans: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """Return the states of the slots, rows x slots, for rows of the model's Booleans."""
        rows = np.zeros((len(booleans), self.n_slots), dtype=np.uint8)
        for s, slot in enumerate(self.slots):
            columns = booleans[:, slot.booleans]
            if slot.kind != "bin":
                rows[:, s] = columns.sum(axis=1)
                continue
            # If no used bin is true, take a state that makes none of them true.
            rows[:, s] = min(set(range(slot.n_states)).difference(*slot.true_states), default=0)
            for column, states in zip(columns.T, slot.true_states, strict=True):
                rows[column, s] = min(states)
        return rows

    def booleans(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return the model's Booleans, rows x Booleans, for states of the slots. Unused ones are false."""
        booleans = np.zeros((len(rows), self.model.clauses.n_row_booleans), dtype=bool)
        for s, slot in enumerate(self.slots):
            for b, states in zip(slot.booleans, slot.true_states, strict=True):
                booleans[:, b] = np.isin(rows[:, s], list(states))
        return booleans

    def sample(self, n_rows: int = 512, seed: int = 0) -> NDArray[np.bool_]:
        """Draw rows of the used Booleans by the model's `boolean_rates`, each feature on its own."""
        feature_map, rates = self.model.feature_map, self.model.boolean_rates
        u = np.random.default_rng(seed).random((n_rows, feature_map.n_features))
        rows = np.zeros((n_rows, feature_map.n_booleans), dtype=bool)
        for f in range(feature_map.n_features):
            of_feature = np.arange(feature_map.boolean_offsets[f], feature_map.boolean_offsets[f + 1])
            value = of_feature[feature_map.kind[of_feature] != MISSING]
            k = len(value)
            is_binned = k > 0 and feature_map.kind[value[0]] == BIN
            rate = np.full(k, 1.0 / max(k, 1)) if is_binned else 1.0 - np.arange(1, k + 1) / (k + 1)
            if rates is not None:
                rate = rates[value].astype(np.float64)
            if is_binned:
                upper = np.cumsum(rate)
                rows[:, value] = (u[:, [f]] < upper) & (u[:, [f]] >= upper - rate)
            else:
                rows[:, value] = u[:, [f]] < rate
        return rows[:, self.used]


def used_booleans(model: Model) -> NDArray[np.int64]:
    """Return the Booleans of a row that clauses ask for, ascending. With a patch, those of all cells."""
    asked, patch = np.unique(model.clauses.boolean), model.patch
    if patch is None:
        return asked
    planes = np.unique(asked[asked < patch.n_content] % patch.n_planes)
    return (np.arange(patch.n_cells)[:, None] * patch.n_planes + planes).ravel()


def _slots_of(feature_map: FeatureMap, feature: int, booleans: list[int], *, is_raw: bool) -> list[Slot]:
    value = [b for b in booleans if feature_map.kind[b] != MISSING]
    missing = [b for b in booleans if feature_map.kind[b] == MISSING]
    begin, end = feature_map.threshold_offsets[feature : feature + 2]
    every = feature_map.thresholds_float32[begin:end].tolist() if is_raw else []
    if (value and feature_map.kind[value[0]] == BIN) or (missing and feature_map.is_binned[feature]):
        return [_bin_slot(feature_map, feature, value, missing, every)]
    slots = []
    for begin in range(0, len(value), MOST_STATES - 1):
        part = value[begin : begin + MOST_STATES - 1]
        n = len(part)
        true_states = tuple(frozenset(range(i + 1, n + 1)) for i in range(n))
        kept = tuple(every[int(feature_map.position[b])] for b in part) if is_raw else ()
        slots.append(Slot("level", feature, tuple(part), true_states, kept, n + 1, 0))
    if missing:
        slots.append(Slot("missing", feature, tuple(missing), (frozenset({1}),), (), 2, 1))
    return slots


def _bin_slot(
    feature_map: FeatureMap, feature: int, value: list[int], missing: list[int], every: list[float]
) -> Slot:
    bins = [int(feature_map.position[b]) for b in value]
    borders = sorted({t for j in bins for t in (j - 1, j) if 0 <= t < len(every)})
    n_states = len(borders) + 1
    # Bin j lies above border j - 1, so its state is the number of borders below j.
    true_states = [frozenset({sum(t < j for t in borders)}) for j in bins]
    accepts_missing = feature_map.accepts_missing(feature)
    if missing:
        true_states.append(frozenset({n_states}))
    if n_states + accepts_missing > MOST_STATES:
        raise ValueError(
            f"Feature {feature} has {n_states} one-hot bins in use. The device's limit is {MOST_STATES - 1}. "
            "Use fewer bins, or the thermometer encoding."
        )
    thresholds, missing_state = tuple(every[t] for t in borders), n_states * accepts_missing
    booleans, n_states = tuple(value + missing), n_states + accepts_missing
    return Slot("bin", feature, booleans, tuple(true_states), thresholds, n_states, missing_state)


@dataclass(frozen=True)
class Cells:
    """Classes of all combinations of states. The last slot varies fastest."""

    data: NDArray[np.uint8]  # the first cell in the lowest bits
    bits: int  # per cell


def make_cells(slots: Slots, most_bytes: int) -> Cells | None:
    """Return the class of every different row, or None if that takes more than `most_bytes`.

    There is none for a number, which has more answers than a few bits hold.
    """
    if slots.model.is_number:
        return None
    n_states = [slot.n_states for slot in slots.slots]
    n_cells = math.prod(n_states)
    class_bits = max(1, (slots.model.output.n_answers - 1).bit_length())
    bits = next((b for b in (1, 2, 4, 8) if b >= class_bits), None)
    if bits is None or n_cells > _MOST_CELLS or n_cells * bits > 8 * most_bytes:
        return None
    states = np.indices(n_states).reshape(len(n_states), -1)  # slots x cells
    sums = np.zeros((n_cells, slots.model.n_classes), dtype=np.int64)
    for clause in slots.clauses:
        fires = np.ones(n_cells, dtype=bool)
        for s, true in map(slots.states_of, clause.literals):
            fires &= np.isin(states[s], list(true))
        for vote in clause.votes:
            sums[fires, vote.class_] += vote.weight
    per_byte = 8 // bits
    classes = np.pad(slots.model.output.codes(sums), (0, -n_cells % per_byte)).reshape(-1, per_byte)
    return Cells((classes << (bits * np.arange(per_byte))).sum(axis=1).astype(np.uint8), bits)


def stand_ins(slots: Slots) -> tuple[NDArray[Any], ...]:
    """Return values of every feature, as the program reads them, that stand for all others.

    A program compares a feature with its thresholds, and asks whether it is missing. So two values with no
    threshold between them have the same effect. The values on both sides of every threshold and the ends of
    the type stand for all. Of floats, the zeros, the infinities and the first and last bits of NaN do, too.
    """
    model = slots.model
    if model.fitted is None:
        return (np.array([0, 1, 255], dtype=np.uint8),) * model.n_features
    return tuple(_integers(slots, f) if slots.scales else _floats(slots, f) for f in range(model.n_features))


def _floats(slots: Slots, f: int) -> NDArray[np.float32]:
    limits = round_down(slots.thresholds_of(f)).astype(np.float32)
    ends = np.array([-np.inf, -0.0, 0.0, np.inf], dtype=np.float32)
    above = np.nextafter(limits, np.float32(np.inf))
    bits = np.concatenate([limits, above, ends, _on_slope(slots, f)]).view(np.uint32)
    return np.unique(np.append(bits, np.array(_NO_NUMBERS, dtype=np.uint32))).view(np.float32)


def _on_slope(slots: Slots, f: int) -> NDArray[np.float32]:
    """Return values with which a slope of a feature takes each way through its code, none without a slope."""
    output = slots.model.output
    line = output.line if isinstance(output, Number) else None
    slopes = () if line is None else [slope for slope in line.slopes if slope.feature == f]
    steps = [(s.exponent, at) for s in slopes for at in (s.low - 1, s.low, -1, 1, s.high, s.high + 1)]
    return np.array([math.ldexp(at, exponent) for exponent, at in steps], dtype=np.float32)


def _integers(slots: Slots, f: int) -> NDArray[Any]:
    kind = slots.kind
    limits = np.array(list(map(slots.scales[f].threshold, slots.thresholds_of(f))), dtype=np.int64)
    values = np.concatenate([limits, limits + 1, [kind.low, kind.high, kind.missing]])
    return np.unique(np.clip(values, kind.low, kind.high)).astype(kind.dtype)


def bits_of(column: NDArray[np.bool_]) -> int:
    """Return a column of rows as a number, with a bit per row."""
    return int.from_bytes(np.packbits(column, bitorder="little").tobytes(), "little")


def simplified(model: Model) -> Model:
    """Return the simplified model, in which something must vote."""
    small = model.simplify()
    if small.is_constant:
        raise ValueError("The model has no clause that can vote. Train it longer.")
    return small


def calibration(model: Model, slots: Slots, rows: ArrayLike | None) -> NDArray[np.bool_]:
    """Return typical rows of the used Booleans."""
    given = None if rows is None else booleans_of(model, rows)
    if rows is None and model.typical_rows is not None:
        n = model.clauses.n_row_booleans
        bits = np.unpackbits(model.typical_rows, axis=1, count=n, bitorder="little")
        given = bits.astype(bool)
    if given is None or len(given) == 0:
        return slots.sample(_CALIBRATION_ROWS)
    return given[:: max(1, len(given) // _CALIBRATION_ROWS), slots.used]
