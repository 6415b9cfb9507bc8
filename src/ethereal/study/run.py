"""Many cells: spread over processes, with progress, each kept on disk as soon as it is done."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import joblib
import numpy as np

from ethereal.study.cells import compute
from ethereal.study.store import Cell, Protocol, Store

Results = dict[Cell, dict[str, Any]]


def grid(
    sets: Iterable[str], methods: Iterable[str], protocol: Protocol, seeds: int, epochs: int | None
) -> list[Cell]:
    """Cells of a table: every set, method and seed.

    >>> [cell.key for cell in grid(["har"], ["vanilla", "ethereal"], "paper", 1, None)]
    ['har-vanilla-paper-0', 'har-ethereal-paper-0']
    """
    methods = list(methods)
    return [Cell(d, m, protocol, seed, epochs) for d in sets for m in methods for seed in range(seeds)]


def run(cells: Sequence[Cell], store: Store, n_jobs: int = 1, *, quiet: bool = False) -> Results:
    """Results of all cells; those in the store already are not computed again."""
    results: Results = {}
    missing: list[Cell] = []
    for cell in cells:
        found = store.get(cell)
        if found is None:
            missing.append(cell)
        else:
            results[cell] = found
    with _progress(len(cells), len(results), quiet) as advance:
        tasks = (joblib.delayed(_keyed)(cell, store) for cell in missing)
        parallel = joblib.Parallel(n_jobs=min(n_jobs, max(len(missing), 1)), return_as="generator_unordered")
        for cell, result in parallel(tasks):
            results[cell] = result
            advance(cell)
    return results


def _keyed(cell: Cell, store: Store) -> tuple[Cell, dict[str, Any]]:
    return cell, compute(cell, store)


class _progress:
    """A bar on a terminal, one line per finished cell elsewhere."""

    def __init__(self, total: int, done: int, quiet: bool) -> None:
        self.total, self.done, self.quiet = total, done, quiet
        self.bar: Any = None

    def __enter__(self) -> _progress:
        if not self.quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self.bar = Progress(
                TextColumn("cells"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.description}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self.bar.start()
            self.bar.add_task("", total=self.total, completed=self.done)
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def __call__(self, cell: Cell) -> None:
        self.done += 1
        if self.bar is not None:
            self.bar.update(0, completed=self.done, description=cell.key)
        elif not self.quiet:
            print(f"[{self.done}/{self.total}] {cell.key}", file=sys.stderr, flush=True)


def mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation over seeds; the latter is 0 for one seed.

    >>> mean_and_spread([1.0, 3.0])
    (2.0, 1.4142135623730951)
    """
    array = np.asarray(values, dtype=float)
    return float(array.mean()), float(array.std(ddof=1)) if len(array) > 1 else 0.0
