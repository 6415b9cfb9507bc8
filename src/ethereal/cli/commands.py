"""Commands whose help folds at any width of the terminal."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand

F = TypeVar("F", bound=Callable[..., Any])


class Command(TyperCommand):
    """A command whose help has one line per paragraph. Typer would keep the line ends of a docstring."""

    def __init__(self, *args: Any, help: str | None = None, **keywords: Any) -> None:
        """Take what `TyperCommand` takes."""
        paragraphs = inspect.cleandoc(help or "").split("\n\n")
        super().__init__(*args, help="\n\n".join(" ".join(p.split()) for p in paragraphs), **keywords)


class Commands(typer.Typer):
    """A group of such commands."""

    def command(self, *args: Any, **keywords: Any) -> Callable[[F], F]:
        """Register a command, as `typer.Typer.command` does."""
        return super().command(*args, **({"cls": Command} | keywords))
