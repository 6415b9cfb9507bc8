"""Rows and answers compared with what training saw, for models that carry it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.ctext import unsigned_type, wrap
from ethereal.export.c99.parts.part import Draft, Part
from ethereal.features.rounding import places_of
from ethereal.model.seen import SLOWNESS

if TYPE_CHECKING:
    from ethereal.export.c99.program import Program


class Seen(Part):
    """Counts features outside of their range in training, and follows the rates of answers."""

    name = "seen"

    @classmethod
    def of(cls, draft: Draft) -> Seen | None:
        # What training saw of the answers says nothing of classes that are yet to be learned.
        if draft.model.seen is None or draft.options.learns_classes:
            return None
        if draft.kind.ctype != "float" and draft.model.front_end is None:
            raise ValueError(
                f"input is {draft.kind.name!r}, but ranges of features are compared as float. Leave the "
                "option out, or take the ranges off with model.with_seen(None)."
            )
        return cls()

    def values(self, program: Program) -> dict[str, str]:
        seen, is_float = program.model.seen, program.input.ctype == "float"
        assert seen is not None
        kept = np.flatnonzero(np.isfinite(seen.high))
        low, high = (
            _wrapped(places_of(limits[kept]) if is_float else limits[kept].astype(np.int64))
            for limits in (seen.low, seen.high)
        )
        return {
            "limit": str(seen.limit),
            "n": str(len(kept)),
            "index": unsigned_type(max(kept.tolist(), default=0)),
            "which": _wrapped(kept),
            "low": low,
            "high": high,
            "type": "int32_t" if is_float else "int16_t",
            "value": "et_place(features[f])" if is_float else "features[f]",
            "place": self.section("place of a float", {}) if is_float else "",
            "is_missing": " && value != INT32_MIN" if is_float else "",
            "answers": str(len(seen.rates)),
            "rates": _wrapped(np.array(seen.rates)),
            "slowness": str(SLOWNESS),
        }


def _wrapped(numbers: NDArray[Any]) -> str:
    return wrap([str(number) for number in numbers.tolist()] or ["0"])
