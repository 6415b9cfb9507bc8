"""Frames of windows: the features of the plain reference, in the order of time, and what is refused."""

import numpy as np
import pytest

import reference_windows
from ethereal import EtherealClassifier, Model
from ethereal.features.front_end import FrontEnd
from ethereal.features.window_features import WindowFeatures
from windows import hard_windows

ALL = ("stats", "std", "mad", "step", "shape", "cov", "corr")


@pytest.mark.parametrize("frames", [(8, 4), (2, 1), (9, 7), (50, 50)])
def test_features_of_frames_are_those_of_the_reference(frames):
    windows = hard_windows(50, 3, 4)
    made = WindowFeatures({k: ["axes", "|a|"] if k not in ("cov", "corr") else ["axes"] for k in ALL},
                          frames=frames).fit(windows)  # fmt: skip
    front_end = made.front_end_
    features = made.transform(windows)
    assert features.shape == (len(windows), front_end.n_frames, len(front_end.names))
    assert np.array_equal(features, reference_windows.features(front_end, windows))
    assert np.array_equal(features, front_end.transform(windows, n_jobs=2))
    first = windows[:, front_end.skipped :][:, : frames[0]]
    if frames[0] >= 32:  # a frame is a window of its own
        alone = FrontEnd(front_end.axes, frames[0], front_end.groups)
        assert np.array_equal(features[:, 0], alone.transform(first))


@pytest.mark.parametrize("n, step", [(1000, 256), (700, 100), (256, 256)])
def test_sound_is_that_of_the_reference(n, step):
    windows = hard_windows(n, 1, 3)
    windows[-1, : n // 2] //= 4000
    made = WindowFeatures(["sound"], frames=(256, step), rate=8000).fit(windows)
    features = made.transform(windows)
    assert np.array_equal(features, reference_windows.features(made.front_end_, windows))
    assert (features[:, :, -1].max(axis=1) == 0).all()  # the loudest frame


def test_a_machine_learns_and_keeps_its_front_end(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    windows = rng.normal(0, 30, (200, 64, 1))
    for window, label, start in zip(windows, y, rng.integers(0, 40, 200), strict=True):
        window[start : start + 16, 0] += np.linspace(-900, 900, 16) * (1 if label else -1)
    front_end = WindowFeatures(["stats"], frames=(8, 4), scale=100, units="g")
    clf = EtherealClassifier(20, 8, 3.0, patch=(3,), epochs=10, random_state=0, front_end=front_end)
    assert clf.fit(windows[:150], y[:150]).score(windows[150:], y[150:]) > 0.9
    model = clf.plain_model_
    assert np.array_equal(model.predict(windows), model.predict(model.front_end.transform(windows)))
    assert " g" in model.describe()
    assert "somewhere" in str(model.explain(windows[0]))
    model.save(tmp_path / "m.etm")
    read = Model.load(tmp_path / "m.etm")
    assert read == model
    assert read.front_end.frames == (8, 4)
    smaller = model.simplify().drop_unused_kernels()
    assert np.array_equal(smaller.class_sums(windows), model.class_sums(windows))


def test_groups_that_no_clause_uses_are_dropped():
    windows = hard_windows(64, 2, 3)
    front_end = WindowFeatures(["stats", "step"], frames=(8, 8))
    clf = EtherealClassifier(4, 4, 3.0, patch=(2,), epochs=1, front_end=front_end, places=True)
    model = clf.fit(windows, np.arange(len(windows)) % 2).plain_model_
    names = np.array(model.channel_names)
    channel = model.clause_map.feature % len(names)
    is_place = np.arange(model.n_booleans) >= model.patch.n_content
    stays = (names[channel[model.clauses.boolean]] == "ax.step") | is_place[model.clauses.boolean]
    clauses = model.clauses.having(
        model.clauses.clause[stays], model.clauses.literals[stays], model.clauses.n_booleans
    )
    few = model._with(clauses=clauses)
    small = few.drop_unused_kernels()
    assert small.channel_names == ("ax.step",)
    assert small.n_features == 8
    assert np.array_equal(small.class_sums(windows), few.class_sums(windows))


@pytest.mark.parametrize(
    "keywords, message",
    [
        ({"frames": (65, 4)}, "frames\\[0\\]"),
        ({"frames": (8, 9)}, "frames\\[1\\]"),
        ({"frames": (8, 4), "hop": 10}, "Give 8|hop of 8"),
        ({"frames": "8"}, "frames is '8'"),
        ({"frames": (1, 2, 3)}, "frames is"),
        ({"kernels": ["haar"], "frames": (8, 4)}, "takes frames of 32"),
        ({"kernels": ["mel"], "frames": (8, 4), "rate": 8000}, "kernel 'sound'"),
        ({"kernels": ["sound"], "rate": 8000}, "kernel 'mel'"),
        ({"kernels": ["sound"], "rate": 8000, "frames": (8, 8)}, "sound takes"),
    ],
)
def test_frames_that_do_not_fit_are_refused(keywords, message):
    with pytest.raises((ValueError, TypeError), match=message):
        WindowFeatures(**keywords).fit(np.zeros((3, 64, 2), dtype=np.int16))


def test_frames_and_patch_go_together():
    windows, y = np.zeros((4, 64, 1), dtype=np.int16), [0, 1, 0, 1]
    with pytest.raises(ValueError, match="Give patch="):
        EtherealClassifier(front_end=WindowFeatures(frames=8)).fit(windows, y)
    with pytest.raises(ValueError, match="makes no frames"):
        EtherealClassifier(front_end=WindowFeatures(["std"]), patch=(2,)).fit(windows, y)
