"""Columns of a table by the names that a user gives, and how messages call them."""

from __future__ import annotations

import difflib
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence

from ethereal.datasets.tables import Table, TableError


def columns_named(table: Table, names: Iterable[str]) -> set[int]:
    """Return the columns to leave out, all of a name that several have."""
    chosen: set[int] = set()
    for name in names:
        alike = [i for i, own in enumerate(table.names or ()) if own == name]
        chosen.update(alike or [column_index(table, name, "--drop")])
    return chosen


def check_different(table: Table, columns: Sequence[int]) -> None:
    """Refuse columns to read of which two have the same name."""
    names = [table.names[i] for i in columns] if table.names is not None else []
    if len(set(names)) < len(names):
        name = min(name for name, n in Counter(names).items() if n > 1)
        leave = f"or leave all of them out with --drop {shlex.quote(name)}"
        what = f"the column name {name!r} occurs more than once"
        raise TableError(f"{table.path}: {what}. Rename one of them, {leave}.")


def column_index(table: Table, name: str, option: str) -> int:
    """Index of a column given by name, or by number where columns have no names."""
    if table.names is None:
        if name.isdecimal() and 1 <= int(name) <= table.n_columns:
            return int(name) - 1
        numbers = f"a number from 1 to {table.n_columns}"
        raise TableError(f"{table.path}: {option} is {name!r}. The columns have no names, so give {numbers}.")
    if name in table.names:
        if table.names.count(name) > 1:
            what = f"{option} is {name!r}, but several columns are called that way"
            raise TableError(f"{table.path}: {what}. Rename one of them.")
        return table.names.index(name)
    near = [own for own in table.names if own.lower() == name.strip().lower()]
    near = near or difflib.get_close_matches(name, table.names, 1)
    hint = f"Did you mean {near[0]!r}?" if near else all_columns(table)
    raise TableError(f"{table.path}: {option} is {name!r}, but there is no such column. {hint}")


def listed(names: Iterable[str]) -> str:
    """Some columns, for a message.

    >>> listed(["a", "b"])
    "the columns 'a', 'b'"
    """
    names = list(names)
    return f"the column{'s' * (len(names) > 1)} {_shown(names, 8)}"


def _shown(names: Sequence[str], most: int) -> str:
    """Return names for a message, the last one too, because that column is usually the label.

    >>> _shown(["a", "b", "c", "d"], 3)
    "'a', 'b', ..., 'd'"
    """
    if len(names) <= most:
        return ", ".join(map(repr, names))
    return f"{', '.join(map(repr, names[: most - 1]))}, ..., {names[-1]!r}"


def all_columns(table: Table) -> str:
    """Say which columns there are."""
    if table.names is None:
        return f"There are {table.n_columns} columns."
    if table.n_columns == 1:
        separators = "Columns are separated by commas, semicolons, tabs or |."
        return f"The only column is {table.names[0][:60]!r}. {separators}"
    return f"The columns are {_shown(table.names, 12)}."
