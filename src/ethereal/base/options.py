"""Dataclasses of options: one definition for a function's keywords and for a command's options."""

from __future__ import annotations

import warnings
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
        Names on the command line. Without any, the field's name with dashes is used.
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


def renamed(
    function: str, keywords: Mapping[str, Any], names: Mapping[str, str], stacklevel: int = 3
) -> dict[str, Any]:
    """Return keywords by their new names. An old name still works for one release, with a warning.

    `names` has the new name of each old one. Both at once are refused.
    """
    new = dict(keywords)
    for old in names.keys() & keywords.keys():
        if keywords.get(names[old]) is not None:
            raise TypeError(f"{names[old]} and {old}, its old name, are both given. Give {names[old]} alone.")
        text = f"{old} of {function}() is called {names[old]} now. The old name will be removed."
        warnings.warn(text, FutureWarning, stacklevel=stacklevel)
        new[names[old]] = new.pop(old)
    return new


def cli_fields(options: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that a command offers, with their values."""
    return {each.name: getattr(options, each.name) for each in fields(options) if "help" in each.metadata}


def refuse(function: str, keywords: Mapping[str, Any], *kinds: type) -> None:
    """Refuse keywords that no option has, with the names of those that there are."""
    if keywords:
        known = ", ".join(f.name for kind in kinds for f in fields(kind))
        raise TypeError(f"{function}() has no option {next(iter(keywords))!r}. Its options are {known}.")
