"""The folder that a studio works on: its tables, what came with uploads, and its runs."""

from __future__ import annotations

import io
import os
import re
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethereal.base.checks import bytes_text
from ethereal.runs.folder import RunFolder
from ethereal.runs.run import Run

TABLES = (".csv", ".tsv", ".tab", ".txt", ".parquet", ".npz")
MOST_UPLOAD = 4 << 30  # bytes
_MOST_FILES, _DEEP = 500, 3  # that are listed, and folders below each other
_UNSAFE = re.compile(r'[\x00-\x1f<>:"/\\|?*]')
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
# What is taken to a board, by the name on the page. Everything else in the folder of a run is its own affair.
PARTS = {"c": "c", "arduino": "arduino", "micropython": "micropython", "model": "model.etm"}


class Refused(ValueError):
    """Something that was asked for is not given."""


@dataclass(frozen=True)
class Project:
    """A folder of tables and runs."""

    folder: Path

    @property
    def runs(self) -> Path:
        """The folder of all runs, the one that `ethereal run` takes in this folder."""
        return self.folder / "runs"

    @property
    def hidden(self) -> Path:
        """What the studio keeps for itself."""
        return self.folder / ".studio"

    def inside(self, name: str) -> Path:
        """Return a path in the folder by its name from there. No name leads out of it, by a link neither."""
        if not name or "\x00" in name or Path(name).is_absolute():
            raise Refused(f"{name!r} is not a file of this project. Names begin in its folder.")
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder.resolve()) or self.hidden.name in path.parts:
            raise Refused(f"{name!r} is not in the folder of this project.")
        return path

    def sources(self) -> list[dict[str, Any]]:
        """Return the tables of the folder, and folders of recordings."""
        return [
            {"name": path.relative_to(self.folder).as_posix(), "size": bytes_text(path.stat().st_size)}
            for path in self._tables()
        ]

    def _tables(self) -> Iterator[Path]:
        n_listed = 0
        for root, folders, files in os.walk(self.folder):
            here = Path(root)
            deep = len(here.relative_to(self.folder).parts)
            is_top = here == self.folder
            folders[:] = sorted(
                name
                for name in folders
                if not name.startswith(".") and deep < _DEEP and not (is_top and name == "runs")
            )
            for name in sorted(files):
                path = here / name
                if path.suffix.lower() in TABLES and not name.startswith(".") and path.is_file():
                    if (n_listed := n_listed + 1) > _MOST_FILES:
                        return
                    yield path

    def place_for(self, name: str, *, is_recording: bool = False) -> Path:
        """Return where an uploaded file goes. Its name must be that of a table, and not be taken.

        A recording may be a wav file, and its place is below.
        """
        if not name or _UNSAFE.search(name) or name.startswith(".") or _RESERVED.fullmatch(name):
            raise Refused(f"{name!r} cannot be the name of a file. Rename it, then drop it again.")
        if len(name.encode()) > 200:
            raise Refused("The name of the file is too long. Give it one of at most 200 bytes.")
        path, known = self.folder.resolve() / name, (*TABLES, ".wav") if is_recording else TABLES
        if path.suffix.lower() not in known:
            raise Refused(f"{name!r} is not read here. Files end in {', '.join(known)}.")
        if path.exists() and not is_recording:
            raise Refused(f"{name!r} is in the folder already. Rename the new one, then drop it again.")
        return path

    def all_runs(self) -> list[RunFolder]:
        """Return the folders of runs, the newest first."""
        folders = [RunFolder(path) for path in self.runs.iterdir()] if self.runs.is_dir() else []
        known = [one for one in folders if one.path.is_dir() and one.parameters() is not None]
        return sorted(known, key=lambda one: one.path.stat().st_mtime, reverse=True)

    def run_folder(self, name: str) -> RunFolder:
        """Return the folder of a run by its name."""
        folder = RunFolder(self.inside(f"runs/{name}"))
        if folder.path.parent != self.runs.resolve() or folder.parameters() is None:
            raise Refused(f"there is no run {name!r}.")
        return folder

    def zipped(self, name: str, part: str) -> bytes:
        """Return a part of a run, or all that is taken to a board, as a zip file."""
        folder = self.run_folder(name).path
        parts = PARTS.values() if part == "all" else [PARTS[part]] if part in PARTS else []
        there = [folder / one for one in parts if (folder / one).exists()]
        if not there:
            raise Refused(f"the run {name!r} has no {part!r}. Its log says why.")
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for top in there:
                for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
                    if path.is_file() and not path.is_symlink():
                        archive.write(path, f"{name}/{path.relative_to(folder).as_posix()}")
        return packed.getvalue()


class Summaries:
    """What the page shows of finished runs, read once."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], dict[str, Any]] = {}
        self._lock = threading.Lock()

    def of(self, folder: RunFolder) -> dict[str, Any] | None:
        """Return a run's table, curve and bounds, None if it is not finished."""
        last = folder.path / "stages" / "facts.json"
        if not last.exists() or not (folder.path / "report.html").exists():
            return None
        key = str(folder.path), last.stat().st_mtime_ns
        with self._lock:
            if key not in self._kept:
                try:
                    self._kept[key] = _summary(Run.load(folder.path))
                except ValueError as error:  # of another version, or damaged
                    self._kept[key] = {"trouble": str(error)}
            return self._kept[key]


def _summary(run: Run) -> dict[str, Any]:
    table, board = run.table, run.board
    measured = board.measured.get("model")
    return {
        "columns": list(table.columns),
        "rows": [list(row) for row in table.rows],
        "notes": list(table.notes),
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
        "windows": run.model.front_end is not None,
        "classes": [
            {"label": str(one.label), "found": one.recall, "rows": one.rows} for one in run.pruned.classes
        ],
        "parts": [name for name, place in PARTS.items() if (run.folder / place).exists()],
        "next": run.next_steps(),
    }
