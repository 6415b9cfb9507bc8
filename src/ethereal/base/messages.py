"""Messages on the terminal, in lines that fit it."""

from __future__ import annotations

import io
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

# What would steer a terminal, turn the direction of the text or be no character at all. A stranger's model or
# table may have it in its names.
_STEERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb\ud800-\udfff]"
)


def printable(text: str) -> str:
    r"""Return a text in which each character that steers a terminal is written as its escape.

    >>> print(printable("red \x1b[31m"))
    red \x1b[31m
    """
    return _STEERS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


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
    """Print a message, in lines that fit the terminal. What goes elsewhere keeps its lines.

    >>> say("two files written")
    two files written
    """
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
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told) > 0:
        return int(told)
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
