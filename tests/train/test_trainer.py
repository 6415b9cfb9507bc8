"""The native trainer against the plain-Python reference, and its draws against their probabilities."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ethereal import _native
from reference_training import Machine
from trainers import make_rows, make_trainer


@pytest.fixture(params=_native.available_isas())
def isa(request):
    _native.set_isa(request.param)
    yield request.param
    _native.set_isa("auto")


@pytest.mark.parametrize(
    "shape",
    [
        {"n_classes": 2, "n_clauses": 2, "n_booleans": 1, "T": 1, "s": 1.0},
        {"n_classes": 2, "n_clauses": 1, "n_booleans": 3, "T": 1, "s": 2.0},
        {"n_classes": 3, "n_clauses": 7, "n_booleans": 5, "T": 4, "s": 2.5},
        {"n_classes": 3, "n_clauses": 10, "n_booleans": 5, "T": 4, "s": 2.5},
        {"n_classes": 2, "n_clauses": 70, "n_booleans": 33, "T": 7, "s": 3.0},
        {"n_classes": 4, "n_clauses": 34, "n_booleans": 32, "T": 15, "s": 10.0, "boost": False},
        {"n_classes": 2, "n_clauses": 130, "n_booleans": 70, "T": 3, "s": 1.7, "budget": 3},
        {"n_classes": 3, "n_clauses": 12, "n_booleans": 40, "T": 9, "s": 300.0, "budget": 1, "boost": False},
        {"n_classes": 3, "n_clauses": 11, "n_booleans": 50, "T": 4, "s": 2.5, "random_start": True},
        {
            "n_classes": 2,
            "n_clauses": 70,
            "n_booleans": 32,
            "T": 7,
            "s": 3.0,
            "boost": False,
            "random_start": True,
        },
    ],
    ids=str,
)
def test_states_equal_those_of_the_reference(shape):
    """On every instruction set, beside one run of the reference, which takes most of the time."""
    X, y = make_rows(40, shape["n_booleans"], shape["n_classes"])
    trainers = {isa: make_trainer(**shape, seed=99) for isa in _native.available_isas()}
    machine = Machine(
        shape["n_classes"],
        shape["n_clauses"],
        shape["n_booleans"],
        shape["T"],
        shape["s"],
        shape.get("boost", True),
        shape.get("budget"),
        seed=99,
        random_start=shape.get("random_start", False),
    )

    def compare():
        for isa, trainer in trainers.items():
            np.testing.assert_array_equal(trainer.states, machine.states, isa)

    compare()
    packed = _native.pack_literals(X)
    weights = np.linspace(0.1, 2.0, len(y))
    for epoch in range(4):
        w = weights if epoch == 1 else None
        machine.epoch(X.tolist(), y.tolist(), w)
        for isa, trainer in trainers.items():
            _native.set_isa(isa)
            trainer.epoch(packed, y, w, 2)
        compare()
        if epoch == 2:
            machine.exclude()
            for isa, trainer in trainers.items():
                _native.set_isa(isa)
                trainer.exclude()
            compare()
    _native.set_isa("auto")
    for trainer in trainers.values():
        assert trainer.n_includes == (trainer.states >= 128).sum() > 0


def test_a_random_start_is_half_on_each_side_of_the_middle():
    trainer = make_trainer(n_classes=3, n_clauses=40, n_booleans=100, random_start=True)
    states = trainer.states
    assert set(np.unique(states).tolist()) == {127, 128}
    assert abs((states == 128).mean() - 0.5) < 0.02
    assert trainer.n_includes == (states == 128).sum()
    part = make_trainer(n_classes=3, n_clauses=40, n_booleans=100, random_start=True, only=(1, 3))
    np.testing.assert_array_equal(part.states, states[1:])  # as a worker of a cluster begins
    other = make_trainer(n_classes=3, n_clauses=40, n_booleans=100, random_start=True, seed=2)
    assert (other.states != states).mean() > 0.4


def test_clauses_are_the_included_literals():
    X, y = make_rows(60, 40, 3)
    trainer = make_trainer(n_classes=3, n_clauses=20, n_booleans=40)
    trainer.epoch(_native.pack_literals(X), y, None, 1)
    literals, offsets = trainer.clauses()
    included = (trainer.states >= 128).reshape(60, 80)
    expected = [np.flatnonzero(row) for row in included]
    np.testing.assert_array_equal(np.diff(offsets), [len(e) for e in expected])
    np.testing.assert_array_equal(literals, np.concatenate(expected))


def test_same_states_for_every_number_of_threads_and_instruction_set():
    X, y = make_rows(500, 100, 7)
    packed = _native.pack_literals(X)
    results = []
    for name in _native.available_isas():
        for threads in (1, 2, 4):
            _native.set_isa(name)
            trainer = make_trainer(n_classes=7, n_clauses=50, n_booleans=100, T=8, s=4.5)
            for _ in range(3):
                trainer.epoch(packed, y, None, threads)
            results.append(trainer.states)
    _native.set_isa("auto")
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def one_update(states, row, y, *, T=5, s=3.0, boost=True, seed=0):
    """States of a two-class machine after one row: class `y` has seen y=1, the other one y=0."""
    n_classes, n_clauses, n_literals = states.shape
    trainer = make_trainer(n_classes, n_clauses, n_literals // 2, T=T, s=s, boost=boost, seed=seed)
    trainer.states = states
    trainer.epoch(_native.pack_literals(np.array([row])), np.array([y], np.int32), None, 1)
    return trainer.states.astype(int) - states


def test_moves_without_a_draw(isa):
    """With the class sum at its worst every clause gets feedback, and with s = 1 every draw hits."""
    rng = np.random.default_rng(3)
    n_clauses, n_booleans, T = 20, 45, 2
    row = rng.random(n_booleans) < 0.5
    literals = np.concatenate([row, ~row])
    states = rng.integers(0, 128, (2, n_clauses, 2 * n_booleans)).astype(np.uint8)  # empty: output 1
    states[0, :10, np.flatnonzero(~literals)[0]] = 200  # positive clauses of class 0: output 0, sum -10
    states[1, 10:, np.flatnonzero(~literals)[1]] = 200  # negative clauses of class 1: output 0, sum +10
    change = one_update(states, row, 0, T=T, s=1.0)
    down = np.where(states > 0, -1, 0)
    type_ii = np.where(~literals & (states < 128), 1, 0)
    # y = 1 in class 0: Type I to positive clauses (output 0), Type II to negative ones (output 1)
    np.testing.assert_array_equal(change[0, :10], down[0, :10])
    np.testing.assert_array_equal(change[0, 10:], type_ii[0, 10:])
    # y = 0 in class 1: Type I to negative clauses (output 0), Type II to positive ones (output 1)
    np.testing.assert_array_equal(change[1, 10:], down[1, 10:])
    np.testing.assert_array_equal(change[1, :10], type_ii[1, :10])
    # the other way round nothing moves: the sums are as they should be
    assert not one_update(states, row, 1, T=T, s=1.0).any()


def test_type_i_with_output_1_strengthens_true_literals(isa):
    rng = np.random.default_rng(4)
    row = rng.random(50) < 0.5
    literals = np.concatenate([row, ~row])
    states = np.full((2, 40, 100), 60, np.uint8)  # all empty: sum 0
    states[:, :, 7] = 128 if literals[7] else 60
    states[0, 5, np.flatnonzero(literals)[3]] = 255  # cannot go higher
    change = one_update(states, row, 0, T=1, s=1e6)
    touched = change[0, :20].any(axis=1)
    assert 0 < touched.sum() < 20  # probability one half
    expected = np.where(literals & (states[0, :20] < 255), 1, 0)
    np.testing.assert_array_equal(change[0, :20][touched], expected[touched])
    unboosted = one_update(states, row, 0, T=1, s=1.0, boost=False)
    assert not (unboosted[0, :20][:, literals] > 0).any()  # probability (s - 1) / s is zero


@pytest.mark.parametrize("s", [1.004, 1.5, 3.0, 7.5, 10.0, 300.0])
def test_forgetting_has_probability_one_in_s(s):
    """Counts over many events: their mean as it should be, and no more spread than independent draws have."""
    n_clauses, n_booleans, repeats = 200, 256, 60
    row = np.zeros(n_booleans, bool)
    states = np.full((2, n_clauses, 2 * n_booleans), 100, np.uint8)
    states[0, :, 0] = 200  # literal 0 is false: all output 0, sum 0, Type I to half of the positive ones
    counts = []
    for seed in range(repeats):
        change = one_update(states, row, 0, T=1, s=s, seed=seed)[0, : n_clauses // 2]
        drawn = change.any(axis=1) if s < 20 else slice(None)
        counts.append(-change[drawn].astype(int))
    hits = np.concatenate(counts)
    events = len(hits) if s < 20 else repeats * n_clauses / 4  # half of the positive clauses are drawn
    n, p = events * hits.shape[1], 1 / s
    sigma = np.sqrt(p * (1 - p) / n) if s < 20 else np.sqrt(p / n) * 2
    assert abs(hits.sum() / n - p) < 4.5 * sigma
    if s < 20:
        per_literal = hits.mean(axis=0)
        assert np.abs(per_literal - p).max() < 5.5 * np.sqrt(p * (1 - p) / len(hits))
        # independent literals: the variance of an event's count is that of a binomial, within a few per cent
        variance = hits.sum(axis=1).var() / (hits.shape[1] * p * (1 - p))
        assert 0.85 < variance < 1.15


@pytest.mark.parametrize(("T", "total"), [(1, 0), (4, -3), (4, 3), (15, 10), (100, 0)])
@pytest.mark.parametrize("y", [0, 1])
def test_clauses_are_drawn_with_the_margins_probability(T, total, y):
    n_clauses = 400
    row = np.zeros(8, bool)
    states = np.full((2, n_clauses, 16), 100, np.uint8)
    states[1, :, 0] = 200  # output 0
    votes = slice(0, total) if total > 0 else slice(200, 200 - total)
    states[1, votes, 0] = 100  # these output 1: the class sum is `total`
    drawn = []
    for seed in range(60):
        change = one_update(states, row, y, T=T, s=1.0, seed=seed)[1]  # class 1 sees y = 1 when y is 1
        type_i = slice(0, 200) if y else slice(200, 400)
        missed = states[1, type_i, 0] == 200
        drawn.append(change[type_i].any(axis=1)[missed])
    share = np.concatenate(drawn).mean()
    p = (T - total) / (2 * T) if y else (T + total) / (2 * T)
    assert abs(share - p) < 4.5 * np.sqrt(max(p * (1 - p), 1e-9) / np.concatenate(drawn).size) + 1e-4


def test_budget_is_never_exceeded_and_chooses_without_preference():
    X, y = make_rows(200, 64, 2)
    trainer = make_trainer(n_clauses=100, n_booleans=64, T=10, budget=4)
    seen = np.zeros(128)
    for _ in range(5):
        trainer.epoch(_native.pack_literals(X), y, None, 1)
        included = trainer.states >= 128
        assert included.sum(axis=2).max() <= 4
        seen += included.sum(axis=(0, 1))
    assert (seen > 0).sum() > 40  # not only the first literals


def test_weights_are_visits():
    """A row of weight 0 is never seen; only class 1's clauses for y=1 move then."""
    X = np.array([[True, False], [False, True]])
    y = np.array([0, 1], np.int32)
    trainer = make_trainer(n_clauses=20, n_booleans=2, T=1, s=1e6)
    trainer.epoch(_native.pack_literals(X), y, np.array([0.0, 1.0]), 1)
    states = trainer.states
    literals = np.array([False, True, True, False])
    assert (states[1, :10][:, literals] >= 127).all()
    assert (states[1, :10][:, ~literals] == 127).all()  # row 0 would have raised them
    assert (states[1, :10] == 128).any()


