"""Progress of long work: a bar on a terminal, lines elsewhere, nothing when it is to be quiet."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from ethereal.base.messages import printable

if TYPE_CHECKING:
    from typing_extensions import Self

_SECONDS_BETWEEN_LINES = 5.0


def is_quiet(as_json: bool) -> bool:
    """Whether progress has no reader: a program takes the JSON, and nobody watches standard error."""
    return as_json and not sys.stderr.isatty()


class Progress:
    """Shows how far work has come. Use it as a context.

    >>> with Progress("epoch", total=2, quiet=True) as progress:
    ...     progress.show(1, "1/2")
    """

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
    """Shows epochs as they end: on a terminal each, elsewhere one every few seconds.

    >>> with EpochProgress(total=2, verbose=0) as progress:
    ...     progress.update({"epoch": 1, "includes_per_clause": 3.2}, rows_per_second=1e5)
    """

    def __init__(self, total: int, verbose: int, name: str = "epoch") -> None:
        super().__init__(name, total, quiet=not verbose)
        self._last_line = float("-inf")

    def update(self, record: dict[str, Any], rows_per_second: float) -> None:
        """Show the record of a finished epoch."""
        text = f"{record['epoch']}/{self.total}  {_summary(record, rows_per_second)}"
        self.show(record["epoch"], text)

    def is_due(self, done: float) -> bool:
        """Whether a line is due. The first and the last epoch always have one."""
        return super().is_due(done) or done == self.total


def _summary(record: dict[str, Any], rows_per_second: float) -> str:
    """One line: the accuracy known first among validation, eval set and training rows.

    >>> _summary({"validation_accuracy": 0.912, "includes_per_clause": 7.25}, 123456.0)
    'validation 91.2 %  literals 7.25  123,456 rows/s'
    """
    parts = [
        f"{kind} {100 * record[f'{kind}_accuracy']:.1f} %"
        for kind in ("validation", "eval", "train")
        if record.get(f"{kind}_accuracy") is not None
    ]
    parts.append(f"literals {record['includes_per_clause']:.2f}")
    parts.append(f"{rows_per_second:,.0f} rows/s")
    return "  ".join(parts)
