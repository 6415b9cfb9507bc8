"""Columns of text become categories with a Boolean for each name, the same in frames, files and codes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ethereal import Booleanizer, EtherealClassifier, Model
from ethereal.features.categories import find_categories
from ethereal.features.feature_map import FeatureMap


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=300),
            "colour": rng.choice(["red", "green", "blue"], 300),
            "on": [True, False] * 150,
        }
    )
    frame["kind"] = pd.Categorical(rng.choice(["x", "y"], 300))
    return frame


@pytest.fixture(scope="module")
def model(frame):
    y = np.where((frame.colour == "red") | (frame.a > 1), "p", "q")
    clf = EtherealClassifier.paper(20, 10, 3.0, epochs=5, booleanizer=Booleanizer(10), random_state=0).fit(
        frame, y
    )
    assert clf.score(frame, y) > 0.9
    return clf.model_


def test_names_rules_and_explanations(frame, model):
    assert model.categories == {"colour": ("blue", "green", "red"), "kind": ("x", "y")}
    assert {"colour is blue", "colour is green", "colour is red", "kind is y"} < set(model.boolean_names)
    assert "colour is not red" in model.describe()
    green = frame[frame.colour == "green"].iloc[0]
    assert "colour is red instead of green" in str(model.explain(green))


def test_frames_texts_and_numbers_have_one_answer(frame, model):
    expected = model.predict(frame).tolist()
    assert model.predict(pl.from_pandas(frame)).tolist() == expected
    assert model.predict(frame.to_numpy()).tolist() == expected
    numbers = frame.assign(
        colour=frame.colour.map({"blue": 0, "green": 1, "red": 2}), kind=frame.kind.cat.codes
    )
    assert model.predict(numbers.to_numpy(dtype=float)).tolist() == expected


def test_unknown_names_make_all_booleans_false(frame, model):
    pink = frame.assign(colour="pink")
    assert model.predict(pink).tolist() == model.predict(frame.assign(colour=None)).tolist()
    booleans = model.feature_map.booleans(np.array([[0.0, np.nan, 1.0, 0.0]]), model.input_names)
    at = model.boolean_names.index("colour is blue")
    assert not booleans[0, at : at + 3].any()
    with pytest.raises(ValueError, match=r"feature 'a' .* is missing"):
        model.predict(frame.assign(a=np.nan))


def test_files_and_codes_keep_them(model, tmp_path):
    model.save(tmp_path / "m.etm")
    again = Model.load(tmp_path / "m.etm")
    assert again == model
    assert again.categories == model.categories
    assert Model.from_bytes(model.to_bytes()).feature_map == model.feature_map
    assert model.with_feature_names(list("wxyz")).categories == {
        "x": ("blue", "green", "red"),
        "z": ("x", "y"),
    }
    assert model.simplify().categories == model.categories


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"column 't'.*X.*dates"):
        find_categories(pd.DataFrame({"t": pd.to_datetime(["2026-01-31"])}))
    with pytest.raises(ValueError, match=r"column 'k'.*X.*\b70 different texts.*looks.*id"):
        find_categories(pd.DataFrame({"k": [f"k{i}" for i in range(70)]}))
    with pytest.raises(ValueError, match=r"column 'c'.*text.*\b0\b.*\b1\b"):
        EtherealClassifier(booleanizer=None, epochs=1).fit(pd.DataFrame({"c": ["a", "b"] * 9}), [0, 1] * 9)
    with pytest.raises(ValueError, match="has 3 categories, which its thresholds do not separate"):
        FeatureMap([0.5], [0, 1], [False], "onehot", categories={0: ["a", "b", "c"]})
    with pytest.raises(ValueError, match=r"\b1\b.*\b64 different texts"):
        FeatureMap([0.5], [0, 1], [False]).with_categories({0: ["a", "a"]})
