"""Coverage, precision and recall of clauses, against counting row by row."""

import numpy as np
import pytest

from ethereal import Model
from ethereal.model import Number
from ethereal.model.needs import NotSupported
from random_patches import random_patch_model


def test_shares_are_those_of_counting():
    model, X = random_patch_model(4)
    y = np.random.default_rng(0).choice(model.classes, size=len(X))
    statistics = model.clause_statistics(X, y)
    fires = model.clause_outputs(X)
    assert np.array_equal(statistics.coverage, fires.mean(axis=0))
    for j in range(model.n_clauses):
        for c, label in enumerate(model.classes):
            vote = model.weights[j, c]
            wanted = (y == label) if vote > 0 else (y != label)
            right = np.sum(fires[:, j] & wanted)
            for shares, of in ((statistics.precision, fires[:, j].sum()), (statistics.recall, wanted.sum())):
                expected = right / of if vote and of else np.nan
                np.testing.assert_equal(shares[j, c], expected)


def test_labels_that_do_not_fit_and_numbers_are_refused():
    model = Model([0], [0, 1], [[1, -1]], n_booleans=1, classes=["a", "b"])
    with pytest.raises(ValueError, match="y has shape"):
        model.clause_statistics([[1], [0]], ["a"])
    number = Model([0], [0, 1], [[3]], n_booleans=1, output=Number(scale=1.0))
    with pytest.raises(NotSupported, match="clause_statistics"):
        number.clause_statistics([[1]], [1.0])
