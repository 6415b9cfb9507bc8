"""cppcheck's MISRA addon finds no more in the exported C than lab/notes/proof.md explains."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "misra.py"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cppcheck") is None, reason="cppcheck is not installed")
def test_there_are_fewer_than_sixty_findings():
    done = subprocess.run([sys.executable, TOOL, "--most", "59"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("\n") == 6  # a line per layout, and one for all
