"""What a model says about itself: parameters that were used, its epoch, its automata, its probabilities."""

from __future__ import annotations

import hashlib
import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from ethereal import Booleanizer, EtherealClassifier, Model, compress
from ethereal.base.splits import hold_out_by_class
from ethereal.features.matrices import refuse_odd_labels
from ethereal.model.calibration import fit_temperature
from ethereal.model.file import from_file_bytes, to_file_bytes


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)


def small(**kwargs):
    return EtherealClassifier.paper(
        **{"n_clauses": 20, "T": 8, "s": 4.0, "epochs": 5, "random_state": 1} | kwargs
    )


def test_changed_parameters_reach_the_trainer_and_the_record(digits):
    X, _, y, _ = digits
    classes = np.unique(y)
    changed, plain = (small(exclude_every=None).partial_fit(X, y, classes) for _ in range(2))
    changed.set_params(T=30, s=8.0, boost_true_positive=False, literal_budget=500)
    assert changed.model_.provenance["parameters"]["T"] == 8  # nothing was trained with 30 yet
    changed.partial_fit(X, y)
    plain.partial_fit(X, y)
    assert not np.array_equal(changed.ta_states_, plain.ta_states_)
    assert changed._training.parameters["T"] == 30
    provenance = changed.model_.provenance
    assert (
        provenance["parameters"]["T"],
        provenance["parameters"]["s"],
        provenance["parameters"]["literal_budget"],
    ) == (30, 8.0, 500)
    new = {"T": 30, "s": 8.0, "boost_true_positive": False, "literal_budget": 500}
    assert provenance["changes"] == [{"after_epoch": 1, **new}]
    assert "changes" not in plain.model_.provenance
    # the same as two trainers, one after the other, on the same automata
    other = small(exclude_every=None, **new).partial_fit(X, y, classes)
    other.ta_states_ = small(exclude_every=None).partial_fit(X, y, classes).ta_states_
    other.partial_fit(X, y)
    np.testing.assert_array_equal(changed.ta_states_, other.ta_states_)
    assert other.model_.provenance["changes"] == [{"after_epoch": 1, "ta_states_": "assigned"}]
    again = pickle.loads(pickle.dumps(changed)).partial_fit(X, y)
    np.testing.assert_array_equal(again.ta_states_, changed.partial_fit(X, y).ta_states_)


def test_what_the_automata_are_made_for_cannot_change(digits):
    X, _, y, _ = digits
    clf = small(booleanizer=Booleanizer(4)).partial_fit(X, y, np.unique(y))
    before, model = clf.ta_states_, clf.model_
    for change, message in [
        ({"n_clauses": 60}, "n_clauses is 60, but this machine has 20"),
        ({"booleanizer__n_bins": 6}, "booleanizer was changed"),
        ({"literal_budget": 1}, "literal_budget is 1, but a clause already includes"),
    ]:
        old = clf.get_params()
        clf.set_params(**change)
        with pytest.raises(ValueError, match=message):
            clf.partial_fit(X, y)
        clf.ta_states_ = before  # of the machine as it is
        assert clf.model_ == model
        clf.set_params(**{name: old[name] for name in change})
    clf.partial_fit(X, y)


def test_the_epoch_of_the_model_is_known(digits):
    X, _, y, _ = digits
    clf = small(epochs=20, keep_states=True).fit(X, y)
    kept = [r for r in clf.history_ if r["kept"]]
    assert [(r["epoch"], r["phase"]) for r in kept] == [(clf.best_epoch_, "train")]
    assert kept[0]["includes"] == clf.model_.n_includes
    provenance = clf.model_.provenance
    assert (provenance["epochs"], provenance["best_epoch"]) == (20, clf.best_epoch_)
    assert clf.best_epoch_ < 20
    automata = Model.from_includes(clf.best_ta_states_ >= 128, classes=clf.classes_)
    np.testing.assert_array_equal(automata.literals, clf.model_.literals)
    assert (clf.ta_states_ >= 128).sum() != clf.model_.n_includes
    so_far = small(epochs=clf.best_epoch_, validation_fraction=0.1).fit(X, y)
    assert so_far.model_ == clf.model_
    np.testing.assert_array_equal(so_far.best_ta_states_, clf.best_ta_states_)  # of the last epoch: known
    plain = small(epochs=20).fit(X, y)
    assert plain.best_epoch_ == clf.best_epoch_
    with pytest.raises(AttributeError, match="keep_states=True"):
        plain.best_ta_states_  # noqa: B018
    clf.partial_fit(X, y)
    assert clf.best_epoch_ == clf.model_.provenance["best_epoch"] == 21
    assert [r["epoch"] for r in clf.history_ if r["kept"]] == [21]
    np.testing.assert_array_equal(clf.best_ta_states_, clf.ta_states_)
    clf.ta_states_ = clf.ta_states_
    assert not any(r["kept"] for r in clf.history_)


