"""Progress of training: a bar on a terminal, a line every few seconds elsewhere, nothing when not asked."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

_SECONDS_BETWEEN_LINES = 5.0


class EpochProgress:
    """Shows epochs as they end; use as a context.

    >>> with EpochProgress(total=2, verbose=0) as progress:
    ...     progress.update({"epoch": 1, "includes_per_clause": 3.2}, rows_per_second=1e5)
    """

    def __init__(self, total: int, verbose: int) -> None:
        self.total = total
        self.verbose = verbose
        self._bar: Any = None
        self._last_line = float("-inf")

    def __enter__(self) -> EpochProgress:
        if self.verbose and sys.stderr.isatty():
            # rich takes a tenth of a second to import: only where a bar is drawn
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("epoch"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.description}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self._bar.start()
            self._bar.add_task("", total=self.total)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, record: dict[str, Any], rows_per_second: float) -> None:
        """Show the record of a finished epoch."""
        if not self.verbose:
            return
        text = _summary(record, rows_per_second)
        if self._bar is not None:
            self._bar.update(0, completed=record["epoch"], description=text)
            return
        now = time.monotonic()
        if now - self._last_line >= _SECONDS_BETWEEN_LINES or record["epoch"] == self.total:
            self._last_line = now
            print(f"epoch {record['epoch']}/{self.total}  {text}", file=sys.stderr, flush=True)


def _summary(record: dict[str, Any], rows_per_second: float) -> str:
    """One line: the accuracy known first among validation, eval set and training rows.

    >>> _summary({"validation_accuracy": 0.912, "includes_per_clause": 7.25}, 123456.0)
    'validation 91.2 %  includes/clause 7.25  123,456 rows/s'
    """
    parts = [
        f"{kind} {100 * record[f'{kind}_accuracy']:.1f} %"
        for kind in ("validation", "eval", "train")
        if record.get(f"{kind}_accuracy") is not None
    ]
    parts.append(f"includes/clause {record['includes_per_clause']:.2f}")
    parts.append(f"{rows_per_second:,.0f} rows/s")
    return "  ".join(parts)
