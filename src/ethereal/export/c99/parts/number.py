"""A number as answer: its scale and offset, and functions that return the sum of votes and the number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ethereal.export.c99.ctext import comment, float_literal, wrap
from ethereal.export.c99.parts.part import Draft, Part
from ethereal.model.output import Number as Output

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ethereal.export.c99.program import Program


@dataclass(frozen=True)
class Number(Part):
    """Returns a number, where other programs return a class."""

    name = "number"
    output: Output

    @classmethod
    def of(cls, draft: Draft) -> Number | None:
        output = draft.model.output
        if not isinstance(output, Output):
            return None
        if draft.options.majority > 1:
            raise ValueError(
                f"majority is {draft.options.majority}, but the answers of this model are numbers, which "
                "have no majority. Leave the option out."
            )
        return cls(output)

    def about(self, program: Program) -> str:
        what = f", {self.output.name}" if self.output.name else ""
        unit = f" in {self.output.unit}" if self.output.unit else ""
        return f"The answer is a number{what}{unit}."

    def values(self, program: Program) -> dict[str, str]:
        output = self.output
        texts = {"scale": output.scale, "offset": output.offset, "half_width": output.half_width or 0.0}
        literals = {key: float_literal(value) for key, value in texts.items()}
        literals["offset"] = f"({literals['offset']})" if output.offset < 0 else literals["offset"]
        unit = comment(output.unit)
        what = f", {output.name}" if output.name else ""
        return literals | {
            "what": comment(what + (f" in {output.unit}" if output.unit else "")),
            "digits": str(output.digits),
            "interval": self._interval(),
            "unit": unit or "the number without votes",
            "unit_of_a_vote": unit or "what is added",
        }

    def _interval(self) -> str:
        if self.output.half_width is None:
            return ""
        half = f"{self.output.half_width:.4g} {comment(self.output.unit)}".rstrip()
        return f" Nine of ten\ntrue values are within {half} of it."

    def text(self, which: str, program: Program) -> str:
        text = super().text(which, program)
        if which == "macros" and self.output.half_width is not None:
            text += super().text("macros of an interval", program)
        return text

    def fills(self, program: Program) -> dict[str, str]:
        return {
            "answers": "number is always finite",
            "value": self.section("value", program).strip(),
            "told": "sums and numbers",
        }

    def golden(self, program: Program, features: NDArray[Any]) -> dict[str, str]:
        return {"golden": "", "test": ""}

    def value_bits(self, sums: NDArray[np.int32]) -> str:
        """Return the bits of the numbers of sums, for the self-test."""
        bits = self.output.answers(sums).view(np.uint32).tolist()
        return wrap([f"0x{each:08X}u" for each in bits])
