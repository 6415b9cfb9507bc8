"""A margin for "unknown" from machines that leave each group out."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from ethereal import EtherealClassifier, Model
from ethereal.base.splits import deal_rows
from ethereal.train.unknown import calibrated

X, Y = load_digits(return_X_y=True)
X, Y = X[:900], Y[:900]


def machine(**keywords):
    return EtherealClassifier(40, epochs=12, noise_clauses=0, refit_votes=False, random_state=1, **keywords)


def test_answers_are_as_often_right_as_is_wanted():
    clf = machine().fit(X[:600], Y[:600])
    all_right = (clf.predict(X[600:]) == Y[600:]).mean()
    groups = np.arange(600) // 30
    again = machine().fit(X[:600], Y[:600]).calibrate_unknown(X[:600], Y[:600], groups, accuracy=0.9)
    calibration = again.calibration_
    assert calibration.accuracy >= 0.9
    assert (calibration.n_rows, calibration.n_groups) == (600, 20)
    assert again.model_.provenance["unknown"]["margin"] == calibration.margin > 0
    answers = again.predict(X[600:])
    there = answers != -1
    assert 0.4 < there.mean() < 1
    assert (answers[there] == Y[600:][there]).mean() > all_right
    assert again.model_.with_unknown(None) == clf.model_  # nothing else has changed


def test_votes_of_another_size_are_compared_all_the_same():
    """Votes that are fitted again are many times larger, and not every machine gets them."""
    model = machine().fit(X, Y).model_
    large = model.with_clauses(model.literals, model.offsets, 20 * model.weights)
    margins = []
    for judged in (model, large):
        calibration = calibrated(judged, lambda some, others: model, X, Y, np.arange(900) % 3, answered=0.7)[
            1
        ]
        margins.append((calibration.margin, calibration.answered))
    assert margins[1] == (20 * margins[0][0], margins[0][1])


def test_each_group_is_left_out_once():
    seen = []

    def train(some, left_out):
        assert not set(groups[some]) & set(groups[left_out])
        assert len(some) + len(left_out) == 900
        seen.extend(left_out)
        return machine().fit(X[some], Y[some]).model_

    groups = np.arange(900) % 3
    model = machine().fit(X, Y).model_
    made, calibration = calibrated(model, train, X, Y, groups, answered=0.8)
    assert sorted(seen) == list(range(900))
    assert calibration.n_groups == 3
    assert calibration.answered >= 0.8
    assert isinstance(made, Model)
    assert made.output.kind == "unknown"


def test_a_class_of_one_group_alone_counts_as_wrong():
    rows, labels = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[labels]
    clf = machine().fit(rows, names)
    clf.calibrate_unknown(rows, names, np.where(labels == 2, 0, 1 + np.arange(150) % 4), answered=0.5)
    assert clf.calibration_.curve[0][1] < 0.67  # no row of "c" was found without "c"
    clf.calibrate_unknown(rows, names, answered=0.9)
    assert clf.calibration_.n_groups == 0
    assert "folds" in str(clf.calibration_)


def test_groups_that_do_not_fit_are_refused():
    clf = machine().fit(X, Y)
    with pytest.raises(ValueError, match=r"groups.*\b3\b.*\b900\b"):
        clf.calibrate_unknown(X, Y, [1, 2, 3], accuracy=0.9)
    with pytest.raises(ValueError, match="All rows are of the group 7"):
        clf.calibrate_unknown(X, Y, np.full(900, 7), accuracy=0.9)
    with pytest.raises(ValueError, match="Give accuracy"):
        clf.calibrate_unknown(X, Y)


def test_rows_are_dealt_evenly():
    parts = deal_rows(Y, 10, 0)
    assert sorted(np.concatenate(parts)) == list(range(900))
    counts = np.array([np.bincount(Y[part], minlength=10) for part in parts])
    assert np.ptp(counts, axis=0).max() <= 1
    many = deal_rows(Y, 10, 0, np.arange(900) // 9)
    assert len(many) == 10
    assert {len(part) for part in many} == {90}
