"""The regressor: scikit-learn's contract, accuracy, intervals, directions that hold, and bad input."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from ethereal import Booleanizer, EtherealRegressor, Model, WindowFeatures, prune

# Weights say how often a row is visited, as for the classifier.
WEIGHTS_ARE_MEAN_VISITS = {
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
}


def small(**kwargs):
    return EtherealRegressor(**{"n_clauses": 20, "epochs": 5, "random_state": 1} | kwargs)


@pytest.fixture(scope="module")
def friedman():
    X, y = make_friedman1(900, noise=1, random_state=0)
    return train_test_split(X, y, test_size=0.4, random_state=0)


@pytest.fixture(scope="module")
def fitted(friedman):
    X, _, y, _ = friedman
    return EtherealRegressor(8, 50, random_state=0).fit(X, y)


@pytest.mark.parametrize(
    ("estimator", "check"),
    list(estimator_checks_generator(small(random_state=0))),
    ids=lambda value: getattr(getattr(value, "func", value), "__name__", type(value).__name__),
)
def test_scikit_learns_checks(estimator, check):
    if check.func.__name__ in WEIGHTS_ARE_MEAN_VISITS:
        with pytest.raises(AssertionError):
            check(estimator)
    else:
        check(estimator)


def test_a_number_is_better_than_that_of_a_forest_and_its_interval_holds(friedman, fitted):
    X, X_test, y, y_test = friedman
    forest = RandomForestRegressor(random_state=0).fit(X, y)
    assert fitted.score(X_test, y_test) > forest.score(X_test, y_test) + 0.02
    number = fitted.model_.output
    inside = np.abs(fitted.predict(X_test) - y_test) <= number.half_width
    assert 0.85 < inside.mean() < 0.96
    assert fitted.model_.predict(X_test).dtype == np.float32
    assert np.abs(fitted.model_.weights).max() <= 127
    assert fitted.feature_importances_[:5].min() > fitted.feature_importances_[5:].max()


def test_the_same_seed_gives_the_same_model_for_any_number_of_threads(friedman):
    X, _, y, _ = friedman
    first, second, other = (small(n_jobs=n, random_state=s).fit(X, y) for n, s in ((1, 3), (2, 3), (1, 4)))
    assert first.model_ == second.model_
    assert first.model_ != other.model_


def test_a_pruned_number_is_small_keeps_its_score_and_its_file(friedman, fitted, tmp_path):
    X, X_test, y, y_test = friedman
    pruned = prune(fitted.model_, X, y, validation=(X_test[:180], y_test[:180]))
    X_test, y_test = X_test[180:], y_test[180:]
    assert pruned.model.n_includes < fitted.model_.n_includes / 3

    def r2(model):
        return 1 - np.mean((model.predict(X_test) - y_test) ** 2) / np.var(y_test)

    assert r2(pruned.model) > r2(fitted.model_) - 0.02
    inside = np.abs(pruned.model.predict(X_test) - y_test) <= pruned.model.output.half_width
    assert 0.8 < inside.mean() < 0.98
    small_one = prune(fitted.model_, X[:60], y[:60], flash="1k").model  # its rows were learned from
    assert small_one.output.half_width >= fitted.model_.output.half_width
    losses = [float(point.held_out.loss.mean()) for point in pruned.curve[::8]]
    assert losses[-1] > losses[0]
    assert [p.held_out.score for p in pruned.curve] == [p.accuracy for p in pruned.curve]
    pruned.model.save(tmp_path / "m.etm")
    assert Model.load(tmp_path / "m.etm") == pruned.model


def test_directions_hold_before_and_after_pruning(friedman):
    X, X_test, y, y_test = friedman
    names = [f"s{i}" for i in range(10)]
    rows = pd.DataFrame(X, columns=names)
    reg = EtherealRegressor(8, 40, monotonic={"s3": 1, "s0": 1, "s9": -1}, random_state=0).fit(rows, y)
    assert reg.score(pd.DataFrame(X_test, columns=names), y_test) > 0.85
    curve = prune(reg.model_, rows, y, validation=(X_test, y_test)).curve
    rng, steps = np.random.default_rng(0), np.linspace(-0.5, 1.5, 41)
    for model in [reg.model_, *(point.model for point in curve[4::9])]:
        for f, way in ((3, 1), (0, 1), (9, -1)):
            swept = np.repeat(X_test[rng.integers(len(X_test), size=20)], len(steps), axis=0)
            swept[:, f] = np.tile(steps, 20)
            numbers = model.predict(pd.DataFrame(swept, columns=names)).reshape(20, -1)
            assert (way * np.diff(numbers, axis=1) >= 0).all()
    free = EtherealRegressor(8, 40, random_state=0).fit(X, y).model_
    swept = np.repeat(X_test[:20], len(steps), axis=0)
    swept[:, 3] = np.tile(steps, 20)
    assert (np.diff(free.predict(swept).reshape(20, -1), axis=1) < 0).any()  # so the test can fail


@pytest.fixture(scope="module")
def spectra():
    """Smooth curves, whose bend in one place is the label."""
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.normal(size=(240, 20)), axis=1) + 3 * rng.normal(size=(240, 1))
    y = X[:, 8] - 2 * X[:, 10] + X[:, 12] + rng.normal(0, 0.2, 240)
    return X[:160], X[160:], y[:160], y[160:]


def test_a_linear_part_is_taken_where_it_helps_and_pruning_keeps_it(spectra, tmp_path):
    X, X_test, y, y_test = spectra
    reg = small(linear=True, unit="%").fit(X, y)
    assert reg.score(X_test, y_test) > 0.95 > 0.6 > small().fit(X, y).score(X_test, y_test)
    number = reg.model_.output
    assert number.kind == "linear number"
    inside = np.abs(reg.predict(X_test) - y_test) <= number.half_width
    assert 0.8 < inside.mean() < 0.99
    pruned = prune(reg.model_, X, y, max_loss=0.01, validation=(X_test, y_test)).model
    assert pruned.n_includes < reg.model_.n_includes / 3
    assert 1 - np.var(pruned.predict(X_test) - y_test) / np.var(y_test) > 0.95
    pruned.save(tmp_path / "m.etm")
    assert Model.load(tmp_path / "m.etm") == pruned
    why = pruned.explain(X_test[0])
    votes = why.line + sum(vote for vote, _ in (*why.up, *why.down))
    assert votes == pruned.class_sums(X_test[:1])[0, 0]
    assert "(linear part)" in str(why)
    assert "% for each 1 of x8, from " in pruned.describe()
    assert set(np.argsort(pruned.feature_importances())[-3:]) & {8, 10, 12}


def test_a_linear_part_is_left_out_where_rows_say_so():
    rng = np.random.default_rng(2)
    X = rng.random((300, 2))
    y = np.abs(X[:, 0] - 0.5) + rng.normal(0, 0.2, 300)
    plain, offered = small().fit(X, y), small(linear=True).fit(X, y)
    assert offered.model_ == plain.model_


def test_linear_parts_keep_directions_and_take_gaps_and_texts(spectra):
    X, _, y, _ = spectra
    rows = pd.DataFrame(X[:, 6:13], columns=list("abcdefg")).assign(kind=np.where(y > 0, "hot", "cold"))
    rows.loc[::7, "a"] = np.nan
    reg = small(linear=True, monotonic={"c": 1, "e": -1}).fit(rows, y)
    assert reg.model_.output.kind == "linear number"
    slopes = {slope.feature: slope.weight for slope in reg.model_.output.line.slopes}
    assert slopes[2] > 0 > slopes[4]
    assert 7 not in slopes
    steps = np.linspace(-20, 20, 41)
    for model in (reg.model_, prune(reg.model_, rows, y, flash="1k").model):
        swept = pd.concat([rows[:20]] * 41).assign(c=np.repeat(steps, 20))
        assert (np.diff(model.predict(swept).reshape(41, 20), axis=0) >= 0).all()
    assert np.isfinite(reg.predict(rows)).all()
    assert (
        small(linear=True).fit(X, 2 * X[:, 3] + 1).score(X, 2 * X[:, 3] + 1) > 0.9999
    )  # nothing is left over


def test_weights_count(friedman):
    X, _, y, _ = friedman
    high = y > np.median(y)
    odd = np.where(high, y, y + 100)
    model = small().fit(X, odd, sample_weight=np.where(high, 1.0, 0.0)).model_
    assert abs(model.predict(X)[high].mean() - y[high].mean()) < 0.5
    with pytest.raises(ValueError, match="weight"):
        small().fit(X, y, sample_weight=np.zeros(len(y)))


def test_frames_with_text_and_missing_values():
    rng = np.random.default_rng(0)
    place = np.array(["roof", "wall", "cellar"])[rng.integers(0, 3, 400)]
    load = rng.random(400)
    y = 5.0 * (place == "roof") + 3 * load
    load[::10] = np.nan
    rows = pd.DataFrame({"place": place, "load": load})
    reg = small(n_clauses=60, epochs=15).fit(rows, y)
    assert reg.score(rows, y) > 0.9
    assert reg.model_.feature_names == ("place", "load")
    assert reg.model_.categories == {"place": ("cellar", "roof", "wall")}
    assert np.isfinite(reg.predict(pd.DataFrame({"place": ["attic"], "load": [np.nan]}))).all()
    with pytest.raises(ValueError, match=r"monotonic.*place"):
        small(monotonic={"place": 1}).fit(rows, y)


def test_windows_through_a_front_end():
    rng = np.random.default_rng(0)
    size = rng.uniform(100, 3000, 120)
    windows = (rng.normal(size=(120, 32, 2)) * size[:, None, None]).astype(np.int16)
    front_end = WindowFeatures(axes=("x", "y"), kernels=("stats",))
    reg = small(front_end=front_end).fit(windows, size)
    assert reg.score(windows, size) > 0.8
    assert reg.model_.predict(windows).tolist() == reg.predict(windows).tolist()


def test_grids_pipelines_and_importances(friedman):
    X, X_test, y, y_test = friedman
    pipe = make_pipeline(StandardScaler(), small())
    grid = GridSearchCV(pipe, {"etherealregressor__n_bins": [3, 8]}, cv=2).fit(X[:300], y[:300])
    assert grid.best_score_ > 0.5
    importance = permutation_importance(grid.best_estimator_, X_test, y_test, n_repeats=1, random_state=0)
    assert importance.importances_mean[3] > importance.importances_mean[9]
    assert small().set_params(booleanizer__n_bins=4).fit(X, y).booleanizer_.n_bins == 4


def test_boolean_rows_need_no_booleanizer():
    X = np.random.default_rng(0).random((200, 6)) < 0.5
    reg = small(booleanizer=None).fit(X, 2.0 * X[:, 0] + (X[:, 1] & X[:, 2]))
    assert reg.booleanizer_ is None
    assert reg.score(X, 2.0 * X[:, 0] + (X[:, 1] & X[:, 2])) > 0.95


def test_numbers_of_every_size():
    X, y = load_diabetes(return_X_y=True)
    base = small().fit(X, y).predict(X)
    for shift, factor in ((0, 1e-20), (0, 1e20), (-1e4, 1.0)):
        made = small().fit(X, y * factor + shift).predict(X).astype(float)
        assert np.corrcoef(made, base)[0, 1] > 0.9


ROWS = np.random.default_rng(0).random((40, 3))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["warm"] * 40, r"y\[0\] is 'warm', which is not a number"),
        (np.full(40, 2.5), "y is 2.5 in every row"),
        (np.where(np.arange(40) == 7, np.inf, 1.0), "infinity"),
        (np.where(np.arange(40) == 7, np.nan, 1.0), "NaN"),
        (np.linspace(0, 1e40, 40), "beyond float32"),
        (1e9 + np.arange(40) / 40, "float32 tells apart in a few steps"),
        (np.arange(40) * 1e-40, "too little for float32"),
        (np.arange(39), "inconsistent numbers of samples"),
    ],
)
def test_labels_that_cannot_be_learned_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        small().fit(ROWS, y)


def test_three_rows_are_too_few():
    with pytest.raises(ValueError, match=r"3 sample.*minimum of 5"):
        small().fit(ROWS[:3], [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_bins": 1}, "n_bins is 1"),
        ({"n_clauses": 0}, "n_clauses is 0"),
        ({"monotonic": {"load": 1}}, "monotonic names 'load', which is not a feature"),
        ({"monotonic": {3: 1}}, "monotonic names column 3"),
        ({"monotonic": {0: 2}}, r"monotonic\[0\] is 2"),
        ({"monotonic": {0: True}}, r"monotonic\[0\] is True"),
        ({"monotonic": {0: 1}, "booleanizer": Booleanizer(4, "onehot")}, "not thresholds that rise"),
        ({"booleanizer": "most"}, "booleanizer is 'most'"),
        ({"linear": "auto"}, "linear is 'auto'"),
        ({"linear": True, "booleanizer": None}, "linear is True, but a linear part reads columns"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        small(**parameters).fit(ROWS, np.arange(40.0))
    with pytest.raises(TypeError, match="monotonic is 1"):
        small(monotonic=1).check_parameters()
    with pytest.raises(TypeError, match="unit is 3"):
        small(unit=3).check_parameters()
