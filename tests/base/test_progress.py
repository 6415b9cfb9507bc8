"""Work that is not on a terminal tells how far it is, with units, and not too often."""

import sys

import pytest

from ethereal.base import messages
from ethereal.base.messages import is_quiet, progress


@pytest.fixture
def seconds(monkeypatch):
    """Time stands still until it is moved."""
    now = [100.0]
    monkeypatch.setattr(messages.time, "monotonic", lambda: now[0])
    return now


def test_a_line_every_few_seconds(capsys, seconds):
    with progress("forest", 25, quiet=False) as show:
        for trees in (5, 10, 25):
            show(trees, f"{trees} trees")
            seconds[0] += 4.0
    assert capsys.readouterr().err.splitlines() == ["forest 25 trees"]


def test_the_first_and_the_last_epoch_have_a_line(capsys, seconds):
    with progress("epoch", 3, quiet=False, at_ends=True) as show:
        for epoch in (1, 2, 3):
            show(epoch, f"{epoch}/3")
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["epoch 1/3", "epoch 3/3"]


def test_quiet_is_quiet(capsys, seconds):
    with progress("prune", 1.0, quiet=True) as show:
        seconds[0] += 60.0
        show(0.5, "step 1 of 2")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("as_json", "is_terminal", "quiet"), [(True, True, False), (True, False, True), (False, False, False)]
)
def test_json_hides_progress_only_where_nobody_watches(monkeypatch, as_json, is_terminal, quiet):
    """Fault F34: `run --json` showed no progress on a terminal."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)
    assert is_quiet(as_json) is quiet
