"""The curves of a board in a file, from which models for other budgets are chosen without training again.

The file is JSON, then arrays and models. They are packed together, as models of a curve have much in common.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ethereal.base.atomic import write_bytes
from ethereal.compress.curve import Curve, Prices, PrunedModel
from ethereal.compress.task import HeldOut
from ethereal.model.file import from_file_bytes, to_file_bytes
from ethereal.tuning.footprint import Footprint, GateFootprint
from ethereal.tuning.frontiers import BoardCurves
from ethereal.tuning.machines import Array
from ethereal.tuning.sources import Sources, Way

_VERSION = 1
_MOST = 2 << 30  # bytes that a file may unpack to
_OF_ROWS = ("right", "loss", "error")  # of `HeldOut`, an entry per held-out row
_PLAIN = ("accuracy", "price", "known")  # of `PrunedModel`


def write_curves(path: Path, kept: BoardCurves) -> None:
    """Write curves to a file, whole or not at all."""
    parts = [to_file_bytes(kept.machine)]

    def part(content: bytes) -> int:
        parts.append(content)
        return len(parts) - 1

    curves = []
    for way, curve in kept.curves.items():
        points = []
        for point in curve.curve:
            of_rows = {name: getattr(point.held_out, name, None) for name in _OF_ROWS}
            points.append(
                {
                    **{name: getattr(point, name) for name in _PLAIN},
                    "estimate": asdict(point.estimate),
                    "model": part(to_file_bytes(point.model)),
                    "held_out": {
                        name: [values.dtype.str, part(np.ascontiguousarray(values).tobytes())]
                        for name, values in of_rows.items()
                        if values is not None
                    },
                }
            )
        about = {"scale": curve.scale, "teacher": curve.teacher, "sweeps": curve.sweeps}
        curves.append({"way": list(way), **about, "points": points})
    prices = None if kept.sources is None else kept.sources.prices
    head: dict[str, Any] = {"version": _VERSION, "prices": None if prices is None else list(prices)}
    head |= {"held_out": kept.held_out, "curves": curves, "parts": list(map(len, parts))}
    text = json.dumps(head).encode()
    write_bytes(path, lzma.compress(b"".join([len(text).to_bytes(8, "little"), text, *parts]), preset=0))


def read_curves(
    path: Path, ways: Sequence[Way], X: Array, groups: Array | None, prices: Prices | None = None
) -> BoardCurves | None:
    """Return the curves of these ways and prices, None where there is no such file or it was damaged.

    `X` and `groups` are the training rows, which the file does not hold.
    """
    try:
        data = lzma.LZMADecompressor(memlimit=1 << 30).decompress(path.read_bytes(), _MOST)
        end = 8 + int.from_bytes(data[:8], "little")
        head = json.loads(data[8:end])
        known = head["version"], head["prices"], [tuple(one["way"]) for one in head["curves"]]
        if known != (_VERSION, None if prices is None else list(prices), list(ways)):
            return None
        places = np.cumsum([end, *head["parts"]]).tolist()
        parts = [data[begin:stop] for begin, stop in pairwise(places)]
        curves = {Way(*one["way"]): _curve(one, parts) for one in head["curves"]}
        machine = from_file_bytes(parts[0])
        return BoardCurves(curves, head["held_out"], machine, X, Sources.of(ways, machine, X, groups, prices))
    except (OSError, ValueError, KeyError, TypeError, IndexError, EOFError, MemoryError, lzma.LZMAError):
        return None


def _curve(kept: dict[str, Any], parts: Sequence[bytes]) -> Curve[Footprint]:
    points = []
    for one in kept["points"]:
        of_rows = {name: np.frombuffer(parts[i], dtype) for name, (dtype, i) in one["held_out"].items()}
        points.append(
            PrunedModel(
                from_file_bytes(parts[one["model"]]),
                estimate=(GateFootprint if "luts" in one["estimate"] else Footprint)(**one["estimate"]),
                held_out=HeldOut(**of_rows) if of_rows else None,
                **{name: one[name] for name in _PLAIN},
            )
        )
    return Curve(tuple(points), kept["scale"], kept["teacher"], sweeps=kept["sweeps"])
