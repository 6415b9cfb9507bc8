"""Many cells, spread over processes or a cluster. Each is kept on disk as soon as it is done."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any

from ethereal.base.checks import duration_text
from ethereal.base.messages import progress
from ethereal.cluster import Cluster, ClusterError, processes
from ethereal_study import additions
from ethereal_study.cells import BNN_UNITS, MACHINES, NETWORKS, basis, compute
from ethereal_study.settings import SETTINGS
from ethereal_study.store import Cell, Protocol, Store

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


def run(
    cells: Sequence[Cell],
    store: Store,
    n_jobs: int = 1,
    *,
    workers: Cluster | None = None,
    quiet: bool = False,
) -> Results:
    """Return results of all cells. Those in the store are not computed again.

    The others are computed by `n_jobs` processes (-1 is one per core), or by `workers`. Each result comes
    into the store here when it is done, so that a cluster's machines need not see its folder.
    """
    if workers is None:
        with processes(n_jobs) as started:
            return run(cells, store, workers=started, quiet=quiet)
    once = cache(basis)
    results: Results = {}
    missing: list[Cell] = []
    for cell in dict.fromkeys(cells):
        kept = store.get(cell, once(cell.dataset) | additions.method_basis(cell.method))
        if kept is None:
            missing.append(cell)
        else:
            results[cell] = kept
    # The longest cells come first, so that no worker is alone for long at the end.
    missing.sort(key=cost, reverse=True)
    work, worked, begin = sum(map(cost, missing)), 0.0, time.monotonic()
    n_cells = len(missing) + len(results)
    bar = progress("cells", work, quiet=quiet or not missing, tells_left=False, seconds=0)
    with bar as show, workers.flow() as flow:
        for cell in missing:
            more = additions.ADDED.of(cell.dataset, cell.method)
            if workers.remote:
                flow.submit(cell, _compute_there, cell, store.files_of(*_needed(cell)), more)
            else:
                flow.submit(cell, compute, cell, store, more)
        for cell, result in flow:
            if workers.remote:
                result, files = result
                _check_basis(cell, files, once(cell.dataset), workers)
                store.take(files)
            results[cell] = result
            worked += cost(cell)
            left = (time.monotonic() - begin) * (work / worked - 1)
            show(worked, f"{len(results)}/{n_cells}  {cell.key}  {duration_text(left)} left")
    return {cell: results[cell] for cell in cells}


def _needed(cell: Cell) -> list[Cell]:
    """Cells that this one may be made of, itself included."""
    methods = MACHINES if cell.method == "frontier-scan" else (cell.measured,)
    return [cell, *(replace(cell, method=method) for method in methods)]


def _compute_there(
    cell: Cell, files: dict[str, bytes], added: additions.Additions
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Result of a cell and its files, on a worker that has no store."""
    with TemporaryDirectory() as folder:
        store = Store(folder)
        store.take(files)
        result = compute(cell, store, added)
        made = store.files_of(*_needed(cell))
        return result, {name: data for name, data in made.items() if files.get(name) != data}


def _check_basis(cell: Cell, files: dict[str, bytes], basis_here: dict[str, Any], workers: Cluster) -> None:
    basis_there = (
        json.loads(files[f"{cell.key}.json"])["basis"] if f"{cell.key}.json" in files else basis_here
    )
    if any(basis_there[key] != value for key, value in json.loads(json.dumps(basis_here)).items()):
        raise ClusterError(
            f"{workers.name}: a worker has other data of {cell.dataset} than this machine; give all of them "
            "the same files (ETHEREAL_DATA names their folder)"
        )


def cost(cell: Cell) -> float:
    """Rough seconds of a cell on one core, for the order of work and the time left.

    >>> cost(Cell("har", "ethereal", "honest", 0)) > cost(Cell("statlog", "ethereal", "honest", 0))
    True
    """
    if cell.method.startswith(("board-", "micropython-")):
        return 15.0
    settings, (n_rows, n_features) = SETTINGS[cell.dataset], additions.size_of(cell.dataset)
    booleans = n_features * (1 if settings.n_bins == 2 else settings.n_bins)
    if cell.method == "forest":
        rows = n_rows if cell.protocol == "paper" else 3 * min(n_rows, 20_000)
        return 1.0 + rows * math.sqrt(n_features) * 1.5e-4
    if cell.method in NETWORKS["larq"]:
        epochs = 100 if cell.epochs is None else cell.epochs
        return 7.0 + epochs * n_rows * BNN_UNITS[cell.method] * 4e-8
    if cell.method in BNN_UNITS:
        epochs = 30 if cell.epochs is None else cell.epochs
        return 0.2 + epochs * n_rows * (20 + booleans / 10) * BNN_UNITS[cell.method] * 2e-9
    epochs = settings.epochs if cell.epochs is None else cell.epochs
    return 0.2 + epochs * n_rows * settings.n_clauses * (5 + booleans / 32) * 1e-9
