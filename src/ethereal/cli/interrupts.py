"""Ctrl-C in work that continues when the same command is typed again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from ethereal.base.messages import say

INTERRUPTED = 130  # exit code of a command that Ctrl-C ended


@contextmanager
def continued_later() -> Iterator[None]:
    """Say that nothing is lost when Ctrl-C ends the work."""
    try:
        yield
    except KeyboardInterrupt:
        say("\ninterrupted: type the same command again, and it continues where it stopped.", err=True)
        raise typer.Exit(INTERRUPTED) from None
