"""The C of models that may leave a row unanswered. Other models get the C that they always had."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ethereal.export.c99.tables import comment
from ethereal.model import Model
from ethereal.model.output import ClassesOrUnknown

if TYPE_CHECKING:
    from ethereal.export.c99.program import Program

CODE_BYTES = 100  # of the comparison, at most
_SLICED = """\
{
        unsigned r, c, k;

        (void)et_sliced_argmax; /* it cannot tell by how much a class leads */
        for (r = 0; r < 32; r++) {
            int32_t sums[ET_CLASSES];

            for (c = 0; c < ET_CLASSES; c++)
                for (sums[c] = 0, k = 0; k < ET_SUM_BITS; k++)
                    sums[c] += (int32_t)((et_sums[c][k] >> r & 1u) << k);
            classes[r] = (uint16_t)et_answer(sums);
        }
    }"""
_PLAIN = {
    "argmax": "et_argmax",
    "best": "et_best",
    "sliced_argmax": "et_sliced_argmax(et_sums, classes);",
    "answers": "class is always below {NAME}_CLASSES",
    "unknown": "",
}


def is_asked(model: Model) -> bool:
    """Whether a model may answer "unknown"."""
    return isinstance(model.output, ClassesOrUnknown)


def answer_names(model: Model) -> list[str]:
    """Return the names of all answers, in the order of their numbers."""
    own, names = model.output, [str(label) for label in model.classes.tolist()]
    if isinstance(own, ClassesOrUnknown):
        names.append(own.unknown if isinstance(own.unknown, str) else "unknown")
    return names


def values_of(program: Program) -> dict[str, str]:
    """Return what the templates are filled with."""
    name, own = program.name.upper(), program.model.output
    if not isinstance(own, ClassesOrUnknown):
        plain = {key: text.replace("{NAME}", name) for key, text in _PLAIN.items()}
        return plain | ({} if program.learning is None else {"argmax": "et_winner"})
    return {
        "argmax": "et_answer",
        "best": "et_answer_of",
        "sliced_argmax": _SLICED,
        "answers": f"answer is a class below {name}_CLASSES, or {name}_UNKNOWN",
        "unknown": (
            f"\n/* The answer to a row in which no class leads by {name}_MARGIN votes or more. */\n"
            f"#define {name}_UNKNOWN {program.model.n_classes}u /* {comment(answer_names(program.model)[-1])}"
            f" */\n#define {name}_MARGIN {own.margin}\n"
        ),
    }


def expected(model: Model, name: str) -> str:
    """Return the lines of a self-test that turn the best class into the answer."""
    if not is_asked(model):
        return ""
    return f"""
        for (c = 0, winner = best; c < {name}_CLASSES; c++)
            if (c != winner && ET_READ(want[winner]) - ET_READ(want[c]) < {name}_MARGIN)
                best = {name}_UNKNOWN;"""
