"""Files that a command reads, looked at before anything heavy is loaded."""

from __future__ import annotations

import difflib
from pathlib import Path


def missing(source: str | Path) -> str | None:
    """Say that a file is not there, and which one may be meant. None when it is, or may be a data set's name.

    >>> missing("tabel.csv")
    'tabel.csv: there is no such file. Look at the name and the folder.'
    >>> missing("digits") is None
    True
    """
    path = Path(source)
    if not path.suffix or path.exists():
        return None
    try:
        beside = sorted(other.name for other in path.parent.iterdir() if not other.name.startswith("."))
    except OSError:
        return f"{path}: there is no such folder as {path.parent}. Look at the name."
    near = difflib.get_close_matches(path.name, beside, 1, 0.75)
    hint = f"Did you mean {path.with_name(near[0])}?" if near else "Look at the name and the folder."
    return f"{path}: there is no such file. {hint}"
