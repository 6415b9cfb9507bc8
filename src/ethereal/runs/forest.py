"""The forest that a run is compared with: grown plain and tuned, and made again for the board."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from ethereal.datasets.rows import Rows
from ethereal.device.baselines import exported_vote
from ethereal.runs.scores import scores
from ethereal.runs.tuned_forest import ForestShape, choose_shape, per_halving

SIZES = (5, 10, 25)  # trees, each forest holds the trees of the one before
_NODE_BYTES = 6  # of a forest's code, at least
_MOST_NODES = 60_000  # that are compiled, which takes a minute
_AT_LEAST = 10.0  # seconds that a forest may always take

_Rows = TypeVar("_Rows", bound=Rows)


def grow(rows: Rows, seed: int, seconds: float, progress: Callable[[int], None]) -> dict[str, Any]:
    """Return the figures of the tuned forest and of plain ones, or why there are none.

    A comparison must not stop the run. Plain trees are added until there are 25, or until they took more than
    `seconds`. Then the tuned forest is chosen, if there is time left. Without it the plain forest stands
    alone. `sizes` has all of them, the plain ones first.
    """
    why = why_not(rows)
    if why is not None:
        return {"left_out": why}
    n_missing = _missing(rows)
    rows = without_missing(rows)
    begin = time.perf_counter()
    sizes: list[dict[str, Any]] = []
    try:
        for shape, forest in _growing(rows, seed):
            sizes.append(_figures(shape, forest, rows))
            progress(shape.trees)
            if time.perf_counter() - begin > max(seconds, _AT_LEAST):
                break
        else:
            shape = choose_shape(rows.X_train, rows.y_train, rows.groups_train, seed=seed, n_jobs=-1)
            tuned = shape.new(seed, n_jobs=-1).fit(rows.X_train, rows.y_train)
            found = _figures(shape, tuned, rows)  # which may be one of the plain forests
            sizes = [one for one in sizes if (one["trees"], one["leaves"]) != (shape.trees, shape.leaves)]
            sizes.append(found | {"tuned": True, "per_halving": per_halving(rows.y_train)})
    except (ValueError, MemoryError) as error:
        if not sizes:
            return {"left_out": str(error)}
    more = {"sizes": sizes, "random_state": seed, "missing": n_missing}
    return {**sizes[-1], **more, "seconds": time.perf_counter() - begin}


def _growing(rows: Rows, seed: int) -> Iterator[tuple[ForestShape, RandomForestClassifier]]:
    forest = ForestShape(SIZES[0]).new(seed, n_jobs=-1).set_params(warm_start=True)
    for trees in SIZES:
        forest.set_params(n_estimators=trees)
        yield ForestShape(trees), forest.fit(rows.X_train, rows.y_train)


def _figures(shape: ForestShape, forest: RandomForestClassifier, rows: Rows) -> dict[str, Any]:
    """Return the size of a forest, and how right the vote is that runs on the board."""
    n_nodes = int(sum(tree.tree_.node_count for tree in forest.estimators_))
    answers = forest.classes_[exported_vote(forest, rows.X_test)]
    found = scores(answers, rows.y_test, rows.groups_test)
    return {"trees": shape.trees, "leaves": shape.leaves, "nodes": n_nodes, **found}


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


def _missing(rows: Rows) -> int:
    return int(np.isnan(rows.X).sum()) if rows.X.dtype.kind == "f" else 0


def without_missing(rows: _Rows) -> _Rows:
    """Return rows in which a missing value is the median of the feature's training rows, as float32.

    Forests through emlearn know no missing values. A feature without any value becomes 0.

    >>> rows = Rows(np.array([[1.0], [3.0], [np.nan]]), np.arange(3), test=np.array([False, False, True]))
    >>> without_missing(rows).X_test.tolist()
    [[2.0]]
    """
    X = rows.X.astype(np.float32)
    absent = np.isnan(X)
    if absent.any():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a feature without any value
            medians = np.nan_to_num(np.nanmedian(replace(rows, X=X).X_train, axis=0))
        X = np.where(absent, medians, X)
    return replace(rows, X=X)


def again(found: dict[str, Any], rows: Rows, flash: int) -> RandomForestClassifier:
    """Return a forest of a run, made again from its seed, or say why a board cannot hold it.

    `rows` have no missing values, see `without_missing`.
    """
    if found["nodes"] * _NODE_BYTES > flash:  # which a compiler would find out in many minutes
        raise ValueError(f"its {found['nodes']:,} nodes do not fit a flash of {flash:,} bytes")
    if found["nodes"] > _MOST_NODES:
        raise ValueError(f"it takes minutes to compile its {found['nodes']:,} nodes")
    shape = ForestShape(found["trees"], found["leaves"])
    return shape.new(found["random_state"], n_jobs=-1).fit(rows.X_train, rows.y_train)
