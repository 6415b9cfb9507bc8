"""Work that is not on a terminal tells how far it is, with units, and not too often."""

import pytest

from ethereal.base import messages
from ethereal.base.messages import progress


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
