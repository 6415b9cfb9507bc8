"""Booleanizer against its definition, on drawn and on real data, and with bad input."""

import copy
import os
import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from ethereal import Booleanizer
from ethereal.features.feature_map import BIN, MISSING, THRESHOLD, FeatureMap, empty_bins, format_thresholds
from strategies import all_bins, feature_maps, raw_rows, reference_booleans

DATA = os.environ.get("ETHEREAL_DATA")
STUDY = {
    "emg": (2, "thermometer"),
    "gas": (2, "thermometer"),
    "gesture": (10, "onehot"),
    "har": (2, "thermometer"),
    "mammography": (3, "onehot"),
    "sports": (2, "thermometer"),
    "statlog": (20, "thermometer"),
}


@parametrize_with_checks(
    [Booleanizer(), Booleanizer(n_bins=3, encoding="onehot"), Booleanizer(thresholds=0.5)]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", STUDY)
def test_study_sets_follow_the_definition(name):
    if not DATA or not (path := Path(DATA) / f"{name}.npz").exists():
        pytest.skip("the study's data is not here; set ETHEREAL_DATA")
    n_bins, encoding = STUDY[name]
    X = np.load(path, allow_pickle=False)["X"]
    X = X[:, :560] if name == "har" else X
    expected = []
    for column in X.T:
        values = column.astype(np.float64)
        absent = np.isnan(values)
        # A threshold between two neighbouring values says the same wherever it lies, and is there once.
        shares = [i / n_bins for i in range(1, n_bins)]
        thresholds = sorted(set(np.quantile(values[~absent], shares, method="lower")))
        index = sum((values > t).astype(int) for t in thresholds)
        if encoding == "onehot" and len(thresholds) > 1:
            expected += [(index == j) & ~absent for j in range(len(thresholds) + 1)]
        else:
            expected += [index > j for j in range(len(thresholds))]
        if absent.any():
            expected.append(absent)
    assert np.array_equal(Booleanizer(n_bins, encoding).fit_transform(X), np.array(expected).T)


@given(st.data())
def test_transform_equals_the_plain_reference(data):
    feature_map = data.draw(feature_maps(missing_policy=st.just("ignore")))
    rows = data.draw(raw_rows(feature_map))
    assert Booleanizer.from_feature_map(feature_map).transform(rows).tolist() == reference_booleans(
        feature_map, rows
    )


@given(feature_maps(), st.lists(st.floats(width=32), max_size=8))
def test_float32_thresholds_give_the_same_bit_for_float32_values(feature_map, drawn):
    near = feature_map.thresholds_float32
    with np.errstate(over="ignore"):
        up, down = (np.nextafter(near, np.float32(end)) for end in (np.inf, -np.inf))
    values = np.concatenate([np.array(drawn, np.float32), near, up, down])
    assert np.array_equal(values[:, None] > near, values.astype(np.float64)[:, None] > feature_map.cuts)


@given(feature_maps(max_features=2))
def test_states_are_all_a_feature_can_say(feature_map):
    for f in range(feature_map.n_features):
        start, end = feature_map.boolean_offsets[f], feature_map.boolean_offsets[f + 1]
        said = {tuple(bits[start:end]) for bits in reference_booleans(feature_map, all_bins(feature_map))}
        empty = empty_bins(feature_map.thresholds_of(f))  # no value is between equal thresholds
        states = [
            row for j, row in enumerate(feature_map.states(f).tolist()) if j >= len(empty) or not empty[j]
        ]
        assert len(states) == len(said)
        assert {tuple(row) for row in states} == said


@given(
    hnp.arrays(
        np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.floats(allow_nan=True)
    ),
    st.integers(2, 12),
    st.sampled_from(["thermometer", "onehot"]),
)
@pytest.mark.filterwarnings("ignore:every feature is constant", "ignore:feature x")
def test_fit_on_anything_gives_finite_thresholds_that_tell_rows_apart(X, n_bins, encoding):
    with np.errstate(over="ignore"):
        lost = [
            len(np.unique(c[~np.isnan(c)])) > 1 == len(np.unique(c[~np.isnan(c)].astype(np.float32)))
            for c in X.T
        ]
    assume(not any(lost))  # a column of which float32 leaves nothing is refused, unless it is noise
    booleanizer = Booleanizer(n_bins, encoding).fit(X)
    feature_map = booleanizer.feature_map_
    assert np.isfinite(feature_map.thresholds).all()
    bits = booleanizer.transform(X)
    for f in range(X.shape[1]):
        present = X[~np.isnan(X[:, f]), f]
        of_feature = feature_map.thresholds_of(f)
        with np.errstate(over="ignore"):
            different = np.unique(present.astype(np.float32))
        assert len(of_feature) <= n_bins - 1
        assert (len(of_feature) > 0) == (len(different) > 1)
        assert np.array_equal(of_feature, of_feature.astype(np.float32))
        assert feature_map.missing[f] == (len(present) < len(X))
        if encoding == "thermometer":
            columns = bits[
                :, feature_map.boolean_offsets[f] : feature_map.boolean_offsets[f] + len(of_feature)
            ]
            assert columns.any(axis=0).all()  # no Boolean that is never true
            assert not columns.all(axis=0).any()


def test_infinite_values_are_ordered_like_numbers():
    X = np.array([[-np.inf], [-1.0], [1.0], [np.inf]])
    bits = Booleanizer(n_bins=4).fit_transform(X)
    assert bits.sum(axis=1).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("encoding", ["thermometer", "onehot"])
def test_a_column_that_is_mostly_its_maximum_keeps_its_information(encoding):
    X = np.array([[0.0]] + [[1.0]] * 20)
    assert np.array_equal(Booleanizer(n_bins=2, encoding=encoding).fit_transform(X), X > 0)


def test_names_and_feature_map():
    X = pd.DataFrame({"age": [1.0, 3, 5, 7, 9, np.nan], "sex": [0, 1, 0, 1, 0, 1], "site": 4})
    booleanizer = Booleanizer(n_bins=[3, 2, 2], encoding="onehot").fit(X)
    assert booleanizer.get_feature_names_out().tolist() == [
        "age<=4",
        "age in (4, 6]",
        "age>6",
        "age is missing",
        "sex",
    ]
    feature_map = booleanizer.feature_map_
    assert feature_map.kind.tolist() == [BIN, BIN, BIN, MISSING, THRESHOLD]
    assert feature_map.feature.tolist() == [0, 0, 0, 0, 1]
    assert feature_map.position.tolist() == [0, 1, 2, 0, 0]
    assert feature_map.boolean_offsets.tolist() == [0, 4, 5, 5]
    with pytest.raises(ValueError, match="read-only"):
        feature_map.thresholds[0] = 1


def test_frames_of_every_kind_give_the_same_bits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3)).astype(np.float32)
    names = ["a", "b", "c"]
    expected = Booleanizer(5).fit_transform(X)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        booleanizer = Booleanizer(5).fit(frame)
        assert np.array_equal(booleanizer.transform(frame), expected)
        assert booleanizer.feature_names_in_.tolist() == names
        with pytest.raises(ValueError, match="feature names"):
            booleanizer.transform(frame[["c", "b", "a"]])
    nullable = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [True, False, True]})
    assert Booleanizer(2).fit(nullable).get_feature_names_out().tolist() == ["a>2", "a is missing", "b"]
    nulls = pl.DataFrame({"a": [1, None, 3]})
    assert Booleanizer(2).fit_transform(nulls).tolist() == [[False, False], [False, True], [True, False]]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.float16, np.float32, bool])
