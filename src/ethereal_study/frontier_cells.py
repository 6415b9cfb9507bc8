"""The cells of the frontier: ours, and beside it forests, boosted trees, vector trees and the paper's scan.

Each method has a cell of its own, which rests on the code that makes and measures it. So a change in our
models does not compute rivals again. Trees read features, and the scan starts at Booleanized rows, as in the
paper.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from threadpoolctl import threadpool_limits

from ethereal.chips.cycles import estimate_cycles
from ethereal.device.forest import forest_program
from ethereal.device.program import CProgram
from ethereal.device.redress import redress_scan
from ethereal.features.packing import evenly
from ethereal.model import Model
from ethereal.runs.forest import LEAVES as FOREST_LEAVES
from ethereal.runs.forest import choose_shape, without_missing
from ethereal_study import additions, cells, frontier, plans, rivals
from ethereal_study.board import fingerprint
from ethereal_study.cells import MACHINES, StudyRows
from ethereal_study.frontier import TARGETS
from ethereal_study.rivals.boosted import missing_tools
from ethereal_study.run import Results
from ethereal_study.settings import SETTINGS
from ethereal_study.store import Cell, Store

ROWS = 64  # that a rival is executed on
FORESTS = ((5, 5), (10, 8), (25, 14))  # trees, depth
ROUNDS, LEAVES = (5, 10, 20), 8  # of boosted trees
VECTOR_TREES, VECTOR_DEPTH = (5, 20), 4
_PLENTY = 1 << 20  # bytes of RAM
_BOARD = (
    *(f"ethereal/{x}" for x in ("chips", "device/emulator.py", "device/execution.py")),
    "ethereal_study/rivals/base.py",
)

Lines = Iterator[dict[str, Any]]


@dataclass(frozen=True)
class Part:
    """A method of the frontier."""

    basis: Callable[[str], dict[str, Any]]  # what its figures on a set rest on
    lines: Callable[[Cell, Store, StudyRows], Lines]
    missing: Callable[[], list[str]] = list  # packages without which there are no lines
    most_seeds: int | None = None  # where a seed takes long


def compute(cell: Cell, store: Store) -> dict[str, Any]:
    """Return accuracy and costs of a method at every size, if possible from the store."""
    part = PARTS[cell.method]
    without = part.missing()
    on = part.basis(cell.dataset) | {"without": without}
    found = store.get(cell, on)
    if found is not None:
        return found
    rows = cells.prepare(additions.load(cell.dataset), SETTINGS[cell.dataset], cell.protocol)
    start = time.process_time()
    with threadpool_limits(1):
        points = [] if without else list(part.lines(cell, store, rows))
    result = {"points": points, "without": without, "cpu_seconds": time.process_time() - start}
    store.put(cell, on, result, None)
    return result


def grids(names: Iterable[str], seeds: int) -> list[tuple[list[str], list[str], int]]:
    """Return sets, methods and seeds of all cells."""
    return [
        ([name], [method], min(plans.seeds(name, seeds), part.most_seeds or seeds))
        for name in names
        for method, part in PARTS.items()
    ]


def by_seed(results: Results) -> dict[str, list[dict[str, Any]]]:
    """Return the results of each set, with the lines of all methods of a seed together."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for cell, result in results.items():
        own = found.setdefault(cell.dataset, {}).setdefault(cell.seed, {"points": [], "without": []})
        own["points"] += result["points"]
        own["without"] += result["without"]
    return {name: list(seeds.values()) for name, seeds in found.items()}


def _rests_on(sizes: tuple[Any, ...], *code: str) -> Callable[[str], dict[str, Any]]:
    return lambda name: cells.basis(name) | {"sizes": sizes, "code": fingerprint(_BOARD + code)}


def _forests(cell: Cell, store: Store, rows: StudyRows) -> Lines:
    """Forests through emlearn."""
    own = without_missing(rows)
    for n_trees, depth in FORESTS:
        forest = RandomForestClassifier(n_trees, max_depth=depth, random_state=cell.seed)
        forest.fit(own.X_train, own.y_train)
        yield _line("forest", f"{n_trees} x {depth}", forest, forest_program, own)


