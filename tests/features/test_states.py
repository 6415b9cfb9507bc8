"""The one definition of a feature's states, against values that are encoded."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ethereal.features.feature_map import FeatureMap

maps = st.builds(
    lambda n, missing, encoding, policy: FeatureMap(
        np.arange(n) + 0.5, [0, n], [missing], encoding, missing_policy=policy
    ),
    st.integers(1, 5),
    st.booleans(),
    st.sampled_from(["thermometer", "onehot"]),
    st.sampled_from(["raise", "ignore"]),
)


def values_of(feature_map):
    """A value of every bin, then NaN where it is accepted."""
    values = [float(i) for i in range(len(feature_map.thresholds) + 1)]
    return np.array(values + [np.nan] * feature_map.accepts_missing(0))[:, None]


@given(maps)
def test_states_are_what_values_become(feature_map):
    seen = feature_map.booleans(values_of(feature_map), ["x"])
    states = feature_map.states(0)
    np.testing.assert_array_equal(seen[: len(states)], states)
    assert len(np.unique(states, axis=0)) == len(states)
    # NaN is accepted without a state of its own only where it looks like the lowest bin.
    for row in seen[len(states) :]:
        np.testing.assert_array_equal(row, states[0])
    assert feature_map.has_missing_state[0] == (len(states) > len(feature_map.thresholds) + 1)


@given(maps, st.data())
def test_states_of_literals_are_those_in_which_all_are_true(feature_map, data):
    n = feature_map.n_booleans
    literals = data.draw(st.lists(st.integers(0, 2 * n - 1), max_size=6))
    states = feature_map.states(0)
    both = np.concatenate([states, ~states], axis=1)
    expected = [all(row[literal] for literal in literals) for row in both]
    assert (
        feature_map.states_of(0, [x % n for x in literals], [x >= n for x in literals]).tolist() == expected
    )