@pytest.mark.parametrize("order", ["C", "F"])
def test_number_types_and_orders_agree(dtype, order):
    X = np.random.default_rng(1).integers(0, 9, size=(40, 5)).astype(dtype)
    expected = Booleanizer(4).fit_transform(X.astype(np.float64))
    assert np.array_equal(Booleanizer(4).fit_transform(np.asarray(X, order=order)), expected)


def test_blocks_do_not_show():
    X = np.random.default_rng(2).normal(size=(3000, 700))
    booleanizer = Booleanizer(3, "onehot").fit(X)
    parts = [booleanizer.transform(row[None]) for row in X[::500]]
    assert np.array_equal(booleanizer.transform(X)[::500], np.concatenate(parts))


def test_missing_values():
    X = np.array([[1.0, 1.0], [2.0, np.nan], [3.0, 3.0], [1.0, 2.0]])
    booleanizer = Booleanizer(3, "onehot").fit(X)
    assert booleanizer.transform([[2.0, np.nan]])[0].tolist() == [
        False,
        True,
        False,
        False,
        False,
        False,
        True,
    ]
    with pytest.raises(ValueError, match=r"'x0' \(column 0\).*missing.*\b1\b.*\b2\b.*row 1\b"):
        booleanizer.transform([[1.0, 1.0], [np.nan, 1.0]])
    lenient = Booleanizer(3, "onehot", missing="ignore").fit(X)
    assert lenient.transform([[np.nan, 1.0]])[0].tolist() == [False, False, False, True, False, False, False]


def test_both_infinities_in_a_column_are_not_missing():
    booleanizer = Booleanizer(thresholds=0).fit([[1.0]])
    assert booleanizer.transform([[-np.inf], [np.inf]]).tolist() == [[False], [True]]


def test_fixed_thresholds():
    X = np.array([[10, 80], [200, 75]], dtype=np.uint8)
    assert Booleanizer(thresholds=75).fit_transform(X).tolist() == [[False, True], [True, False]]
    assert Booleanizer(thresholds=[50, 100]).fit_transform(X).shape == (2, 4)
    assert Booleanizer(thresholds=[[], [75.0, 76.5]]).fit_transform(X).tolist() == [
        [True, True],
        [False, False],
    ]


