"""The terminal. Names of features, labels and files are shown as they are, not read as markup."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def console(*, stderr: bool = False, width: int | None = None) -> Console:
    """Return a console that prints `rate [/s]` and `:smile:` as they are written, in tables and titles too.

    >>> console().print("rate [/s]")
    rate [/s]
    """
    from rich.console import Console  # takes a tenth of a second, so only where something is shown

    return Console(stderr=stderr, width=width, markup=False, emoji=False, highlight=False)