def test_bad_arrays_are_refused():
    trainer = make_trainer(n_booleans=40)
    X, y = make_rows(10, 40, 2)
    packed = _native.pack_literals(X)
    with pytest.raises(ValueError, match="words"):
        trainer.epoch(packed[:, :1].copy(), y, None, 1)
    with pytest.raises(ValueError, match="length"):
        trainer.epoch(packed, y[:5].copy(), None, 1)
    with pytest.raises(ValueError, match="range"):
        trainer.epoch(packed, y + 5, None, 1)
    with pytest.raises(ValueError, match="shape"):
        trainer.states = np.zeros((2, 10, 7), np.uint8)


@pytest.mark.parametrize("order", ["C", "F"])
def test_packing(order):
    rng = np.random.default_rng(0)
    for n in (1, 31, 32, 33, 100):
        X = np.asarray(rng.random((7, n)) < 0.5, order=order)
        bits = np.unpackbits(_native.pack_literals(X).view(np.uint8), axis=1, bitorder="little")
        np.testing.assert_array_equal(bits[:, : 2 * n], np.hstack([X, ~X]))
        assert not bits[:, 2 * n :].any()


@pytest.mark.skipif(sys.platform != "linux", reason="the address space is bounded as Linux does it")
@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="sanitizers take addresses of their own")
@pytest.mark.parametrize("megabytes", [4, 12], ids=["no thread", "one thread of four"])
def test_threads_that_cannot_be_had(megabytes):
    """A thread takes 8 MB of addresses: with fewer it cannot start, and the others do its work."""
    code = f"""
import resource, sys
sys.path[:0] = {sys.path!r}
from test_trainer import epoch_of_four_classes
most = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + {megabytes << 20}
print(epoch_of_four_classes(4, lambda: resource.setrlimit(resource.RLIMIT_AS, (most, -1))))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == epoch_of_four_classes(1)


def epoch_of_four_classes(n_threads, before=lambda: None):
    X, y = make_rows(200, 5, 4)
    rows, trainer = _native.pack_literals(X), make_trainer(n_classes=4)
    before()
    trainer.epoch(rows, y, None, n_threads)
    return trainer.states.tobytes().hex()


def test_compilers_may_not_fuse_multiply_and_add():
    """`make neon` looks for fused instructions. Here the flag must be there at all."""
    root = Path(__file__).parents[2]
    for name in ("CMakeLists.txt", "tools/neon.sh"):
        assert "-ffp-contract=off" in (root / name).read_text()
