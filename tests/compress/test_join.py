"""Committees: models whose votes are added."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from ethereal import Booleanizer, EtherealClassifier
from ethereal.compress import join


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    labels = np.array([f"digit {d}" for d in y])
    classifier = EtherealClassifier.paper(
        n_clauses=10, T=5, epochs=2, booleanizer=Booleanizer(n_bins=4), random_state=3
    )
    return classifier.fit(X[:500], labels[:500]).model_, X, labels


def test_joined_votes_are_added(digits):
    model, X, y = digits
    other = EtherealClassifier.paper(
        n_clauses=10, T=5, epochs=2, booleanizer=Booleanizer(thresholds=model.feature_map), random_state=4
    )
    other = other.fit(X[:500], y[:500]).model_
    assert np.array_equal(
        join([model, other, other]).class_sums(X), model.class_sums(X) + 2 * other.class_sums(X)
    )
    assert join([model]) == model.simplify()


def test_what_cannot_be_joined(digits):
    model, X, y = digits
    with pytest.raises(ValueError, match="models is empty"):
        join([])
    fewer = EtherealClassifier.paper(n_clauses=4, T=3, epochs=1, booleanizer=Booleanizer(2), random_state=0)
    with pytest.raises(ValueError, match=r"models\[1\].*Booleans.*models\[0\]"):
        join([model, fewer.fit(X[:500], y[:500]).model_])
    rows = np.flatnonzero(y[:500] < "digit 4")
    with pytest.raises(ValueError, match=r"models\[1\]"):
        join([model, fewer.fit(X[rows], y[rows]).model_])
