"""What only the study does to its rows, against a plain loop."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ethereal.study.protocol import relabel_unmarked


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
