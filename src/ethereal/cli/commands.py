"""Commands whose help folds at any width of the terminal, with panels of options and of commands."""

from __future__ import annotations

import inspect
import sys
from collections import UserDict
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from ethereal.base.atomic import end_standard_output
from ethereal.base.messages import say
from ethereal.cli.panels import ADDED, HELP, arrange, ordered, panel_of

F = TypeVar("F", bound=Callable[..., Any])
_HOMES = {"report": "run"}  # the module of a command that is not named like it


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
        """Return the names of the commands."""
        return ordered(self.commands)


class Loaded(UserDict[str, Any]):
    """Commands by name, None for one that was not imported yet. What is asked for is imported first."""

    def __getitem__(self, name: str) -> Any:
        """Return the command of this name."""
        if self.data[name] is None:
            from ethereal.cli import app

            home = ADDED[name].module if name in ADDED else f"ethereal.cli.{_HOMES.get(name, name)}"
            import_module(home)  # it registers itself
            built: Any = typer.main.get_command(app)
            self.data.update((own, one) for own, one in built.commands.data.items() if one is not None)
        return self.data[name]


class Root(Group):
    """The commands of `ethereal`. To list them imports none."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        """Take what `TyperGroup` takes."""
        super().__init__(*args, **keywords)
        self.commands = Loaded({**dict.fromkeys(HELP), **self.commands})
        self._lists = False

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        self._lists = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._lists = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command, or in the list of all what stands there of it."""
        if self._lists and cmd_name in HELP:
            return Command(name=cmd_name, help=HELP[cmd_name], rich_help_panel=panel_of(cmd_name))
        return super().get_command(ctx, cmd_name)


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
