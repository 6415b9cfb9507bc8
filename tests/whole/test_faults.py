"""A few kills, full disks and read-only folders; `lab/benchmarks/faults.py` has a hundred of each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "lab" / "benchmarks" / "faults.py"


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL and no fork there")
@pytest.mark.parametrize(
    "kinds",
    [
        pytest.param(("save", "train", "study", "disk"), id="save-train-study-disk"),
        pytest.param(("tune",), id="tune", marks=pytest.mark.slow),
        pytest.param(("full",), id="full"),
    ],
)
def test_nothing_is_lost(kinds):
    """In a process of its own, which forks: this one may have threads."""
    kills = "2"
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--kills", kills, *kinds], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(kinds)
    if "skipped" in done.stdout:
        pytest.skip(done.stdout)
