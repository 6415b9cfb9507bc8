"""Labelled rows, whichever way they were split."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ethereal.base.splits import hold_out
from ethereal.datasets.rows import Rows


@given(st.integers(2, 40), st.integers(0, 2**32 - 1), st.booleans())
def test_drawn_rows_are_the_same_rows_in_the_order_of_the_draw(n, seed, is_grouped):
    X, y = np.arange(2 * n).reshape(n, 2), np.arange(n) % 3
    rows = Rows(X, y, groups=y * 10 if is_grouped else None)
    learn, test = hold_out(y, 0.25, seed)
    drawn = rows.drawn(learn, test, "so")
    np.testing.assert_array_equal(drawn.X_train, X[learn])
    np.testing.assert_array_equal(drawn.y_train, y[learn])
    np.testing.assert_array_equal(drawn.X_test, X[test])
    np.testing.assert_array_equal(drawn.y_test, y[test])
    assert drawn.how == "so"
    if is_grouped:
        np.testing.assert_array_equal(drawn.groups_train, 10 * y[learn])
    else:
        assert drawn.groups_train is None


def test_without_a_split_all_rows_are_to_learn_from():
    rows = Rows(np.eye(3), np.arange(3), groups=np.arange(3))
    assert (len(rows.X_train), len(rows.y_train), len(rows.groups_train)) == (3, 3, 3)
    assert (len(rows.X_test), len(rows.y_test)) == (0, 0)
