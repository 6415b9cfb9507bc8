"""The study's four methods in MicroPython, each in the manner of the paper's scripts: its own table 3.

Models are text, and so are rows. Machines and networks take 20 rows at a time, forests one. `machine`,
`network` and `forest` make an `Interpreted`, and `measure_interpreted` runs it in a real MicroPython.

The cells `micropython-ethereal` and `micropython-vanilla` take the machine of the same set, protocol and seed
from the store, or train it. `micropython-forest` trains a forest of the study's own trees and depth, and
`micropython-bnn256` a network. Each is interpreted on test rows, and its answers must be the host's.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.device.baselines import exported_vote
from ethereal.model import Model
from ethereal.model.codes import redress
from ethereal_study import cells
from ethereal_study.baselines.bnn import BinaryNetwork
from ethereal_study.board import fingerprint, grown_forest, machine_of, rows_to_execute, trained_network
from ethereal_study.cells import StudyRows
from ethereal_study.micropython import Interpreter, InterpreterMissingError
from ethereal_study.settings import SETTINGS
from ethereal_study.store import Cell, Store

ROWS_AT_ONCE = 20  # as in the study
ROUNDS = 2  # the fastest counts
_HEAP = 128_000_000  # bytes, because this port collects garbage between scripts only
N_ROWS = 20  # test rows that are interpreted, evenly from all
PREFIX = "micropython-"
INTERPRETED = tuple(PREFIX + method for method in ("forest", "bnn256", "vanilla", "ethereal"))
_CODE = (
    *(f"ethereal_study/{x}" for x in ("baselines", "interpreted.py", "micropython.py", "micropython.mjs")),
    "ethereal/model/codes/redress.py",
)


@dataclass(frozen=True)
class Interpreted:
    """A method as MicroPython runs it, with rows and the host's answers."""

    code: str  # name of its file
    data: str  # what it loads
    rows: list[str]
    expected: list[int]  # class indices of the host
    at_once: int = ROWS_AT_ONCE


@dataclass(frozen=True)
class Interpretation:
    """What a method took in MicroPython."""

    rows: int
    agreement: float  # share of rows with the host's class
    microseconds: float  # of CPU, per row
    heap: int  # bytes for code and model


def machine(model: Model, bits: NDArray[np.bool_]) -> Interpreted:
    """Return the model, not simplified, in REDRESS words.

    >>> model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])
    >>> found = machine(model, np.array([[True, False]]))
    >>> found.data, found.rows, found.expected
    ('0\\n3\\n', ['10'], [0])
    """
    words, counts = redress.words(model)
    lines = [" ".join(map(str, of_clause.tolist())) for of_clause in np.split(words, np.cumsum(counts)[:-1])]
    of_booleans = Model.of(model.clauses, classes=np.arange(model.n_classes))
    expected = of_booleans.predict(bits).tolist()
    return Interpreted("machine", "".join(f"{line}\n" for line in lines), _texts(bits), expected)


