"""The terminal. Names of features, labels and files are shown as they are, and nothing in them steers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ethereal.base.messages import printable

if TYPE_CHECKING:
    from rich.console import Console


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
