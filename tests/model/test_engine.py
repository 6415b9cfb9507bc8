"""The native inference engine, bit for bit against plain references, on every instruction set at hand."""

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from ethereal import Booleanizer, Model, _native
from ethereal.features.feature_map import FeatureMap
from random_models import random_clauses
from says import says
from strategies import feature_maps, models, models_of, raw_rows, reference_booleans
from thinned import examples

SIZES = [0, 1, 7, 63, 64, 65, 255, 256, 257, 511, 512, 513, 1500]
LARGEST = 2**31 - 1


@pytest.fixture(params=_native.available_isas())
def isa(request):
    _native.set_isa(request.param)
    yield request.param
    _native.set_isa("auto")


def random_model(rng, n_booleans, n_classes, n_clauses, *, mean_literals=3.0, shared=False, largest=1):
    """Clauses of random length, some empty; one vote each, or votes for several classes."""
    kind = {"mean_length": mean_literals, "contradictions": True, "zeros": 0, "one_class": not shared}
    clauses = random_clauses(rng, n_booleans, n_classes, n_clauses, heaviest=largest, **kind)
    return Model(*clauses, n_booleans=n_booleans, classes=np.arange(n_classes))


def plain_outputs(model, booleans):
    """Rows x clauses by numpy, clause by clause."""
    literals = np.concatenate([booleans, ~booleans], axis=1)
    outputs = np.zeros((len(booleans), model.n_clauses), dtype=bool)
    for j in range(model.n_clauses):
        of_clause = model.literals[model.offsets[j] : model.offsets[j + 1]]
        outputs[:, j] = literals[:, of_clause].all(axis=1) & (len(of_clause) > 0)
    return outputs


def assert_same(model, X, booleans, **keywords):
    """On every instruction set: sums, answers and clauses are those of numpy."""
    outputs = plain_outputs(model, booleans)
    sums = outputs.astype(np.int64) @ model.weights.astype(np.int64)
    answers = model.classes[np.argmax(sums, axis=1)]
    before = _native.isa()
    try:
        for isa in _native.available_isas():
            _native.set_isa(isa)
            got = model.class_sums(X, **keywords)
            assert got.dtype == np.int32
            assert got.shape == sums.shape
            np.testing.assert_array_equal(got, sums, isa)
            np.testing.assert_array_equal(model.predict(X, **keywords), answers, isa)
            np.testing.assert_array_equal(model.clause_outputs(X, **keywords), outputs, isa)
    finally:
        _native.set_isa(before)


@pytest.mark.parametrize("n_booleans", [1, 5, 8, 31, 32, 33, 63, 64, 65, 129])
def test_boolean_rows_of_every_size_and_memory_order(n_booleans):
    rng = np.random.default_rng(n_booleans)
    model = random_model(rng, n_booleans, 3, 40)
    for n in SIZES:
        booleans = rng.random((n, n_booleans)) < 0.7
        assert_same(model, booleans, booleans)
        assert_same(model, np.asfortranarray(booleans), booleans)
        assert_same(model, np.repeat(booleans, 2, axis=1)[:, ::2], booleans)
        assert_same(model, booleans[::-1, ::-1], booleans[::-1, ::-1])
        assert_same(model, booleans.view(np.uint8), booleans)
    assert_same(model, booleans.astype(np.int64), booleans)
    assert_same(model, booleans.astype(np.float32), booleans)
    assert_same(model, booleans.tolist(), booleans)


@pytest.mark.parametrize("n_booleans", [1, 8, 63, 64, 65, 200])
def test_packed_rows(n_booleans):
    rng = np.random.default_rng(n_booleans)
    model = random_model(rng, n_booleans, 3, 40)
    for n in SIZES:
        booleans = rng.random((n, n_booleans)) < 0.7
        packed = np.packbits(booleans, axis=1, bitorder="little")
        assert_same(model, packed, booleans, packed=True)
        assert_same(model, np.repeat(packed, 2, axis=1)[:, ::2], booleans, packed=True)
        # as the trainer keeps them: words of 64 literals, Booleans first, then their negations
        assert_same(model, _native.pack_literals(booleans), booleans, packed=True)


@pytest.mark.parametrize("n_classes", [1, 2, 3, 8, 19, 257, 300])
@pytest.mark.parametrize("largest", [1, 2, 7, 1000, 10_000_000])
def test_classes_and_weights(n_classes, largest):
    rng = np.random.default_rng([n_classes, largest])
    booleans = rng.random((200, 20)) < 0.7
    for n_clauses in (0, 1, 7, 8, 9, 100):
        for shared in (False, True):
            model = random_model(rng, 20, n_classes, n_clauses, shared=shared, largest=largest)
            assert_same(model, booleans, booleans)


