"""Fitting: what is learned, its records, the choice of the epoch, weights, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ethereal import EtherealClassifier, _native
from ethereal.train.automata import Training


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)


def small(**kwargs):
    return EtherealClassifier.paper(
        **{"n_clauses": 20, "T": 8, "s": 4.0, "epochs": 5, "random_state": 1} | kwargs
    )


@pytest.mark.parametrize("exclude_every", [None, 1, 2])
def test_learns_digits(digits, exclude_every):
    X, X_test, y, y_test = digits
    clf = EtherealClassifier.paper(100, 15, 4.0, epochs=20, exclude_every=exclude_every, random_state=0).fit(
        X, y
    )
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
    with pytest.raises(AttributeError, match="'partial_fit'") as refused:
        small(shorten=True).partial_fit(X, y, classes=np.unique(y))
    assert "shorten=True needs all training rows" in str(refused.value.__cause__)
    assert not hasattr(short, "partial_fit")
    assert hasattr(plain, "partial_fit")


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
    with pytest.raises(ValueError, match="validation_set"):
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


def test_partial_fit_goes_on(digits):
    X, X_test, y, y_test = digits
    clf = small(validation_fraction=0)
    with pytest.raises(ValueError, match="needs classes"):
        clf.partial_fit(X, y)
    for _ in range(6):
        clf.partial_fit(X, y, classes=range(10))
    assert clf.history_[-1]["epoch"] == 6
    assert clf.score(X_test, y_test) > 0.8
    with pytest.raises(ValueError, match=r"labels.*\[77\]"):
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


def test_interrupted_partial_fit_keeps_the_epoch_it_finished(digits, monkeypatch):
    X, _, y, _ = digits
    whole = small(epochs=2, validation_fraction=0).fit(X, y)
    epoch = Training.epoch

    def interrupted(self, *arguments):
        step = epoch(self, *arguments)
        step.interrupt = KeyboardInterrupt()
        return step

    clf = small(validation_fraction=0).partial_fit(X, y, classes=range(10))
    monkeypatch.setattr(Training, "epoch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        clf.partial_fit(X, y)
    assert clf.model_ == whole.model_


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


def test_progress_on_a_pipe_is_a_line_now_and_then(digits, capfd):
    X, _, y, _ = digits
    clf = small(verbose=1).fit(X, y)
    lines = capfd.readouterr().err.splitlines()
    assert 1 <= len(lines) <= 2
    assert "epoch 5/5" in lines[-1]
    assert "rows/s" in lines[-1]
    assert all(r["train_accuracy"] is not None for r in clf.history_)


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
        def make(epochs, **options):
            return EtherealClassifier.paper(200, 20, epochs=epochs, random_state=3, **options)
        clf = make(100000, verbose=True)
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
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-c", code], **pipes)
    assert process.stderr.readline().startswith("epoch 1/100000")  # one is done, however slow the machine
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.3)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert int(out.split()[1]) >= 1


def test_model_carries_typical_rows():
    rng = np.random.default_rng(0)
    X = rng.random((1000, 11)) < 0.5
    clf = EtherealClassifier.paper(4, T=4, s=3.0, epochs=1, validation_fraction=0.0, random_state=0)
    rows = clf.fit(X, X[:, 0]).model_.typical_rows
    fired = np.unpackbits(rows, axis=1, count=11, bitorder="little").astype(bool)
    assert np.array_equal(fired, X[np.linspace(0, 999, 256).astype(int)])
