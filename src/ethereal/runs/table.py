"""The one table of a run: what the model for the board does and takes, beside the forest and other sizes."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ethereal.base.checks import bytes_text, seconds_text
from ethereal.chips.targets import find_target
from ethereal.model import Number
from ethereal.runs import gates
from ethereal.runs.forest import SIZES, ForestShape
from ethereal.runs.results import (
    Board,
    ClassScore,
    Forest,
    LeftOut,
    Measured,
    Neighbour,
    Pruned,
    Scores,
    Unknown,
)
from ethereal.runs.scores import accuracy_note, accuracy_text, class_text, gap_remark, overlooked, weakest
from ethereal.tuning.budget import FEW_ROWS, FLASH_OF_FEW

if TYPE_CHECKING:
    from ethereal.runs.run import Run

NO_BOARD = "board: not measured. Install it with pip install 'ethereal-tm[device]'."


@dataclass(frozen=True)
class Table:
    """Columns, rows and notes as texts. Each row begins with its name."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return the table for a terminal of 80 columns.

        >>> print("\\n".join(Table(("ethereal",), (("flash", "5.6 kB"),), ("n",)).lines()))
                                  ethereal
          flash                     5.6 kB
        <BLANKLINE>
        n
        """
        rows = [("", *self.columns), *self.rows]
        columns = list(zip(*rows, strict=True))[1:]
        widths = [max(18, *(len(cell) + 2 for cell in column)) for column in columns]

        def line(name: str, cells: Sequence[str]) -> str:
            return f"  {name:<14}" + "".join(f"{cell:>{n}}" for cell, n in zip(cells, widths, strict=True))

        notes = (part for note in self.notes for part in textwrap.wrap(note, 79, subsequent_indent="  "))
        return [*(line(cells[0], cells[1:]) for cells in rows), "", *notes]


def table_of(run: Run) -> Table:
    """Return the table of a run."""
    pruned, forest, board = run.pruned, run.forest, run.board
    measured = board.measured
    columns: list[str] = ["ethereal"]
    each: list[tuple[Scores, Measured | None]] = [(pruned, measured.get("model"))]
    if pruned.errors is not None:
        return numbers_table(run)
    if isinstance(forest, Forest):
        columns.append(f"forest, {ForestShape(forest.trees, forest.leaves)}")
        each.append((forest, measured.get("forest")))
    rows = [
        ("accuracy", *(accuracy_text(s) for s, _ in each)),
        ("balanced", *(_percent(s.balanced) for s, _ in each)),
    ]
    unknown = pruned.unknown
    if unknown is not None and unknown.test.accuracy is not None:
        blank = [""] * (len(columns) - 1)
        rows.append(("answered", _percent(unknown.test.answered), *blank))
        rows.append(("right answers", _percent(unknown.test.accuracy), *blank))
    if "model" in measured:
        rows += [(name, *(_cell(m, text) for _, m in each)) for name, text in _costs(board.target).items()]
    if board.gates is not None:
        blank = [""] * (len(columns) - 1)
        rows += [(name, text, *blank) for name, text in gates.costs(board.gates).items()]
    return Table(tuple(columns), tuple(rows), tuple(_notes(run)))


def numbers_table(run: Run) -> Table:
    """Return the table of a run whose label is a number."""
    pruned, measured, number = run.pruned, run.board.measured, run.model.output
    assert isinstance(number, Number)
    columns = ["ethereal"]
    each: list[tuple[Scores, Measured | None]] = [(pruned, measured.get("model"))]
    if isinstance(run.forest, Forest):
        columns.append(f"forest, {run.forest.trees} trees")
        each.append((run.forest, measured.get("forest")))
        for one in (one for one in run.forest.boosted if one.tuned):
            columns.append(f"boosted, {one.trees} trees")
            each.append((one, measured.get("boosted")))
    rows = [
        ("R2", *(f"{one.accuracy:.3f}" for one, _ in each)),
        ("mean error", *(_error_text(one, number) for one, _ in each)),
    ]
    intervals = [None if one.errors is None else one.errors.interval for one, _ in each]
    if any(intervals):
        ends = ("" if both is None else f"{both[0]:.3g}, {both[1]:.3g}" for both in intervals)
        rows.append(("  between", *ends))
    if pruned.errors is not None and pruned.errors.half_width is not None:
        rows.append(("90 % within", f"± {number.text(pruned.errors.half_width)}", *("" for _ in each[1:])))
    if "model" in measured:
        costs = _costs(run.board.target).items()
        rows += [(name, *(_cell(took, text) for _, took in each)) for name, text in costs]
    return Table(tuple(columns), tuple(rows), tuple(_notes_of_numbers(run)))


def _error_text(one: Scores, number: Number) -> str:
    assert one.errors is not None
    return f"{one.errors.mean:.3g} {number.unit}".rstrip()


def _notes_of_numbers(run: Run) -> list[str]:
    errors, board, rows_are = run.pruned.errors, run.board, run.facts.rows_are
    assert errors is not None
    notes = origin_notes(run.pruned)
    if errors.inside is not None:
        notes.append(
            f"The interval around an answer holds {_percent(errors.inside)} of the test {rows_are}. It was "
            "chosen to hold 90 %."
        )
    between = "" if errors.interval is None else " It is between these two values with 95 % confidence."
    notes.append(
        f"R2 is the share of the variance that is explained, on {run.pruned.rows:,} test {rows_are} "
        f"({run.facts.how}). The mean error is the mean absolute error.{between}"
    )
    notes += _board_notes(board)
    if isinstance(run.forest, Forest):
        leaves = [one.leaves for one in (run.forest, *run.forest.boosted) if one.tuned]
        notes.append(
            "Held-out training rows chose the trees and their leaves, at most "
            f"{' and '.join(map(str, leaves))} of a tree."
        )
    return [*notes, *_left_out(board.left_out)]


def _costs(target: str) -> dict[str, Callable[[Measured], str]]:
    """Return what a program takes as texts, by the names of the rows. On an AVR cycles are counted."""
    costs: dict[str, Callable[[Measured], str]] = {
        "flash": lambda m: bytes_text(m.flash_bytes),
        "RAM": lambda m: bytes_text(m.ram_bytes + m.stack_bytes),
        "est. time": lambda m: seconds_text(m.estimated_seconds),
        "instructions": lambda m: f"{m.total_instructions:,.0f}",
        "est. cycles": lambda m: f"{m.estimated_cycles:,.0f}",
    }
    if find_target(target).isa == "avr":
        del costs["instructions"]
    return costs


def _cell(measured: Measured | None, text: Callable[[Measured], str]) -> str:
    return "not measured" if measured is None else text(measured)


def _notes(run: Run) -> list[str]:
    pruned, board, rows_are = run.pruned, run.board, run.facts.rows_are
    name, recall = weakest(pruned)
    notes = [f"Weakest class: {name}. {_percent(recall)} of its test {rows_are} are found."]
    if recall == 1:
        notes = [f"All test {rows_are} of every class are found."]
    notes += origin_notes(pruned)
    if pruned.unknown is not None:
        notes.append(unknown_note(pruned.unknown))
    if not run.is_balanced:
        notes += [_balanced_hint(one) for one in overlooked(pruned)[:1]]
    apart = gap_remark(pruned.expected, pruned.held_out, pruned.accuracy, pruned.rows)
    if apart is not None:
        notes.append(f"Warning: {apart}")
    notes.append(accuracy_note(pruned, f"test {rows_are}", run.facts.how, pruned.groups_are))
    notes += _board_notes(board)
    return [*notes, *_forest_notes(run.forest, board.measured), *_left_out(board.left_out)]


def _board_notes(board: Board) -> list[str]:
    """Return what the costs are of, or how to get them."""
    if board.gates is not None:
        return gates.notes(board.gates)
    if "model" in board.measured:
        chip = find_target(board.target)
        counted = "" if chip.isa == "avr" else ", cycles by kind of instruction"
        clock = f"{chip.clock_hz / 1e6:g} MHz{counted}"
        return [f"Flash has all code. Time is an estimate for a {chip.name} ({chip.chip} at {clock})."]
    return [] if board.exported is None else [NO_BOARD]


def origin_notes(pruned: Pruned) -> list[str]:
    """Return where the model comes from, and what other sources would have given, a line each."""
    if not pruned.others:
        return []
    score = _percent if pruned.errors is None else "R2 {:.3f}".format
    held_out = f"{score(pruned.expected)} on {pruned.held_out:,} held-out rows"
    notes = [f"The model comes from {pruned.origin}: {held_out}."]
    for one in pruned.others:
        took = f"{bytes_text(one.flash_bytes)} and {one.instructions:,.0f} instructions"
        took = took if one.luts is None else f"{one.luts:,} lookup tables"
        notes.append(f"Instead, {one.name}: {score(one.accuracy)} there, in about {took}.")
    return notes


def _forest_notes(forest: Forest | LeftOut, measured: Mapping[str, Measured]) -> list[str]:
    """Return how the forest was chosen, what it would be untuned, and what became of missing values."""
    if isinstance(forest, LeftOut):
        return []
    notes = []
    if forest.tuned:
        note = "Held-out training rows chose the forest's trees and leaves."
        if forest.per_halving is not None:
            note += f" Half the nodes may cost {100 * forest.per_halving:g} points."
        for plain in (one for one in forest.sizes[:-1] if one.trees == SIZES[-1]):
            size = measured.get("plain_forest")
            takes = "" if size is None else f" in {bytes_text(size.flash_bytes)}"
            shape = ForestShape(plain.trees, plain.leaves)
            note += f" Without limits, {shape} have {_percent(plain.accuracy)}{takes}."
        notes.append(note)
    if forest.missing:
        values = "1 missing value" if forest.missing == 1 else f"{forest.missing:,} missing values"
        notes.append(
            f"For the forest, {values} became the medians of the training rows, or 0 where a column is empty."
        )
    return notes


def _balanced_hint(one: ClassScore) -> str:
    return (
        f"Rare class: {class_text(one.label)}. {_percent(1 - one.recall)} of its {one.rows:,} test rows are "
        "missed. With balanced=True training visits rare classes as often as frequent ones. That usually "
        "finds more of them, and gives more false alarms."
    )


def unknown_note(unknown: Unknown) -> str:
    """Return where the margin comes from."""
    n = unknown.n_groups
    of = f"{n} groups that were left out in turn" if n else "folds of single rows"
    kind, share = unknown.wanted.split()
    wanted = f"for {share} of right answers" if kind == "accuracy" else f"for answers to {share} of the rows"
    votes = f"{unknown.margin} {'vote' if unknown.margin == 1 else 'votes'}"
    rule = f"A row is unknown when its first class leads by less than {votes}."
    if unknown.margin == 0:
        rule = "No row is unknown, because the margin is 0 votes."
    return (
        f"{rule} That margin was chosen {wanted}, by {of}. There {_percent(unknown.accuracy)} of the answers "
        f"were right, and {_percent(unknown.answered)} of the rows were answered."
    )


def _left_out(reasons: Mapping[str, str]) -> list[str]:
    """Return what was left out, with one note for each reason.

    >>> _left_out({"the forest of 25 trees": "too large", "the forest of 10 trees": "too large"})
    ['Left out: the forest of 25 trees, the forest of 10 trees (too large).']
    """
    names: dict[str, list[str]] = {}
    for name, why in reasons.items():
        names.setdefault(why, []).append(name)
    return [f"Left out: {', '.join(alike)} ({why.rstrip('.')})." for why, alike in names.items()]


def beside(run: Run) -> dict[str, str]:
    """Return the next smaller and the next larger model, each with the bound that asks for it."""
    texts = {}
    for name, one in run.board.neighbours.items():
        size, accuracy = bytes_text(one.flash_bytes or 0), f"{100 * one.accuracy:.1f} %"
        if run.pruned.errors is not None:
            gain = f"{one.more / one.rows:+.3f} ± {one.error:.3f} on {one.rows:,} held-out rows"
            texts[f"{name}: flash={bound(one.flash_bytes or 0)}"] = f"{size}, R2 {one.accuracy:.3f}: {gain}"
            continue
        is_useless = name == "larger" and one.more <= 0
        gain = f"not better on {one.rows:,} held-out rows" if is_useless else more_rows(one)
        texts[f"{name}: flash={bound(one.flash_bytes or 0)}"] = f"{size}, {accuracy}: {gain}"
    return texts


def beside_notes(run: Run) -> list[str]:
    """Return what `beside` tells as sentences, for the page."""
    notes = []
    for name, text in beside(run).items():
        size, option = name.split(": ")
        notes.append(f"The next {size} model ({option}) has {text}.")
    return notes


def large_note(run: Run) -> str:
    """Return what half of a model costs that is large for the rows that it learned from, else nothing."""
    took, rows = run.board.measured.get("model"), run.pruned.learned_from
    smaller = run.board.neighbours.get("smaller")
    if took is None or smaller is None or took.flash_bytes <= FLASH_OF_FEW or rows > FEW_ROWS:
        return ""
    points, error = 100 * -smaller.more / smaller.rows, 100 * smaller.error
    if run.pruned.errors is not None:
        points, error = points / 100, error / 100
        costs = f"costs about {points:.3f} ± {error:.3f} of R2."
        flash = f"flash={bound(smaller.flash_bytes or 0)}"
        return f"{bytes_text(took.flash_bytes)} is large for {rows:,} rows. {flash} {costs}"
    return (
        f"{bytes_text(took.flash_bytes)} is large for {rows:,} rows. "
        f"flash={bound(smaller.flash_bytes or 0)} costs about {points:.1f} ± {error:.1f} points."
    )


def bound(flash: float) -> int:
    """Return a bound on flash that holds so many bytes and is easy to type.

    >>> bound(1164), bound(823), bound(48_200), bound(1200)
    (1200, 830, 49000, 1200)
    """
    unit: int = 10 ** max(0, math.floor(math.log10(max(1.0, flash))) - 1)
    return math.ceil(flash / unit) * unit


def more_rows(one: Neighbour) -> str:
    """Return how many held-out rows more or fewer are right.

    >>> [more_rows(Neighbour(0.9, 69, n, 0.01)) for n in (-1, 0, 12)]
    ['one held-out row of 69 less', 'as many of 69 held-out rows', '12 held-out rows of 69 more']
    """
    of = f"{one.rows:,}"
    if one.more == 0:
        return f"as many of {of} held-out rows"
    count = "one held-out row" if abs(one.more) == 1 else f"{abs(one.more)} held-out rows"
    return f"{count} of {of} {'more' if one.more > 0 else 'less'}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
