"""The tuned forest: chosen on held-out training rows, and scored by the vote that is exported."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from ethereal.datasets.rows import Rows
from ethereal.device.baselines import exported_vote
from ethereal.runs import forest
from ethereal.runs.forest import LEAVES, TREES, ForestShape, _smaller_forests, choose_shape
from ethereal.runs.table import table_of
from finished_runs import run_of


@pytest.fixture(scope="module")
def noisy():
    """Return rows whose labels are wrong in a fifth of the cases: large trees learn the noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    y = (X[:, 0] > 0) ^ (rng.random(500) < 0.2)
    return Rows(X, np.where(y, "b", "a"), test=np.arange(500) >= 400)


def test_noise_gives_few_leaves(noisy):
    shape = choose_shape(noisy.X_train, noisy.y_train)
    assert shape.leaves is not None
    assert shape.leaves <= 32


def test_a_hard_table_keeps_its_leaves():
    """A checker board needs many leaves, so that a rule that only makes forests small fails here."""
    X = np.random.default_rng(1).random((1200, 2))
    y = (np.floor(6 * X).sum(axis=1) % 2).astype(int)
    shape = choose_shape(X, y)
    assert shape.leaves is None or shape.leaves >= 64


def test_one_large_forest_answers_like_each_smaller_one():
    """The choice reads all shapes off one forest. That holds as long as scikit-learn splits best first."""
    X, y = load_digits(return_X_y=True)
    X, held_out, y = X[:400], X[400:600], y[:400]
    largest = ForestShape(TREES[-1], 2**14).new(3).fit(X, y)
    by_shape = {shape: (n_nodes, votes) for shape, n_nodes, votes in _smaller_forests(largest, held_out)}
    assert {shape.leaves for shape in by_shape} == {None, *LEAVES}
    for shape in (ForestShape(5, 8), ForestShape(25, 16), ForestShape(10, 64)):
        grown = shape.new(3).fit(X, y)
        n_nodes, votes = by_shape[shape]
        assert n_nodes == sum(tree.tree_.node_count for tree in grown.estimators_)
        np.testing.assert_array_equal(votes, exported_vote(grown, held_out))


def test_whole_groups_are_held_out():
    """A feature that names the group says nothing of other groups, so that leaves for it are not paid."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(10), 40)
    X = np.column_stack([groups + 0.01 * rng.random(400), rng.normal(size=400)])
    y = rng.integers(0, 2, 10)[groups] ^ (rng.random(400) < 0.05)
    alone, related = choose_shape(X, y), choose_shape(X, y, groups)
    plain = ForestShape(25).new(0)
    assert plain.fit(X[groups < 8], y[groups < 8]).score(X[groups < 8], y[groups < 8]) > 0.9
    assert alone != related


def test_test_rows_choose_nothing(noisy):
    """Fault F15: the baseline of a run is tuned, and other test labels do not change it."""
    grown = forest.grow(noisy, 0, 60.0, lambda trees: None)
    y = noisy.y.copy()
    y[noisy.test] = y[noisy.test][::-1]
    other = forest.grow(Rows(noisy.X, y, test=noisy.test), 0, 60.0, lambda trees: None)
    assert grown.tuned
    assert (grown.trees, grown.leaves) == (other.trees, other.leaves)
    plain = next(one for one in grown.sizes if (one.trees, one.leaves) == (25, None))
    assert grown.nodes < plain.nodes / 4
    again = forest.again(grown, grown.random_state, noisy, 1 << 20)
    assert sum(tree.tree_.node_count for tree in again.estimators_) == grown.nodes
    assert grown.accuracy == np.mean(again.classes_[exported_vote(again, noisy.X_test)] == noisy.y_test)


def test_the_table_names_the_shape_within_80_columns(noisy):
    grown = forest.grow(noisy, 0, 60.0, lambda trees: None)
    shown = table_of(run_of(grown, forest=grown)).lines()
    assert f"forest, {grown.trees} trees of at most {grown.leaves} leaves" in shown[0]
    assert max(map(len, shown)) <= 80


def test_missing_values_are_medians_of_training_rows():
    """Fault F22: an empty column, or a missing value, does not take the forest from the board."""
    X = np.array([[1.0, np.nan, np.nan], [3.0, np.nan, 5.0], [np.nan, np.nan, 7.0], [9.0, np.nan, np.nan]])
    rows = Rows(X, np.array([0, 1, 0, 1]), test=np.array([False, False, True, True]))
    filled = forest.without_missing(rows).X
    np.testing.assert_array_equal(filled, [[1, 0, 5], [3, 0, 5], [2, 0, 7], [9, 0, 5]])


def test_each_tree_has_one_vote():
    X, y = load_digits(return_X_y=True)
    grown = RandomForestClassifier(7, max_leaf_nodes=8, random_state=0).fit(X[:300], y[:300])
    votes = np.array([tree.predict(X[300:400]) for tree in grown.estimators_]).astype(int)
    wanted = [np.bincount(column, minlength=10).argmax() for column in votes.T]
    np.testing.assert_array_equal(exported_vote(grown, X[300:400]), wanted)
