"""Windows and labels against plain loops."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone

from ethereal.features.windows import SlidingWindows, WindowPooling, majority


def recordings_of(channels):
    return arrays(np.float64, st.tuples(st.integers(0, 30), channels), elements=st.floats(-1e3, 1e3))


signals, pairs = recordings_of(st.integers(1, 3)), recordings_of(st.just(2))
PLAIN = {
    "mean": lambda v: sum(v) / len(v),
    "max": max,
    "rms": lambda v: (sum(x * x for x in v) / len(v)) ** 0.5,
    "rss": lambda v: sum(x * x for x in v) ** 0.5,
    "mav": lambda v: sum(abs(x) for x in v) / len(v),
}


@given(signals, st.integers(1, 8), st.sampled_from(sorted(PLAIN)), st.booleans())
def test_pooling_is_the_plain_loop(signal, length, how, drop_last):
    (pooled,) = WindowPooling(length, how, drop_last=drop_last).transform([signal])
    n = len(signal) // length - drop_last
    expected = [
        [PLAIN[how](signal[w * length : (w + 1) * length, c].tolist()) for c in range(signal.shape[1])]
        for w in range(max(n, 0))
    ]
    assert pooled.shape == (max(n, 0), signal.shape[1])
    np.testing.assert_allclose(pooled, np.reshape(expected, pooled.shape), rtol=1e-12, atol=1e-9)


@given(st.lists(pairs, min_size=1, max_size=3), st.integers(1, 9), st.integers(1, 4))
def test_sliding_windows_are_the_plain_loop(recordings, length, stride):
    windows = SlidingWindows(length, stride)
    labels = [np.arange(len(r)) % 3 for r in recordings]
    rows, majorities, groups = [], [], []
    for number, (recording, track) in enumerate(zip(recordings, labels, strict=True)):
        for start in range(0, len(recording) - length + 1, stride):
            rows.append(recording[start : start + length].ravel())
            votes = Counter(track[start : start + length].tolist())
            majorities.append(min(votes, key=lambda label: (-votes[label], label)))
            groups.append(number)
    np.testing.assert_array_equal(windows.transform(recordings), np.reshape(rows, (len(rows), length * 2)))
    np.testing.assert_array_equal(windows.transform_labels(labels), majorities)
    np.testing.assert_array_equal(windows.groups(recordings), groups)


def test_integers_do_not_overflow_or_lose_their_fraction():
    signal = np.array([[30000], [30001]], dtype=np.int16)
    assert WindowPooling(2, "mean").transform([signal])[0].item() == 30000.5
    assert WindowPooling(2, "rms").transform([signal])[0].item() == pytest.approx(30000.5, rel=1e-6)


def test_the_studys_counts():
    # 125 samples in tens, the last whole window left out: 9120 files give the 100320 rows of sports.
    pool = WindowPooling(10, drop_last=True)
    assert 9120 * len(pool.transform([np.zeros((125, 45))])[0]) == 100320


def test_transformers_are_estimators():
    assert clone(WindowPooling(10, "rms")).get_params() == {"length": 10, "how": "rms", "drop_last": False}
    assert clone(SlidingWindows(20, 3)).get_params() == {"length": 20, "stride": 3}


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: WindowPooling(0).transform([np.zeros((3, 1))]), "length is 0"),
        (lambda: WindowPooling(2.5).transform([np.zeros((3, 1))]), "length is 2.5"),
        (lambda: WindowPooling(2, "median").transform([np.zeros((3, 1))]), "how is 'median'"),
        (lambda: WindowPooling(2).transform([]), "recordings"),
        (lambda: WindowPooling(2).transform([np.zeros(3)]), r"recordings\[0\].*shape \(3,\)"),
        (
            lambda: WindowPooling(2).transform([np.zeros((3, 1)), np.zeros((3, 2))]),
            r"recordings\[1\].*2 channels",
        ),
        (lambda: WindowPooling(2).transform([np.array([["a"]])]), r"recordings\[0\]"),
        (lambda: WindowPooling(2).transform_labels([[[1]]]), r"labels\[0\]"),
        (lambda: SlidingWindows(2, 0).transform([np.zeros((3, 1))]), "stride is 0"),
        (lambda: majority([[-1, 2]]), "labels"),
        (lambda: majority([[0.5, 2]]), "labels"),
        (lambda: majority([1, 2]), "labels"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
