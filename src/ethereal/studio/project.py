"""The folder that a studio works on: its tables, what came with uploads, and its runs."""

from __future__ import annotations

import io
import os
import re
import tempfile
import threading
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethereal.base.atomic import write_text
from ethereal.base.checks import bytes_text
from ethereal.datasets.example import example_csv
from ethereal.runs.folder import RunFolder
from ethereal.runs.summary import MADE, summary_of

TABLES = (".csv", ".tsv", ".tab", ".txt", ".parquet", ".npz")
MOST_UPLOAD = 4 << 30  # bytes
_MOST_FILES, _DEEP = 500, 3  # that are listed, and folders below each other
_UNSAFE = re.compile(r'[\x00-\x1f<>:"/\\|?*]')
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
# What is taken to a board, by the name on the page. Everything else in the folder of a run is its own affair.
PARTS = {"c": "c", "arduino": "arduino", "micropython": "micropython", "verilog": "verilog",
         "model": "model.etm"}  # fmt: skip


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
        if part in MADE:
            with tempfile.TemporaryDirectory(prefix="ethereal-part-") as scratch:
                from ethereal.runs.run import Run

                Run.load(folder).export(part, Path(scratch) / part)
                return _zip_of(Path(scratch), [Path(scratch) / part], name)
        parts = PARTS.values() if part == "all" else [PARTS[part]] if part in PARTS else []
        there = [folder / one for one in parts if (folder / one).exists()]
        if not there:
            raise Refused(f"the run {name!r} has no {part!r}. Its log says why.")
        return _zip_of(folder, there, name)

    def add_example(self) -> str:
        """Write a table to begin with into the folder, and return its name."""
        path = self.folder / "wine.csv"
        if not path.exists():
            write_text(path, example_csv("wine"))
        return path.name


def _zip_of(folder: Path, tops: Sequence[Path], name: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for top in tops:
            for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
                if path.is_file() and not path.is_symlink():
                    archive.write(path, f"{name}/{path.relative_to(folder).as_posix()}")
    return packed.getvalue()


class Summaries:
    """What the page shows of finished runs, read once, and the pages in which their C answers."""

    _MOST = 8  # pages that are kept

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], dict[str, Any]] = {}
        self._pages: dict[tuple[str, int], str] = {}
        self._lock = threading.Lock()

    def of(self, folder: RunFolder) -> dict[str, Any] | None:
        """Return a run's table, curve and bounds, None if it is not finished."""
        key = _version_of(folder)
        if key is None or not (folder.path / "report.html").exists():
            return None
        with self._lock:
            if key not in self._kept:
                try:
                    parts = [name for name, place in PARTS.items() if (folder.path / place).exists()]
                    self._kept[key] = {**summary_of(folder), "parts": parts}
                except ValueError as error:  # of another version, or damaged
                    self._kept[key] = {"trouble": str(error)}
            return self._kept[key]

    def is_done_since(self, folder: RunFolder, begun: float) -> bool:
        """Whether a run ended after that time, whose process may still be about to end."""
        key = _version_of(folder)
        return key is not None and key[1] > 1e9 * begun and self.of(folder) is not None

    def live_page(self, folder: RunFolder) -> str:
        """Return the page in which the exported C of a run answers."""
        key = _version_of(folder)
        if key is None:
            raise Refused("This run is not finished yet.")
        with self._lock:
            while len(self._pages) >= self._MOST:
                del self._pages[next(iter(self._pages))]
            if key not in self._pages:
                from ethereal.runs.run import Run

                self._pages[key] = Run.load(folder.path).live_page()
            return self._pages[key]


def _version_of(folder: RunFolder) -> tuple[str, int] | None:
    """Return what changes when a run is made again, None before it is done."""
    for stage in ("facts", "normal"):
        with suppress(OSError):
            return str(folder.path), (folder.path / "stages" / f"{stage}.json").stat().st_mtime_ns
    return None
