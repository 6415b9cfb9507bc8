"""The study's BNN with Larq, which needs an old numpy and TensorFlow: run in an environment of its own.

    python -m venv .venv-bnn
    .venv-bnn/bin/pip install "larq==0.14.*" "tensorflow-cpu==2.18.*" "tf-keras==2.18.*" "numpy<2"

(`make bnn-venv` does both; about 2 GB.) The environment variable ETHEREAL_BNN_PYTHON names its interpreter;
without it `.venv-bnn/bin/python` in the current folder is tried, then the running Python, which has Larq when
the extra `bnn` was installed. Arrays go there and back as npz files.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.npz import write_arrays

RUNNER = Path(__file__).with_name("larq_runner.py")
_MISSING = (
    "Larq cannot run: {reason}. Make its environment with `make bnn-venv` in a clone of the project. Or name "
    "an interpreter that has Larq in ETHEREAL_BNN_PYTHON. Without Larq, use backend='numpy', or leave out "
    "--bnn larq."
)


class LarqError(ImportError):
    """Larq cannot be used. The message says why and what to do, and commands tell it in one line."""


def interpreter() -> Path:
    """Return the Python of the environment that has Larq, or raise a LarqError."""
    named = os.environ.get("ETHEREAL_BNN_PYTHON")
    path = Path(named or Path(".venv-bnn", "Scripts/python.exe" if os.name == "nt" else "bin/python"))
    if not path.exists():
        if not named and find_spec("larq"):
            return Path(sys.executable)
        raise LarqError(_MISSING.format(reason=f"no interpreter at {path}"))
    return path.absolute()


def train(
    bits: NDArray[np.bool_], codes: NDArray[np.intp], n_classes: int, n_units: int, **options: float
) -> tuple[NDArray[np.int8], NDArray[np.int32], NDArray[np.int8]]:
    """Return hidden weights, thresholds and output weights of a `BinaryNetwork`. The options need a seed."""
    python = interpreter()
    with tempfile.TemporaryDirectory(prefix="ethereal-larq-") as folder:
        given, result = Path(folder) / "given.npz", Path(folder) / "result.npz"
        settings: dict[str, Any] = {"epochs": 100, "batch_size": 32, "learning_rate": 0.001} | options
        rows = {"bits": bits, "codes": codes, "n_classes": n_classes, "n_units": n_units}
        write_arrays(given, rows | settings)
        environment = os.environ | {"TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
        # -I: the runner's own folder stays off the path, so that no module of this package shadows another.
        command = [str(python), "-I", str(RUNNER), str(given), str(result)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0 or not result.exists():
            if done.returncode < 0:  # nothing is missing: somebody or the system ended it
                raise LarqError(f"Larq cannot run: {python} was ended by signal {-done.returncode}")
            last = (done.stderr.strip().splitlines() or ["no output"])[-1]
            raise LarqError(_MISSING.format(reason=f"{python} failed ({last})"))
        with np.load(result, allow_pickle=False) as arrays:
            hidden, output = arrays["hidden"].astype(np.int8), arrays["output"].astype(np.int8)
    if hidden.shape != (bits.shape[1], n_units) or output.shape != (n_units, n_classes):
        raise LarqError(f"Larq cannot run: weights of the shapes {hidden.shape} and {output.shape} came back")
    # Larq's inputs are 0 and 1 and a unit fires at a sum of 0 or more. With inputs of -1 and 1 that sum is
    # (sum + weights in all) / 2, so the same unit fires from minus its weights in all.
    return hidden, -hidden.sum(axis=0, dtype=np.int32), output
