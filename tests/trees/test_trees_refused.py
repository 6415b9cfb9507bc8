"""What does not become a Model is refused by name, with what to do instead."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import ensemble as forests
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import ethereal
from ethereal.trees import boosted
from ethereal.trees.clauses import model_of
from ethereal.trees.plain import Ensemble, Listed, Tree
from ethereal.trees.read import _check

X, Y = load_iris(return_X_y=True)


def fitted(estimator, y=Y):
    return estimator.fit(X, y)


def _isolating(**fitted):
    forest = forests.IsolationForest(n_estimators=2, random_state=0).fit(X)
    vars(forest).update(fitted)
    return forest


REFUSED = {
    "a class": (lambda: DecisionTreeClassifier, TypeError, "fitted"),
    "not fitted": (lambda: DecisionTreeClassifier(), ValueError, "is not fitted"),
    "several numbers": (
        lambda: fitted(forests.RandomForestRegressor(2), np.column_stack([Y, Y, Y])),
        ValueError,
        "answers 3 numbers",
    ),
    "a function of the sum": (
        lambda: fitted(forests.HistGradientBoostingRegressor(loss="poisson", max_iter=2), Y + 1.0),
        ValueError,
        "function of the sum of its leaves .LogLink.",
    ),
    "numbers beyond float32": (
        lambda: fitted(DecisionTreeRegressor(max_depth=2), Y * 1e300),
        ValueError,
        "Train on labels in another unit",
    ),
    "an offset that cannot be": (
        lambda: _isolating(offset_=0.5),
        ValueError,
        "offset_ of the IsolationForest",
    ),
    "a pipeline": (lambda: make_pipeline(StandardScaler(), DecisionTreeClassifier()), TypeError, "last step"),
    "a search": (
        lambda: fitted(GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=2)),
        TypeError,
        "best_estimator_",
    ),
    "another library": (
        lambda: object(),
        TypeError,
        "not read. Give a fitted classifier or regressor of scikit-learn",
    ),
    "another estimator": (lambda: fitted(LogisticRegression(max_iter=500)), TypeError, "LogisticRegression"),
    "several labels": (
        lambda: fitted(forests.RandomForestClassifier(2), np.column_stack([Y, Y])),
        ValueError,
        "answers 2 labels",
    ),
    "a first guess": (
        lambda: fitted(
            forests.GradientBoostingClassifier(n_estimators=2, init=LogisticRegression(max_iter=500))
        ),
        ValueError,
        "init",
    ),
    "a folder": (lambda: "/", ValueError, "is a folder"),
    "a file that is gone": (lambda: "/nowhere/forest.json", FileNotFoundError, "forest.json"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_an_ensemble_of_classes_is_refused_by_name(what):
    make, error, told = REFUSED[what]
    with pytest.raises(error, match=told):
        ethereal.from_trees(make())


def test_labels_and_names_must_be_as_many_as_there_are():
    tree = fitted(DecisionTreeClassifier(max_depth=2))
    with pytest.raises(ValueError, match=r"classes= is given, .* answers a number"):
        ethereal.from_trees(fitted(DecisionTreeRegressor(max_depth=2)), classes=["a", "b"])
    for options, told in (
        ({"classes": ["a"]}, "1 labels, but .* has 3 classes"),
        ({"feature_names": ["a"]}, "1 names, but .* has 4 features"),
        ({"votes": 0}, "votes"),
        ({"missing": "no"}, "missing is 'no'"),
    ):
        with pytest.raises((ValueError, TypeError), match=told):
            ethereal.from_trees(tree, **options)


def test_trees_of_too_many_leaves_are_refused():
    nodes, inner = np.arange(2**18 - 1), 2**17 - 1
    left = np.where(nodes < inner, 2 * nodes + 1, -1)
    tree = Tree(left, left + 1, nodes * 0, nodes + 0.5, np.zeros((len(nodes), 2)))
    with pytest.raises(ValueError, match=r"131,072 leaves\. A Model is made of fewer than 100,000"):
        model_of(Ensemble([tree], np.array([0, 1]), 1))


def test_categories_must_be_small_whole_numbers():
    rows = np.column_stack([X, np.where(Y == 1, 0.5, 2.0)])
    estimator = forests.HistGradientBoostingClassifier(max_iter=1, categorical_features=[4]).fit(rows, Y)
    with pytest.raises(ValueError, match=r"feature 4 has the category .*0\.5"):
        ethereal.from_trees(estimator)
    listed = {0: Listed(frozenset([5000]), True)}
    tree = Tree([1, -1, -1], [2, -1, -1], [0, 0, 0], [0, 0, 0], np.eye(3)[:, :2], listed=listed)
    with pytest.raises(ValueError, match="category 5000"):
        model_of(Ensemble([tree], np.array([0, 1]), 1))


def test_numbers_that_a_library_transforms_are_refused():
    xgboost = pytest.importorskip("xgboost", reason="needs xgboost, in the extra test")
    lightgbm = pytest.importorskip("lightgbm", reason="needs lightgbm, in the extra study")
    pytest.importorskip("treelite", reason="needs treelite, in the extra trees")
    trees = xgboost.XGBRegressor
    for make, objective in ((trees, "count:poisson"), (trees, "binary:logistic"),
                            (lightgbm.LGBMRegressor, "cross_entropy")):  # fmt: skip
        estimator = fitted(make(n_estimators=2, objective=objective), (Y > 0).astype(float))
        with pytest.raises(ValueError, match="function of the sum"):
            ethereal.from_trees(estimator)
    several = fitted(xgboost.XGBRegressor(n_estimators=2), np.column_stack([Y, Y]))
    with pytest.raises(ValueError, match="answers 2 numbers"):
        ethereal.from_trees(several)


def test_nodes_that_make_no_tree_are_refused():
    for left, right, feature in (([1, -1, -1], [1, -1, -1], 0), ([0, -1, -1], [2, -1, -1], 0),
                                 ([1, -1, -1], [9, -1, -1], 0), ([1, -1, -1], [2, -1, -1], 7)):  # fmt: skip
        tree = Tree(left, right, [feature, 0, 0], [0.5, 0, 0], np.zeros((3, 2)))
        with pytest.raises(ValueError, match="tree 0 of trees has nodes"):
            _check(Ensemble([tree], np.array([0, 1]), 1))
    broken = Tree([1, -1, -1], [2, -1, -1], [0, 0, 0], [np.nan, 0, 0], np.zeros((3, 2)))
    with pytest.raises(ValueError, match="not a number"):
        model_of(Ensemble([broken], np.array([0, 1]), 1))


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "treelite", None)
    with pytest.raises(ImportError, match=r"treelite.*ethereal-tm\[trees\]"):
        boosted.treelite()
