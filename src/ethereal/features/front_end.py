"""What stands before a model that reads raw windows: an immutable record that computes their features."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal import _native
from ethereal.base.checks import check_integer, check_number, count_threads
from ethereal.features.kernels import (
    FRAME,
    KERNELS,
    MAGNITUDE,
    MEAN,
    MEL_BANDS,
    NO_AXIS,
    band_ends,
    magnitudes,
    sines,
    sources_of,
    transform_size,
    unsquash,
)

MOST_AXES, MOST_RATE = 16, 1e7
Group = tuple[str, str]  # kernel, and the axis, magnitude or pair that it reads


@dataclass(frozen=True)
class FrontEnd:
    """From windows of samples to rows of int16 features, in integers, with the bits of the exported C.

    Groups are brought into the order in which they are computed: axes, then magnitudes, then pairs.

    >>> front_end = FrontEnd(("ax", "ay"), 32, (("std", "ay"), ("stats", "ax")))
    >>> front_end.names
    ('ax.mean', 'ax.min', 'ax.max', 'ax.range', 'ay.std')
    >>> window = np.stack([np.arange(32), np.full(32, 7)], axis=1).astype(np.int16)
    >>> front_end.transform(window[None])
    array([[15,  0, 31, 31,  0]], dtype=int16)
    """

    axes: tuple[str, ...]
    window: int  # samples
    groups: tuple[Group, ...]
    hop: int = 0  # samples from one window to the next in a stream, 0 for the whole window
    rate: float | None = None  # samples per second
    scale: tuple[float, ...] | None = None  # counts per unit, of each axis
    units: tuple[str, ...] | None = None  # of each axis

    def __post_init__(self) -> None:
        own = _checked_axes(self.axes)
        check_integer("window", self.window, 32, 2**15)
        hop = self.window if self.hop == 0 else check_integer("hop", self.hop, 1, self.window)
        groups = tuple(sorted({self._checked_group(*g) for g in self.groups}, key=self._place))
        if len(groups) != len(self.groups) or not groups:
            what = "has a group twice" if groups else "has no group"
            raise ValueError(f"a front end {what}. Give each kernel of each axis once.")
        if self.rate is not None:
            check_number("rate", self.rate, 1e-6, MOST_RATE)
        if self.scale is not None:
            if len(self.scale) != len(own):
                raise ValueError(f"scale has {len(self.scale)} entries for {len(own)} axes. Give one each.")
            for value in self.scale:
                check_number("scale", value, 1e-9, 1e9)
        if self.units is not None and (len(self.units) != len(own) or set(map(type, self.units)) != {str}):
            raise ValueError(f"units is {self.units!r}. Give a text for each of the {len(own)} axes.")
        if self.rate is None and any(kernel == "mel" for kernel, _ in groups):
            raise ValueError("the kernel mel needs the rate of the samples. Give rate=, such as 8000.")
        vars(self).update(axes=own, hop=hop, groups=groups)

    def _checked_group(self, name: str, source: str) -> Group:
        kernel = KERNELS.get(name)
        if kernel is None:
            raise ValueError(f"kernel {name!r} does not exist. Kernels are {', '.join(KERNELS)}.")
        if not kernel.least <= self.window <= kernel.most:
            raise ValueError(
                f"kernel {name} takes windows of {kernel.least} to {kernel.most} samples, but window is "
                f"{self.window}. Use other windows, or leave the kernel out."
            )
        allowed = sources_of(kernel, self.axes)
        if kernel.of == "pair":
            pair = source.split("*")
            allowed += [source] if len(pair) == 2 and set(pair) <= {*self.axes} and len({*pair}) == 2 else []
        if source not in allowed:
            raise ValueError(
                f"kernel {name} has no source {source!r}. Its sources are {', '.join(allowed) or 'none'}."
            )
        return name, source

    def _place(self, group: Group) -> tuple[int, str, int]:
        name, source = group
        is_axis = source in self.axes
        return (self.axes.index(source) if is_axis else len(self.axes) + ("*" in source), source,
                KERNELS[name].code)  # fmt: skip

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the features, such as `az.haar2`."""
        return tuple(
            f"{source}.{name}" for kernel, source in self.groups for name in KERNELS[kernel].features
        )

    @cached_property
    def group_of(self) -> NDArray[np.intp]:
        """The number of the group of each feature."""
        return np.repeat(np.arange(len(self.groups)), [len(KERNELS[k].features) for k, _ in self.groups])

    @cached_property
    def plan(self) -> NDArray[np.uint8]:
        """Steps of window_features.h: kernel, axis, second axis, third axis."""
        steps: list[tuple[int, int, int, int]] = []
        current, index = "", {name: i for i, name in enumerate(self.axes)}
        known: set[str] = set()  # sources whose mean is there
        for name, source in self.groups:
            kernel, pair = KERNELS[name], source.split("*") if "*" in source else [source]
            if source.startswith("|") and source != current:
                parts = [index[axis] for axis in magnitudes(self.axes)[source]]
                steps.append((MAGNITUDE, parts[0], parts[1], parts[2] if len(parts) > 2 else NO_AXIS))
                current = source
            numbers = [index.get(one, len(self.axes)) for one in pair]
            for one, number in zip(pair, numbers, strict=True):
                if kernel.needs_mean and one not in known:
                    steps.append((MEAN, number, 0, 0))
                    known.add(one)
            known.update([source] if name == "stats" else [])
            steps.append((kernel.code, numbers[0], numbers[-1] if len(pair) > 1 else 0, 0))
        return np.array(steps, dtype=np.uint8)

    @cached_property
    def wave_size(self) -> int:
        """Points of the wave whose sines the transforms need, 0 when there is no transform."""
        return max(transform_size(KERNELS[kernel], self.window) for kernel, _ in self.groups)

    @cached_property
    def band_ends(self) -> dict[str, NDArray[np.uint16]]:
        """The last bin of each band of the kernels that have bands."""
        used = {kernel: KERNELS[kernel] for kernel, _ in self.groups}
        return {
            name: band_ends(k, self.window, self.rate)
            for name, k in used.items()
            if k.gather or name == "mel"
        }

    def scratch(self) -> tuple[int, int]:
        """Return how many int16 and how many int32 numbers the kernels need beside the window."""
        used = {kernel for kernel, _ in self.groups}
        frames = self.window // FRAME
        side = self.window if any(source.startswith("|") for _, source in self.groups) else 1
        side = max(side, MEL_BANDS * frames if "mel" in used else 1)
        return side, max(self.window // 2 if "haar" in used else 1, self.wave_size)

    @property
    def is_framed(self) -> bool:
        """Whether a stream needs no samples but those of a frame, because all features are of frames."""
        is_whole = self.window % FRAME == 0 and self.hop % FRAME == 0
        return is_whole and len(self.axes) == 1 and self.groups[0][0] == "mel" and len(self.groups) == 1

    def transform(self, windows: ArrayLike, n_jobs: int | None = None) -> NDArray[np.int16]:
        """Return the features of windows x samples x axes. The result does not depend on `n_jobs`."""
        counts = self.counts(windows)
        out = np.empty((len(counts), len(self.names)), dtype=np.int16)
        wave, ends = sines(max(self.wave_size, 4)), np.zeros(16 + MEL_BANDS, dtype=np.uint16)
        for name, own in self.band_ends.items():
            start = {"bands": 0, "spectrum": 8, "mel": 16}[name]
            ends[start : start + len(own)] = own
        _native.window_features(counts, self.plan, wave, ends, out, count_threads(n_jobs))
        return out

    def counts(self, windows: ArrayLike) -> NDArray[np.int16]:
        """Return windows as the int16 counts that a sensor gives, checked. Other numbers need the scale."""
        array = np.asarray(windows)
        wanted = f"windows x {self.window} samples x {len(self.axes)} axes"
        if array.ndim != 3 or array.shape[1:] != (self.window, len(self.axes)):
            raise ValueError(f"X has shape {array.shape}. It must be {wanted}.")
        return to_counts(array, self.scale)

    def windows(self, samples: ArrayLike) -> NDArray[Any]:
        """Return the windows of a recording of samples x axes, one per hop. A shorter one gives none."""
        array = np.asarray(samples)
        if array.ndim != 2 or array.shape[1] != len(self.axes):
            raise ValueError(
                f"a recording has shape {array.shape}. It must be samples x {len(self.axes)} axes."
            )
        starts = np.arange(0, max(len(array) - self.window + 1, 0), self.hop)
        return np.asarray(array[starts[:, None] + np.arange(self.window)])

    def keep(self, groups: Iterable[int]) -> FrontEnd:
        """Return the front end with some of its groups only."""
        return replace(self, groups=tuple(self.groups[g] for g in sorted(groups)))

    def in_units(self, feature: int, value: float) -> float:
        """Return what a value of a feature says in the units of its axis, such as g, or in counts without.

        The energy of a band becomes its root mean square. Crossings, turns, frames and mel bands stay what
        they are.
        """
        rule, divisor = self.unit_rule(feature)
        if rule == "plain":
            return float(value) / divisor
        if rule == "log":  # 1024 for each power of two, 0 for anything up to 2^-8
            return math.copysign(2.0 ** ((abs(value) - 8192) / 1024), value) if value else 0.0
        size = unsquash(value)
        return (math.sqrt(max(size, 0.0)) if rule == "root" else size) / divisor

    def unit_rule(self, feature: int) -> tuple[str, float]:
        """Return how a value becomes one in units, and by what it is divided in the end.

        "plain" takes it as it is, "size" what the squashed number stands for, "root" the root of that, and
        "log" the power of two. The page of a report does the same.
        """
        kernel, source = self.groups[self.group_of[feature]]
        name = self.names[feature].removeprefix(source + ".")
        scale, n = self._scale_of(source), self.window
        if kernel in ("shape", "mel"):
            return "plain", 1.0
        if kernel in ("stats", "parts"):
            return "plain", scale
        if kernel == "corr":
            return "log", 1.0
        if kernel == "std":
            return "root", math.sqrt(n) * scale
        if KERNELS[kernel].gather:
            return "root", math.sqrt(2**27) * KERNELS[kernel].gather * scale
        count = n >> int(name[4:]) if kernel == "haar" else n - (kernel == "step")
        return "size", count * scale

    def unit_of(self, feature: int) -> str:
        """Return the unit of `in_units`, empty where there is none."""
        kernel, source = self.groups[self.group_of[feature]]
        if self.units is None or kernel in ("shape", "mel", "corr"):
            return ""
        own = {self.units[self.axes.index(axis)] for axis in self._axes_of(source)}
        return (f"{own.pop()}2" if kernel == "cov" else own.pop()) if len(own) == 1 else ""

    def texts(self, feature: int, values: Sequence[float]) -> list[str]:
        """Return values of a feature in units, with as few digits as keep them different, but at least 3.

        >>> FrontEnd(("az",), 128, (("std", "az"),), scale=(1000.0,), units=("g",)).texts(0, [2000, 2100])
        ['0.00552 g', '0.00594 g']
        """
        digits, unit = self.digits_of(feature, values), self.unit_of(feature)
        texts = [f"{self.in_units(feature, value):.{digits}g}" for value in values]
        return [f"{text} {unit}" if unit else text for text in texts]

    def digits_of(self, feature: int, values: Sequence[float]) -> int:
        """Return how many digits keep values of a feature different in units, at least 3."""
        own = {self.in_units(feature, value) for value in values}
        return next((n for n in range(3, 17) if len({f"{value:.{n}g}" for value in own}) == len(own)), 17)

    def meaning(self, feature: int) -> str:
        """Return the name of a feature as rules show it, with frequencies where the rate is known.

        >>> FrontEnd(("az",), 128, (("bands", "az"),), rate=50.0).meaning(2)
        'az at 0.977 to 1.37 Hz'
        """
        kernel, source = self.groups[self.group_of[feature]]
        own = KERNELS[kernel]
        if self.rate is None or not own.gather:
            return self.names[feature]
        place = own.features.index(self.names[feature].removeprefix(source + "."))
        size = transform_size(own, self.window)
        width = self.rate / own.gather / size
        first, last = (0, *self.band_ends[kernel].tolist())[place : place + 2]
        low, high = (first + 0.5) * width, (last + 0.5) * width
        return f"{source} at {low:.3g} to {min(high, self.rate / own.gather / 2):.3g} Hz"

    def _axes_of(self, source: str) -> tuple[str, ...]:
        return magnitudes(self.axes).get(source) or tuple(source.split("*") if "*" in source else [source])

    def _scale_of(self, source: str) -> float:
        if self.scale is None:
            return 0.5 if source.startswith("|") else 1.0
        own = [self.scale[self.axes.index(axis)] for axis in self._axes_of(source)]
        if "*" in source:
            return own[0] * own[1]
        return own[0] / 2 if source.startswith("|") else own[0]

    def as_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it."""
        return {
            "axes": list(self.axes),
            "window": self.window,
            "groups": [list(group) for group in self.groups],
            "hop": self.hop,
            "rate": self.rate,
            "scale": None if self.scale is None else list(self.scale),
            "units": None if self.units is None else list(self.units),
        }

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> FrontEnd:
        """Return the front end of a record, every part of it checked."""
        lists = {name: record[name] for name in ("axes", "groups", "scale", "units")}
        for name, value in lists.items():
            if not isinstance(value, list) and (value is not None or name in ("axes", "groups")):
                raise TypeError(f"{name} of the front end is {value!r}. It must be a list.")
        most = len(KERNELS) * MOST_AXES**2
        if len(lists["axes"]) > MOST_AXES or len(lists["groups"]) > most:
            raise ValueError(f"the front end has more than {MOST_AXES} axes or {most} groups")
        if any(type(g) is not list or [type(part) for part in g] != [str, str] for g in lists["groups"]):
            raise TypeError("a group of the front end is not a kernel and its source")
        return FrontEnd(
            tuple(record["axes"]),
            record["window"],
            tuple((g[0], g[1]) for g in record["groups"]),
            record["hop"],
            record["rate"],
            None if record["scale"] is None else tuple(record["scale"]),
            None if record["units"] is None else tuple(record["units"]),
        )


def to_counts(array: NDArray[Any], scale: Sequence[float] | None) -> NDArray[np.int16]:
    """Return samples (... x axes) as int16 counts. Floats are multiplied by the scale of their axis.

    >>> to_counts(np.array([[0.5, -99.0]]), (1000.0, 1000.0))
    array([[   500, -32768]], dtype=int16)
    """
    if array.dtype == np.int16:
        return np.ascontiguousarray(array)
    if array.dtype.kind in "iu":
        if array.size and (array.min() < -(2**15) or array.max() >= 2**15):
            raise ValueError(
                f"X has samples from {array.min()} to {array.max()}, but int16 holds -32768 to 32767. "
                "Shift them, as the sensor's driver on the board will."
            )
        return np.ascontiguousarray(array, dtype=np.int16)
    if array.dtype.kind != "f":
        raise TypeError(f"X has dtype {array.dtype}. Samples are int16 counts, or floats with a scale.")
    if scale is None:
        raise ValueError(
            f"X has dtype {array.dtype}, but the counts per unit are not known. Give scale=, such as 1000 "
            "for samples in g that the sensor sends as 1/1000 g, or give int16 counts."
        )
    if not np.isfinite(array).all():
        place = np.argwhere(~np.isfinite(array))[0].tolist()
        raise ValueError(f"X{place} is {array[tuple(place)]}. Fill or leave out windows with such samples.")
    counts = np.rint(array.astype(np.float64) * np.asarray(scale, dtype=np.float64))
    return np.ascontiguousarray(np.clip(counts, -(2**15), 2**15 - 1), dtype=np.int16)


def _checked_axes(axes: Sequence[str]) -> tuple[str, ...]:
    own = tuple(axes)
    if not 1 <= len(own) <= MOST_AXES or len(set(own)) != len(own):
        raise ValueError(f"axes is {own!r}. Give 1 to {MOST_AXES} different names.")
    for name in own:
        if not isinstance(name, str) or not 1 <= len(name) <= 40 or any(c in name for c in "*|."):
            raise ValueError(f"axis {name!r} is not a name of up to 40 letters without *, | and dots.")
    return own
