"""The C of exports that learn: their bounds and general rows, the functions, and golden calls."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.adapt.learning import MOVES, NEVER, PASSES, SIXTEENTHS, Learning, packed
from ethereal.adapt.state import State
from ethereal.export.c99 import tables as ctext
from ethereal.export.c99 import unknown
from ethereal.export.c99.tables import Tables

if TYPE_CHECKING:
    from ethereal.export.c99.program import Program
    from ethereal.export.options import ExportOptions
    from ethereal.model import Model

INCLUDE = "\n#include <stddef.h>\n"
FUNCTIONS = ("learn", "adapt", "unlearn", "forget", "save", "restore")  # that flash is counted for
_TEST_STEPS = 5  # rows that the golden calls do one at a time


def in_sixteenths(model: Model, learning: Learning) -> Model:
    """Return the model with its votes in the unit in which votes are learned.

    What training saw of the answers says nothing of new classes, so a model that learns some does without it.
    """
    clauses = model.clauses
    return model._with(
        clauses=clauses.voting((SIXTEENTHS * clauses.weights).astype(np.int32)),
        temperature=SIXTEENTHS * model.temperature,
        seen=None if learning.new_labels else model.seen,
    )


def ram_bytes(learning: Learning) -> int:
    """Return the RAM of a state and of the last row."""
    return learning.ram_bytes + learning.row_bytes + 4


# The check at start-up and a saved state share it. Compilers would write it twice.
_ONE_CRC = """\
#if defined(__clang__)
__attribute__((noinline, unused, minsize)) static uint32_t et_crc32(uint32_t, const void *, uint32_t);
#elif defined(__GNUC__)
__attribute__((noinline, unused)) static uint32_t et_crc32(uint32_t, const void *, uint32_t);
#endif"""


def write_tables(out: Tables, learning: Learning, options: ExportOptions) -> None:
    """Write the bounds of the rule, and the general rows that are replayed."""
    name = options.name
    if not options.single_header:  # whose functions are all inline
        out.text(_ONE_CRC)
    out.text(f"typedef {name}_state et_state;\ntypedef {name}_progress et_progress;")
    out.define("ET_LEARN_BIAS", int(learning.form == "bias"))
    out.define("ET_GUARD", int(learning.has_guard))
    words = learning.n_classes // 4
    out.define("ET_VOTE_WORDS", f"{next((n for n in (4, 3, 2, 1) if words % n == 0), 1) if words else 0}u")
    out.define("ET_ROWS", f"{learning.n_rows}u")
    out.define("ET_ROW_BYTES", f"{learning.row_bytes}u")
    out.define("ET_BITS_BYTES", f"{learning.row_bytes - 1}u")
    last = (1 << ((learning.n_clauses - 1) % 8 + 1)) - 1
    out.define("ET_LAST_BITS", f"{last}u /* that the last byte of a row may have */")
    out.define("ET_NEW_CLASSES", f"{len(learning.new_labels)}u")
    out.define("ET_PASSES", f"{PASSES}u")
    out.define("ET_MOVES", f"{learning.moves}u /* that a kept row may cause */")
    out.define("ET_ANCHOR_MOVES", f"{MOVES}u /* that a general row may cause */")
    out.define("ET_MARGIN", f"{learning.margin}L /* sixteenths to be ahead, twice for a new class */")
    out.define("ET_IDENTITY", f"0x{learning.identity:08X}u /* of the model that a state belongs to */")
    out.define("ET_ANCHORS", f"{len(learning.anchors)}u")
    if learning.anchors:
        out.array("uint8_t", "et_anchors", b"".join(learning.anchors), "general rows: class and clause bits")


def answer_names(program: Program) -> list[str]:
    """Return the names of all answers, new classes included."""
    new = () if program.learning is None else program.learning.new_labels
    return [*unknown.answer_names(program.model), *map(str, new)]


def all_sums(program: Program, sums: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return class sums with those of new classes, which nobody taught yet."""
    n_new = program.slots.n_new_classes
    return np.pad(sums, ((0, 0), (0, n_new)), constant_values=NEVER) if n_new else sums


def texts_of(program: Program) -> tuple[str, str]:
    """Return declarations and definitions of what learns, nothing for other exports."""
    own = program.learning
    if own is None:
        return "", ""
    from ethereal.export.c99.text import fill, refused_features

    # Integers that stand for no missing value cannot be missing.
    is_float = program.input.ctype == "float" or not program.slots.accepts_missing
    can_refuse = program.model.front_end is None and bool(refused_features(program.slots))
    takes_input = not (program.scales and is_float)
    name = program.name
    values = {
        "name": name,
        "NAME": name.upper(),
        "rows": str(own.n_rows),
        "row_bytes": str(own.row_bytes),
        "state_bytes": str(own.n_rows * own.row_bytes + 4),
        "entry_bytes": str(own.row_bytes + 4),
        "votes": str(own.n_votes),
        "replayed": str(own.n_rows + len(own.anchors)),
        "spare": str(max(1, len(own.new_labels))),
        "ram": str(own.ram_bytes),
        "refused": f" || {name}_missing(features)" if can_refuse and takes_input else "",
    }
    look = fill("look.c", values, "c99/layouts/lists") if program.c_layout.has_rows else ""
    return fill("learn.h", values), look + fill("learn.c", values)


def memory_note(program: Program, usual: str) -> str:
    """Return the part of the contract about memory, `usual` for exports that do not learn."""
    own = program.learning
    if own is None:
        return usual
    lines = [
        f"No heap, no recursion. RAM: about {program.ram_bytes} bytes of variables.",
        f"  Stack: about {program.costs.stack_bytes} bytes, estimated for a Cortex-M.",
        "- All functions that predict or learn share these variables: call them from one task.",
    ]
    return "\n *  ".join(lines)


def test_values(program: Program, features: NDArray[Any]) -> dict[str, str]:
    """Return golden calls for the self-test: rows are taught, and sums and bytes must be the host's."""
    if program.learning is None:
        return {"golden_learning": "", "test_learning": "", "teach": ""}
    from ethereal.export.c99.text import fill

    state, n_classes = State(replace(program.learning)), program.learning.n_classes
    rows = packed(program.slots.model.clauses.fires(program.device_booleans(features)))
    classes = [int(c) for c in (np.arange(len(rows)) // 2 + 1) % n_classes]
    sums, marks = [], []
    for i, class_ in enumerate(classes):  # every row twice, so that those which check find something better
        state.keep(class_, rows[i // 2])
    for _ in range(_TEST_STEPS):
        state.step()
    for dropped in (None, 0):
        if dropped is not None:
            state.drop(dropped)
        result = state.adapt()
        marks.append(0xFFFF if result is None else result)
        sums += [state.sums(row) for row in rows]
    values = {
        "name": program.name,
        "NAME": program.name.upper(),
        "learn_rows": str(program.learning.n_rows),
        "learn_ram": str(ram_bytes(program.learning)),
        "taught": ", ".join(map(str, classes)),
        "steps": str(_TEST_STEPS),
        "moves": ", ".join(f"{mark}u" for mark in marks),
        "saved": ctext.wrap([str(byte) for byte in state.save()]),
        "learned": ",\n".join(ctext.wrap([str(x) for x in own.tolist()]) for own in sums),
    }
    return {
        "teach": fill("teach.md", values),
        "golden_learning": "\n" + fill("learn_test.c", values),
        "test_learning": "\n    failures += test_learning();",
    }
