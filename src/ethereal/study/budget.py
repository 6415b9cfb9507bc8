"""Models within budgets beside the study's own, their REDRESS words and a forest: docs/results.md.

Test rows choose nothing. The models of a cell are those of `ethereal.frontier`. The budgets are parts of what
the study's ETHEREAL machine takes in REDRESS words, and of what a forest takes, all on a Cortex-M7.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from threadpoolctl import threadpool_limits

from ethereal.compress.curve import TEACHERS, Teacher
from ethereal.datasets import Dataset
from ethereal.features.booleanizer import Booleanizer
from ethereal.features.packing import evenly
from ethereal.model import Model
from ethereal.model import codes as encode
from ethereal.study import additions, cells
from ethereal.study.board import TARGET, fingerprint
from ethereal.study.cells import MACHINES, StudyRows
from ethereal.study.settings import SETTINGS
from ethereal.study.store import Cell, Store
from ethereal.study.table import Table, columns, statistics
from ethereal.tuning import Budget, Frontier, Setup, frontier, on_device

if TYPE_CHECKING:
    from ethereal.device.program import CProgram

METHOD = "budget"
TREES, DEPTH = 25, 14  # of the forest that budgets are compared with
BOUNDS = ("1/5", "1/12", "forest/4", "forest/4, faster")
_CODE = ("export", "device", "chips", "model", "compress", "tuning", "study/rivals")
ROWS = 64  # that a rival is executed on
_PLENTY = 1 << 20  # bytes of RAM
_NOT_MET = '"not met" says that no model kept the bound in some seed. The nearest model counts there.'
# Bins (None: the features are Boolean, or have one fixed threshold), clauses, T, s, epochs, machines. No
# exclusion: pruning shortens clauses anyway. Chosen by validation rows: docs/tuning.md.
PLANS: dict[str, tuple[int | None, int, int, float, int, int]] = {
    "statlog": (64, 300, 16, 3.0, 100, 4),
    "mammography": (8, 50, 7, 3.0, 60, 4),
    "har": (8, 200, 14, 3.0, 60, 4),
    "gas": (8, 300, 12, 5.0, 60, 4),
    "emg": (8, 300, 14, 3.75, 60, 4),
    "sensorless": (None, 300, 15, 5.0, 60, 4),
    "sports": (16, 150, 12, 3.0, 25, 2),
    "gesture": (32, 500, 25, 9.0, 60, 4),
    "mnist": (None, 1000, 50, 10.0, 40, 1),
}
# Validations where rows or groups are few, else one.
SPLITS = {"statlog": 10, "mammography": 10, "har": 3, "gas": 4}
# What pruning learns from, else all: "blends" gives nothing where rows are alike, and doubles the time.
LESSONS: dict[str, tuple[Teacher, ...]] = {"mnist": ("votes",), "sports": ("votes", "labels")}


def compute(cell: Cell, store: Store) -> dict[str, Any]:
    """Return the study's machines, the forest and our models within budgets, if possible from the store."""
    on = basis(cell.dataset)
    found = store.get(cell, on)
    if found is not None:
        return found
    machines = {m: cells.compute(replace(cell, method=m), store)["accuracy"] for m in MACHINES}
    model = Model.load(store.model_path(replace(cell, method="ethereal")))
    data = additions.load(cell.dataset)
    rows = cells.prepare(data, SETTINGS[cell.dataset], cell.protocol)
    start = time.process_time()
    with threadpool_limits(1):
        result = machines | _words(model, rows) | _forest(rows, cell.seed)
        models = models_of(cell, data, rows)
        result |= {"cpu_seconds": time.process_time() - start, **_within(models, result, rows)}
    store.put(cell, on, result, None)
    return result


def basis(name: str) -> dict[str, Any]:
    """Return what our models on a set and their costs rest on."""
    if name not in PLANS:
        raise ValueError(f"No budget was planned for {name!r}. There are {', '.join(PLANS)}")
    plan = {"plan": PLANS[name], "splits": SPLITS.get(name, 1), "teachers": LESSONS.get(name, TEACHERS)}
    return cells.basis(name) | plan | {"code": fingerprint(_CODE)}


def _words(model: Model, rows: StudyRows) -> dict[str, Any]:
    """The REDRESS words of the study's machine, scanned."""
    from ethereal.device import measure_program
    from ethereal.study.rivals import redress

    test = rows.X_test
    scan = measure_program(redress(model, test[evenly(len(test), ROWS)]), TARGET)
    return {"redress_bytes": encode.sizes(model)["redress"], "scan_instructions": scan.instructions}


def _forest(rows: StudyRows, seed: int) -> dict[str, Any]:
    """Measure the forest on a chip with flash for it. That of mnist takes 1.3 MB."""
    from ethereal.study import rivals

    X, test = (np.nan_to_num(x.astype(np.float32), nan=-1.0) for x in (rows.X_train, rows.X_test))
    trees = RandomForestClassifier(TREES, max_depth=DEPTH, random_state=seed).fit(X, rows.y_train)
    rival = rivals.forest(trees, test[evenly(len(test), ROWS)])
    accuracy = _share(trees.predict(test), rows.y_test)
    return {"forest": accuracy, **{f"forest_{key}": value for key, value in executed(rival, TARGET).items()}}


