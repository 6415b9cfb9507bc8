"""What is assumed of variables while a program is followed for a bound of its instructions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ethereal.adapt.learning import Learning

# The clauses that fired on the last row, alone or behind its votes in flash.
LAST, FOUND = "et_last", "et_found"
# A state, what points to the one that is used, and general rows.
FIRST_STATE, OWN, _ANCHORS = "et_first_state", "et_own", "et_anchors"
TEACHES = ("learn", "adapt_step")  # functions that have a bound of instructions
_AT, _IS_PERSONAL, _PHASE, _SPARE = 2, 8, 9, 11  # where parts of a state begin: templates/learn.h.in


@dataclass(frozen=True)
class Assumed:
    """Values of a number in a variable that stand for all that it can have, or that take the most.

    They are those before a call, or whenever it is read. Where it is a pointer, `points_to` is a variable.
    """

    variable: str
    values: tuple[int, ...] = ()
    offset: int = 0
    width: int = 0  # bytes, those of the variable if 0
    always: bool = False
    points_to: str = ""


def sum_words(files: Mapping[str, str]) -> int | None:
    """Return the words of votes before the bits of the clauses, None if these bits are a variable."""
    found = re.search(r"^#define ET_SUM_WORDS (\d+)u", "\n".join(files.values()), re.MULTILINE)
    return None if found is None else int(found[1])


def of_state(learning: Learning, function: str = "", n_before: int | None = None) -> list[list[Assumed]]:
    """Return what is assumed of a state while one of the functions that teach is followed, or a prediction.

    The function is followed for each list. All clauses fire, because the more do, the more votes are added. A
    kept row is of any class. The number of kept rows is compared with the most, and is an index otherwise. To
    adapt takes the most with all rows. `n_before` is what `sum_words` returns.
    """
    n_bytes, n_last = (learning.n_clauses + 7) // 8, (learning.n_clauses - 1) % 8 + 1
    fired = [0xFF] * (n_bytes - 1) + [(1 << n_last) - 1]
    found = [Assumed(OWN, points_to=FIRST_STATE, width=4, always=True)]

    def add_clauses(variable: str, at: int) -> None:
        found.extend(Assumed(variable, (byte,), at + i, 1, True) for i, byte in enumerate(fired))

    if n_before is None:
        add_clauses(LAST, 0)
    else:
        add_clauses(FOUND, 4 * n_before)
        no_clauses = range(4 * n_before + n_bytes, 4 * (n_before + (n_bytes + 3) // 4))
        found.extend(Assumed(FOUND, (0,), at, 1, True) for at in no_clauses)
    most, n_anchors = learning.n_rows, len(learning.anchors)
    if not function:
        return [[*found, Assumed(FIRST_STATE, (0, 1), _IS_PERSONAL, 1, True)]]
    first, size = (_SPARE + max(1, len(learning.new_labels)) + 1) // 2 * 2, learning.row_bytes
    classes = tuple(range(learning.n_classes))
    found += [Assumed(FIRST_STATE, classes, first + size * i, 1) for i in range(most)]
    if function == "learn":
        return [[*found, Assumed(FIRST_STATE, tuple(sorted({0, most - 1, most})), 0, 2)]]
    for i in range(most):
        add_clauses(FIRST_STATE, first + size * i + 1)
    for i in range(n_anchors):
        add_clauses(_ANCHORS, size * i + 1)
    found.append(Assumed(FIRST_STATE, (most,), 0, 2))
    return [
        [*found, Assumed(FIRST_STATE, (row,), _AT, 2), Assumed(FIRST_STATE, (phase,), _PHASE, 1)]
        for row in sorted({0, most - 1, most + n_anchors - 1})
        for phase in range(4)
    ]
