"""What a run's report tells of sensors and people."""

import importlib.util
from dataclasses import replace

import numpy as np
import pytest

from ethereal import EtherealClassifier, WindowFeatures
from ethereal.datasets.rows import Rows
from ethereal.runs.results import Answered, Unknown
from ethereal.runs.sensor import cost_table, kernel_costs, per_group, shown_windows, teaching
from ethereal.runs.table import unknown_note
from windows import hard_windows, model_of

WINDOWS = hard_windows(64, n_axes=3)


def machine(kernels):
    extractor = WindowFeatures(kernels, axes=["ax", "ay", "az"], rate=50).fit(WINDOWS)
    return model_of(extractor, WINDOWS, n_clauses=6), extractor.front_end_


def test_accuracy_per_group_with_the_weakest_first():
    model, _ = machine(["stats"])
    y = model.predict(WINDOWS)
    groups = np.array(["a", "b", "c"])[np.arange(len(y)) % 3]
    wrong = y.copy()
    wrong[groups == "b"] = "z"
    rows = Rows(WINDOWS, wrong, np.arange(len(y)) >= 6, groups)
    lines = per_group(model, rows)
    assert [one.name for one in lines] == ["b", "a", "c"]
    assert [one.accuracy for one in lines] == [0, 1, 1]
    assert sum(one.rows for one in lines) == len(y) - 6
    assert per_group(model, Rows(WINDOWS, y, np.arange(len(y)) >= 6)) == ()


def test_what_groups_gain_who_teach_their_board():
    labels, groups = np.arange(len(WINDOWS)) // 2 % 2, np.array(["anna", "ben"])[np.arange(len(WINDOWS)) % 2]
    clf = EtherealClassifier(6, 5, 3.0, epochs=2, front_end=WindowFeatures(["stats"]), random_state=0)
    model = clf.fit(WINDOWS, labels).model_
    y = model.predict(WINDOWS)
    test = np.arange(len(y)) >= 6
    lines = teaching(model, Rows(WINDOWS, y, test, groups, groups_are="people"))
    assert lines["note"].startswith("2 of the test people, 100.0 % before, gains in points. Nothing is to")
    assert [row[0] for row in lines["rows"]] == ["1", "2", "5", "10", "20"]
    assert {len(row) for row in lines["rows"]} == {len(lines["columns"])}
    for other in ({}, {"groups": groups, "groups_are": "recordings"}, {"groups": np.full(len(y), "anna")}):
        assert teaching(model, Rows(WINDOWS, y, test, **other)) is None
    assert teaching(model, Rows(WINDOWS, y, test, np.arange(len(y)).astype(str))) is None


@pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("ziglang", "unicorn"))), reason="needs the extra device"
)
def test_the_cost_of_kernels_and_of_those_that_were_dropped():
    model, _ = machine({"stats": ["ax"], "haar": ["ay"]})
    _, offered = machine({"stats": ["axes"], "haar": ["axes"], "bands": ["az"]})
    lines = kernel_costs(model, offered, "cortex-m7", 20_000.0, {("bands", "az"): -0.0123})
    assert {(one.kernel, one.source) for one in lines.kept} == {("stats", "ax"), ("haar", "ay")}
    assert lines.dropped[0].kernel == "bands"
    assert len(lines.dropped) == 5
    assert lines.instructions >= sum(one.instructions for one in lines.kept) > 500
    assert lines.share == lines.instructions / 20_000
    table = cost_table(lines)
    assert len(table["rows"]) == 7
    dropped = next(row for row in table["rows"] if row[0] == "bands of az, dropped")
    assert dropped[2] == "about +930"
    assert dropped[4] == "-1.2 points"
    assert {len(row) for row in table["rows"]} == {len(table["columns"])}


def test_windows_of_the_page_are_thinned_out():
    model, front_end = machine({"stats": ["ax", "|a|"], "parts": ["ay"]})
    shown = shown_windows(front_end, WINDOWS)
    assert shown["samples"][3] == WINDOWS[3].T.tolist()
    assert shown["features"][0] == ["ax", "stats", "mean"]
    assert ["|a|", "stats", "range"] in shown["features"]
    sound = WindowFeatures(["mel"], rate=8000).fit(np.zeros((1, 8000, 1), np.int16)).front_end_
    long = shown_windows(sound, np.zeros((3, 8000, 1), np.int16))
    assert (long["every"], len(long["samples"][0][0])) == (32, 250)
    assert cost_table(None) is None
    assert model.front_end is not None


def test_the_note_on_unknown_rows_tells_where_the_margin_is_from():
    unknown = Unknown(1, 0.97, 0.9, "accuracy 0.95", 500, 7, (), test=Answered(0.97, 0.9))
    note = unknown_note(unknown)
    assert "less than 1 vote. That margin was chosen for 0.95 of right answers, by 7 groups" in note
    rows = replace(unknown, wanted="answered 0.9", n_groups=0)
    assert "answers to 0.9 of the rows, by folds" in unknown_note(rows)
    assert unknown_note(replace(unknown, margin=0)).startswith("No row is unknown")
