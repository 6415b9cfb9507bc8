"""Weighted, coalesced and other machines against the plain reference, and what an estimator makes of them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from ethereal import EtherealClassifier, Machine, Model, _native
from ethereal.model import Patch
from ethereal.train.rules import MIDDLE
from reference_training import Machine as Reference
from reference_training import PatchMachine
from thinned import thinned

MACHINES = [
    Machine(weighted=True),
    Machine(coalesced=True),
    Machine(focused_negatives=True),
    Machine(negated_literals=False, drop_clauses=0.3, drop_literals=0.2),
    Machine(weighted=True, focused_negatives=True, drop_literals=0.3),
    Machine(coalesced=True, focused_negatives=True, negated_literals=False, drop_clauses=0.2),
]
SHAPES = [
    ({"n_classes": 3, "n_clauses": 9, "T": 4, "s": 2.5}, 20, None),
    ({"n_classes": 4, "n_clauses": 70, "T": 9, "s": 3.0, "random_start": True}, 33, None),
    ({"n_classes": 2, "n_clauses": 11, "T": 3, "s": 1.7, "literal_budget": 3}, 40, None),
    ({"n_classes": 3, "n_clauses": 4, "T": 4, "s": 2.0, "literal_budget": 3}, 0,
     Patch((5, 6), (2, 3), 1, places=True)),
    ({"n_classes": 3, "n_clauses": 5, "T": 3, "s": 2.5, "boost_true_positive": False}, 0,
     Patch((7,), (3,), 2)),
]  # fmt: skip


@pytest.mark.parametrize(("machine", "case"), thinned(MACHINES, SHAPES), ids=str)
def test_automata_and_votes_equal_those_of_the_reference(machine, case):
    settings, n_booleans, patch = case
    rng = np.random.default_rng(0)
    n, n_row = settings["n_classes"], n_booleans if patch is None else patch.n_row_booleans
    y = rng.integers(n, size=24).astype(np.int32)
    X = rng.random((24, n_row)) < 0.3 + 0.4 * (y[:, None] == np.arange(n_row) % n)
    sizes = {**settings, "n_booleans": n_booleans if patch is None else patch.n_booleans}
    make = Reference if patch is None else PatchMachine
    of = {"patch": patch} if patch is not None else {"n_booleans": n_booleans}
    reference = make(**of, **settings, seed=7, variant=machine)
    usual = {"boost_true_positive": True, "literal_budget": 2**31 - 1, "seed": 7, **machine.native()}
    native = {**usual, **sizes, "patch": None if patch is None else patch.native()}
    trainers = {isa: _native.Trainer(**native) for isa in _native.available_isas()}
    packed, weights = _native.pack_literals(X), np.linspace(0.1, 2.0, len(y))
    for epoch in range(4):
        visits = weights if epoch == 1 else None
        reference.epoch(X.tolist(), y.tolist(), visits)
        for n_threads, (isa, trainer) in enumerate(trainers.items(), 1):
            _native.set_isa(isa)
            trainer.epoch(packed, y, visits, n_threads)
            np.testing.assert_array_equal(trainer.states, reference.states, isa)
            if machine.has_votes:
                np.testing.assert_array_equal(trainer.votes, reference.votes, isa)
    _native.set_isa("auto")
    states, votes = np.array(reference.states), np.array(reference.votes)
    assert (states >= MIDDLE).any()
    assert (np.abs(votes) != 1).any() == machine.has_votes
    half = states.shape[2] // 2
    assert machine.negated_literals or not (states[:, :, half:] >= MIDDLE).any()


def rows(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of numbers whose class shows in two of them."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 6)), rng.integers(3, size=n)
    X[np.arange(n), y] += 3
    return X, y


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_a_machine_learns_saves_and_pickles(tmp_path, machine):
    X, y = rows()
    clf = EtherealClassifier(20, T=10, s=3.0, epochs=10, machine=machine, refit_votes=False, random_state=1)
    clf.fit(X, y)
    test_X, test_y = rows(seed=1)
    assert clf.score(test_X, test_y) > 0.8
    model = clf.model_
    model.save(tmp_path / "m.etm")
    assert Model.load(tmp_path / "m.etm") == model
    assert model.provenance["parameters"]["machine"]["coalesced"] == machine.coalesced
    assert machine.has_votes == bool((np.abs(model.weights) > 1).any())
    again = pickle.loads(pickle.dumps(clf))
    assert again.model_ == model
    assert np.array_equal(again.partial_fit(X, y).ta_states_, clf.partial_fit(X, y).ta_states_)


@pytest.mark.parametrize("machine", [Machine(weighted=True), Machine(coalesced=True)], ids=str)
def test_a_checkpoint_keeps_votes(tmp_path, machine):
    X, y = rows()
    clf = EtherealClassifier(12, T=6, machine=machine, random_state=5, keep="best", refit_votes=False)
    whole = clf.set_params(epochs=4).fit(X, y).model_
    clf.set_params(epochs=2).fit(X, y, checkpoint=tmp_path)
    assert clf.set_params(epochs=4).fit(X, y, checkpoint=tmp_path, resume=True).model_ == whole


def test_weighted_clauses_vote_for_their_class_alone_and_coalesced_ones_for_any():
    X, y = rows()
    settings = {"T": 10, "epochs": 8, "refit_votes": False, "random_state": 0}
    apart = EtherealClassifier(9, machine=Machine(weighted=True), **settings).fit(X, y).model_.weights
    assert np.array_equal(np.sign(apart[:9]), [[1, 0, 0]] * 5 + [[-1, 0, 0]] * 4)
    together = EtherealClassifier(9, machine=Machine(coalesced=True), **settings).fit(X, y)
    assert together.model_.weights.shape == (9, 3)
    assert together.ta_states_.shape[:2] == (1, 9)


REFUSED = {
    "exclusion": ({"machine": Machine(coalesced=True), "exclude_every": 1}, ValueError, "exclude_every"),
    "kind": ({"machine": "weighted"}, TypeError, "machine is 'weighted'"),
    "negated": ({"machine": Machine(negated_literals=False), "init": np.full((3, 4, 12), 200, np.uint8),
                 "booleanizer": None}, ValueError, "init includes negated literals"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_go_together_is_refused(case):
    parameters, error, message = REFUSED[case]
    X, y = rows()
    with pytest.raises(error, match=message):
        EtherealClassifier(4, epochs=1, **parameters).fit(X > 1, y)


def test_the_machine_of_a_stream_stays():
    X, y = rows()
    clf = EtherealClassifier(4, machine=Machine(weighted=True)).partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="machine was changed"):
        clf.set_params(machine=None).partial_fit(X, y)


@pytest.mark.parametrize(
    ("text", "message"),
    [("weight", "machine has 'weight'"), ("weighted=1", "weighted=1"), ("drop_clauses", "must be a number"),
     ("drop_literals=1", "leaves nothing"), ("drop_clauses=-1", "drop_clauses")],
)  # fmt: skip
def test_texts_that_name_no_machine_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        Machine.read(text)


def test_a_machine_must_have_yes_or_no():
    with pytest.raises(TypeError, match="weighted is 1"):
        Machine(weighted=1)