def network(binary: BinaryNetwork, bits: NDArray[np.bool_]) -> Interpreted:
    """Return the network. Its inputs are 0 and 1 here, so that a unit's limit is another one."""
    # With inputs of -1 and 1 a sum is twice that of 0 and 1, less all weights.
    limits = -(-(binary.thresholds + binary.hidden.sum(axis=0, dtype=np.int64)) // 2)
    units = zip(limits.tolist(), _texts(binary.hidden.T > 0), strict=True)
    data = "\n".join(f"{limit} {weights}" for limit, weights in units)
    data += "\n\n" + "\n".join(_texts(binary.output.T > 0))
    return Interpreted("network", data, _texts(bits), binary.class_sums(bits).argmax(axis=1).tolist())


def forest(estimator: Any, X: NDArray[Any]) -> Interpreted:
    """Return a fitted RandomForestClassifier. Its trees vote with their majority class, as in the study."""
    lines = [str(len(estimator.classes_))]
    for tree in (tree_of.tree_ for tree_of in estimator.estimators_):
        leaf, classes = tree.children_left == -1, tree.value[:, 0].argmax(axis=1)
        at = np.concatenate([[0], np.cumsum(np.where(leaf, 2, 4))])  # token of each node
        nodes = (
            f"leaf {classes[i]}"
            if leaf[i]
            else f"{tree.feature[i]} {float(tree.threshold[i])!r} "
            f"{at[tree.children_left[i]]} {at[tree.children_right[i]]}"
            for i in range(tree.node_count)
        )
        lines.append(" ".join(nodes))
    singles = np.asarray(X, dtype=np.float32)  # what scikit-learn compares
    rows = [" ".join(map(repr, row)) for row in singles.astype(np.float64).tolist()]
    data = "".join(f"{line}\n" for line in lines)
    return Interpreted("forest", data, rows, exported_vote(estimator, singles).tolist(), at_once=1)


def measure_interpreted(baseline: Interpreted, interpreter: Interpreter | None = None) -> Interpretation:
    """Run a method in MicroPython on its rows, and compare its answers with the host's."""
    interpreter = interpreter or Interpreter()
    folder = resources.files("ethereal_study.baselines") / "interpreted"
    files: dict[str, bytes | str] = {
        "baseline.py": (folder / f"{baseline.code}.upy").read_text(encoding="utf-8"),
        "measure.py": (folder / "measure.upy").read_text(encoding="utf-8"),
        "data": baseline.data,
        "rows": "".join(f"{row}\n" for row in baseline.rows),
    }
    scripts = [
        "import gc\ngc.collect()\nheap = gc.mem_alloc()",
        "from baseline import Baseline\nown = Baseline('data')",
        "gc.collect()\nprint(gc.mem_alloc() - heap)",
        "import json, measure\nrows = measure.rows('rows')",
    ]
    # A script for each 20 rows, because garbage is only collected between scripts.
    calls = [
        "gc.collect()\n"
        f"print(json.dumps(measure.time(own, rows[{i}:{i + ROWS_AT_ONCE}], {baseline.at_once})))"
        for i in range(0, len(baseline.rows), ROWS_AT_ONCE)
    ]
    printed = interpreter.run(files, [*scripts, *calls * ROUNDS], heap=_HEAP)
    timed = [json.loads(text) for text in printed[len(scripts) :]]
    answers = [c for _, classes in timed[: len(calls)] for c in classes]
    times = np.array([microseconds for microseconds, _ in timed]).reshape(ROUNDS, len(calls))
    sizes = np.array([len(classes) for _, classes in timed[: len(calls)]])
    return Interpretation(
        rows=len(answers),
        agreement=float(np.mean(np.array(answers) == np.array(baseline.expected))),
        microseconds=float((times.min(axis=0) * sizes).sum() / sizes.sum()),
        heap=int(printed[2]),
    )


def _texts(bits: NDArray[np.bool_]) -> list[str]:
    """Return rows of Booleans as text.

    >>> _texts(np.array([[True, False], [True, True]]))
    ['10', '11']
    """
    return ["".join("1" if bit else "0" for bit in row) for row in bits.tolist()]


def require_interpreter() -> None:
    """Tell that the interpreter is missing before hours of training, not after."""
    try:
        Interpreter()
    except InterpreterMissingError as error:
        raise ValueError(f"--micropython cannot be had. {error}") from error


def compute(cell: Cell, store: Store) -> dict[str, Any]:
    """Return accuracy on all test rows, time per row and heap, from the store when they are there."""
    method = cell.measured
    on = cells.basis(cell.dataset) | {"code": fingerprint(_CODE), "rows": N_ROWS}
    accuracy, model = machine_of(cell, store, on)

    def measured(rows: StudyRows) -> tuple[dict[str, Any], None]:
        if model is not None:
            result = {"accuracy": accuracy, "form": f"{model.n_includes:,} words"}
            method_there = machine(model, rows_to_execute(replace(rows, X=rows.bits()), N_ROWS))
        elif method == "forest":
            result, method_there = _forest_cell(rows, cell, store)
        else:
            result, method_there = _network_cell(rows, cell)
        took = measure_interpreted(method_there)
        if took.agreement < 1:
            raise RuntimeError(
                f"{cell.key}: MicroPython and this computer differ in {100 * (1 - took.agreement):.1f} %"
            )
        return result | asdict(took), None

    return cells.kept_or_made(cell, store, on, measured)


def _forest_cell(rows: StudyRows, cell: Cell, store: Store) -> tuple[dict[str, Any], Interpreted]:
    """Grow a forest of the trees and the depth that the study published for the set, else of chosen ones."""
    published = SETTINGS[cell.dataset].published
    trees, depth = published.forest_trees, published.forest_depth
    if trees is None or depth is None:
        chosen = cells.compute(replace(cell, method="forest"), store)
        trees, depth = chosen["trees"], chosen["depth"]
    rows, estimator = grown_forest(rows, trees, depth, cell.seed)
    answers = estimator.classes_[exported_vote(estimator, rows.X_test)]
    result = {"accuracy": float((answers == rows.y_test).mean()), "form": f"{trees} x {depth}"}
    return result, forest(estimator, rows_to_execute(rows, N_ROWS))


def _network_cell(rows: StudyRows, cell: Cell) -> tuple[dict[str, Any], Interpreted]:
    rows, trained = trained_network(rows, cell)
    accuracy = float(trained.score(rows.X_test, rows.y_test))
    result = {"accuracy": accuracy, "form": f"{trained.n_units} units"}
    return result, network(trained.network_, rows_to_execute(rows, N_ROWS))
