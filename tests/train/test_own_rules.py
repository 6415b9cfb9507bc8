"""A rule of one's own, a function that sees every epoch, and a start from stored automata."""

from __future__ import annotations

import functools
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris

from ethereal import EtherealClassifier
from ethereal.train.checkpoint import CheckpointError
from ethereal.train.rules import fingerprint

X, Y = load_iris(return_X_y=True)


def shared(includes):
    """The paper's rule."""
    half = (includes.shape[1] + 1) // 2
    both = includes[:, :half].any(axis=1) & includes[:, half:].any(axis=1)
    return includes & both[:, None]


def nothing(includes):
    return np.zeros_like(includes)


def make(**changes):
    settings = {"n_clauses": 21, "T": 8, "s": 3.0, "epochs": 9, "exclude_every": 2, "random_state": 5}
    return EtherealClassifier.paper(**settings | changes)


def without_times(clf):
    return [{k: v for k, v in r.items() if k != "seconds"} for r in clf.history_]


def same(a, b):
    np.testing.assert_array_equal(a.ta_states_, b.ta_states_)
    assert a.model_ == b.model_
    assert without_times(a) == without_times(b)


@pytest.mark.parametrize(
    "changes", [{}, {"literal_budget": 4}, {"init": "random"}, {"validation_fraction": 0}]
)
def test_the_papers_rule_from_outside_gives_the_same_bits(changes):
    digits = load_digits(return_X_y=True)
    built_in = make(**changes).fit(*digits, eval_set=(digits[0][:50], digits[1][:50]))
    ruled = make(exclude=shared, **changes).fit(*digits, eval_set=(digits[0][:50], digits[1][:50]))
    same(built_in, ruled)
    assert [r["epoch"] for r in ruled.history_ if r["phase"] == "exclude"] == [2, 4, 6, 8]
    assert built_in.model_.provenance["parameters"]["exclude"] == "shared"
    assert ruled.model_.provenance["parameters"]["exclude"].endswith("test_own_rules.shared")
    assert "exclude" not in make(exclude_every=None).fit(X, Y).model_.provenance["parameters"]


def test_a_rule_is_resumed_and_another_one_is_refused(tmp_path):
    whole = make(exclude=shared).fit(X, Y)
    for epochs in (1, 4, 6, 9):
        clf = make(exclude=shared, epochs=epochs).fit(X, Y, checkpoint=tmp_path, resume=True)
    same(whole, clf)
    with pytest.raises(CheckpointError, match="other rows or parameters"):
        make(exclude=nothing).fit(X, Y, checkpoint=tmp_path, resume=True)


def test_a_rule_goes_through_partial_fit_clone_and_pickle():
    built_in, ruled = make(), clone(make(exclude=shared))
    for _ in range(5):
        built_in.partial_fit(X, Y, np.unique(Y))
        ruled.partial_fit(X, Y, np.unique(Y))
    np.testing.assert_array_equal(built_in.ta_states_, ruled.ta_states_)
    assert {r["phase"] for r in ruled.history_} == {"train", "exclude"}
    again = pickle.loads(pickle.dumps(ruled)).partial_fit(X, Y)
    np.testing.assert_array_equal(again.ta_states_, built_in.partial_fit(X, Y).ta_states_)


