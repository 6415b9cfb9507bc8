"""Few rows of many, evenly from the whole."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ethereal.features.packing import evenly


@given(st.integers(1, 10_000), st.integers(1, 300))
def test_evenly(n_rows, most):
    chosen = evenly(n_rows, most)
    assert len(chosen) == min(n_rows, most)
    assert chosen[0] == 0
    assert len(chosen) == 1 or chosen[-1] == n_rows - 1
    steps = np.diff(chosen)
    assert len(steps) == 0 or (steps.min() >= 1 and steps.max() - steps.min() <= 1)
