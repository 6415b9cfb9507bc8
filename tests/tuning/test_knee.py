"""The model for a board: the knee of the curve, and accuracies of rows that no machine saw."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from ethereal import EtherealClassifier, Model
from ethereal.compress.curve import PrunedModel
from ethereal.tuning import Budget, BudgetError, Footprint
from ethereal.tuning.knee import for_board, knee

MODEL = Model([0], [0, 1], [[1, 0]], n_booleans=1, classes=["a", "b"])
EMPTY = Model([], [0], np.zeros((0, 2), int), n_booleans=1, classes=["a", "b"])


def point(accuracy, n_bytes, model=MODEL):
    return PrunedModel(model, accuracy, Footprint(n_bytes, 0.0))


def test_a_point_is_worth_a_third_of_a_halving_only():
    assert knee([point(0.96, 50_000), point(0.957, 5000), point(0.90, 500)]).estimate.bytes == 5000
    assert (
        knee([point(0.96, 50_000), point(0.93, 5000)]).estimate.bytes == 50_000
    )  # three points are too much
    assert knee([point(0.5, 100), point(0.5, 1, EMPTY)]).estimate.bytes == 100  # it must vote


def train(X, y):
    clf = EtherealClassifier(20, epochs=10, noise_clauses=0, refit_votes=False, random_state=0)
    return clf.fit(X, y).plain_model_


def test_machines_are_pruned_by_rows_that_they_did_not_see():
    X, y = load_iris(return_X_y=True)
    steps = []
    seen = []

    def watched(X, y):
        seen.append(len(y))
        return train(X, y)

    found = for_board(watched, train(X, y), X, y, progress=lambda done, total: steps.append((done, total)))
    assert seen == [120] * 5
    assert found.held_out == 150
    assert steps == [(i, 12) for i in range(11)] + [(11, 12), (12, 12)]
    assert found.model.n_includes < found.curve[0].model.n_includes
    assert (found.model.predict(X) == y).mean() > 0.9


def test_groups_stay_together_and_bounds_are_kept():
    X, y = load_iris(return_X_y=True)
    groups = np.arange(150) % 10
    whole = []

    def watched(X_some, y_some):
        whole.append(len(y_some) % 15)
        return train(X_some, y_some)

    machine = train(X, y)
    found = for_board(watched, machine, X, y, groups=groups, budget=Budget(flash=900))
    assert whole == [0] * 5
    assert found.point.footprint is not None
    assert found.point.footprint.bytes <= 900
    with pytest.raises(BudgetError):
        for_board(train, machine, X, y, budget=Budget(flash=20))
