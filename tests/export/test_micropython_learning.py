"""MicroPython packages that learn: the host's bytes and sums after every call."""

import numpy as np
import pytest

from ethereal import export
from ethereal.adapt.state import RefusedState, State
from ethereal.export.mpy.learn import learning_of
from learning_calls import NAMES, draw_calls
from random_models import random_model

KINDS = {
    "votes": {},
    "bias": {"learn": "bias", "guard": False},
    "new class": {"classes": 1, "anchors": 10, "guard": False},
}


def package(kind, folder):
    """The host's state, the package's module in this interpreter, and rows."""
    given = {"learn": "votes", "learn_rows": 9, "margin": 3, **KINDS[kind]}
    model, X = random_model(2, n_clauses=45)
    if n := given.get("anchors"):
        given["anchors"] = X[-n:], model.predict(X[-n:])
    export.micropython(model, folder, name="m", **given)
    board = {}
    exec(compile((folder / "m.py").read_text(), "m.py", "exec"), board)
    return State(learning_of(model, given)), board, X[:20]


def damaged(data, how):
    if how % 4 < 2:
        return data
    return data[:-1] if how % 4 == 2 else bytes([data[0] ^ 1]) + data[1:]


def both(state, board, bits, rows, saved, call):
    """What a call returns on the host and on the board."""
    name, a, b, c = NAMES[call[0]], *call[1:]
    labels = state.learning.labels
    match name:
        case "learn" if b < len(labels):
            return state.keep(b, bits[a]), board["learn"](rows[a], labels[b])
        case "last" if b < len(labels):
            board["predict"](rows[a])
            return state.keep(b, bits[a]), board["learn_last"](labels[b])
        case "adapt":
            return state.adapt(), board["adapt"]()
        case "step":
            return state.step(), board["adapt_step"]()
        case "unlearn":
            return state.drop(c % 10), board["unlearn"](c % 10)
        case "forget":
            return state.forget(), board["forget"]()
        case "save":
            saved[:] = [state.save()]
            return saved[0], board["save"]()
        case "restore" if saved:
            try:
                state.restore(damaged(saved[0], c))
                taken = True
            except RefusedState:
                taken = False
            return taken, board["restore"](damaged(saved[0], c))
        case "entry" if a % 9 < len(state.rows):
            entry = damaged(state.entry(a % 9), c)
            assert board["entry"](a % 9) == state.entry(a % 9)
            return state.keep_entry(entry), board["learn_entry"](entry)
    return 0, 0


@pytest.mark.parametrize("kind", KINDS)
def test_every_call_gives_the_bytes_and_sums_of_the_host(kind, tmp_path):
    state, board, X = package(kind, tmp_path / "out")
    bits, rows, saved = state.learning.bits(X), X.tolist(), []
    calls = draw_calls(3, 400, len(rows), state.learning.n_classes)
    calls[::2, 2] = calls[::2, 1] % state.learning.n_classes  # so that the guard finds something better
    for call in calls.tolist():
        host, there = both(state, board, bits, rows, saved, call)
        assert host == there, call
        assert board["class_sums"](rows[call[1]]) == state.sums(bits[call[1]]).tolist()
        assert board["save"]() == state.save()
    assert np.any(state.votes) or state.learning.has_guard


def test_options_that_do_not_exist_are_refused(tmp_path):
    model, _ = random_model(2)
    with pytest.raises(TypeError, match="no option 'teach'"):
        export.micropython(model, tmp_path / "out", teach="votes")
    with pytest.raises(ValueError, match="learn is 'x'"):
        export.micropython(model, tmp_path / "out", learn="x")
