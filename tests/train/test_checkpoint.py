"""Training that is interrupted and goes on: the same bits as in one piece, and no half file."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import load_iris

from ethereal import EtherealClassifier
from ethereal.train.checkpoint import CheckpointError, fit_or_go_on, until_done

X, Y = load_iris(return_X_y=True)


def make(epochs=12, **parameters):
    defaults = {"n_clauses": 20, "T": 8, "s": 3.0, "random_state": 5, "accuracy_tolerance": 0.02}
    return EtherealClassifier.paper(epochs=epochs, **defaults | parameters)


def same(a, b):
    np.testing.assert_array_equal(a.ta_states_, b.ta_states_)
    assert a.model_ == b.model_
    keys = ("epoch", "phase", "includes", "validation_accuracy")
    assert [[r[k] for k in keys] for r in a.history_] == [[r[k] for k in keys] for r in b.history_]


@pytest.mark.parametrize("fraction", [0.0, 0.2])
def test_going_on_equals_one_piece(tmp_path, fraction):
    whole = make(12, validation_fraction=fraction).fit(X, Y)
    for epochs in (1, 5, 12):
        clf = make(epochs, validation_fraction=fraction).fit(X, Y, checkpoint=tmp_path, resume=True)
    same(whole, clf)


def test_without_resume_it_starts_again(tmp_path):
    make(3).fit(X, Y, checkpoint=tmp_path)
    clf = make(2).fit(X, Y, checkpoint=tmp_path)
    assert clf.history_[-1]["epoch"] == 2


@pytest.mark.parametrize("resume", [False, True])
def test_another_training_is_not_written_over(tmp_path, resume):
    first = make(4).fit(X, Y, checkpoint=tmp_path)
    (path,) = tmp_path.iterdir()
    before = path.read_bytes()
    for other, step in (({"s": 8.0}, 1), ({"keep_states": True}, 1), ({}, -1)):
        with pytest.raises(CheckpointError, match="other rows or parameters") as refused:
            make(4, **other).fit(X[::step], Y[::step], checkpoint=tmp_path, resume=resume)
        assert str(tmp_path) in str(refused.value)
        assert "another folder" in str(refused.value)
        assert "resume=True" in str(refused.value)
    path.write_bytes(before[:-1])
    with pytest.raises(CheckpointError, match="damaged"):
        make(4).fit(X, Y, checkpoint=tmp_path, resume=resume)
    path.write_bytes(before)
    same(first, make(4).fit(X, Y, checkpoint=tmp_path, resume=True))


def test_the_same_training_from_the_start_loses_no_epochs(tmp_path):
    make(6).fit(X, Y, checkpoint=tmp_path)
    (path,) = tmp_path.iterdir()
    before = path.read_bytes()
    make(3).fit(X, Y, checkpoint=tmp_path)
    assert path.read_bytes() == before
    make(7).fit(X, Y, checkpoint=tmp_path)
    assert path.read_bytes() != before


def test_fewer_epochs_than_the_checkpoint_has_are_refused(tmp_path):
    make(6).fit(X, Y, checkpoint=tmp_path)
    with pytest.raises(CheckpointError, match=r"training.*\b6\b.*\b5\b") as refused:
        make(5).fit(X, Y, checkpoint=tmp_path, resume=True)
    assert str(tmp_path) in str(refused.value)


def test_the_chosen_epoch_survives(tmp_path):
    whole = make(25, keep_states=True).fit(X, Y)
    for epochs in (1, 5, 24, 25):
        clf = make(epochs, keep_states=True).fit(X, Y, checkpoint=tmp_path, resume=True)
    assert clf.best_epoch_ == whole.best_epoch_ < 25
    assert clf.model_.provenance == whole.model_.provenance
    assert clf.model_.temperature == whole.model_.temperature
    np.testing.assert_array_equal(clf.best_ta_states_, whole.best_ta_states_)
    assert [r["kept"] for r in clf.history_] == [r["kept"] for r in whole.history_]


def test_finished_training_is_only_read(tmp_path):
    first = make(4).fit(X, Y, checkpoint=tmp_path)
    again = make(4).fit(X, Y, checkpoint=tmp_path, resume=True)
    same(first, again)


@pytest.mark.parametrize("other", [{"T": 9}, {"random_state": 6}, {"exclude_every": 2}, {"s": 4.0}])
def test_other_parameters_are_refused(tmp_path, other):
    make(2).fit(X, Y, checkpoint=tmp_path)
    with pytest.raises(CheckpointError, match="other rows or parameters"):
        make(2, **other).fit(X, Y, checkpoint=tmp_path, resume=True)


def test_other_rows_are_refused(tmp_path):
    make(2).fit(X, Y, checkpoint=tmp_path)
    with pytest.raises(CheckpointError, match="other rows or parameters"):
        make(2).fit(X[::-1], Y[::-1], checkpoint=tmp_path, resume=True)
    with pytest.raises(ValueError, match="A checkpoint needs a whole number"):
        make(2, random_state=None).fit(X, Y, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="resume=True"):
        make(2).fit(X, Y, resume=True)


def test_damaged_files_are_refused(tmp_path):
    make(2).fit(X, Y, checkpoint=tmp_path)
    (path,) = tmp_path.iterdir()
    data = path.read_bytes()
    rng = random.Random(0)
    for _ in range(60):
        at = rng.randrange(len(data))
        path.write_bytes(data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :])
        with pytest.raises(CheckpointError):
            make(3).fit(X, Y, checkpoint=tmp_path, resume=True)
        path.write_bytes(data[:at])
        with pytest.raises(CheckpointError):
            make(3).fit(X, Y, checkpoint=tmp_path, resume=True)


def test_commands_go_on_or_start_again(tmp_path):
    """What train, run and study do: go on from the same training, start again from any other."""
    whole = make(6).fit(X, Y)
    make(4).fit(X, Y, checkpoint=tmp_path)
    clf = make(6)
    fit_or_go_on(clf, X, Y, tmp_path)
    same(whole, clf)
    (tmp_path / "checkpoint.safetensors").unlink()
    begun = make(4).fit(X, Y, checkpoint=tmp_path).history_
    clf = make(6)
    fit_or_go_on(clf, X, Y, tmp_path)
    assert [r["seconds"] for r in clf.history_[: len(begun)]] == [r["seconds"] for r in begun]  # not again
    (path,) = tmp_path.iterdir()
    for content in (path.read_bytes()[:-1], b""):
        path.write_bytes(content)
        clf = make(6)
        fit_or_go_on(clf, X, Y, tmp_path)
        same(whole, clf)
    fewer = make(3)  # a longer training that was killed is no beginning of a shorter one
    fit_or_go_on(fewer, X, Y, tmp_path)
    same(make(3).fit(X, Y), fewer)
    other = make(6, T=9)
    fit_or_go_on(other, X, Y, tmp_path)
    same(make(6, T=9).fit(X, Y), other)


def test_checkpoints_go_when_the_outcome_is_kept(tmp_path):
    with until_done(tmp_path / "kept") as folder:
        make(1).fit(X, Y, checkpoint=folder)
    assert not folder.exists()
    make(1).fit(X, Y, checkpoint=folder)
    with pytest.raises(RuntimeError), until_done(folder):
        raise RuntimeError("no room for the outcome")
    assert folder.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
def test_killed_training_goes_on(tmp_path):
    code = f"""
import sys
sys.path[:0] = {sys.path!r}
import ethereal.train.checkpoint
ethereal.train.checkpoint._SECONDS_BETWEEN = 0.0
from test_checkpoint import X, Y, make
make(100000).fit(X, Y, checkpoint={str(tmp_path / "kept")!r}, resume=True)
"""
    rng = random.Random(1)
    for _ in range(2):
        process = subprocess.Popen([sys.executable, "-c", code])
        start = time.monotonic()
        while not (tmp_path / "kept").exists() and time.monotonic() - start < 60:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.2, 0.8))
        process.send_signal(signal.SIGKILL)
        process.wait()
    with pytest.raises(CheckpointError, match="holds a training of") as refused:
        make(1).fit(X, Y, checkpoint=tmp_path / "kept", resume=True)
    done = int(re.search(r"training of (\d+) epochs", str(refused.value))[1])
    assert done > 1
    probe = make(done).fit(X, Y, checkpoint=tmp_path / "kept", resume=True)
    same(make(done).fit(X, Y), probe)
