"""The answer "unknown", of models that may leave a row unanswered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ethereal.export.c99.ctext import comment
from ethereal.export.c99.parts.part import Draft, Part
from ethereal.model.output import ClassesOrUnknown

if TYPE_CHECKING:
    from ethereal.export.c99.program import Program


@dataclass(frozen=True)
class Unknown(Part):
    """Answers only if a class leads by a margin."""

    name = "unknown"
    output: ClassesOrUnknown

    @classmethod
    def of(cls, draft: Draft) -> Unknown | None:
        output = draft.model.output
        return cls(output) if isinstance(output, ClassesOrUnknown) else None

    def answers(self, program: Program) -> list[str]:
        return [self.output.unknown if isinstance(self.output.unknown, str) else "unknown"]

    def values(self, program: Program) -> dict[str, str]:
        return {
            "unknown": str(program.model.n_classes),
            "label": comment(self.answers(program)[0]),
            "margin": str(self.output.margin),
        }

    def text(self, which: str, program: Program) -> str:
        text = super().text(which, program)
        if which != "before":
            return text
        if program.c_layout.has_rows:
            return f"#if ET_CELLS == 0\n{text}#endif\n"
        return text + super().text("before, in words", program)  # which hold the sums of several classes each

    def fills(self, program: Program) -> dict[str, str]:
        name = program.name.upper()
        return {
            "argmax": "et_answer",
            "best": "et_answer_of",
            "sliced_argmax": self.text("sliced", program).rstrip(),
            "answers": f"answer is a class below {name}_CLASSES, or {name}_UNKNOWN",
            "winner": ", winner",
            "expect": self.text("expect", program).rstrip(),
        }

    def code_bytes(self) -> int:
        return 100  # of the comparison, at most
