"""The report of a search: the same page as that of a run, with the table of its trials."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ethereal.base.checks import bytes_text
from ethereal.datasets.rows import Rows
from ethereal.device import find_core
from ethereal.model.engine import features_of
from ethereal.runs.report.from_run import words_to_use
from ethereal.runs.report.page import Report
from ethereal.runs.scores import accuracy_note, accuracy_text, scores, weakest
from ethereal.tuning.budget import Budget
from ethereal.tuning.kernels import in_words
from ethereal.tuning.page import CHECKED_NOTHING, COLUMNS, cells
from ethereal.tuning.search import Tuning
from ethereal.tuning.storage import Trial

_MOST_TRIALS = 200


def report_of(tuned: Tuning, rows: Rows, out: Path, command: str) -> Report:
    """Return what the page of a search shows. Without test rows it shows training rows, and says so."""
    typed = shlex.quote(str(out))
    is_tested = len(rows.y_test) > 0
    X, y = (rows.X_test, rows.y_test) if is_tested else (rows.X_train, rows.y_train)
    took, found_scores = tuned.footprint, scores(tuned.model.predict(X), y, rows.groups_test)
    if not is_tested:
        found_scores = replace(found_scores, interval=None)  # rows that were learned tell nothing of others
    kind = "test" if is_tested else "training"
    name, recall = weakest(found_scores)
    date = time.strftime("%Y-%m-%d %H:%M")
    form = f"--to c --layout {took.layout}"
    if took.clause_bytes is not None:
        form = f"{form} --clause-bytes {took.clause_bytes}"
    instructions = tuned.budget.instructions
    most = {} if math.isinf(instructions) else {"instructions": f"{instructions:g}"}
    return Report(
        title=rows.name,
        subtitle=f"tuned for {_bounds(tuned.budget)}, {len(rows.X_train):,} training rows, "
        f"{len(rows.X_test):,} test rows ({rows.how})",
        model=tuned.model,
        X_test=features_of(tuned.model, X),
        y_test=y,
        rows_are=kind,
        command=f"{command}, {date}",
        table={
            "columns": ["ethereal"],
            "rows": [
                ["accuracy", accuracy_text(found_scores)],
                ["balanced", f"{100 * found_scores.balanced:.1f} %"],
                ["flash", bytes_text(took.bytes)],
                ["RAM", bytes_text(took.ram)],
                ["instructions", f"{took.instructions:,.0f}"],
            ],
            "notes": [
                f"Weakest class: {name}. {100 * recall:.1f} % of its rows are found.",
                accuracy_note(found_scores, f"{kind} rows", rows.how, rows.groups_are),
                *_notes(tuned),
            ],
        },
        search={
            "note": f"{len(tuned.trials)} trials in {tuned.seconds:.0f} s, "
            f"{sum(t.fits for t in tuned.trials)} within the budget. First come those that no "
            "other beats. The model of the page learned from all training rows with the setup of the first.",
            "columns": list(COLUMNS),
            "rows": [cells(trial) for trial in _ordered(tuned)[:_MOST_TRIALS]],
        },
        snippets=[("C, on a board", f"ethereal export {typed} {form}"), ("Command line", words_to_use(out))],
        facts={"command": command, "date": date, "setup": tuned.setup.describe(), "study": tuned.study}
        | most,
        image_shape=rows.image_shape,
    )


def _notes(tuned: Tuning) -> list[str]:
    """Return how the choice was made, and which kernels of windows are left."""
    front_end, chosen = tuned.model.front_end, tuned.kernels
    kernels = [] if front_end is None or chosen is None else [in_words(front_end, chosen.offered)]
    checked = CHECKED_NOTHING if tuned.check is None else tuned.check.describe(tuned.is_trials)
    return [
        f"The choice was made by validation rows, of which {100 * tuned.accuracy:.2f} % were right.",
        "Flash has all code. Instructions are those of the most expensive row.",
        *(f"Kernels: {text}." for text in kernels),
        f"Check: {checked}.",
    ]


def _bounds(budget: Budget) -> str:
    """Return the target and the bounds that were given, without those of the chip."""
    chip = find_core(budget.target)
    given = [f"{budget.flash:,.0f} bytes of flash"] if budget.flash < chip.flash_bytes else []
    given += [f"{budget.ram:,.0f} bytes of RAM"] if budget.ram < chip.ram_bytes else []
    if not math.isinf(budget.instructions):
        given.append(f"{budget.instructions:,.0f} instructions per row")
    return f"{budget.target}{' with ' if given else ''}{' and '.join(given)}"


def _ordered(tuned: Tuning) -> Sequence[Trial]:
    """Return the trials of the front, then the others."""
    front = {trial.number for trial in tuned.front}
    return [*tuned.front, *(trial for trial in tuned.trials if trial.number not in front)]
