"""Our own trees: the Model of boosted trees answers like a walk through them, on the host and as C."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from ethereal import EtherealClassifier
from ethereal.device import find_target
from ethereal.device.program import execute, on_rows
from ethereal.export import choose
from ethereal.model.engine import booleans_of
from ethereal.trees import unseen
from ethereal.trees.grow import HEAVIEST, Ground, Shape, boosted, votes_per_logit
from ethereal.trees.unseen import unseen_shares, with_unseen

RNG = np.random.default_rng(5)
X, Y = load_iris(return_X_y=True)


def _mixed(n=160):
    """Rows of a number, a number that may be missing, a category and a Boolean, with three classes."""
    rows = np.column_stack([
        RNG.normal(size=n), RNG.normal(size=n), RNG.integers(0, 4, n), RNG.integers(0, 2, n)
    ])  # fmt: skip
    y = (rows[:, 0] > 0).astype(int) + (rows[:, 2] == 1)
    rows[RNG.random(n) < 0.2, 1] = np.nan
    return rows, np.array(list("abc"))[y], {2: ["red", "green", "blue", "grey"]}


def _machine(rows, y, categories=None):
    return EtherealClassifier(6, epochs=1, noise_clauses=0).fit(rows, y, categories=categories).plain_model_


def _walk(tree, codes):
    """Return the leaf that a row of codes comes to, in plain Python."""
    node = 0
    while tree.children_left[node] >= 0:
        side = (
            tree.children_left if codes[tree.feature[node]] <= tree.threshold[node] else tree.children_right
        )
        node = side[node]
    return node


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", ["mixed", "plain", "booleans"])
def test_the_model_votes_as_a_walk_through_its_trees(kind, n_classes):
    rows, y, categories = _mixed() if kind == "mixed" else (X, np.array(list("abc"))[Y], None)
    if kind == "booleans":
        rows, y, categories = RNG.integers(0, 2, (150, 9)), np.array(list("abc"))[Y], None
    some = np.isin(y, list("abc")[:n_classes])
    rows, y = rows[some], y[some]
    ground = Ground.like(_machine(rows, y, categories), rows)
    codes = ground.codes(rows)
    grown = ground.grow(codes, y, Shape(4, 6, 0.3), 0)
    values = [
        v if n_classes == 3 else np.column_stack([0 * v[:, 0], v[:, 1] - v[:, 0]]) for _, v in grown.trees
    ]
    factor = votes_per_logit([(tree, v) for (tree, _), v in zip(grown.trees, values, strict=True)])
    for n in (1, len(grown.trees)):
        model, sums = grown.model(n), np.zeros((len(rows), n_classes), dtype=int)
        for (tree, _), v in zip(grown.trees[:n], values, strict=False):
            leaves = [_walk(tree, row) for row in codes]
            sums += np.rint(factor * v[leaves]).astype(int)
        assert np.array_equal(model.class_sums(rows), sums)
        assert np.array_equal(model.simplify().class_sums(rows), sums)
        assert np.abs(model.weights).max() <= HEAVIEST
        assert (model.clauses.fires(booleans_of(model, rows)).sum(axis=1) == n).all()


def test_codes_count_the_thresholds_that_are_exceeded():
    rows, y, categories = _mixed()
    ground = Ground.like(_machine(rows, y, categories), rows)
    codes, known = ground.codes(rows), ground.model.feature_map
    for f, column in ((0, 0), (1, 1)):
        with np.errstate(invalid="ignore"):
            above = rows[:, f, None].astype(np.float32) > known.thresholds_of(f)
        assert np.array_equal(codes[:, column], above.sum(axis=1))
    assert np.array_equal(codes[:, 2], np.isnan(rows[:, 1]))
    assert np.array_equal(codes[:, 3:7], rows[:, 2, None] == np.arange(4))


def test_the_c_answers_like_the_model():
    pytest.importorskip("unicorn")
    rows, y, categories = _mixed()
    ground = Ground.like(_machine(rows, y, categories), rows)
    model = ground.grow(ground.codes(rows), y, Shape(6, 8, 0.3), 0).model()
    program = on_rows(choose(model), rows)
    assert np.array_equal(execute(program, find_target("cortex-m7")).classes, program.expected)
    assert np.array_equal(model.classes[program.expected], model.predict(rows))


def test_the_same_seed_grows_the_same_trees():
    ground = Ground.like(_machine(X, Y), X)
    codes = ground.codes(X)
    made = [ground.grow(codes, Y, Shape(5, 5), seed).model() for seed in (0, 0)]
    assert made[0] == made[1]


def test_nothing_to_learn_is_a_model_without_clauses():
    assert boosted(np.zeros((20, 2), np.float32), np.full((20, 2), 0.5), Shape(3, 4), 0) == []
    constant = np.zeros((60, 2))
    constant[:30, 0] = 1
    ground = Ground.like(_machine(constant, np.arange(60) // 30), constant)
    assert ground.grow(ground.codes(constant) * 0, np.arange(60) // 30, Shape(3, 4), 0).model().n_clauses == 0


@pytest.mark.parametrize("with_groups", [False, True])
def test_no_learner_answers_a_row_that_it_saw(with_groups, monkeypatch):
    """The label of a row, or of its group, changes no answer to that row."""
    monkeypatch.setattr(unseen, "_FOREST", 5)
    codes = Ground.like(_machine(X, Y), X).codes(X)
    groups = np.arange(150) // 5 if with_groups else None
    shares = unseen_shares(codes, Y, 3, groups, 0)
    assert np.allclose(shares.sum(axis=1), 1)
    assert 0.9 < (shares.argmax(axis=1) == Y).mean() < 1
    if with_groups:
        changed = Y.copy()
        changed[groups == 3] = 2
        again = unseen_shares(codes, changed, 3, groups, 0)
        assert np.array_equal(again[groups == 3], shares[groups == 3])
        assert not np.array_equal(again, shares)


def test_rows_get_a_share_for_each_class_of_the_model():
    from ethereal.compress.curve import PruneRows

    machine = _machine(X, Y)
    rows = with_unseen(machine, PruneRows.read(machine, X[:100], Y[:100]), 0)  # without the last class
    assert rows.unseen.shape == (100, 3)
    assert rows.unseen[:, 2].max() < 0.05
    assert rows.sample(40, 0).unseen.shape == (40, 3)
    targets = rows.unseen_targets(3)
    assert np.allclose(targets, 0.7 * rows.unseen + 0.3 * np.eye(3)[rows.codes])
