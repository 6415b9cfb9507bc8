"""Training of clauses over patches: the reference, images and frames, what a classifier refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from ethereal import Booleanizer, EtherealClassifier, _native
from ethereal.model import Model, Patch
from reference_training import PatchMachine

SHAPES = [
    (Patch((7,), (3,), 2), {"n_clauses": 5, "T": 3, "s": 2.5}),
    (Patch((70,), (4,), 1), {"n_clauses": 3, "T": 2, "s": 3.0, "literal_budget": 2}),
    (Patch((5, 6), (2, 3), 1, places=True), {"n_clauses": 4, "T": 4, "s": 2.0, "literal_budget": 3}),
    (Patch((4, 4), (4, 4), 3, places=True), {"n_clauses": 3, "T": 3, "s": 4.0}),
    (Patch((12, 11), (5, 2), 2), {"n_clauses": 3, "T": 5, "s": 1.0, "boost_true_positive": False}),
]


@pytest.mark.parametrize(("patch", "settings"), SHAPES, ids=str)
def test_automata_equal_those_of_the_reference(patch, settings):
    rng = np.random.default_rng(0)
    X, y = rng.random((14, patch.n_row_booleans)) < 0.5, rng.integers(3, size=14).astype(np.int32)
    machine = PatchMachine(patch, 3, **settings, seed=7)
    native = {"boost_true_positive": True, "literal_budget": 2**31 - 1, "n_booleans": patch.n_booleans}
    for_all = {**native, **settings, "n_classes": 3, "seed": 7, "patch": patch.native()}
    trainers = {isa: _native.Trainer(**for_all) for isa in _native.available_isas()}
    packed = _native.pack_literals(X)
    for _ in range(4):
        machine.epoch(X.tolist(), y.tolist())
        for n_threads, (isa, trainer) in enumerate(trainers.items(), 1):
            _native.set_isa(isa)
            trainer.epoch(packed, y, None, n_threads)
            np.testing.assert_array_equal(trainer.states, machine.states, isa)
    _native.set_isa("auto")
    assert (np.array(machine.states) >= 128).any()


def bars(n: int, seed: int, size: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Return images of noise with a short bar somewhere, which stands in class 1 and lies in class 0."""
    rng = np.random.default_rng(seed)
    images, y = (rng.random((n, size, size)) < 0.1).astype(np.uint8), rng.integers(2, size=n)
    for image, label in zip(images, y, strict=True):
        a, b = rng.integers(size - 4), rng.integers(size)
        image[(slice(a, a + 4), b) if label else (b, slice(a, a + 4))] = 1
    return images, y


def test_a_pattern_anywhere_is_found_where_whole_rows_show_nothing():
    X, y = bars(600, 0)
    test_X, test_y = bars(300, 1)
    clf = EtherealClassifier(20, T=8, s=5.0, patch=(4, 4), places=False, epochs=20, random_state=1).fit(X, y)
    flat = EtherealClassifier(20, T=8, s=5.0, epochs=20, random_state=1).fit(X.reshape(len(X), -1), y)
    assert clf.score(test_X, test_y) > 0.9 > 0.75 > flat.score(test_X.reshape(len(test_X), -1), test_y)
    assert clf.plain_model_.clauses.lengths.mean() <= 16


