"""The linear part of a number: tables of slopes, and a function that adds up weights times steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ethereal.export.c99.ctext import unsigned_type
from ethereal.export.c99.parts.part import Draft, Part
from ethereal.model.output import LinearNumber

if TYPE_CHECKING:
    from ethereal.export.c99.ctext import Tables
    from ethereal.export.c99.program import Program
    from ethereal.export.options import ExportOptions

_CODE_BYTES = 250  # at most, the checksum of the tables included


@dataclass(frozen=True)
class Line(Part):
    """Adds votes to those of the clauses."""

    name = "line"
    writes_tables = True
    output: LinearNumber

    @classmethod
    def of(cls, draft: Draft) -> Line | None:
        if not isinstance(draft.model.output, LinearNumber):
            return None
        if draft.kind.ctype != "float":
            raise ValueError(
                f"input is {draft.kind.name!r}, but the linear part of the model reads floats. Leave the "
                "option out, or train with linear=False."
            )
        return cls(draft.model.output)

    def write_tables(self, out: Tables, options: ExportOptions) -> None:
        features, weights, exponents, lows, highs = zip(*self.output.line.slopes, strict=True)
        spans = [high - low for low, high in zip(lows, highs, strict=True)]
        is_short = max(map(abs, weights)) < 1 << 15
        out.define("ET_SLOPES", f"{len(features)}u")
        places = unsigned_type(max(features))
        out.array(places, "et_slope_features", features, "features that the linear part has a slope of")
        out.array("int16_t" if is_short else "int32_t", "et_weights", weights, "weights of their steps")
        out.array("int8_t", "et_exponents", exponents, "a step is a power of two, with these exponents")
        out.array("int32_t", "et_lowest", lows, "lowest values, in steps")
        out.array("uint16_t", "et_spans", spans, "steps from the lowest to the highest value")

    def values(self, program: Program) -> dict[str, str]:
        line, scale = self.output.line, self.output.scale
        shift, lift = line.shift(scale), line.lift(scale)
        first = (lift << shift) + (1 << shift >> 1)
        return {"first": str(first), "shift": str(shift), "lift": str(lift)}

    def fills(self, program: Program) -> dict[str, str]:
        return {"line": " + et_linear(features)"}

    def code_bytes(self) -> int:
        return _CODE_BYTES