def test_zero_rows_give_an_empty_result():
    booleanizer = Booleanizer(thresholds=[1.0, 2.0]).fit([[1.0]])
    assert booleanizer.transform(np.empty((0, 1))).shape == (0, 2)


def test_constant_columns_warn_only_when_there_is_no_other():
    with pytest.warns(UserWarning, match="every feature is constant"):
        assert Booleanizer().fit_transform([[1.0, 2.0]] * 3).shape == (3, 0)


@pytest.mark.filterwarnings("error")
def test_copies_are_equal_and_read_only():
    X = np.random.default_rng(3).normal(size=(20, 3))
    booleanizer = Booleanizer(4).fit(X)
    for copied in (pickle.loads(pickle.dumps(booleanizer)), copy.deepcopy(booleanizer)):
        assert copied.feature_map_ == booleanizer.feature_map_
        assert not copied.feature_map_.thresholds.flags.writeable
        assert np.array_equal(copied.transform(X), booleanizer.transform(X))
    again = Booleanizer.from_feature_map(booleanizer.feature_map_)
    assert clone(again).fit(X).feature_map_ == booleanizer.feature_map_
    assert booleanizer.feature_map_ != Booleanizer(3).fit(X).feature_map_
    assert booleanizer.feature_map_ != Booleanizer(4, missing="ignore").fit(X).feature_map_
    assert booleanizer.feature_map_ != "feature_map"
    assert hash(booleanizer.feature_map_) == hash(again.feature_map_)
    pipeline = make_pipeline(StandardScaler(), Booleanizer(2)).set_output(transform="pandas")
    assert pipeline.fit_transform(X).dtypes.tolist() == [bool] * 3


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"n_bins": 1}, r"n_bins.*\b1\b.*\b2\b.*\b65536\b"),
        ({"n_bins": 10**9}, "n_bins is 1000000000"),
        ({"n_bins": [2, 0]}, r"n_bins\[1\] is 0"),
        ({"n_bins": [2, 2, 2]}, r"n_bins.*\b3\b.*X.*\b2\b"),
        ({"encoding": "gray"}, "encoding is 'gray'"),
        ({"missing": "drop"}, "missing is 'drop'"),
        ({"thresholds": [2.0, 1.0]}, "strictly ascending"),
        ({"keep_equal": "yes"}, "keep_equal is 'yes'"),
        ({"thresholds": float("nan")}, "thresholds is .*finite"),
        ({"thresholds": [[1.0]]}, r"thresholds.*\b1\b.*X.*\b2\b"),
        ({"thresholds": [[1.0], [np.inf]]}, r"thresholds\[1\] is"),
    ],
)
def test_bad_parameters_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Booleanizer(**arguments).fit([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"thresholds": "high"}, r"thresholds.*\['high'\]"),
        ({"n_bins": 2.5}, "n_bins is 2.5"),
        ({"n_bins": True}, "n_bins is True"),
        ({"n_bins": "ten"}, "n_bins is 'ten'"),
    ],
)
def test_parameters_of_wrong_types_are_named(arguments, message):
    with pytest.raises(TypeError, match=message):
        Booleanizer(**arguments).fit([[1.0], [2.0]])


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="'city'"):
        Booleanizer().fit(pd.DataFrame({"age": [1, 2], "city": ["a", "b"]}))
    with pytest.raises(ValueError, match="'city'"):
        Booleanizer().fit(pl.DataFrame({"age": [1, 2], "city": ["a", "b"]}))
    with pytest.raises(ValueError, match=r"X\[1, 0\] is '2'"):
        Booleanizer().fit(np.array([[1.0], ["2"]], dtype=object))
    with pytest.raises(ValueError, match="expecting 1 features"):
        Booleanizer(thresholds=1).fit([[1.0]]).transform([[1.0, 2.0]])
    with pytest.raises(TypeError, match=r"longdouble|float128"):
        Booleanizer().fit(np.ones((2, 2), dtype=np.longdouble))
    with pytest.raises(ValueError, match="2 feature_names for 1"):
        Booleanizer.from_feature_map(FeatureMap([1.0], [0, 1], [False]), ["a", "b"])
    with pytest.raises(ValueError, match="0 feature_names for 1"):
        Booleanizer.from_feature_map(FeatureMap([1.0], [0, 1], [False]), [])


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([1.0, 0.5], [0, 2], [False]), "must be ascending"),
        (([np.nan], [0, 1], [False]), "finite"),
        (([1.0], [0, 2], [False]), "ascend from 0 to 1"),
        (([1.0], [1, 1], [False]), "ascend from 0 to 1"),
        (([1.0], [0, 1, 0, 1], [False] * 3), "ascend from 0 to 1"),
        (([1.0], [0, 1], [False] * 2), "3 entries"),
        (([1.0], [0, 1], [False], "gray"), "encoding is 'gray'"),
        (([1.0], [0, 1], [False], ["gray"]), r"encoding\[0\] is 'gray'"),
        (([1.0], [0, 1], [False], ["onehot"] * 2), r"encoding.*\b2\b.*\b1\b"),
        (([1.0], [0, 1], [False], "onehot", "drop"), "missing_policy"),
    ],
)
def test_a_feature_map_checks_itself(arguments, message):
    with pytest.raises(ValueError, match=message):
        FeatureMap(*arguments)


