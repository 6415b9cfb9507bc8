"""Trees of scikit-learn as plain trees, read from their fitted attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.trees.clauses import MOST_CODES
from ethereal.trees.plain import Ensemble, Listed, Tree, refuse_link, refuse_several

_SIMPLE, _FORESTS = ("DecisionTree", "ExtraTree"), ("RandomForest", "ExtraTrees")
_BOOSTED, _HISTOGRAMS = "GradientBoosting", "HistGradientBoosting"
STEMS = (*_SIMPLE, *_FORESTS, _BOOSTED, _HISTOGRAMS)
_ISOLATION = "IsolationForest"
_CONSTANT = "DummyClassifier", "DummyRegressor"  # a first guess that is the same for all rows
KINDS = (*(stem + ending for stem in STEMS for ending in ("Classifier", "Regressor")), _ISOLATION)


def read(estimator: Any, kind: str) -> Ensemble:
    """Return the trees of a fitted estimator, of which `kind` is the name of its class.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(*load_iris(return_X_y=True))
    >>> read(tree, "DecisionTreeClassifier").n_leaves
    4
    """
    is_number, stem = kind.endswith("Regressor"), kind.removesuffix("Classifier").removesuffix("Regressor")
    refuse_several(kind, int(getattr(estimator, "n_outputs_", 1)), "numbers" if is_number else "labels")
    known: dict[str, Any] = {} if is_number or kind == _ISOLATION else {"classes": estimator.classes_}
    if kind == _ISOLATION:
        known |= _isolating(estimator)
    elif stem in _SIMPLE or stem in _FORESTS:
        known |= _means([estimator] if stem in _SIMPLE else estimator.estimators_, is_number)
    else:
        known |= _boosted(estimator) if stem == _BOOSTED else _histograms(estimator)
    return Ensemble(
        **{"classes": None, **known},
        n_features=int(estimator.n_features_in_),
        feature_names=_names(estimator),
        source=f"{kind} of scikit-learn",
    )


def _names(estimator: Any) -> tuple[str, ...] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))


def of_sklearn(tree: Any, values: NDArray[np.float64], columns: NDArray[np.int64] | None = None) -> Tree:
    """Return a tree of `sklearn.tree`, whose rows are float32 and whose test is `<=`.

    It may look at some columns only.
    """
    feature = tree.feature if columns is None else np.where(tree.feature < 0, 0, columns[tree.feature])
    to_left = tree.__getstate__()["nodes"]["missing_go_to_left"].astype(bool)
    return Tree(tree.children_left, tree.children_right, feature, tree.threshold, values, ~to_left)


def _means(estimators: Any, is_number: bool) -> dict[str, Any]:
    """Return trees whose numbers, or shares of classes in a leaf, are averaged."""
    trees = []
    for one in estimators:
        values = np.asarray(one.tree_.value[:, 0, :], dtype=np.float64)
        if not is_number:
            values = values / np.maximum(values.sum(axis=1, keepdims=True), 1e-300)
        trees.append(of_sklearn(one.tree_, values / len(estimators)))
    return {"trees": trees, "logits": False}


def _isolating(estimator: Any) -> dict[str, Any]:
    """Return trees that vote for "normal", 1, by the depth of a leaf, and the depth below which a row is -1.

    The score of a row is 2 ** -(sum of depths / usual), and it is normal up to the score -offset_.
    """
    from sklearn.ensemble._iforest import _average_path_length

    [path] = _average_path_length([estimator.max_samples_]).tolist()
    offset, usual = float(estimator.offset_), path * len(estimator.estimators_)
    if not -1 <= offset < 0:
        raise ValueError(f"offset_ of the IsolationForest is {offset}. It must be below 0, and -1 or more.")
    trees = []
    for one, columns in zip(estimator.estimators_, estimator.estimators_features_, strict=True):
        depths = one.tree_.compute_node_depths() + _average_path_length(one.tree_.n_node_samples) - 1.0
        trees.append(
            of_sklearn(one.tree_, np.column_stack([np.zeros_like(depths), depths]), np.asarray(columns))
        )
    # All scores are 0.5 where it learned from one row.
    base = -np.log2(-offset) * usual if usual else float(offset > -0.5)
    return {"classes": np.array([-1, 1]), "trees": trees, "base": np.array([base, 0.0]), "logits": False,
            "tie_last": True, "whole": True}  # fmt: skip


def _boosted(estimator: Any) -> dict[str, Any]:
    """Return trees with a value for one class each."""
    start = estimator.init_
    if not isinstance(start, str) and type(start).__name__ not in _CONSTANT:
        raise ValueError(
            f"the estimator begins with a {type(start).__name__}, init=, which is not a tree. Leave init out."
        )
    n_columns, width = _n_columns(estimator), estimator.estimators_.shape[1]
    first = estimator._raw_predict_init(np.zeros((1, estimator.n_features_in_), dtype=np.float32))
    grown = [
        of_sklearn(tree, _in_column(estimator.learning_rate * tree.value[:, 0, 0], k, width, n_columns))
        for of_stage in estimator.estimators_
        for k, tree in enumerate(one.tree_ for one in of_stage)
    ]
    base = np.append(np.zeros(n_columns - width), first[0])
    return {"trees": grown, "base": base, "tie_last": width < n_columns}


def _n_columns(estimator: Any) -> int:
    return len(estimator.classes_) if hasattr(estimator, "classes_") else 1


def _in_column(values: NDArray[Any], k: int, width: int, n_columns: int) -> NDArray[np.float64]:
    """Return values for class `k`, nodes x columns. Two classes share one value, which is for the second."""
    several = np.zeros((len(values), n_columns))
    several[:, k if width > 1 else n_columns - 1] = values
    return several


def _histograms(estimator: Any) -> dict[str, Any]:
    """Return trees over rows in float64. Categories come first in their rows."""
    n_features, n_columns = int(estimator.n_features_in_), _n_columns(estimator)
    if n_columns == 1:
        link = type(estimator._loss.link).__name__
        refuse_link(f"HistGradientBoostingRegressor, loss={estimator.loss!r},", link, "IdentityLink")
    is_category = getattr(estimator, "is_categorical_", None)
    is_category = np.zeros(n_features, dtype=bool) if is_category is None else np.asarray(is_category)
    place = np.concatenate([np.flatnonzero(is_category), np.flatnonzero(~is_category)])  # ours, of theirs
    codes = _codes(estimator, place[: int(is_category.sum())])
    baseline = np.asarray(estimator._baseline_prediction, dtype=np.float64).ravel()
    width = len(baseline)
    trees = [
        _histogram_tree(one, place, codes, k, width, n_columns)
        for of_stage in estimator._predictors
        for k, one in enumerate(of_stage)
    ]
    return {"trees": trees, "base": np.append(np.zeros(n_columns - width), baseline), "float64_rows": True}


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
    predictor: Any, place: NDArray[np.int64], codes: list[list[int]], k: int, width: int, n_columns: int
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
        _in_column(nodes["value"], k, width, n_columns),
        ~to_left,
        listed,
    )
