"""What stands before a model that reads raw windows: an immutable record that computes their features.

`window_features.h` computes the kernels. Their numbers there are the order of `KERNELS` here, from 2 on.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib import resources
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from ethereal import _native
from ethereal.base.checks import check_integer, check_number, count_threads

MEAN, MAGNITUDE, NO_AXIS = 0, 1, 255  # steps of a plan, and the third axis of a magnitude of two
FRAME, MEL_BANDS, MEL_PARTS = 256, 16, 10
OF_SOUND = ("mel", "sound")  # kernels whose transform takes a frame of sound
ACTIVE = 2560  # a frame is active that is at most so much quieter than the loudest
_OCTAVE = 512  # of squashed numbers
MOST_AXES, MOST_RATE = 16, 1e7
Group = tuple[str, str]  # kernel, and the axis, magnitude or pair that it reads
_WORDS = {
    "mean": "the mean",
    "min": "the lowest sample",
    "max": "the highest sample",
    "range": "the highest sample less the lowest",
    "std": "the standard deviation",
    "mad": "the mean distance of the samples from their mean",
    "step": "the mean change from one sample to the next",
    "crossings": "how often it crosses its mean",
    "turns": "how often it turns from rising to falling, or back",
    "cov": "the covariance of the two axes",
    "corr": "the correlation of the two axes",
    "frames": "how long the sound is, from its first loud moment to its last",
    "loudness": "the loudness of the frame, less that of the loudest",
}
_NUMBERED = {
    "part": "the mean of eighth {0} of the window, less the mean of all of it",
    "band": "the strength of band {0} of 8, from slow to fast changes",
    "fine": "the strength of band {0} of 8, from slow to fast changes",
    "mel": "the strength of tones in band {0} of 16, from low, in tenth {1} of the sound",
    "tone": "the strength of tones in band {0} of 16, less the loudness of the frame",
    "level": "the strength of tones in band {0} of 16, less the loudness of the window",
}


@dataclass(frozen=True)
class Kernel:
    """One way to compute features of an axis, of a magnitude, or of a pair of axes."""

    name: str
    code: int  # in window_features.h
    features: tuple[str, ...]
    needs_mean: bool  # `stats` gives it
    least: int  # samples of a window
    most: int
    of: str = "axis"  # "axis" means axes and magnitudes, "sound" axes only, "pair" two axes

    @property
    def gather(self) -> int:
        """Samples that are added up before a transform, 0 for a kernel without bands."""
        return {"bands": 4, "spectrum": 1}.get(self.name, 0)


_MEL = tuple(f"mel{b}.part{p}" for p in range(1, MEL_PARTS + 1) for b in range(1, MEL_BANDS + 1))
_SOUND = tuple(f"{name}{b}" for name in ("tone", "level") for b in range(1, MEL_BANDS + 1))
_MOST = 2**15  # samples of a window
_LEAST_FRAME = 2  # samples of a frame that these kernels take
_OF_TIME = ("stats", "std", "mad", "step", "shape", "cov", "corr")
_PER_DECIBEL = _OCTAVE * math.log2(10) / 10
KERNELS = {
    kernel.name: kernel
    for kernel in (
        Kernel("stats", 2, ("mean", "min", "max", "range"), False, 32, _MOST),
        Kernel("std", 3, ("std",), True, 32, _MOST),
        Kernel("mad", 4, ("mad",), True, 32, _MOST),
        Kernel("step", 5, ("step",), False, 32, _MOST),
        Kernel("shape", 6, ("crossings", "turns"), True, 32, _MOST),
        Kernel("parts", 7, tuple(f"part{i}" for i in range(1, 9)), True, 32, _MOST),
        Kernel("haar", 8, tuple(f"haar{i}" for i in range(1, 6)), False, 32, _MOST),
        Kernel("bands", 9, tuple(f"band{i}" for i in range(1, 9)), True, 64, 4096),
        Kernel("spectrum", 10, tuple(f"fine{i}" for i in range(1, 9)), True, 32, 1024),
        Kernel("cov", 11, ("cov",), True, 32, _MOST, "pair"),
        Kernel("mel", 12, (*_MEL, "frames"), False, FRAME, _MOST, "sound"),
        Kernel("corr", 13, ("corr",), True, 32, _MOST, "pair"),
        Kernel("sound", 14, (*_SOUND, "loudness"), False, FRAME, _MOST, "sound"),
    )
}


def header() -> str:
    """Return the C that computes features, the same for the computer and for boards."""
    return resources.files("ethereal.features").joinpath("window_features.h").read_text(encoding="utf-8")


def unsquash(code: float) -> float:
    """Return the number that an exponent with nine bits of mantissa stands for, and fractions in proportion.

    >>> unsquash(7), unsquash(1024), unsquash(-1024.0)
    (7.0, 1024.0, -1024.0)
    """
    size = abs(float(code))
    if size < 2 * _OCTAVE:
        return float(code)
    exponent = math.floor(size / _OCTAVE) - 1
    return math.copysign(math.ldexp(size - exponent * _OCTAVE, exponent), code)


def sources_of(kernel: Kernel, axes: Sequence[str]) -> list[str]:
    """Return all that a kernel can be asked of, among these axes."""
    if kernel.of == "pair":
        sensors = list(magnitudes(axes).values()) or [tuple(axes)]
        return [f"{a}*{b}" for sensor in sensors for a, b in itertools.combinations(sensor, 2)]
    return list(axes) if kernel.of == "sound" else [*axes, *magnitudes(axes)]


def magnitudes(axes: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the magnitudes that axes of the same sensor have: `|a|` of ax, ay and perhaps az.

    >>> magnitudes(["ax", "ay", "az", "t"])
    {'|a|': ('ax', 'ay', 'az')}
    """
    axes_of = {}
    for x in axes:
        if match := re.fullmatch(r"(.*)x", x, re.IGNORECASE):
            other = [match[1] + (c.upper() if x[-1] == "X" else c) for c in "yz"]
            axes_of_sensor = tuple(name for name in other if name in axes)
            if other[0] in axes_of_sensor:
                axes_of[f"|{match[1]}|"] = (x, *axes_of_sensor)
    return axes_of


