"""Progress of long work: a bar on a terminal, lines elsewhere, nothing when it is to be quiet."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

_SECONDS_BETWEEN_LINES = 5.0


class Progress:
    """Shows how far work has come. Use it as a context.

    >>> with Progress("epoch", total=2, quiet=True) as progress:
    ...     progress.show(1, "1/2")
    """

    def __init__(self, name: str, total: float, *, quiet: bool, tells_left: bool = True) -> None:
        self.name, self.total, self.quiet = name, total, quiet
        self._tells_left = tells_left
        self._bar: Any = None

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

    def show(self, done: float, text: str, line: str | None = None) -> None:
        """Show how much of the total is done. `line` is printed where there is no terminal."""
        if self._bar is not None:
            self._bar.update(0, completed=done, description=text)
        elif line is not None and not self.quiet:
            print(line, file=sys.stderr, flush=True)


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
        if self.quiet:
            return
        text = f"{record['epoch']}/{self.total}  {_summary(record, rows_per_second)}"
        now = time.monotonic()
        is_due = now - self._last_line >= _SECONDS_BETWEEN_LINES or record["epoch"] == self.total
        self._last_line = now if is_due else self._last_line
        self.show(record["epoch"], text, f"{self.name} {text}" if is_due else None)


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
