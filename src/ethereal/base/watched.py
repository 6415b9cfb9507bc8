"""How far this process is, in a file for whoever started it: stage, share, and what was made so far."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from ethereal.base.atomic import open_atomically

FILE = "ETHEREAL_PROGRESS"  # the variable of the environment that names the file. Without it nothing is told.
_SECONDS = 0.3  # between two writes, but for a new stage and for what was made
_known: dict[str, Any] = {}
_last = -1.0


def is_on() -> bool:
    """Whether anybody watches."""
    return FILE in os.environ


def note(name: str, share: float, text: str) -> None:
    """Tell which share of a stage is done."""
    if _known.get("name") != name:
        _known.update(name=name, since=time.time())
        _known.pop("told", None)
    _known.update(share=share, text=text)
    _write(is_due=False)


def note_points(kind: str, points: list[list[float]]) -> None:
    """Tell bytes and accuracies of models that were made, beside those of the same kind before."""
    _known.setdefault("points", {}).setdefault(kind, []).extend(points)
    _write(is_due=True)


def _write(*, is_due: bool) -> None:
    global _last
    now = time.monotonic()
    if not is_on() or not (is_due or "told" not in _known or now - _last >= _SECONDS):
        return
    _last = now
    _known["told"] = time.time()
    with suppress(OSError), open_atomically(Path(os.environ[FILE]), is_cache=True) as file:
        file.write(json.dumps(_known).encode())  # a watcher is not worth a failed run
