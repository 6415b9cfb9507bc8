"""The folders that tools and boards expect. A new one is a folder with templates and a `project.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

_HOME = resources.files("ethereal.export.projects")
PROJECTS = tuple(sorted(entry.name for entry in _HOME.iterdir() if (entry / "project.json").is_file()))


@dataclass(frozen=True)
class Project:
    """A folder: its files, and what `project.json` says. Paths and files that end in .in may have @name@."""

    about: str
    texts: dict[str, str]  # by the names of the files
    places: dict[str, str] = field(default_factory=dict)  # path of a file that is not written under its name
    sources: str = ""  # folder of the model's C
    self_test: str | None = None  # path of the golden rows and the function that tests them
    has_main: bool = False  # whether the self-test is a program
    fixed: dict[str, Any] = field(default_factory=dict)  # options that are not left to the user


def find_project(name: str) -> Project:
    """Return the project of that name.

    >>> find_project("zephyr").sources
    'src/'
    """
    if name not in PROJECTS:
        raise ValueError(f"project is {name!r}. It must be one of {', '.join(PROJECTS)}.")
    files = (entry for entry in (_HOME / name).iterdir() if entry.is_file())
    texts = {entry.name: entry.read_text(encoding="utf-8") for entry in files}
    return Project(**json.loads(texts.pop("project.json")), texts=texts)
