"""`ethereal import` as a user types it, and what the other commands make of such a model."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from sklearn.datasets import load_wine

from ethereal import Model

xgboost = pytest.importorskip("xgboost", reason="needs xgboost, in the extra test")
lightgbm = pytest.importorskip("lightgbm", reason="needs lightgbm, in the extra study")
pytest.importorskip("treelite", reason="needs treelite, in the extra trees")


@pytest.fixture
def saved(tmp_path):
    """Files of both libraries, and the rows as a table with texts for labels."""
    X, y = load_wine(return_X_y=True)
    X, names = X[:, :5], list("abcde")
    matrix = xgboost.DMatrix(X, y, feature_names=names)
    booster = xgboost.train({"objective": "multi:softprob", "num_class": 3, "max_depth": 3}, matrix, 4)
    booster.save_model(tmp_path / "f.json")
    booster.save_model(tmp_path / "f.ubj")
    clf = lightgbm.LGBMClassifier(n_estimators=4, num_leaves=6, verbose=-1).fit(X, y)
    clf.booster_.save_model(tmp_path / "l.txt")
    labels = np.array(["low", "mid", "high"])[y]
    lines = [",".join([*map(str, row), label]) for row, label in zip(X.tolist(), labels, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join([",".join([*names, "kind"]), *lines]) + "\n")
    shares = booster.predict(matrix)
    return X, labels, shares.argmax(axis=1), clf.predict(X)


ROWS = ("--rows", "t.csv", "--label", "kind", "--classes", "low,mid,high")


def test_files_of_both_libraries_come_in(call, saved):
    X, _, of_xgboost, of_lightgbm = saved
    for name, answers in (("f.json", of_xgboost), ("f.ubj", of_xgboost), ("l.txt", of_lightgbm)):
        call("import", name, "-o", "m.etm")
        assert (Model.load("m.etm").predict(X) == answers).all(), name
    shown = call("import", "f.json", "-o", "m.etm", *ROWS).stdout
    assert "12 trees" in shown
    assert "0 rows differ" in shown
    facts = json.loads(call("import", "f.json", "-o", "m.etm", *ROWS, "--json").stdout)
    assert (facts["differing"], facts["trees"]) == (0, 12)
    assert facts["accuracy"] > 0.8
    assert Model.load("m.etm").classes.tolist() == ["low", "mid", "high"]
    assert Model.load("m.etm").kind == "tree ensemble"


def test_other_commands_take_such_a_model(call, saved, tmp_path):
    X, labels, *_ = saved
    call("import", "f.json", "-o", "m.etm", *ROWS)
    assert "tree ensemble" in call("inspect", "m.etm").stdout
    assert " IF " in call("explain", "m.etm", "t.csv", "--label", "kind").stdout
    call("export", "m.etm", "--to", "c", "-o", "c")
    assert "a tree ensemble with" in (tmp_path / "c" / "m.h").read_text()
    assert "Tsetlin" not in "".join(path.read_text() for path in (tmp_path / "c").iterdir())
    call("export", "m.etm", "--to", "micropython", "-o", "mp")
    assert "Tsetlin" not in (tmp_path / "mp" / "m.py").read_text()
    call("prune", "m.etm", "t.csv", "--label", "kind", "--flash", "600", "-o", "s.etm")
    small = Model.load("s.etm")
    assert np.abs(small.weights).max() < 1000
    assert (small.predict(X) == labels).mean() > 0.8
    facts = json.loads(call("measure", "s.etm", "t.csv", "--label", "kind", "--json").stdout)
    assert json.dumps(facts).count('"agreement": 1.0') >= 1


def test_what_is_no_file_of_trees_is_refused(call, saved, tmp_path):
    (tmp_path / "p.pkl").write_bytes(pickle.dumps({"a": 1}))
    (tmp_path / "cut.json").write_bytes((tmp_path / "f.json").read_bytes()[:300])
    (tmp_path / "cut.ubj").write_bytes((tmp_path / "f.ubj").read_bytes()[:3000])
    (tmp_path / "cut.txt").write_bytes((tmp_path / "l.txt").read_bytes()[:2000])
    (tmp_path / "other.json").write_text(
        '{"learner": {"gradient_booster": {"name": "gblinear", "model": {}}}}'
    )
    (tmp_path / "empty.json").write_text("")
    for name, told in (
        ("p.pkl", "executes code"),
        ("cut.json", "not a file of trees"),
        ("cut.ubj", "treelite does not read"),
        ("cut.txt", "not whole"),
        ("other.json", "has no trees"),
        ("empty.json", "not a file of trees"),
        ("gone.json", "no such file"),
    ):
        failed = call("import", name, "-o", "m.etm", code=1)
        assert told in " ".join(failed.stderr.split()), (name, failed.stderr)
    assert not (tmp_path / "m.etm").exists()
    failed = call("import", "f.json", "-o", "m.etm", "--classes", "a,b", code=1)
    assert "2 labels" in failed.stderr


def test_a_number_comes_in_with_its_largest_difference(call, tmp_path):
    X, _ = load_wine(return_X_y=True)
    X, y = X[:, 1:].astype(np.float32), X[:, 0]
    xgboost.XGBRegressor(n_estimators=5, max_depth=3, n_jobs=1).fit(X, y).save_model(tmp_path / "n.json")
    header = ",".join([*(f"x{i}" for i in range(X.shape[1])), "alcohol"])
    np.savetxt(tmp_path / "n.csv", np.column_stack([X, y]), "%.9g", ",", header=header, comments="")
    shown = call("import", "n.json", "-o", "n.etm", "--rows", "n.csv", "--label", "alcohol").stdout
    assert "largest difference" in shown
    assert "R2: 0." in shown
    facts = json.loads(call("import", "n.json", "-o", "n.etm", "--json").stdout)
    assert 0 < facts["bound"] < 0.01
    assert Model.load("n.etm").is_number
    failed = call("import", "n.json", "-o", "n.etm", "--classes", "a,b", code=1)
    assert "answers a number" in failed.stderr
