"""Classifiers of scikit-learn as plain trees, read from their fitted attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.trees.clauses import MOST_CODES
from ethereal.trees.plain import Ensemble, Listed, Tree

SIMPLE = ("DecisionTreeClassifier", "ExtraTreeClassifier")
FORESTS = ("RandomForestClassifier", "ExtraTreesClassifier")
BOOSTED = "GradientBoostingClassifier"
HISTOGRAMS = "HistGradientBoostingClassifier"


def read(estimator: Any, kind: str) -> Ensemble:
    """Return the trees of a fitted classifier, of which `kind` is the name of its class.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(*load_iris(return_X_y=True))
    >>> read(tree, "DecisionTreeClassifier").n_leaves
    4
    """
    if getattr(estimator, "n_outputs_", 1) > 1 or isinstance(getattr(estimator, "classes_", None), list):
        n = getattr(estimator, "n_outputs_", len(np.atleast_1d(estimator.classes_)))
        raise ValueError(
            f"{kind} answers {n} labels per row. A Model answers one. Train one ensemble per label."
        )
    if kind in SIMPLE or kind in FORESTS:
        parts, logits = _shares([estimator] if kind in SIMPLE else estimator.estimators_), False
    else:
        parts, logits = _boosted(estimator) if kind == BOOSTED else _histograms(estimator), True
    return Ensemble(
        **parts,
        classes=np.asarray(estimator.classes_),
        n_features=int(estimator.n_features_in_),
        feature_names=_names(estimator),
        logits=logits,
        source=f"{kind} of scikit-learn",
    )


def _names(estimator: Any) -> tuple[str, ...] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))


def _simple(fitted: Any, values: NDArray[np.float64]) -> Tree:
    """Return a tree of `sklearn.tree`, whose rows are float32 and whose test is `<=`."""
    tree = fitted.tree_
    to_left = tree.__getstate__()["nodes"]["missing_go_to_left"].astype(bool)
    return Tree(tree.children_left, tree.children_right, tree.feature, tree.threshold, values, ~to_left)


def _shares(estimators: Any) -> dict[str, Any]:
    """Return trees that give the shares of classes in a leaf, of which the mean is taken."""
    trees = []
    for one in estimators:
        counts = np.asarray(one.tree_.value[:, 0, :], dtype=np.float64)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
        trees.append(_simple(one, shares / len(estimators)))
    return {"trees": trees}


def _boosted(estimator: Any) -> dict[str, Any]:
    """Return trees with a value for one class each."""
    start = estimator.init_
    if not isinstance(start, str) and type(start).__name__ != "DummyClassifier":
        raise ValueError(
            f"the estimator begins with a {type(start).__name__}, init=, which is not a tree. Leave init out."
        )
    n_classes, width = len(estimator.classes_), estimator.estimators_.shape[1]
    first = estimator._raw_predict_init(np.zeros((1, estimator.n_features_in_), dtype=np.float32))
    grown = [
        _simple(one, _in_class(estimator.learning_rate * one.tree_.value[:, 0, 0], k, width, n_classes))
        for of_stage in estimator.estimators_
        for k, one in enumerate(of_stage)
    ]
    base = np.asarray(first[0], dtype=np.float64)
    return {"trees": grown, "base": base if width > 1 else np.array([0.0, base[0]]), "tie_last": width == 1}


def _in_class(values: NDArray[Any], k: int, width: int, n_classes: int) -> NDArray[np.float64]:
    """Return values for class `k`, nodes x classes. Two classes share one value, which is for the second."""
    several = np.zeros((len(values), n_classes))
    several[:, k if width > 1 else 1] = values
    return several


def _histograms(estimator: Any) -> dict[str, Any]:
    """Return trees over rows in float64. Categories come first in their rows."""
    n_features, n_classes = int(estimator.n_features_in_), len(estimator.classes_)
    is_category = getattr(estimator, "is_categorical_", None)
    is_category = np.zeros(n_features, dtype=bool) if is_category is None else np.asarray(is_category)
    place = np.concatenate([np.flatnonzero(is_category), np.flatnonzero(~is_category)])  # ours, of theirs
    codes = _codes(estimator, place[: int(is_category.sum())])
    baseline = np.asarray(estimator._baseline_prediction, dtype=np.float64).ravel()
    width = len(baseline)
    trees = [
        _histogram_tree(one, place, codes, k, width, n_classes)
        for of_stage in estimator._predictors
        for k, one in enumerate(of_stage)
    ]
    base = baseline if width > 1 else np.array([0.0, baseline[0]])
    return {"trees": trees, "base": base, "float64_rows": True}


def _codes(estimator: Any, features: NDArray[np.int64]) -> list[list[int]]:
    """Return the value of each code of the features that are categories."""
    if not len(features):
        return []
    codes = []
    encoder = estimator._preprocessor.named_transformers_["encoder"]
    for f, values in zip(features.tolist(), encoder.categories_, strict=True):
        known = [value for value in values if value == value and value is not None]
        wrong = next((value for value in known if not _is_code(value)), None)
        if wrong is not None:
            raise ValueError(
                f"feature {f} has the category {wrong!r}. A Model of trees takes categories that are whole "
                f"numbers from 0 to {MOST_CODES - 1}. Encode them so before you train."
            )
        codes.append([int(value) for value in known])
    return codes


def _is_code(value: Any) -> bool:
    is_number = isinstance(value, (int, float, np.number))
    return is_number and bool(0 <= value < MOST_CODES and int(value) == value)


def _histogram_tree(
    predictor: Any, place: NDArray[np.int64], codes: list[list[int]], k: int, width: int, n_classes: int
) -> Tree:
    nodes = predictor.nodes
    is_leaf = nodes["is_leaf"].astype(bool)
    to_left = nodes["missing_go_to_left"].astype(bool)
    theirs = nodes["feature_idx"].astype(np.int64)
    listed = {}
    for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~is_leaf).tolist():
        words = predictor.raw_left_cat_bitsets[int(nodes["bitset_idx"][node])]
        known = codes[int(theirs[node])]
        lefts = frozenset(code for i, code in enumerate(known) if int(words[i // 32]) >> (i % 32) & 1)
        # A category that fit has not seen goes where a missing value goes.
        is_left = bool(to_left[node])
        listed[node] = Listed(frozenset(known) - lefts, True) if is_left else Listed(lefts, False)
    return Tree(
        np.where(is_leaf, -1, nodes["left"].astype(np.int64)),
        np.where(is_leaf, -1, nodes["right"].astype(np.int64)),
        np.where(is_leaf, 0, place[theirs]),
        np.where(is_leaf, 0.0, nodes["num_threshold"]),
        _in_class(nodes["value"], k, width, n_classes),
        ~to_left,
        listed,
    )
