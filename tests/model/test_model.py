"""Model: checks, votes against the plain reference, copies."""

import copy
import io
import pickle
import subprocess
import sys
from importlib import import_module

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethereal import Booleanizer, Clause, Model
from ethereal.features.feature_map import FeatureMap
from reference import class_sums, clause_fires, winner
from strategies import feature_maps, model_of_one_clause, models, models_of, raw_rows, reference_booleans


def small(**changes):
    """Two Booleans, two classes: "a AND NOT b" votes +1 for yes; "b" votes +2 for no and -1 for yes."""
    arguments = {
        "literals": [0, 3, 1],
        "offsets": [0, 2, 3],
        "weights": [[0, 1], [2, -1]],
        "n_booleans": 2,
        "classes": ["no", "yes"],
        "feature_names": ["a", "b"],
    }
    arguments.update(changes)
    return Model(**arguments)


@given(st.data())
def test_votes_equal_the_plain_reference(data):
    feature_map = data.draw(feature_maps())
    model = data.draw(models_of(feature_map))
    rows = data.draw(raw_rows(feature_map, max_rows=20))
    bits = reference_booleans(feature_map, rows)
    clauses = [(clause.literals, clause.weights) for clause in model]
    sums = [class_sums(clauses, model.n_classes, row) for row in bits]
    assert model.class_sums(rows).tolist() == sums
    assert model.class_sums(rows).dtype == np.int32
    assert model.predict(rows).tolist() == [model.classes.tolist()[winner(s)] for s in sums]
    assert model.clause_outputs(rows).tolist() == [[clause_fires(c, row) for c, _ in clauses] for row in bits]


def test_many_rows_are_like_one_by_one():
    rng = np.random.default_rng(0)
    includes = rng.random((3, 10, 20)) < 0.1
    model = Model.from_includes(includes, classes=[0, 1, 2])
    X = rng.random((1103, 10)) < 0.5
    one_by_one = np.concatenate([model.class_sums(row[None]) for row in X])
    assert np.array_equal(model.class_sums(X), one_by_one)


def test_probabilities_follow_the_votes():
    model = small()
    X = [[1, 0], [1, 1], [0, 0]]
    shares = model.predict_proba(X)
    assert np.allclose(shares.sum(axis=1), 1)
    assert np.array_equal(np.argsort(shares, axis=1), np.argsort(model.class_sums(X), axis=1))


def test_from_includes_keeps_order_polarity_and_empty_clauses():
    rng = np.random.default_rng(1)
    includes = rng.random((3, 4, 10)) < 0.2
    includes[1, 2] = False
    model = Model.from_includes(includes, classes=["a", "b", "c"], provenance={"seed": 1})
    assert (model.n_clauses, model.n_booleans, model.n_includes) == (12, 5, includes.sum())
    for j, clause in enumerate(model):
        c, k = divmod(j, 4)
        assert clause == Clause(tuple(np.flatnonzero(includes[c, k]).tolist()), {c: 1 if k < 2 else -1})
    assert Model.from_includes(includes[:, :3], classes=["a", "b", "c"]).weights[:3, 0].tolist() == [1, 1, -1]
    for wrong in (includes[:, :, :9], includes[0], includes.astype(int)):
        with pytest.raises(ValueError, match="includes has dtype"):
            Model.from_includes(wrong, classes=["a", "b", "c"])


@given(models())
def test_counts_of_literals(model):
    clauses, weighted = np.zeros((2, model.n_classes, 2, 2 * model.n_booleans), dtype=int)
    for clause in model:
        for c, weight in clause.weights.items():
            for literal in clause.literals:
                clauses[c, int(weight < 0), literal] += 1
                weighted[c, int(weight < 0), literal] += abs(weight)
    assert np.array_equal(model.literal_counts(), clauses)
    assert np.array_equal(model.literal_counts(weighted=True), weighted)


@given(models())
def test_copies_are_equal_and_read_only(model):
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), joblib.load(buffer)):
        assert copied == model
        assert hash(copied) == hash(model)
        assert copied.provenance == model.provenance
        arrays = copied.literals, copied.offsets, copied.weights, copied.classes
        assert not any(array.flags.writeable for array in arrays)


