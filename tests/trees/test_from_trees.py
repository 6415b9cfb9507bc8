"""Every kind of ensemble on a small table: the Model answers like the library."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import ensemble as forests
from sklearn import tree as trees
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import ethereal
from ethereal.trees import import_trees


def _lightgbm(**options):
    lightgbm = pytest.importorskip("lightgbm", reason="needs lightgbm, in the extra study")
    pytest.importorskip("treelite", reason="needs treelite, in the extra trees")
    return lightgbm.LGBMClassifier(
        n_estimators=6, num_leaves=7, verbose=-1, random_state=0, n_jobs=1, **options
    )


def _xgboost(**options):
    xgboost = pytest.importorskip("xgboost", reason="needs xgboost, in the extra test")
    pytest.importorskip("treelite", reason="needs treelite, in the extra trees")
    return xgboost.XGBClassifier(n_estimators=6, max_depth=3, random_state=0, n_jobs=1, **options)


KINDS = {
    "tree": lambda: trees.DecisionTreeClassifier(max_depth=4, random_state=0),
    "extra tree": lambda: trees.ExtraTreeClassifier(max_depth=4, random_state=0),
    "forest": lambda: forests.RandomForestClassifier(6, max_depth=5, random_state=0),
    "extra trees": lambda: forests.ExtraTreesClassifier(6, max_depth=5, random_state=0),
    "boosting": lambda: forests.GradientBoostingClassifier(n_estimators=6, random_state=0),
    "exponential": lambda: forests.GradientBoostingClassifier(
        loss="exponential", n_estimators=6, init="zero", random_state=0
    ),
    "histograms": lambda: forests.HistGradientBoostingClassifier(max_iter=6, random_state=0),
    "lightgbm": _lightgbm,
    "lightgbm rf": lambda: _lightgbm(boosting_type="rf", bagging_freq=1, bagging_fraction=0.6),
    "xgboost": _xgboost,
    "xgboost dart": lambda: _xgboost(booster="dart", rate_drop=0.5),
    "xgboost vectors": lambda: _xgboost(multi_strategy="multi_output_tree", tree_method="hist"),
}
TAKE_MISSING = ["tree", "forest", "extra trees", "histograms", "lightgbm", "xgboost", "xgboost vectors"]


def _table(n_classes):
    X, y = (load_breast_cancer if n_classes == 2 else load_wine)(return_X_y=True)
    return X, y


def _fitted(kind, X, y):
    if kind == "exponential" and len(np.unique(y)) > 2:
        pytest.skip("this loss is for two classes")
    return KINDS[kind]().fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_the_model_answers_like_the_library(kind, n_classes):
    X, y = _table(n_classes)
    estimator = _fitted(kind, X[::2], y[::2])
    result = import_trees(estimator, X)
    # Where two classes are level, a library answers by the rounding of its sums.
    assert (result.model.predict(X) != estimator.predict(X)).sum() == result.n_differing == result.n_ties <= 1
    assert result.n_rows == len(X)
    assert result.certain > 0.9
    assert result.model.provenance["agreement"]["rows"] == len(X)
    assert f"{len(X)} rows" in str(result)


@pytest.mark.parametrize("kind", TAKE_MISSING)
def test_missing_values_go_where_the_library_sends_them(kind):
    X, y = load_wine(return_X_y=True)
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    estimator = _fitted(kind, X[::2], y[::2])
    assert (ethereal.from_trees(estimator, X).predict(X) == estimator.predict(X)).all()
    with pytest.raises(ValueError, match="missing"):
        ethereal.from_trees(estimator).predict(X)


@pytest.mark.parametrize("kind", ["histograms", "lightgbm", "xgboost"])
def test_categories_are_codes(kind):
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=600), rng.integers(0, 7, 600), rng.normal(size=600)])
    y = np.isin(X[:, 1], [1, 4, 6]) ^ (X[:, 0] > 0.3)
    if kind == "histograms":
        estimator = KINDS[kind]().set_params(categorical_features=[1]).fit(X, y)
    elif kind == "lightgbm":
        estimator = _lightgbm(min_data_per_group=1, cat_smooth=1.0)
        estimator.fit(X, y, categorical_feature=[1])
    else:
        estimator = _xgboost(enable_categorical=True, feature_types=["q", "c", "q"], max_cat_to_onehot=2)
        estimator.fit(X, y)
    unseen = X[:40].copy()
    unseen[:, 1] = 9  # a category that fit has not seen
    rows = np.concatenate([X, unseen])
    model = ethereal.from_trees(estimator, rows)
    assert (model.predict(rows) == estimator.predict(rows)).all()
    assert (model.feature_map.is_binned == [False, True, False]).all()


def test_labels_and_names_are_those_of_the_estimator():
    pandas = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True, as_frame=True)
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    forest = forests.RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, labels)
    model = ethereal.from_trees(forest, X)
    assert model.classes.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.input_names == tuple(X.columns)
    assert (model.predict(X) == forest.predict(X)).all()
    renamed = ethereal.from_trees(forest, X, classes=["a", "b", "c"], feature_names=["p", "q", "r", "s"])
    assert renamed.input_names == ("p", "q", "r", "s")
    assert set(renamed.predict(pandas.DataFrame(X.to_numpy(), columns=list("pqrs")))) == {"a", "b", "c"}


def test_thresholds_between_two_float32_numbers_stay_between_them():
    """A tree compares float32 rows with float64 thresholds, which are midpoints of neighbours here."""
    low = np.float32(1.0)
    values = [low]
    for _ in range(3):
        values.append(np.nextafter(values[-1], np.float32(2)))
    X = np.array(values, dtype=np.float32)[:, None]
    y = np.array([0, 1, 0, 1])
    tree = trees.DecisionTreeClassifier(random_state=0).fit(X, y)
    assert ethereal.from_trees(tree, X).predict(X).tolist() == tree.predict(X).tolist()


def test_rows_that_float32_takes_over_a_threshold_are_not_certain():
    X = np.repeat([[0.1], [0.1 + 1e-12], [0.5], [0.9]], 10, axis=0)
    y = np.repeat([0, 1, 1, 1], 10)
    estimator = forests.HistGradientBoostingClassifier(learning_rate=1.0, max_iter=3, min_samples_leaf=1).fit(
        X, y
    )
    result = import_trees(estimator, X)
    assert result.n_differing == 10
    assert result.n_certain <= 30
    with pytest.warns(UserWarning, match="10 of 40 rows otherwise"):
        ethereal.from_trees(estimator, X)


def test_an_early_stop_keeps_the_trees_that_answer():
    X, y = load_wine(return_X_y=True)
    estimator = _xgboost(early_stopping_rounds=2, learning_rate=1.0).set_params(n_estimators=60)
    estimator.fit(X[::2], y[::2], eval_set=[(X[1::2], y[1::2])], verbose=False)
    assert estimator.best_iteration < 59
    result = import_trees(estimator, X)
    assert result.n_trees == 3 * (estimator.best_iteration + 1)
    assert result.n_differing == 0
