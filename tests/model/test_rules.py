"""Rules, descriptions and explanations of a Model."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethereal import Booleanizer, Model
from ethereal.features.feature_map import FeatureMap
from strategies import all_bins, feature_maps, model_of_one_clause, models_of, raw_rows

TWO = FeatureMap([1.0, 2.0, 3.0, 2.5], [0, 3, 4], [False, True])  # y can be missing
BINS = FeatureMap([1.0, 2.0, 3.0], [0, 3], [True], "onehot")  # four bins, missing


@pytest.mark.parametrize(
    "feature_map, literals, text",
    [
        (TWO, [0], "x > 1"),
        (TWO, [0, 1], "x > 2"),
        (TWO, [0, 7], "1 < x <= 3"),
        (TWO, [5], "x <= 1"),
        (TWO, [1, 5], "x is contradictory"),
        (TWO, [2, 3], "x > 3 AND y > 2.5"),
        (TWO, [8], "(y <= 2.5 or missing)"),
        (TWO, [8, 9], "y <= 2.5"),
        (TWO, [9], "y is known"),
        (TWO, [4], "y is missing"),
        (BINS, [0], "x <= 1"),
        (BINS, [1], "1 < x <= 2"),
        (BINS, [6, 9], "x not in (1, 2]"),
        (BINS, [6], "(x not in (1, 2] or missing)"),
        (BINS, [5, 7, 9], "x in (1, 2] or > 3"),
        (BINS, [6, 8, 9], "x <= 1 or in (2, 3]"),
        (BINS, [7, 8, 9], "x <= 2"),
        (BINS, [5, 6, 7, 8], "x is missing"),
        (
            FeatureMap([1.0, 2.0, 3.0, 4.0], [0, 4], [False], "onehot"),
            [6, 8],
            "x not in (1, 2] nor in (3, 4]",
        ),
    ],
)
def test_literals_become_intervals(feature_map, literals, text):
    model = model_of_one_clause(literals, feature_map, ["x", "y"][: feature_map.n_features])
    assert model.rules()[0].text == text
    assert (
        model.simplify().rules()[0].text == text if "contra" not in text else model.simplify().rules() == []
    )


@given(feature_maps(max_features=2).flatmap(models_of))
def test_intervals_take_what_the_clause_takes(model):
    def takes(condition, value):
        if not np.isnan(value):
            return any(low < value <= high for low, high in condition.intervals)
        if model.feature_map.has_missing_state[condition.feature]:
            return condition.missing
        return any(low == -np.inf for low, _ in condition.intervals)  # like a value in the lowest bin

    rows = all_bins(model.feature_map)
    outputs = model.clause_outputs(rows)
    for rule in model.rules():
        for row, fires in zip(rows, outputs[:, rule.clause], strict=True):
            holds = all(takes(condition, row[condition.feature]) for condition in rule.conditions)
            assert fires == (holds and rule.n_includes > 0)


def test_describe_is_ordered_by_weight_and_can_be_cut():
    model = Model(
        [0, 1, 2, 3],
        [0, 1, 2, 3, 4, 4],
        [[1, 0], [-3, 0], [3, 1], [2, 0], [5, 0]],
        n_booleans=2,
        classes=["a", "b"],
    )
    assert model.describe(max_rules=4).splitlines() == [
        "class 'a': 5 clauses, 4 includes",
        "  +5 IF FALSE",
        "  +3 IF NOT x0",
        "  -3 IF x1",
        "  +2 IF NOT x1",
        "  ... and 1 more",
        "class 'b': 1 clause, 1 include",
        "  +1 IF NOT x0",
    ]
    assert str(model.rules()[0].conditions[0]) == "x0"


def test_explanation_of_a_raw_row():
    booleanizer = Booleanizer(thresholds=[[1.0, 2.0], [5.0]]).fit([[0.0, 0.0], [np.nan, 0.0]])
    model = Model(  # width > 2 votes +3 for big; NOT height > 5 votes +2 for small and -1 for big
        [1, 7],
        [0, 1, 2],
        [[0, 3], [2, -1]],
        n_booleans=4,
        classes=["small", "big"],
        booleanizer=booleanizer,
        feature_names=["width", "height"],
    )
    why = model.explain([1.5, 4.0])
    assert (why.winner, why.runner_up, why.votes) == ("small", "big", {"small": 2, "big": -1})
    assert [vote for vote, _ in why.for_winner] == [2]
    assert [vote for vote, _ in why.for_runner_up] == [-1]
    assert str(why).splitlines() == [
        "'small' has 2 votes, 'big' has -1",
        "for 'small':",
        "  +2 IF height <= 5",
        "for 'big':",
        "  -1 IF height <= 5",
        "'big' would win with these changes:",
        "  width > 2 instead of 1.5",
        "  height > 5 instead of 4",
    ]
    assert "width > 2 instead of missing" in str(model.explain([np.nan, 4.0]))
    assert model.explain(pd.Series([1.5, 4.0], index=["width", "height"])) == why
    with pytest.raises(ValueError, match=r"column 0\b.*X.*'height'"):
        model.explain(pd.Series([4.0, 1.5], index=["height", "width"]))
    with pytest.raises(ValueError, match=r"x has 2 rows"):
        model.explain([[1.5, 4.0], [1.5, 4.0]])


@given(st.data())
def test_changes_make_the_runner_up_win_and_none_is_superfluous(data):
    feature_map = data.draw(feature_maps())
    model = data.draw(models_of(feature_map, max_clauses=12))
    row = data.draw(raw_rows(feature_map, max_rows=1))
    why = model.explain(row[0])
    sums = model.class_sums(row)[0].tolist()
    assert why.votes == dict(zip(model.classes.tolist(), sums, strict=True))
    assert why.winner == model.predict(row).tolist()[0]
    if why.changes is None:
        return

    def changed(changes):
        copied = row.copy()
        for change in changes:
            ((_, high),) = change.condition.intervals
            copied[0, change.condition.feature] = high if np.isfinite(high) else np.inf
        return model.predict(copied).tolist()[0]

    assert changed(why.changes) == why.runner_up
    for left_out in why.changes:
        assert changed([c for c in why.changes if c is not left_out]) != why.runner_up
    assert str(why)


def test_a_change_that_later_ones_make_superfluous_is_left_out():
    # "no" always has 4 votes. For "yes": a +2, b +1, c +1, b AND c +3. Step by step a comes first.
    literals = [3, 7, 0, 1, 2, 1, 2]
    model = Model(
        literals,
        [0, 1, 2, 3, 4, 5, 7],
        [[4, 0], [4, 0], [0, 2], [0, 1], [0, 1], [0, 3]],
        n_booleans=4,
        classes=["no", "yes"],
        feature_names=list("abcd"),
    )
    assert [str(change) for change in model.explain([0, 0, 0, 0]).changes] == ["b", "c"]


def test_a_row_of_a_frame_with_nullable_columns():
    booleanizer = Booleanizer(thresholds=1).fit([[0.0, 0.0], [np.nan, 0.0]])
    model = Model([0, 2], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=3, classes=[0, 1], booleanizer=booleanizer)
    frame = pd.DataFrame({"a": pd.array([None, 3], dtype="Int64"), "b": [2.0, 1.0]})
    why = model.explain(frame.iloc[[0]])
    assert (why.winner, [str(change) for change in why.changes]) == (1, ["x0 > 1 instead of missing"])


def test_explanations_without_a_way_or_another_class():
    alone = Model([0], [0, 1], [[2]], n_booleans=1, classes=["x"]).explain([False])
    assert (alone.runner_up, alone.changes) == (None, None)
    assert str(alone) == "'x' has 0 votes\nfor 'x':\n  no clause fired"
    stuck = Model([0], [0, 1], [[2, 0]], n_booleans=1, classes=["x", "y"]).explain([False])
    assert str(stuck).endswith("No set of up to 20 changes was found with which 'y' would win.")
    nothing = Model([], [0], np.zeros((0, 2), int), n_booleans=0, classes=["x", "y"]).explain(np.empty(0))
    assert nothing.changes is None


def boolean_and_number():
    """A model of a column of 0 and 1, which misses values, beside a number."""
    rows = np.array([[0.0, 3.5], [1.0, 0.25], [np.nan, 7.0], [1.0, 2.0]])
    booleanizer = Booleanizer(2).fit_named(rows, ["on", "size"])
    assert booleanizer.feature_map_.is_boolean.tolist() == [True, False]
    return Model(
        [0, 2, 3, 4],
        [0, 1, 2, 3, 4],
        [[1]] * 4,
        n_booleans=3,
        classes=["x"],
        booleanizer=booleanizer,
        feature_names=["on", "size"],
    )


def test_a_feature_of_0_and_1_keeps_its_name():
    model = boolean_and_number()
    assert model.boolean_names == ("on", "on is missing", "size>3")
    assert [rule.text for rule in model.rules()] == ["on", "size > 3", "(NOT on or missing)", "on is known"]
    assert model.rules()[0].conditions[0].intervals == ((0.0, np.inf),)


def test_the_name_of_a_boolean_goes_with_every_copy(tmp_path):
    model = boolean_and_number()
    model.save(tmp_path / "m.etm")
    for copy in (Model.load(tmp_path / "m.etm"), pickle.loads(pickle.dumps(model)), model.simplify()):
        assert copy.boolean_names == model.boolean_names
    assert model.feature_map.with_missing([True, True]).is_boolean.tolist() == [True, False]
    assert model.feature_map.in_float32().is_boolean.tolist() == [True, False]
    # Names do not make two models different, because the codes for devices do without them.
    assert Model.from_bytes(model.to_bytes()).feature_map == model.feature_map


@pytest.mark.parametrize(
    "thresholds, offsets, is_boolean, message",
    [
        ([1.0], [0, 1], [True], "one threshold, from 0"),
        ([0.25, 0.5], [0, 2], [True], "one threshold, from 0"),
        ([0.5], [0, 1, 1], [False, True], "one threshold, from 0"),
        ([0.5], [0, 1], [True, False], r"is_boolean.*\(2,\)"),
    ],
)
def test_only_a_feature_with_one_threshold_is_a_boolean(thresholds, offsets, is_boolean, message):
    with pytest.raises(ValueError, match=message):
        FeatureMap(thresholds, offsets, [False] * (len(offsets) - 1), is_boolean=is_boolean)


@pytest.mark.parametrize("column", [[0, 0, 0], [1, 1, 1], [0, 1, 2], [-1, 0, 1], [0, 0.5, 1]])
def test_other_columns_keep_their_thresholds(column):
    rows = np.column_stack([column, [3.0, 4.0, 5.0]])
    assert not Booleanizer(2).fit(rows).feature_map_.is_boolean.any()


def test_thresholds_of_the_user_stay_in_names():
    rows = np.array([[0.0], [1.0]])
    assert Booleanizer(thresholds=0.5).fit(rows).get_feature_names_out().tolist() == ["x0>0.5"]
    booleanizer = Booleanizer().fit(rows)
    again = Booleanizer(thresholds=booleanizer.feature_map_).fit(rows)
    assert again.get_feature_names_out().tolist() == booleanizer.get_feature_names_out().tolist() == ["x0"]


def test_an_explanation_prints_the_heaviest_rules():
    literals = [0] * 30
    votes = [[30 - j, 0] for j in range(30)]
    model = Model(literals, range(31), votes, n_booleans=1, classes=["x", "y"])
    lines = str(model.explain([True])).splitlines()
    assert len(model.explain([True]).for_winner) == 30
    assert sum("IF" in line for line in lines) == 10
    assert "  ... and 20 more" in lines
    assert str(model.explain([True], max_rules=None)).count("IF") == 30
    assert str(model.explain([True], max_rules=3)).count("IF") == 3
    with pytest.raises(ValueError, match="max_rules is -1"):
        model.explain([True], max_rules=-1)
