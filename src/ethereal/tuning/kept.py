"""The curves of a board in a file, from which models for other budgets are chosen without training again.

The file is JSON, then arrays and models. They are packed together, as models of a curve have much in common.
"""

from __future__ import annotations

import io
import json
import lzma
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.atomic import write_bytes
from ethereal.base.npz import FAULTS
from ethereal.compress.curve import Curve, PrunedModel
from ethereal.compress.task import HeldOut
from ethereal.model import Model
from ethereal.model.file import from_file_bytes, to_file_bytes
from ethereal.tuning.footprint import Footprint
from ethereal.tuning.frontiers import BoardCurves
from ethereal.tuning.machines import Array
from ethereal.tuning.sources import Sources, Way

_VERSION = 1
_MOST = 2 << 30  # bytes that a file may unpack to
_OF_ROWS = ("right", "loss", "error")  # of `HeldOut`, an entry per held-out row


def write_curves(path: Path, kept: BoardCurves) -> None:
    """Write curves to a file, whole or not at all."""
    models: list[bytes] = [to_file_bytes(kept.machine)]
    arrays: dict[str, NDArray[Any]] = {}
    curves = []
    for way, curve in kept.curves.items():
        points = []
        for point in curve.curve:
            number = len(models)
            models.append(to_file_bytes(point.model))
            for name in _OF_ROWS if point.held_out is not None else ():
                if (of_rows := getattr(point.held_out, name)) is not None:
                    arrays[f"{number} {name}"] = of_rows
            plain = {name: getattr(point, name) for name in ("accuracy", "price", "known")}
            points.append({**plain, "estimate": asdict(point.estimate), "model": number})
        about = {"scale": curve.scale, "teacher": curve.teacher, "sweeps": curve.sweeps}
        curves.append({"way": list(way), **about, "points": points})
    np.savez(packed := io.BytesIO(), **arrays)  # type: ignore[arg-type]
    parts = [packed.getvalue(), *models]
    head = {"version": _VERSION, "held_out": kept.held_out, "curves": curves, "parts": list(map(len, parts))}
    text = json.dumps(head).encode()
    write_bytes(path, lzma.compress(b"".join([len(text).to_bytes(8, "little"), text, *parts]), preset=0))


def read_curves(path: Path, ways: Sequence[Way], X: Array, groups: Array | None) -> BoardCurves | None:
    """Return the curves of these ways, None where there is no such file or it was damaged.

    `X` and `groups` are the training rows, which the file does not hold.
    """
    try:
        data = lzma.LZMADecompressor(memlimit=1 << 30).decompress(path.read_bytes(), _MOST)
        end = 8 + int.from_bytes(data[:8], "little")
        head = json.loads(data[8:end])
        if head["version"] != _VERSION or [tuple(one["way"]) for one in head["curves"]] != list(ways):
            return None
        places = np.cumsum([end, *head["parts"]]).tolist()
        packed, *models = (data[a:b] for a, b in pairwise(places))
        with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
            curves = {Way(*one["way"]): _curve(one, models, arrays) for one in head["curves"]}
        machine = from_file_bytes(models[0])
        return BoardCurves(curves, head["held_out"], machine, X, Sources.of(ways, machine, X, groups))
    except (*FAULTS, lzma.LZMAError, EOFError):
        return None


def _curve(kept: dict[str, Any], models: Sequence[bytes], arrays: Any) -> Curve[Footprint]:
    points = []
    for one in kept["points"]:
        number = one["model"]
        of_rows = [arrays.get(f"{number} {name}") for name in _OF_ROWS]
        held_out = None if of_rows[0] is None else HeldOut(*of_rows)
        model: Model = from_file_bytes(models[number])
        plain = {name: one[name] for name in ("accuracy", "price", "known")}
        points.append(PrunedModel(model, estimate=Footprint(**one["estimate"]), held_out=held_out, **plain))
    return Curve(tuple(points), kept["scale"], kept["teacher"], sweeps=kept["sweeps"])