def test_a_rule_may_change_what_it_is_given_and_may_name_excluded_literals():
    def everywhere(includes):
        both = shared(includes).any(axis=1, keepdims=True)
        includes[:] = False
        return np.broadcast_to(both, includes.shape)

    same(make().fit(X, Y), make(exclude=shared).fit(X, Y))
    np.testing.assert_array_equal(make(exclude=everywhere).fit(X, Y).ta_states_, make().fit(X, Y).ta_states_)


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"exclude": "common"}, ValueError, "exclude is 'common'"),
        ({"exclude": shared, "exclude_every": None}, ValueError, "exclude_every is None"),
        ({"exclude": lambda includes: includes[0]}, ValueError, "returned bool of shape"),
        ({"exclude": lambda includes: includes * 1}, ValueError, "returned int64 of shape"),
        ({"init": "top"}, ValueError, "init is 'top'"),
        ({"init": [1, 2]}, TypeError, "init is of type list"),
        ({"init": "random", "literal_budget": 5}, ValueError, "random start includes about half"),
        ({"init": np.zeros((3, 21, 8), np.uint8)}, ValueError, "init has uint8 of shape"),
        ({"init": np.zeros((3, 21, 8))}, ValueError, "init has float64 of shape"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_rules_and_starts_that_cannot_be(changes, error, text):
    with pytest.raises(error, match=text):
        make(**changes).fit(X, Y)


def test_a_rule_that_fails_leaves_the_whole_epochs(tmp_path):
    calls = []

    def fails(includes):
        calls.append(1)
        if len(calls) == 3:
            raise RuntimeError("the third time")
        return shared(includes)

    clf = make(exclude=fails)
    with pytest.raises(RuntimeError, match="the third time"):
        clf.fit(X, Y)
    same(clf, make(epochs=6).fit(X, Y))


def test_on_epoch_sees_every_epoch_and_exclusion():
    seen = []

    def look(automata, record):
        seen.append(record)
        assert automata.clauses.lengths.sum() == record["includes"] == (automata.states >= 128).sum()
        assert automata.epochs_done == record["epoch"]

    clf = make().fit(X, Y, on_epoch=look)
    same(clf, make().fit(X, Y))
    assert [(r["epoch"], r["phase"], r["validation_accuracy"]) for r in seen] == [
        (r["epoch"], r["phase"], r["validation_accuracy"]) for r in clf.history_
    ]
    seen[0]["epoch"] = -1  # a copy
    assert clf.history_[0]["epoch"] == 1


@pytest.mark.parametrize("phase", ["train", "exclude"])
def test_on_epoch_ends_training_with_an_epoch(tmp_path, phase):
    def stop(automata, record):
        return record["phase"] == phase and record["epoch"] == 4

    ends = 4 if phase == "train" else 5
    clf = make().fit(X, Y, on_epoch=stop, checkpoint=tmp_path)
    expected = make(epochs=ends).fit(X, Y)
    np.testing.assert_array_equal(clf.ta_states_, expected.ta_states_)
    assert clf.model_ == expected.model_
    assert [r["epoch"] for r in clf.history_ if r.get("stopped")] == [ends]
    again = make().fit(X, Y, on_epoch=stop, checkpoint=tmp_path, resume=True)
    np.testing.assert_array_equal(again.ta_states_, expected.ta_states_)  # it stays ended
    beyond = make().fit(X, Y, checkpoint=tmp_path, resume=True)
    np.testing.assert_array_equal(beyond.ta_states_, make().fit(X, Y).ta_states_)


def exclude_now(automata, record):
    """The paper's rule after every second epoch, as a hook."""
    if record["phase"] == "train" and record["epoch"] % 2 == 0:
        states = automata.states
        states[shared(states >= 128)] -= 128
        automata.states = states


def test_on_epoch_sets_automata_as_the_rule_does(tmp_path):
    built_in = make().fit(X, Y)
    hooked = make(exclude_every=None).fit(X, Y, on_epoch=exclude_now)
    np.testing.assert_array_equal(built_in.ta_states_, hooked.ta_states_)
    np.testing.assert_array_equal(built_in.model_.literals, hooked.model_.literals)
    assert built_in.best_epoch_ == hooked.best_epoch_
    keys = ("epoch", "includes", "validation_accuracy")
    assert [[r[k] for k in keys] for r in built_in.history_] == [
        [r[k] for k in keys] for r in hooked.history_
    ]
    assert [r["epoch"] for r in hooked.history_ if r["phase"] == "set"] == [2, 4, 6, 8]
    changes = hooked.model_.provenance["changes"]
    assert changes == [{"after_epoch": e, "ta_states_": "assigned"} for e in (2, 4, 6, 8)]
    for epochs in (1, 4, 7, 9):
        arguments = {"checkpoint": tmp_path, "resume": True, "on_epoch": exclude_now}
        clf = make(exclude_every=None, epochs=epochs).fit(X, Y, **arguments)
    same(hooked, clf)


def test_on_epoch_sets_automata_after_an_exclusion():
    def lower(automata, record):
        if record["phase"] == "exclude":
            automata.states = np.maximum(automata.states, 1) - np.uint8(1)

    clf = make().fit(X, Y, on_epoch=lower)
    assert [r["phase"] for r in clf.history_[:4]] == ["train", "train", "exclude", "set"]
    assert not np.array_equal(clf.ta_states_, make().fit(X, Y).ta_states_)


def test_a_hook_that_fails_or_answers_nonsense_leaves_the_whole_epochs(tmp_path):
    def fails(automata, record):
        if record["epoch"] == 4:
            raise KeyError("four")

    clf = make()
    with pytest.raises(KeyError, match="four"):
        clf.fit(X, Y, on_epoch=fails, checkpoint=tmp_path)
    assert not list(tmp_path.iterdir())  # the hook has not seen the fourth epoch through
    np.testing.assert_array_equal(clf.ta_states_, make(epochs=4).fit(X, Y).ta_states_)
    with pytest.raises(TypeError, match="on_epoch returned 3"):
        make().fit(X, Y, on_epoch=lambda automata, record: 3)
    with pytest.raises(TypeError, match="on_epoch is 'no'"):
        make().fit(X, Y, on_epoch="no")

    def wrong(automata, record):
        automata.states = automata.states[:1]

    with pytest.raises(ValueError, match=r"states.*uint8"):
        make().fit(X, Y, on_epoch=wrong)


def test_a_warm_start_begins_where_the_automata_are(tmp_path):
    first = make(exclude_every=None, validation_fraction=0).fit(X, Y)
    np.save(tmp_path / "states.npy", first.ta_states_)
    stored = np.load(tmp_path / "states.npy")
    seen = []
    warm = make(exclude_every=None, validation_fraction=0, init=stored, epochs=3)
    warm.fit(X, Y, on_epoch=lambda automata, record: seen.append(record["includes"]), checkpoint=tmp_path)
    cold = make(exclude_every=None, validation_fraction=0, epochs=3).fit(X, Y)
    assert abs(seen[0] - first.history_[-1]["includes"]) < abs(seen[0] - cold.history_[0]["includes"])
    assert warm.model_.provenance["parameters"]["init"] == "given"
    np.testing.assert_array_equal(stored, first.ta_states_)
    longer = clone(warm).set_params(epochs=4).fit(X, Y, checkpoint=tmp_path, resume=True)
    np.testing.assert_array_equal(clone(warm).set_params(epochs=4).fit(X, Y).ta_states_, longer.ta_states_)
    with pytest.raises(CheckpointError):
        make(exclude_every=None, validation_fraction=0, init=stored // 2, epochs=3).fit(
            X, Y, checkpoint=tmp_path, resume=True
        )


def test_a_start_at_random_is_recorded_and_cannot_change():
    a, b = (make(init="random", n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    same(a, b)
    assert not np.array_equal(a.ta_states_, make().fit(X, Y).ta_states_)
    assert a.model_.provenance["parameters"]["init"] == "random"
    clf = make(init="random").partial_fit(X, Y, np.unique(Y))
    with pytest.raises(ValueError, match=r"init.*'middle'.*'random'"):
        clf.set_params(init="middle").partial_fit(X, Y)


def test_the_fingerprint_of_a_rule_is_the_same_in_another_process():
    code = """
from ethereal.train.rules import fingerprint
def make(share, name):
    def rule(includes, least=3):
        kinds = {"a", "b", "c", "d"}
        return includes & (share > 0.5) if name in {"a", "b", "c", "d", "e"} else [k for k in kinds]
    return rule
print(fingerprint(make(0.3, "a")), fingerprint(make(0.3, "a")) == fingerprint(make(0.4, "a")))
"""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(outputs) == 1
    assert outputs.pop().endswith("False\n")
    assert fingerprint(shared) != fingerprint(nothing)
    parts = [functools.partial(rule, least=n) for rule, n in ((shared, 1), (shared, 2), (nothing, 1))]
    assert len({fingerprint(part) for part in parts}) == 3
    with pytest.raises(ValueError, match="cannot be stored"):
        fingerprint(open(os.devnull))  # noqa: SIM115
