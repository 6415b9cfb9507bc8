"""What a finished run has to show, in short: its table, its curve, its weak classes and groups."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ethereal.runs.folder import RunFolder

if TYPE_CHECKING:
    from ethereal.runs.run import Run
    from ethereal.runs.watched import NormalRun

# What `Run.export` writes when it is asked for.
MADE = ("zephyr", "esp_idf", "stm32f746g_disco", "cmsis_pack", "web")


def finished(folder: Path) -> Run | NormalRun:
    """Return the finished run in a folder, of whichever kind it is."""
    from ethereal.runs.run import Run
    from ethereal.runs.watched import NormalRun

    is_normal = (RunFolder(folder).parameters() or {}).get("normal")
    return NormalRun.load(folder) if is_normal else Run.load(folder)


def summary_of(folder: RunFolder) -> dict[str, Any]:
    """Return the figures of a finished run as JSON has them."""
    from ethereal.runs.watched import NormalRun

    run = finished(folder.path)
    shown = {
        "kind": "normal" if isinstance(run, NormalRun) else "number" if run.model.is_number else "class",
        "columns": list(run.table.columns),
        "rows": [list(row) for row in run.table.rows],
        "notes": list(run.table.notes),
        "windows": run.model.front_end is not None,
        "made": [],
    }
    return shown | (_of_detector(run) if isinstance(run, NormalRun) else _of_run(run))


def _of_detector(run: NormalRun) -> dict[str, Any]:
    began = time.localtime(run.report.stat().st_mtime)
    return {
        "date": time.strftime("%Y-%m-%d %H:%M", began), "command": run.command,
        "target": run.watched.target, "curve": [],
        "flash": run.watched.flash, "instructions": run.watched.instructions,
    }  # fmt: skip


def _of_run(run: Run) -> dict[str, Any]:
    board, measured = run.board, run.board.measured.get("model")
    return {
        "command": run.facts.command,
        "date": run.facts.date,
        "accuracy": run.pruned.accuracy,
        "flash": None if measured is None else measured.flash_bytes,
        "instructions": None if measured is None else measured.total_instructions,
        "seconds_per_instruction": None
        if measured is None or not measured.total_instructions
        else measured.estimated_seconds / measured.total_instructions,
        "curve": [[one.flash_bytes, one.accuracy, one.instructions] for one in board.curve],
        "forests": [[one.flash_bytes, one.accuracy, one.instructions] for one in board.forests],
        "target": board.target,
        "classes": [
            {"label": str(one.label), "found": one.recall, "rows": one.rows} for one in run.pruned.classes
        ],
        "people": [[one.name, one.accuracy, one.rows] for one in run.pruned.people[:12]],
        "people_are": run.pruned.groups_are,
        "made": [] if board.exported is None else list(MADE),
    }
