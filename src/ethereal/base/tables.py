"""Tables for the terminal, all in one style: a line below the heads, no frame, numbers to the right."""

from __future__ import annotations

import textwrap
from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING

from ethereal.base.messages import printable

if TYPE_CHECKING:
    from rich.table import Table

_GAP = 3  # columns between two columns of a table
_TITLE = 78  # a longer title folds
_HEAD = 8  # a shorter head stays whole
_SHORT = 25  # letters of a text that stays whole


def table_of(
    title: str | None,
    head: Iterable[str],
    rows: Iterable[Iterable[str]],
    left: Container[int] = (0,),
    ends: Container[int] = (),
) -> Table:
    """Return a table, with a title or without. Columns that are not in `left` hold numbers.

    Numbers stay whole. A text that is too long goes on in the next line. `ends` has the rows at the end of
    a section.

    >>> table_of("Bytes", ["code", "size"], [["compact", "1,200"]]).row_count
    1
    """
    from rich import box
    from rich.table import Table

    look = {"title_justify": "left", "box": box.SIMPLE_HEAD, "show_edge": False, "pad_edge": False}
    title = None if title is None else printable(title)
    table = Table(title=title, min_width=min(len(title or ""), _TITLE), **look)  # type: ignore[arg-type]
    cells, heads = [list(map(_shown, row)) for row in rows], list(map(_shown, head))
    widest = [max((len(row[i]) for row in cells), default=0) for i in range(len(heads))]
    # Short texts stay whole where a long one can give way. Without one they fold, so that no number is cut.
    keeps = any(i in left and width > _SHORT for i, width in enumerate(widest))
    for i, name in enumerate(heads):
        is_text = i in left
        table.add_column(
            "\n".join(_folded(name, widest[i])),
            justify="left" if is_text else "right",
            overflow="fold",
            no_wrap=not is_text or (keeps and widest[i] <= _SHORT),
            vertical="top",
        )
    for number, row in enumerate(cells):
        table.add_row(*row, end_section=number in ends)
    return table


def _shown(cell: str) -> str:
    """Return the text of a cell, which takes one line and steers no terminal."""
    return printable(cell).replace("\n", "\\n")


def blocks(head: Sequence[str], rows: Sequence[Sequence[str]], keys: int, width: int) -> list[list[int]]:
    """Return the columns of each of the tables that a wide one is cut into, so that each fits `width`.

    The first `keys` columns are in all of them.

    >>> blocks(["set", "rows", "clauses"], [["har", "1,200", "300"]], 1, 17)
    [[0, 1], [0, 2]]
    """
    widths = [max(map(len, [*_folded(name, 0), *(row[i] for row in rows)])) for i, name in enumerate(head)]
    first = list(range(keys))
    found = [list(first)]
    for i in range(keys, len(head)):
        if len(found[-1]) > keys and sum(widths[k] + _GAP for k in [*found[-1], i]) - _GAP > width:
            found.append(list(first))
        found[-1].append(i)
    return found


def _folded(name: str, width: int) -> list[str]:
    """Return the lines of a head that should take no more columns than the values below it."""
    longest = max(map(len, name.split()), default=1)
    return textwrap.wrap(name, max(width, longest, _HEAD), break_long_words=False) or [""]
