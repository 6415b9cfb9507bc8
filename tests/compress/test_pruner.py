"""The native descent: its books are right, no move makes it worse, and it ends where none makes it better."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ethereal import _native
from random_models import random_clauses

FEATURES = np.array([0, 0, 0, 1, 2, 2], np.int32)  # the raw feature of each of six Booleans
SIZE = (3.0, 5.0, 4.0, 2.5, 1.5)  # clause, literal, Boolean in use, vote, doubling
SHORT = {"shortest": 1, "longest": 4, "contradictions": True, "zeros": 0}  # clauses of one to four literals


def every_row(n_booleans):
    rows = list(itertools.product([False, True], repeat=n_booleans))
    return np.array(rows, dtype=bool).reshape(len(rows), n_booleans)


def outputs(literals, offsets, rows):
    both = np.concatenate([rows, ~rows], axis=1)  # rows x literals
    pairs = itertools.pairwise(offsets.tolist())
    return np.array([both[:, literals[a:b]].all(axis=1) for a, b in pairs]).reshape(
        len(offsets) - 1, len(rows)
    )


def loss_of(clauses, rows, targets, scale):
    literals, offsets, votes = clauses
    logits = scale * outputs(literals, offsets, rows).T.astype(float) @ votes
    logits -= logits.max(axis=1, keepdims=True)
    return float((np.log(np.exp(logits).sum(axis=1)) - (targets * logits).sum(axis=1)).sum())


def size_of(clauses, n_booleans):
    literals, offsets, votes = clauses
    clause, literal, boolean, vote, doubling = SIZE
    used = np.unique(literals % n_booleans)
    doublings = sum(int(math.log2(v)) for v in np.abs(votes[votes != 0]).tolist())
    return (
        clause * (len(offsets) - 1)
        + literal * len(literals)
        + boolean * len(used)
        + vote * np.count_nonzero(votes)
        + doubling * doublings
    )


def without_clause(clauses, j):
    literals, offsets, votes = clauses
    gone = offsets[j + 1] - offsets[j]
    literals = np.delete(literals, np.s_[offsets[j] : offsets[j + 1]])
    return literals, np.concatenate([offsets[: j + 1], offsets[j + 2 :] - gone]), np.delete(votes, j, axis=0)


def neighbours(clauses):
    """All machines that are one move away."""
    literals, offsets, votes = clauses
    for j in range(len(votes)):
        yield without_clause(clauses, j)
        for c in range(votes.shape[1]):
            for change in {1, -1, int(-votes[j, c])} - {0}:
                other = votes.copy()
                other[j, c] += change
                if other[j].any():
                    yield literals, offsets, other
        if offsets[j + 1] - offsets[j] > 1:
            for k in range(offsets[j], offsets[j + 1]):
                later = np.arange(len(offsets)) > j
                yield np.delete(literals, k), offsets - later, votes
        for k in range(offsets[j], offsets[j + 1]):
            of_clause, negated = literals[k] % 6, literals[k] // 6 * 6
            for other in set(np.flatnonzero(FEATURES[of_clause] == FEATURES)) - {of_clause}:
                clause = {*literals[offsets[j] : offsets[j + 1]].tolist(), other + negated} - {literals[k]}
                if len(clause) == offsets[j + 1] - offsets[j]:  # it was not among them already
                    moved = literals.copy()
                    moved[offsets[j] : offsets[j + 1]] = sorted(clause)
                    yield moved, offsets, votes


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.01, 0.1, 0.5]), st.sampled_from([0.1, 0.4, 1.0]))
def test_descent_ends_where_no_move_pays(seed, price, scale):
    rng = np.random.default_rng(seed)
    literals, offsets, votes = random_clauses(rng, 6, n_clauses=8, **SHORT)
    rows = rng.random((rng.integers(2, 100), 6)) < rng.random(6)
    targets = rng.dirichlet([0.3] * 3, len(rows)).astype(np.float32)
    pruner = _native.Pruner(rows, FEATURES, targets, literals, offsets, votes, scale, seed)

    def objective(clauses):
        return loss_of(clauses, rows, targets, scale) + price * size_of(clauses, 6)

    before = objective((literals, offsets, votes))
    for _ in range(200):
        moves = pruner.sweep(price, SIZE)
        flat = pruner.clauses()
        clauses = flat[0], flat[1], flat[2].reshape(-1, 3)
        assert pruner.loss == pytest.approx(loss_of(clauses, rows, targets, scale), rel=1e-5, abs=1e-4)
        after = objective(clauses)
        assert after <= before + 1e-3  # shares are rounded to float32
        before = after
        if moves == 0:
            break
    assert moves == 0 or price == 0.0  # without a price it may go on for long
    if moves == 0:
        assert all(objective(other) > before - 1e-3 for other in neighbours(clauses))


def test_same_seed_same_machine():
    rng = np.random.default_rng(5)
    machine = random_clauses(rng, 6, n_clauses=30, **SHORT)
    rows = rng.random((500, 6)) < 0.5
    targets = rng.dirichlet([0.3] * 3, 500).astype(np.float32)

    def run(seed):
        pruner = _native.Pruner(rows, FEATURES, targets, *machine, 0.3, seed)
        pruner.sweep(0.05, SIZE)
        return [part.tolist() for part in pruner.clauses()]

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_absurd_votes_do_not_make_infinities():
    rows = every_row(3)
    targets = np.eye(2, dtype=np.float32)[rows[:, 0].astype(int)]
    votes = np.array([[2**28, -(2**28)], [-(2**28), 5]], np.int32)
    pruner = _native.Pruner(
        rows, FEATURES[:3], targets, np.array([0, 3], np.int32), np.array([0, 1, 2]), votes, 2.0, 0
    )
    pruner.sweep(0.1, SIZE)
    assert np.isfinite(pruner.loss)


@pytest.mark.parametrize(
    "change",
    [
        {"literals": np.array([12], np.int32)},
        {"literals": np.array([-1], np.int32)},
        {"offsets": np.array([0, 2])},
        {"offsets": np.array([1, 1])},
        {"votes": np.zeros((2, 3), np.int32)},
        {"votes": np.zeros((1, 2), np.int32)},
        {"targets": np.zeros((3, 3), np.float32)},
        {"features": FEATURES[::-1].copy()},
        {"features": FEATURES[:5].copy()},
        {"scale": 0.0},
    ],
)
def test_native_refuses_what_does_not_fit(change):
    good = {
        "booleans": np.zeros((4, 6), bool),
        "features": FEATURES,
        "targets": np.zeros((4, 3), np.float32),
        "literals": np.array([3], np.int32),
        "offsets": np.array([0, 1]),
        "votes": np.ones((1, 3), np.int32),
        "scale": 1.0,
        "seed": 0,
    }
    _native.Pruner(**good)
    with pytest.raises(ValueError):
        _native.Pruner(**{**good, **change})
