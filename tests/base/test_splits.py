"""Splits: whole groups, every class to learn from, and the draws that published results rest on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.model_selection import train_test_split

from ethereal.base.splits import folds, group_split, hold_out, hold_out_by_class

labels = arrays(np.int64, st.integers(2, 60), elements=st.integers(0, 4))
shares, seeds = st.sampled_from([0.05, 0.1, 0.2, 0.25, 0.5, 0.9]), st.integers(0, 2**32 - 1)


@given(labels, shares, seeds)
def test_every_class_is_learned_from_and_every_row_has_one_place(y, share, seed):
    rng = np.random.RandomState(seed)
    for learn, held_out in (hold_out(y, share, seed), hold_out_by_class(y, share, rng)):
        if learn is None:
            continue
        assert sorted([*learn, *held_out]) == list(range(len(y)))
        assert set(y[learn]) == set(y)
        counts = np.bincount(y)
        assert (counts[y[held_out]] > 1).all()  # a class with one row is not held out


@given(labels, shares, seeds)
def test_hold_out_draws_as_scikit_learn_where_that_can_stratify(y, share, seed):
    try:
        expected = train_test_split(np.arange(len(y)), test_size=share, stratify=y, random_state=seed)
    except ValueError:
        return
    for held_out, rows in zip(hold_out(y, share, seed), expected, strict=True):
        np.testing.assert_array_equal(held_out, rows)
    if np.bincount(y)[y].min() > 1 and len(set(y)) > 1:
        np.testing.assert_array_equal(folds(y, 1, share, seed)[0], np.sort(expected[1]))


def test_a_class_with_one_row_does_not_change_the_draw_of_the_others():
    y = np.repeat([0, 1], [12, 8])
    alone, more = hold_out(y, 0.25, 3), hold_out(np.append(y, 2), 0.25, 3)
    assert [*alone[0], 20] == more[0].tolist()
    assert alone[1].tolist() == more[1].tolist()


def test_few_rows_of_many_classes():
    assert len(hold_out(np.repeat(np.arange(4), 2), 0.25, 0)[1]) == 2
    assert len(hold_out(np.arange(4), 0.25, 0)[1]) == 0


def test_groups_are_held_out_whole():
    groups = np.arange(40) % 10
    learn, held_out = hold_out(np.zeros(40), 0.2, 1, groups)
    assert len(set(groups[held_out])) == 2
    assert not set(groups[held_out]) & set(groups[learn])


def test_the_draws_do_not_change():
    """Results that were published depend on these rows."""
    y = np.arange(30) % 3
    assert hold_out(y, 0.1, 0)[1].tolist() == [13, 23, 15]
    assert hold_out_by_class(y, 0.1, np.random.RandomState(0))[1].tolist() == [6, 8, 10]
    assert hold_out(y, 0.2, 0, np.arange(30) // 3)[1].tolist() == [12, 13, 14, 18, 19, 20]


def test_group_split_keeps_groups_whole_and_classes_on_both_sides():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(30), rng.integers(5, 40, 30))
    y = rng.integers(0, 4, len(group))
    test = group_split(y, group, test_fraction=0.25, random_state=3)
    assert not set(group[test]) & set(group[~test])
    assert 0.15 < test.mean() < 0.35
    assert set(y[test]) == set(y[~test]) == {0, 1, 2, 3}
    np.testing.assert_array_equal(test, group_split(y, group, test_fraction=0.25, random_state=3))
    assert (test != group_split(y, group, test_fraction=0.25, random_state=4)).any()


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: group_split([0, 1], [0, 1, 2]), "y and group"),
        (lambda: group_split([0, 1, 0], [0, 1, 2], test_fraction=0.7), "test_fraction is 0.7"),
        (lambda: group_split([0, 1, 0], [0, 1, 2], test_fraction=0.1), "3 groups"),
        (lambda: folds(np.zeros(4), 1, 0.2, 0), "y has one class only"),
        (lambda: folds(np.array([0, 0, 0, 1]), 1, 0.2, 0), r"label 1\b.*\b1\b"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