def test_the_largest_weights():
    booleans = np.array([[False, False], [False, True], [True, False], [True, True]])
    weights = [[LARGEST - 1, -LARGEST, 0], [1, 0, -LARGEST]]
    model = Model([0, 1], [0, 1, 2], weights, n_booleans=2, classes=[5, 6, 7])
    assert_same(model, booleans, booleans)


def test_many_clauses_carry_through_all_bits(isa):
    n = 3000
    model = Model([0] * n, range(n + 1), np.ones((n, 1), int), n_booleans=1, classes=["x"])
    assert model.class_sums([[True], [False]]).tolist() == [[n], [0]]


@given(model=models(), data=st.data())
@examples(150)
def test_any_model_against_the_plain_reference(model, data):
    if model.booleanizer is None:
        row = st.lists(st.booleans(), min_size=model.n_booleans, max_size=model.n_booleans)
        booleans = data.draw(st.lists(row, min_size=1, max_size=5))
        X = np.array(booleans, dtype=bool).reshape(len(booleans), model.n_booleans)
    else:
        X = data.draw(raw_rows(model.feature_map))
        booleans = reference_booleans(model.feature_map, X)
    clauses = [(c.literals, dict(c.weights)) for c in model]
    expected = [reference.class_sums(clauses, model.n_classes, bits) for bits in booleans]
    for isa in _native.available_isas():
        _native.set_isa(isa)
        assert model.class_sums(X).tolist() == expected
        assert model.predict(X).tolist() == [model.classes[reference.winner(sums)] for sums in expected]
    _native.set_isa("auto")


NUMBERS = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", ">i4", ">f4", ">f8"]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("encoding", ["thermometer", "onehot"])
def test_raw_rows_of_every_number_type(number, encoding):
    rng = np.random.default_rng(3)
    n_features = 21
    counts = rng.integers(0, 5, n_features)
    thresholds = [np.unique(rng.integers(-9, 9, k) / 2.0) for k in counts]
    missing = rng.random(n_features) < 0.3
    feature_map = FeatureMap(
        np.concatenate(thresholds), np.cumsum([0, *map(len, thresholds)]), missing, encoding
    )
    model = model_of(rng, feature_map)
    for n in (0, 1, 63, 64, 65, 300, 700):
        X = rng.integers(-5, 6, (n, n_features)).astype(number)
        if X.dtype.kind == "f":
            X = X / X.dtype.type(2)
            X[(rng.random(X.shape) < 0.1) & missing] = np.nan
            X[rng.random(X.shape) < 0.05] = np.inf
        booleans = feature_map.booleans(X, [""] * n_features)
        for form in (X, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2]):
            assert_same(model, form, booleans)
        if X.dtype.isnative:
            assert_same(model, np.repeat(X, 3, axis=0)[::3], booleans)


def model_of(rng, feature_map):
    plain = random_model(rng, max(feature_map.n_booleans, 1), 3, 60)
    return Model(
        plain.literals,
        plain.offsets,
        plain.weights,
        n_booleans=feature_map.n_booleans,
        classes=[0, 1, 2],
        booleanizer=Booleanizer.from_feature_map(feature_map),
    )


@given(data=st.data())
@examples(150)
def test_float32_values_next_to_thresholds(data):
    feature_map = data.draw(feature_maps(missing_policy=st.just("ignore")))
    model = data.draw(models_of(feature_map))
    with np.errstate(over="ignore"):
        near = raw_rows(feature_map).map(lambda rows: rows.astype(np.float32))
        above = near.map(lambda rows: np.nextafter(rows, np.float32(np.inf)))
        X = data.draw(st.one_of(near, above))
    clauses = [(c.literals, dict(c.weights)) for c in model]
    bits = reference_booleans(feature_map, X.astype(np.float64))
    expected = [reference.class_sums(clauses, model.n_classes, b) for b in bits]
    assert model.class_sums(X).tolist() == expected


