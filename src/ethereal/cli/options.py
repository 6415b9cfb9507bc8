"""Options of a command from the fields of dataclasses.

A parameter of a command whose type is a dataclass stands for one option per field that was made with
`ethereal.base.options.option`. The command gets the dataclass, filled.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from dataclasses import Field, fields, is_dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, get_type_hints

import typer

from ethereal.base.checks import missing_file
from ethereal.cli.errors import reported


def is_there(source: Any) -> Any:
    """Refuse a file that is not there, before anything that takes a second is loaded."""
    with reported():
        if source is not None and (why := missing_file(source)) is not None:
            raise ValueError(why)
    return source


_DATA = "A data set's name, a .csv, .parquet or .npz file, or recordings."
_ROWS = "A .csv, .parquet, .npy or .npz file, or a data set's name."
Data = Annotated[str, typer.Argument(help=_DATA, callback=is_there)]
Rows = Annotated[str, typer.Argument(help=_ROWS, callback=is_there)]
ModelFile = Annotated[
    Path, typer.Argument(help="Model file, as `ethereal train --out m.etm` writes it.", callback=is_there)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text.")]


def is_quiet(as_json: bool) -> bool:
    """Whether progress has no reader: a program takes the JSON, and nobody watches standard error."""
    return as_json and not sys.stderr.isatty()


def was_given(context: typer.Context, name: str) -> bool:
    """Whether an option was on the command line, even with its default value."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def grouped(command: Callable[..., Any]) -> Callable[..., Any]:
    """Offer the fields of each dataclass in a command's signature as options."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[type, list[str]]] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if not is_dataclass(kind):
            parameters.append(parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        offered = [each for each in fields(kind) if "help" in each.metadata]
        groups[name] = kind, [each.name for each in offered]  # type: ignore[assignment]
        parameters.extend(_parameter(each, kind) for each in offered)  # type: ignore[arg-type]

    @functools.wraps(command)
    def run(**given: Any) -> Any:
        with reported():  # a dataclass may refuse a value
            for name, (kind, names) in groups.items():
                given[name] = kind(**{option: given.pop(option) for option in names})
        return command(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _parameter(each: Field[Any], home: type) -> inspect.Parameter:
    kind = each.metadata["kind"] or each.type
    if isinstance(kind, str):  # as postponed annotations are
        one = SimpleNamespace(__annotations__={each.name: kind})
        kind = get_type_hints(one, vars(sys.modules[home.__module__]))[each.name]
    return inspect.Parameter(
        each.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=each.default,
        annotation=Annotated[kind, typer.Option(*each.metadata["flags"], help=each.metadata["help"])],
    )
