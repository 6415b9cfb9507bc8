"""Learning on the board: definitions of the rule, general rows, golden calls, and what a bound assumes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.adapt.learning import MOVES, PASSES, SIXTEENTHS, Learning, State, packed
from ethereal.export.c99.ctext import Tables, fill, wrap
from ethereal.export.c99.layouts import LEARNING, CLayout
from ethereal.export.c99.parts.part import Assumed, Draft, Part, named

if TYPE_CHECKING:
    from ethereal.export.c99.program import Program
    from ethereal.export.options import ExportOptions
    from ethereal.model import Model

_TEST_STEPS = 5  # rows that the golden calls do one at a time
# The clauses that fired on the last row, alone or behind its votes in flash.
LAST, FOUND = "et_last", "et_found"
# A state, what points to the one that is used, and general rows.
FIRST_STATE, _USED, _ANCHORS = "et_first_state", "et_own", "et_anchors"
_AT, _IS_PERSONAL, _PHASE, _SPARE = 2, 8, 9, 11  # where parts of a state begin: see learn.c.in
# The check at start-up and a saved state share it. Compilers would write it twice.
_ONE_CRC = """\
#if defined(__clang__)
__attribute__((noinline, unused, minsize)) static uint32_t et_crc32(uint32_t, const void *, uint32_t);
#elif defined(__GNUC__)
__attribute__((noinline, unused)) static uint32_t et_crc32(uint32_t, const void *, uint32_t);
#endif"""


