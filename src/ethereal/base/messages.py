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
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.table import Table
    from typing_extensions import Self

# What would steer a terminal, turn the direction of the text or be no character at all. A stranger's model or
# table may have it in its names.
_STEERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb\ud800-\udfff]"
)
_GAP = 3  # columns between two columns of a table
_TITLE = 78  # a longer title folds
_HEAD = 8  # a shorter head stays whole
_SHORT = 25  # letters of a text that stays whole
_SECONDS_BETWEEN_LINES = 5.0
_LEAST_GAP = 0.1  # a smaller difference is none
_NOISE_OF_GAP = 4.0  # standard errors of the difference that chance may give


def printable(text: str) -> str:
    r"""Return a text in which each character that steers a terminal is written as its escape."""
    return _STEERS.sub(lambda character: character[0].encode("unicode_escape").decode(), text)


_spelling: Callable[[str], str] = str


@contextmanager
def spelled(spelling: Callable[[str], str]) -> Iterator[None]:
    """Let messages name options as `spelling` writes them: a command has --label in place of label=.

    >>> with spelled(lambda text: text.replace("label=", "--label ")):
    ...     say("Give label=COLUMN.")
    Give --label COLUMN.
    """
    global _spelling
    before, _spelling = _spelling, spelling
    try:
        yield
    finally:
        _spelling = before


def say(text: str, *, err: bool = False) -> None:
    """Print a message, in lines that fit the terminal. What goes elsewhere keeps its lines."""
    stream = sys.stderr if err else sys.stdout
    print(fitted(printable(_spelling(text)), width_of(stream)), file=stream, flush=True)


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


def is_quiet(as_json: bool) -> bool:
    """Whether progress has no reader: a program takes the JSON, and nobody watches standard error."""
    return as_json and not sys.stderr.isatty()


class Progress:
    """Shows how far work has come. Use it as a context."""

    def __init__(self, name: str, total: float, *, quiet: bool, tells_left: bool = True) -> None:
        self.name, self.total, self.quiet = printable(name), total, quiet
        self._tells_left = tells_left
        self._bar: Any = None
        self._last_line = time.monotonic()

    def __enter__(self) -> Self:
        if not self.quiet and sys.stderr.isatty():
            # rich takes a tenth of a second to import, so import it only where a bar is drawn.
            from rich.console import Console
            from rich.progress import BarColumn, ProgressColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            # The name of a file is shown as it is, braces and brackets too.
            name = TextColumn("{task.fields[name]}", markup=False)
            left: tuple[ProgressColumn, ...] = (TimeRemainingColumn(),) if self._tells_left else ()
            text = TextColumn("{task.description}", markup=False)
            self._bar = Bar(name, BarColumn(), text, *left, console=Console(stderr=True))
            self._bar.start()
            self._bar.add_task("", total=self.total, name=self.name)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, done: float, text: str) -> None:
        """Show how much of the total is done. Without a terminal, a line every few seconds says so."""
        if self._bar is not None:
            self._bar.update(0, completed=done, description=text)
        elif not self.quiet and self.is_due(done):
            print(f"{self.name} {text}", file=sys.stderr, flush=True)
            self._last_line = time.monotonic()

    def is_due(self, done: float) -> bool:
        """Whether the last line is some seconds ago."""
        return time.monotonic() - self._last_line >= _SECONDS_BETWEEN_LINES


class EpochProgress(Progress):
    """Shows epochs as they end: on a terminal each, elsewhere one every few seconds."""

    def __init__(self, total: int, verbose: int, name: str = "epoch") -> None:
        super().__init__(name, total, quiet=not verbose)
        self._last_line = float("-inf")

    def update(self, record: dict[str, Any], rows_per_second: float) -> None:
        """Show the record of a finished epoch."""
        parts = [f"{record['epoch']}/{self.total}"]
        for kind in ("validation", "eval", "train"):
            if (accuracy := record.get(f"{kind}_accuracy")) is not None:
                parts.append(f"{kind} {100 * accuracy:.1f} %")
        parts += [f"literals {record['includes_per_clause']:.2f}", f"{rows_per_second:,.0f} rows/s"]
        self.show(record["epoch"], "  ".join(parts))

    def is_due(self, done: float) -> bool:
        """Whether a line is due. The first and the last epoch always have one."""
        return super().is_due(done) or done == self.total


def gap_remark(
    held_out: float, n_held_out: int, test: float, n_test: int, *, is_windows: bool = False
) -> str | None:
    """Say that two accuracies are further apart than chance explains, and what to do. None if they are not.

    Beyond noise, the accuracies on held-out rows and on test rows say that the rows differ.
    """
    if min(n_held_out, n_test) == 0:
        return None
    both = (held_out * n_held_out + test * n_test) / (n_held_out + n_test)
    noise = math.sqrt(both * (1 - both) * (1 / n_held_out + 1 / n_test))
    if abs(held_out - test) <= max(_LEAST_GAP, _NOISE_OF_GAP * noise):
        return None
    why = f"{100 * held_out:.1f} % of the held-out rows are right, but {100 * test:.1f} % of the test rows"
    if held_out < test:
        return (
            f"{why}. The test rows seem to be easier than those to learn from. Look at how they were chosen."
        )
    remedy = "Give group= with the column of the person or recording, and record more of them."
    more = " Other kernels= may carry over better." if is_windows else ""
    return f"{why}. The test rows come from elsewhere than those to learn from. {remedy}{more}"
