"""A call of the system that fails in a writer leaves the old files or the new ones, and an error."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs LD_PRELOAD and a C compiler"
)


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory):
    library = tmp_path_factory.mktemp("io") / "failing_io.so"
    source = SUPPORT / "failing_io.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.mark.parametrize(
    ("writers", "mode"),
    [
        ("save,checkpoint,study:3,run:5,c:29,micropython:31", ""),
        pytest.param("save,c:31", "full", marks=pytest.mark.slow),  # test_faults.py fills a disk, too
    ],
)
def test_every_failure_leaves_old_or_new(preloaded, writers, mode):
    """For every n, or every so many. lab/notes/reliability.md has the figures of all n and all writers."""
    program = [sys.executable, SUPPORT / "failing_io.py", writers, mode]
    environment = {**os.environ, "LD_PRELOAD": str(preloaded)}
    done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    counts = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(counts) == writers.count(",") + 1
    assert all(failed >= errors > 0 for failed, errors, _ in counts)
