"""The estimator: scikit-learn's contract, training and its records, bad input."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import textwrap

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from ethereal import Booleanizer, EtherealClassifier, _native
from ethereal.selection import hold_out


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)


def small(**kwargs):
    return EtherealClassifier(**{"n_clauses": 20, "T": 8, "s": 4.0, "epochs": 5, "random_state": 1} | kwargs)


# Weights say how often a row is visited in an epoch, on average; the order of visits is random. Rows of
# weight 2 therefore learn what two equal rows learn in distribution, but not bit for bit.
WEIGHTS_ARE_MEAN_VISITS = {
    "check_sample_weight_equivalence_on_dense_data": "weights are mean visits in random order",
}


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pair
        for estimator in (EtherealClassifier(n_clauses=20, epochs=15, random_state=0), Booleanizer())
        for pair in estimator_checks_generator(estimator)
    ],
    ids=lambda value: getattr(getattr(value, "func", value), "__name__", type(value).__name__),
)
def test_scikit_learns_checks(estimator, check):
    reason = WEIGHTS_ARE_MEAN_VISITS.get(check.func.__name__)
    if reason is not None and isinstance(estimator, EtherealClassifier):
        with pytest.raises(AssertionError):
            check(estimator)
    else:
        check(estimator)


@pytest.mark.parametrize("exclude_every", [None, 1, 2])
def test_learns_digits(digits, exclude_every):
    X, X_test, y, y_test = digits
    clf = EtherealClassifier(100, 15, 4.0, epochs=20, exclude_every=exclude_every, random_state=0).fit(X, y)
    assert clf.score(X_test, y_test) > 0.92
    assert clf.classes_.tolist() == list(range(10))


def test_history_has_a_record_per_epoch_and_exclusion(digits):
    X, X_test, y, y_test = digits
    clf = small(epochs=7, exclude_every=3).fit(X, y, eval_set=(X_test, y_test))
    phases = [(r["epoch"], r["phase"]) for r in clf.history_]
    train = [(e, "train") for e in range(1, 8)]
    assert phases == [*train[:3], (3, "exclude"), *train[3:6], (6, "exclude"), train[6]]
    for r in clf.history_:
        assert r["includes_per_clause"] == r["includes"] / 200
        assert 0 <= r["validation_accuracy"] <= 1
        assert 0 <= r["eval_accuracy"] <= 1
        assert r["train_accuracy"] is None
        assert r["seconds"] > 0
    before, after = clf.history_[2], clf.history_[3]
    assert after["includes"] < before["includes"]


def test_keeps_the_epoch_of_the_best_validation_accuracy(digits):
    X, _, y, _ = digits
    clf = small(epochs=12).fit(X, y)
    epochs = [r for r in clf.history_ if r["phase"] == "train"]
    best = max(epochs, key=lambda r: (r["validation_accuracy"], -r["includes"]))
    assert clf.model_.n_includes == best["includes"]
    loose = small(epochs=12, accuracy_tolerance=0.02).fit(X, y)
    allowed = [r for r in epochs if r["validation_accuracy"] >= best["validation_accuracy"] - 0.02]
    assert loose.model_.n_includes == min(r["includes"] for r in allowed) <= clf.model_.n_includes
    last = small(epochs=12, validation_fraction=0).fit(X, y)
    assert last.model_.n_includes == last.history_[-1]["includes"]


def test_shorten_drops_what_decides_nothing_on_the_rows_of_fit(digits):
    X, X_test, y, y_test = digits
    plain, short = (small(epochs=20, shorten=shorten).fit(X, y) for shorten in (False, True))
    np.testing.assert_array_equal(short.decision_function(X), plain.decision_function(X))
    np.testing.assert_array_equal(short.ta_states_, plain.ta_states_)  # training is the same
    assert short.model_.n_includes < 0.8 * plain.model_.n_includes
    assert short.score(X_test, y_test) > plain.score(X_test, y_test) - 0.03
    with pytest.raises(ValueError, match="shorten=True needs all training rows"):
        small(shorten=True).partial_fit(X, y, classes=np.unique(y))


def test_evaluation_rows_are_only_watched(digits):
    X, X_test, y, y_test = digits
    a = small().fit(X, y)
    b = small().fit(X, y, eval_set=(X_test, np.random.default_rng(0).permutation(y_test)))
    assert a.model_ == b.model_


def test_validation_rows_of_ones_own(digits):
    X, X_test, y, y_test = digits
    clf = small(epochs=8).fit(X, y, validation_set=(X_test, y_test))
    plain = small(epochs=8, validation_fraction=0).fit(X, y)
    np.testing.assert_array_equal(clf.ta_states_, plain.ta_states_)  # all rows train
    best = max(r["validation_accuracy"] for r in clf.history_ if r["phase"] == "train")
    assert clf.score(X_test, y_test) == pytest.approx(best)
    with pytest.raises(ValueError, match="validation_set must be a pair"):
        small().fit(X, y, validation_set=X)


def test_same_seed_same_bits(digits):
    X, _, y, _ = digits
    one = small(n_jobs=1).fit(X, y)
    two = small(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.ta_states_, two.ta_states_)
    assert one.model_ == two.model_
    other = small(random_state=2).fit(X, y)
    assert one.model_ != other.model_


def test_instruction_set_is_taken_from_the_environment():
    code = "from ethereal import _native; print(_native.isa())"
    for isa in _native.available_isas():
        env = os.environ | {"ETHEREAL_ISA": isa}
        out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
        assert out.stdout.strip() == isa


def test_decision_function_and_predict_agree(digits):
    X, X_test, y, _ = digits
    clf = small().fit(X, y)
    sums = clf.decision_function(X_test)
    np.testing.assert_array_equal(sums, clf.model_.class_sums(X_test))
    np.testing.assert_array_equal(clf.predict(X_test), clf.classes_[sums.argmax(axis=1)])
    proba = clf.predict_proba(X_test)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(proba.argmax(axis=1), sums.argmax(axis=1))


def test_pickle_before_and_after_predict_and_training_on(digits, tmp_path):
    X, X_test, y, _ = digits
    clf = small()
    clf = pickle.loads(pickle.dumps(clf)).fit(X, y)
    first = pickle.loads(pickle.dumps(clf))
    expected = clf.predict(X_test)
    np.testing.assert_array_equal(first.predict(X_test), expected)
    joblib.dump(clf, tmp_path / "clf.joblib")
    again = joblib.load(tmp_path / "clf.joblib")
    np.testing.assert_array_equal(again.predict(X_test), expected)
    clf.partial_fit(X, y)
    again.partial_fit(X, y)
    np.testing.assert_array_equal(clf.ta_states_, again.ta_states_)


def test_partial_fit_goes_on(digits):
    X, X_test, y, y_test = digits
    clf = small(validation_fraction=0)
    with pytest.raises(ValueError, match="classes must be given"):
        clf.partial_fit(X, y)
    for _ in range(6):
        clf.partial_fit(X, y, classes=range(10))
    assert clf.history_[-1]["epoch"] == 6
    assert clf.score(X_test, y_test) > 0.8
    with pytest.raises(ValueError, match=r"labels that are not in classes: \[77\]"):
        clf.partial_fit(X, np.where(y == 3, 77, y))
    with pytest.raises(ValueError, match="features"):
        clf.partial_fit(X[:, :10], y)
    with pytest.raises(ValueError, match="but was"):
        clf.partial_fit(X, y, classes=[0, 1])
    # a refused call changes nothing
    assert clf.history_[-1]["epoch"] == 6
    assert clf.classes_.tolist() == list(range(10))


def test_partial_fit_equals_fit_without_validation(digits):
    X, _, y, _ = digits
    whole = small(epochs=3, validation_fraction=0).fit(X, y)
    steps = small(epochs=3, validation_fraction=0)
    for _ in range(3):
        steps.partial_fit(X, y, classes=range(10))
    np.testing.assert_array_equal(whole.ta_states_, steps.ta_states_)


def test_states_can_be_read_and_written(digits):
    X, _, y, _ = digits
    clf = small().fit(X, y)
    states = clf.ta_states_
    assert states.shape == (10, 20, 2 * clf.model_.n_booleans)
    states[:] = 0
    states[3, 0, :] = 127
    states[3, 0, 0] = 255
    clf.ta_states_ = states
    assert clf.model_.n_includes == 1
    with pytest.raises(ValueError, match="uint8 of shape"):
        clf.ta_states_ = states[:2]
    budget = small(literal_budget=2).fit(X, y)
    states[3, 0, :3] = 255
    with pytest.raises(ValueError, match="literal_budget is 2"):
        budget.ta_states_ = states
    with pytest.raises(NotFittedError):
        small().ta_states_  # noqa: B018


def test_labels_of_any_type():
    X, y = load_iris(return_X_y=True)
    for labels in (np.array(["setosa", "ü", "c c"]), np.array([-1.0, 0.0, 7.0]), np.array([10, 20, 30])):
        clf = small(epochs=10).fit(X, labels[y])
        assert set(clf.predict(X)) <= set(labels)
        assert clf.score(X, labels[y]) > 0.8
    binary = small().fit(X[y < 2], y[y < 2] == 1)
    assert binary.predict(X).dtype == bool
    assert binary.decision_function(X).shape == (150,)


def test_frames_keep_names_and_order_is_checked():
    frame = load_iris(as_frame=True)
    clf = small().fit(frame.data, frame.target)
    assert clf.model_.feature_names == tuple(frame.data.columns)
    with pytest.raises(ValueError, match=r"[Ff]eature names"):
        clf.predict(frame.data[frame.data.columns[::-1]])


def test_boolean_rows_pass_as_they_are():
    rng = np.random.default_rng(0)
    X = rng.random((300, 12)) < 0.5
    y = X[:, 0] & ~X[:, 1]
    for rows in (X, X.astype(np.uint8), X.astype(float)):
        clf = small(epochs=20).fit(rows, y)
        assert clf.booleanizer_ is None
        assert clf.score(rows, y) > 0.95
    with pytest.raises(ValueError, match=r"X\[0, 0\] is .*2.*Booleanizer"):
        clf.predict(X.astype(float) + 2)
    bad = X.astype(float)
    bad[1, 2] = 0.5
    with pytest.raises(ValueError, match=r"X\[1, 2\] is .*0\.5"):
        small(booleanizer=None).fit(bad, y)


def test_weights_change_what_is_learned():
    """A rare class in noise: with balanced weights its recall rises."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 3))
    y = (X[:, 0] + rng.normal(size=2000) > 2.2).astype(int)
    plain = small(n_clauses=40, epochs=10).fit(X, y)
    balanced = small(n_clauses=40, epochs=10, class_weight="balanced").fit(X, y)
    by_hand = small(n_clauses=40, epochs=10).fit(X, y, sample_weight=np.where(y == 1, 10.0, 1.0))
    recall = [clf.predict(X)[y == 1].mean() for clf in (plain, balanced, by_hand)]
    assert recall[1] > recall[0] + 0.1
    assert recall[2] > recall[0] + 0.1
    ones = small().fit(X, y, sample_weight=np.ones(len(y)))
    assert ones.score(X, y) > 0.9


