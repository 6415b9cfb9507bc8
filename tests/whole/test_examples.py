"""The examples run as they stand, in a folder that is not theirs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from thinned import few

EXAMPLES = Path(__file__).parents[2] / "examples"
SAYS = {
    "custom_exporter.py": "the votes in SQLite are the host's",
    "new_data_set.py": "accuracy on new subjects",
    "own_rule.py": "resumed to the same bits: True",
    "own_study.py": "| cancer | tree |",
    "paper.py": "agreement=1.0",
    "raw_windows.py": "accuracy on new people",
    "recordings.py": "18 recordings",
    "sensor_calibration.py": "the answer rises with the counts: True",
}


def test_every_example_is_here():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SAYS)


# tests/study has the study, tests/train and tests/export the rest.
@pytest.mark.parametrize("name", few(list(SAYS), 3))
def test_example(name, tmp_path):
    command = [sys.executable, "-W", "error::DeprecationWarning:__main__", str(EXAMPLES / name)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert SAYS[name] in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_rule_of_ones_own_takes_at_most_fifteen_lines():
    text = (EXAMPLES / "own_rule.py").read_text()
    for name in ("shared", "common"):
        function = text[text.index(f"def {name}(") :].split("\n\n\n")[0]
        assert len(function.splitlines()) <= 15
