"""Where a command writes its model, and what it says then."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ethereal.base.atomic import is_standard_output, is_stream
from ethereal.base.messages import printable

if TYPE_CHECKING:
    from rich.console import Console


def check_out(path: Path, as_json: bool = False, more: str = "") -> None:
    """Refuse a model file that cannot be written, before the work and not after it.

    `more` says what is written beside the file, which then cannot be a stream.
    """
    if is_stream(path):
        if more:
            raise ValueError(f"--out is {path}, but {more} is written beside the model. Name a file.")
        if is_standard_output(path) and as_json:
            raise ValueError(f"--json and --out {path} both take standard output. Name a file.")
        if is_standard_output(path) and sys.stdout.isatty():
            remedy = "Name a file, or redirect standard output, for example with > m.etm"
            raise ValueError(f"--out is {path}, a terminal, and a model is not text. {remedy}")
        return
    if not path.parent.is_dir():
        raise ValueError(f"--out: The folder {path.parent} is not there. Make it first")
    if path.is_dir():
        raise ValueError(f"--out is {path}, a folder. Name a file, for example {path / 'm.etm'}")
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))


@contextmanager
def beside(path: Path, ending: str) -> Iterator[Path]:
    """Yield the name of a folder beside a model file. Beside a stream there is none, so it is temporary."""
    if not is_stream(path):
        yield path.with_name(f"{path.name}{ending}")
        return
    with TemporaryDirectory(prefix="ethereal-") as folder:
        yield Path(folder, f"model{ending}")


def console(*, stderr: bool = False, width: int | None = None) -> Console:
    """Return a console that prints `rate [/s]` and `:smile:` as they are written, in tables and titles too.

    >>> console().print("rate [/s]")
    rate [/s]
    """
    from rich.console import Console  # takes a tenth of a second, so only where something is shown

    class Terminal(Console):
        def print(self, *objects: Any, **more: Any) -> None:
            super().print(*(printable(one) if isinstance(one, str) else one for one in objects), **more)

    return Terminal(stderr=stderr, width=width, markup=False, emoji=False, highlight=False)
