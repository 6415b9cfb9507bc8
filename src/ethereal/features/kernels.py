"""The kernels that turn a window into features: their names, their features and what these say in units.

`window_features.h` computes them. Their numbers there are the order of `KERNELS` here, from 2 on.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

import numpy as np
from numpy.typing import NDArray

MEAN, MAGNITUDE, NO_AXIS = 0, 1, 255  # steps of a plan, and the third axis of a magnitude of two
FRAME, MEL_BANDS, MEL_PARTS = 256, 16, 10
_OCTAVE = 512  # of squashed numbers


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


def _kernels() -> tuple[Kernel, ...]:
    bands = tuple(f"band{i}" for i in range(1, 9))
    mel = tuple(f"mel{b}.part{p}" for p in range(1, MEL_PARTS + 1) for b in range(1, MEL_BANDS + 1))
    most = 2**15
    return (
        Kernel("stats", 2, ("mean", "min", "max", "range"), False, 32, most),
        Kernel("std", 3, ("std",), True, 32, most),
        Kernel("mad", 4, ("mad",), True, 32, most),
        Kernel("step", 5, ("step",), False, 32, most),
        Kernel("shape", 6, ("crossings", "turns"), True, 32, most),
        Kernel("parts", 7, tuple(f"part{i}" for i in range(1, 9)), True, 32, most),
        Kernel("haar", 8, tuple(f"haar{i}" for i in range(1, 6)), False, 32, most),
        Kernel("bands", 9, bands, True, 64, 4096),
        Kernel("spectrum", 10, tuple(f"fine{i}" for i in range(1, 9)), True, 32, 1024),
        Kernel("cov", 11, ("cov",), True, 32, most, "pair"),
        Kernel("mel", 12, (*mel, "frames"), False, FRAME, most, "sound"),
        Kernel("corr", 13, ("corr",), True, 32, most, "pair"),
    )


KERNELS = {kernel.name: kernel for kernel in _kernels()}


def header() -> str:
    """Return the C that computes features, the same for the computer and for boards."""
    return resources.files("ethereal.features").joinpath("window_features.h").read_text(encoding="utf-8")


def squash(values: NDArray[np.uint64]) -> NDArray[np.int16]:
    """Return exponents and nine bits of mantissa. Numbers below 512 stay as they are.

    >>> squash(np.array([7, 511, 512, 1023, 1024, 1026], dtype=np.uint64))
    array([   7,  511,  512, 1023, 1024, 1025], dtype=int16)
    """
    values = np.asarray(values, dtype=np.uint64)
    shift = np.zeros(values.shape, dtype=np.uint64)
    for bits in (32, 16, 8, 4, 2, 1):
        large = (values >> shift) >> np.uint64(bits) >= np.uint64(_OCTAVE)
        shift += np.uint64(bits) * large.astype(np.uint64)
    shift += ((values >> shift) >= np.uint64(2 * _OCTAVE)).astype(np.uint64)
    return (shift * np.uint64(_OCTAVE) + (values >> shift)).astype(np.int16)


def unsquash(code: float) -> float:
    """Return the number that a squashed one stands for, with fractions of it in proportion.

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
        own = list(magnitudes(axes).values())
        sensors = own if own else [tuple(axes)]
        return [f"{a}*{b}" for sensor in sensors for a, b in itertools.combinations(sensor, 2)]
    return list(axes) if kernel.of == "sound" else [*axes, *magnitudes(axes)]


def magnitudes(axes: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the magnitudes that axes of the same sensor have: `|a|` of ax, ay and perhaps az.

    >>> magnitudes(["ax", "ay", "az", "t"])
    {'|a|': ('ax', 'ay', 'az')}
    """
    found = {}
    for x in axes:
        if match := re.fullmatch(r"(.*)x", x, re.IGNORECASE):
            other = [match[1] + (c.upper() if x[-1] == "X" else c) for c in "yz"]
            own = tuple(name for name in other if name in axes)
            if other[0] in own:
                found[f"|{match[1]}|"] = (x, *own)
    return found


def transform_size(kernel: Kernel, window: int) -> int:
    """Return the size of the kernel's transform for a window, 0 for one that has none.

    >>> transform_size(KERNELS["bands"], 128), transform_size(KERNELS["stats"], 128)
    (32, 0)
    """
    if kernel.name == "mel":
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
    if kernel.name == "mel":
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
