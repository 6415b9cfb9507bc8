"""The product works where the study and the bounds were deleted, and says what is missing."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from ethereal import EtherealClassifier, _native
from ethereal.device.worst import NOT_INSTALLED
from says import says

ROOT = Path(__file__).parents[2]
OURS = ("ethereal", "ethereal_bounds", "ethereal_study")
WORK = {
    "run": "run t.csv --label y --quick --no-forest --jobs 1 --out runs",
    "export": "export runs/t/model.etm --to c --out c",
    "measure": "measure runs/t/model.etm t.csv --label y --layout auto",
    "tune": "tune t.csv --label y --trials 1 --folds 2 --max-clauses 10 --out tuned.etm",
}
BLOCKED = """
import sys
sys.modules["ethereal_bounds"] = sys.modules["ethereal_study"] = None
from ethereal.cli import app
words_of = ("--help", "measure m.etm --layout compact", "datasets", "run t.csv --label y --paper", "run har")
for words in words_of:
    try:
        app(words.split())
    except SystemExit:
        print("NEXT", flush=True)
"""


@pytest.fixture
def alone(tmp_path):
    """A function that runs `ethereal` from a copy of the product, in a folder with a small table."""
    site, here = tmp_path / "site", tmp_path / "here"
    left_out = shutil.ignore_patterns("__pycache__", "native")
    shutil.copytree(ROOT / "src" / "ethereal", site / "ethereal", ignore=left_out)
    shutil.copy(_native.__file__, site / "ethereal")
    # All other packages, and the entry points of the study, which are still there after it was deleted.
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if path.name not in OURS and path.suffix != ".pth":
            (site / path.name).symlink_to(path)
    here.mkdir()
    X = np.random.default_rng(0).integers(0, 10, (120, 3))
    lines = [f"{a},{b},{c},{'high' if a + b > 9 else 'low'}" for a, b, c in X]
    (here / "t.csv").write_text("\n".join(["a,b,c,y", *lines, ""]))

    def call(words):
        # Without `site`, so that the editable install of all packages is not found.
        command = [sys.executable, "-S", "-m", "ethereal", *words.split()]
        environment = {**os.environ, "PYTHONPATH": str(site)}
        return subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, check=False)

    return call


@pytest.mark.slow
def test_the_product_works_alone(alone):
    done = {name: alone(words) for name, words in WORK.items()}
    for name, result in done.items():
        assert result.returncode == 0, (name, result.stderr)
    assert NOT_INSTALLED in " ".join(done["measure"].stdout.split())
    assert "No row can take more" not in done["measure"].stdout
    assert alone("study table1").returncode == 2


def test_commands_say_what_is_missing(tmp_path):
    X = np.random.default_rng(0).random((60, 2))
    y = (X[:, 0] > 0.5).astype(int)
    EtherealClassifier(4, epochs=2, random_state=0).fit(X, y).model_.save(tmp_path / "m.etm")
    (tmp_path / "t.csv").write_text(
        "a,b,y\n" + "".join(f"{a},{b},{c}\n" for (a, b), c in zip(X, y, strict=True))
    )
    command = [sys.executable, "-c", BLOCKED]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    listed, measured, sets = done.stdout.split("NEXT")[:3]
    assert "measure" in listed
    assert "benchmark" not in listed
    assert "RAM" in measured
    assert NOT_INSTALLED in " ".join(measured.split())
    assert "digits" in sets
    assert "har" not in sets.split()
    says(done.stderr, "--paper", "ethereal_study")
    says(done.stderr, "'har'", "neither", "data set", "ethereal_study")
