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


@pytest.mark.parametrize(
    ("what", "threads", "step"),
    [
        pytest.param("fit", 2, 59, marks=pytest.mark.slow),
        ("fit", 4, 149),
        pytest.param("fit", 4, 61, marks=pytest.mark.slow),
        ("predict", 4, 1),
        pytest.param("load", 2, 1, marks=pytest.mark.slow),
        ("load", 2, 3),
        pytest.param("code", 4, 1, marks=pytest.mark.slow),
        ("windows", 3, 1),
        ("prune", 1, 39979),
        pytest.param("prune", 1, 9973, marks=pytest.mark.slow),
    ],
)
def test_every_failure_is_survived(preloaded, what, threads, step):
    """The n-th failure, for every `step`-th n: right answers, or a MemoryError and right answers after it."""
    program = [sys.executable, SUPPORT / "failing_memory.py", what, str(threads), str(step)]
    environment = {**os.environ, "LD_PRELOAD": str(preloaded)}
    done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    failed, errors = map(int, done.stdout.split())
    assert failed >= errors > 0