def transform_size(kernel: Kernel, window: int) -> int:
    """Return the size of the kernel's transform for a window, 0 for one that has none.

    >>> transform_size(KERNELS["bands"], 128), transform_size(KERNELS["stats"], 128)
    (32, 0)
    """
    if kernel.name in OF_SOUND:
        return FRAME
    return 1 << (window // kernel.gather).bit_length() - 1 if kernel.gather else 0


def sines(size: int) -> NDArray[np.int16]:
    """Return three quarters of a wave of `size` points, the end included, in steps of 1/32767."""
    points = np.arange(3 * size // 4 + 1)
    return np.asarray(np.rint(32767 * np.sin(2 * np.pi * points / size)), dtype=np.int16)


def band_ends(kernel: Kernel, window: int, rate: float | None = None) -> NDArray[np.uint16]:
    """Return the last bin of each band of a kernel. Bands widen with frequency, and each has a bin.

    >>> band_ends(KERNELS["bands"], 128)
    array([ 1,  2,  3,  4,  6,  8, 11, 16], dtype=uint16)
    """
    bins = transform_size(kernel, window) // 2
    if kernel.name in OF_SOUND:
        assert rate is not None
        most = 2595 * math.log10(1 + rate / 2 / 700)
        places = [700 * (10 ** (most * (i + 1) / MEL_BANDS / 2595) - 1) for i in range(MEL_BANDS)]
        edges = [place * FRAME / rate for place in places]
    else:
        edges = [bins ** ((i + 1) / 8) for i in range(8)]
    ends, last = [], 0
    for i, edge in enumerate(edges):
        last = min(max(round(edge), last + 1), bins - (len(edges) - 1 - i))
        ends.append(last)
    return np.array(ends, dtype=np.uint16)


@dataclass(frozen=True)
class FrontEnd:
    """From windows of samples to rows of int16 features, in integers, with the bits of the exported C.

    Groups are brought into the order in which they are computed: axes, then magnitudes, then pairs. With
    `frames` the kernels are computed on every frame of a window, and a row is frames x features. Samples that
    are left over stand before the first frame.

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
    frames: tuple[int, int] | None = None  # samples of a frame, and from one to the next

    def __post_init__(self) -> None:
        axes = _checked_axes(self.axes)
        check_integer("window", self.window, 32, _MOST)
        hop = self.window if self.hop == 0 else check_integer("hop", self.hop, 1, self.window)
        if self.frames is not None:
            hop = self._check_frames(hop)
        groups = tuple(sorted({self._checked_group(*g) for g in self.groups}, key=self._place))
        if len(groups) != len(self.groups) or not groups:
            what = "has a group twice" if groups else "has no group"
            raise ValueError(f"a front end {what}. Give each kernel of each axis once.")
        if self.rate is not None:
            check_number("rate", self.rate, 1e-6, MOST_RATE)
        if self.scale is not None:
            if len(self.scale) != len(axes):
                raise ValueError(f"scale has {len(self.scale)} entries for {len(axes)} axes. Give one each.")
            for value in self.scale:
                check_number("scale", value, 1e-9, 1e9)
        if self.units is not None and (len(self.units) != len(axes) or set(map(type, self.units)) != {str}):
            raise ValueError(f"units is {self.units!r}. Give a text for each of the {len(axes)} axes.")
        sound = next((kernel for kernel, _ in groups if kernel in OF_SOUND), None)
        if self.rate is None and sound:
            raise ValueError(f"the kernel {sound} needs the rate of the samples. Give rate=, such as 8000.")
        if sound == "sound" and len(groups) > 1:
            raise ValueError(
                "the kernel sound of one axis has a front end alone. Leave the other kernels out."
            )
        vars(self).update(axes=axes, hop=hop, groups=groups)

    def _check_frames(self, hop: int) -> int:
        """Refuse frames that do not fit the window, and return the hop, in whole frames."""
        assert self.frames is not None
        length = check_integer("frames[0]", self.frames[0], _LEAST_FRAME, self.window)
        step = check_integer("frames[1]", self.frames[1], 1, length)
        if self.hop and hop % step:
            raise ValueError(
                f"hop is {hop}, but frames begin every {step} samples. Give {max(1, hop // step) * step}."
            )
        if any(kernel == "sound" for kernel, _ in self.groups) and (length != FRAME or step < MEL_BANDS):
            raise ValueError(
                f"frames is {self.frames!r}. The kernel sound takes ({FRAME}, {MEL_BANDS} or more)."
            )
        return hop // step * step

    def _checked_group(self, name: str, source: str) -> Group:
        kernel = KERNELS.get(name)
        if kernel is None:
            raise ValueError(f"kernel {name!r} does not exist. Kernels are {', '.join(KERNELS)}.")
        if name in OF_SOUND and (name == "sound") != (self.frames is not None):
            other = "'mel'" if name == "sound" else "'sound'"
            has = "no frames" if self.frames is None else "frames"
            raise ValueError(f"kernel {name} does not go with {has}. Use the kernel {other}.")
        least = _LEAST_FRAME if self.frames is not None and name in _OF_TIME else kernel.least
        if not least <= self.length <= kernel.most:
            what = "windows" if self.frames is None else "frames"
            takes = f"kernel {name} takes {what} of {least} to {kernel.most} samples"
            remedy = f"Use other {what}, or leave the kernel out."
            raise ValueError(f"{takes}, but {what[:-1]} is {self.length}. {remedy}")
        allowed = sources_of(kernel, self.axes)
        if kernel.of == "pair":
            pair = source.split("*")
            allowed += [source] if len(pair) == 2 and set(pair) <= {*self.axes} and len({*pair}) == 2 else []
        if source not in allowed:
            known = f"Its sources are {', '.join(allowed) or 'none'}"
            raise ValueError(f"kernel {name} has no source {source!r}. {known}.")
        return name, source

    @property
    def length(self) -> int:
        """Samples that a kernel works on: those of the window, or of a frame."""
        return self.window if self.frames is None else self.frames[0]

    @property
    def n_frames(self) -> int:
        """Frames of a window, 1 without frames."""
        return 1 if self.frames is None else 1 + (self.window - self.frames[0]) // self.frames[1]

    @property
    def skipped(self) -> int:
        """Samples of a window before the first frame."""
        return 0 if self.frames is None else (self.window - self.frames[0]) % self.frames[1]

    @property
    def is_sound(self) -> bool:
        """Whether a row is frames of sound, whose features need the loudness of the whole window."""
        return self.groups[0][0] == "sound"

    @property
    def n_features(self) -> int:
        """Numbers of a row."""
        return self.n_frames * len(self.names)

    def _place(self, group: Group) -> tuple[int, str, int]:
        name, source = group
        place = self.axes.index(source) if source in self.axes else len(self.axes) + ("*" in source)
        return place, source, KERNELS[name].code

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the features, such as `az.haar2`, with frames those of a frame."""
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
            more = (numbers[-1] if len(pair) > 1 else 0, 0)
            if name == "sound" and self.frames is not None:
                more = self.frames[1] & 255, self.frames[1] >> 8
            steps.append((kernel.code, numbers[0], *more))
        return np.array(steps, dtype=np.uint8)

    @cached_property
    def wave_size(self) -> int:
        """Points of the wave whose sines the transforms need, 0 when there is no transform."""
        return max(transform_size(KERNELS[kernel], self.length) for kernel, _ in self.groups)

    @cached_property
    def band_ends(self) -> dict[str, NDArray[np.uint16]]:
        """The last bin of each band of the kernels that have bands. Those of sound are mel bands."""
        used = [name for name, _ in self.groups if KERNELS[name].gather or name in OF_SOUND]
        return {
            "mel" if name in OF_SOUND else name: band_ends(KERNELS[name], self.length, self.rate)
            for name in used
        }

    def scratch(self) -> tuple[int, int]:
        """Return how many int16 and how many int32 numbers the kernels need beside the window."""
        used = {kernel for kernel, _ in self.groups}
        side = self.length if any(source.startswith("|") for _, source in self.groups) else 1
        side = max(side, MEL_BANDS * (self.window // FRAME) if "mel" in used else 1)
        return side, max(self.length // 2 if "haar" in used else 1, self.wave_size)

    @property
    def is_framed(self) -> bool:
        """Whether a stream needs no samples but those of a frame, because all features are of frames."""
        is_whole = self.window % FRAME == 0 and self.hop % FRAME == 0
        return is_whole and len(self.axes) == 1 and self.groups[0][0] == "mel" and len(self.groups) == 1

    def transform(self, windows: ArrayLike, n_jobs: int | None = None) -> NDArray[np.int16]:
        """Return the features of windows x samples x axes. The result does not depend on `n_jobs`.

        They are windows x features, or windows x frames x features.
        """
        counts, width = self.counts(windows), len(self.names)
        shape: tuple[int, ...] = (len(counts), width)
        if self.frames is not None:
            counts, shape = counts[:, self.skipped :], (len(counts), self.n_frames, width)
            if not self.is_sound:  # every frame is a window of its own
                every = sliding_window_view(counts, self.frames[0], axis=1)[:, :: self.frames[1]]
                counts = every.transpose(0, 1, 3, 2).reshape(-1, self.frames[0], len(self.axes))
            else:
                width *= self.n_frames
            counts = np.ascontiguousarray(counts)
        out = np.empty((len(counts), width), dtype=np.int16)
        wave, ends = sines(max(self.wave_size, 4)), np.zeros(16 + MEL_BANDS, dtype=np.uint16)
        for name, last_bins in self.band_ends.items():
            start = {"bands": 0, "spectrum": 8, "mel": 16}[name]
            ends[start : start + len(last_bins)] = last_bins
        _native.window_features(counts, self.plan, wave, ends, out, count_threads(n_jobs))
        return out.reshape(shape)

    def counts(self, windows: ArrayLike) -> NDArray[np.int16]:
        """Return windows as the int16 counts that a sensor gives, checked. Other numbers need the scale."""
        array = np.asarray(windows)
        if array.ndim != 3 or array.shape[1:] != (self.window, len(self.axes)):
            wanted = f"windows x {self.window} samples x {len(self.axes)} axes"
            raise ValueError(f"X has shape {array.shape}. It must be {wanted}.")
        return to_counts(array, self.scale)

    def windows(self, samples: ArrayLike) -> NDArray[Any]:
        """Return the windows of a recording of samples x axes, one per hop. A shorter one gives none."""
        array = np.asarray(samples)
        if array.ndim != 2 or array.shape[1] != len(self.axes):
            wanted = f"samples x {len(self.axes)} axes"
            raise ValueError(f"a recording has shape {array.shape}. It must be {wanted}.")
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
        scale, n = self._scale_of(source), self.length
        if kernel == "sound":
            return "plain", _PER_DECIBEL
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
        if kernel == "sound":
            return "dB"
        if self.units is None or kernel in ("shape", "mel", "corr"):
            return ""
        units = {self.units[self.axes.index(axis)] for axis in self._axes_of(source)}
        return (f"{units.pop()}2" if kernel == "cov" else units.pop()) if len(units) == 1 else ""

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
        different = {self.in_units(feature, value) for value in values}
        enough = (n for n in range(3, 17) if len({f"{v:.{n}g}" for v in different}) == len(different))
        return next(enough, 17)

    def meaning(self, feature: int) -> str:
        """Return the name of a feature as rules show it, with frequencies where the rate is known.

        >>> FrontEnd(("az",), 128, (("bands", "az"),), rate=50.0).meaning(2)
        'az at 0.977 to 1.37 Hz'
        """
        name, source = self.groups[self.group_of[feature]]
        kernel = KERNELS[name]
        if kernel.name == "sound" and (match := re.search(r"[0-9]+$", self.names[feature])):
            low, high = (0, *self.band_ends["mel"].tolist())[int(match[0]) - 1 :][:2]
            width = self.rate / FRAME  # type: ignore[operator]
            what = self.names[feature].removesuffix(match[0])
            return f"{what} at {(low + 0.5) * width:.3g} to {(high + 0.5) * width:.3g} Hz"
        if self.rate is None or not kernel.gather:
            return self.names[feature]
        place = kernel.features.index(self.names[feature].removeprefix(source + "."))
        rate = self.rate / kernel.gather
        width = rate / transform_size(kernel, self.length)
        first, last = (0, *self.band_ends[name].tolist())[place : place + 2]
        low, high = (first + 0.5) * width, (last + 0.5) * width
        return f"{source} at {low:.3g} to {min(high, rate / 2):.3g} Hz"

    def _axes_of(self, source: str) -> tuple[str, ...]:
        return magnitudes(self.axes).get(source) or tuple(source.split("*") if "*" in source else [source])

    def _scale_of(self, source: str) -> float:
        if self.scale is None:
            return 0.5 if source.startswith("|") else 1.0
        scales = [self.scale[self.axes.index(axis)] for axis in self._axes_of(source)]
        if "*" in source:
            return scales[0] * scales[1]
        return scales[0] / 2 if source.startswith("|") else scales[0]

    def as_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it."""
        record = {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}
        if self.frames is None:
            del record["frames"]  # as before there were any
        return record | {"groups": [list(group) for group in self.groups]}

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> FrontEnd:
        """Return the front end of a record, every part of it checked."""
        lists = {name: record[name] for name in ("axes", "groups", "scale", "units")}
        lists["frames"] = record.get("frames")
        if isinstance(lists["frames"], list) and len(lists["frames"]) != 2:
            raise ValueError(f"frames of the front end is {lists['frames']!r}. It must be two numbers.")
        for name, value in lists.items():
            if not isinstance(value, list) and (value is not None or name in ("axes", "groups")):
                raise TypeError(f"{name} of the front end is {value!r}. It must be a list.")
        most = len(KERNELS) * MOST_AXES**2
        if len(lists["axes"]) > MOST_AXES or len(lists["groups"]) > most:
            raise ValueError(f"the front end has more than {MOST_AXES} axes or {most} groups")
        if any(type(g) is not list or [type(part) for part in g] != [str, str] for g in lists["groups"]):
            raise TypeError("a group of the front end is not a kernel and its source")
        parts = {name: None if value is None else tuple(value) for name, value in lists.items()}
        parts["groups"] = tuple(map(tuple, lists["groups"]))
        return FrontEnd(window=record["window"], hop=record["hop"], rate=record["rate"], **parts)  # type: ignore[arg-type]


def to_counts(array: NDArray[Any], scale: Sequence[float] | None) -> NDArray[np.int16]:
    """Return samples (... x axes) as int16 counts. Floats are multiplied by the scale of their axis.

    >>> to_counts(np.array([[0.5, -99.0]]), (1000.0, 1000.0))
    array([[   500, -32768]], dtype=int16)
    """
    if array.dtype == np.int16:
        return np.ascontiguousarray(array)
    if array.dtype.kind in "iu":
        if array.size and (array.min() < -(2**15) or array.max() >= 2**15):
            what = f"X has samples from {array.min()} to {array.max()}, but int16 holds -32768 to 32767"
            raise ValueError(f"{what}. Shift them, as the sensor's driver on the board will.")
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
    names = tuple(axes)
    if not 1 <= len(names) <= MOST_AXES or len(set(names)) != len(names):
        raise ValueError(f"axes is {names!r}. Give 1 to {MOST_AXES} different names.")
    for name in names:
        if not isinstance(name, str) or not re.fullmatch(r"[^*|.]{1,40}", name):
            raise ValueError(f"axis {name!r} is not a name of up to 40 letters without *, | and dots.")
    return names


def plain_words(front_end: FrontEnd, feature: int) -> str:
    """Return what a feature measures.

    >>> front_end = FrontEnd(("az",), 128, (("haar", "az"), ("std", "az")))
    >>> plain_words(front_end, 0), plain_words(front_end, 1)
    ('the standard deviation', 'the mean difference between neighbouring samples')
    """
    _, source = front_end.groups[front_end.group_of[feature]]
    name = front_end.names[feature].removeprefix(source + ".")
    if name in _WORDS:
        return _WORDS[name]
    numbers = re.findall("[0-9]+", name)
    if name.startswith("haar"):
        n = 2 ** (int(numbers[0]) - 1)
        return f"the mean difference between neighbouring {'samples' if n == 1 else f'means of {n} samples'}"
    return _NUMBERED[re.split("[0-9]", name)[0]].format(*numbers)
