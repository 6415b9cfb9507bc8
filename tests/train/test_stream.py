"""partial_fit: when an exclusion comes, what a call costs, and records without end."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from ethereal import EtherealClassifier, Model
from ethereal.train import classifier
from ethereal.train.automata import Snapshot

X, Y = load_digits(return_X_y=True)
CLASSES = np.unique(Y)


def small(**kwargs):
    return EtherealClassifier.paper(**{"n_clauses": 20, "T": 8, "s": 4.0, "random_state": 1} | kwargs)


def excluded_before(clf):
    """Numbers of the calls that an exclusion came before."""
    return [r["epoch"] + 1 for r in clf.history_ if r["phase"] == "exclude"]


def batches(size, n=1797):
    return [slice(i, i + size) for i in range(0, n, size)]


def test_a_stream_that_never_comes_again_is_not_excluded():
    stream, vanilla = small(), small(exclude_every=None)
    for part in batches(100):
        stream.partial_fit(X[part], Y[part], CLASSES)
        vanilla.partial_fit(X[part], Y[part], CLASSES)
    assert excluded_before(stream) == []
    np.testing.assert_array_equal(stream.ta_states_, vanilla.ta_states_)


@pytest.mark.parametrize(("every", "expected"), [(1, [4, 7, 10]), (2, [7])])
def test_batches_that_come_in_turn_are_excluded_once_per_turn(every, expected):
    clf = small(exclude_every=every)
    for _ in range(4):
        for part in batches(600):
            clf.partial_fit(X[part], Y[part], CLASSES)
    assert excluded_before(clf) == expected


def test_rows_may_come_in_another_order():
    clf, rng = small(), np.random.default_rng(0)
    for _ in range(3):
        order = rng.permutation(len(X))
        clf.partial_fit(X[order], Y[order], CLASSES)
    assert excluded_before(clf) == [2, 3]


def test_an_epoch_of_so_many_rows():
    clf = small(epoch_rows=500)
    for part in batches(200, 1800):
        clf.partial_fit(X[part], Y[part], CLASSES)
    assert excluded_before(clf) == [4, 7]
    whole, steps = small(epochs=3, validation_fraction=0).fit(X, Y), small(epoch_rows=len(X))
    for _ in range(3):
        steps.partial_fit(X, Y, CLASSES)
    np.testing.assert_array_equal(whole.ta_states_, steps.ta_states_)


def test_single_rows_that_come_again_end_no_epoch():
    clf = small().partial_fit(X, Y, CLASSES)
    for _ in range(5):
        clf.partial_fit(X[:1], Y[:1])
    assert excluded_before(clf) == []


@pytest.mark.parametrize("every", [1, 2, 3])
def test_going_on_after_fit(every):
    """The rows of fit once more are its next epoch; other rows are not preceded by an exclusion."""
    shape = {"exclude_every": every, "validation_fraction": 0}
    whole = small(epochs=6, **shape).fit(X, Y)
    steps = small(epochs=2, **shape).fit(X, Y)
    for _ in range(4):
        steps.partial_fit(X, Y)
    np.testing.assert_array_equal(whole.ta_states_, steps.ta_states_)
    few = small(epochs=2, **shape).fit(X, Y)
    before = len(few.history_)
    few.partial_fit(X[:50], Y[:50])
    assert [r["phase"] for r in few.history_[before:]] == ["train"]


def test_a_refused_call_does_not_count():
    clf = small(exclude_every=2, validation_fraction=0).partial_fit(X, Y, CLASSES)
    with pytest.raises(ValueError, match="zero"):
        clf.partial_fit(X, Y, sample_weight=np.zeros(len(X)))
    for _ in range(2):
        clf.partial_fit(X, Y)
    assert excluded_before(clf) == [3]


def test_the_model_is_made_when_it_is_asked_for(monkeypatch):
    made = []
    init = Model.__init__

    def counted(self, *args, **kwargs):
        made.append(1)
        init(self, *args, **kwargs)

    monkeypatch.setattr(Model, "__init__", counted)
    clf = small()
    for part in batches(300):
        clf.partial_fit(X[part], Y[part], CLASSES)
    assert not made
    assert clf.model_ is clf.model_
    assert len(made) == 1


def test_history_of_a_stream_is_bounded(monkeypatch):
    monkeypatch.setattr(classifier, "_MAX_RECORDS", 10)
    clf = small()
    for i in range(15):
        clf.partial_fit(X[i : i + 5], Y[i : i + 5], CLASSES)
    assert [r["epoch"] for r in clf.history_] == list(range(6, 16))
    assert [r["epoch"] for r in clf.history_ if r["kept"]] == [15]


def test_snapshots_know_their_epoch():
    clf = small().partial_fit(X, Y, CLASSES).partial_fit(X, Y)
    state = clf._training.snapshot()
    assert isinstance(state, Snapshot)
    assert state.epoch == 2
