"""Runs as processes of their own: started, found again, cancelled, continued.

A job has a folder with `job.json` (what was asked for), `log.txt` (what the command says) and, when it has
ended, `end.json`. While it lives, its process holds a lock, so that whoever comes later knows.

    python -m ethereal.studio.jobs FOLDER       # what the studio starts
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethereal.base import watched
from ethereal.base.atomic import only_one, open_to_append, write_text

_LAST = 4000  # bytes of the log that are looked at
_STAGES = ("kernels", "learn", "prune", "forest", "board", "facts")
_IS_WINDOWS = sys.platform == "win32"


@dataclass(frozen=True)
class Job:
    """A run that was started from the page."""

    folder: Path

    @property
    def asked(self) -> dict[str, Any]:
        """What was asked for: words of the command, parameters of the run, time."""
        kept: dict[str, Any] = json.loads((self.folder / "job.json").read_text(encoding="utf-8"))
        return kept

    @property
    def state(self) -> str:
        """Return "running", "done", "failed", "cancelled", or "interrupted" if its process was killed."""
        try:
            with only_one(self.folder / "lock", wait=False):
                pass
        except BlockingIOError:
            return "running"
        end = self._told("end.json")
        if end is None:
            return "interrupted" if time.time() - self.asked["begun"] > _STARTS_WITHIN else "running"
        return "done" if end["code"] == 0 else "cancelled" if end["cancelled"] else "failed"

    def _told(self, name: str) -> dict[str, Any] | None:
        """Return what the process wrote to a file of the job, None before it did."""
        try:
            told: dict[str, Any] = json.loads((self.folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return told

    def last_lines(self) -> list[str]:
        """Return the end of what the command said."""
        try:
            with open(self.folder / "log.txt", "rb") as file:
                file.seek(max(0, os.path.getsize(self.folder / "log.txt") - _LAST))
                return file.read().decode("utf-8", "replace").splitlines()
        except FileNotFoundError:
            return []

    def progress(self) -> dict[str, Any] | None:
        """Return the stage that the command is at, its share, and what it made so far."""
        return self._told("progress.json")

    def trouble(self) -> str:
        """Return the message that a failed command ended with."""
        lines = self.last_lines()
        starts = [i for i, line in enumerate(lines) if line.startswith("error: ")]
        return " ".join(line.strip() for line in lines[starts[-1] :]) if starts else "\n".join(lines[-5:])

    def cancel(self) -> None:
        """Interrupt the command, as Ctrl-C does. Its finished stages stay."""
        write_text(self.folder / "cancel", "")
        if self.state != "running" or (pid := self._pid()) is None:
            return
        if sys.platform == "win32":
            os.kill(pid, signal.CTRL_BREAK_EVENT)
        else:
            os.killpg(pid, signal.SIGINT)

    def _pid(self) -> int | None:
        try:
            return int((self.folder / "pid").read_text())
        except (OSError, ValueError):
            return None


_STARTS_WITHIN = 20.0  # seconds, in which a process holds its lock


def start(jobs: Path, project: Path, words: Sequence[str], parameters: Mapping[str, Any]) -> Job:
    """Start a command in the project's folder. The same command again continues the run that it began."""
    begun, number = time.time(), 1
    jobs.mkdir(parents=True, exist_ok=True)
    while True:
        folder = jobs / f"{time.strftime('%Y%m%d-%H%M%S')}-{number}"
        try:
            folder.mkdir()
            break
        except FileExistsError:
            number += 1
    asked = {"words": list(words), "parameters": dict(parameters), "begun": begun, "cwd": str(project)}
    write_text(folder / "job.json", json.dumps(asked))
    flags: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        flags = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    process = subprocess.Popen(
        [sys.executable, "-m", "ethereal.studio.jobs", str(folder)],
        cwd=project, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **flags,
    )  # fmt: skip
    write_text(folder / "pid", str(process.pid))
    _watched.append(process)
    return Job(folder)


_watched: list[subprocess.Popen[bytes]] = []  # asked now and then, so that none stays as a zombie


def all_jobs(jobs: Path) -> list[Job]:
    """Return all jobs, the newest first."""
    _watched[:] = [process for process in _watched if process.poll() is None]
    folders = sorted(jobs.iterdir(), reverse=True) if jobs.is_dir() else []
    return [Job(folder) for folder in folders if (folder / "job.json").exists()]


def stages(run_folder: Path | None, *, is_normal: bool) -> list[dict[str, Any]]:
    """Return the stages of a run in their order, and which are done."""
    known = ("normal",) if is_normal else _STAGES
    done = {path.stem for path in (run_folder / "stages").glob("*.json")} if run_folder else set()
    return [{"name": name, "done": name in done} for name in known if name != "kernels" or name in done]


def _work(folder: Path) -> int:
    """Run the command of a job, and keep how it ended."""
    job = Job(folder)
    asked = job.asked
    if not _IS_WINDOWS:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command gets it too, and ends as it likes
    with only_one(folder / "lock"), open_to_append(folder / "log.txt") as log:
        environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}
        environment[watched.FILE] = str(folder / "progress.json")
        log.write(f"$ {shlex.join(asked['words'])}\n".encode())
        log.flush()
        command = [sys.executable, "-m", *asked["words"]]
        code = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
            preexec_fn=None if _IS_WINDOWS else _heeds_interrupts, cwd=asked["cwd"], check=False,
        ).returncode  # fmt: skip
        end = {"code": code, "ended": time.time(), "cancelled": (folder / "cancel").exists()}
        write_text(folder / "end.json", json.dumps(end))
    return code


def _heeds_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's own handler then takes its place


if __name__ == "__main__":
    sys.exit(_work(Path(sys.argv[1])))
