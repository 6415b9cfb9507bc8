"""Models that may leave a row unanswered, and the margin that decides on it."""

import numpy as np
import pytest

from ethereal import Model
from ethereal.model.file import FORMAT_VERSION, from_file_bytes, to_file_bytes
from ethereal.train.unknown import find_margin
from random_models import random_model

LABELS = {
    "texts": (["a", "b", "c"], "unknown"),
    "objects": (np.array(["a", "b", "c"], dtype=object), "unknown"),
    "a class of that name": (["unknown", "b", "c"], "unknown_"),
    "whole numbers": ([0, 1, 2], -1),
    "negative numbers": ([-1, 0, 1], -2),
    "bytes": (np.array([0, 1, 255], dtype=np.uint8), -1),
}


def with_labels(labels):
    model, X = random_model(3)
    other_model = Model.of(model.clauses, classes=labels, booleanizer=model.booleanizer)
    return other_model, X


@pytest.mark.parametrize("kind", LABELS)
def test_rows_below_the_margin_get_a_label_of_their_own(kind):
    labels, unknown = LABELS[kind]
    plain, X = with_labels(labels)
    model = plain.with_unknown(3)
    sums = np.sort(model.class_sums(X), axis=1)
    doubtful = sums[:, -1] - sums[:, -2] < 3
    assert 0.1 < doubtful.mean() < 0.9
    predicted = model.predict(X)
    assert set(predicted[doubtful].tolist()) == {unknown}
    assert predicted[~doubtful].tolist() == plain.predict(X)[~doubtful].tolist()
    assert (model.output.codes(model.class_sums(X)) == 3).tolist() == doubtful.tolist()
    assert np.array_equal(model.predict_proba(X), plain.predict_proba(X))
    again = from_file_bytes(to_file_bytes(model))
    assert again == model != plain
    assert again.predict(X).tolist() == predicted.tolist()
    assert again.with_unknown(None) == plain


def test_float_labels_have_nan():
    plain, X = with_labels([0.5, 1.5, 2.5])
    model = from_file_bytes(to_file_bytes(plain.with_unknown(3)))
    assert 0 < np.isnan(model.predict(X)).sum() < len(X)
    assert model == plain.with_unknown(3) != plain.with_unknown(4)


def test_files_of_other_models_stay_as_they_were():
    plain, _ = random_model(1)
    assert FORMAT_VERSION == 8
    assert b'format_version\\":2' in to_file_bytes(plain)
    assert b'format_version\\":4' in to_file_bytes(plain.with_unknown(1))
    assert to_file_bytes(plain.with_unknown(1).with_unknown(None)) == to_file_bytes(plain)


@pytest.mark.parametrize(
    ("labels", "how", "message"),
    [
        (["a"], {"margin": 1}, "one class"),
        ([False, True], {"margin": 1}, "Labels are Booleans"),
        ([0, 1], {"margin": -1}, "margin is -1"),
        ([0, 1], {"margin": 1, "label": 1}, "label is 1, which is a class already"),
        ([0, 1], {"margin": 1, "label": "no"}, "label is 'no'.* of the type int"),
    ],
)
def test_bad_margins_are_refused(labels, how, message):
    weights = [[1] * len(labels)]
    with pytest.raises((ValueError, TypeError), match=message):
        Model([0], [0, 1], weights, n_booleans=1, classes=labels).with_unknown(**how)


def test_an_explanation_tells_why_there_is_no_answer():
    model = Model([0, 1], [0, 1, 2], [[3, 0], [0, 2]], n_booleans=2, classes=["yes", "no"]).with_unknown(2)
    why = model.explain([True, True])
    assert (why.answer, why.winner) == ("unknown", "yes")
    assert "the answer is 'unknown': a lead of 1 is less than the 2 asked for" in str(why)
    sure = model.explain([True, False])
    assert sure.answer == "yes"
    assert "a lead of 3 is at least the 2 asked for" in str(sure)


def test_the_margin_is_the_smallest_that_gives_the_accuracy():
    rng = np.random.default_rng(0)
    lead = rng.integers(0, 50, 2000)
    right = rng.random(2000) < 0.5 + lead / 100
    margin = find_margin(lead, right, accuracy=0.85, n_groups=7)
    assert margin.accuracy >= 0.85 > dict((m, a) for m, a, _ in margin.curve)[margin.margin - 1]
    assert margin.answered == (lead >= margin.margin).mean()
    assert (margin.n_rows, margin.n_groups, margin.wanted) == (2000, 7, "accuracy 0.85")
    assert "7 groups" in str(margin)
    half = find_margin(lead, right, answered=0.5)
    assert half.answered >= 0.5 > (lead >= half.margin + 1).mean()
    assert find_margin(lead, right, accuracy=0.5).margin == 0


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({}, "Give accuracy"),
        ({"accuracy": 0.9, "answered": 0.9}, "Give accuracy"),
        ({"accuracy": 1.0}, "accuracy is 1.0"),
        ({"answered": 0.0}, "answered is 0.0"),
        ({"accuracy": 0.9}, r"The best has 0.500, with 100 % of the rows answered\. Ask for less"),
        ({"accuracy": 0.9999}, "takes 10000 rows"),
    ],
)
def test_what_cannot_be_had_is_refused(wanted, message):
    with pytest.raises(ValueError, match=message):
        find_margin(np.full(100, 3), np.arange(100) % 2 > 0, **wanted)
