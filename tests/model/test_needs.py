"""Needs of a model meet what a consumer supports in one place."""

from dataclasses import replace

import numpy as np
import pytest

from ethereal import Booleanizer, Model
from ethereal.model.needs import NotSupported, Supports
from ethereal.model.output import Classes

MODEL = Model([0, 1, 3], [0, 2, 3], [[1, -7], [2, 0]], n_booleans=2, classes=["a", "b"])
LIMITS = {"n_classes": 2, "n_booleans": 2, "longest_clause": 2, "heaviest_vote": 7, "most_states": 2}


def test_needs_are_facts_of_the_model():
    needs = MODEL.needs
    assert {name: getattr(needs, name) for name in LIMITS} == LIMITS
    assert (needs.meaning, needs.output, needs.front_end, needs.missing) == ("and", "classes", None, False)
    X = np.array([[0.0], [1.0], [2.0], [np.nan]])
    fitted = Booleanizer(n_bins=3).fit(X)
    n = fitted.feature_map_.n_booleans
    model = Model([0], [0, 1], [[1]], n_booleans=n, classes=["a"], booleanizer=fitted)
    assert model.needs.missing
    assert model.needs.most_states == len(model.feature_map.states(0))


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_takes_what_it_names_and_no_more(limit):
    Supports("layout x", **{limit: LIMITS[limit]}).check(MODEL.needs)
    with pytest.raises(
        NotSupported, match=rf"^layout x takes up to {LIMITS[limit] - 1} .*{LIMITS[limit]}\. \w"
    ):
        Supports("layout x", **{limit: LIMITS[limit] - 1}).check(MODEL.needs)


@pytest.mark.parametrize(
    ("kind", "value"), [("meaning", "or"), ("output", "value"), ("front_end", "windows")]
)
def test_another_kind_is_refused_by_name(kind, value):
    with pytest.raises(NotSupported, match=rf"^the compact code does not take .* {value!r}"):
        Supports("the compact code").check(replace(MODEL.needs, **{kind: value}))


def test_classes_answer_with_the_first_of_equals_and_lose_by_the_share():
    output = Classes(np.array(["a", "b"]))
    sums = np.array([[1, 1], [0, 2]])
    assert output.answers(sums).tolist() == ["a", "b"]
    loss = output.loss(sums, np.array([0, 0]), 1.0)
    np.testing.assert_allclose(loss, [np.log(2), np.log(1 + np.exp(2))], rtol=1e-6)