def test_a_model_cannot_be_changed():
    model = small(provenance={"seed": 1})
    with pytest.raises(AttributeError, match="weights cannot be set, because a Model is immutable"):
        model.weights = np.zeros((2, 2))
    with pytest.raises(ValueError, match="read-only"):
        model.weights[0, 0] = 3
    with pytest.raises(TypeError):
        model.provenance["seed"] = 2
    literals = np.array([0, 3, 1], dtype=np.int32)
    model = small(literals=literals)
    literals[0] = 1
    assert model.literals[0] == 0


def test_a_later_fit_of_the_booleanizer_does_not_reach_the_model():
    booleanizer = Booleanizer(2).fit([[0.0], [2.0]])
    model = Model([0], [0, 1], [[1]], n_booleans=1, classes=["x"], booleanizer=booleanizer)
    booleanizer.fit([[10.0], [20.0]])
    assert model.class_sums([[5.0]]).tolist() == [[1]]


@pytest.mark.parametrize(
    "change",
    [
        {"literals": [0, 2, 1]},
        {"offsets": [0, 1, 3], "literals": [0, 1, 3]},
        {"weights": [[0, 1], [2, -2]]},
        {"n_booleans": 3, "feature_names": None},
        {"classes": ["no", "oh"]},
        {"feature_names": ["a", "c"]},
        {"feature_names": None},
        {"booleanizer": Booleanizer(thresholds=0.5).fit([[0.0, 0.0]])},
    ],
)
def test_models_that_say_something_else_are_not_equal(change):
    assert small() != small(**change)
    assert small() == small(provenance={"seed": 3}, boolean_rates=[0.1, 0.2])
    assert small() != "model"
    assert small(classes=[0, 1]) != small(classes=[0.0, 1.0])


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"literals": [0, 4, 1]}, ValueError, r"literals\[1\].*\b4\b.*\b2 Booleans.*\b0\b.*\b3\b"),
        ({"literals": [0, -1, 1]}, ValueError, r"literals\[1\] is -1"),
        ({"literals": [3, 0, 1]}, ValueError, r"clause 0\b.*ascending"),
        ({"literals": [1, 0, 0], "offsets": [0, 1, 3]}, ValueError, r"clause 1\b.*ascending"),
        ({"literals": [0.0, 3.0, 1.0]}, TypeError, "literals.*dtype float64"),
        ({"literals": [[0, 3, 1]]}, ValueError, r"literals.*\(1, 3\).*\b1 dimension\.$"),
        ({"weights": [0, 1]}, ValueError, r"weights.*\(2,\).*\b2 dimensions\.$"),
        ({"literals": [0, 3, 2**40]}, ValueError, r"literals.*\b32\b"),
        ({"offsets": [0, 2]}, ValueError, r"offsets.*ascend.*\b0\b.*\b3\b"),
        ({"offsets": [1, 2, 3]}, ValueError, "offsets must ascend"),
        ({"offsets": [-1, 2, 3]}, ValueError, "offsets must ascend"),
        ({"offsets": [0, 3, 2, 3]}, ValueError, "offsets must ascend"),
        ({"offsets": []}, ValueError, "offsets must ascend"),
        ({"weights": [[0, 1]]}, ValueError, r"weights.*\(1, 2\).*\b2\b"),
        ({"weights": [[0, 0.5], [1, 1]]}, TypeError, "weights has dtype float64"),
        ({"weights": [[2**30, 0], [2**30, 0]]}, ValueError, "overflow 32 bits"),
        ({"n_booleans": 2.0}, TypeError, "n_booleans is 2.0"),
        ({"n_booleans": -1}, ValueError, "n_booleans is -1"),
        ({"n_booleans": 2**40}, ValueError, "n_booleans is 1099511627776"),
        ({"classes": ["no", "no"]}, ValueError, r"\b2 labels.*\b1 different"),
        ({"classes": [0.0, np.nan]}, ValueError, "NaN"),
        ({"classes": [b"no", b"yes"]}, TypeError, "Labels are texts, integers, floats or Booleans"),
        ({"classes": np.array([None, "yes"], dtype=object)}, TypeError, "Labels are texts"),
        ({"classes": "no"}, ValueError, "one label per class"),
        ({"classes": []}, ValueError, "one label per class"),
        ({"booleanizer": "auto"}, TypeError, "booleanizer is 'auto'"),
        ({"booleanizer": Booleanizer()}, ValueError, "not fitted"),
        (
            {"booleanizer": Booleanizer(thresholds=0).fit([[1]])},
            ValueError,
            r"gives 1 Booleans.*n_booleans.*\b2\b",
        ),
        ({"feature_names": ["a"]}, ValueError, r"\b1 feature_names.*\b2\b"),
        ({"feature_names": ["a", 1]}, TypeError, r"feature_names\[1\] is 1"),
        ({"boolean_rates": [0.5]}, ValueError, "1 boolean_rates for 2 Booleans"),
        ({"boolean_rates": [0.5, 1.5]}, ValueError, "share from 0 to 1"),
        ({"boolean_rates": [0.5, np.nan]}, ValueError, "share from 0 to 1"),
        ({"typical_rows": [[1, 0]]}, ValueError, r"\b2\b.*row\. 2 Booleans.*\b1\b"),
        ({"typical_rows": [[4]]}, ValueError, r"bits beyond.*\b2 Booleans"),
        (
            {"typical_rows": [[0, 2]], "n_booleans": 9, "feature_names": None},
            ValueError,
            "last of 9 Booleans",
        ),
        ({"typical_rows": [[0.5]]}, TypeError, "must hold integers"),
        ({"provenance": {"when": object()}}, TypeError, "provenance.*JSON"),
        ({"provenance": {"s": np.inf}}, ValueError, "provenance.*JSON"),
    ],
)
def test_bad_parts_are_named(change, error, message):
    with pytest.raises(error, match=message):
        small(**change)


