"""The folder of one run with its parameters, its log, and the results of its stages.

A stage's result is written whole when the stage is done, so that an interrupted run continues with the first
stage that is missing. A folder belongs to one set of parameters. A run with others gets a folder of its own.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from ethereal.base.atomic import check_folder, open_to_append, write_text
from ethereal.base.messages import printable
from ethereal.runs.results import from_json

T = TypeVar("T")
U = TypeVar("U")

_ROWS = "rows.sha256"  # of what the run learns from and tests
_DIGEST = "sha256"  # among the results of a stage


def _digest(result: dict[str, Any]) -> str:
    """Return the SHA-256 of a result, by which one that was damaged or written by hand is noticed."""
    return hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class RunFolder:
    """A run's folder, made or found again.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as root:
    ...     first = RunFolder.open(root, "digits", {"epochs": 5})
    ...     again = RunFolder.open(root, "digits", {"epochs": 5})
    ...     other = RunFolder.open(root, "digits", {"epochs": 6})
    ...     first.path.name, again.path.name, other.path.name
    ('digits', 'digits', 'digits-2')
    """

    path: Path

    @classmethod
    def open(
        cls, root: str | Path, name: str, parameters: Mapping[str, Any], rows: str | None = None
    ) -> RunFolder:
        """Return the folder with these parameters below `root`, a new one when there is none.

        `rows` is a digest of the rows. A folder of other rows, such as those of a table before it was
        changed, is not the one.
        """
        root = check_folder(root)
        root.mkdir(parents=True, exist_ok=True)
        wanted = json.loads(json.dumps(dict(parameters), sort_keys=True))
        for number in range(1, 10_000):
            path = root / (name if number == 1 else f"{name}-{number}")
            try:
                path.mkdir()
            except FileExistsError:
                known = cls(path)
                if known.parameters() == wanted and (rows is None or known.rows in (None, rows)):
                    return known
                continue
            try:
                if rows is not None:
                    write_text(path / _ROWS, rows)
                write_text(path / "parameters.json", json.dumps(wanted, indent=1, sort_keys=True))
            except OSError:
                (path / _ROWS).unlink(missing_ok=True)
                path.rmdir()  # or the next attempt would take another name
                raise
            return cls(path)
        raise ValueError(f"{root} has too many runs of {name!r}. Remove some")

    def parameters(self) -> dict[str, Any] | None:
        """Return what the run was started with, or None when the folder is not that of a run."""
        try:
            parameters = json.loads((self.path / "parameters.json").read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        return parameters if isinstance(parameters, dict) else None

    @property
    def rows(self) -> str | None:
        """The digest of the rows, None where an earlier version of the package made the folder."""
        try:
            return (self.path / _ROWS).read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None

    def load(self, kind: type[T], other: type[U] | None = None) -> T | U | None:
        """Return the result of a finished stage as one of these dataclasses, or None when it is not there.

        A result that another version of the package left is refused.
        """
        result = self.result(kind.STAGE)  # type: ignore[attr-defined]
        if result is None:
            return None
        try:
            loaded: T | U = from_json(kind if other is None else kind | other, result)
        except TypeError as error:
            raise ValueError(
                f"{self.path} was written by another version of ethereal: {error}. Remove the folder, and "
                "run again."
            ) from error
        return loaded

    def stage(self, name: str, work: Callable[[], Any]) -> dict[str, Any]:
        """Return the result of a stage, read when it is there, else computed and kept as JSON."""
        done = self.result(name)
        if done is not None:
            self.log(f"{name}: done before")
            return done
        self.log(f"{name}: begins")
        start = time.perf_counter()
        made = work()
        result: dict[str, Any] = json.loads(json.dumps(made if isinstance(made, dict) else asdict(made)))
        self.write(f"stages/{name}.json", json.dumps({**result, _DIGEST: _digest(result)}))
        self.log(f"{name}: done in {time.perf_counter() - start:.1f} s")
        return result

    def forget(self, name: str) -> None:
        """Remove the result of a stage, so that it is computed again."""
        (self.path / "stages" / f"{name}.json").unlink(missing_ok=True)

    def result(self, name: str) -> dict[str, Any] | None:
        """Return the result of a finished stage, or None when it is not there or not as it was written."""
        try:
            result = json.loads((self.path / "stages" / f"{name}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return result if isinstance(result, dict) and result.pop(_DIGEST, None) == _digest(result) else None

    def write(self, name: str, text: str) -> Path:
        """Write a file of the run under a temporary name and rename it."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
        return path

    def log(self, line: str) -> None:
        """Add a line to the run's log."""
        with open_to_append(self.path / "run.log") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {printable(line)}\n".encode())
