"""Commands whose help folds at any width of the terminal, with panels of options and of commands."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from ethereal.base.atomic import end_standard_output
from ethereal.base.messages import say
from ethereal.cli.panels import arrange, ordered, panel_of

F = TypeVar("F", bound=Callable[..., Any])


class Command(TyperCommand):
    """A command whose help has one line per paragraph. Typer would keep the line ends of a docstring."""

    def __init__(self, *args: Any, help: str | None = None, **keywords: Any) -> None:
        """Take what `TyperCommand` takes."""
        paragraphs = inspect.cleandoc(help or "").split("\n\n")
        super().__init__(*args, help="\n\n".join(" ".join(p.split()) for p in paragraphs), **keywords)
        arrange(self.name, self.params)


class Group(TyperGroup):
    """Commands in the order of their panels."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, and tell each its panel."""
        for name, command in self.commands.items():
            command.rich_help_panel = panel_of(name)  # type: ignore[attr-defined]
        return ordered(super().list_commands(ctx))


class Commands(typer.Typer):
    """A group of such commands."""

    def __init__(self, **keywords: Any) -> None:
        """Take what `typer.Typer` takes."""
        super().__init__(**({"cls": Group} | keywords))

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Run the command that was typed. What standard output cannot take is told in one line."""
        try:
            try:
                return super().__call__(*args, **keywords)
            finally:
                sys.stdout.flush()
        except BrokenPipeError:  # whoever reads has enough, and click has told nobody for the same reason
            end_standard_output()
        except OSError as error:
            end_standard_output()
            place = error.filename or "standard output"
            say(f"error: {place}: {error.strerror or error}", err=True)
        sys.exit(1)

    def command(self, *args: Any, **keywords: Any) -> Callable[[F], F]:
        """Register a command, as `typer.Typer.command` does."""
        return super().command(*args, **({"cls": Command} | keywords))
