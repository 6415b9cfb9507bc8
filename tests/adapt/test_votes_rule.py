"""The rule "votes" on the host: the plain reference, bytes, bad input, and models that it makes."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris

from ethereal import EtherealClassifier, Model
from ethereal.adapt import Votes
from ethereal.adapt.learning import Learning, RefusedState
from random_models import random_model
from reference_learning import ReferenceLearner

FORMS = [
    {},
    {"guard": False},
    {"learn": "bias"},
    {"learn": "bias", "guard": False},
    {"classes": 2, "anchors": 9},
    {"anchors": 5, "guard": False},
]


def made(seed, *, n_rows=15, **form):
    """Votes, rows, and a plain reference with the same bounds."""
    model, X = random_model(seed, n_clauses=30, n_classes=3 + seed % 2)
    if n := form.get("anchors"):
        form["anchors"] = X[-n:], model.predict(X[-n:])
    votes = Votes(model, n_rows, margin=2.5, **form)
    small = votes.learning.general
    anchors = [(row[0], fired(row[1:])) for row in votes.learning.anchors]
    reference = ReferenceLearner(
        small.weights.tolist(),
        form.get("classes", 0),
        n_rows,
        40,
        guard=form.get("guard", True),
        is_bias=form.get("learn") == "bias",
        anchors=anchors,
    )
    return votes, X, reference


def test_a_row_may_move_heavy_votes_more_often():
    light = (
        EtherealClassifier(10, 5, 3.0, epochs=2, random_state=0).fit(*load_iris(return_X_y=True)).plain_model_
    )
    kept = {"n_booleans": light.n_booleans, "classes": light.classes, "booleanizer": light.booleanizer}
    heavy = Model(light.literals, light.offsets, 40 * light.weights, typical_rows=light.typical_rows, **kept)
    assert Learning.of(light).moves == 4
    one, many = Learning.of(light, margin=1), Learning.of(heavy)
    assert (one.moves, many.margin) == (4, 40 * Learning.of(light).margin)
    assert 4 < many.moves <= 32
    assert (Learning.of(light).margin, Learning.of(light, "bias").moves) == (32, 16)  # two sixteenths a move
    assert Learning.of(heavy, "bias").moves == 32
    assert Learning.of(heavy, margin=100_000).moves == 32


def fired(bits):
    return np.flatnonzero(np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")).tolist()


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_votes_are_those_of_the_plain_reference(seed, form):
    votes, X, reference = made(seed, **form)
    rng = np.random.default_rng(seed)
    outputs = votes.learning.general.clause_outputs(X)
    n_kept = 0
    for round_ in range(6):
        for _ in range(rng.integers(1, 9)):
            i, c = rng.integers(12), rng.integers(len(votes.classes))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                votes.learn(X[i], votes.classes[c])
            reference.learn(c, np.flatnonzero(outputs[i]).tolist())
        if round_ == 3:
            votes.unlearn(1)
            reference.rows.pop(1)
        assert votes.adapt() == reference.adapt()
        n_kept += votes.is_personal
        wanted = [reference.sums(np.flatnonzero(row).tolist()) for row in outputs]
        assert votes.class_sums(X).tolist() == wanted
        assert votes.predict(X).tolist() == [votes.classes[np.argmax(row)] for row in wanted]
        kept = [(row[0], fired(row[1:])) for row in votes._state.rows]
        assert kept == reference.rows
    assert n_kept or form.get("guard", True)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_the_model_answers_as_the_votes_do(form, tmp_path):
    votes, X, _ = made(3, **{**form, "guard": False})
    for i in range(12):
        votes.learn(X[i], votes.classes[i % len(votes.classes)])
    votes.adapt()
    model = votes.model()
    assert model.predict(X).tolist() == votes.predict(X).tolist()
    model.save(tmp_path / "own.etm")
    assert Model.load(tmp_path / "own.etm").predict(X).tolist() == votes.predict(X).tolist()
    np.testing.assert_array_equal(model.class_sums(X), votes.class_sums(X))
    votes.forget()
    assert votes.model().predict(X).tolist() == votes.learning.general.predict(X).tolist()


def taught(seed=3, **form):
    votes, X, _ = made(seed, **form)
    for i in range(14):
        votes.learn(X[i // 2], votes.classes[i // 2 % len(votes.classes)])
    votes.adapt()
    return votes, X


def test_a_state_comes_back_with_the_same_votes():
    votes, _ = taught(guard=False)
    other, _, _ = made(3, guard=False)
    other.restore(votes.save())
    assert other.save() == votes.save()
    assert (other.votes == votes.votes).all()
    assert other.votes.any()
    again, _, _ = made(3, guard=False)
    for i in range(len(votes)):
        assert again.learn_entry(votes.entry(i)) == 1
    while again.adapt_step():
        pass
    assert again.save() == votes.save()
    assert (again.votes == votes.votes).all()


def test_without_a_row_the_votes_are_those_that_never_saw_it():
    votes, X = taught(guard=False)
    without, _, _ = made(3, guard=False)
    for i in range(14):
        if i != 8:
            without.learn(X[i // 2], without.classes[i // 2 % len(without.classes)])
    votes.unlearn(8)
    assert votes.adapt() == without.adapt()
    assert (votes.votes == without.votes).all()
    assert votes.save() == without.save()


def test_damaged_cut_and_foreign_states_are_refused_and_change_nothing():
    votes, X = taught()
    data = votes.save()
    before = votes.class_sums(X).tolist()
    for end in range(len(data)):
        with pytest.raises(RefusedState):
            votes.restore(data[:end])
    for i in range(8 * len(data)):
        changed = bytearray(data)
        changed[i // 8] ^= 1 << i % 8
        with pytest.raises(RefusedState):
            votes.restore(bytes(changed))
    for form in ({"guard": False}, {"learn": "bias"}, {"anchors": 3}):
        with pytest.raises(RefusedState, match="not a state of this model"):
            made(3, **form)[0].restore(data)
    with pytest.raises(RefusedState, match="not a state of this model"):
        made(5)[0].restore(data)
    with pytest.raises(RefusedState, match=r"\b14\b.*\b13\b"):
        made(3, n_rows=13)[0].restore(data)
    assert votes.save() == data
    assert votes.class_sums(X).tolist() == before


def test_a_log_entry_that_power_cut_short_is_refused():
    votes, _ = taught()
    entry = votes.entry(2)
    for end in range(len(entry)):
        assert votes.learn_entry(entry[:end]) == 0
        assert votes.learn_entry(entry[:end].ljust(len(entry), b"\xff")) == 0  # erased flash after the cut
    assert votes.learn_entry(entry) == 1


def test_the_guard_keeps_nothing_that_is_not_better():
    model = Model([0, 1], [0, 1, 2], [[2, 0], [0, 2]], n_booleans=2, classes=["a", "b"])
    votes = Votes(model, margin=1)
    votes.learn([True, False], "b")
    votes.learn([True, False], "a")
    votes.learn([False, True], "b")
    votes.learn([False, True], "b")
    assert votes.adapt() is None
    assert not votes.votes.any()
    free = Votes(model, margin=1, guard=False)
    free.restore(free.save())  # no rows at all
    assert not free.is_personal


def test_when_rows_are_full_the_oldest_of_the_most_frequent_class_goes():
    model = Model([0], [0, 1], [[1, 0]], n_booleans=1, classes=["a", "b"])
    votes = Votes(model, 3, margin=1)
    assert [votes.learn([True], c) for c in ("b", "a", "a")] == [1, 1, 1]
    with pytest.warns(UserWarning, match=r"room.*\b3\b"):
        assert votes.learn([False], "b") == 2
    assert [row[0] for row in votes._state.rows] == [1, 0, 1]


def test_bad_input_is_refused_with_the_value_and_the_remedy():
    model, X = random_model(1)
    votes = Votes(model, margin=3)
    with pytest.raises(ValueError, match="No row was learned yet"):
        votes.adapt()
    with pytest.raises(ValueError, match="'nobody'"):
        votes.learn(X[0], "nobody")
    with pytest.raises(ValueError, match=r"\(1, 6\)\. Give one.*X\[0\]"):
        votes.learn(X[:1], "class 0")
    row = X[0].copy()
    row[0] = np.nan
    with pytest.raises(ValueError, match=r"missing|NaN"):
        votes.learn(row, "class 0")
    assert len(votes) == 0
    with pytest.raises(IndexError, match="no row 0"):
        votes.unlearn(0)
    with pytest.raises(IndexError, match="no row 7"):
        votes.entry(7)
    with pytest.raises(ValueError, match="no typical rows"):
        Votes(model)
    with pytest.raises(ValueError, match="learn is 'automata'"):
        Votes(model, learn="automata", margin=1)
    with pytest.raises(ValueError, match="New classes need general rows"):
        Votes(model, classes=1, margin=1)
    with pytest.raises(ValueError, match="label 'x'"):
        Votes(model, classes=1, margin=1, anchors=(X[:1], ["x"]))
    with pytest.raises(ValueError, match="names 'class 0' twice"):
        Votes(model, classes=["class 0"], margin=1, anchors=(X[:1], ["class 0"]))
    with pytest.raises(ValueError, match="learn_rows"):
        Votes(model, 0, margin=1)
    with pytest.raises(ValueError, match="margin is -1"):
        Votes(model, margin=-1)


def test_the_margin_is_the_usual_lead_on_typical_rows():
    rows = np.packbits([[1, 0], [1, 1], [0, 1]], axis=1, bitorder="little")
    model = Model([0, 1], [0, 1, 2], [[3, 0], [0, 2]], n_booleans=2, classes=["a", "b"], typical_rows=rows)
    assert Votes(model).learning.margin == 16 * 2  # leads of 3, 1
    assert 2
