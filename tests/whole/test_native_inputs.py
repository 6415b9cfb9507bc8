"""The native module called directly with arrays that do not belong together: an error, never a crash.

Python checks what users give before it gets here; this is the second line. `make sanitize` runs it, too.
"""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ethereal import _native
from thinned import examples

REFUSED = (ValueError, TypeError, MemoryError)
SMALL = st.integers(0, 6)
ODD = st.one_of(st.integers(-2, 9), st.sampled_from([2**31 - 1, -(2**31), 64, 65]))


def ints(dtype, shape):
    return hnp.arrays(dtype, shape, elements=ODD)


@given(st.data())
@examples(100)
def test_engine(data):
    n_clauses, n_classes, n_booleans = data.draw(SMALL), data.draw(SMALL), data.draw(SMALL)
    valid = data.draw(st.booleans())
    if valid and n_booleans:
        lengths = data.draw(hnp.arrays(np.int64, n_clauses, elements=st.integers(0, 3)))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        literals = data.draw(
            hnp.arrays(np.int32, int(offsets[-1]), elements=st.integers(0, 2 * n_booleans - 1))
        )
    else:
        offsets, literals = data.draw(ints(np.int64, SMALL)), data.draw(ints(np.int32, SMALL))
    weights = data.draw(ints(np.int32, st.tuples(st.just(n_clauses), st.just(n_classes))))
    try:
        engine = _native.Engine(literals, offsets, weights, n_booleans)
    except REFUSED:
        return
    X = data.draw(
        hnp.arrays(
            st.sampled_from([np.bool_, np.uint8, np.uint64, np.float64]),
            st.tuples(SMALL, st.one_of(st.just(n_booleans), SMALL)),
        )
    )
    n_out = data.draw(st.one_of(st.just(len(X)), SMALL))
    width = data.draw(st.sampled_from([(), (n_classes,), (n_clauses,), (3,)]))
    out = np.zeros((n_out, *width), data.draw(st.sampled_from([np.int64, np.int32, np.bool_])))
    for run in (engine.run_bools, engine.run_packed, engine.run_raw):
        try:
            run(X, out, data.draw(st.sampled_from([0, 1, 2])))
        except REFUSED:
            continue
        assert len(X) == len(out)


@given(st.data())
@examples(60)
def test_engine_with_thresholds(data):
    n_features = data.draw(st.integers(1, 3))
    thresholds = data.draw(hnp.arrays(np.float64, SMALL, elements=st.floats(width=32)))
    offsets = data.draw(
        st.one_of(ints(np.int64, SMALL), st.just(np.linspace(0, len(thresholds), n_features + 1).astype(int)))
    )
    flags = hnp.arrays(np.bool_, st.one_of(st.just(n_features), SMALL))
    clauses = (np.array([0], np.int32), np.array([0, 1]), np.array([[1]], np.int32))
    try:
        engine = _native.Engine(
            *clauses,
            data.draw(st.one_of(st.just(len(thresholds)), SMALL)),
            thresholds,
            thresholds.astype(np.float32),
            offsets,
            data.draw(st.one_of(st.just(offsets), ints(np.int64, SMALL))),
            data.draw(flags),
            data.draw(flags),
            data.draw(flags),
        )
        X = data.draw(hnp.arrays(np.float64, st.tuples(SMALL, st.just(n_features))))
        engine.run_raw(X, np.zeros((len(X), 1), np.int32), 1)
        engine.run_columns(list(X.T), np.zeros((len(X), 1), np.int32), 1)
    except REFUSED:
        pass


@given(st.data())
@examples(60)
def test_trainer(data):
    n_classes, n_clauses, n_booleans = data.draw(SMALL), 2 * data.draw(SMALL), data.draw(SMALL)
    try:
        trainer = _native.Trainer(
            n_classes=n_classes,
            n_clauses=n_clauses,
            n_booleans=n_booleans,
            T=data.draw(st.sampled_from([0, 1, 5, 2**31 - 1])),
            s=data.draw(st.sampled_from([0.5, 1.0, 3.9, 1e9, float("inf"), float("nan")])),
            boost_true_positive=data.draw(st.booleans()),
            literal_budget=data.draw(st.sampled_from([0, 1, 5, 2**31 - 1])),
            seed=data.draw(st.sampled_from([0, 2**64 - 1])),
        )
    except REFUSED:
        return
    n_rows = data.draw(SMALL)
    rows = data.draw(hnp.arrays(np.uint64, st.tuples(st.just(n_rows), st.sampled_from([1, 1, 1, 2]))))
    classes = data.draw(hnp.arrays(np.int32, n_rows, elements=st.integers(-1, n_classes)))
    weight = st.sampled_from([0.0, 0.5, 3.0, -1.0, float("nan"), float("inf"), 1e30])
    weights = data.draw(st.one_of(st.none(), hnp.arrays(np.float64, n_rows, elements=weight)))
    try:
        trainer.epoch(rows, classes, weights, data.draw(st.sampled_from([0, 1, 3])))
        trainer.exclude()
        trainer.states = trainer.states
    except REFUSED:
        pass
    shape = data.draw(st.tuples(SMALL, SMALL, SMALL))
    with pytest.raises(REFUSED):
        trainer.states = np.zeros((shape[0] + 7, *shape[1:]), np.uint8)
    literals, offsets = trainer.clauses()
    assert len(offsets) == n_classes * n_clauses + 1
    assert offsets[-1] == len(literals) == trainer.n_includes