def executed(rival: CProgram, target: str) -> dict[str, float]:
    """Return the flash of a rival and its instructions on an average row, on a core with flash enough."""
    from ethereal import device
    from ethereal.device.execution import execute

    chip = replace(device.find_core(target), flash_bytes=1 << 24)
    found = execute(rival, chip, ram_bytes=_PLENTY)
    if _share(found.classes, rival.expected) < 0.95:  # thresholds are rounded to 16 bits
        raise RuntimeError(f"{rival.name} does not answer on {target} as it does on the host")
    flash = found.elf.code_bytes + found.elf.table_bytes
    return {"flash": flash, "instructions": float(np.mean(found.counts))}


def models_of(cell: Cell, data: Dataset, rows: StudyRows) -> Frontier:
    """Our models, from large to small. No test row is seen."""
    bins, n_clauses, T, s, epochs, machines = PLANS[cell.dataset]
    X, settings = rows.X_train, SETTINGS[cell.dataset]
    booleanizer = None if settings.threshold is None else Booleanizer(thresholds=settings.threshold)
    if bins is not None:
        booleanizer = Booleanizer(bins, missing="ignore" if np.isnan(X).any() else "raise")
    groups = data.groups_train
    # Where test rows come from people or times that training rows do not have, so do validation rows.
    if data.groups is not None and groups is not None and np.isin(data.groups[data.test], groups).all():
        groups = None
    return frontier(
        X,
        rows.y_train,
        Setup((), (), n_clauses, T, s, None, None, machines, "votes", 0.0),
        splits=SPLITS.get(cell.dataset, 1),
        teachers=LESSONS.get(cell.dataset, TEACHERS),
        groups=groups,
        epochs=epochs if cell.epochs is None else cell.epochs,
        booleanizer=booleanizer,
        random_state=cell.seed,
    )


def _within(models: Frontier, beside: dict[str, Any], rows: StudyRows) -> dict[str, Any]:
    """Return our models within parts of what the others take, and the best of all."""
    X, y = rows.X_test, rows.y_test
    words, scan = beside["redress_bytes"], beside["scan_instructions"]
    quarter = beside["forest_flash"] / 4
    # A scan takes as long for all rows, so our worst row counts against it, and our mean against a forest.
    worst, usual = (on_device(models.X, TARGET, of_rows=f) for f in (np.max, np.mean))
    budgets = (
        (Budget(words / 5, instructions=scan / 10), worst),
        (Budget(words / 12, instructions=scan / 10), worst),
        (Budget(quarter), usual),
        (Budget(quarter, instructions=beside["forest_instructions"]), usual),
    )
    points = [p for curve in models.curves.values() for p in curve.curve]
    best = max(points, key=lambda p: (p.accuracy, -p.estimate.bytes))
    found: dict[str, Any] = {"tuned": _share(best.model.predict(X), y), "within": {}}
    for label, (budget, measure) in zip(BOUNDS, budgets, strict=True):
        point = models.choose(budget, measure=measure, cheapest=False)
        accuracy = _share(point.model.predict(X), y)
        found["within"][label] = {"fits": point.fits, "accuracy": accuracy, **asdict(point.footprint)}
    return found


def _share(answers: NDArray[Any], y: NDArray[Any]) -> float:
    return float((answers == y).mean())


def tables(results: dict[Cell, dict[str, Any]]) -> Iterator[Table]:
    """Make the tables beside the study's words and beside the forest."""
    yield Table(
        "budget-words",
        "Within parts of the REDRESS words of the study's ETHEREAL",
        columns(
            "set | n:n:d | ethereal:ETHEREAL %:.1f± | redress_bytes:REDRESS bytes:.0f | "
            "scan_instructions:scan:.0f | bound | ours:ours %:.1f± | bytes:flash:.0f | "
            "fewer_bytes:fewer:.1f | instructions:instructions:.0f | fewer_instructions:fewer:.1f"
        ),
        _rows(results, BOUNDS[:2]),
        [_NOT_MET],
    )
    yield Table(
        "budget-forest",
        "Within a quarter of a forest's flash",
        columns(
            "set | n:n:d | vanilla:vanilla %:.1f± | forest:forest %:.1f± | tuned:tuned %:.1f± | "
            "forest_flash:forest flash:.0f | forest_instructions:forest instr.:.0f | bound | "
            "ours:ours %:.1f± | bytes:flash:.0f | instructions:instructions:.0f | cpu_seconds:CPU s:.0f"
        ),
        _rows(results, BOUNDS[2:]),
        [_NOT_MET],
    )


def _rows(results: dict[Cell, dict[str, Any]], bounds: Sequence[str]) -> list[dict[str, Any]]:
    shares = ("ethereal", "vanilla", "forest", "tuned", "ours")
    sizes = ("bytes", "instructions", "redress_bytes", "scan_instructions", "forest_flash")
    made = []
    for name in dict.fromkeys(cell.dataset for cell in results):
        for bound in bounds:
            own = [r | r["within"][bound] for cell, r in results.items() if cell.dataset == name]
            own = [r | {"ours": r["accuracy"]} for r in own]
            row: dict[str, Any] = {"set": name, "n": len(own), "bound": bound}
            if not all(r["fits"] for r in own):
                row["bound"] += " (not met)"
            for key in shares:
                row |= statistics(key, (100 * r[key] for r in own))
            for key in (*sizes, "forest_instructions", "cpu_seconds"):
                row[key] = float(np.mean([r[key] for r in own]))
            row["fewer_bytes"] = row["redress_bytes"] / row["bytes"]
            row["fewer_instructions"] = row["scan_instructions"] / row["instructions"]
            made.append(row)
    return made
