"""Trees as clauses: the Model of random trees answers like a walk through them in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from ethereal.trees import clauses
from ethereal.trees.clauses import model_of
from ethereal.trees.plain import Ensemble, Tree
from random_trees import float32_rows, random_ensemble, walk


@pytest.mark.parametrize("seed", range(12))
def test_model_of_random_trees_answers_like_a_walk(seed):
    ensemble = random_ensemble(seed)
    rows = float32_rows(ensemble, 200, seed)
    model = model_of(ensemble, rows, votes=32767)
    sums = np.array([walk(ensemble, row) for row in rows])
    assert np.allclose(ensemble.sums(rows), sums)
    scale = model.provenance["votes_per_unit"]
    found = model.class_sums(rows).astype(float)
    # Only differences between classes decide, and each tree rounds by half a vote at most.
    error = (found - found[:, :1]) - scale * (sums - sums[:, :1])
    assert np.abs(error).max() <= len(ensemble.trees) + 1


@pytest.mark.parametrize("seed", range(6))
def test_every_row_fires_one_clause_of_each_tree(seed):
    ensemble = random_ensemble(seed)
    rows = float32_rows(ensemble, 100, seed)
    fired = model_of(ensemble, rows).clause_outputs(rows).sum(axis=1)
    assert (fired == fired[0]).all()
    assert 1 <= fired[0] <= len(ensemble.trees)


def test_trees_without_a_test_are_a_constant_vote():
    stump = Tree([-1], [-1], [0], [0.0], [[1.0, 0.0, 3.0]])
    model = model_of(Ensemble([stump], np.array(list("abc")), 2))
    assert model.predict([[1.0, 2.0], [-5.0, 0.0]]).tolist() == ["c", "c"]


def test_a_tie_of_two_classes_goes_to_the_last_where_the_library_says_so():
    tree = Tree([1, -1, -1], [2, -1, -1], [0, 0, 0], [0.5, 0, 0], [[0, 0.0], [0, -1], [0, 0.0]])
    for tie_last, answer in ((False, 0), (True, 1)):
        ensemble = Ensemble([tree], np.array([0, 1]), 1, tie_last=tie_last)
        assert model_of(ensemble).predict([[1.0]])[0] == answer
        assert ensemble.answers(np.array([[1.0]]))[0] == answer


def test_missing_values_are_refused_unless_they_are_asked_for():
    tree = Tree(
        [1, -1, -1], [2, -1, -1], [0, 0, 0], [0.5, 0, 0], [[0, 0], [1, 0], [0, 1]], [True, False, False]
    )
    ensemble = Ensemble([tree], np.array([0, 1]), 1)
    nan = np.array([[np.nan]], dtype=np.float32)
    with pytest.raises(ValueError, match="missing"):
        model_of(ensemble).predict(nan)
    assert model_of(ensemble, missing=True).predict(nan).tolist() == [1]
    assert model_of(ensemble, nan).predict(nan).tolist() == [1]
    with pytest.raises(ValueError, match="missing is 'yes'"):
        model_of(ensemble, missing="yes")


def test_too_many_leaves_are_refused(monkeypatch):
    monkeypatch.setattr(clauses, "MOST_CLAUSES", 2)
    ensemble = random_ensemble(0)
    with pytest.raises(ValueError, match="leaves"):
        model_of(ensemble)


def test_a_feature_is_a_number_or_a_category():
    from ethereal.trees.plain import Listed

    values = np.zeros((3, 2))
    number = Tree([1, -1, -1], [2, -1, -1], [0, 0, 0], [0.5, 0, 0], values)
    category = Tree(
        [1, -1, -1], [2, -1, -1], [0, 0, 0], [0, 0, 0], values, listed={0: Listed(frozenset([1]), True)}
    )
    with pytest.raises(ValueError, match=r"feature 0 is tested as a number and as a category"):
        model_of(Ensemble([number, category], np.array([0, 1]), 1))
