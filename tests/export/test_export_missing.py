"""The device can tell the rows that the host refuses because a value is missing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethereal import Booleanizer, Model
from ethereal.export.c99.program import make_program
from kept_builds import build

N_FEATURES = 11
DRIVER = """
#include <stdio.h>
#include "model.h"
int main(void)
{
    float row[MODEL_FEATURES];

    while (fread(row, sizeof row, 1, stdin) == 1) {
#if CONVERTS
        model_input whole[MODEL_FEATURES];

        model_convert(row, whole);
        printf("%u\\n", model_missing(whole));
#else
        printf("%u\\n", model_missing(row));
#endif
    }
    return 0;
}
"""


def make_model(accepts: list[int], missing: Any = "raise") -> Model:
    """A model of rows in which only these features were missing in training."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, N_FEATURES)).round(2)
    for f in accepts:
        X[f::7, f] = np.nan
    booleanizer = Booleanizer(n_bins=3, missing=missing).fit(X)
    n = booleanizer.feature_map_.n_booleans
    literals = list(range(n))
    return Model(literals, range(n + 1), np.eye(2, dtype=int)[np.arange(n) % 2], n_booleans=n,
                 classes=["a", "b"], booleanizer=booleanizer)  # fmt: skip


def rows_and_refusals(model: Model) -> tuple[np.ndarray, list[int]]:
    """Rows with missing values, and the first feature of each that the host refuses, counted from 1."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, N_FEATURES)).round(2)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[0], X[1], X[2, :] = 1.0, np.inf, np.nan
    expected = []
    for row in X:
        try:
            model.predict(row[None])
            expected.append(0)
        except ValueError as error:
            expected.append(int(str(error).split("(column ")[1].split(")")[0]) + 1)
    return X, expected


@pytest.mark.parametrize("flags", [[], ["-O2", "-ffast-math"]], ids=["plain", "fast math"])
@pytest.mark.parametrize("single_header", [False, True])
@pytest.mark.parametrize("number", ["float", "int16", "uint8"])
@pytest.mark.parametrize("accepts", [[], [0, 3, 9]], ids=["none", "some"])
def test_the_device_refuses_what_the_host_refuses(
    accepts: list[int], number: str, single_header: bool, flags: list[str], tmp_path: Path
) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    model = make_model(accepts)
    X, expected = rows_and_refusals(model)
    assert 0 in expected
    assert max(expected) > 8
    program = make_program(model, "compact", input=number, single_header=single_header)
    is_float = number == "float" or not accepts
    files = {**program.files, "main.c": f"#define CONVERTS {int(not is_float)}\n{DRIVER}"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    warnings = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
    sources = [name for name in files if name.endswith(".c")]
    built = build(["gcc", *warnings, *flags, *sources, "-o", "main"], tmp_path, "main")
    assert built.returncode == 0, built.stderr
    done = subprocess.run(
        [tmp_path / "main"], input=X.astype(np.float32).tobytes(), capture_output=True, check=True
    )
    assert [int(line) for line in done.stdout.split()] == expected


def test_models_that_take_missing_values_have_no_such_function() -> None:
    for model in (make_model(list(range(N_FEATURES))), make_model([], missing="ignore")):
        assert "_missing(" not in make_program(model, "fast").files["model.h"]


def test_the_header_names_the_function_in_its_contract() -> None:
    for accepts in ([], [2]):
        header = make_program(make_model(accepts), "fast").files["model.h"]
        assert "model_missing()" in header[: header.index("#ifndef")]