def test_feature_names_of_the_booleanizer_are_the_models():
    booleanizer = Booleanizer(2).fit(pd.DataFrame({"width": [1.0, 2.0]}))
    arguments = {"n_booleans": 1, "classes": ["x"], "booleanizer": booleanizer}
    assert Model([0], [0, 1], [[1]], **arguments).feature_names == ("width",)
    with pytest.raises(ValueError, match="not those the booleanizer was fitted with"):
        Model([0], [0, 1], [[1]], feature_names=["height"], **arguments)


def test_numbers_of_numpy_in_the_provenance_become_plain():
    model = small(provenance={"seed": np.int64(3), "curve": np.arange(2), "s": np.float32(0.5)})
    assert model.provenance == {"seed": 3, "curve": [0, 1], "s": 0.5}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_must_have_the_columns_of_training(library):
    frame = import_module(library).DataFrame  # here: the allocator of polars fails under the thread sanitizer
    plain = small()
    X = frame({"a": [True, True], "b": [False, True]})
    assert plain.predict(X).tolist() == ["yes", "no"]
    with pytest.raises(ValueError, match=r"column 0\b.*X.*'b'.*'a'"):
        plain.predict(X[["b", "a"]])
    with pytest.raises(ValueError, match=r"X.*\b1\b.*\b2\b"):
        plain.predict(X[["a"]])
    raw = model_of_one_clause([0], FeatureMap([1.0, 2.0], [0, 1, 2], [False, False]), ["a", "b"])
    assert raw.class_sums(frame({"a": [0, 2], "b": [1, 1]})).tolist() == [[0], [1]]
    assert raw.class_sums([[0, 1], [2, 1]]).tolist() == [[0], [1]]  # no warning about names
    with pytest.raises(ValueError, match="column 1 of X is 'c'"):
        raw.class_sums(frame({"a": [0, 2], "c": [1, 1]}))