@dataclass(frozen=True)
class Learn(Part):
    """Keeps a person's rows, and lets the votes learn from them."""

    name = "learn"
    includes = ("stddef.h",)
    writes_tables = True
    functions = ("learn", "adapt", "unlearn", "forget", "save", "restore")
    bounded = ("learn", "adapt_step")
    shares_state = "predict or learn"
    learning_is = "Learning"
    remedy = "Keep fewer rows (learn_rows), or learn only a bias."
    learning: Learning

    @classmethod
    def of(cls, draft: Draft) -> Learn | None:
        asked = draft.options.learn is not None
        learning = Learning.asked(draft.simplified, draft.options) if asked else None
        if learning is None:
            return None
        draft.model, draft.small = in_sixteenths(draft.model, learning), in_sixteenths(draft.small, learning)
        draft.n_new_classes = len(learning.new_labels)
        return cls(learning)

    @classmethod
    def layouts(cls, options: ExportOptions) -> tuple[CLayout, ...]:
        return () if options.learn is None else LEARNING

    def classes(self) -> list[str]:
        return list(map(str, self.learning.new_labels))

    def ram_bytes(self, options: ExportOptions) -> int:
        return self.learning.ram_bytes + self.learning.row_bytes + 4  # a state and the last row

    def write_tables(self, out: Tables, options: ExportOptions) -> None:
        learning = self.learning
        if not options.single_header:  # whose functions are all inline
            out.text(_ONE_CRC)
        out.text("typedef @name@_state et_state;\ntypedef @name@_progress et_progress;")
        out.define("ET_LEARN_BIAS", int(learning.form == "bias"))
        out.define("ET_GUARD", int(learning.has_guard))
        words = learning.n_classes // 4
        at_once = next(n for n in (4, 3, 2, 1) if words % n == 0) if words else 0
        out.define("ET_VOTE_WORDS", f"{at_once}u")
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
            note = "general rows: class and clause bits"
            out.array("uint8_t", _ANCHORS, b"".join(learning.anchors), note)

    def values(self, program: Program) -> dict[str, str]:
        learning = self.learning
        # Integers that stand for no missing value cannot be missing.
        is_float = program.input.ctype == "float" or not program.slots.accepts_missing
        can_refuse = program.model.front_end is None and bool(program.slots.refused_features)
        takes_input = not (program.scales and is_float)
        look = fill("look.c", named(program), "c99/layouts/lists") if program.c_layout.has_rows else ""
        return {
            "look": look,
            "rows": str(learning.n_rows),
            "row_bytes": str(learning.row_bytes),
            "state_bytes": str(learning.n_rows * learning.row_bytes + 4),
            "entry_bytes": str(learning.row_bytes + 4),
            "votes": str(learning.n_votes),
            "replayed": str(learning.n_rows + len(learning.anchors)),
            "spare": str(max(1, len(learning.new_labels))),
            "ram": str(learning.ram_bytes),
            "all_ram": str(self.ram_bytes(program.options)),
            "refused": f" || {program.name}_missing(features)" if can_refuse and takes_input else "",
        }

    def fills(self, program: Program) -> dict[str, str]:
        return {**super().fills(program), "argmax": "et_winner"}

    def stack_of(self, program: Program) -> int:
        return program.costs.stack_bytes  # from features to a class

    def golden(self, program: Program, features: NDArray[Any]) -> dict[str, str]:
        """Return golden calls: rows are taught, and sums and bytes must be the host's."""
        state = State(replace(self.learning))
        rows = packed(program.slots.model.clauses.fires(program.device_booleans(features)))
        classes = [(i // 2 + 1) % self.learning.n_classes for i in range(len(rows))]
        sums, moves = [], []
        for i, class_ in enumerate(classes):  # every row twice, so that those which check find a gain
            state.keep(class_, rows[i // 2])
        for _ in range(_TEST_STEPS):
            state.step()
        for dropped in (None, 0):
            if dropped is not None:
                state.drop(dropped)
            result = state.adapt()
            moves.append(0xFFFF if result is None else result)
            sums += [state.sums(row) for row in rows]
        golden = self.section(
            "golden",
            program,
            taught=", ".join(map(str, classes)),
            steps=str(_TEST_STEPS),
            moves=", ".join(f"{n}u" for n in moves),
            saved=wrap([str(byte) for byte in state.save()]),
            learned=",\n".join(wrap([str(x) for x in of_row.tolist()]) for of_row in sums),
        )
        return {"golden": golden, "test": self.text("test", program)}

    def assumed(self, program: Program, function: str) -> list[list[Assumed]]:
        """Return what is assumed of a state.

        All clauses fire, because the more do, the more votes are added. A kept row is of any class. The
        number of kept rows is compared with the most, and is an index otherwise. To adapt takes the most with
        all rows.
        """
        learning, size = self.learning, self.learning.row_bytes
        n_last = (learning.n_clauses - 1) % 8 + 1
        fired = [0xFF] * (size - 2) + [(1 << n_last) - 1]
        every = [Assumed(_USED, points_to=FIRST_STATE, width=4, always=True)]

        def add_clauses(variable: str, at: int) -> None:
            every.extend(Assumed(variable, (byte,), at + i, 1, True) for i, byte in enumerate(fired))

        n_before = sum_words(program.files)
        if n_before is None:
            add_clauses(LAST, 0)
        else:
            add_clauses(FOUND, 4 * n_before)
            no_clauses = range(4 * n_before + len(fired), 4 * (n_before + (len(fired) + 3) // 4))
            every.extend(Assumed(FOUND, (0,), at, 1, True) for at in no_clauses)
        most, n_anchors = learning.n_rows, len(learning.anchors)
        if function not in self.bounded:
            return [[*every, Assumed(FIRST_STATE, (0, 1), _IS_PERSONAL, 1, True)]]
        first = (_SPARE + max(1, len(learning.new_labels)) + 1) // 2 * 2
        classes = tuple(range(learning.n_classes))
        every += [Assumed(FIRST_STATE, classes, first + size * i, 1) for i in range(most)]
        if function == "learn":
            return [[*every, Assumed(FIRST_STATE, tuple(sorted({0, most - 1, most})), 0, 2)]]
        for i in range(most):
            add_clauses(FIRST_STATE, first + size * i + 1)
        for i in range(n_anchors):
            add_clauses(_ANCHORS, size * i + 1)
        every.append(Assumed(FIRST_STATE, (most,), 0, 2))
        return [
            [*every, Assumed(FIRST_STATE, (row,), _AT, 2), Assumed(FIRST_STATE, (phase,), _PHASE, 1)]
            for row in sorted({0, most - 1, most + n_anchors - 1})
            for phase in range(4)
        ]


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


def sum_words(files: Mapping[str, str]) -> int | None:
    """Return the words of votes before the bits of the clauses, None if these bits are a variable."""
    definition = re.search(r"^#define ET_SUM_WORDS (\d+)u", "\n".join(files.values()), re.MULTILINE)
    return None if definition is None else int(definition[1])
