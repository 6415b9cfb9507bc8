"""Noise clauses, votes that are fitted again, early stopping, odd numbers of clauses, settings."""

from __future__ import annotations

import pickle
import zlib

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.linear_model import LogisticRegression

from ethereal import Booleanizer, EtherealClassifier, _native
from ethereal.train import classifier as classifier_module
from ethereal.train import votes
from ethereal.train.automata import Training

X, Y = load_digits(return_X_y=True)
VOTES = {2: 4146611569, 3: 2162934544, 21: 1572796058}  # bits that every machine must find
SMALL = {"n_clauses": 30, "epochs": 6, "random_state": 3}


def noisy_xor(seed=0):
    """Two of 12 bits decide. 40 % of the labels to learn from are wrong."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (10_000, 12))
    y = bits[:, 0] ^ bits[:, 1]
    wrong = np.where(rng.random(5000) < 0.4, 1 - y[:5000], y[:5000])
    return bits[:5000], wrong, bits[5000:], y[5000:]


@pytest.fixture(scope="module")
def digits_model():
    return EtherealClassifier(**SMALL).fit(X, Y)


def test_wrong_labels_are_not_learnt():
    rows, y, test, truth = noisy_xor()
    assert EtherealClassifier(random_state=0).fit(rows, y).score(test, truth) > 0.95
    assert EtherealClassifier(random_state=0, noise_clauses=0).fit(rows, y).score(test, truth) < 0.9


def test_fitted_votes_are_better_than_those_of_few_clauses():
    train, test = np.arange(len(Y)) % 2 == 0, np.arange(len(Y)) % 2 == 1
    plain = EtherealClassifier(20, epochs=10, refit_votes=False, random_state=0).fit(X[train], Y[train])
    clf = EtherealClassifier(20, epochs=10, random_state=0).fit(X[train], Y[train])
    assert clf.model_.provenance["votes"].startswith("fitted again")
    assert clf.score(X[test], Y[test]) > plain.score(X[test], Y[test])
    assert np.abs(clf.model_.weights).max() == 15
    np.testing.assert_array_equal(clf.ta_states_, plain.ta_states_)


def test_the_plain_model_is_the_machine_alone(digits_model):
    alone = EtherealClassifier(**SMALL, noise_clauses=0, refit_votes=False).fit(X, Y)
    assert digits_model.plain_model_ == alone.model_ == alone.plain_model_
    assert digits_model.plain_model_.temperature == alone.model_.temperature
    assert digits_model.model_ != alone.model_
    np.testing.assert_array_equal(digits_model.predict(X), digits_model.model_.predict(X))
    again = pickle.loads(pickle.dumps(digits_model))
    assert (again.model_, again.plain_model_) == (digits_model.model_, digits_model.plain_model_)


def test_the_same_bits_with_any_number_of_threads(digits_model):
    for n_jobs in (2, -1):
        clf = EtherealClassifier(**SMALL, n_jobs=n_jobs).fit(X, Y)
        assert clf.model_ == digits_model.model_
        assert clf.model_.temperature == digits_model.model_.temperature
        assert clf.model_.provenance == digits_model.model_.provenance


def test_going_on_ends_with_the_same_votes(digits_model, tmp_path):
    EtherealClassifier(**SMALL | {"epochs": 3}).fit(X, Y, checkpoint=tmp_path)
    clf = EtherealClassifier(**SMALL).fit(X, Y, checkpoint=tmp_path, resume=True)
    assert clf.model_ == digits_model.model_
    without = EtherealClassifier(**SMALL, noise_clauses=0).fit(X, Y, checkpoint=tmp_path, resume=True)
    assert without.plain_model_ == digits_model.plain_model_


def test_an_interrupt_leaves_the_machine_alone(digits_model, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(votes, "_train_noise_clauses", interrupted)
    clf = EtherealClassifier(**SMALL)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, Y)
    assert clf.model_ == clf.plain_model_ == digits_model.plain_model_
    assert clf.score(X, Y) > 0.8


def test_rows_without_weight_teach_nothing():
    """Half of the rows have a wrong label and no weight. No clauses, votes or choice may see them."""
    X, y = load_breast_cancer(return_X_y=True)
    wrong = np.arange(len(y)) % 2 == 1
    labels = np.where(wrong, 1 - y, y)
    clf = EtherealClassifier(100, random_state=0).fit(X, labels, sample_weight=np.where(wrong, 0.0, 1.0))
    assert (clf.predict(X) == y).mean() > 0.93


def test_weights_of_classes_reach_the_votes():
    """Noise decides, so the class of more weight is answered."""
    rng = np.random.default_rng(0)
    rows, y = rng.integers(0, 2, (600, 4)), rng.integers(0, 2, 600)
    answers = [
        EtherealClassifier(60, class_weight={0: w, 1: 1.0}, random_state=0).fit(rows, y).predict(rows).mean()
        for w in (0.2, 5.0)
    ]
    assert answers[0] > 0.9
    assert answers[1] < 0.1


def test_votes_stay_without_rows_to_choose_by():
    clf = EtherealClassifier(**SMALL, validation_fraction=0).fit(X, Y)
    assert clf.model_.provenance["votes"] == "as trained"
    assert clf.model_.provenance["noise"]["n_clauses"] == 5
    assert clf.model_.provenance["noise"]["seed"] != clf.model_.provenance["seed"]


def test_many_rows_are_fitted_on_a_share_of_every_class(monkeypatch):
    monkeypatch.setattr(votes, "_MOST_OUTPUTS", 100_000)
    clf = EtherealClassifier(**SMALL).fit(X, Y)
    assert clf.model_.provenance["votes"].startswith("fitted again")
    assert clf.score(X, Y) > 0.8


@pytest.mark.parametrize("n_classes", [2, 3, 21])
def test_fitted_votes_are_those_of_a_logistic_regression(n_classes):
    rng = np.random.default_rng(n_classes)
    outputs, codes = rng.random((400, 60)) < 0.2, rng.integers(0, n_classes, 400).astype(np.int32)
    outputs[:, :n_classes] |= codes[:, None] == np.arange(n_classes)
    weights = rng.random(400)
    fitting = _native.VoteFitting(outputs, codes, weights, n_classes)
    for strength in (0.1, 1.0):  # the second goes on from the first
        fitting.fit(strength / 2 if n_classes == 2 else strength, 200)
        given = fitting.votes().reshape(-1, n_classes)
        wanted = LogisticRegression(C=strength, max_iter=2000, tol=1e-9, fit_intercept=False)
        wanted = wanted.fit(outputs, codes, weights).coef_.T
        wanted = np.hstack([-wanted, wanted]) / 2 if n_classes == 2 else wanted
        np.testing.assert_allclose(given, wanted, atol=0.05 * np.abs(wanted).max())
    again = _native.VoteFitting(outputs, codes, weights, n_classes)
    again.fit(0.1, 5)
    assert zlib.crc32(again.votes().tobytes()) == VOTES[n_classes]


def test_a_stream_trains_the_machine_alone():
    clf = EtherealClassifier(**SMALL)
    for _ in range(2):
        clf.partial_fit(X, Y, classes=None if hasattr(clf, "classes_") else np.unique(Y))
    assert clf.model_ == clf.plain_model_
    assert "noise_clauses" not in clf.model_.provenance["parameters"]
    clf.fit(X, Y).partial_fit(X, Y)
    assert clf.model_ == clf.plain_model_


def test_a_shortened_machine_gets_noise_clauses_and_votes_too():
    clf = EtherealClassifier(**SMALL, shorten=True).fit(X, Y)
    assert clf.plain_model_.n_includes < EtherealClassifier(**SMALL).fit(X, Y).plain_model_.n_includes
    assert clf.model_ != clf.plain_model_
    assert clf.score(X, Y) > 0.9


@pytest.mark.parametrize("n_clauses", [1, 7, 31])
def test_any_number_of_clauses(n_clauses):
    X, y = load_iris(return_X_y=True)
    clf = EtherealClassifier(n_clauses, random_state=0).fit(X, y)
    assert clf.ta_states_.shape[1] == n_clauses
    assert clf.plain_model_.n_clauses == 3 * n_clauses
    for_class = (clf.plain_model_.weights[:n_clauses, 0] == 1).sum()
    assert for_class == n_clauses - n_clauses // 2
    assert clf.score(X, y) > (0.9 if n_clauses > 1 else 0.5)
    assert clone(clf).fit(X, y).model_ == clf.model_


def test_patience_ends_training_and_keeps_the_best_epoch():
    X, y = load_iris(return_X_y=True)
    clf = EtherealClassifier(20, epochs=200, patience=5, random_state=0).fit(X, y)
    accuracies = [r["validation_accuracy"] for r in clf.history_]
    assert len(accuracies) == 1 + int(np.argmax(accuracies)) + 5 < 200
    assert accuracies[clf.best_epoch_ - 1] == max(accuracies)
    with pytest.raises(ValueError, match=r"patience.*\b5\b.*held"):
        clf.set_params(validation_fraction=0).fit(X, y)


def test_patience_goes_on_from_a_checkpoint(tmp_path):
    X, y = load_iris(return_X_y=True)
    clf = EtherealClassifier(20, epochs=200, patience=5, random_state=0)
    whole = clone(clf).fit(X, y)
    clone(clf).set_params(epochs=3).fit(X, y, checkpoint=tmp_path)
    for _ in range(2):  # the second finds a training that is over
        again = clone(clf).fit(X, y, checkpoint=tmp_path, resume=True)
        assert again.model_ == whole.model_
        assert len(again.history_) == len(whole.history_)


def test_keep_says_which_epoch():
    last = EtherealClassifier(**SMALL).fit(X, Y)
    best = EtherealClassifier(**SMALL, keep="best").fit(X, Y)
    assert last.best_epoch_ == 6
    accuracies = [r["validation_accuracy"] for r in best.history_]
    assert accuracies[best.best_epoch_ - 1] == max(accuracies)
    smallest = EtherealClassifier(**SMALL, accuracy_tolerance=1.0).fit(X, Y)
    assert smallest.best_epoch_ == 1 + int(np.argmin([r["includes"] for r in smallest.history_]))


def test_the_papers_settings():
    clf = EtherealClassifier.paper(random_state=0)
    assert (clf.n_clauses, clf.T, clf.s, clf.exclude_every, clf.epochs) == (100, 15, 5.0, 1, 50)
    assert EtherealClassifier.paper(T=7, keep="last").keep == "last"
    clf = EtherealClassifier.paper(20, 8, epochs=5, random_state=0).fit(X, Y)
    assert clf.booleanizer_.n_bins == 10
    assert clf.model_ == clf.plain_model_
    machine = EtherealClassifier.paper(
        20, 8, epochs=5, booleanizer=Booleanizer(10, missing="auto"), random_state=0
    ).fit(X, Y)
    assert machine.model_ == clf.model_
    assert EtherealClassifier.paper(20, 8, epochs=2).fit(X > 7, Y).booleanizer_ is None


def test_bins_and_margin_follow_the_data():
    clf = EtherealClassifier(200, epochs=1, noise_clauses=0, refit_votes=False).fit(X[:, 18:22], Y)
    assert clf._training.feedback.T == 10
    assert clf.model_.provenance["parameters"]["T"] == 10
    booleanizer = Booleanizer("auto").fit(np.random.default_rng(0).random((300, 4)))
    assert booleanizer.feature_map_.n_booleans == 4 * 63
    assert isinstance(clf._training, Training)


def test_the_classifier_calls_the_improvement_once(monkeypatch):
    calls = []
    real = classifier_module.improve
    monkeypatch.setattr(classifier_module, "improve", lambda *a, **k: calls.append(1) or real(*a, **k))
    EtherealClassifier.paper(10, 5, epochs=1).fit(X, Y)
    EtherealClassifier(10, 5, epochs=1).fit(X, Y)
    assert calls == [1]
