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
    assert (states >= MIDDLE).any() and (np.abs(votes) != 1).any() == machine.has_votes
    half = states.shape[2] // 2
    assert machine.negated_literals or not (states[:, :, half:] >= MIDDLE).any()
