"""MicroPython of models that read raw windows: the record of the window, and the kernels that it needs."""

from __future__ import annotations

import re
import struct

import numpy as np
from numpy.typing import ArrayLike

from ethereal.export.c99.names import code_span
from ethereal.export.c99.text import filled
from ethereal.export.c99.windows import windows_for
from ethereal.features.front_end import KERNELS, FrontEnd, sines

_README = """
The model takes raw samples, @axes@ as int16 counts@rate@:

```python
label = @name@.push(sample)    # None, or a label once every @hop@ samples
@name@.window(samples)         # label of @window@ samples
@name@.features(samples)       # what rows are made of: the features of a window
@name@.reset()                 # forget all samples, after an interruption
```

`ethereal_check.check_windows(@name@.model, "@name@.goldw")` tells how many golden windows there are, and how
many are wrong.

"""
_GOLDEN_BYTES = 8192  # of windows, which should not fill a board's flash
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


def readme(front_end: FrontEnd, name: str) -> str:
    """Return what the README says of windows."""
    rate = "" if front_end.rate is None else f", {front_end.rate:g} a second"
    sizes = {"hop": str(front_end.hop), "window": str(front_end.window)}
    return filled(
        _README, {"name": name, "axes": ", ".join(map(code_span, front_end.axes)), "rate": rate, **sizes}
    )


def golden(front_end: FrontEnd, tables: bytes, rows: ArrayLike | None) -> bytes:
    """Return some windows with their features as the self-test reads them."""
    found = windows_for(front_end, rows)[
        : max(1, _GOLDEN_BYTES // (2 * front_end.window * len(front_end.axes)))
    ]
    features = front_end.transform(found)
    parts = [
        one.tobytes()
        for pair in zip(found.astype("<i2"), features.astype("<i2"), strict=True)
        for one in pair
    ]
    return struct.pack("<4s4sH", b"ETV1", tables[4:8], len(found)) + b"".join(parts)


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
