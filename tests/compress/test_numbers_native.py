"""Pruning and fitting numbers: the bits of the plain reference, right books, and signs that are kept."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ethereal import _native
from ethereal.compress.least_squares import fit_votes
from random_models import random_clauses
from reference_square import SquareDescent, ridge_votes

FEATURES = np.array([0, 0, 0, 1, 2, 2], np.int32)  # the raw feature of each of six Booleans
SIZE = (3.0, 5.0, 4.0, 2.5, 1.5)  # clause, literal, Boolean in use, vote, doubling
RISING = np.array([1, 1, 1, 0, -1, -1, -1, -1, -1, 0, 1, 1], np.int8)  # with feature 0, falling with 2


def a_machine(seed, n_rows=60):
    rng = np.random.default_rng(seed)
    clauses = random_clauses(
        rng, 6, n_classes=1, n_clauses=10, shortest=1, longest=4, contradictions=True, zeros=0
    )
    rows = rng.random((n_rows, 6)) < rng.random(6)
    targets = rows[:, 0] + 2.0 * (rows[:, 3] & rows[:, 4]) + rng.normal(0, 0.3, n_rows)
    return rows, targets, clauses


@settings(max_examples=25)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.003, 0.02]),
    st.sampled_from([0.05, 0.3]),
    st.booleans(),
)
def test_the_descent_has_the_bits_of_the_reference(seed, price, scale, is_monotone):
    rows, targets, clauses = a_machine(seed)
    signs = RISING if is_monotone else np.zeros(0, np.int8)
    given = rows, FEATURES, targets, *clauses, scale, seed, signs
    native, plain = _native.SquarePruner(*given), SquareDescent(*given)
    before = native.loss if not is_monotone else np.inf
    for _ in range(4):
        assert native.sweep(price, SIZE) == plain.sweep(price, SIZE)
        assert tuple(part.tolist() for part in native.clauses()) == plain.read()
        if price == 0.0:
            assert native.loss <= before + 1e-9
            before = native.loss
    literals, offsets, votes = native.clauses()
    for j, vote in enumerate(votes.tolist()):
        assert 0 < abs(vote) <= 127
        of_clause = signs[literals[offsets[j] : offsets[j + 1]]] if is_monotone else np.zeros(1)
        assert (of_clause * vote >= 0).all()


def test_the_loss_leaves_the_offset_out():
    rows, targets, clauses = a_machine(3)
    given = FEATURES, targets, *clauses, 0.3, 0, np.zeros(0, np.int8)
    pruner = _native.SquarePruner(rows, *given)
    literals, offsets, votes = clauses
    both = np.concatenate([rows, ~rows], axis=1)
    fires = np.stack([both[:, literals[a:b]].all(axis=1) for a, b in itertools.pairwise(offsets)])
    left = targets - 0.3 * (fires.T @ votes)[:, 0]
    assert pruner.loss == pytest.approx(0.5 * ((left - left.mean()) ** 2).sum())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("strength", [0.1, 30.0])
def test_ridge_has_the_bits_of_the_reference_and_solves_its_equations(seed, strength):
    rng = np.random.default_rng(seed)
    outputs = rng.random((40, 13)) < rng.random(13)
    outputs[:, 5] = outputs[:, 4]  # the matrix has no inverse of its own
    if seed == 2:  # numbers in place of outputs
        outputs = outputs * rng.normal(size=(40, 13)) + 3
    targets, weights = rng.normal(size=40), rng.random(40) + (seed == 0)
    ridge = _native.Ridge(outputs, weights)
    ridge.aim(targets)
    votes, offset = ridge.votes(strength, np.zeros(13, np.int8))
    assert votes.tolist() == ridge_votes(outputs, weights, targets, strength)
    A, W = outputs.astype(float), np.diag(weights)
    centred = A - weights @ A / weights.sum()
    aim = targets - weights @ targets / weights.sum()
    matrix = centred.T @ W @ centred
    assert votes == pytest.approx(np.linalg.solve(matrix + strength * np.eye(13), centred.T @ W @ aim))
    assert offset == pytest.approx(float(weights @ (targets - A @ votes) / weights.sum()))
    squares, freedom = ridge.fit(strength)
    assert squares == pytest.approx(float(weights @ (aim - centred @ votes) ** 2))
    assert freedom == pytest.approx(float(np.trace(np.linalg.solve(matrix + strength * np.eye(13), matrix))))


def test_votes_with_signs_are_the_best_that_have_them():
    rng = np.random.default_rng(1)
    outputs, targets = rng.random((80, 9)) < 0.4, rng.normal(size=80)
    signs = np.array([1, -1, 0, 1, -1, 0, 1, 1, -1], np.int8)
    ridge = _native.Ridge(outputs, np.ones(80))
    ridge.aim(targets)
    votes, _ = ridge.votes(2.0, signs)
    assert (votes * signs >= 0).all()
    assert (votes[signs != 0] == 0).any()
    centred = outputs - outputs.mean(axis=0)
    slope = centred.T @ (targets - targets.mean() - centred @ votes) - 2.0 * votes
    inside = (signs == 0) | (votes != 0)
    assert np.abs(slope[inside]).max() < 1e-4
    assert (slope[~inside] * signs[~inside] <= 1e-9).all()


@pytest.mark.parametrize(
    "change",
    [
        {"targets": np.zeros(3)},
        {"targets": np.full(60, np.nan)},
        {"votes": np.zeros((10, 2), np.int32)},
        {"votes": np.full((10, 1), 128, np.int32)},
        {"signs": np.zeros(5, np.int8)},
        {"signs": np.full(12, 3, np.int8)},
        {"scale": 0.0},
        {"features": FEATURES[::-1].copy()},
    ],
)
def test_bad_arrays_are_refused(change):
    rows, targets, (literals, offsets, votes) = a_machine(0)
    given = {"booleans": rows, "features": FEATURES, "targets": targets, "literals": literals}
    given |= {"offsets": offsets, "votes": votes, "scale": 0.1, "seed": 0, "signs": np.zeros(0, np.int8)}
    _native.SquarePruner(**given)
    with pytest.raises(ValueError, match=r"Pruner|features|shapes"):
        _native.SquarePruner(**{**given, **change})


def test_a_ridge_needs_weights_targets_and_strengths_in_range():
    outputs = np.ones((3, 2), bool)
    for weights in (np.zeros(3), -np.ones(3), np.full(3, np.inf), np.full(3, np.nan), np.ones(2)):
        with pytest.raises(ValueError, match="Ridge"):
            _native.Ridge(outputs, weights)
    ridge = _native.Ridge(outputs, np.ones(3))
    with pytest.raises(ValueError, match="one target"):
        ridge.aim(np.ones(2))
    with pytest.raises(ValueError, match="strength"):
        ridge.votes(0.0, np.zeros(2, np.int8))
    with pytest.raises(ValueError, match="one sign"):
        ridge.votes(1.0, np.zeros(1, np.int8))
    assert ridge.votes(1.0, np.zeros(2, np.int8))[0].tolist() == [0.0, 0.0]  # before any target


def test_votes_are_signed_bytes_in_steps_of_a_power_of_two():
    rng = np.random.default_rng(0)
    outputs = rng.random((300, 20)) < 0.3
    for spread in (1e-6, 1.0, 1e9):
        votes = fit_votes(outputs, spread * (outputs[:, 0] * 3.0 + rng.normal(0, 0.1, 300)))
        assert 64 <= np.abs(votes.weights).max() <= 127
        assert np.frexp(votes.scale)[0] == 0.5
        assert np.argmax(np.abs(votes.weights)) == 0
