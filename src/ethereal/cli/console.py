"""The terminal. Names of features, labels and files are shown as they are, not read as markup."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from rich.console import Console
    from rich.table import Table


def console(*, stderr: bool = False, width: int | None = None) -> Console:
    """Return a console that prints `rate [/s]` and `:smile:` as they are written, in tables and titles too.

    >>> console().print("rate [/s]")
    rate [/s]
    """
    from rich.console import Console  # takes a tenth of a second, so only where something is shown

    return Console(stderr=stderr, width=width, markup=False, emoji=False, highlight=False)


def table_of(
    title: str | None, head: Iterable[str], rows: Iterable[Iterable[str]], left: Container[int] = (0,)
) -> Table:
    """Return a table, with a title or without. Columns that are not in `left` hold numbers.

    >>> table_of("Bytes", ["code", "size"], [["compact", "1,200"]]).row_count
    1
    """
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for i, name in enumerate(head):
        table.add_column(name, justify="left" if i in left else "right")
    for row in rows:
        table.add_row(*row)
    return table
