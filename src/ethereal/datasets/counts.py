"""Samples as the int16 counts that a sensor sends. Whole numbers are counts, and others need a scale."""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.messages import printable
from ethereal.datasets.recorded import Piece
from ethereal.datasets.tables import TableError
from ethereal.features.front_end import to_counts

_ENDS = (-(2**15), 2**15 - 1)  # of a count
_FEW_COUNTS = 256  # that the largest sample of an axis should have


def scale_of(text: str | None) -> tuple[float, ...] | None:
    """Return the numbers of an option such as "1000,1000,10", None without it."""
    if text is None:
        return None
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(0 < one < math.inf for one in found):
        raise TableError(
            f"--scale is {text!r}. Give counts per unit, such as 1000, or one per axis, 1000,10."
        )
    return found


def counts_of(pieces: Sequence[Piece], scale: tuple[float, ...] | None) -> list[NDArray[np.int16]]:
    """Return the samples of pieces as int16. If not all are counts, all are multiplied by the scale."""
    samples = [piece.samples for piece in pieces]
    n_axes = samples[0].shape[1]
    if all(_odd_one(one) is None for one in samples):
        return [one.astype(np.int16, copy=False) for one in samples]
    largest = np.max([np.abs(one).max(axis=0) for one in samples if len(one)], axis=0)
    if scale is None:
        where, value = next(
            (piece.path, bad) for piece in pieces if (bad := _odd_one(piece.samples)) is not None
        )
        raise TableError(
            f"{where}: has the sample {value:g}, but samples are whole numbers of 16 bits. "
            f"Say what the sensor sends as 1. The data allows --scale {proposal(largest)}."
        )
    if len(scale) not in (1, n_axes):
        raise TableError(
            f"--scale has {len(scale)} numbers, but there are {n_axes} axes. Give one or {n_axes}."
        )
    own = np.broadcast_to(scale, n_axes)
    if (beyond := int(sum((np.abs(one) * own > _ENDS[1] + 1).any(axis=1).sum() for one in samples))) > 0:
        why = f"{beyond:,} samples go beyond 16 bits with --scale {','.join(f'{s:g}' for s in scale)}"
        tell(f"{why} and are cut off there. The data allows --scale {proposal(largest)}.")
    return [to_counts(np.asarray(one, dtype=np.float64), own.tolist()) for one in samples]


def _odd_one(samples: NDArray[Any]) -> float | None:
    """The first sample that is not a count, if there is one."""
    if samples.dtype == np.int16:
        return None
    odd = (samples != np.floor(samples)) | (samples < _ENDS[0]) | (samples > _ENDS[1])
    return float(samples[odd][0]) if odd.any() else None


def proposal(largest: NDArray[Any]) -> str:
    """Return a scale for axes with these largest samples, one per axis only where one does not do.

    >>> proposal(np.array([2.5, 1.0])), proposal(np.array([4.0, 2000.0, 0.0]))
    ('10000', '1000,10,10')
    """
    sizes = np.where(largest > 0, largest, largest.max() if largest.max() > 0 else 1.0)
    each = 10.0 ** np.floor(np.log10(_ENDS[1] / sizes))
    one = each.min()
    return f"{one:g}" if (one * sizes >= _FEW_COUNTS).all() else ",".join(f"{s:g}" for s in each)


def tell(text: str) -> None:
    """Print a note about what was read."""
    print(textwrap.fill(printable(f"note: {text}"), 79, subsequent_indent="  "), file=sys.stderr)
