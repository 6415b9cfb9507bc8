"""Machines and trees as sources of a model, and the choice among them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_friedman1

from ethereal import EtherealClassifier, EtherealRegressor, prune
from ethereal.compress.curve import PruneRows, smaller_models
from ethereal.runs.options import Settings
from ethereal.trees.grow import Ground, Shape
from ethereal.tuning import Budget, Search, frontier, tune
from ethereal.tuning.frontiers import board_curves, for_board
from ethereal.tuning.machines import Setup
from ethereal.tuning.sources import Sources, Way, alone, ways_of

X, Y = load_iris(return_X_y=True)
SETUP = Setup((4,), ("thermometer",), 10, 3, 3.0, None, None, 1, "votes", 0.0)
EVERY = ways_of("auto", ("votes", "unseen"))


def train(X, y):
    clf = EtherealClassifier(20, epochs=8, noise_clauses=0, refit_votes=False, random_state=0)
    return clf.fit(X, y).plain_model_


@pytest.fixture(scope="module")
def curves():
    return board_curves(train, train(X, Y), X, Y, ways=EVERY, n_jobs=2)


def test_all_ways_are_judged_by_the_same_held_out_rows(curves):
    assert set(curves.curves) == set(EVERY)
    assert curves.held_out == 150
    for curve in curves.curves.values():
        assert all(len(point.held_out.right) == 150 for point in curve.curve)
        assert curve.curve[0].accuracy > 0.9


def test_trees_that_stay_are_ever_fewer(curves):
    [curve] = [curve for way, curve in curves.curves.items() if way.leaves == 5]
    sizes = [point.model.n_clauses for point in curve.curve]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] <= 5  # one tree
    assert all(point.price > 0 for point in curve.curve[1:])


@pytest.mark.slow
def test_the_curves_do_not_depend_on_threads(curves):
    alone = board_curves(train, train(X, Y), X, Y, ways=EVERY, n_jobs=1)
    for way, curve in alone.curves.items():
        assert [p.accuracy for p in curve.curve] == [p.accuracy for p in curves.curves[way].curve]
        assert [p.model for p in curve.curve] == [p.model for p in curves.curves[way].curve]


def test_the_machine_alone_gives_what_it_gave_before(curves):
    """Beside trees, machines keep their curve."""
    usual = board_curves(train, train(X, Y), X, Y).curves[Way("machine", "votes")]
    beside = curves.curves[Way("machine", "votes")]
    assert [p.model for p in usual.curve] == [p.model for p in beside.curve]
    assert [p.accuracy for p in usual.curve] == [p.accuracy for p in beside.curve]


def test_the_first_nominee_is_worth_as_much_as_any_other(curves):
    board = curves.choose(Budget())
    bound = Budget().for_rows(150, 3)
    worths = [bound.worth(one.point.accuracy, one.point.footprint) for one in board.nominees[1:]]
    assert board.point.accuracy >= max(one.point.accuracy for one in board.nominees[1:]) - 0.03
    assert len(worths) == 4  # trees that stay are one nominee
    assert {one.way.kind for one in board.others} == {"machine", "trees", "kept trees"} - {board.way.kind}
    assert (board.model.predict(X) == Y).mean() > 0.9


def test_what_learns_alone_is_the_point_of_the_curve():
    """The model that "unknown" is calibrated by is made like the chosen one."""
    some, rest = np.arange(0, 150, 2), np.arange(1, 150, 2)
    machine = train(X[some], Y[some])
    rows, held_out = (PruneRows.read(machine, X[part], Y[part]) for part in (some, rest))
    from ethereal.compress.curve import logits_per_vote

    scale = logits_per_vote(machine, held_out)
    expected = [model for price, model in smaller_models(machine, rows, scale, "votes", 0) if price <= 0.01][
        -1
    ]
    way = Way("machine", "votes")
    learned, others = (X[some], Y[some]), (X[rest], Y[rest])
    assert alone(learned, Sources((way,)), lambda: machine, 0.01, others, 0) == expected
    stay = Sources.of((Way("trees", "labels", 5),), machine, X, None)
    model = alone(learned, stay, lambda: machine, 1 / 3, others, 0)
    assert 4 <= model.n_clauses <= 15  # three trees
    assert (model.predict(X[rest]) == Y[rest]).mean() > 0.9


def test_trees_alone_train_no_machine():
    def refuse(X, y):
        raise AssertionError("a machine was trained")

    some = ways_of("trees", ("votes",))[-1:]
    board = for_board(refuse, train(X, Y), X, Y, ways=some, budget=Budget(flash="2k"))
    assert board.way.source == "trees"
    assert board.point.footprint.bytes <= 2048
    assert (board.model.predict(X) == Y).mean() > 0.9


def test_a_frontier_of_trees_reads_missing_values():
    rows = X.copy()
    rows[::7, 1] = np.nan
    made = frontier(rows, Y, SETUP, learner="trees", epochs=2)
    assert {way.source for way in made.curves} == {"trees"}
    for curve in made.curves.values():
        assert (curve.curve[0].model.predict(rows) == Y).mean() > 0.9


def test_prune_may_be_taught_by_unseen_answers():
    machine = train(X, Y)
    taught = prune(machine, X, Y, teacher="unseen")
    assert taught.teacher == "unseen"
    assert taught.model.n_includes < machine.n_includes / 2
    assert (taught.model.predict(X) == Y).mean() > 0.9
    again = prune(machine, X, Y, like=taught)
    assert again.teacher == "unseen"
    with pytest.raises(ValueError, match=r'teacher is "unseen", but the rows bring no answers'):
        list(smaller_models(machine, PruneRows.read(machine, X, Y), 0.1, "unseen", 0))


def test_other_learners_are_refused():
    refused = r"learner is 'forest'\. It must be one of 'auto', 'machine', 'trees'"
    with pytest.raises(ValueError, match=refused):
        Search(learner="forest")
    with pytest.raises(ValueError, match=refused):
        Settings.of("digits", {"learner": "forest"}).checked()
    with pytest.raises(ValueError, match=refused):
        frontier(X, Y, SETUP, learner="forest")


def test_trees_of_numbers_are_a_model_and_are_chosen_among():
    rows, y = make_friedman1(110, n_features=5, noise=0.3, random_state=0)
    y = 1000 + 50 * y

    def train_numbers(X, y):
        return EtherealRegressor(n_clauses=10, epochs=2, random_state=0).fit(X, y).model_

    machine = train_numbers(rows, y)
    ground = Ground.like(machine, rows)
    grown = ground.grow(ground.codes(rows), y, Shape(6, 5), 0)
    codes, expected = ground.codes(rows), np.full(len(y), y.mean())
    for tree, values in grown.trees:
        expected += grown.spread * values[tree.apply(codes), 0]
    model = grown.model()
    assert np.abs(model.predict(rows) - expected).max() < len(grown.trees) * model.output.scale
    assert np.abs(model.weights).max() <= 127
    ways = [way for way in ways_of("auto", ("votes",)) if way.teacher == "votes" or way.leaves == 5]
    chosen = board_curves(train_numbers, machine, rows, y, ways=ways).choose(Budget())
    assert chosen.way.source == "trees"  # this machine has hardly learned
    assert chosen.others[0].way.source == "machine"
    assert chosen.model.output.half_width > 0
    assert chosen.point.accuracy > 0.6
    for search in (tune, lambda X, y: frontier(X, y, SETUP)):
        with pytest.raises(ValueError, match=r"y holds numbers such as .*ethereal\.run"):
            search(rows, y)


def test_rows_that_a_number_has_learned_say_no_more_than_its_interval():
    rows, y = make_friedman1(600, noise=3, random_state=0)
    model = EtherealRegressor(n_clauses=40, epochs=5, random_state=0).fit(rows, y).model_
    model = model._with(provenance={})  # so that no machine like it can be trained on a part of the rows
    known = 1 - (model.output.half_width / 1.645) ** 2 / np.var(y)
    pruned = prune(model, rows, y)
    assert max(point.accuracy for point in pruned.curve) < known + 0.1
    assert pruned.model.n_includes < model.n_includes / 2
