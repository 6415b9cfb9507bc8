"""The forest that a run is compared with: trained, tried at several sizes, and measured on the board."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from ethereal.datasets.rows import Rows
from ethereal.runs.scores import scores

SIZES = (5, 10, 25)  # trees, each forest holds the trees of the one before
DEPTH = 14
_NODE_BYTES = 6  # of a forest's code, at least
_MOST_NODES = 60_000  # that are compiled, which takes a minute
_AT_LEAST = 10.0  # seconds that a forest may always take


def grow(rows: Rows, seed: int, seconds: float, progress: Callable[[int], None]) -> dict[str, Any]:
    """Return the forest's figures at each size, or why there are none. A comparison must not stop the run.

    Trees are added until there are 25, or until they took more than `seconds`.
    """
    why = why_not(rows)
    if why is not None:
        return {"left_out": why}
    begin, sizes = time.perf_counter(), []
    try:
        for trees, forest in _growing(rows, seed):
            sizes.append({"trees": trees, "nodes": _nodes(forest)})
            sizes[-1] |= scores(forest.predict(rows.X_test), rows.y_test, rows.groups_test)
            progress(trees)
            if time.perf_counter() - begin > max(seconds, _AT_LEAST):
                break
    except (ValueError, MemoryError) as error:
        return {"left_out": str(error)}
    return {**sizes[-1], "sizes": sizes, "random_state": seed, "seconds": time.perf_counter() - begin}


def _growing(rows: Rows, seed: int) -> Iterator[tuple[int, RandomForestClassifier]]:
    forest = RandomForestClassifier(SIZES[0], max_depth=DEPTH, random_state=seed, n_jobs=-1, warm_start=True)
    for trees in SIZES:
        forest.set_params(n_estimators=trees)
        yield trees, forest.fit(rows.X_train, rows.y_train)


def _nodes(forest: RandomForestClassifier) -> int:
    return int(sum(tree.tree_.node_count for tree in forest.estimators_))


def why_not(rows: Rows) -> str | None:
    """Return why a forest cannot learn from these rows, with the column, or None when it can."""
    for X in (rows.X_train, rows.X_test):
        if X.dtype.kind != "f":
            continue
        beyond = (np.abs(X) > np.finfo(np.float32).max).any(axis=0)  # infinity too, but not NaN
        if beyond.any():
            f = int(np.argmax(beyond))
            name = f"column {f + 1}" if rows.feature_names is None else f"column {rows.feature_names[f]!r}"
            return f"{name} has values that 32-bit floats cannot hold, infinity or beyond 3.4e38"
    return None


def again(found: dict[str, Any], rows: Rows, X: NDArray[Any], flash: int) -> RandomForestClassifier:
    """Return the forest of a run, made again from its seed, or say why a board cannot hold it."""
    if "left_out" in found:
        raise ValueError(found["left_out"])
    if X.dtype.kind == "f" and np.isnan(X).any():
        raise ValueError("forests through emlearn take no missing values")
    if found["nodes"] * _NODE_BYTES > flash:  # which a compiler would find out in many minutes
        raise ValueError(f"its {found['nodes']:,} nodes do not fit a flash of {flash:,} bytes")
    if found["nodes"] > _MOST_NODES:
        raise ValueError(f"it takes minutes to compile its {found['nodes']:,} nodes")
    forest = RandomForestClassifier(
        found["trees"], max_depth=DEPTH, random_state=found["random_state"], n_jobs=-1
    )
    return forest.fit(rows.X_train, rows.y_train)
