"""What the study's models cost on the emulated board, in cells made of the cells of table 2.

`board-ethereal` and `board-vanilla` take the machine of the same set, protocol and seed from the store, or
train it. `board-forest` takes the trees and the depth that were chosen for it, and `board-bnn256` trains a
network. Each is compiled for the Cortex-M7, executed on test rows, and counted.
"""

from __future__ import annotations

import hashlib
import importlib.util
import time
from dataclasses import replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from threadpoolctl import threadpool_limits

from ethereal.base.package import lacks
from ethereal.features.packing import evenly, pack
from ethereal.model import Model
from ethereal.runs.forest import without_missing
from ethereal_study import additions, cells
from ethereal_study.cells import BNN_UNITS, MACHINES, StudyRows
from ethereal_study.rivals import BNNClassifier
from ethereal_study.settings import SETTINGS
from ethereal_study.store import Cell, Store

TARGET = "cortex-m7"
N_ROWS = 200  # test rows that are executed, evenly from all
PREFIX = "board-"
BOARD = tuple(PREFIX + method for method in ("forest", "bnn256", "vanilla", "ethereal"))
_TOOLS = ("ziglang", "unicorn", "emlearn")
# The code that decides what a model costs.
_MACHINE_CODE = tuple(f"ethereal/{x}" for x in ("export", "device", "chips", "model", "tuning"))
_DEVICE = ("emulator", "execution", "measurement", "forest", "redress")
_RIVAL_CODE = ("ethereal_study/rivals", "ethereal/chips", *(f"ethereal/device/{x}.py" for x in _DEVICE))


def require_tools() -> None:
    """Tell what is missing before hours of training, not after."""
    missing = [tool for tool in _TOOLS if importlib.util.find_spec(tool) is None]
    if missing:
        raise ValueError(lacks("A comparison on the board", ", ".join(missing), "device", "study"))


def compute(cell: Cell, store: Store) -> dict[str, Any]:
    """Return accuracy on all test rows and the cost of each form, from the store when it is there."""
    method = cell.measured
    code = _MACHINE_CODE if method in MACHINES else _RIVAL_CODE
    on = cells.basis(cell.dataset) | {"code": fingerprint(code)}
    accuracy, model = machine_of(cell, store, on)
    if method == "forest":
        chosen = cells.compute(replace(cell, method=method), store)
        on["forest"] = [chosen["trees"], chosen["depth"]]
    found = store.get(cell, on)
    if found is not None:
        return found
    data = additions.load(cell.dataset)
    rows = cells.prepare(data, SETTINGS[cell.dataset], cell.protocol)
    start = time.perf_counter()
    with threadpool_limits(1):
        if model is not None:
            result = {"accuracy": accuracy, **_machine(_with_typical_rows(model, rows), rows, method)}
        elif method == "forest":
            result = _forest(rows, cell.seed, *on["forest"])
        else:
            result = _network(rows, cell, BNN_UNITS[method])
    result |= {"completeness": data.completeness, "seconds": time.perf_counter() - start}
    store.put(cell, on, result, None)
    return result


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
    from ethereal.device.redress import redress_scan

    X = _executed(rows)
    found = [measure_program(redress_scan(model, X), TARGET)]
    if method == "ethereal":
        found += measure_layouts(model, X, TARGET)
    return {"forms": {m.name: m.as_dict() for m in found}, "heap": _heap(model)}


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
    from ethereal.device.forest import forest_program

    rows = without_missing(rows)
    estimator = RandomForestClassifier(n_trees, max_depth=depth, random_state=seed)
    estimator.fit(rows.X_train, rows.y_train)
    whole = forest_program(
        estimator, rows.X_test
    )  # its trees vote with their majority class, as on the board
    accuracy = float((estimator.classes_[whole.expected] == rows.y_test).mean())
    few = evenly(len(whole.rows), N_ROWS)
    found = measure_program(replace(whole, rows=whole.rows[few], expected=whole.expected[few]), TARGET)
    return {"accuracy": accuracy, "trees": n_trees, "depth": depth, "forms": {"forest": found.as_dict()}}


def _network(rows: StudyRows, cell: Cell, n_units: int) -> dict[str, Any]:
    from ethereal.device import measure_program
    from ethereal_study.rivals import bnn

    rows = replace(rows, X=rows.bits())
    trained = BNNClassifier(n_units=n_units, epochs=cell.epochs, random_state=cell.seed)
    trained.fit(rows.X_train, rows.y_train)
    found = measure_program(bnn(trained.network_, _executed(rows)), TARGET)
    return {"accuracy": float(trained.score(rows.X_test, rows.y_test)), "forms": {"bnn": found.as_dict()}}


def _executed(rows: StudyRows) -> NDArray[Any]:
    test = rows.X_test
    return test[evenly(len(test), N_ROWS)]


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
