"""MicroPython of models that read raw windows: the record of the window, and the kernels that it needs."""

from __future__ import annotations

import re
import struct

import numpy as np

from ethereal.features.front_end import FrontEnd
from ethereal.features.kernels import KERNELS, sines

_BANDED = ("bands", "spectrum", "mel")  # in the order in which the runtime reads their bins


def record(front_end: FrontEnd) -> bytes:
    """Return what stands at the end of the tables: window, plan, sines, bins of bands, and its length.

    >>> len(record(FrontEnd(("x",), 32, (("stats", "x"),))))
    14
    """
    plan, size = front_end.plan, front_end.wave_size
    own = struct.pack("<HHHBB", front_end.window, front_end.hop, size, len(front_end.axes), len(plan))
    own += plan.astype(np.uint8).tobytes()
    own += sines(size).astype("<i2").tobytes() if size else b""
    for name in _BANDED:
        if name in front_end.band_ends:
            own += front_end.band_ends[name].astype("<u2").tobytes()
    return own + struct.pack("<H", len(own))


def facts(front_end: FrontEnd, name: str) -> dict[str, str]:
    """Return what the README says of windows."""
    rate = "" if front_end.rate is None else f", {front_end.rate:g} a second"
    sizes = {"hop": str(front_end.hop), "window": str(front_end.window)}
    return {"name": name, "axes": ", ".join(front_end.axes), "rate": rate, **sizes}


def kernels(front_end: FrontEnd, source: str) -> str:
    """Return the functions of `source` that a front end needs, and the table of its kernels."""
    functions = {match[1]: match[0] for match in re.finditer(r"(?ms)^def (\w+)\(.*?(?=^def |\Z)", source)}
    used = sorted({kernel for kernel, _ in front_end.groups}, key=lambda name: KERNELS[name].code)
    wanted, queue = set[str](), [*used, "average", "magnitude"]
    while queue:
        name = queue.pop()
        if name not in wanted:
            wanted.add(name)
            queue += [other for other in functions if re.search(rf"\b{other}\(", functions[name])]
    texts = [text.rstrip() for name, text in functions.items() if name in wanted]
    table = ", ".join(f"{KERNELS[name].code}: {name}" for name in used)
    return "\n\n\n".join([*texts, f"KERNELS = {{{table}}}"]) + "\n"
