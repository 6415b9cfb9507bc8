"""Models that carry their front end: training, files, copies, rules, and who refuses them."""

import copy
import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from ethereal import EtherealClassifier, Model, WindowFeatures, compress, device, export, prune
from ethereal.features.front_end import FrontEnd
from ethereal.model import file
from ethereal.model.file import ModelFileError, from_file_bytes, to_file_bytes
from ethereal.model.needs import NotSupported
from ethereal_study.micropython import measure_micropython
from windows import everything, hard_windows, model_of

WINDOWS = hard_windows(64, 3)


def shaking(n=240, seed=0):
    """Windows of three kinds of movement, in g."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    t = np.arange(64) / 50
    rates = np.array([1.0, 2.5, 5.0])[y][:, None, None]
    waves = np.sin(2 * np.pi * (t[None, :, None] * rates + rng.random((n, 1, 3))))
    return waves * rng.uniform(0.2, 0.9, (n, 1, 3)) + rng.normal(0, 0.05, (n, 64, 3)), np.array(
        ["slow", "walk", "run"]
    )[y]


@pytest.fixture(scope="module")
def trained():
    X, y = shaking()
    front_end = WindowFeatures(["stats", "haar", "bands"], rate=50, scale=1000, units="g", hop=32)
    return EtherealClassifier(20, epochs=10, front_end=front_end, random_state=1).fit(X, y), X, y


@pytest.fixture(scope="module")
def model():
    return model_of(everything(3, rate=50.0, scale=1000, units="g").fit(WINDOWS), WINDOWS)


def test_a_classifier_learns_from_windows(trained):
    clf, X, y = trained
    other, labels = shaking(seed=1)
    assert clf.score(other, labels) > 0.9
    assert np.array_equal(clf.model_.predict(other), clf.predict(other))
    assert np.array_equal(clf.model_.predict(clf.front_end_.transform(other)), clf.predict(other))
    assert clf.model_.feature_names == clf.front_end_.front_end_.names
    assert clf.model_.front_end.hop == 32
    assert len(clf.feature_importances_) == len(clf.model_.feature_names)
    again = clone(clf).fit(X, y)
    assert again.model_ == clf.model_
    assert pickle.loads(pickle.dumps(clf)).predict(other).tolist() == clf.predict(other).tolist()


def test_training_in_batches_and_with_other_rows_of_windows(trained):
    _, X, y = trained
    extractor = WindowFeatures(["std", "haar"], scale=1000)
    clf = EtherealClassifier(
        10, epochs=3, front_end=extractor, noise_clauses=0, refit_votes=False, random_state=0
    )
    clf.fit(X, y, eval_set=(X[:60], y[:60]), validation_set=(X[60:], y[60:]))
    assert "eval_accuracy" in clf.history_[-1]
    stream = clone(clf)
    for _ in range(3):
        stream.partial_fit(X, y, classes=np.unique(y))
    assert stream.score(X, y) > 0.6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"front_end": "std"}, "It must be a WindowFeatures or None"),
        ({"booleanizer": None}, "booleanizer is None"),
    ],
)
def test_odd_front_ends_of_a_classifier_are_refused(change, message, trained):
    _, X, y = trained
    extractor = {"front_end": WindowFeatures(scale=1000), **change}
    with pytest.raises((TypeError, ValueError), match=message):
        EtherealClassifier(10, **extractor).fit(X, y)


def test_a_model_refuses_windows_of_another_shape(model):
    with pytest.raises(ValueError, match="windows x 64 samples x 3 axes"):
        model.predict(np.zeros((2, 32, 3), "i2"))
    with pytest.raises(ValueError, match=r"5 features\. The model was trained on"):
        model.predict(np.zeros((2, 5)))


def test_copies_and_files_keep_the_front_end(model, tmp_path):
    model.save(tmp_path / "m.etm")
    copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model)), Model.load(tmp_path / "m.etm")]
    for one in copies:
        assert one == model
        assert one.front_end == model.front_end
        assert np.array_equal(one.class_sums(WINDOWS), model.class_sums(WINDOWS))
    other = model._with(front_end=FrontEnd(("bx", "by", "bz"), 64, tuple(
        (k, s.replace("a", "b")) for k, s in model.front_end.groups)))  # fmt: skip
    assert other != model


def test_only_files_with_a_front_end_have_the_new_version(model):
    plain = Model([0], [0, 1], [[1]], n_booleans=1, classes=["x"])
    assert b'format_version\\":2' in to_file_bytes(plain)
    assert b'format_version\\":3' in to_file_bytes(model)


HOSTILE = {
    "window": [2**40, -1, 0, "64", None, 64.0, True],
    "axes": [[], ["ax"] * 3, ["ax"] * 10**5, ["a*b", "ay", "az"], [1, 2, 3], "axes", None],
    "groups": [[], [["std"]], [["std", "ax"]] * 10**5, [["fft", "ax"]], [["std", 5]], "std", None, [5]],
    "hop": [-1, 65, 2**40, "x"],
    "rate": [0, -5, "x", 1e300],
    "scale": [[1, 2], [0, 0, 0], ["x", 1, 1], "x"],
    "units": [[1, 2, 3], ["g"], "g"],
}


@pytest.mark.parametrize(("field", "value"), [(k, v) for k, values in HOSTILE.items() for v in values])
def test_hostile_front_ends_in_files_are_refused(model, field, value, monkeypatch):
    record = model.front_end.as_dict() | {field: value}
    monkeypatch.setattr(FrontEnd, "as_dict", lambda self: record)
    data = to_file_bytes(model)
    with pytest.raises(ModelFileError, match=r"not valid|more than may be read"):
        from_file_bytes(data)


@pytest.mark.parametrize("record", [None, [], 5, {}, {"axes": ["ax"]}])
def test_records_that_are_not_a_front_end_are_refused(model, record, monkeypatch):
    monkeypatch.setattr(FrontEnd, "as_dict", lambda self: record)
    with pytest.raises(ModelFileError):
        from_file_bytes(to_file_bytes(model))


def test_a_front_end_must_give_what_the_booleanizer_reads(model):
    with pytest.raises(ValueError, match=r"the front end gives 1 features, but the booleanizer reads"):
        model._with(front_end=FrontEnd(("ax", "ay", "az"), 64, (("std", "ax"),)))
    with pytest.raises(TypeError, match=r"front_end_.*WindowFeatures"):
        Model(
            [0],
            [0, 1],
            [[1]],
            n_booleans=1,
            classes=["x"],
            front_end=model.front_end.axes and 5,
            feature_names=["a"],
        )


def test_narrow_models_vote_alike_with_fewer_kernels(trained):
    clf, X, _ = trained
    pruned = prune(clf.plain_model_, X, shaking()[1], max_loss=0.05).model
    narrow = pruned.drop_unused_kernels()
    assert len(narrow.front_end.groups) < len(pruned.front_end.groups)
    assert np.array_equal(narrow.class_sums(X), pruned.class_sums(X))
    assert narrow.describe() == pruned.describe()
    assert narrow.typical_rows is not None
    assert np.allclose(narrow.clause_outputs(narrow.typical_rows, packed=True),
                       pruned.clause_outputs(pruned.typical_rows, packed=True))  # fmt: skip
    plain = Model([0], [0, 1], [[1]], n_booleans=1, classes=["x"])
    assert plain.drop_unused_kernels() is plain


def test_rules_and_explanations_speak_in_units(trained):
    clf, X, _ = trained
    text = clf.model_.describe()
    assert " Hz > " in text
    assert " g AND " in text
    reason = str(clf.model_.explain(X[0]))
    assert reason == str(clf.model_.explain(X[:1]))
    assert reason == str(clf.model_.explain(clf.front_end_.transform(X[:1])[0]))
    assert " instead of " in reason


def test_shortening_and_joining_take_windows(trained, model):
    clf, X, _ = trained
    short = compress.shorten(clf.plain_model_, X)
    assert np.array_equal(short.class_sums(X), clf.plain_model_.class_sums(X))
    assert compress.join([short, short]).front_end == short.front_end
    other = model._with(front_end=FrontEnd.from_dict(model.front_end.as_dict() | {"hop": 8}))
    with pytest.raises(ValueError, match="another front end"):
        compress.join([model, other])


REFUSERS = {
    "the compact code": lambda m, to: m.to_bytes("compact"),
    "the REDRESS code": lambda m, to: m.to_bytes("redress"),
    "layout sliced": lambda m, to: export.c(m, to / "c", layout="sliced"),
    "MicroPython": lambda m, to: export.micropython(m, to / "mpy", layout="redress"),
    ".*(REDRESS|MicroPython)": lambda m, to: measure_micropython(m, WINDOWS, object()),
}


@pytest.mark.parametrize("consumer", REFUSERS)
def test_who_does_not_take_windows_says_so(consumer, model, tmp_path):
    with pytest.raises(NotSupported, match=rf"^{consumer}.* does not take a front end 'windows'"):
        REFUSERS[consumer](model, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_json_of_a_front_end_is_plain(model):
    assert FrontEnd.from_dict(json.loads(json.dumps(model.front_end.as_dict()))) == model.front_end
    assert b'format_version\\":3' in file.to_file_bytes(model)
    assert device is not None