def _tuned(cell: Cell, store: Store, rows: StudyRows) -> Lines:
    """The forest whose trees and leaves held-out training rows choose, through emlearn."""
    own = without_missing(rows)
    groups = plans.groups_of(additions.load(cell.dataset))
    shape = choose_shape(own.X_train, own.y_train, groups, seed=cell.seed)
    forest = shape.new(cell.seed).fit(own.X_train, own.y_train)
    leaves = "all" if shape.leaves is None else shape.leaves
    found = _line("tuned forest", "chosen", forest, forest_program, own)
    yield found | {"layout": f"{shape.trees} x {leaves} leaves"}


def _boosted(cell: Cell, store: Store, rows: StudyRows) -> Lines:
    """Boosted trees through m2cgen."""
    own = without_missing(rows)
    for rounds in ROUNDS:
        trees = rivals.train_boosted(own.X_train, own.y_train, rounds, LEAVES, cell.seed)
        yield _line("boosted", f"{rounds} rounds", trees, rivals.boosted, own)


def _vectors(cell: Cell, store: Store, rows: StudyRows) -> Lines:
    """Boosted trees with a vector of votes per leaf, through our own generator of code."""
    own = without_missing(rows)
    for n_trees in VECTOR_TREES:
        trees = rivals.train_vector_trees(own.X_train, own.y_train, n_trees, VECTOR_DEPTH, cell.seed)
        yield _line("vector trees", f"{n_trees} x {VECTOR_DEPTH}", trees, rivals.vector_trees, own)


def _line(
    method: str, size: str, estimator: Any, export: Callable[..., CProgram], rows: StudyRows
) -> dict[str, Any]:
    """What trees take on both cores, and the accuracy of what is exported."""
    whole = export(estimator, rows.X_test)
    accuracy = float((estimator.classes_[whole.expected] == rows.y_test).mean())
    few = evenly(len(whole.rows), ROWS)
    part = replace(whole, rows=whole.rows[few], expected=whole.expected[few])
    return {"method": method, "size": size, "accuracy": accuracy, **_costs(part)}


def _scans(cell: Cell, store: Store, rows: StudyRows) -> Lines:
    """The paper's machines as scans of their REDRESS words."""
    test = rows.X_test
    for machine in MACHINES:
        own = replace(cell, method=machine)
        accuracy = cells.compute(own, store)["accuracy"]
        scan = redress_scan(Model.load(store.model_path(own)), test[evenly(len(test), ROWS)])
        yield {"method": "REDRESS scan", "size": machine, "accuracy": accuracy, **_costs(scan)}


def _costs(rival: CProgram) -> dict[str, dict[str, float]]:
    return {target: executed(rival, target) for target in TARGETS}


def executed(rival: CProgram, target: str) -> dict[str, float]:
    """Return the flash of a rival and its instructions on an average row, on a core with flash enough."""
    from ethereal import device
    from ethereal.device.execution import execute

    chip = replace(device.find_core(target), flash_bytes=1 << 24)
    found = execute(rival, chip, ram_bytes=_PLENTY)
    if np.mean(found.classes == rival.expected) < 0.95:  # thresholds are rounded to 16 bits
        raise RuntimeError(f"{rival.name} does not answer on {target} as it does on the host")
    flash = found.elf.code_bytes + found.elf.table_bytes
    return {
        "flash": flash,
        "instructions": float(np.mean(found.counts)),
        "cycles": estimate_cycles(chip.name, found.mix),
    }


_FOREST, _VECTORS = "ethereal/device/forest.py", "ethereal_study/rivals/vector_trees.py"
PARTS = {
    "frontier-ours": Part(plans.basis, frontier.lines),
    "frontier-forest": Part(_rests_on(FORESTS, _FOREST), _forests),
    "frontier-tuned": Part(_rests_on(FOREST_LEAVES, _FOREST, "runs/tuned_forest.py"), _tuned),
    "frontier-boosted": Part(
        _rests_on((ROUNDS, LEAVES), "ethereal_study/rivals/boosted.py", _FOREST), _boosted, missing_tools
    ),
    "frontier-vectors": Part(
        _rests_on((VECTOR_TREES, VECTOR_DEPTH), _VECTORS, "export", "model"), _vectors, most_seeds=1
    ),
    "frontier-scan": Part(
        _rests_on(MACHINES, "ethereal/device/redress.py", "ethereal/export", "ethereal/model"),
        _scans,
        most_seeds=1,
    ),
}
