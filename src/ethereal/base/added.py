"""What other packages add to this one. They name it in entry points, so that nothing here imports them."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any, NamedTuple


class AddedCommand(NamedTuple):
    """A command of another package, in the group `ethereal.commands`. Nothing is imported to list it."""

    module: str  # which registers the command on `ethereal.cli.app` when it is imported
    panel: str  # of the list of commands
    help: str  # the first paragraph of its own help
    common: str = ""  # options that most users need, separated by spaces


def added(group: str) -> dict[str, Any]:
    """Return what installed packages add to a group, by the names that they give.

    >>> added("ethereal.nothing")
    {}
    """
    found = {}
    for each in entry_points(group=group):
        try:
            found[each.name] = each.load()
        except ModuleNotFoundError as error:  # left from a package that was removed
            if not f"{each.module}.".startswith(f"{error.name}."):
                raise
    return found
