"""What is normal: scores by the plain reference, the same bits, limits, bad input, files and explanations."""

import copy
import pickle

import numpy as np
import pytest

from ethereal import EtherealClassifier, EtherealDetector, WindowFeatures
from ethereal.model.file import from_file_bytes, to_file_bytes
from ethereal.model.needs import NotSupported
from ethereal.normal import Normal, NormalOptions, normal_of
from ethereal.normal.centres import representatives
from old_ranges import with_ranges
from reference_normal import score
from windows import hard_windows

RNG = np.random.default_rng(5)
CLOUDS = np.concatenate([RNG.normal(0, 1, (150, 6)), RNG.normal([8, 0, 3, -5, 0, 100], 0.5, (150, 6))])
MIXED = CLOUDS[np.arange(300).reshape(2, 150).T.ravel()]  # so that later rows are like earlier ones
CENTRES = [[-10, -1, -5, 6, 13, -11], [10, 3, 6, -10, 1, 10], [-12, 17, -15, 7, -8, -10]]
LIMIT = 505
WILD = np.array([
    [np.inf, -np.inf, 1e30, -1e30, 1e-45, 0.0], [0.0] * 6, [-0.0, 5, 2, -5, 0.25, 99.7],
    [1e6, -1e6, 3, 3, 3, 3],
])  # fmt: skip


def test_scores_are_those_of_plain_python():
    for rows in (CLOUDS, CLOUDS * 1e-20, CLOUDS * 1e20 + 1e21, np.rint(CLOUDS * 50), CLOUDS + 1e5):
        normal, _ = normal_of(rows, None, NormalOptions(n_centres=5))
        asked = np.concatenate([rows[::30], WILD, [[np.nan, 1, 2, np.nan, 0, 0]]])
        assert normal.score(asked).tolist() == [score(normal, row) for row in asked]
        assert normal.score(WILD).max() > 10 * normal.limit


@pytest.mark.filterwarnings("ignore:Later rows differ")
def test_the_same_rows_and_seed_give_the_same_bits():
    whole = np.rint(CLOUDS * 100).astype(np.int16)
    one = EtherealDetector(random_state=3).fit(whole).model_
    for other in (whole.astype(np.float64), np.asfortranarray(whole.astype(np.float32))):
        assert to_file_bytes(EtherealDetector(random_state=3).fit(other).model_) == to_file_bytes(one)
    assert one.normal.is_whole
    # Recorded once: whatever processor and number of threads computes them, these are the centres.
    assert one.normal.centres[:3].tolist() == CENTRES
    assert one.normal.limit == LIMIT


def test_rows_apart_are_told():
    detector = EtherealDetector(0.05).fit(CLOUDS[:120])
    assert (detector.predict(CLOUDS[120:150]) == 1).mean() > 0.75
    assert (detector.predict(CLOUDS[150:]) == -1).all()


@pytest.mark.filterwarnings("ignore:There are 8 groups")
def test_limits_of_groups_hold_for_new_groups():
    rates = {"apart": 0.0, "mixed": 0.0}
    for seed in range(2):
        rng = np.random.default_rng(seed)
        places = rng.normal(0, 3, (48, 4)).repeat(30, axis=0)
        rows = places + rng.normal(size=places.shape)
        X, new, groups = rows[:240], rows[240:], np.arange(240) // 30
        detector = EtherealDetector(0.05).fit(X, groups=groups)
        rates["apart"] += (detector.predict(new) < 0).mean() / 2
        rates["mixed"] += (EtherealDetector(0.05).fit(RNG.permutation(X)).predict(new) < 0).mean() / 2
        assert list(detector.spread_.alarms) == [str(i) for i in range(8)]
    assert rates["apart"] < 0.1 < rates["mixed"]


def test_it_says_why_false_alarms_may_not_be_as_wanted():
    with pytest.warns(UserWarning, match="There are 3 groups"):
        EtherealDetector().fit(CLOUDS, groups=np.arange(300) % 3)
    rising = CLOUDS[:150] + np.arange(150)[:, None] / 10
    with pytest.warns(UserWarning, match="Later rows differ"):
        assert EtherealDetector().fit(rising).spread_.drift > 0.5
    assert EtherealDetector().fit(CLOUDS[:150]).spread_.drift is None
    y = np.arange(300) // 150  # rows in the order of classes do not drift
    model = EtherealClassifier(epochs=1, random_state=0).fit(CLOUDS, y).model_
    by_class = model.with_normal(CLOUDS, y).normal.limit
    mixed = RNG.permutation(300)
    assert 0.5 < by_class / model.with_normal(CLOUDS[mixed], y[mixed]).normal.limit < 2


def test_features_that_say_nothing_are_left_out():
    X = np.column_stack([MIXED, np.full(300, 7.0), MIXED[:, 0] * 2])
    model = EtherealDetector(n_features=6).fit(X).model_
    assert 6 not in model.normal.features
    assert len({0, 7} & set(model.normal.features.tolist())) == 1  # one stands for both
    assert representatives(np.int8([[1, 2, 2], [3, 4, 4], [9, 0, 0], [2, 2, 2]]), 2).tolist() == [0, 1]


