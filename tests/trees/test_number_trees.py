"""Trees that answer a number, and isolation forests: the Model and its C answer like the library."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import ensemble as forests
from sklearn import tree as trees
from sklearn.datasets import load_diabetes

import ethereal
from ethereal.device import find_target
from ethereal.device.program import execute, on_rows
from ethereal.export import choose
from ethereal.trees import import_trees
from ethereal.trees.clauses import model_of
from ethereal.trees.importing import _answers_of
from ethereal.trees.plain import Ensemble, Tree

X, Y = load_diabetes(return_X_y=True)
X = X.astype(np.float32).astype(np.float64)  # no value lies between two float32 numbers


def _lightgbm(**options):
    lightgbm = pytest.importorskip("lightgbm", reason="needs lightgbm, in the extra study")
    pytest.importorskip("treelite", reason="needs treelite, in the extra trees")
    return lightgbm.LGBMRegressor(
        n_estimators=6, num_leaves=7, verbose=-1, random_state=0, n_jobs=1, **options
    )


def _xgboost(**options):
    xgboost = pytest.importorskip("xgboost", reason="needs xgboost, in the extra test")
    pytest.importorskip("treelite", reason="needs treelite, in the extra trees")
    return xgboost.XGBRegressor(n_estimators=6, max_depth=3, random_state=0, n_jobs=1, **options)


KINDS = {
    "tree": lambda: trees.DecisionTreeRegressor(max_depth=4, random_state=0),
    "extra tree": lambda: trees.ExtraTreeRegressor(max_depth=4, random_state=0),
    "forest": lambda: forests.RandomForestRegressor(6, max_depth=5, random_state=0),
    "extra trees": lambda: forests.ExtraTreesRegressor(6, max_depth=5, random_state=0),
    "boosting": lambda: forests.GradientBoostingRegressor(n_estimators=6, loss="huber", random_state=0),
    "histograms": lambda: forests.HistGradientBoostingRegressor(max_iter=6, random_state=0),
    "lightgbm": _lightgbm,
    "lightgbm rf": lambda: _lightgbm(boosting_type="rf", bagging_freq=1, bagging_fraction=0.6),
    "xgboost": _xgboost,
    "xgboost dart": lambda: _xgboost(booster="dart", rate_drop=0.5),
}


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_differ_by_no_more_than_rounding(kind):
    # Large labels, so that float32 rounds what is added up.
    estimator, y = KINDS[kind](), Y * 1000 + 1e6
    estimator.fit(X[::2], y[::2])
    result = import_trees(estimator, X)
    differences = np.abs(result.model.predict(X) - estimator.predict(X))
    assert result.difference == differences.max() <= result.bound < 0.002 * np.ptp(y)
    assert result.n_differing == 0
    assert result.n_certain >= len(X) - 1  # float32 takes a value over a threshold of a library in float64
    assert np.log2(result.model.output.scale) % 1 == 0
    assert "largest difference" in str(result)
    narrow = import_trees(estimator, X, votes=15)
    assert result.bound < narrow.difference <= narrow.bound


def test_missing_values_of_numbers_go_where_the_library_sends_them():
    rows = X.copy()
    rows[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    estimator = forests.RandomForestRegressor(4, max_depth=5, random_state=0).fit(rows, Y)
    result = import_trees(estimator, rows)
    assert result.difference <= result.bound


def test_trees_without_a_test_are_a_constant_number():
    stump = Tree([-1], [-1], [0], [0.0], [[2.5]])
    model = model_of(Ensemble([stump, stump], None, 2, base=np.array([1.0])))
    assert model.predict([[1.0, 2.0], [-5.0, 0.0]]).tolist() == [6.0, 6.0]


def test_many_leaves_keep_sums_that_float32_holds():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 2)).astype(np.float32)
    tree = trees.ExtraTreeRegressor(random_state=0).fit(rows, rng.normal(size=4000))
    result = import_trees(tree, rows, votes=32767)
    assert result.difference <= result.bound
    assert result.model.needs.heaviest_vote < 32767


def test_the_c_gives_the_numbers_of_the_host_and_pruning_makes_it_small():
    pytest.importorskip("unicorn")
    forest = forests.RandomForestRegressor(5, min_samples_leaf=12, random_state=0).fit(X[::2], Y[::2])
    model = ethereal.from_trees(forest, X[::2])
    for one in (model, ethereal.prune(model, X[::2], Y[::2], flash="1k").model):
        program = on_rows(choose(one), X[:40])
        assert np.array_equal(execute(program, find_target("cortex-m7")).classes, program.expected)
        assert np.corrcoef(one.predict(X[1::2]), Y[1::2])[0, 1] > 0.5


@pytest.mark.parametrize("contamination", ["auto", 0.1])
@pytest.mark.parametrize("options", [{}, {"max_features": 0.5}, {"max_samples": 1}])
def test_isolation_forests_answer_like_the_library(contamination, options):
    options = {"n_estimators": 20, "contamination": contamination, "random_state": 0, **options}
    forest = forests.IsolationForest(**options).fit(X[::2])
    result = import_trees(forest, X)
    assert result.model.classes.tolist() == [-1, 1]
    assert (result.model.predict(X) == forest.predict(X)).all()
    assert result.n_certain > 0.9 * len(X) or "max_samples" in options
    assert (result.n_rows, result.n_differing) == (len(X), 0)


def test_the_limit_of_an_isolation_forest_is_the_score_of_a_row():
    """A share that is a whole number of rows puts the limit on a row, which must stay normal."""
    for seed in range(5):
        forest = forests.IsolationForest(n_estimators=15, contamination=0.1, random_state=seed).fit(X[:441])
        model = ethereal.from_trees(forest, X[:441])
        assert (model.predict(X[:441]) == forest.predict(X[:441])).all()


def test_a_walk_answers_where_there_is_no_predict():
    estimator = _xgboost().fit(X, Y)
    result = import_trees(estimator.get_booster(), X)
    assert result.difference <= result.bound
    rows = X.astype(np.float32)
    ensemble = Ensemble([Tree([-1], [-1], [0], [0.0], [[2.5]])], None, 10)
    assert _answers_of("a.json", X, ensemble, rows).tolist() == [2.5] * len(X)
