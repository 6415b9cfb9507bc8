"""What only the study does to its rows, against a plain loop."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ethereal.features.booleanizer import Booleanizer
from ethereal_study.cells import in_the_middle_bin, relabel_unmarked


@given(arrays(np.bool_, (12, 2)), arrays(np.int64, 12, elements=st.integers(0, 3)))
def test_relabelling_is_the_plain_loop(bits, y):
    expected = y.copy()
    for i in np.flatnonzero(y == 0):
        votes = Counter(int(y[j]) for j in range(12) if y[j] and (bits[j] == bits[i]).all())
        if votes:
            expected[i] = min(votes, key=lambda label: (-votes[label], label))
    np.testing.assert_array_equal(relabel_unmarked(bits, y), expected)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="bits and y"):
        relabel_unmarked([[1], [0]], [1])


@given(
    arrays(np.float64, (15, 2), elements=st.sampled_from([1.0, 2.0, 3.0, np.nan])), st.sampled_from([3, 5])
)
def test_a_missing_value_is_in_the_middle_bin(X, n_bins):
    X[0] = 1.0  # some value is there
    fitted = Booleanizer(n_bins, "onehot", keep_equal=True).fit(X)
    filled, booleanizer = in_the_middle_bin(X, fitted.feature_map_)
    columns = []
    for column in X.T:
        thresholds = [np.quantile(column[~np.isnan(column)], i / n_bins) for i in range(1, n_bins)]
        index = [n_bins // 2 if np.isnan(v) else sum(t < v for t in thresholds) for v in column]
        columns += [np.array(index) == j for j in range(n_bins)]
    np.testing.assert_array_equal(booleanizer.transform(filled).T, columns)
