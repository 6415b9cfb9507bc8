"""What a MicroPython package has when it tells what is normal, or learns that for its own machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ethereal.base.checks import check_integer
from ethereal.export.c99.ctext import filled, read
from ethereal.model.needs import NotSupported

if TYPE_CHECKING:
    from ethereal.model import Model

_CALLS = ("score", "is_normal", "normal_limit")
_OWN_CALLS = ("normal_begin", "normal_learn", "normal_end", "normal_drift", "normal_save", "normal_restore")
# What the README of a detector says otherwise.
FACTS = {"machine": "detector", "sums": "the limit and the score", "many": "labels of many rows"}


def is_detector(model: Model | None) -> bool:
    """Whether the answer is "normal" or "not normal"."""
    return model is not None and model.output.kind == "normal"


def check(model: Model, code: str, own_normal: int) -> None:
    """Refuse what a package cannot have."""
    check_integer("own_normal", own_normal, 0, 64)
    if own_normal and model.normal is None:
        raise ValueError(
            f"own_normal is {own_normal}, but the model does not know what is normal. Export that of an "
            "EtherealDetector, or one with model.with_normal(X, y, groups)."
        )
    if is_detector(model) and code != "plain":
        raise NotSupported(f"code is {code!r}, but a detector has no clauses to run. Leave it out.")


def added(model: Model | None, own_normal: int) -> str:
    """Return the source of what a model needs behind the usual."""
    if model is None or model.normal is None:
        return ""
    names = ["normal", *["detector"] * is_detector(model), *["own_normal"] * bool(own_normal)]
    texts = [read(f"mpy/runtime/{name}.upy") for name in names]
    if own_normal:
        match = re.search(
            r"(?ms)^def crc32.*?(?=^\S)", read("mpy/runtime/learn.upy").split("IDLE, TRY", 1)[1]
        )
        assert match is not None
        texts.insert(0, match[0])
    return "\n\n" + "\n\n\n".join(text.strip() for text in texts) + "\n"


def calls(model: Model, own_normal: int) -> list[str]:
    """Return the names of functions."""
    if model.normal is None:
        return []
    of_windows = [] if model.front_end is None else ["last_features"]
    return [*_CALLS, *of_windows, *(_OWN_CALLS if own_normal else ())]


def about(model: Model, name: str, own_normal: int) -> str:
    """Return what the README says of it."""
    if model.normal is None:
        return ""
    text = read("mpy/runtime/NORMAL.md") + (read("mpy/runtime/OWN_NORMAL.md") if own_normal else "")
    return filled(text, {"name": name, "own": str(own_normal)})
