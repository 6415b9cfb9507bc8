"""The study's models in MicroPython, in cells made of the cells of table 2: the paper's own table 3.

`micropython-ethereal` and `micropython-vanilla` take the machine of the same set, protocol and seed from the
store, or train it. `micropython-forest` trains a forest of the study's own trees and depth, and
`micropython-bnn256` a network. Each is interpreted on test rows, and its answers must be the host's.
"""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from threadpoolctl import threadpool_limits

from ethereal.device.forest import exported_vote
from ethereal.features.packing import evenly
from ethereal.runs.forest import without_missing
from ethereal_study import additions, cells
from ethereal_study.board import fingerprint, machine_of
from ethereal_study.cells import BNN_UNITS, StudyRows
from ethereal_study.rivals import BNNClassifier, interpreted
from ethereal_study.settings import SETTINGS
from ethereal_study.store import Cell, Store

N_ROWS = 20  # test rows that are interpreted, evenly from all
PREFIX = "micropython-"
INTERPRETED = tuple(PREFIX + method for method in ("forest", "bnn256", "vanilla", "ethereal"))
_CODE = (
    *(f"ethereal_study/{x}" for x in ("rivals", "micropython.py", "micropython.mjs")),
    "ethereal/model/codes/redress.py",
)


def require_interpreter() -> None:
    """Tell that the interpreter is missing before hours of training, not after."""
    from ethereal_study.micropython import Interpreter, InterpreterMissingError

    try:
        Interpreter()
    except InterpreterMissingError as error:
        raise ValueError(f"--micropython cannot be had. {error}") from error


def compute(cell: Cell, store: Store) -> dict[str, Any]:
    """Return accuracy on all test rows, time per row and heap, from the store when they are there."""
    method = cell.measured
    on = cells.basis(cell.dataset) | {"code": fingerprint(_CODE), "rows": N_ROWS}
    accuracy, model = machine_of(cell, store, on)
    found = store.get(cell, on)
    if found is not None:
        return found
    data = additions.load(cell.dataset)
    rows = cells.prepare(data, SETTINGS[cell.dataset], cell.protocol)
    start = time.perf_counter()
    with threadpool_limits(1):
        if model is not None:
            result = {"accuracy": accuracy, "form": f"{model.n_includes:,} words"}
            rival = interpreted.machine(model, _some(replace(rows, X=rows.bits())))
        elif method == "forest":
            result, rival = _forest(rows, cell, store)
        else:
            result, rival = _network(rows, cell, BNN_UNITS[method])
        measured = interpreted.measure_interpreted(rival)
    if measured.agreement < 1:
        raise RuntimeError(
            f"{cell.key}: MicroPython and this computer differ in {100 * (1 - measured.agreement):.1f} %"
        )
    result |= asdict(measured)
    result |= {"completeness": data.completeness, "seconds": time.perf_counter() - start}
    store.put(cell, on, result, None)
    return result


def _forest(rows: StudyRows, cell: Cell, store: Store) -> tuple[dict[str, Any], interpreted.Interpreted]:
    """Grow a forest of the trees and the depth that the study published for the set, else of chosen ones."""
    published = SETTINGS[cell.dataset].published
    trees, depth = published.forest_trees, published.forest_depth
    if trees is None or depth is None:
        chosen = cells.compute(replace(cell, method="forest"), store)
        trees, depth = chosen["trees"], chosen["depth"]
    rows = without_missing(rows)
    estimator = RandomForestClassifier(trees, max_depth=depth, random_state=cell.seed)
    estimator.fit(rows.X_train, rows.y_train)
    answers = estimator.classes_[exported_vote(estimator, rows.X_test)]
    result = {"accuracy": float((answers == rows.y_test).mean()), "form": f"{trees} x {depth}"}
    return result, interpreted.forest(estimator, _some(rows))


def _network(rows: StudyRows, cell: Cell, n_units: int) -> tuple[dict[str, Any], interpreted.Interpreted]:
    rows = replace(rows, X=rows.bits())
    trained = BNNClassifier(n_units=n_units, epochs=cell.epochs, random_state=cell.seed)
    trained.fit(rows.X_train, rows.y_train)
    result = {"accuracy": float(trained.score(rows.X_test, rows.y_test)), "form": f"{n_units} units"}
    return result, interpreted.network(trained.network_, _some(rows))


def _some(rows: StudyRows) -> np.ndarray[Any, Any]:
    test = rows.X_test
    return test[evenly(len(test), N_ROWS)]