def frames(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return frames of two channels. A step up in channel 1 comes 3 frames after one in 0, or 3 before."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 40, 2)).astype(np.float32), rng.integers(2, size=n)
    at = rng.integers(4, 36, size=n)
    X[np.arange(n), at, 0] += 6
    X[np.arange(n), at + np.where(y == 1, 3, -3), 1] += 6
    return X, y


def test_frames_get_thresholds_that_all_of_them_share(tmp_path):
    X, y = frames(500, 0)
    clf = EtherealClassifier(
        10, T=6, s=3.0, patch=(7,), epochs=15, booleanizer=Booleanizer(thresholds=[4.0]), random_state=0
    ).fit(X, y)
    test_X, test_y = frames(300, 1)
    assert clf.score(test_X, test_y) > 0.95
    model = clf.model_
    assert model.patch == Patch((40,), (7,), 2)
    assert np.unique(model.feature_map.thresholds).tolist() == [4.0]
    flat = test_X.reshape(len(test_X), -1)
    assert np.array_equal(model.predict(test_X), model.predict(flat))
    booleans = flat > 4.0
    assert np.array_equal(model.class_sums(test_X), model.clauses.fires(booleans) @ model.weights)
    model.save(tmp_path / "m.etm")
    assert Model.load(tmp_path / "m.etm") == model
    assert pickle.loads(pickle.dumps(clf)).model_ == model
    assert "somewhere: " in str(model.explain(test_X[0]))


def test_threads_and_instruction_sets_give_the_same_bits():
    X, y = bars(200, 3)
    machines = []
    for isa in _native.available_isas():
        _native.set_isa(isa)
        for n_jobs in (1, 2):
            clf = EtherealClassifier(6, T=4, s=3.0, patch=(3, 3), epochs=3, random_state=5, n_jobs=n_jobs)
            machines.append(clf.fit(X, y).ta_states_)
    _native.set_isa("auto")
    assert all(np.array_equal(states, machines[0]) for states in machines)


def test_a_checkpoint_continues_to_the_same_bits(tmp_path):
    X, y = bars(100, 4)
    clf = EtherealClassifier(6, T=4, patch=(3, 3), random_state=5, keep="best")
    whole = clf.set_params(epochs=4).fit(X, y)
    clf.set_params(epochs=2).fit(X, y, checkpoint=tmp_path)
    resumed = clf.set_params(epochs=4).fit(X, y, checkpoint=tmp_path, resume=True)
    assert np.array_equal(whole.ta_states_, resumed.ta_states_)
    assert whole.model_ == resumed.model_


X = np.zeros((6, 5, 4))
X[:3] = 1
Y = [0, 0, 0, 1, 1, 1]
REFUSED = {
    "larger": ({"patch": (6, 2)}, X, "larger than a row of"),
    "axes": ({"patch": (2, 2, 2)}, X, "patch is"),
    "text": ({"patch": "8"}, X, "patch is '8'"),
    "zero": ({"patch": (0,)}, X, r"patch\[0\]"),
    "flat": ({"patch": (2, 2)}, X.reshape(6, -1), "rows x height x width"),
    "unequal": ({"patch": (2,)}, [np.zeros((n, 2)) for n in (3, 4, 5, 3, 3, 3)], "unequal size"),
    "empty": ({"patch": (2,)}, np.zeros((6, 0, 2)), "rows are empty"),
    "missing": ({"patch": (2, 2)}, np.where(X == 1, np.nan, X), "NaN"),
    "shorten": ({"patch": (2, 2), "shorten": True}, X, "shorten=True"),
    "noise": ({"patch": (2, 2), "noise_clauses": 5}, X, "noise_clauses is 5"),
    "random": ({"patch": (2, 2), "init": "random"}, X, "literal_budget is 16"),
    "constant": ({"patch": (2, 2)}, X * 0 + 3, "constant"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused(case):
    parameters, rows, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        EtherealClassifier(4, epochs=1, **parameters).fit(rows, Y)


def test_places_must_be_yes_or_no():
    with pytest.raises(TypeError, match="places is 1"):
        EtherealClassifier(patch=(2, 2), places=1).check_parameters()


def test_rows_of_another_size_are_refused_in_prediction():
    clf = EtherealClassifier(4, epochs=1, patch=(2, 2), random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="5 x 4 cells"):
        clf.predict(X[:, :4])
    with pytest.raises(ValueError, match="rows x 5 x 4"):
        clf.model_.predict(X[:, :4])


def test_a_patch_of_the_whole_row_is_the_flat_machine():
    rng = np.random.default_rng(2)
    X = rng.random((120, 3, 4)) < 0.5
    y = (X[:, 0, 0] & X[:, 2, 3]).astype(int)
    parameters = {"T": 5, "s": 3.0, "epochs": 10, "random_state": 0, "literal_budget": 16}
    clf = EtherealClassifier(10, patch=(3, 4), places=False, **parameters).fit(X, y)
    assert clf.model_.patch.n_positions == 1
    flat = EtherealClassifier(10, noise_clauses=0, **parameters).fit(X.reshape(120, -1), y)
    assert abs(clf.score(X, y) - flat.score(X.reshape(120, -1), y)) < 0.05
