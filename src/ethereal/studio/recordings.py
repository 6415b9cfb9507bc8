"""Recordings of a project: listed, looked at, cut, recorded from a board, and answered while it sends.

A folder of recordings has a folder per class, and below it perhaps one per person, as `ethereal run` takes
it.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.checks import bytes_text, check_integer
from ethereal.datasets.options import TableOptions
from ethereal.datasets.recorded import Reading, pieces_of_table, pieces_of_wav, write_part
from ethereal.device import capture as capturing
from ethereal.model import Model
from ethereal.studio.project import Project, Refused

_KINDS = (".csv", ".tsv", ".tab", ".txt", ".parquet", ".wav")
_MOST_LISTED, _MOST_POINTS = 1000, 600
_MOST_SHOWN = 2_000  # live samples
_UNKNOWN = Reading(TableOptions(), axes=())  # axes of no model: labels are not needed


def folders(project: Project) -> list[dict[str, Any]]:
    """Return the folders of recordings: those with files in folders of classes."""
    entries = []
    for path in sorted(project.folder.iterdir()):
        if path.is_dir() and not path.name.startswith(".") and path.name != "runs":
            n = sum(1 for _ in islice(_files(path), _MOST_LISTED))
            if n:
                entries.append({"name": path.name, "recordings": n})
    return entries


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        is_hidden = any(part.startswith(".") for part in parts)
        if len(parts) > 1 and path.suffix.lower() in _KINDS and path.is_file() and not is_hidden:
            yield path


def listed(project: Project, name: str) -> dict[str, Any]:
    """Return the recordings of a folder with their class and group."""
    folder = project.inside(name)
    if not folder.is_dir():
        raise Refused(f"{name!r} is not a folder of recordings.")
    entries = []
    for path in islice(_files(folder), _MOST_LISTED):
        label, *groups = path.relative_to(folder).parts[:-1]
        name, size = path.relative_to(project.folder.resolve()).as_posix(), bytes_text(path.stat().st_size)
        entries.append(
            {"name": name, "file": path.name, "label": label, "group": "/".join(groups), "size": size}
        )
    return {"recordings": entries, "grouped": bool(entries) and all(one["group"] for one in entries)}


def _read(path: Path) -> tuple[NDArray[Any], tuple[str, ...], float | None]:
    """Return the samples of a recording, its axes, and its rate where the file tells it."""
    if path.suffix.lower() == ".wav":
        pieces = list(pieces_of_wav(path, _UNKNOWN))
    else:
        pieces = list(pieces_of_table(path, replace(_UNKNOWN, axes=None, label="x")))
    samples = np.concatenate([piece.samples for piece in pieces])
    axes = pieces[0].axes or tuple(f"axis {i + 1}" for i in range(samples.shape[1]))
    return samples, axes, pieces[0].rate


def signal(project: Project, name: str, first: int, end: int) -> dict[str, Any]:
    """Return least and largest sample of each axis in even steps, from `first` to `end` (0 for all)."""
    samples, axes, rate = _read(project.inside(name))
    end = min(end or len(samples), len(samples))
    first = min(max(0, first), max(0, end - 1))
    part = samples[first:end].astype(float)
    edges = np.unique(np.linspace(0, len(part), min(len(part), _MOST_POINTS) + 1).astype(int))[:-1]
    low, high = np.minimum.reduceat(part, edges), np.maximum.reduceat(part, edges)
    return {
        "samples": len(samples), "first": first, "end": end, "axes": list(axes), "rate": rate,
        "at": (first + edges).tolist(), "low": low.T.tolist(), "high": high.T.tolist(),
    }  # fmt: skip


def place(project: Project, folder: str, label: str, group: str, file: str) -> Path:
    """Return where a recording of a class goes, with folders made for it."""
    parts = [("folder", folder), ("label", label), *([("group", group)] if group else [])]
    for what, text in parts:
        capturing.check_name(what, text)
    into = project.inside("/".join(text for _, text in parts))
    into.mkdir(parents=True, exist_ok=True)
    stem, ending = Path(file).stem, Path(file).suffix
    names = (f"{stem}{ending}" if i == 1 else f"{stem}-{i}{ending}" for i in range(1, 10_000))
    return next(into / name for name in names if not (into / name).exists())


def cut(project: Project, asked: dict[str, Any]) -> str:
    """Copy a part of a recording to a class, and return its name. The recording itself stays as it is."""
    path = project.inside(asked["name"])
    first, end = (check_integer(what, asked[what], 0, 2**40) for what in ("first", "end"))
    if end <= first:
        raise Refused("The part is empty. Draw over the curve to choose one.")
    if path.suffix.lower() == ".parquet":
        raise Refused("Parquet files are not cut here. Save the recording as CSV.")
    target = place(project, asked["folder"], asked["label"], asked.get("group", ""), path.name)
    write_part(path, target, first, end)
    return target.relative_to(project.folder.resolve()).as_posix()


def answers_on(project: Project, model: Model, name: str) -> dict[str, Any]:
    """Return the answer of a model to each window of a recording."""
    from ethereal.datasets.recordings import windows_for

    if model.front_end is None:
        raise Refused("This model reads rows of a table, not recordings.")
    rows = windows_for(model.front_end, str(project.inside(name)), TableOptions())
    first = rows.places["sample"].tolist() if "sample" in rows.places else []
    answers = model.predict(rows.X).astype(str).tolist()
    return {"window": model.front_end.window, "first": first, "answers": answers}


@dataclass
class Listener:
    """Samples of a board as they come: recorded for a class, or answered by a model."""

    project: Project
    kept: str | None = None  # the name of the last recording
    trouble: str = ""
    _captured: capturing.Captured | None = None
    _thread: threading.Thread | None = None
    _ends: threading.Event = field(default_factory=threading.Event)
    _model: Model | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, port: str, folder: str, label: str, group: str, model: Model | None = None) -> None:
        """Listen to a port, in the background. With a model, samples are answered and not kept."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                raise Refused("The board is listened to already. Stop that first.")
            if model is not None and model.front_end is None:
                raise Refused("This model reads rows of a table. Live answers need a model of windows.")
            if model is None:
                place(
                    self.project, folder, label, group, "x.csv"
                )  # says what is wrong before it opens a port
            self._ends.clear()
            self.kept, self.trouble, self._captured, self._model = None, "", None, model
            work = self._listen, (port, folder, label, group)
            self._thread = threading.Thread(target=work[0], args=work[1], daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Stop listening. What was recorded gets its name."""
        self._ends.set()
        if self._thread is not None:
            self._thread.join(5)

    def _listen(self, port: str, folder: str, label: str, group: str) -> None:
        scratch = None
        try:
            out = self.project.inside(folder) if self._model is None else None
            if out is None:
                scratch = out = Path(tempfile.mkdtemp(prefix="ethereal-live-"))
                label, group = "live", ""
            captured = capturing.capture(port, label, out, group=group or None, progress=self._watch)
            if scratch is None:
                self.kept = captured.path.relative_to(self.project.folder.resolve()).as_posix()
            self.trouble = captured.why_ended
        except (OSError, ValueError, ImportError) as error:
            self.trouble = str(error)
        finally:
            if scratch is not None:
                shutil.rmtree(scratch, ignore_errors=True)

    def _watch(self, captured: capturing.Captured) -> bool:
        self._captured = captured
        return self._ends.is_set()

    def now(self) -> dict[str, Any]:
        """Return the last samples, and the answer to the last window where a model answers."""
        captured, model = self._captured, self._model
        is_alive = self._thread is not None and self._thread.is_alive()
        said: dict[str, Any] = {"listening": is_alive, "kept": self.kept, "trouble": self.trouble}
        if captured is None:
            return said | {"samples": [], "n_samples": 0, "axes": []}
        recent, n_samples = list(captured.recent.copy()), captured.n_samples
        said |= {"samples": recent[-_MOST_SHOWN:], "axes": list(captured.axes), "n_samples": n_samples}
        if model is not None and model.front_end is not None:
            window = model.front_end.window
            if captured.axes and len(captured.axes) != len(model.front_end.axes):
                n, wanted = len(captured.axes), len(model.front_end.axes)
                said["trouble"] = f"The board sends {n} axes, and the model reads {wanted}."
            elif len(recent) >= window:
                X = np.array(recent[-window:], dtype=np.int16)[None]
                sums = model.class_sums(X)[0].tolist()
                labels = model.classes.astype(str).tolist()
                said |= {"answer": str(model.predict(X)[0]), "sums": dict(zip(labels, sums, strict=True))}
        return said


def ports() -> list[str]:
    """Return the serial ports of this computer, none without the extra `capture`."""
    try:
        from serial.tools import list_ports
    except ImportError:
        return []
    return [port.device for port in list_ports.comports()]
