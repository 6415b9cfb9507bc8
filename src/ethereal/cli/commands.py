"""Commands whose help folds at any width of the terminal, with panels of options and of commands."""

from __future__ import annotations

import inspect
import sys
from collections import UserDict
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from ethereal.base import messages
from ethereal.base.atomic import end_standard_output
from ethereal.base.messages import say
from ethereal.base.options import with_flags
from ethereal.base.package import AddedCommand, added

# The first sentence of each command's own help, so that the list of commands imports none of them.
COMMANDS = {
    "From data to a board": {
        "run": "Make the model for a board from DATA, compare it with a forest, and write a report.",
        "report": "Make the report of a finished run again.",
        "studio": "Open a page on this computer to look at tables, start runs, and compare them.",
    },
    "One step at a time": {
        "train": "Train on DATA and write the model.",
        "import": "Write the trees that XGBoost or LightGBM saved as a model, with a clause per leaf.",
        "prune": "Remove clauses, literals and votes from a model until it fits.",
        "tune": "Search for the most accurate model of DATA within a budget, and write it.",
        "predict": "Predict the label of every row of a file.",
        "explain": "Explain the answer to one row: the votes, the rules that fired, and what would change "
        "the answer.",
        "inspect": "Show a model: size in every code, clauses per class, top literals, where it comes from.",
        "convert": "Convert a model file that compares in float64 to float32, as every export does.",
    },
    "Boards": {
        "export": "Write a model as code for a board: a C99 library, a complete project, or a package.",
        "measure": "Compile a model for a core, execute it on rows, and count instructions, flash, RAM and "
        "stack.",
        "boards": "List the cores and boards that --target and --board take: chip, clock, flash and RAM.",
        "deploy": "Copy a model to a board that runs MicroPython, run its self-test there, and measure time "
        "and heap.",
        "capture": "Record what a board prints, a line of comma separated integers per sample.",
        "adapt": "Tell what each person would gain by teaching the board some rows of every class.",
        "prove": "Analyse exported C with Frama-C, for every value of the features and for int of 16 and of "
        "32 bits.",
    },
    "Data sets": {"datasets": "List the study's data sets, or fetch them."},
}
ADDED: dict[str, AddedCommand] = added("ethereal.commands")
for _name, _added in ADDED.items():
    COMMANDS.setdefault(_added.panel, {})[_name] = _added.help
HELP = {name: line for lines in COMMANDS.values() for name, line in lines.items()}

# What most users of a command need. All other options stand in the panels below.
_COMMON = {
    "run": "label group flash instructions target learner balanced seed quick out open_report as_json",
    "train": "out label group balanced clauses epochs seed as_json",
    "tune": "out label group flash instructions target learner trials seconds random_state as_json",
    "prune": "out label group flash instructions target max_loss as_json",
    "export": "to out target flash layout input name force as_json",
    "measure": "layout target flash label details as_json",
    "predict": "out label proba sums as_json",
    "explain": "label row top as_json",
    "adapt": "label group html as_json",
    "import": "out rows label classes missing votes as_json",
} | {name: added.common for name, added in ADDED.items()}

_PANELS = {
    "Size and speed": "ram worst_instructions instructions flash target luts max_loss clause_bytes early "
    "layout input",
    "Reading a table": "label drop group task header encoding decimal recording large test",
    "Recordings": "window hop rate scale units kernels",
    "Training": "clauses T s epochs exclude_every bins booleans validation tolerance balanced seed patience "
    "noise_clauses refit literal_budget linear machine shorten vanilla boost init simplify",
    'Answers "unknown", and novelty': "unknown answered novelty",
    "Normal rows without labels": "normal abnormal false_alarms",
    "Search": "trials seconds folds max_clauses storage random_state study",
    "Learning on the board": "learn learn_rows guard margin own_normal people",
    "The exported files": "name with_names single_header force majority code floats mpy image rows "
    "pipeline features lut bus",
    "How it is measured": "compiler optimize worst clock wait_states watts max_rows redress words counts "
    "lenient",
    "Threads and other machines": "jobs dask workers tls_ca tls_cert tls_key",
}
_PANEL_OF = {name: panel for panel, names in _PANELS.items() for name in names.split()}


def arrange(command: str | None, parameters: list[Any]) -> None:
    """Put the options of a command into panels, the common ones first. Typer shows panels as they come."""
    common = _COMMON.get(command or "", "").split()
    if not common:
        return
    others = [name for name in _PANEL_OF if name not in common]
    places = {name: i for i, name in enumerate([*common, *others])}
    options = [one for one in parameters if one.param_type_name == "option"]
    for one in options:
        if one.name not in common:
            one.rich_help_panel = _PANEL_OF.get(one.name)  # None: beside the common ones

    def place(one: Any) -> tuple[bool, int]:
        return one.name not in common and one.name in _PANEL_OF, places.get(one.name, len(places))

    parameters[:] = [one for one in parameters if one not in options] + sorted(options, key=place)


def ordered(names: Iterable[str]) -> list[str]:
    """Return the names of commands in the order of the panels.

    >>> ordered(["tune", "train", "run"])
    ['run', 'train', 'tune']
    """
    order = list(HELP)
    return sorted(names, key=lambda name: order.index(name) if name in order else len(order))


def panel_of(name: str) -> str | None:
    """Return the panel of a command.

    >>> panel_of("run")
    'From data to a board'
    """
    return next((panel for panel, names in COMMANDS.items() if name in names), None)


F = TypeVar("F", bound=Callable[..., Any])
_HOMES = {"report": "run", "import": "import_trees"}  # modules of commands that are not named like them


class Command(TyperCommand):
    """A command whose help has one line per paragraph. Typer would keep the line ends of a docstring."""

    def __init__(self, *args: Any, help: str | None = None, **keywords: Any) -> None:
        """Take what `TyperCommand` takes."""
        paragraphs = inspect.cleandoc(help or "").split("\n\n")
        super().__init__(*args, help="\n\n".join(" ".join(p.split()) for p in paragraphs), **keywords)
        arrange(self.name, self.params)

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Whatever it says names options as they are typed."""
        flags = {
            each.name: (each.opts[-1], next(iter(each.secondary_opts), ""))
            for each in self.params
            if each.param_type_name == "option" and each.name
        }
        before, messages.spelling = messages.spelling, partial(with_flags, flags=flags)
        try:
            return super().invoke(ctx)
        finally:
            messages.spelling = before


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
            self.data.update(
                (command, one) for command, one in built.commands.data.items() if one is not None
            )
        return self.data[name]


class Root(Group):
    """The commands of `ethereal`. To list them imports none."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        """Take what `TyperGroup` takes."""
        super().__init__(*args, **keywords)
        self.commands = Loaded({**dict.fromkeys(HELP), **self.commands})
        self._lists = False
        # Without it a mistake of the user is plain text. What frames it takes as long to load as the rest.
        self._markup, self.rich_markup_mode = self.rich_markup_mode, None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        self._lists, self.rich_markup_mode = True, self._markup
        try:
            super().format_help(ctx, formatter)
        finally:
            self._lists, self.rich_markup_mode = False, None

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
