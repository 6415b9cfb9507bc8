"""The C that compares rows and answers with what training saw, only for models that carry it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.tables import unsigned_type, wrap
from ethereal.features.rounding import places_of
from ethereal.model.seen import SLOWNESS

if TYPE_CHECKING:
    from ethereal.export.c99.program import Program


def values_of(program: Program) -> dict[str, str] | None:
    """Return what the templates are filled with, None for a model that carries nothing."""
    seen, is_float = program.model.seen, program.input.ctype == "float"
    if seen is None:
        return None
    if not is_float and program.model.front_end is None:
        raise ValueError(
            f"input is {program.input.name!r}, but ranges of features are compared as float. Leave the "
            "option out, or take the ranges off with model.with_seen(None)."
        )
    kept = np.flatnonzero(np.isfinite(seen.high))
    bounds = (seen.low[kept], seen.high[kept])
    texts = [_wrapped(places_of(b) if is_float else b.astype(np.int64)) for b in bounds]
    return {
        "name": program.name,
        "NAME": program.name.upper(),
        "limit": str(seen.limit),
        "n": str(len(kept)),
        "index": unsigned_type(max(kept.tolist(), default=0)),
        "which": _wrapped(kept),
        "low": texts[0],
        "high": texts[1],
        "type": "int32_t" if is_float else "int16_t",
        "value": "et_place(features[f])" if is_float else "features[f]",
        "place": _PLACE if is_float else "",
        "is_missing": " && value != INT32_MIN" if is_float else "",
        "answers": str(len(seen.rates)),
        "rates": _wrapped(np.array(seen.rates)),
        "slowness": str(SLOWNESS),
    }


def _wrapped(numbers: NDArray[Any]) -> str:
    return wrap([str(number) for number in numbers.tolist()] or ["0"])


_PLACE = """
/* The place of a float among all floats, the lowest for one that is not a number. */
static int32_t et_place(float value)
{
    union {
        float value;
        int32_t bits;
    } both;

    both.value = value;
    if ((both.bits & 0x7FFFFFFF) > 0x7F800000)
        return INT32_MIN;
    if (both.bits == INT32_MIN) /* -0 is 0 */
        return 0;
    return both.bits ^ (int32_t)((0u - ((uint32_t)both.bits >> 31)) >> 1);
}
"""
