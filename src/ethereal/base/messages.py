"""What is shown on the terminal: messages in lines that fit it, tables in one style, and progress.

Progress is a bar on a terminal, lines elsewhere, and nothing when it is to be quiet.
"""

from __future__ import annotations

import io
import math
import os
import re
import sys
import textwrap
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from ethereal.base import watched

if TYPE_CHECKING:
    from rich.table import Table

# What would steer a terminal, turn the direction of the text or be no character at all. A stranger's model or
# table may have it in its names.
_STEERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb\ud800-\udfff]"
)
_GAP = 3  # columns between two columns of a table
_TITLE = 78  # a longer title folds
_HEAD = 8  # a shorter head stays whole
_SHORT = 25  # letters of a text that stays whole


def printable(text: str) -> str:
    r"""Return a text in which each character that steers a terminal is written as its escape."""
    return _STEERS.sub(lambda character: character[0].encode("unicode_escape").decode(), text)


spelling: Callable[[str], str] = str  # how messages name options: a command has --label in place of label=


def say(text: str, *, err: bool = False) -> None:
    """Print a message, in lines that fit the terminal. What goes elsewhere keeps its lines."""
    stream = sys.stderr if err else sys.stdout
    print(fitted(printable(spelling(text)), width_of(stream)), file=stream, flush=True)


class PrintableStream(io.TextIOBase):
    """A stream to a terminal, in front of which every text is made printable."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text."""
        return self._stream.write(printable(text))


def width_of(stream: TextIO) -> int | None:
    """Return the columns of a stream: what COLUMNS says, else the terminal's own. None when it has none."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError, AttributeError):  # a file, a pipe, or nothing that the system knows
        return None


def fitted(text: str, width: int | None) -> str:
    """Return a text with its lines broken between words, so that each takes `width` columns at most.

    Lines that continue another begin two columns further right. A word that is too long stays whole.

    >>> print(fitted("error: t.csv: the file is empty\\n  a   b", 20))
    error: t.csv: the
      file is empty
      a   b
    """
    if width is None:
        return text
    lines = []
    for line in text.split("\n"):
        if len(line) <= width:
            lines.append(line)
            continue
        start = " " * (len(line) - len(line.lstrip(" ")))
        lines += textwrap.wrap(
            line, width, subsequent_indent=f"{start}  ", break_long_words=False, break_on_hyphens=False
        )
    return "\n".join(lines)


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
    """
    widths = [max(map(len, [*_folded(name, 0), *(row[i] for row in rows)])) for i, name in enumerate(head)]
    first = list(range(keys))
    tables = [list(first)]
    for i in range(keys, len(head)):
        if len(tables[-1]) > keys and sum(widths[k] + _GAP for k in [*tables[-1], i]) - _GAP > width:
            tables.append(list(first))
        tables[-1].append(i)
    return tables


def _folded(name: str, width: int) -> list[str]:
    """Return the lines of a head that should take no more columns than the values below it."""
    longest = max(map(len, name.split()), default=1)
    return textwrap.wrap(name, max(width, longest, _HEAD), break_long_words=False) or [""]


Show = Callable[[float, str], None]  # how much of the total is done, and a text


@contextmanager
def progress(
    name: str,
    total: float,
    *,
    quiet: bool,
    tells_left: bool = True,
    seconds: float = 5.0,
    at_ends: bool = False,
) -> Iterator[Show]:
    """Show how far work has come. Without a terminal, a line every few `seconds` says so.

    Time still to wait is shown where it `tells_left`. With `at_ends` the first and the last step have a line.

    >>> with progress("epoch", total=2, quiet=True) as show:
    ...     show(1, "1/2")
    """
    name = printable(name)
    watched.note(name, 0.0, "")
    last_line = -math.inf if at_ends else time.monotonic()

    def show(done: float, text: str) -> None:
        nonlocal last_line
        watched.note(name, done / total if total else 1.0, text)
        is_due = time.monotonic() - last_line >= seconds or (at_ends and done == total)
        if is_due and not quiet:
            print(f"{name} {text}", file=sys.stderr, flush=True)
            last_line = time.monotonic()

    if quiet or not sys.stderr.isatty():
        yield show
        return
    # rich takes a tenth of a second to import, so import it only where a bar is drawn.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

    # The name of a file is shown as it is, braces and brackets too.
    head = TextColumn("{task.fields[name]}", markup=False)
    left: tuple[ProgressColumn, ...] = (TimeRemainingColumn(),) if tells_left else ()
    text = TextColumn("{task.description}", markup=False)
    with Progress(head, BarColumn(), text, *left, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total, name=name)
        yield lambda done, text: bar.update(task, completed=done, description=text)
