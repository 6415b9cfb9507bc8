"""The model for a board: the knee of the curve, and accuracies of rows that no machine saw."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from ethereal import EtherealClassifier, Model
from ethereal.compress.curve import Curve, PrunedModel, PruneRows, logits_per_vote, prune_path_like
from ethereal.compress.task import HeldOut
from ethereal.tuning import Budget, BudgetError, Footprint, estimate
from ethereal.tuning.choice import neighbours, within
from ethereal.tuning.frontiers import as_exported, for_board, levelled

MODEL = Model([0], [0, 1], [[1, 0]], n_booleans=1, classes=["a", "b"])
EMPTY = Model([], [0], np.zeros((0, 2), int), n_booleans=1, classes=["a", "b"])


def point(accuracy, n_bytes, model=MODEL):
    return PrunedModel(model, accuracy, Footprint(n_bytes, 0.0))


def test_a_point_is_worth_a_third_of_a_halving_only():
    assert (
        within([point(0.96, 50_000), point(0.957, 5000), point(0.90, 500)], Budget(), None).estimate.bytes
        == 5000
    )
    assert (
        within([point(0.96, 50_000), point(0.93, 5000)], Budget(), None).estimate.bytes == 50_000
    )  # three points are too much
    assert (
        within([point(0.5, 100), point(0.5, 1, EMPTY)], Budget(), None).estimate.bytes == 100
    )  # it must vote


def test_few_rows_have_a_bound_and_a_higher_price():
    """Two held-out rows of 200 more do not pay for a hundred times the bytes."""
    curve = [point(0.992, 60_000), point(0.98, 600), point(0.97, 500)]
    assert within(curve, Budget().for_rows(200, 3), None).estimate.bytes == 600
    assert within(curve, Budget().for_rows(5000, 3), None).estimate.bytes == 60_000
    many = [point(0.8, 12_000), point(0.7, 600)]
    assert within(many, Budget().for_rows(200, 3), None).estimate.bytes == 600
    assert within(many, Budget().for_rows(200, 12), None).estimate.bytes == 12_000  # more classes, more bytes


def train(X, y, n_clauses=20):
    clf = EtherealClassifier(n_clauses, epochs=10, noise_clauses=0, refit_votes=False, random_state=0)
    return clf.fit(X, y).plain_model_


def test_machines_are_pruned_by_rows_that_they_did_not_see():
    X, y = load_iris(return_X_y=True)
    steps = []
    seen = []

    def watched(X, y):
        seen.append(len(y))
        return train(X, y)

    pruned = for_board(watched, train(X, y), X, y, progress=lambda done, total: steps.append((done, total)))
    assert seen == [120] * 5
    assert pruned.held_out == 150
    assert len(pruned.point.held_out.right) == 150  # each row once
    assert steps == [(i, 12) for i in range(11)] + [(11, 12), (12, 12)]
    assert pruned.model.n_includes < pruned.curve[0].model.n_includes
    assert (pruned.model.predict(X) == y).mean() > 0.9


def test_groups_stay_together_and_bounds_are_kept():
    X, y = load_iris(return_X_y=True)
    groups = np.arange(150) % 10
    whole = []

    def watched(X_some, y_some):
        whole.append(len(y_some) % 15)
        return train(X_some, y_some, 6)

    machine = train(X, y, 6)
    pruned = for_board(watched, machine, X, y, groups=groups, budget=Budget(flash=500))
    assert whole == [0] * 5
    assert pruned.point.footprint is not None
    assert pruned.point.footprint.bytes <= 500
    with pytest.raises(BudgetError):
        for_board(watched, machine, X, y, budget=Budget(flash=20))


def test_each_of_few_rows_is_held_out_once():
    X, y = load_wine(return_X_y=True)
    held_out = []

    def watched(X_some, y_some):
        held_out.append({tuple(row) for row in X.tolist()} - {tuple(row) for row in X_some.tolist()})
        return train(X_some, y_some)

    for_board(watched, train(X, y), X, y)
    assert sum(map(len, held_out)) == len(X) == len(set.union(*held_out))


def test_the_price_is_of_the_program_that_would_be_exported():
    """The estimate is of the compact code. Straight code takes several times that."""
    X, y = load_wine(return_X_y=True)
    machine = train(X, y)
    curve = [PrunedModel(machine, 0.9, estimate(machine))]
    from ethereal import export

    [program] = as_exported(curve)(machine)
    assert program.bytes == export.choose(machine).flash_bytes
    assert program.bytes > 2 * estimate(machine).bytes


def test_no_point_counts_more_than_its_accuracy_on_rows_that_it_learned_from():
    """A model borrows the accuracy of others at its price. It may be worse than a coin."""
    X, y = load_wine(return_X_y=True)
    machine = train(X, y)
    rows = PruneRows.read(machine, X, y)
    record = HeldOut(np.ones(10, bool), np.zeros(10, np.float32))
    tried = [PrunedModel(machine, 0.999, None, price=price, held_out=record) for price in (0.0, 1e-5)]
    tuned = levelled(prune_path_like(machine, rows, Curve(tuple(tried), 0.1, "votes"), estimate, 0))
    for one in tuned.curve:
        assert one.accuracy <= (one.model.predict(X) == y).mean() + 1e-9
    assert tuned.curve[0].accuracy > 0.9 > tuned.curve[-1].accuracy


def test_a_few_rows_that_are_all_right_do_not_ask_for_certainty():
    X, y = load_wine(return_X_y=True)
    machine = train(X, y)
    right = machine.predict(X) == y
    few = np.flatnonzero(right)[::6]
    scale = logits_per_vote(machine, PruneRows.read(machine, X[few], y[few]))
    assert scale < 1.5 / machine.temperature


def test_a_curve_of_few_rows_has_no_hole_at_its_first_price():
    """From the machine to the next model was a step of ten times the bytes and more."""
    X, y = load_wine(return_X_y=True)
    clf = EtherealClassifier(200, epochs=10, noise_clauses=0, refit_votes=False, random_state=0)
    machine = clf.fit(X, y).plain_model_
    rows = PruneRows.read(machine, X, y)
    record = HeldOut(np.ones(10, bool), np.zeros(10, np.float32))
    like = Curve((PrunedModel(machine, 0.9, None, held_out=record),), 1 / machine.temperature, "votes")
    sizes = [p.estimate.bytes for p in prune_path_like(machine, rows, like, estimate, 0).curve[1:]]
    large = [n for n in sizes if n > 200]
    assert len(large) > 8
    assert max(np.divide(large[:-1], large[1:])) < 6


def test_neighbours_tell_the_answers_as_they_are():
    def scored(n_bytes, right):
        record = HeldOut(np.arange(100) < right, np.zeros(100, np.float32))
        return PrunedModel(MODEL, 0.9, Footprint(n_bytes, 0.0), held_out=record)

    curve = [
        scored(9000, 95),
        scored(2000, 96),
        scored(1100, 90),
        scored(1000, 91),
        scored(700, 90),
        scored(100, 60),
    ]
    near = neighbours(curve, curve[3])
    assert {name: one.point.estimate.bytes for name, one in near.items()} == {"smaller": 700, "larger": 2000}
    assert (near["smaller"].more, near["larger"].more, near["larger"].rows) == (-1, 5, 100)
    assert near["larger"].error == pytest.approx(0.0218, abs=1e-4)
    assert set(neighbours(curve, curve[0])) == {"smaller"}