def test_frames_are_read_by_column(isa):
    import polars as pl  # here: its allocator does not live under the thread sanitizer

    rng = np.random.default_rng(5)
    feature_map = FeatureMap([0.5, 1.5, 2.5, 0.5], [0, 1, 3, 4], [False, True, False])
    booleanizer = Booleanizer.from_feature_map(feature_map, ["a", "b", "c"])
    plain = random_model(rng, 5, 2, 30)
    model = plain_with(plain, booleanizer)
    columns = {
        "a": rng.integers(0, 3, 300).astype(np.int8),
        "b": np.where(rng.random(300) < 0.2, np.nan, rng.random(300) * 4),
        "c": rng.random(300) < 0.5,
    }
    X = np.column_stack([c.astype(np.float64) for c in columns.values()])
    booleans = feature_map.booleans(X, "abc")
    frame = pd.DataFrame(columns)
    assert_same(model, frame, booleans)
    assert_same(model, frame.astype(np.float32), booleans)
    assert_same(model, frame[::2], booleans[::2])
    nullable = frame.assign(b=frame["b"].astype("Float64"), a=frame["a"].astype("Int8"))
    assert_same(model, nullable, booleans)
    assert_same(model, pl.DataFrame(columns), booleans)
    nulls = pl.DataFrame(columns).with_columns(pl.col("b").fill_nan(None))
    assert_same(model, nulls, booleans)
    assert_same(model, frame[:0], booleans[:0])
    with pytest.raises(ValueError, match=r"column 0\b.*X.*'b'.*'a'"):
        model.predict(frame[["b", "a", "c"]])
    with pytest.raises(ValueError, match="not numeric: 'a'"):
        model.predict(frame.astype({"a": str}))
    with pytest.raises(ValueError, match=r"'c' \(column 2\).*missing \(NaN\).*\b1\b.*\b300\b.*row 299\b"):
        model.predict(frame.assign(c=[*[0.0] * 299, np.nan]))


def plain_with(model, booleanizer):
    return Model(
        model.literals,
        model.offsets,
        model.weights,
        n_booleans=model.n_booleans,
        classes=model.classes,
        booleanizer=booleanizer,
    )


def test_missing_values_that_are_not_expected_are_refused_wherever_they_are(isa):
    rng = np.random.default_rng(1)
    booleanizer = Booleanizer(thresholds=[0.5]).fit(np.zeros((1, 11)))
    model = plain_with(random_model(rng, 11, 2, 5, mean_literals=1), booleanizer)
    ignoring = Booleanizer(thresholds=[0.5], missing="ignore").fit(np.zeros((1, 11)))
    lenient = plain_with(model, ignoring)
    for dtype in (np.float32, np.float64):
        for row, column in [(0, 0), (64, 10), (700, 3), (999, 9)]:
            X = rng.random((1000, 11)).astype(dtype)
            X[row, column] = np.nan
            for form in (X, np.asfortranarray(X), pd.DataFrame(X)):
                with pytest.raises(ValueError, match=rf"'x{column}' .* first in row {row}"):
                    model.predict(form)
            np.testing.assert_array_equal(lenient.clause_outputs(X), plain_outputs(lenient, X > 0.5))


def test_values_that_are_no_booleans_are_refused_wherever_they_are(isa):
    model = random_model(np.random.default_rng(1), 40, 2, 10)
    for dtype in (np.uint8, np.int8, np.int32, np.float64):
        for row, column in [(0, 0), (3, 39), (400, 33), (599, 8)]:
            for order in "CF":
                X = np.zeros((600, 40), dtype=dtype, order=order)
                X[row, column] = 2
                with pytest.raises(ValueError, match=rf"X\[{row}, {column}\] is 2"):
                    model.predict(X)


def test_any_byte_but_zero_in_a_boolean_array_is_true():
    model = random_model(np.random.default_rng(1), 3, 2, 10)
    odd = np.array([[0, 2, 255], [1, 0, 4]], dtype=np.uint8)
    assert_same(model, odd.view(bool), odd != 0)
    raw = plain_with(model, Booleanizer(thresholds=[1.5]).fit(np.zeros((1, 3))))
    assert_same(raw, odd.view(bool), np.zeros((2, 3), bool))


def test_bad_input():
    model = random_model(np.random.default_rng(1), 3, 2, 10)
    with pytest.raises(ValueError, match=r"X.*\b2\b.*\b3\b"):
        model.predict(np.zeros((4, 2), bool))
    with pytest.raises(ValueError, match="1D array"):
        model.predict(np.zeros(3, bool))
    with pytest.raises(ValueError, match="'spam', a text"):
        model.predict(np.array([[0, 1, "spam"]], dtype=object))
    with pytest.raises(ValueError, match=r"X.*\b0\b.*\b3 Booleans"):
        model.predict(np.zeros((4, 0), np.uint8), packed=True)
    with pytest.raises(TypeError, match=r"packed X.*dtype float64"):
        model.predict(np.zeros((4, 1)), packed=True)
    with pytest.raises(ValueError, match="n_jobs is 0"):
        model.predict(np.zeros((4, 3), bool), n_jobs=0)


