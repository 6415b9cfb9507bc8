"""The estimator among scikit-learn's own parts: encoders, searches, selection of features, folds."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.feature_selection import RFECV, SelectFromModel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from ethereal import Booleanizer, EtherealClassifier


def small(**kwargs):
    return EtherealClassifier(**{"n_clauses": 20, "T": 8, "s": 4.0, "epochs": 5, "random_state": 1} | kwargs)


@pytest.fixture(scope="module")
def noisy():
    """Two columns that decide among six that do not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 8))
    return X, (X[:, 2] + X[:, 5] > 0).astype(int)


@pytest.fixture(scope="module")
def towns():
    """A frame of texts and one number."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"city": rng.choice(["Oslo", "Rome", "Lima"], 300), "size": rng.choice(list("SML"), 300)}
    )
    frame["age"] = rng.integers(20, 70, 300)
    return frame, np.where((frame["city"] != "Oslo") & (frame["size"] == "L"), "yes", "no")


def test_importances_are_shares_of_the_columns(noisy):
    X, y = noisy
    clf = small(epochs=15)
    assert not hasattr(clf, "feature_importances_")
    shares = clf.fit(X, y).feature_importances_
    assert shares.shape == (8,)
    assert shares.sum() == pytest.approx(1)
    assert set(np.argsort(shares)[-2:]) == {2, 5}
    assert shares[[2, 5]].sum() > 0.5


def test_features_are_selected_by_importance(noisy):
    X, y = noisy
    assert set(np.flatnonzero(SelectFromModel(small(epochs=15)).fit(X, y).get_support())) == {2, 5}
    fitted = RFECV(small(), step=3, cv=2, min_features_to_select=2).fit(X, y)
    assert {2, 5} <= set(np.flatnonzero(fitted.support_))


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_rows_give_the_bits_of_dense_ones(towns, make):
    frame, y = towns
    dense = OneHotEncoder(sparse_output=False).fit_transform(frame[["city", "size"]])
    X = make(dense)
    a, b = small().fit(X, y, eval_set=(X, y)), small().fit(dense, y)
    assert a.model_ == b.model_
    assert a.booleanizer_ is None
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(dense))
    np.testing.assert_array_equal(a.model_.class_sums(X), b.model_.class_sums(dense))
    assert a.score(X, y) == b.score(dense, y) > 0.9
    a.partial_fit(X, y)
    b.partial_fit(dense, y)
    np.testing.assert_array_equal(a.ta_states_, b.ta_states_)


def test_sparse_rows_of_other_numbers(noisy):
    X, y = noisy
    X = np.where(X > 0.5, X, 0)
    few = sparse.csr_array(X)
    a, b = small().fit(few, y), small().fit(X, y)
    assert a.model_ == b.model_
    np.testing.assert_array_equal(a.predict_proba(few), b.predict_proba(X))
    np.testing.assert_array_equal(Booleanizer().fit(few).transform(few), Booleanizer().fit_transform(X))
    with pytest.raises(ValueError, match=r"2.*takes.*\b0\b.*\b1\b"):
        small(booleanizer=None).fit(sparse.csr_array([[0, 2], [1, 0]]), [0, 1])


def test_a_pipeline_with_the_default_encoder(towns):
    frame, y = towns
    flow = make_pipeline(OneHotEncoder(), small(epochs=15)).fit(frame[["city", "size"]], y)
    assert flow.score(frame[["city", "size"]], y) > 0.95


def test_a_column_of_0_and_1_is_a_boolean_in_rules(towns):
    frame, y = towns
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["city", "size"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    rows = encode.fit_transform(frame)
    clf = small(epochs=15).fit(rows, y)
    text = clf.model_.describe()
    assert "size_L" in text
    assert "age > " in text
    assert "size_L >" not in text
    assert "city_Oslo <=" not in text
    row = rows[(rows["city_Rome"] == 1) & (rows["size_L"] == 0)].iloc[:1]
    why = clf.model_.explain(row)
    assert "size_L instead of NOT size_L" in [str(change) for change in why.changes]


def test_values_missing_in_a_fold_only():
    X, y = load_iris(return_X_y=True)
    X[[3, 7], 0] = X[[60, 120], 1] = np.nan
    calibrated = CalibratedClassifierCV(small(), cv=3).fit(X, y)
    assert calibrated.score(X, y) > 0.8
    clf = small().fit(X[10:], y[10:])
    missing = X[3:4].copy()
    np.testing.assert_array_equal(
        clf.model_.booleanizer.transform(missing)[0, : len(clf.model_.feature_map.thresholds_of(0))], False
    )
    lowest = np.nan_to_num(missing, nan=-np.inf)
    np.testing.assert_array_equal(clf.decision_function(missing), clf.decision_function(lowest))


def test_values_that_never_were_missing_in_training():
    """The estimator answers. The Model refuses, because a device would test for them in every row."""
    X, y = load_iris(return_X_y=True)
    clf = small().fit(X, y)
    assert not clf.model_.needs.missing
    broken = np.where(np.arange(4) == 2, np.nan, X[:1])
    with pytest.raises(ValueError, match=r"feature 'x2'.*had.*missing"):
        clf.model_.predict(broken)
    lenient = small(booleanizer=Booleanizer("auto", missing="ignore")).fit(X, y)
    np.testing.assert_array_equal(lenient.predict(broken), clf.predict(broken))
    np.testing.assert_array_equal(lenient.predict(X), clf.predict(X))
    chosen = small().fit(X, y, validation_set=(broken, y[:1]))  # rows that choose are part of training
    assert chosen.predict(broken).shape == (1,)
    assert not chosen.model_.feature_map.missing.any()


def test_parameters_of_an_automatic_booleanizer_are_searched():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(small(), {"booleanizer__n_bins": [2, 10]}, cv=2).fit(X, y)
    assert search.best_estimator_.booleanizer.n_bins == search.best_params_["booleanizer__n_bins"] == 10
    flow = make_pipeline(small()).set_params(etherealclassifier__booleanizer__encoding="onehot")
    inner = clone(flow)[-1].fit(X, y)
    assert inner.model_.feature_map.encoding == "onehot"
    assert inner.booleanizer.missing == "auto"
    assert (
        small(booleanizer=Booleanizer(3)).set_params(booleanizer__encoding="onehot").booleanizer.n_bins == 3
    )
    with pytest.raises(ValueError, match=r"booleanizer is None.*Set booleanizer=Booleanizer"):
        small(booleanizer=None).set_params(booleanizer__n_bins=5)
    with pytest.raises(ValueError, match="Invalid parameter 'bins'"):
        small().set_params(booleanizer__bins=5)