def test_copies_and_files_are_the_same():
    model = EtherealDetector(0.05).fit(MIXED).model_
    beside = EtherealClassifier(epochs=3, random_state=0).fit(CLOUDS, np.arange(300) // 150).model_
    beside = beside.with_normal(CLOUDS)
    for one in (model, beside):
        for other in (copy.copy(one), pickle.loads(pickle.dumps(one)), from_file_bytes(to_file_bytes(one))):
            assert other == one
            assert other.normal == one.normal
            assert other.novelty(WILD).tolist() == one.novelty(WILD).tolist()
    assert beside.with_normal(None) != beside
    assert beside.with_normal(None).seen is None
    assert model.simplify() == model


def test_damaged_records_are_refused():
    normal, _ = normal_of(CLOUDS, None, NormalOptions(n_centres=2))
    parts = {name.removeprefix("normal_"): array for name, array in normal.tensors().items()}
    wrong = {
        "features": np.int32([3, 2, 1, 0, 4, 5]),
        "centres": np.full((2, 6), -128, np.int8),
        "gains": parts["gains"][:3],
        "middles": np.full(6, 1 << 24, np.int32),
        "exponents": np.full(6, 100, np.int8),
    }
    for name, array in wrong.items():
        with pytest.raises(ValueError, match=name if name != "centres" else "centre"):
            Normal(**{**parts, name: array}, limit=3)
    with pytest.raises(ValueError, match="limit is -1"):
        Normal(**parts, limit=-1)


def test_beside_a_classifier():
    y = np.array(["a", "b"]).repeat(150)
    clf = EtherealClassifier(epochs=5, random_state=0).fit(CLOUDS, y)
    model = clf.model_.with_normal(CLOUDS, y, np.arange(300) % 20, false_alarms=0.02)
    assert (model.predict(CLOUDS) == y).mean() > 0.95
    assert (model.novelty(CLOUDS) > model.normal.limit).mean() < 0.05
    between = (CLOUDS[:150] + CLOUDS[150:]) / 2  # inside all ranges
    assert (model.novelty(between) > model.normal.limit).mean() > 0.8
    ranges = with_ranges(clf.model_, CLOUDS, y)
    assert (ranges.novelty(between) > ranges.seen.limit).mean() < 0.1
    assert [model.drift().add(0) for _ in range(3)][-1] > 0
    with pytest.raises(ValueError, match=r"y has 3 labels for 300 rows"):
        model.with_normal(CLOUDS, y[:3])


def test_an_alarm_is_explained():
    model = EtherealDetector(0.05).fit(CLOUDS[:150] + 50).model_.with_feature_names(list("abcdef"))
    row = np.full(6, 50.0)
    row[2] = 400
    told = model.explain_normal(row)
    assert not told.is_normal
    assert told.features[0].name == "c"
    assert told.features[0].share > 0.9
    assert "c is 7.7 times its usual, 400 instead of 52" in str(told)
    assert str(model.explain_normal(np.full(6, 50.0))).startswith("normal: the score is")


def test_windows():
    windows = np.concatenate([hard_windows(32, 2, 8, seed) for seed in range(3)])
    front_end = WindowFeatures(["stats", "haar"], axes=["a", "b"])
    detector = EtherealDetector(0.1, front_end=front_end).fit(windows)
    model = detector.model_
    assert (np.where(model.predict(windows) == "normal", 1, -1) == detector.predict(windows)).all()
    small = model.drop_unused_kernels()
    assert small.novelty(windows).tolist() == model.novelty(windows).tolist()
    assert "b.mean" in str(model.explain_normal(windows[0] * 0 + np.int16([3, 9999])))


def test_bad_input():
    with pytest.raises(ValueError, match=r"X has 2 rows .* at least 10"):
        EtherealDetector().fit(CLOUDS[:2])
    with pytest.raises(ValueError, match=r"None of the 3 features of X varies"):
        EtherealDetector().fit(np.ones((20, 3)))
    with pytest.raises(ValueError, match="NaN"):
        EtherealDetector().fit(np.where(CLOUDS > 5, np.nan, CLOUDS))
    with pytest.raises(ValueError, match=r"groups has the shape \(3,\) for 300 rows"):
        EtherealDetector().fit(CLOUDS, groups=[1, 2, 3])
    with pytest.raises(ValueError, match="All rows are of the group 1"):
        EtherealDetector().fit(CLOUDS, groups=np.ones(300))
    with pytest.raises(ValueError, match="false_alarms is 2"):
        EtherealDetector(2).fit(CLOUDS)
    with pytest.raises(TypeError, match="n_centres is 'many'"):
        EtherealDetector(n_centres="many").fit(CLOUDS)
    with pytest.raises(ValueError, match="model does not know what is normal"):
        EtherealClassifier(epochs=1).fit(CLOUDS, np.arange(300) % 2).model_.explain_normal(CLOUDS[0])
    ends = np.random.default_rng(0).choice([-32768, 32767], (50, 4))
    model_of_ends = EtherealDetector(0.05).fit(ends).model_
    assert model_of_ends.normal.score(ends).tolist() == [score(model_of_ends.normal, row) for row in ends]


def test_what_a_detector_is_not_is_refused_by_name():
    model = EtherealDetector().fit(MIXED).model_
    refusals = {
        "predict_proba": lambda: model.predict_proba(CLOUDS),
        "rules": model.rules,
        "an explanation": lambda: model.explain(CLOUDS[0]),
        "the compact code": model.to_bytes,
        "with_unknown": lambda: model.with_unknown(3),
    }
    for name, use in refusals.items():
        with pytest.raises(NotSupported, match=f"^{name} does not take output of the kind 'normal'"):
            use()
    with pytest.raises(ValueError, match="tells what is normal already"):
        model.with_normal(CLOUDS)
    with pytest.raises(ValueError, match="must know what is"):
        model._with(normal=None)
