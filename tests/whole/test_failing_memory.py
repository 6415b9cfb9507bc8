"""An allocation that fails in native code is a MemoryError, never the end of the process."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("c++") is None, reason="needs LD_PRELOAD and a C++ compiler"
)


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory):
    library = tmp_path_factory.mktemp("memory") / "failing_new.so"
    source = SUPPORT / "failing_new.cpp"
    subprocess.run(["c++", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    return library


# What is done, the threads, and the step of n. All of a group are in one process.
EVERY_DAY = ["fit,4,149", "predict,4,1", "load,2,3", "windows,3,1", "prune,1,9973"]
SLOW = ["fit,2,59", "fit,4,61", "load,2,1", "code,4,1", "prune,1,997"]


@pytest.mark.parametrize("work", [EVERY_DAY, pytest.param(SLOW, marks=pytest.mark.slow)], ids=" ".join)
def test_every_failure_is_survived(preloaded, work):
    """The n-th failure, for every `step`-th n: right answers, or a MemoryError and right answers after it."""
    program = [sys.executable, SUPPORT / "failing_memory.py", *work]
    environment = {**os.environ, "LD_PRELOAD": str(preloaded)}
    done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    counts = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(counts) == len(work)
    assert all(failed >= errors > 0 for failed, errors in counts), counts