def test_bad_clauses_are_refused_natively_too():
    def engine(literals, offsets, weights, n_booleans=2):
        return _native.Engine(
            np.array(literals, np.int32), np.array(offsets, np.int64), np.array(weights, np.int32), n_booleans
        )

    with pytest.raises(ValueError, match=r"literals\[1\].*\b4\b.*\b0\b.*\b3\b"):
        engine([0, 4], [0, 1, 2], [[1], [1]])
    with pytest.raises(ValueError, match=r"literals\[0\] is -1"):
        engine([-1], [0, 1], [[1]])
    with pytest.raises(ValueError, match=r"offsets.*clause 1\b"):
        engine([0, 1], [0, 3, 2], [[1], [1]])
    with pytest.raises(ValueError, match=r"offsets.*\b3\b.*\b2\b"):
        engine([0, 1], [0, 1, 3], [[1], [1]])
    with pytest.raises(ValueError, match=r"offsets.*\b2\b.*\b2\b.*one"):
        engine([0, 1], [0, 1], [[1], [1]])
    with pytest.raises(ValueError, match=r"class 1\b.*\b2147483648\b"):
        engine([0, 1], [0, 1, 2], [[0, LARGEST], [0, -1]])
    with pytest.raises(ValueError, match="0 classes"):
        engine([], [0], np.empty((0, 0)))
    with pytest.raises(ValueError, match=r"out.*one.*X"):
        engine([0], [0, 1], [[1]]).run_bools(np.zeros((3, 2), bool), np.empty(2, np.int64))
    with pytest.raises(ValueError, match=r"X.*\b3\b.*\b2 Booleans"):
        engine([0], [0, 1], [[1]]).run_bools(np.zeros((3, 3), bool), np.empty(3, np.int64))
    with pytest.raises(ValueError, match=r"out.*int64"):
        engine([0], [0, 1], [[1]]).run_bools(np.zeros((3, 2), bool), np.empty(3, np.int32))


def test_rows_as_the_trainer_packs_them(isa):
    """The bits after the Booleans, their negations, are not read."""
    rng = np.random.default_rng(2)
    model = random_model(rng, 50, 3, 30, shared=True, largest=5)
    engine = _native.Engine(model.literals, model.offsets, model.weights, model.n_booleans)
    booleans = rng.random((100, 50)) < 0.7
    sums = np.empty((100, 3), np.int32)
    assert engine.run_packed(_native.pack_literals(booleans), sums)
    np.testing.assert_array_equal(sums, model.class_sums(booleans))


def test_threads_share_the_blocks():
    rng = np.random.default_rng(4)
    model = random_model(rng, 40, 5, 500)
    booleans = rng.random((10_001, 40)) < 0.6
    for n_jobs in (1, 2, 3, -1):
        assert_same(model, booleans, booleans, n_jobs=n_jobs)


def test_sixteen_python_threads_predict_with_one_model():
    rng = np.random.default_rng(6)
    model = pickle.loads(pickle.dumps(random_model(rng, 30, 4, 100)))  # not compiled yet
    batches = [rng.random((n, 30)) < 0.6 for n in rng.integers(1, 3000, 64)]
    expected = [plain_outputs(model, b).astype(int) @ model.weights for b in batches]
    with ThreadPoolExecutor(16) as pool:
        for _ in range(3):
            jobs = [pool.submit(model.class_sums, b, n_jobs=1 + i % 2) for i, b in enumerate(batches)]
            for job, sums in zip(jobs, expected, strict=True):
                np.testing.assert_array_equal(job.result(), sums)


def test_read_only_and_borrowed_memory(tmp_path):
    rng = np.random.default_rng(7)
    model = random_model(rng, 30, 2, 50)
    booleans = rng.random((500, 30)) < 0.6
    np.save(tmp_path / "x.npy", booleans)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert_same(model, mapped, booleans)
    frozen = booleans.copy()
    frozen.setflags(write=False)
    assert_same(model, frozen, booleans)
    assert_same(model, np.broadcast_to(booleans[:1], (200, 30)), np.repeat(booleans[:1], 200, axis=0))


def test_the_instruction_set_can_be_forced():
    assert "scalar" in _native.available_isas()
    with pytest.raises(ValueError, match="isa='mmx' is not an instruction set; available: auto, scalar"):
        _native.set_isa("mmx")
    code = "from ethereal import _native; print(_native.isa())"

    def run(name):
        env = {**os.environ, "ETHEREAL_ISA": name}
        return subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
        )

    assert run("scalar").stdout.strip() == "scalar"
    says(run("mmx").stderr, "ETHEREAL_ISA='mmx'")
