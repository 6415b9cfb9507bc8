"""The one table of a run: what the model for the board does and takes, beside the forest."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from ethereal.base.checks import bytes_text, seconds_text
from ethereal.base.messages import gap_remark
from ethereal.chips.targets import find_target
from ethereal.runs.forest import SIZES
from ethereal.runs.scores import accuracy_note, accuracy_text, overlooked, weakest
from ethereal.runs.tuned_forest import ForestShape

NO_BOARD = "board: not measured. Install it with pip install 'ethereal-tm[device]'."

_INSTRUCTIONS = {"instructions": "total_instructions", "est. cycles": "estimated_cycles"}
_CYCLES = {"est. cycles": "estimated_cycles"}  # an AVR counts them


def summary(
    found: Mapping[str, Any], how: str, *, is_balanced: bool, rows_are: str = "rows"
) -> dict[str, Any]:
    """Return the columns, rows and notes of the table as texts.

    `found` has the results of the stages "prune", "forest" and "board". `how` says how test rows were chosen,
    and `is_balanced` whether rare classes were visited as often as frequent ones.
    """
    own, forest, board = found["prune"], found["forest"], found["board"]
    measured = board["measured"]
    columns, each = ["ethereal"], [(own, measured.get("model"))]
    if "left_out" not in forest:
        columns.append(f"forest, {_shape(forest)}")
        each.append((forest, measured.get("forest")))
    is_avr = str(board.get("target")).startswith("atmega")
    rows = [
        ["accuracy", *(accuracy_text(s) for s, _ in each)],
        ["balanced", *(_percent(s["balanced"]) for s, _ in each)],
    ]
    if "model" in measured:
        rows += [
            ["flash", *(_or_dash(m, lambda m: bytes_text(m["flash_bytes"])) for _, m in each)],
            ["RAM", *(_or_dash(m, lambda m: bytes_text(m["ram_bytes"] + m["stack_bytes"])) for _, m in each)],
            ["est. time", *(_or_dash(m, lambda m: seconds_text(m["estimated_seconds"])) for _, m in each)],
        ]
        rows += [
            [name, *(_or_dash(m, lambda m, key=key: f"{m[key]:,.0f}") for _, m in each)]
            for name, key in (_CYCLES if is_avr else _INSTRUCTIONS).items()
        ]
    doubt = own.get("unknown")
    if doubt is not None and doubt["test"]["accuracy"] is not None:
        blank = [""] * (len(columns) - 1)
        rows.insert(2, ["answered", _percent(doubt["test"]["answered"]), *blank])
        rows.insert(3, ["right answers", _percent(doubt["test"]["accuracy"]), *blank])
    name, recall = weakest(own)
    notes = [f"Weakest class: {name}. {_percent(recall)} of its test {rows_are} are found."]
    if recall == 1:
        notes = [f"All test {rows_are} of every class are found."]
    if doubt is not None:
        notes.append(doubt_note(doubt))
    if not is_balanced:
        notes += [_balanced_hint(*one) for one in overlooked(own)[:1]]
    apart = gap_remark(own.get("expected", 0.0), own.get("held_out", 0), own["accuracy"], own["rows"])
    if apart is not None:
        notes.append(f"Warning: {apart}")
    notes.append(accuracy_note(own, f"test {rows_are}", how, own.get("groups_are", "groups")))
    if "model" in measured:
        chip = find_target(board["target"])
        counted = "" if is_avr else ", cycles by kind of instruction"
        notes.append(
            f"Flash has all code. Time is an estimate for a {chip.name} ({chip.chip} at "
            f"{chip.clock_hz / 1e6:g} MHz{counted})."
        )
    elif board["exported"] is not None:
        notes.append(NO_BOARD)
    notes += _forest_notes(forest, measured)
    notes += _left_out(board["left_out"])
    return {"columns": columns, "rows": rows, "notes": notes}


def _shape(forest: Mapping[str, Any]) -> ForestShape:
    return ForestShape(forest["trees"], forest.get("leaves"))  # runs of older versions have no leaves


def _forest_notes(forest: Mapping[str, Any], measured: Mapping[str, Any]) -> list[str]:
    """Return how the forest was chosen, what it would be untuned, and what became of missing values."""
    if "left_out" in forest:
        return []
    notes = []
    if forest.get("tuned"):
        note = "Held-out training rows chose the forest's trees and leaves."
        if "per_halving" in forest:  # runs of older versions do not tell it
            note += f" Half the nodes may cost {100 * forest['per_halving']:g} points."
        for plain in (one for one in forest["sizes"][:-1] if one["trees"] == SIZES[-1]):
            size = measured.get("plain_forest")
            takes = "" if size is None else f" in {bytes_text(size['flash_bytes'])}"
            note += f" Without limits, {_shape(plain)} have {_percent(plain['accuracy'])}{takes}."
        notes.append(note)
    if forest.get("missing"):
        values = "1 missing value" if forest["missing"] == 1 else f"{forest['missing']:,} missing values"
        notes.append(
            f"For the forest, {values} became the medians of the training rows, or 0 where a column is empty."
        )
    return notes


def _balanced_hint(name: str, recall: float, n: int) -> str:
    return (
        f"Rare class: {name}. {_percent(1 - recall)} of its {n:,} test rows are missed. With --balanced "
        "training visits rare classes as often as frequent ones. That usually finds more of them, and gives "
        "more false alarms."
    )


def doubt_note(doubt: Mapping[str, Any]) -> str:
    """Return where the margin comes from."""
    of = (
        f"{doubt['n_groups']} groups that were left out in turn"
        if doubt["n_groups"]
        else "folds of single rows"
    )
    kind, share = doubt["wanted"].split()
    wanted = f"for {share} of right answers" if kind == "accuracy" else f"for answers to {share} of the rows"
    votes = f"{doubt['margin']} {'vote' if doubt['margin'] == 1 else 'votes'}"
    rule = f"A row is unknown when its first class leads by less than {votes}."
    if doubt["margin"] == 0:
        rule = "No row is unknown, because the margin is 0 votes."
    return (
        f"{rule} That margin was chosen {wanted}, by {of}. There "
        f"{_percent(doubt['accuracy'])} of the answers were right, and {_percent(doubt['answered'])} of the "
        "rows were answered."
    )


def _left_out(reasons: Mapping[str, str]) -> list[str]:
    """Return what was left out, with one note for each reason.

    >>> _left_out({"the forest of 25 trees": "too large", "the forest of 10 trees": "too large"})
    ['Left out: the forest of 25 trees, the forest of 10 trees (too large).']
    """
    names: dict[str, list[str]] = {}
    for name, why in reasons.items():
        names.setdefault(why, []).append(name)
    return [f"Left out: {', '.join(own)} ({why.rstrip('.')})." for why, own in names.items()]


def lines(table: Mapping[str, Any]) -> list[str]:
    """Return the table for a terminal of 80 columns.

    >>> print("\\n".join(lines({"columns": ["ethereal"], "rows": [["flash", "5.6 kB"]], "notes": ["n"]})))
                              ethereal
      flash                     5.6 kB
    <BLANKLINE>
    n
    """
    rows = [["", *table["columns"]], *table["rows"]]
    widths = [max(18, *(len(cell) + 2 for cell in column)) for column in list(zip(*rows, strict=True))[1:]]

    def line(name: str, cells: Sequence[str]) -> str:
        return f"  {name:<14}" + "".join(f"{cell:>{n}}" for cell, n in zip(cells, widths, strict=True))

    shown = [line(cells[0], cells[1:]) for cells in rows]
    notes = (part for note in table["notes"] for part in textwrap.wrap(note, 79, subsequent_indent="  "))
    return [*shown, "", *notes]


def _or_dash(measured: Mapping[str, Any] | None, text: Any) -> str:
    return "not measured" if measured is None else str(text(measured))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
