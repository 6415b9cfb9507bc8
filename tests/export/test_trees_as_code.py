"""Trees in the layout "straight": clauses that exclude one another become the trees that they were."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import ethereal
from c_on_host import assert_exact
from ethereal.device import measure
from ethereal.export import choose, make_program
from ethereal.export.c99.device_rows import Slots, simplified
from ethereal.export.c99.layouts import straight
from ethereal.export.c99.layouts.straight.groups import exclusive_groups
from ethereal.export.c99.layouts.straight.tree import Builder
from ethereal.model.needs import NotSupported
from ethereal.trees.clauses import model_of
from ethereal.trees.plain import Ensemble, Tree
from random_models import random_model
from random_trees import float32_rows, random_ensemble, walk


def opened(model):
    slots = Slots(simplified(model))
    builder = Builder(slots, slots.sample(64))
    return slots, builder, [builder.told(clause) for clause in builder.opened()]


@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("kind", ["float", "int16"])
def test_the_c_of_random_trees_answers_like_a_walk(seed, kind, tmp_path):
    ensemble = random_ensemble(seed, missing=kind == "float", categories=kind == "float")
    rows = float32_rows(ensemble, 150, seed, missing=kind == "float")
    model = model_of(ensemble, rows)
    assert_exact(make_program(model, "straight", input=kind), rows, tmp_path)
    answers = [int(np.argmax(walk(ensemble, row))) for row in rows]
    assert (model.predict(rows) == answers).mean() > 0.98  # votes are rounded


def test_trees_on_a_core_answer_as_on_the_host():
    pytest.importorskip("unicorn")
    ensemble = random_ensemble(3, n_trees=8)
    rows = float32_rows(ensemble, 80, 3)
    assert measure(model_of(ensemble, rows), rows, "cortex-m0plus", "straight").agreement == 1.0


@pytest.mark.parametrize("seed", range(4))
def test_clauses_of_a_group_exclude_one_another(seed):
    ensemble = random_ensemble(seed, n_trees=4)
    rows = float32_rows(ensemble, 300, seed)
    model = simplified(model_of(ensemble, rows))
    slots, _, clauses = opened(model)
    groups = exclusive_groups(clauses, slots.n_slots)
    assert sorted(n for group in groups for one in group for n in one.clauses) == list(range(len(clauses)))
    fires = model.clause_outputs(rows)
    for group in groups:
        assert fires[:, [n for one in group for n in one.clauses]].sum(axis=1).max() <= 1


def test_a_tree_is_written_with_a_test_per_inner_node():
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(6, max_leaf_nodes=20, random_state=0).fit(X, y)
    model = ethereal.from_trees(forest, X)
    inner = sum(one.tree_.n_leaves - 1 for one in forest.estimators_)
    text = make_program(model, "straight").files["model.c"]
    assert 0.8 * inner < len(re.findall(r"if \(!?ET_\w*ABOVE", text)) <= inner


def test_thresholds_of_several_slots_stay_one_tree():
    """A feature with more thresholds than a slot has states."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 2))
    y = rng.integers(0, 2, 900)
    forest = RandomForestClassifier(4, random_state=0).fit(X, y)
    model = ethereal.from_trees(forest, X)
    slots, builder, clauses = opened(model)
    assert slots.n_slots > 2
    groups = exclusive_groups(clauses, slots.n_slots)
    assert len(groups) == 4
    inner = sum(one.tree_.n_leaves - 1 for one in forest.estimators_)
    assert builder.build_groups(groups).n_tests <= inner


def test_many_literals_are_code_only_as_trees(monkeypatch):
    """What is above the limit is taken where it is trees, and else refused by name."""
    for module in (straight, ethereal.export.c99.choose):
        monkeypatch.setattr(module, "MOST_LITERALS", 100)
    monkeypatch.setattr(straight, "_TOO_LOOSE", straight._TOO_LOOSE.replace("8192", "100"))
    ensemble = random_ensemble(1, n_trees=12, most_leaves=40)
    model = model_of(replace(ensemble, base=None))
    assert model.n_includes > 100
    assert choose(model).layout == "straight"
    machine, _ = random_model(3, n_clauses=200, n_features=10)
    with pytest.raises(NotSupported, match=r"takes up to 100 literals .* Or use the layout compact"):
        choose(machine, "straight")
    assert choose(machine).layout in ("fast", "compact")


def test_equal_leaves_of_many_trees_are_one_clause_in_code(tmp_path):
    """Their votes add up to more than other layouts take."""
    stump = Tree([1, -1, -1], [2, -1, -1], [0, 0, 0], [0.5, 0, 0], np.array([[0, 0], [1, 0], [0, 1.0]]))
    model = model_of(Ensemble([stump] * 20, np.array([0, 1]), 1))
    assert simplified(model).needs.heaviest_vote == 20 * 8191
    X = np.array([[0.0], [1.0]], dtype=np.float32)
    assert choose(model).layout == "straight"
    assert_exact(make_program(model, "straight"), X, tmp_path)
    with pytest.raises(NotSupported, match="Or use the layout straight"):
        choose(model, "fast")
