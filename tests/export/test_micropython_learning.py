"""MicroPython packages that learn: the host's bytes and sums after every call."""

import json
import types
import zlib

import numpy as np
import pytest

from ethereal import export
from ethereal.adapt.learning import RefusedState, State
from ethereal.export.mpy import learning_of
from learning_calls import NAMES, draw_calls
from random_models import random_model

KINDS = {
    "votes": {},
    "bias": {"learn": "bias", "guard": False},
    "new class": {"classes": 1, "anchors": 10, "guard": False},
}

# What the board does. It runs in MicroPython and in this interpreter, with the package as `m`.
BOARD = """
def damaged(data, how):
    if how % 4 < 2:
        return data
    return data[:-1] if how % 4 == 2 else bytes([data[0] ^ 1]) + data[1:]

def one(m, rows, saved, name, a, b, c):
    labels = m.learner.labels
    if name == "learn" and b < len(labels):
        return m.learn(rows[a], labels[b])
    if name == "last" and b < len(labels):
        m.predict(rows[a])
        return m.learn_last(labels[b])
    if name == "adapt":
        return m.adapt()
    if name == "step":
        return m.adapt_step()
    if name == "unlearn":
        return m.unlearn(c % 10)
    if name == "forget":
        return m.forget()
    if name == "save":
        saved[:] = [m.save()]
        return len(saved[0])
    if name == "restore" and saved:
        return m.restore(damaged(saved[0], c))
    if name == "entry" and a % 9 < len(m.learner.rows):
        return m.learn_entry(damaged(m.entry(a % 9), c))
    return 0

def answers(m, rows, calls):
    saved = []
    found = []
    for name, a, b, c in calls:
        returned = one(m, rows, saved, name, a, b, c)
        found.append([returned, m.crc32(m.save(), 0), m.class_sums(rows[a])])
    return found
"""


def package(kind, folder):
    """The host's state, the folder, and rows."""
    given = {"learn": "votes", "learn_rows": 9, "margin": 3, **KINDS[kind]}
    model, X = random_model(2, n_clauses=45)
    if n := given.get("anchors"):
        given["anchors"] = X[-n:], model.predict(X[-n:])
    export.micropython(model, folder, name="m", **given)
    return State(learning_of(model, given)), X[:20]


class OnHost:
    """The calls of a package, on the host."""

    def __init__(self, state, X):
        self.learner, self.bits, self.last = state, dict(enumerate(state.learning.bits(X))), None
        state.labels = state.learning.labels
        self.adapt, self.adapt_step, self.unlearn = state.adapt, state.step, state.drop
        self.forget, self.save, self.entry = state.forget, state.save, state.entry
        self.learn_entry = state.keep_entry

    def predict(self, row):
        self.last = self.bits[row]

    def learn(self, row, label):
        return self.learner.keep(self.learner.labels.index(label), self.bits[row])

    def learn_last(self, label):
        return self.learner.keep(self.learner.labels.index(label), self.last)

    def restore(self, data):
        try:
            self.learner.restore(data)
        except RefusedState:
            return False
        return True

    def class_sums(self, row):
        return self.learner.sums(self.bits[row]).tolist()

    crc32 = staticmethod(zlib.crc32)


def drawn(n_calls, state, n_rows):
    calls = draw_calls(3, n_calls, n_rows, state.learning.n_classes)
    calls[::2, 2] = calls[::2, 1] % state.learning.n_classes  # so that the guard finds something better
    return [[NAMES[call[0]], *call[1:]] for call in calls.tolist()]


def board():
    names = {}
    exec(BOARD, names)
    return names["answers"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_call_gives_the_bytes_and_sums_of_the_host(kind, tmp_path):
    state, X = package(kind, tmp_path / "out")
    calls = drawn(400, state, len(X))
    wanted = board()(OnHost(state, X), range(len(X)), calls)
    m = types.ModuleType("m")
    exec(compile((tmp_path / "out" / "m.py").read_text(), "m.py", "exec"), vars(m))
    assert board()(m, X.tolist(), calls) == wanted
    assert len(np.unique([str(sums) for _, _, sums in wanted])) > 2 * len(X)  # votes did move


@pytest.mark.parametrize("kind", KINDS)
def test_micropython_gives_the_bytes_and_sums_of_the_host(kind, tmp_path, micropython):
    state, X = package(kind, tmp_path / "out")
    calls = drawn(150, state, len(X))
    wanted = board()(OnHost(state, X), range(len(X)), calls)
    files = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.is_file()}
    files["calls"], files["rows"] = json.dumps(calls), json.dumps(X.tolist())
    scripts = [
        BOARD,
        "import m, json\nrows = json.load(open('rows'))",
        "print(json.dumps(answers(m, rows, json.load(open('calls')))))",
    ]
    assert json.loads(micropython.run(files, scripts)[-1]) == json.loads(json.dumps(wanted))


def test_options_that_do_not_exist_are_refused(tmp_path):
    model, _ = random_model(2)
    with pytest.raises(TypeError, match="no option 'teach'"):
        export.micropython(model, tmp_path / "out", teach="votes")
    with pytest.raises(ValueError, match="learn is 'x'"):
        export.micropython(model, tmp_path / "out", learn="x")
