"""What the study's models cost on the emulated board, in cells made of the cells of table 2.

`board-ethereal` and `board-vanilla` take the machine of the same set, protocol and seed from the store, or
train it. `board-forest` takes the trees and the depth that were chosen for it, and `board-bnn256` trains a
network. Each is compiled for the Cortex-M7, executed on test rows, and counted.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from ethereal.base.package import lacks
from ethereal.chips.toolchain import TOOLS, missing_tools
from ethereal.features.packing import evenly, pack
from ethereal.model import Model
from ethereal.runs.forest import without_missing
from ethereal_study import cells
from ethereal_study.baselines import BNNClassifier
from ethereal_study.cells import BNN_UNITS, MACHINES, StudyRows
from ethereal_study.store import Cell, Store

TARGET = "cortex-m7"
N_ROWS = 200  # test rows that are executed, evenly from all
PREFIX = "board-"
BOARD = tuple(PREFIX + method for method in ("forest", "bnn256", "vanilla", "ethereal"))
_TOOLS = (*TOOLS, "emlearn")
# The code that decides what a model costs.
_MACHINE_CODE = tuple(f"ethereal/{x}" for x in ("export", "device", "chips", "model", "tuning"))
_DEVICE = ("emulator", "program", "measurement", "baselines")
_BASELINE_CODE = ("ethereal_study/baselines", "ethereal/chips", *(f"ethereal/device/{x}.py" for x in _DEVICE))


def require_tools() -> None:
    """Tell what is missing before hours of training, not after."""
    if missing := missing_tools("emlearn"):
        raise ValueError(lacks("A comparison on the board", ", ".join(missing), "device", "study"))


def compute(cell: Cell, store: Store) -> dict[str, Any]:
    """Return accuracy on all test rows and the cost of each form, from the store when it is there."""
    method = cell.measured
    code = _MACHINE_CODE if method in MACHINES else _BASELINE_CODE
    on = cells.basis(cell.dataset) | {"code": fingerprint(code)}
    accuracy, model = machine_of(cell, store, on)
    if method == "forest":
        chosen = cells.compute(replace(cell, method=method), store)
        on["forest"] = [chosen["trees"], chosen["depth"]]

    def measured(rows: StudyRows) -> tuple[dict[str, Any], None]:
        if model is not None:
            return _machine(_with_typical_rows(model, rows), rows, method) | {"accuracy": accuracy}, None
        return _forest(rows, cell.seed, *on["forest"]) if method == "forest" else _network(rows, cell), None

    return cells.kept_or_made(cell, store, on, measured)


def machine_of(cell: Cell, store: Store, on: dict[str, Any]) -> tuple[float, Model | None]:
    """Return accuracy and model of the machine that a cell measures. `on` gets its fingerprint.

    A cell of a forest or a network has no machine: its accuracy is 0 here, and its model None.
    """
    machine = replace(cell, method=cell.measured)
    if machine.method not in MACHINES:
        return 0.0, None
    accuracy = cells.compute(machine, store)["accuracy"]
    on["model"] = hashlib.sha256(store.model_path(machine).read_bytes()).hexdigest()
    return accuracy, Model.load(store.model_path(machine))


def _machine(model: Model, rows: StudyRows, method: str) -> dict[str, Any]:
    """Measure the scan of a machine's REDRESS words, and an ETHEREAL machine in every layout."""
    from ethereal.device import measure_layouts, measure_program
    from ethereal.device.baselines import redress_scan

    X = rows_to_execute(rows, N_ROWS)
    measured = [measure_program(redress_scan(model, X), TARGET)]
    if method == "ethereal":
        measured += measure_layouts(model, X, TARGET)
    return {"forms": {m.name: m.as_dict() for m in measured}, "heap": _heap(model)}


def _with_typical_rows(model: Model, rows: StudyRows) -> Model:
    """A model that was kept before models carried rows gets them now."""
    if model.typical_rows is not None:
        return model
    X = rows.X_train
    packed = pack(X, np.zeros(len(X), np.int32), model.booleanizer, evenly(len(X), 256))
    return model.with_typical_rows(packed.sample())


def _heap(model: Model) -> dict[str, int] | None:
    """Return bytes of heap in MicroPython for code, tables and the paper's words, None without Node."""
    from ethereal_study.micropython import InterpreterMissingError, micropython_heap

    try:
        return micropython_heap(model)
    except InterpreterMissingError:
        return None


def _forest(rows: StudyRows, seed: int, n_trees: int, depth: int) -> dict[str, Any]:
    """The forest that table 2 chose, through emlearn."""
    from ethereal.device import measure_program
    from ethereal.device.baselines import forest_program

    rows, estimator = grown_forest(rows, n_trees, depth, seed)
    whole = forest_program(estimator, rows.X_test)  # its trees vote with their majority class
    accuracy = float((estimator.classes_[whole.expected] == rows.y_test).mean())
    few = evenly(len(whole.rows), N_ROWS)
    measured = measure_program(replace(whole, rows=whole.rows[few], expected=whole.expected[few]), TARGET)
    return {"accuracy": accuracy, "trees": n_trees, "depth": depth, "forms": {"forest": measured.as_dict()}}


def _network(rows: StudyRows, cell: Cell) -> dict[str, Any]:
    from ethereal.device import measure_program
    from ethereal_study.baselines import bnn

    rows, trained = trained_network(rows, cell)
    measured = measure_program(bnn(trained.network_, rows_to_execute(rows, N_ROWS)), TARGET)
    return {"accuracy": float(trained.score(rows.X_test, rows.y_test)), "forms": {"bnn": measured.as_dict()}}


def grown_forest(rows: StudyRows, trees: int, depth: int, seed: int) -> tuple[StudyRows, Any]:
    """Return a forest, and its rows, whose missing values are medians."""
    rows = without_missing(rows)
    forest = RandomForestClassifier(trees, max_depth=depth, random_state=seed)
    return rows, forest.fit(rows.X_train, rows.y_train)


def trained_network(rows: StudyRows, cell: Cell) -> tuple[StudyRows, BNNClassifier]:
    """Return the network that a cell measures, and its rows, which are Booleans."""
    rows = replace(rows, X=rows.bits())
    units = BNN_UNITS[cell.measured]
    network = BNNClassifier(n_units=units, epochs=cell.epochs, random_state=cell.seed)
    return rows, network.fit(rows.X_train, rows.y_train)


def rows_to_execute(rows: StudyRows, n: int) -> NDArray[Any]:
    """Return so many test rows, evenly from all."""
    return rows.X_test[evenly(len(rows.X_test), n)]


@cache
def fingerprint(places: tuple[str, ...]) -> str:
    """Return a fingerprint of the code that decides what models cost."""
    digest = hashlib.sha256()
    src = Path(__file__).parent.parent
    for place in places:
        if not (src / place).exists():
            raise FileNotFoundError(
                f"{place} is not a part of the packages. Mend the list in ethereal_study/board.py"
            )
        for path in sorted((src / place).rglob("*")) or [src / place]:
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(path.relative_to(src).as_posix().encode() + b"\0" + path.read_bytes())
    for tool in _TOOLS:
        try:
            digest.update(f"{tool} {metadata.version(tool)}".encode())
        except metadata.PackageNotFoundError:
            continue
    return digest.hexdigest()
