"""What a run is asked for: by keywords of `ethereal.run`, by options of the command, or by its folder."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ethereal.base.checks import check_number
from ethereal.base.options import flags_of, option
from ethereal.datasets.options import SourceOptions, SplitOptions
from ethereal.train.options import TrainingOptions, UnknownOptions
from ethereal.tuning.budget import FROM, Budget, Learner, check_learner

T = TypeVar("T")
QUICK_CLAUSES, QUICK_EPOCHS = 40, 15


@dataclass(frozen=True)
class Extent:
    """How much a run does."""

    forest: bool = option(True, "Compare with a random forest, tuned to be small.", "--forest/--no-forest")
    paper: bool = option(False, "Also train vanilla and ETHEREAL with the paper's settings.", "--paper")
    quick: bool = option(False, "A first look: 40 clauses, 15 epochs.", "--quick")
    learner: Learner = option(*FROM, kind=str)
    all_rows: bool = option(False, "Learn from all rows of a table of more than 200,000.", "--all-rows")


@dataclass(frozen=True)
class NormalRows:
    """How a run with normal rows alone is asked for, see `ethereal.runs.normal.run_normal`."""

    normal: bool = option(False, "All rows are normal, without labels. Learn to notice others.", "--normal")
    abnormal: str | None = option(None, "With --normal: a table or a folder to test with.")
    false_alarms: float = option(0.01, "With --normal: share of normal rows that may be alarms.")


@dataclass(frozen=True)
class Asked(NormalRows, Extent):
    """What the command offers of both kinds of a run."""

    def part(self, kind: type[T]) -> T:
        """Return the options of one kind."""
        return kind(**{each.name: getattr(self, each.name) for each in fields(kind)})  # type: ignore[arg-type]


KINDS = (SourceOptions, Budget, TrainingOptions, SplitOptions, UnknownOptions, Extent)
FLAGS = flags_of(*KINDS)
_PYTHON = {"seed": "random_state", "clauses": "n_clauses", "jobs": "n_jobs"}  # the names of the estimator


@dataclass(frozen=True)
class Settings:
    """All that a run is asked for."""

    data: str  # a data set's name, or the full path of a file or folder
    table: SourceOptions = field(default_factory=SourceOptions)
    budget: Budget = field(default_factory=Budget)
    training: TrainingOptions = field(default_factory=TrainingOptions)
    parts: SplitOptions = field(default_factory=SplitOptions)
    unknown: UnknownOptions = field(default_factory=UnknownOptions)
    extent: Extent = field(default_factory=Extent)

    @classmethod
    def of(cls, data: str, keywords: Mapping[str, Any]) -> Settings:
        """Return what keywords ask for. Their names are those of the fields of all options.

        >>> Settings.of("digits", {"flash": "2k", "epochs": 5, "random_state": 1}).command
        'ethereal run digits --flash 2048 --epochs 5 --seed 1'
        """
        options_of = {python: name for name, python in _PYTHON.items()}
        rest = {options_of.get(name, name): value for name, value in keywords.items()}
        if isinstance(rest.get("drop"), str):
            rest["drop"] = [rest["drop"]]
        for name in rest.keys() - FLAGS.keys():
            names = ", ".join(_PYTHON.get(flag, flag) for flag in FLAGS)
            raise TypeError(f"run() has no option {name!r}. Its options are {names}.")

        def options(kind: type) -> Any:
            return kind(**{name: rest[name] for name in flags_of(kind).keys() & rest.keys()})

        return cls(data, *map(options, KINDS))

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Settings:
        """Return the settings of a run from what its folder keeps of them."""
        known = {name: value for name, value in parameters.items() if name in FLAGS}
        return cls.of(parameters["data"], known)

    def parameters(self) -> dict[str, Any]:
        """Return what names a run, as JSON has it: all that changes its results."""
        parameters = {"data": self.data, **cli_fields(self.table), **cli_fields(self.training)}
        parameters |= cli_fields(self.parts) | {"drop": list(self.table.drop or [])}
        parameters |= {name: value for name, value in cli_fields(self.unknown).items() if value}
        bounds = {
            name: None if value == math.inf else value for name, value in cli_fields(self.budget).items()
        }
        if bounds["luts"] is None:  # which runs of older versions do not know
            del bounds["luts"]
        parameters |= bounds
        parameters |= {name: value for name, value in cli_fields(self.extent).items() if name != "paper"}
        del parameters["jobs"]  # which changes no result
        return parameters

    @property
    def command(self) -> str:
        """The command that asks for this run, in the folder where the process is."""
        return shlex.join(self.words(Path.cwd()))

    def words(self, here: Path) -> list[str]:
        """Return the words of the command as it is typed in a folder."""
        kinds = [getattr(self, each.name) for each in fields(self)[1:]]
        options = (word for kind in kinds for word in command_words(kind))
        return ["ethereal", "run", from_here(self.data, here), *options]

    def checked(self) -> Settings:
        """Return the settings with a core for the target and few clauses for a quick run.

        Bounds must be within the chip of the target, and need a compiler.
        """
        from ethereal.chips.targets import find_core
        from ethereal.chips.toolchain import missing_tools

        check_learner(self.extent.learner)
        budget = self.budget.settled()
        if not budget.is_gates:
            budget = replace(budget, target=find_core(budget.target).name)
        if budget.on_size and not budget.is_gates:
            lacking = missing_tools()
            if lacking:
                raise ValueError(
                    f"flash=, ram= and instructions= need {' and '.join(lacking)}, which are not "
                    "installed. Install them with pip install 'ethereal-tm[device]', or leave the bounds out"
                )
            budget.on_chip()  # refuses more than the chip has
        training = self.training
        if self.extent.quick:
            clauses = min(training.clauses or QUICK_CLAUSES, QUICK_CLAUSES)
            epochs = min(training.epochs or QUICK_EPOCHS, QUICK_EPOCHS)
            training = replace(training, clauses=clauses, epochs=epochs)
        return replace(self, budget=budget, training=training)


@dataclass(frozen=True)
class NormalSettings:
    """All that a run with normal rows is asked for."""

    data: str  # the full path of a file or folder
    table: SourceOptions = field(default_factory=SourceOptions)
    watch: NormalRows = field(default_factory=partial(NormalRows, normal=True))
    target: str = Budget.target
    seed: int = 0

    @classmethod
    def of(cls, data: str, keywords: Mapping[str, Any]) -> NormalSettings:
        """Return what keywords ask for. Their names are those of the fields of all options."""
        of_source, of_watch = ({each.name for each in fields(kind)} for kind in (SourceOptions, NormalRows))
        known = {*of_source, *of_watch, "target", "seed"}
        for name in keywords.keys() - known:
            raise TypeError(
                f"run_normal() has no option {name!r}. Its options are {', '.join(sorted(of_source))}."
            )

        def some(names: set[str]) -> dict[str, Any]:
            return {name: keywords[name] for name in names & keywords.keys()}

        watch = NormalRows(**{**some(of_watch), "normal": True})
        return cls(data, SourceOptions(**some(of_source)), watch, **some({"target", "seed"}))

    def checked(self) -> NormalSettings:
        """Return the settings with a core for the target."""
        from ethereal.chips.targets import find_core

        check_number("false_alarms", self.watch.false_alarms, 0, 0.5)
        if self.table.label is not None:
            raise ValueError(
                f"label= is {self.table.label!r}, but normal rows have no labels. Leave it out, or drop it."
            )
        return replace(self, target=find_core(self.target).name)

    def parameters(self) -> dict[str, Any]:
        """Return what names a run, as JSON has it."""
        tested = None if self.watch.abnormal is None else str(Path(self.watch.abnormal).resolve())
        asked: dict[str, Any] = {"data": self.data, "abnormal": tested, "normal": True, "target": self.target}
        asked |= {"false_alarms": self.watch.false_alarms, "seed": self.seed}
        return asked | _as_json(cli_fields(self.table))

    @property
    def command(self) -> str:
        """The command that asks for this run, in the folder where the process is."""
        return shlex.join(self.words(Path.cwd()))

    def words(self, here: Path) -> list[str]:
        """Return the words of the command as it is typed in a folder."""
        watch = self.watch
        if watch.abnormal is not None:
            watch = replace(watch, abnormal=from_here(watch.abnormal, here))
        options = [*command_words(self.table), *command_words(watch)]
        options += [] if self.target == Budget.target else ["--target", self.target]
        options += ["--seed", str(self.seed)] if self.seed else []
        return ["ethereal", "run", from_here(self.data, here), *options]


def _as_json(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, (list, tuple)) else value for name, value in values.items()
    }


def from_here(name: str, here: Path) -> str:
    """Return a path as it is typed in a folder: relative to it where it lies in it.

    >>> from_here("/data/motors/a.csv", Path("/data")), from_here("digits", Path("/data"))
    ('motors/a.csv', 'digits')
    """
    path = Path(name)
    return (path.relative_to(here) if path.is_absolute() and path.is_relative_to(here) else path).as_posix()


def cli_fields(options: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that a command offers, with their values."""
    return {each.name: getattr(options, each.name) for each in fields(options) if "help" in each.metadata}


def command_words(options: Any) -> list[str]:
    """Return the words of a command line that ask for these options, without those that are usual.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Some:
    ...     label: str | None = option(None, "Column.")
    ...     header: bool = option(True, "Names.", "--header/--no-header")
    >>> command_words(Some("a b", False))
    ['--label', 'a b', '--no-header']
    """
    words, flags = list[str](), flags_of(type(options))
    for each in (each for each in fields(options) if each.name in flags):
        (yes, no), value = flags[each.name], getattr(options, each.name)
        if value in (each.default, None, math.inf):
            continue
        if isinstance(value, bool):
            words.append(yes if value else no)
            continue
        values: Sequence[Any] = value if isinstance(value, list | tuple) else [value]
        texts = [str(int(one) if isinstance(one, float) and one.is_integer() else one) for one in values]
        words += [word for text in texts for word in (yes, text)]
    return words
