"""What is installed: names that are loaded late, extras that may be missing, what other packages add."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, NamedTuple


def loader(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package.

    `names` says for each module of the package which names it defines, separated by spaces.
    """
    homes = {name: module for module, defined in names.items() for name in defined.split()}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return load


def install(*extras: str) -> str:
    """Return the command that adds extras to the installed package.

    pip finds the package installed, from an index or from a folder, and adds what the extras need.
    """
    return f"pip install 'ethereal-tm[{','.join(extras)}]'"


def lacks(what: str, package: str, *extras: str) -> str:
    """Return the message for something that needs a package of an extra."""
    return f"{what} needs {package}. Install it with {install(*extras)}."


class AddedCommand(NamedTuple):
    """A command of another package, in the group `ethereal.commands`. Nothing is imported to list it."""

    module: str  # which registers the command on `ethereal.cli.app` when it is imported
    panel: str  # of the list of commands
    help: str  # the first paragraph of its own help
    common: str = ""  # options that most users need, separated by spaces


@cache
def _entry_points() -> Any:
    """Return the entry points of all installed packages, whose metadata is read once in a process."""
    return entry_points()


def added(group: str) -> dict[str, Any]:
    """Return what installed packages add to a group, by the names that they give."""
    loaded = {}
    for each in _entry_points().select(group=group):
        try:
            loaded[each.name] = each.load()
        except ModuleNotFoundError as error:  # left from a package that was removed
            if not f"{each.module}.".startswith(f"{error.name}."):
                raise
    return loaded