def test_a_model_of_ones_own_may_be_put_in(digits):
    X, _, y, _ = digits
    clf = small().fit(X, y)
    clf.model_ = clf.model_.simplify()
    assert clf.model_.n_includes < small().fit(X, y).model_.n_includes
    assert pickle.loads(pickle.dumps(clf)).model_ == clf.model_


def test_zero_weights_do_not_choose(digits):
    X, _, y, _ = digits
    rng = np.random.default_rng(0)
    bad = rng.random(len(y)) < 0.6
    labels = np.where(bad, (y + 1) % 10, y)
    clf = small(n_clauses=40, epochs=20).fit(X, labels, sample_weight=(~bad).astype(float))
    assert max(r["validation_accuracy"] for r in clf.history_) > 0.8  # 0.4 if the wrong labels counted
    none = small().fit(X, y, sample_weight=np.where(np.isin(np.arange(len(y)), _held_out(y)), 0.0, 1.0))
    assert none.best_epoch_ == 5
    assert none.history_[-1]["validation_accuracy"] is None


def _held_out(y):
    return hold_out_by_class(y.astype(np.int32), 0.1, np.random.RandomState(1))[1]


def test_class_weights_reach_validation_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 3))
    y = (X[:, 0] + rng.normal(size=1500) > 2.2).astype(int)
    never = {0: 1.0, 1: 0.0}  # only class 0 counts, and everything is class 0
    clf = small(class_weight=never, epochs=3).fit(X, y)
    assert clf.history_[-1]["validation_accuracy"] == 1.0
    clf = small(class_weight=never, epochs=3).fit(X, y, validation_set=(X[:200], y[:200]))
    assert clf.history_[-1]["validation_accuracy"] == 1.0


@pytest.mark.parametrize("T", [2, 15, 100])
def test_probabilities_are_scaled_to_the_votes(digits, T):
    X, X_test, y, y_test = digits
    clf = small(n_clauses=60, T=T, epochs=8).fit(X, y)
    model = clf.model_
    shares = clf.predict_proba(X_test)
    sums = model.class_sums(X_test)
    assert (
        log_loss(y_test, shares) <= log_loss(y_test, model.with_temperature(5.0).predict_proba(X_test)) + 0.01
    )
    order = np.argsort(sums, axis=1, kind="stable")
    assert (np.diff(np.take_along_axis(shares, order, axis=1), axis=1) >= 0).all()
    assert model.temperature == float(f"{model.temperature:.3g}")
    for other in (from_file_bytes(to_file_bytes(model)), pickle.loads(pickle.dumps(model)), model.simplify(),
                  compress.shorten(model, X), model.with_typical_rows(None)):  # fmt: skip
        assert other.temperature == model.temperature
    twice = compress.join([model, model])
    np.testing.assert_allclose(twice.predict_proba(X_test), shares)


def test_without_held_out_rows_the_scale_is_a_third_of_T(digits):
    X, _, y, _ = digits
    assert small(validation_fraction=0, T=12).fit(X, y).model_.temperature == 4.0
    stream = small(T=12).partial_fit(X, y, np.unique(y))
    assert stream.model_.temperature == 4.0
    assert stream.set_params(T=30).partial_fit(X, y).model_.temperature == 10.0
    assert fit_temperature(np.zeros((0, 2), np.int32), np.zeros(0, int), T=12) == 4.0
    fitted = small(T=12).fit(X, y)
    before = fitted.model_.temperature
    assert fitted.partial_fit(X, y).model_.temperature == before != 4.0


