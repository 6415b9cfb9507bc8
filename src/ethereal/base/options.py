"""Dataclasses of options: one definition for a function's keywords and for a command's options."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any, TypeVar

Options = TypeVar("Options")


def option(default: Any, help: str, *flags: str, kind: Any = None) -> Any:
    """Return a dataclass field that a command offers as an option.

    Parameters
    ----------
    default
        Default of the keyword and of the option.
    help
        What the command's help says of it.
    flags
        Names on the command line, of which messages use the last. Without any, it is the field's name with
        dashes.
    kind
        Type on the command line where it differs from the field's, such as `str` for a size like "8k".
    """
    return field(default=default, metadata={"help": help, "flags": flags, "kind": kind})


def split_kwargs(
    kind: type[Options], keywords: Mapping[str, Any], given: Options | None = None
) -> tuple[Options, dict[str, Any]]:
    """Fill a dataclass from the keywords that name its fields, and return the other keywords beside it.

    When the dataclass itself is `given`, a keyword that names one of its fields is refused.
    """
    names = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    if given is not None:
        if not isinstance(given, kind):
            name = kind.__name__
            raise TypeError(
                f"{name.lower()} is {given!r}. It must be a {name}. Its fields are keywords, too."
            )
        for name in names & set(keywords):
            raise TypeError(f"{kind.__name__.lower()} and {name} are both given. Give one of them.")
        return given, dict(keywords)
    others = {name: value for name, value in keywords.items() if name not in names}
    return kind(**{name: value for name, value in keywords.items() if name in names}), others


Flags = tuple[str, str]  # on the command line, of a value or True, and of False

_VALUE = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\[[^\]]*\]|[^\s'",.;:()]+(?:[.,:/][^\s'",.;:()]+)*"""


def flags_of(*kinds: type) -> dict[str, Flags]:
    """Return the flags of the fields that a command offers, by their names in Python."""
    flags = {}
    for each in (each for kind in kinds for each in fields(kind) if "help" in each.metadata):
        usual = f"--{each.name.replace('_', '-')}"
        yes, _, no = (usual, *each.metadata["flags"])[-1].partition("/")
        flags[each.name] = (yes, no)
    return flags


def with_flags(text: str, flags: Mapping[str, Flags]) -> str:
    """Return a message that names parameters of Python with the flags of the command line."""

    def flag(match: re.Match[str]) -> str:
        (yes, no), value = flags[match["name"] or match["subject"]], match["value"]
        if value is None or value == "True":
            return yes
        return no if value == "False" and no else _words(yes, value)

    if not flags:
        return text
    names = "|".join(flags)
    asked = rf"(?<![\w.'\"-])(?P<name>{names})=(?P<value>{_VALUE})?"
    pattern = rf"{asked}|(?:^|(?<=[.:;] )|(?<=but ))(?P<subject>{names})(?= is ['\"\d-])"
    return re.sub(pattern, flag, text)


def _words(flag: str, value: str) -> str:
    """Return a flag with a value that is written as in Python, once for each of a list."""
    try:
        values = ast.literal_eval(value)
    except (ValueError, SyntaxError):  # COLUMN, 8k
        values = value
    if not isinstance(values, list):
        values = [values if value[0] in "'\"" else value]
    return " ".join(f"{flag} {shlex.quote(str(one))}" for one in values)


def refuse(function: str, keywords: Mapping[str, Any], *kinds: type) -> None:
    """Refuse keywords that no option has, with the names of those that there are."""
    if keywords:
        known = ", ".join(f.name for kind in kinds for f in fields(kind))
        raise TypeError(f"{function}() has no option {next(iter(keywords))!r}. Its options are {known}.")
