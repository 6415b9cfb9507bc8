"""What a run says about models that are smaller or larger than the one for the board."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ethereal.base.checks import bytes_text
from ethereal.tuning.budget import FEW_ROWS, FLASH_OF_FEW


def beside(found: Mapping[str, Any]) -> dict[str, str]:
    """Return the next smaller and the next larger model, each with the bound that asks for it.

    `found` has the results of the stages "prune" and "board".

    >>> one = {"flash_bytes": 1164, "accuracy": 0.971, "rows": 275, "more": -1}
    >>> beside({"board": {"neighbours": {"smaller": one}}})
    {'smaller: --flash 1200': '1.1 kB, 97.1 %: one held-out row of 275 less'}
    """
    told = {}
    for name, one in found["board"].get("neighbours", {}).items():
        size, accuracy = bytes_text(one["flash_bytes"]), f"{100 * one['accuracy']:.1f} %"
        useless = name == "larger" and one["more"] <= 0
        gain = f"not better on {one['rows']:,} held-out rows" if useless else _rows(one)
        told[f"{name}: --flash {bound(one['flash_bytes'])}"] = f"{size}, {accuracy}: {gain}"
    return told


def beside_notes(found: Mapping[str, Any]) -> list[str]:
    """Return what `beside` tells as sentences, for the page.

    >>> one = {"flash_bytes": 1164, "accuracy": 0.971, "rows": 275, "more": -1}
    >>> beside_notes({"board": {"neighbours": {"smaller": one}}})
    ['The next smaller model (--flash 1200) has 1.1 kB, 97.1 %: one held-out row of 275 less.']
    """
    notes = []
    for name, text in beside(found).items():
        size, option = name.split(": ")
        notes.append(f"The next {size} model ({option}) has {text}.")
    return notes


def large_note(found: Mapping[str, Any]) -> str:
    """Return what half of a model costs that is large for the rows that it learned from, else nothing."""
    took, rows = found["board"]["measured"].get("model"), found["prune"].get("learned_from", math.inf)
    smaller = found["board"].get("neighbours", {}).get("smaller")
    if took is None or smaller is None or took["flash_bytes"] <= FLASH_OF_FEW or rows > FEW_ROWS:
        return ""
    points, error = 100 * -smaller["more"] / smaller["rows"], 100 * smaller["error"]
    return (
        f"{bytes_text(took['flash_bytes'])} is large for {rows:,} rows. "
        f"--flash {bound(smaller['flash_bytes'])} costs about {points:.1f} ± {error:.1f} points."
    )


def bound(flash: float) -> int:
    """Return a bound on flash that holds so many bytes and is easy to type.

    >>> bound(1164), bound(823), bound(48_200), bound(1200)
    (1200, 830, 49000, 1200)
    """
    unit: int = 10 ** max(0, math.floor(math.log10(max(1.0, flash))) - 1)
    return math.ceil(flash / unit) * unit


def _rows(one: Mapping[str, Any]) -> str:
    """Return how many held-out rows more or fewer are right.

    >>> [_rows({"rows": 69, "more": n}) for n in (-1, 0, 12)]
    ['one held-out row of 69 less', 'as many of 69 held-out rows', '12 held-out rows of 69 more']
    """
    more, of = one["more"], f"{one['rows']:,}"
    if more == 0:
        return f"as many of {of} held-out rows"
    count = "one held-out row" if abs(more) == 1 else f"{abs(more)} held-out rows"
    return f"{count} of {of} {'more' if more > 0 else 'less'}"