def test_an_encoding_for_each_feature():
    X = np.column_stack([np.arange(12.0), np.arange(12.0) % 6])
    booleanizer = Booleanizer(3, ["thermometer", "onehot"]).fit(X)
    first, second = Booleanizer(3).fit(X[:, :1]), Booleanizer(3, "onehot").fit(X[:, 1:])
    expected = np.hstack([first.transform(X[:, :1]), second.transform(X[:, 1:])])
    assert np.array_equal(booleanizer.transform(X), expected)
    assert booleanizer.feature_map_.encoding == ("thermometer", "onehot")
    assert "mixed" in repr(booleanizer.feature_map_)
    assert Booleanizer(3, ["onehot"] * 2).fit(X).feature_map_ == Booleanizer(3, "onehot").fit(X).feature_map_
    with pytest.raises(ValueError, match=r"encoding.*\b3\b.*\b2\b"):
        Booleanizer(3, ["onehot"] * 3).fit(X)


def test_names_of_a_feature_map_are_kept_when_given_and_only_then():
    feature_map = FeatureMap([1.0], [0, 1], [False])
    assert Booleanizer.from_feature_map(feature_map, ["a"]).feature_names_in_.tolist() == ["a"]
    assert not hasattr(Booleanizer.from_feature_map(feature_map), "feature_names_in_")


def test_feature_map_of_boolean_input():
    feature_map = FeatureMap.of_booleans(3)
    rows = np.array([[0, 1, 0], [1, 0, 1]])
    assert feature_map.booleans(rows, ["a", "b", "c"]).tolist() == (rows == 1).tolist()
    assert feature_map.threshold_offsets.tolist() == [0, 1, 2, 3]


def test_texts_of_thresholds():
    """As short as they can be told apart, whole numbers without an exponent."""
    assert format_thresholds(np.array([-3.0, 0.1 + 0.2, 1200000.0])) == ["-3", "0.3", "1200000"]
    assert format_thresholds(np.array([1.00000001, 1.00000002])) == ["1.00000001", "1.00000002"]
    assert format_thresholds(np.array([1e15, 2.5e20])) == ["1e+15", "2.5e+20"]


def every_bin(column, n_bins, encoding):
    """The study's Booleans of a column, by its own rule: quantiles as they are, a Boolean per bin."""
    thresholds = [np.quantile(column, i / n_bins) for i in range(1, n_bins)]
    index = np.array([sum(t < value for t in thresholds) for value in column])
    if n_bins == 2:
        return [index == 1]
    return [index == j if encoding == "onehot" else index >= j for j in range(n_bins)]


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 3)), elements=st.integers(-4, 4)),
    st.integers(2, 7),
    st.sampled_from(["thermometer", "onehot"]),
)
def test_equal_quantiles_can_be_kept(X, n_bins, encoding):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a constant feature
        booleanizer = Booleanizer(n_bins, encoding, keep_equal=True).fit(X)
    expected = [column for f in range(X.shape[1]) for column in every_bin(X[:, f], n_bins, encoding)]
    np.testing.assert_array_equal(booleanizer.transform(X).T, expected)
    assert booleanizer.feature_map_.n_booleans == X.shape[1] * (1 if n_bins == 2 else n_bins)


@pytest.mark.parametrize("column", [[1e30] * 3, [-np.inf, 0.0, np.inf], [np.inf] * 3, [3e38, -3e38, 1.0]])
def test_odd_columns_keep_a_boolean_per_bin(column):
    X = np.array(column)[:, None]
    booleans = Booleanizer(4, keep_equal=True).fit(X).transform(X)
    assert booleans.shape == (3, 4)
    assert booleans[np.isfinite(X[:, 0]), 0].all()


def test_equal_thresholds_are_written_alike():
    feature_map = FeatureMap([2.0, 2.0, 5.0], [0, 3], [False])
    assert feature_map.boolean_names(["x"]) == ["x>2", "x>2", "x>5"]
    binned = FeatureMap([2.0, 2.0], [0, 2], [False], "onehot")
    assert binned.boolean_names(["x"]) == ["x<=2", "x in (2, 2]", "x>2"]
