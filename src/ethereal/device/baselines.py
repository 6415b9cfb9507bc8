"""What models are compared with on a core: a scikit-learn forest, and the paper's scan of words."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.base.package import lacks
from ethereal.device.program import CProgram, on_rows
from ethereal.export.c99.layouts import find_layout
from ethereal.export.c99.program import program_of
from ethereal.export.options import ExportOptions
from ethereal.model import Model
from ethereal.model.engine import booleans_of

Floats = NDArray[np.float64]
LOW, HIGH = -32000, 32000  # of a scaled feature. The rest is for values beyond the thresholds.


def forest_program(estimator: Any, X: ArrayLike) -> CProgram:
    """A fitted RandomForestClassifier or ExtraTreesClassifier as inline code over 16-bit features.

    emlearn compares integers, so each feature is scaled linearly to 16 bits with its lowest and highest
    threshold at the ends, and thresholds are rounded so that `x <= threshold` stays what it was, unless a
    value and a threshold fall into the same of 64,000 steps. Trees vote with their majority class, as emlearn
    has it. `expected` is the same vote over scikit-learn's own trees.
    """
    if importlib.util.find_spec("emlearn") is None:
        raise ModuleNotFoundError(lacks("A forest on the device", "emlearn", "study"))
    with np.errstate():  # importing emlearn changes numpy's error handling for the whole process
        from emlearn.trees import Wrapper, generate_c_inlined

    rows = np.asarray(X, dtype=np.float32).astype(np.float64)  # what scikit-learn compares
    trees = [tree.tree_ for tree in estimator.estimators_]
    n, n_classes = rows.shape[1], len(estimator.classes_)
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    for tree in trees:
        inner = tree.children_left != -1
        np.minimum.at(low, tree.feature[inner], tree.threshold[inner])
        np.maximum.at(high, tree.feature[inner], tree.threshold[inner])
    low, scale = scaling(low, high)
    scaled = (_scaled_tree(tree, low, scale) for tree in trees)
    grown = [SimpleNamespace(tree_=tree, n_features_in_=n, n_classes_=n_classes) for tree in scaled]
    flat = Wrapper(SimpleNamespace(estimators_=grown), "inline", dtype="int16_t").forest_
    code = generate_c_inlined(flat, "forest", n, n_classes=n_classes, dtype="int16_t", include_proba=False)
    function = "int32_t forest_predict("
    declared = f"{function}const int16_t *features, int32_t features_length);\n{function}"
    files = {"forest.c": code.replace(function, declared, 1), "support.c": support()}
    answers = exported_vote(estimator, rows)
    return CProgram("forest", files, "forest_predict", to_int16(rows, low, scale), answers)


def support() -> str:
    """Return what a compiler may call for arrays, as C."""
    return (resources.files("ethereal.device") / "support.c").read_text(encoding="utf-8")


def majority(votes: Sequence[NDArray[np.intp]], n_classes: int) -> NDArray[np.intp]:
    """Return the class that most trees vote for, the lowest one on a tie. `votes` are trees x rows.

    >>> majority([np.array([0, 1]), np.array([2, 1]), np.array([2, 0])], 3).tolist()
    [2, 1]
    """
    counts = np.zeros((len(votes[0]), n_classes), dtype=np.intp)
    for vote in votes:
        counts[np.arange(len(vote)), vote] += 1
    return np.asarray(counts.argmax(axis=1))


def exported_vote(forest: Any, X: NDArray[Any]) -> NDArray[np.intp]:
    """Return class indices by the vote that emlearn exports: each tree votes for its majority class."""
    rows = np.ascontiguousarray(X, dtype=np.float32)  # what scikit-learn compares
    trees = [tree.tree_ for tree in forest.estimators_]
    votes = [tree.value[:, 0].argmax(axis=1)[tree.apply(rows)] for tree in trees]
    return majority(votes, len(forest.classes_))


def scaling(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return lows and steps per unit from the extreme thresholds, which are infinite if there are none."""
    unused = ~np.isfinite(low)
    low, high = np.where(unused, 0.0, low), np.where(unused, 1.0, high)
    span = np.where(high > low, high - low, 1.0)
    return low, (HIGH - LOW) / span


def to_int16(rows: Floats, low: Floats, scale: Floats) -> NDArray[np.int16]:
    """Return features as the scaled thresholds take them."""
    scaled: Floats = np.floor((rows - low) * scale) + LOW
    return np.clip(scaled, -32768, 32767).astype(np.int16)


def _scaled_tree(tree: Any, low: Floats, scale: Floats) -> SimpleNamespace:
    """The arrays of a tree, thresholds as integers: emlearn goes left when feature < threshold."""
    inner, threshold = tree.children_left != -1, np.zeros(tree.node_count)
    f = tree.feature[inner]
    threshold[inner] = np.floor((tree.threshold[inner] - low[f]) * scale[f]) + LOW + 1
    kept = ("node_count", "value", "children_left", "children_right", "feature")
    return SimpleNamespace(threshold=threshold, **{name: getattr(tree, name) for name in kept})


def redress_scan(model: Model, X: ArrayLike) -> CProgram:
    """Return the model in REDRESS words as the study has it, not simplified and without Booleanizing.

    It is the layout "redress". A row has a byte for every Boolean in use.

    >>> model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])
    >>> redress_scan(model, [[True, True], [False, False]]).expected
    array([0, 1])
    """
    of_booleans = Model.of(model.clauses, classes=model.classes)
    options = ExportOptions(layout="redress", name="scan")
    program = program_of(of_booleans, of_booleans, options, find_layout("redress"), None)
    scan, _ = on_rows(program, booleans_of(model, X)).steps
    return replace(scan, name="redress scan", is_model=False)
