"""The layout "patch_code": clauses over patches as code. Rows become planes as in the layout "patches".

A literal is a load and an AND with a shifted line, for all positions of a line at once. Lines are volatile,
because compilers would keep many of them on the stack otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.ctext import Tables, comment
from ethereal.export.c99.device_rows import Slots
from ethereal.export.c99.layouts import FRAMES, Costs, Plan
from ethereal.export.c99.layouts.patches import PER_CELL, ROWS, Arranged
from ethereal.export.c99.layouts.straight import function_of, value_of
from ethereal.export.c99.layouts.straight.tree import Fields, sum_fields

# Instructions and bytes on a Cortex-M7, fitted to three models.
_LITERAL, _CHECK, _VOTE, _CLAUSE = (2.0, 5.4), (2.3, 4.0), (4.5, 11.0), (2.0, 4.0)
_LINE, _LOOP = 4.0, 14.0  # of a line of an image: instructions, and bytes for all of them
_WIDE = 3.0  # times as much, where a word has 64 bits
_CELL_OF_CODE = 8.0  # bytes of a class, when its sum is taken out of a word
_ROUND_UP = 1.15
_PART = 150  # literals in one function


class _Literal(NamedTuple):
    """A line behind that of the position, a shift, and whether the cell must be below the threshold."""

    line: int
    shift: int
    negated: bool
    holds: float  # the share of typical cells

    def text(self, lines: str) -> str:
        text = f"{lines}[{self.line}]" + (f" >> {self.shift}" if self.shift else "")
        return f"~({text})" if self.negated and self.shift else f"{'~' * self.negated}{text}"


def plan(slots: Slots, rows: Callable[[], NDArray[np.bool_]], max_bytes: int | None) -> Plan:
    """Write the clauses of `slots` in the model's order. Literals that fail often on `rows` come first."""
    arranged = Arranged(slots, slots.every_boolean(rows()[:ROWS]))
    code = _Code(arranged)
    lines = len(arranged.planes) * arranged.height
    stack = lines * arranged.word_bits // 8 + 4 * slots.model.n_classes + 4 * code.fields.n_words + FRAMES
    return Plan(code.write, None, Costs(code.instructions, stack, round(_ROUND_UP * code.bytes)))