def test_labels_that_only_validation_rows_have_do_not_disturb():
    X, y = load_iris(return_X_y=True)
    clf = small().fit(X[y < 2], y[y < 2], validation_set=(X, y))
    assert clf.model_.temperature > 0


def test_old_model_files_keep_their_answers():
    model = Model([0, 1], [0, 1, 2], [[5, 0], [0, 5]], n_booleans=1, classes=["yes", "no"])
    assert model.temperature == 5.0
    data = to_file_bytes(model.with_temperature(2.5))
    assert from_file_bytes(data).temperature == 2.5
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert json.loads(header["__metadata__"]["ethereal"])["temperature"] == 2.5
    digest = re.search(rb"sha256[^0-9a-f]+([0-9a-f]{64})", data)[1]
    unsaid = data.replace(b"temperature", b"unknown_key").replace(digest, b"0" * 64)  # as before it was kept
    unsaid = unsaid.replace(b"0" * 64, hashlib.sha256(unsaid).hexdigest().encode())
    assert from_file_bytes(unsaid).temperature == 5.0
    for wrong in (0.0, -1.0, float("nan"), "5"):
        with pytest.raises((ValueError, TypeError), match="temperature is"):
            model.with_temperature(wrong)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_jobs": 1.5}, TypeError, "n_jobs is 1.5"),
        ({"n_jobs": 0}, ValueError, "n_jobs is 0"),
        ({"class_weight": {0: 1, 1: -1}}, ValueError, "class_weight of label 1 is -1"),
        ({"class_weight": {0: 1, 1: float("nan")}}, ValueError, "class_weight of label 1 is nan"),
        ({"class_weight": {7: 1.0}}, ValueError, "class_weight"),
        ({"class_weight": {0: 0, 1: 0, 2: 0}}, ValueError, "class_weight is zero for every row"),
        ({"class_weight": 3}, TypeError, "class_weight is 3"),
        ({"keep_states": 1}, TypeError, "keep_states is 1"),
        ({"epoch_rows": 0}, ValueError, "epoch_rows is 0"),
    ],
)
def test_bad_parameters_are_named(parameters, error, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(error, match=message):
        small(**parameters).fit(X, y)


def test_balanced_weights_need_all_classes_in_a_call():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r'class_weight is "balanced", but these rows have none of.*\[2\]'):
        small(class_weight="balanced").partial_fit(X[:100], y[:100], classes=[0, 1, 2])


def test_odd_labels_are_named():
    X, y = load_iris(return_X_y=True)
    texts = np.array(["a", "b", "c"], dtype=object)[y]
    for odd, message in [
        (None, r"y\[3\] is None"),
        (np.nan, r"y\[3\] is nan"),
        (7, r"y\[0\] is 'a' and y\[3\] is 7"),
    ]:
        labels = texts.copy()
        labels[3] = odd
        with pytest.raises(ValueError, match=message):
            small().fit(X, labels)
    with pytest.raises(ValueError, match=r"y\[2\].*nan.*Leave.*label"):
        small().fit(X, pd.Series([1, 2, None] * 50, dtype="Int64"))
    with pytest.raises(ValueError, match=r"classes\[1\] is None"):
        small().partial_fit(X, texts, classes=np.array(["a", None], dtype=object))
    refuse_odd_labels(texts)


def test_columns_with_levels_are_refused():
    X, y = load_iris(return_X_y=True)
    columns = pd.MultiIndex.from_product([["petal", "sepal"], ["length", "width"]])
    with pytest.raises(ValueError, match="2 levels of names"):
        small().fit(pd.DataFrame(X, columns=columns), y)
    with pytest.raises(ValueError, match="2 levels of names"):
        Booleanizer().fit(pd.DataFrame(X, columns=columns))