@pytest.mark.parametrize(
    "shape",
    [(2**31, 2**31, 2**31), (2**16, 2**16, 2**31), (2, 2, 2**31), (2**24, 2**24, 2**24), (2, 2**25, 1)],
)
def test_sizes_that_would_overflow(shape):
    sizes = dict(zip(("n_classes", "n_clauses", "n_booleans"), shape, strict=True))
    with pytest.raises(ValueError, match="too many classes, clauses or Booleans"):
        _native.Trainer(**sizes, T=5, s=3.0, boost_true_positive=True, literal_budget=5, seed=1)


@given(st.data())
@examples(60)
def test_pruner(data):
    n_rows, n_booleans, n_classes = data.draw(SMALL), data.draw(SMALL), data.draw(SMALL)
    booleans = data.draw(hnp.arrays(np.bool_, (n_rows, n_booleans)))
    offsets = data.draw(
        st.one_of(ints(np.int64, SMALL), st.just(np.array([0, 1, 3])), st.just(np.array([0])))
    )
    literals = data.draw(
        st.one_of(ints(np.int32, SMALL), hnp.arrays(np.int32, 3, elements=st.integers(0, 2)))
    )
    with suppress(*REFUSED):
        _native.shorten(booleans, literals, offsets)
    try:
        pruner = _native.Pruner(
            booleans,
            np.arange(data.draw(st.one_of(st.just(n_booleans), SMALL)), dtype=np.int32),
            data.draw(hnp.arrays(np.float32, (n_rows, n_classes), elements=st.sampled_from([0.0, 1.0]))),
            literals,
            offsets,
            data.draw(ints(np.int32, st.tuples(st.just(max(len(offsets) - 1, 0)), st.just(n_classes)))),
            data.draw(st.sampled_from([0.0, 1.0, 5.0, float("nan")])),
            0,
        )
        pruner.sweep(0.1, (1.0, 1.0, 1.0, 1.0, 1.0))
        pruner.clauses()
    except REFUSED:
        pass


def test_votes_whose_sums_would_overflow():
    booleans, clauses = np.ones((3, 1), bool), (np.array([0], np.int32), np.array([0, 1]))
    votes = np.array([[2**29 + 1, 0]], np.int32)
    with pytest.raises(ValueError, match=r"votes.*class 0\b.*\b536870913\b"):
        _native.Pruner(
            booleans, np.array([0], np.int32), np.ones((3, 2), np.float32), *clauses, votes, 1.0, 0
        )


def test_votes_are_fitted_on_labels_and_weights_in_range():
    outputs, codes, ones = np.ones((3, 2), bool), np.array([0, 1, 1], np.int32), np.ones(3)
    for labels, weights, n_classes in [
        (codes, ones, 1),
        (codes - 1, ones, 2),
        (codes, ones[:2], 2),
        (codes, -ones, 2),
        (codes, ones * np.inf, 2),
        (codes, ones * np.nan, 2),
        (codes[:2], ones, 2),
    ]:
        with pytest.raises(ValueError, match="VoteFitting"):
            _native.VoteFitting(outputs, labels, weights, n_classes)
    fitting = _native.VoteFitting(outputs, codes, ones, 2)
    for strength in (0.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="strength must be positive"):
            fitting.fit(strength, 1)
    empty = _native.VoteFitting(np.ones((0, 2), bool), codes[:0], ones[:0], 2)
    empty.fit(1.0, 3)
    assert not empty.votes().any()


def test_block_counter():
    with pytest.raises(ValueError, match="isa must be thumb or riscv"):
        _native.BlockCounter("x86", 0, b"")
    assert _native.BlockCounter("riscv", 2**64 - 1, b"\1").by_block() == []


@given(st.data())
@examples(150)
def test_window_features(data):
    n, n_axes = data.draw(st.sampled_from([0, 16, 32, 33, 64, 100, 256, 300])), data.draw(st.integers(0, 3))
    windows = np.full((2, n, n_axes), data.draw(st.sampled_from([0, -32768, 32767, 5])), dtype=np.int16)
    windows[:, ::3] = data.draw(st.sampled_from([0, -32768, 32767]))
    axis = st.one_of(st.integers(0, 4), st.sampled_from([17, 255]))
    steps = st.tuples(st.integers(0, 14), axis, axis, axis)
    plan = np.array(data.draw(st.lists(steps, min_size=1, max_size=6)), dtype=np.uint8)
    widths = np.array([0, 0, 4, 1, 1, 1, 2, 8, 5, 8, 8, 1, 161, 1, 0])
    n_features = data.draw(st.one_of(st.just(int(widths[plan[:, 0]].sum())), SMALL))
    out = np.zeros((data.draw(st.sampled_from([2, 2, 1])), n_features), dtype=np.int16)
    sine = np.full(data.draw(st.sampled_from([0, 1, 4, 13, 193, 769, 770])), 32767, dtype=np.int16)
    n_ends = data.draw(st.sampled_from([32, 32, 3]))
    ends = data.draw(hnp.arrays(np.uint16, n_ends, elements=st.integers(0, 65535)))
    with suppress(*REFUSED):
        _native.window_features(windows, plan, sine, ends, out, data.draw(st.sampled_from([0, 1, 2])))
