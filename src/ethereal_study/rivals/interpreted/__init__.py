"""The study's four methods in MicroPython, each in the manner of its scripts.

Models are text, and so are rows. Machines and networks take 20 rows at a time, forests one. `machine`,
`network` and `forest` make an `Interpreted`, and `measure_interpreted` runs it in a real MicroPython.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.model import Model
from ethereal.model.codes import redress
from ethereal_study.micropython import Interpreter
from ethereal_study.rivals.bnn_classifier import BinaryNetwork

ROWS_AT_ONCE = 20  # as in the study
ROUNDS = 2  # the fastest counts
_HEAP = 128_000_000  # bytes, because this port collects garbage between scripts only


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
    lines = [" ".join(map(str, own.tolist())) for own in np.split(words, np.cumsum(counts)[:-1])]
    of_booleans = Model.of(model.clauses, classes=np.arange(model.n_classes))
    expected = of_booleans.predict(bits).tolist()
    return Interpreted("machine", "".join(f"{line}\n" for line in lines), _texts(bits), expected)


def network(own: BinaryNetwork, bits: NDArray[np.bool_]) -> Interpreted:
    """Return the network. Its inputs are 0 and 1 here, so that a unit's limit is another one."""
    # With inputs of -1 and 1 a sum is twice that of 0 and 1, less all weights.
    limits = -(-(own.thresholds + own.hidden.sum(axis=0, dtype=np.int64)) // 2)
    units = zip(limits.tolist(), _texts(own.hidden.T > 0), strict=True)
    data = "\n".join(f"{limit} {weights}" for limit, weights in units)
    data += "\n\n" + "\n".join(_texts(own.output.T > 0))
    return Interpreted("network", data, _texts(bits), own.class_sums(bits).argmax(axis=1).tolist())


def forest(estimator: Any, X: NDArray[Any]) -> Interpreted:
    """Return a fitted RandomForestClassifier. Its trees vote with their majority class, as in the study."""
    from ethereal.device.forest import exported_vote

    lines = [str(len(estimator.classes_))]
    for tree in (own.tree_ for own in estimator.estimators_):
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


def measure_interpreted(rival: Interpreted, interpreter: Interpreter | None = None) -> Interpretation:
    """Run a method in MicroPython on its rows, and compare its answers with the host's."""
    interpreter = interpreter or Interpreter()
    folder = resources.files(__name__)
    files: dict[str, bytes | str] = {
        "rival.py": (folder / f"{rival.code}.upy").read_text(encoding="utf-8"),
        "measure.py": (folder / "measure.upy").read_text(encoding="utf-8"),
        "data": rival.data,
        "rows": "".join(f"{row}\n" for row in rival.rows),
    }
    scripts = [
        "import gc\ngc.collect()\nheap = gc.mem_alloc()",
        "from rival import Rival\nown = Rival('data')",
        "gc.collect()\nprint(gc.mem_alloc() - heap)",
        "import json, measure\nrows = measure.rows('rows')",
    ]
    # A script for each 20 rows, because garbage is only collected between scripts.
    calls = [
        f"gc.collect()\nprint(json.dumps(measure.time(own, rows[{i}:{i + ROWS_AT_ONCE}], {rival.at_once})))"
        for i in range(0, len(rival.rows), ROWS_AT_ONCE)
    ]
    printed = interpreter.run(files, [*scripts, *calls * ROUNDS], heap=_HEAP)
    timed = [json.loads(text) for text in printed[len(scripts) :]]
    found = [c for _, classes in timed[: len(calls)] for c in classes]
    times = np.array([microseconds for microseconds, _ in timed]).reshape(ROUNDS, len(calls))
    sizes = np.array([len(classes) for _, classes in timed[: len(calls)]])
    return Interpretation(
        rows=len(found),
        agreement=float(np.mean(np.array(found) == np.array(rival.expected))),
        microseconds=float((times.min(axis=0) * sizes).sum() / sizes.sum()),
        heap=int(printed[2]),
    )


def _texts(bits: NDArray[np.bool_]) -> list[str]:
    """Return rows of Booleans as text.

    >>> _texts(np.array([[True, False], [True, True]]))
    ['10', '11']
    """
    return ["".join("1" if bit else "0" for bit in row) for row in bits.tolist()]