def test_bad_rows_are_named():
    model = small()
    with pytest.raises(ValueError, match=r"X\[1, 0\].*\b2\b.*Booleanizer"):
        model.predict([[0, 1], [2, 0]])
    with pytest.raises(ValueError, match=r"X\[0, 1\] is nan"):
        model.predict([[0, np.nan]])
    with pytest.raises(ValueError, match=r"X.*\b3\b.*\b2\b"):
        model.predict([[0, 1, 1]])
    with pytest.raises(ValueError, match="2D array"):
        model.predict([0, 1])
    with pytest.raises(ValueError):
        model.predict([["a", "b"]])
    raw = model_of_one_clause([0], FeatureMap([1.0], [0, 1], [False]), ["age"])
    with pytest.raises(ValueError, match=r"feature 'age'.*is missing"):
        raw.predict([[np.nan]])
    assert model.predict(np.empty((0, 2))).shape == (0,)
    assert raw.class_sums(np.empty((0, 1))).shape == (0, 1)


@pytest.mark.parametrize("code", ["compact", "redress"])
def test_codes_come_back_with_the_same_votes(code):
    model = small()
    again = Model.from_bytes(model.to_bytes(code))
    X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert again.class_sums(X).tolist() == model.class_sums(X).tolist()
    assert again.predict(X).tolist() == model.predict(X).tolist()


def test_names_of_booleans():
    assert small().boolean_names == ("a", "b")
    feature_map = FeatureMap([1.0, 2.0, 3.0, 2.5], [0, 3, 4], [False, True])
    names = ("x0>1", "x0>2", "x0>3", "x1>2.5", "x1 is missing")
    assert model_of_one_clause([0], feature_map).boolean_names == names
    assert repr(small()) == "<Model: 2 classes, 2 clauses, 3 includes, 2 Booleans>"


def test_numbers_beyond_the_small_ones():
    def model(n):
        return Model([n - 1], [0, 1], [[1]], n_booleans=n, classes=["x"])

    assert model(1000) == model(999 + 1)
    with pytest.raises(ValueError, match="from 0 to 5"):
        Model([6], [0, 1], [[1]], n_booleans=3, classes=["x"])


def test_predicting_does_not_import_scikit_learn(tmp_path):
    """A service that only predicts starts quickly, whatever form its rows have."""
    X = np.random.default_rng(0).random((50, 2))
    booleanizer = Booleanizer(n_bins=3).fit(pd.DataFrame(X, columns=["a", "b"]))
    model = Model(
        [0, 3, 1], [0, 2, 3], [[0, 1], [2, -1]], n_booleans=4, classes=[0, 1], booleanizer=booleanizer
    )
    model.save(tmp_path / "m.etm")
    (tmp_path / "m.bin").write_bytes(model.to_bytes())
    np.save(tmp_path / "X.npy", X)
    program = """
import sys, pickle
import numpy as np
import pandas as pd
from ethereal import Model
model, X = Model.load("m.etm"), np.load("X.npy")
answer = model.predict(X)
assert (model.predict(X.tolist()) == answer).all()
frame = pd.DataFrame(X, columns=["a", "b"])
assert (model.predict(frame) == answer).all()
assert (Model.from_bytes(open("m.bin", "rb").read()).predict(X) == answer).all()
assert pickle.loads(pickle.dumps(model)) == model
model.predict_proba(X), model.explain(X[0]), model.describe(), model.save("again.etm")
loaded = sorted(name for name in sys.modules if name.split(".")[0] == "sklearn")
assert not loaded, loaded
assert (model.booleanizer.transform(frame) == model.feature_map.booleans(X, ["a", "b"])).all()
"""
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    assert (tmp_path / "again.etm").read_bytes() == (tmp_path / "m.etm").read_bytes()


@pytest.mark.parametrize(
    "X, message",
    [
        ([1.0, 2.0], r"X.*1D.*\(2,\).*2D"),
        ([[1.0], [2.0, 3.0]], "not a matrix of numbers"),
        ([["a", "b"]], "X has dtype <U1, texts"),
        (np.zeros((1, 1, 2)), r"X.*3D.*\(1, 1, 2\)"),
    ],
)
def test_rows_that_are_not_a_matrix_are_refused(X, message):
    model = Model([0], [0, 1], [[1]], n_booleans=2, classes=["x"])
    with pytest.raises(ValueError, match=message):
        model.predict(X)
