"""The estimator: scikit-learn's contract, forms of rows and labels, bad input."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from ethereal import Booleanizer, EtherealClassifier
from ethereal.base.splits import hold_out_by_class


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)


def small(**kwargs):
    return EtherealClassifier.paper(
        **{"n_clauses": 20, "T": 8, "s": 4.0, "epochs": 5, "random_state": 1} | kwargs
    )


# Weights say how often a row is visited in an epoch, on average; the order of visits is random. Rows of
# weight 2 therefore learn what two equal rows learn in distribution, but not bit for bit.
WEIGHTS_ARE_MEAN_VISITS = {
    "check_sample_weight_equivalence_on_dense_data": "weights are mean visits in random order",
    "check_sample_weight_equivalence_on_sparse_data": "weights are mean visits in random order",
}


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pair
        for estimator in (EtherealClassifier(n_clauses=20, epochs=15, random_state=0), Booleanizer())
        for pair in estimator_checks_generator(estimator)
    ],
    ids=lambda value: getattr(getattr(value, "func", value), "__name__", type(value).__name__),
)
def test_scikit_learns_checks(estimator, check):
    reason = WEIGHTS_ARE_MEAN_VISITS.get(check.func.__name__)
    if reason is not None and isinstance(estimator, EtherealClassifier):
        with pytest.raises(AssertionError):
            check(estimator)
    else:
        check(estimator)


def test_decision_function_and_predict_agree(digits):
    X, X_test, y, _ = digits
    clf = small().fit(X, y)
    sums = clf.decision_function(X_test)
    np.testing.assert_array_equal(sums, clf.model_.class_sums(X_test))
    np.testing.assert_array_equal(clf.predict(X_test), clf.classes_[sums.argmax(axis=1)])
    proba = clf.predict_proba(X_test)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(proba.argmax(axis=1), sums.argmax(axis=1))


def test_pickle_before_and_after_predict_and_training_on(digits, tmp_path):
    X, X_test, y, _ = digits
    clf = small()
    clf = pickle.loads(pickle.dumps(clf)).fit(X, y)
    first = pickle.loads(pickle.dumps(clf))
    expected = clf.predict(X_test)
    np.testing.assert_array_equal(first.predict(X_test), expected)
    joblib.dump(clf, tmp_path / "clf.joblib")
    again = joblib.load(tmp_path / "clf.joblib")
    np.testing.assert_array_equal(again.predict(X_test), expected)
    clf.partial_fit(X, y)
    again.partial_fit(X, y)
    np.testing.assert_array_equal(clf.ta_states_, again.ta_states_)


def test_states_can_be_read_and_written(digits):
    X, _, y, _ = digits
    clf = small().fit(X, y)
    states = clf.ta_states_
    assert states.shape == (10, 20, 2 * clf.model_.n_booleans)
    states[:] = 0
    states[3, 0, :] = 127
    states[3, 0, 0] = 255
    clf.ta_states_ = states
    assert clf.model_.n_includes == 1
    with pytest.raises(ValueError, match="uint8 of shape"):
        clf.ta_states_ = states[:2]
    budget = small(literal_budget=2).fit(X, y)
    states[3, 0, :3] = 255
    with pytest.raises(ValueError, match="literal_budget is 2"):
        budget.ta_states_ = states
    with pytest.raises(NotFittedError):
        small().ta_states_  # noqa: B018


def test_labels_of_any_type():
    X, y = load_iris(return_X_y=True)
    for labels in (np.array(["setosa", "ü", "c c"]), np.array([-1.0, 0.0, 7.0]), np.array([10, 20, 30])):
        clf = small(epochs=10).fit(X, labels[y])
        assert set(clf.predict(X)) <= set(labels)
        assert clf.score(X, labels[y]) > 0.8
    binary = small().fit(X[y < 2], y[y < 2] == 1)
    assert binary.predict(X).dtype == bool
    assert binary.decision_function(X).shape == (150,)


def test_frames_keep_names_and_order_is_checked():
    frame = load_iris(as_frame=True)
    clf = small().fit(frame.data, frame.target)
    assert clf.model_.feature_names == tuple(frame.data.columns)
    with pytest.raises(ValueError, match=r"[Ff]eature names"):
        clf.predict(frame.data[frame.data.columns[::-1]])


def test_boolean_rows_pass_as_they_are():
    rng = np.random.default_rng(0)
    X = rng.random((300, 12)) < 0.5
    y = X[:, 0] & ~X[:, 1]
    for rows in (X, X.astype(np.uint8), X.astype(float)):
        clf = small(epochs=20).fit(rows, y)
        assert clf.booleanizer_ is None
        assert clf.score(rows, y) > 0.95
    with pytest.raises(ValueError, match=r"X\[0, 0\] is .*2.*Booleanizer"):
        clf.predict(X.astype(float) + 2)
    bad = X.astype(float)
    bad[1, 2] = 0.5
    with pytest.raises(ValueError, match=r"X\[1, 2\] is .*0\.5"):
        small(booleanizer=None).fit(bad, y)


def test_pipeline_grid_search_and_calibration():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), small(epochs=10))
    search = GridSearchCV(pipeline, {"etherealclassifier__s": [2.0, 4.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.85
    calibrated = CalibratedClassifierCV(small(epochs=10), cv=3).fit(X, y)
    assert calibrated.predict_proba(X).shape == (150, 3)


def test_missing_values():
    X, y = load_iris(return_X_y=True)
    X[::7, 1] = np.nan
    clf = small(epochs=10).fit(X, y)
    assert clf.score(X, y) > 0.8
    X[3, 2] = np.nan
    assert clf.score(X, y) > 0.8
    with pytest.raises(ValueError, match="missing"):
        small(booleanizer=Booleanizer()).fit(X[4:], y[4:]).predict(X)


@pytest.mark.parametrize("booleanizer", ["auto", Booleanizer(4, "onehot")])
def test_a_value_may_be_missing_in_validation_rows_only(booleanizer):
    """Which rows are held out is the estimator's own choice: it may not make `fit` fail."""
    X, y = load_iris(return_X_y=True)
    for row in range(0, 150, 10):
        holed = X.copy()
        holed[row, 2] = np.nan
        clf = small(booleanizer=booleanizer, validation_fraction=0.3, epochs=2).fit(holed, y)
        assert clf.booleanizer_.feature_map_.missing.tolist() == [False, False, True, False]
        assert len(clf.predict(holed)) == 150


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"keep": "first"}, ValueError, "keep is 'first'"),
        ({"patience": 0}, ValueError, "patience is 0"),
        ({"noise_clauses": -1}, ValueError, "noise_clauses is -1"),
        ({"refit_votes": 1}, TypeError, "refit_votes is 1"),
        ({"booleanizer": 1}, ValueError, "booleanizer is 1"),
        ({"n_clauses": 0}, ValueError, "n_clauses is 0"),
        ({"n_clauses": -2}, ValueError, "n_clauses is -2"),
        ({"n_clauses": 10.0}, TypeError, "n_clauses is 10.0"),
        ({"T": 0}, ValueError, "T is 0"),
        ({"T": 2.5}, TypeError, "T is 2.5"),
        ({"s": 0.99}, ValueError, "s is 0.99. It must be a number from 1"),
        ({"s": float("nan")}, ValueError, "s is nan"),
        ({"s": "3"}, TypeError, "s is '3'"),
        ({"epochs": 0}, ValueError, "epochs is 0"),
        ({"exclude_every": 0}, ValueError, "exclude_every is 0"),
        ({"literal_budget": 0}, ValueError, "literal_budget is 0"),
        ({"validation_fraction": 1.0}, ValueError, "validation_fraction is 1"),
        ({"validation_fraction": -0.1}, ValueError, "validation_fraction is -0.1"),
        ({"accuracy_tolerance": 2}, ValueError, "accuracy_tolerance is 2"),
        ({"boost_true_positive": "yes"}, TypeError, "boost_true_positive is 'yes'"),
        ({"shorten": 1}, TypeError, "shorten is 1"),
        ({"booleanizer": "none"}, TypeError, "booleanizer is 'none'"),
        ({"class_weight": "balancd"}, ValueError, "balancd"),
    ],
)
def test_bad_parameters(parameters, error, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(error, match=message):
        small(**parameters).fit(X, y)


def test_bad_data():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="one class only"):
        small().fit(X, np.zeros(150))
    with pytest.raises(ValueError, match="0 sample"):
        small().fit(X[:0], y[:0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        small().fit(X, y[:10])
    with pytest.raises(ValueError, match="2D array"):
        small().fit(X[:, 0], y)
    with pytest.raises(ValueError, match="constant"):
        small().fit(np.full((150, 2), 3.0), y)
    with pytest.raises((ValueError, TypeError), match="kind"):
        small().fit(pd.DataFrame({"a": X[:, 0], "kind": ["x"] * 150}), y)
    with pytest.raises(ValueError, match="Unknown label type"):
        small().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="zero"):
        small().fit(X, y, sample_weight=np.zeros(150))
    learn, _ = hold_out_by_class(y, 0.5, np.random.RandomState(1))  # as `small` with its random_state does
    held_out = ~np.isin(np.arange(150), learn)
    with pytest.raises(ValueError, match="zero for every row that is not held out"):
        small(validation_fraction=0.5).fit(X, y, sample_weight=held_out)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        small().fit(X, y, sample_weight=np.full(150, -1.0))
    with pytest.raises(ValueError, match="eval_set"):
        small().fit(X, y, eval_set=(X, y[:5]))
    clf = small().fit(X, y)
    with pytest.raises(ValueError, match="3 features"):
        clf.predict(X[:, :3])
    with pytest.raises(NotFittedError):
        small().predict(X)