def test_pipeline_grid_search_and_calibration():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), small(epochs=10))
    search = GridSearchCV(pipeline, {"etherealclassifier__s": [2.0, 4.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.85
    calibrated = CalibratedClassifierCV(small(epochs=10), cv=3).fit(X, y)
    assert calibrated.predict_proba(X).shape == (150, 3)


def test_missing_values():
    X, y = load_iris(return_X_y=True)
    X[::7, 1] = np.nan
    clf = small(epochs=10).fit(X, y)
    assert clf.score(X, y) > 0.8
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="missing"):
        clf.predict(X)


@pytest.mark.parametrize("booleanizer", ["auto", Booleanizer(4, "onehot")])
def test_a_value_may_be_missing_in_validation_rows_only(booleanizer):
    """Which rows are held out is the estimator's own choice: it may not make `fit` fail."""
    X, y = load_iris(return_X_y=True)
    for row in range(0, 150, 10):
        holed = X.copy()
        holed[row, 2] = np.nan
        clf = small(booleanizer=booleanizer, validation_fraction=0.3, epochs=2).fit(holed, y)
        assert clf.booleanizer_.layout_.missing.tolist() == [False, False, True, False]
        assert len(clf.predict(holed)) == 150


def test_progress_on_a_pipe_is_a_line_now_and_then(digits, capfd):
    X, _, y, _ = digits
    clf = small(verbose=1).fit(X, y)
    lines = capfd.readouterr().err.splitlines()
    assert 1 <= len(lines) <= 2
    assert "epoch 5/5" in lines[-1]
    assert "rows/s" in lines[-1]
    assert all(r["train_accuracy"] is not None for r in clf.history_)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_clauses": 3}, ValueError, "n_clauses is 3; it must be even"),
        ({"n_clauses": 0}, ValueError, "n_clauses is 0"),
        ({"n_clauses": -2}, ValueError, "n_clauses is -2"),
        ({"n_clauses": 10.0}, TypeError, "n_clauses is 10.0"),
        ({"T": 0}, ValueError, "T is 0"),
        ({"T": 2.5}, TypeError, "T is 2.5"),
        ({"s": 0.99}, ValueError, "s is 0.99; it must be a number from 1"),
        ({"s": float("nan")}, ValueError, "s is nan"),
        ({"s": "3"}, TypeError, "s is '3'"),
        ({"epochs": 0}, ValueError, "epochs is 0"),
        ({"exclude_every": 0}, ValueError, "exclude_every is 0"),
        ({"literal_budget": 0}, ValueError, "literal_budget is 0"),
        ({"validation_fraction": 1.0}, ValueError, "validation_fraction is 1"),
        ({"validation_fraction": -0.1}, ValueError, "validation_fraction is -0.1"),
        ({"accuracy_tolerance": 2}, ValueError, "accuracy_tolerance is 2"),
        ({"boost_true_positive": "yes"}, TypeError, "boost_true_positive is 'yes'"),
        ({"shorten": 1}, TypeError, "shorten is 1"),
        ({"booleanizer": "none"}, TypeError, "booleanizer is 'none'"),
        ({"class_weight": "balancd"}, ValueError, "balancd"),
    ],
)
def test_bad_parameters(parameters, error, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(error, match=message):
        small(**parameters).fit(X, y)


def test_bad_data():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="one class only"):
        small().fit(X, np.zeros(150))
    with pytest.raises(ValueError, match="0 sample"):
        small().fit(X[:0], y[:0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        small().fit(X, y[:10])
    with pytest.raises(ValueError, match="2D array"):
        small().fit(X[:, 0], y)
    with pytest.raises(ValueError, match="constant"):
        small().fit(np.full((150, 2), 3.0), y)
    with pytest.raises((ValueError, TypeError), match="kind"):
        small().fit(pd.DataFrame({"a": X[:, 0], "kind": ["x"] * 150}), y)
    with pytest.raises(ValueError, match="Unknown label type"):
        small().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="zero"):
        small().fit(X, y, sample_weight=np.zeros(150))
    learn, _ = hold_out(y, 0.5, np.random.RandomState(1))  # as `small` with its random_state does
    held_out = ~np.isin(np.arange(150), learn)
    with pytest.raises(ValueError, match="zero for every row that is not held out"):
        small(validation_fraction=0.5).fit(X, y, sample_weight=held_out)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        small().fit(X, y, sample_weight=np.full(150, -1.0))
    with pytest.raises(ValueError, match="eval_set"):
        small().fit(X, y, eval_set=(X, y[:5]))
    clf = small().fit(X, y)
    with pytest.raises(ValueError, match="3 features"):
        clf.predict(X[:, :3])
    with pytest.raises(NotFittedError):
        small().predict(X)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to a child there")
@pytest.mark.parametrize("rows", [2_000, 60_000], ids=["short epochs", "long epochs"])
def test_interrupt_leaves_the_last_whole_epoch(rows):
    """Ctrl-C in the middle: fitted up to a whole epoch, the same as a run of that many epochs."""
    code = textwrap.dedent(f"""
        import numpy as np
        from ethereal import EtherealClassifier
        rng = np.random.default_rng(0)
        X = rng.random(({rows}, 400)) < 0.5
        y = rng.integers(3, size={rows}).astype(int)
        def make(epochs):
            return EtherealClassifier(200, 20, 5.0, epochs=epochs, exclude_every=1, random_state=3)
        clf = make(100000)
        print("ready", flush=True)
        try:
            clf.fit(X, y)
        except KeyboardInterrupt:
            done = clf.history_[-1]["epoch"]
            assert clf.history_[-1]["phase"] == "train"
            whole = make(done).fit(X, y)
            assert (whole.ta_states_ == clf.ta_states_).all()
            assert whole.model_ == clf.model_
            clf.predict(X)
            print("epochs", done)
    """)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=4)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=100)
    assert process.returncode == 0
    assert int(out.split()[1]) >= 1


def test_model_carries_typical_rows():
    rng = np.random.default_rng(0)
    X = rng.random((1000, 11)) < 0.5
    clf = EtherealClassifier(4, T=4, s=3.0, epochs=1, validation_fraction=0.0, random_state=0)
    rows = clf.fit(X, X[:, 0]).model_.typical_rows
    found = np.unpackbits(rows, axis=1, count=11, bitorder="little").astype(bool)
    assert np.array_equal(found, X[np.linspace(0, 999, 256).astype(int)])
