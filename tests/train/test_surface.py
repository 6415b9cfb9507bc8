"""What a scikit-learn user meets first: seeds, weights, missing values, the paper's settings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score

from ethereal import Booleanizer, EtherealClassifier, Model, device, export, prune
from ethereal.datasets.options import SourceOptions
from ethereal.datasets.reading import read
from ethereal.datasets.rows import split
from ethereal.train.paper import PAPER
from ethereal_study.settings import SETTINGS

X, Y = load_iris(return_X_y=True)
QUICK = {"n_clauses": 10, "T": 5, "epochs": 3}


def test_the_seed_of_a_model_is_the_one_given_and_can_be_given_again(call, tmp_path):
    clf = EtherealClassifier(**QUICK, random_state=7).fit(X, Y)
    assert clf.model_.provenance["seed"] == 7
    drawn = EtherealClassifier(**QUICK).fit(X, Y)
    again = EtherealClassifier(**QUICK, random_state=drawn.model_.provenance["seed"]).fit(X, Y)
    assert again.model_ == drawn.model_
    assert np.array_equal(again.ta_states_, drawn.ta_states_)
    whole = EtherealClassifier(**QUICK).partial_fit(X, Y, classes=[0, 1, 2])
    first = EtherealClassifier(**QUICK, random_state=whole.model_.provenance["seed"])
    assert np.array_equal(first.partial_fit(X, Y, classes=[0, 1, 2]).ta_states_, whole.ta_states_)
    generator = EtherealClassifier(**QUICK, random_state=np.random.RandomState(3)).fit(X, Y)
    assert generator.model_.provenance["seed"] is None
    call("train", "digits", "--clauses", 4, "--epochs", 1, "--seed", 7, "-o", "a.etm")
    seed = Model.load("a.etm").provenance["seed"]
    call("train", "digits", "--clauses", 4, "--epochs", 1, "--seed", seed, "-o", "b.etm")
    assert (tmp_path / "a.etm").read_bytes() == (tmp_path / "b.etm").read_bytes()


@pytest.mark.parametrize("weights", [np.ones(150), np.full(150, 0.3), [2] * 150])
def test_equal_weights_are_no_weights(weights):
    plain = EtherealClassifier(**QUICK, random_state=2).fit(X, Y)
    weighted = EtherealClassifier(**QUICK, random_state=2).fit(X, Y, sample_weight=weights)
    balanced = EtherealClassifier(**QUICK, random_state=2, class_weight="balanced").fit(X, Y)
    for other in (weighted, balanced):  # iris has as many rows of each class
        assert np.array_equal(other.ta_states_, plain.ta_states_)
        assert other.model_ == plain.model_


def test_a_missing_value_in_one_fold_is_no_error():
    table = X.copy()
    table[70, 2] = np.nan
    scores = cross_val_score(EtherealClassifier(**QUICK, random_state=0), table, Y, cv=3, error_score="raise")
    assert np.isfinite(scores).all()
    bits = (X.mean(axis=0) < X).astype(float)
    bits[70, 2] = np.nan
    assert np.isfinite(cross_val_score(EtherealClassifier(**QUICK), bits, Y, cv=3, error_score="raise")).all()


@pytest.mark.parametrize("encoding", ["thermometer", "onehot"])
def test_what_is_answered_where_a_value_is_missing_for_the_first_time_is_what_an_export_answers(encoding):
    booleanizer = Booleanizer(5, encoding, missing="auto")
    clf = EtherealClassifier(**QUICK, booleanizer=booleanizer, random_state=0).fit(X, Y)
    holes = X.copy()
    holes[np.random.default_rng(5).random(X.shape) < 0.3] = np.nan
    with pytest.raises(ValueError, match="is missing"):
        clf.model_.predict(holes)  # which the exported model refuses, too
    tolerant = clf.model_.ignoring_missing()
    assert np.array_equal(clf.predict(holes), tolerant.predict(holes))
    assert np.array_equal(clf.decision_function(holes), tolerant.class_sums(holes))
    assert np.array_equal(clf.predict(X), clf.model_.predict(X))
    comparisons = clf.booleanizer_.feature_map_.with_missing(np.zeros(4, bool), "ignore")
    assert not comparisons.booleans(np.full((1, 4), np.nan), list("abcd")).any()  # all are false
    for kind in ("float", "int16"):
        program = export.make_program(tolerant, "compact", input=kind)
        features = program.features(holes)
        assert np.array_equal(program.device_sums(features), tolerant.class_sums(holes))
    score = clf.fit(X, Y, eval_set=(holes, Y)).history_[-1]["eval_accuracy"]
    assert score == (clf.plain_model_.ignoring_missing().predict(holes) == Y).mean()
    strict = EtherealClassifier(**QUICK, booleanizer=Booleanizer(5)).fit(X, Y)
    with pytest.raises(ValueError, match="is missing"):
        strict.predict(holes)


def test_a_table_whose_only_missing_value_is_in_a_test_row(call):
    with open("one.csv", "w") as file:
        lines = [f"{i % 7},{i},{'xy'[i % 2]}" for i in range(40)]
        file.write("\n".join(["a,b,label", *lines, "1,,x\n"]))
    rows = read("one.csv", SourceOptions(label="label"))
    seed = next(s for s in range(99) if np.isnan(split(rows, 0.2, s).X_test).any())
    call("train", "one.csv", "--label", "label", "--clauses", 4, "--epochs", 1, "--seed", seed, "-o", "m.etm")
    assert len(Model.load("m.etm").predict([[1.0, np.nan]])) == 1


@pytest.mark.parametrize("name", SETTINGS)
def test_the_paper_has_settings_for_each_of_its_sets(name):
    clf, machine = EtherealClassifier.paper(name), SETTINGS[name]
    for key in ("n_clauses", "T", "s", "epochs", "exclude_every"):
        assert getattr(clf, key) == getattr(machine, key) == getattr(PAPER[name], key)
    assert clf.booleanizer.n_bins == Booleanizer().n_bins or clf.booleanizer.n_bins == machine.n_bins
    assert clf.booleanizer.thresholds == machine.booleanizer().thresholds
    assert (clf.keep, clf.noise_clauses, clf.refit_votes) == ("best", 0, False)
    assert EtherealClassifier.paper(name, epochs=3).epochs == 3


def test_the_paper_refuses_what_it_does_not_have():
    with pytest.raises(ValueError, match=r"'iris'.*statlog"):
        EtherealClassifier.paper("iris")
    with pytest.raises(TypeError, match="by keyword"):
        EtherealClassifier.paper("statlog", 10)
    with pytest.raises(TypeError, match="by position"):
        EtherealClassifier.paper(1, 2, 3.0, 4, 5)
    old = EtherealClassifier.paper(20, 10, 3.0, 2)
    assert (old.n_clauses, old.T, old.s, old.exclude_every) == (20, 10, 3.0, 2)


def test_no_warning_in_ordinary_use():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        EtherealClassifier(**QUICK, random_state=1).fit(X, Y).predict(X)


def test_an_estimator_in_place_of_its_model_is_told(tmp_path):
    clf = EtherealClassifier(**QUICK).fit(X, Y)
    for use in (
        lambda: prune(clf, X, Y),
        lambda: export.choose(clf),
        lambda: export.c(clf, tmp_path / "c"),
        lambda: export.micropython(clf, tmp_path / "m"),
        lambda: device.measure(clf, X[:3]),
    ):
        with pytest.raises(TypeError, match=r"clf\.model_"):
            use()
    with pytest.raises(TypeError, match=r"budget is '4k'"):
        prune(clf.model_, X, Y, budget="4k")