class _Code:
    """The clauses of a model as functions."""

    def __init__(self, arranged: Arranged) -> None:
        self._arranged = arranged
        self._votes = arranged.slots.model.weights.astype(np.int64)
        self.fields: Fields = sum_fields(
            np.minimum(self._votes, 0).sum(axis=0), np.maximum(self._votes, 0).sum(axis=0)
        )
        self._wide = _WIDE if arranged.word_bits == 64 else 1.0
        cells = arranged.height * arranged.width * len(arranged.planes)
        n_classes = len(self.fields.of_class)
        self.instructions = PER_CELL * cells + 8.0 * n_classes
        self.bytes = _CELL_OF_CODE * n_classes
        self._clauses = [self._clause(j) for j in range(len(arranged.counts))]

    def _literals(self, j: int) -> list[_Literal]:
        """Return the literals of a clause, those first that fail often.

        The line is the first that the clause may match at, if there is but one.
        """
        arranged, n_planes = self._arranged, self._arranged.patch.n_planes
        used = arranged.used[arranged.literals[j]]
        cell, plane = np.divmod(used, n_planes)
        row, shift = np.divmod(cell, arranged.patch.size[-1])
        line = np.searchsorted(arranged.planes, plane) * arranged.height + row
        top, _, bottom, _ = arranged.where[j]
        line += top if bottom - top == 1 else 0
        negated = np.arange(len(used)) >= arranged.counts[j][0]
        holds = np.where(negated, 1 - arranged.rates[plane], arranged.rates[plane])
        parts = zip(line.tolist(), shift.tolist(), negated.tolist(), holds.tolist(), strict=True)
        return sorted((_Literal(*part) for part in parts), key=lambda one: (one.holds, one.line, one.shift))

    def _clause(self, j: int) -> tuple[int, list[str]]:
        """Return how many literals a clause has, and its lines. What they take is added up."""
        literals, (top, left, bottom, right) = self._literals(j), self._arranged.where[j]
        votes = self._added(self._votes[j].tolist())
        columns = right - left
        if not votes or columns <= 0 or bottom <= top:
            return 0, []
        n_lines = bottom - top
        if not literals:  # it matches wherever it may
            self._add(_VOTE, 1.0, len(votes))
            return 1, votes
        alive = _alive([one.holds for one in literals], columns)
        checks = _checks(alive)
        here = float(alive[-1])  # on a line
        lines_read = sum((1 - here) ** i for i in range(n_lines))
        fires = lines_read * here
        self._add(_VOTE, fires, len(votes))
        self._add(_CLAUSE)
        inside, begin = votes, len(literals)
        if n_lines > 1:
            self._add((_LINE, 0.0), lines_read)
            self.bytes += _LOOP
            inside = [*votes, "break;"]
        for end in reversed([0, *checks[:-1]]):
            share = lines_read * float(alive[end])
            self._add(_LITERAL, share, begin - end, self._wide)
            self._add(_CHECK, share, 1, self._wide)
            mask = self._mask(left, right) if end == 0 else ""
            inside = _step(literals[end:begin], "line" if n_lines > 1 else "lines", inside, mask)
            begin = end
        note = comment(self._meaning(j))
        if n_lines == 1:
            return len(literals), [f"/* {note} */", *inside]
        head = [f"for (y = {top}; y < {bottom}u; y++) {{ /* {note} */",
                "    const volatile et_word *const line = &lines[y];", ""]  # fmt: skip
        return len(literals), [*head, *(f"    {line}" for line in inside), "}"]

    def _add(
        self, what: tuple[float, float], share: float = 1.0, times: float = 1.0, wide: float = 1.0
    ) -> None:
        self.instructions += what[0] * share * times * wide
        self.bytes += what[1] * times * wide

    def _mask(self, left: int, right: int) -> str:
        """Return the positions of a line where a clause may match, as a number of C."""
        bits, is_long = ((1 << right) - 1) & ~((1 << left) - 1), self._arranged.word_bits == 64
        return f"(et_word)0x{bits:X}{'ull' if is_long else 'u'}"

    def _added(self, votes: Sequence[int]) -> list[str]:
        return [f"sums[{w}] += 0x{n:X}u;" for w, n in enumerate(self.fields.words(votes)) if n]

    def _meaning(self, j: int) -> str:
        """Return the votes of a clause, for readers."""
        labels = self._arranged.slots.model.output.labels  # type: ignore[union-attr]
        parts = [f"{vote:+d} {labels[c]}" for c, vote in enumerate(self._votes[j].tolist()) if vote]
        return ", ".join(parts)[:100]

    def write(self, out: Tables) -> None:
        """Write the functions of the clauses, some in each, and one that calls them."""
        self._arranged.write_planes(out)
        parts: list[list[str]] = []
        n_literals = _PART
        for n, lines in self._clauses:
            if not lines:
                continue
            if n_literals + n > _PART:
                parts.append([])
                n_literals = 0
            parts[-1] += lines
            n_literals += n
        for i, lines in enumerate(parts):
            used = "\n".join(lines)
            declared = ["et_word x;"] * ("x = " in used) + ["unsigned y;"] * ("y = " in used)
            unused = [] if "lines[" in used else ["(void)lines;"]
            head = f"static void et_part_{i + 1}(const volatile et_word *lines, uint32_t *sums)"
            out.code(function_of(head, [*declared, "", *unused, *lines]))
        offsets = self.fields.words([place.offset for place in self.fields.of_class])
        body = [f"uint32_t sums[{max(1, len(offsets))}];", ""]
        body += [f"sums[{w}] = 0x{n:08X}u;" for w, n in enumerate(offsets)]
        body += [f"et_part_{i + 1}(lines, sums);" for i in range(len(parts))]
        body += ["(void)lines;"] * (not parts) + ["(void)sums;"] * (not offsets)
        body += [
            f"votes[{c}] = (int32_t){value_of(field)} - {field.offset};" if field.bits else f"votes[{c}] = 0;"
            for c, field in enumerate(self.fields.of_class)
        ]
        out.code(function_of("static void et_sums_of(const et_word *lines, int32_t *votes)", body))


def _step(literals: Sequence[_Literal], lines: str, inside: Sequence[str], mask: str) -> list[str]:
    """Return how the positions that are left are narrowed, and what happens if some are left then.

    The first step begins with a mask of all positions.
    """
    first, *rest = [each.text(lines) for each in literals]
    start = f"x = {first};" if mask else f"x &= {first};"
    narrowed = [start, *(f"x &= {each};" for each in rest), *([f"x &= {mask};"] if mask else [])]
    return [*narrowed, "if (x != 0u) {", *(f"    {line}" for line in inside), "}"]


def _alive(holds: Sequence[float], columns: int) -> NDArray[np.float64]:
    """Return the chance that a position of a line is left after so many literals.

    >>> _alive([0.5, 0.0], 1).tolist()
    [1.0, 0.5, 0.0]
    """
    here = np.cumprod([1.0, *holds])
    return np.asarray(np.append(1.0, 1 - (1 - here[1:]) ** columns))


def _checks(alive: NDArray[np.float64]) -> list[int]:
    """Return after how many literals to look whether a position is left. The last is behind all of them.

    >>> _checks(np.array([1.0, 1.0, 0.01, 0.01, 0.01]))
    [2, 4]
    """
    n = len(alive) - 1
    cost, following = [0.0] * (n + 1), [n] * (n + 1)
    for k in reversed(range(n)):
        ways = [float(alive[k]) * (_LITERAL[0] * (j - k) + _CHECK[0]) + cost[j] for j in range(k + 1, n + 1)]
        following[k] = k + 1 + int(np.argmin(ways))
        cost[k] = min(ways)
    checks = [following[0]] if n else []
    while checks and checks[-1] < n:
        checks.append(following[checks[-1]])
    return checks
