"""The one rounding of thresholds: down, to numbers that a device can hold."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethereal.features.feature_map import FeatureMap
from ethereal.features.rounding import places_of, round_down

doubles = st.lists(st.floats(allow_nan=False), min_size=1)


@pytest.mark.parametrize("bits", [32, 30])
@given(doubles)
def test_nothing_of_the_type_lies_between_a_number_and_its_rounding(bits, values):
    exact = np.array(values)
    down = round_down(exact, bits)
    assert (down <= exact).all()
    assert (down.view(np.uint32) % (1 << (32 - bits)) == 0).all()
    up, one = down, np.float32(np.inf)
    for _ in range(1 << (32 - bits)):  # the next number of the type
        with np.errstate(over="ignore"):
            up = np.nextafter(up, one)
    assert ((up > exact) | (down == exact) | ~np.isfinite(up)).all()


@given(doubles, st.lists(st.floats(width=32, allow_nan=False), min_size=1))
def test_a_float_is_above_a_threshold_where_its_place_is(thresholds, values):
    """As `et_order(value) > place` compares in C."""
    places = places_of(thresholds)
    for value in values:
        (word,) = struct.unpack("<i", struct.pack("<f", value + 0.0))
        number = word if word >= 0 else -(word & 0x7FFFFFFF) - 1
        assert [number > place for place in places.tolist()] == [value > t for t in thresholds]


@given(st.lists(st.floats(-1e30, 1e30), min_size=1, unique=True))
def test_float32_thresholds_of_a_map_are_rounded_down(thresholds):
    ascending = sorted({float(t) for t in thresholds})
    rounded = FeatureMap(ascending, [0, len(ascending)], [False], precision="float64").thresholds_float32
    np.testing.assert_array_equal(rounded, round_down(ascending))
