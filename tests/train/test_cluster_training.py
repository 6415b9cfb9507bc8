"""Training on a real Dask cluster with two workers: the same bits as alone, also when a worker is killed."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest
from sklearn.datasets import load_digits

import cluster_tools
from cluster_tools import make_classifier as make
from ethereal import cluster
from ethereal.train import fitting as cluster_training
from ethereal.train.fitting import Fitting, _class_ranges
from trainers import make_rows, make_trainer

X, Y = load_digits(return_X_y=True)


def same(a, b, folder):
    np.testing.assert_array_equal(a.ta_states_, b.ta_states_)
    assert a.model_.to_bytes("compact") == b.model_.to_bytes("compact")
    files = [folder / "a.etm", folder / "b.etm"]
    for clf, file in zip((a, b), files, strict=True):
        clf.model_.save(file)
    assert files[0].read_bytes() == files[1].read_bytes()
    without_times = [[{k: v for k, v in r.items() if k != "seconds"} for r in c.history_] for c in (a, b)]
    assert without_times[0] == without_times[1]


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"exclude_every": None, "validation_fraction": 0.0},
        {"exclude_every": 2, "class_weight": "balanced", "accuracy_tolerance": 0.02, "literal_budget": 6},
        {"epochs": 1, "boost_true_positive": False},
        {"keep_states": True},
        {"epochs": 8, "patience": 1},
        {"noise_clauses": "auto", "refit_votes": True},
    ],
    ids=str,
)
def test_the_same_bits(dask_address, tmp_path, parameters):
    arguments = {"eval_set": (X[::3], Y[::3])}
    alone = make(**parameters).fit(X, Y, **arguments)
    with cluster.connect(dask_address):
        together = make(**parameters).fit(X, Y, **arguments)
    same(alone, together, tmp_path)
    if alone.keep_states:
        np.testing.assert_array_equal(alone.best_ta_states_, together.best_ta_states_)
    assert all(r["seconds"] > 0 for r in together.history_)


def _shared(includes):
    half = (includes.shape[1] + 1) // 2
    both = includes[:, :half].any(axis=1) & includes[:, half:].any(axis=1)
    return includes & both[:, None]


def _shake(automata, record):
    if record["epoch"] == 2:
        automata.states = np.maximum(automata.states, 3) - np.uint8(3)
    return record["epoch"] == 4


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({}, marks=pytest.mark.slow, id="rule"),
        pytest.param({"on_epoch": _shake}, id="rule and hook"),
    ],
)
def test_rules_and_hooks_of_ones_own(dask_address, tmp_path, arguments):
    alone = make(5, exclude=_shared, keep_states=True).fit(X, Y, **arguments)
    with cluster.connect(dask_address):
        together = make(5, exclude=_shared, keep_states=True).fit(X, Y, **arguments)
        plain = make(5, keep_states=True).fit(X, Y)
    same(alone, together, tmp_path)
    np.testing.assert_array_equal(alone.best_ta_states_, together.best_ta_states_)
    assert np.array_equal(plain.ta_states_, together.ta_states_) == (not arguments)


def test_classes_train_elsewhere(dask_address, monkeypatch):
    """Under a client nothing is trained here; without one nothing is trained there."""
    used = []
    rounds = cluster_training._rounds_ahead
    monkeypatch.setattr(cluster_training, "_rounds_ahead", lambda *args: used.append(1) or rounds(*args))
    make(2).fit(X, Y)
    assert not used
    with cluster.connect(dask_address), monkeypatch.context() as patch:
        patch.setattr("ethereal.train.automata.Training.epoch", None)
        make(2).fit(X, Y)
    assert used


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
def test_killed_workers_change_nothing(dask_address, tmp_path, monkeypatch):
    """First one worker dies in the middle, then both at once, so that nobody has the rows any more."""
    monkeypatch.setattr(cluster_training, "_TASK_SECONDS", 0.05)
    alone = make(40, n_clauses=60).fit(X, Y)
    with cluster.connect(dask_address) as workers:
        take, taken = Fitting._take, []

        def kill_and_take(self, step):
            taken.append(step)
            if len(taken) in (5, 15):
                cluster_tools.kill_workers(workers, 1 if len(taken) == 5 else 2)
            take(self, step)

        monkeypatch.setattr(Fitting, "_take", kill_and_take)
        together = make(40, n_clauses=60).fit(X, Y)
    assert len(taken) == 40
    same(alone, together, tmp_path)


def test_checkpoints_are_the_same(dask_address, tmp_path, monkeypatch):
    """Begun on a cluster, gone on with alone, finished on the cluster."""
    monkeypatch.setattr("ethereal.train.checkpoint._SECONDS_BETWEEN", 0.0)
    kept = {"checkpoint": tmp_path / "kept", "resume": True}
    with cluster.connect(dask_address):
        make(3).fit(X, Y, **kept)
    make(5).fit(X, Y, **kept)
    with cluster.connect(dask_address):
        together = make(9).fit(X, Y, **kept)
    same(make(9).fit(X, Y), together, tmp_path)


def test_interrupt_keeps_whole_epochs(dask_address, tmp_path, monkeypatch):
    with cluster.connect(dask_address):
        take, taken = Fitting._take, []

        def interrupt(self, step):
            take(self, step)
            taken.append(step)
            if len(taken) == 1:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(Fitting, "_take", interrupt)
            clf = make(50)
            with pytest.raises(KeyboardInterrupt):
                clf.fit(X, Y)
        assert clf.history_[-1]["epoch"] == clf._training.epochs_done == 1
        assert clf.model_.n_includes > 0
        make(2).fit(X, Y)  # the cluster is free again


def test_fit_inside_a_task_stays_there(dask_address):
    with cluster.connect(dask_address) as workers:
        there = workers.submit(cluster_tools.fit_here, X, Y).result()
    assert there == make(2).fit(X, Y).model_


def test_two_trainings_at_once(dask_address, tmp_path):
    fitted = {}
    with cluster.connect(dask_address):
        threads = [
            threading.Thread(target=lambda s=s: fitted.update({s: make(4, random_state=s).fit(X, Y)}))
            for s in (1, 2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for s in (1, 2):
        same(make(4, random_state=s).fit(X, Y), fitted[s], tmp_path)


def test_a_trainer_of_some_classes_equals_the_whole():
    rows, labels = make_rows(200, 20, 5)
    words = cluster_training._native.pack_literals(rows)
    weights = np.random.default_rng(1).uniform(0, 2, 200)
    whole = make_trainer(n_classes=5, n_booleans=20)
    parts = {span: make_trainer(n_classes=5, n_booleans=20, only=span) for span in [(0, 1), (1, 4), (4, 5)]}
    for visits in (None, weights):
        for trainer in (whole, *parts.values()):
            trainer.epoch(words, labels, visits, 1)
            trainer.exclude()
    for span, part in parts.items():
        np.testing.assert_array_equal(whole.states[slice(*span)], part.states)
    for wrong in [(2, 2), (3, 2), (0, 6)]:
        with pytest.raises(ValueError, match="out of range"):
            make_trainer(n_classes=5, only=wrong)


@pytest.mark.parametrize("n_classes", [2, 3, 10, 100])
@pytest.mark.parametrize("wanted", [0, 1, 6, 300])
def test_groups_cover_the_classes(n_classes, wanted):
    for counts in (
        np.ones(n_classes, int),
        np.arange(n_classes) ** 3,
        np.eye(1, n_classes, dtype=int)[0] * 99,
    ):
        groups = _class_ranges(np.repeat(np.arange(n_classes, dtype=np.int32), counts), n_classes, wanted)
        assert [c for group in groups for c in range(*group)] == list(range(n_classes))
        assert len(groups) <= max(1, min(wanted, n_classes))
