"""Compile the C of a program on this computer under sanitizers, and compare every row with the model."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ethereal.export.c99.program import Program
from kept_builds import build

WARNINGS = ["-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wcast-qual", "-Werror"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

DRIVER = """
static int read_rows(void *to, size_t size) { return fread(to, 1, size, stdin) == size; }

int main(void)
{
    const unsigned n = N_ROWS;
    static NAME_input rows[N_ROWS * NAME_FEATURES];
    static uint16_t batch[N_ROWS];
    unsigned r;

    if (!NAME_check() || !read_rows(rows, sizeof rows))
        return 1;
    NAME_predict_batch(rows, n, batch);
    for (r = 0; r < n; r++) {
        int32_t out[NAME_CLASSES + 2];

        NAME_class_sums(&rows[r * NAME_FEATURES], out);
        out[NAME_CLASSES] = (int32_t)NAME_predict(&rows[r * NAME_FEATURES]);
        out[NAME_CLASSES + 1] = batch[r];
        fwrite(out, sizeof out[0], NAME_CLASSES + 2, stdout);
    }
    return 0;
}
"""


def compiler(name: str) -> str:
    path = shutil.which(name)
    if path is None and not os.environ.get("CI"):
        pytest.skip(f"{name} is not installed (Debian: apt-get install {name})")
    assert path is not None, f"CI must have {name}"
    return path


def answers_of(program: Program, sent: bytes, folder: Path) -> bytes:
    """What a program and the driver.c of a folder print under sanitizers when they read some bytes."""
    for name, text in program.files.items():
        (folder / name).write_text(text)
    sources = [name for name in program.files if name.endswith(".c")]
    # Without optimization, which costs as much again and hides what is undefined. Tests of exports optimize.
    options = ["-std=c99", *WARNINGS, "-O0", *SANITIZERS]
    command = [compiler("gcc"), *options, *sources, "driver.c", "-o", "driver"]
    built = build(command, folder, "driver")
    assert built.returncode == 0, built.stderr
    done = subprocess.run(["./driver"], cwd=folder, input=sent, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def run_program(program: Program, X: NDArray[Any], folder: Path) -> NDArray[np.int32]:
    """Class sums, class, and class by batch of each row."""
    rows = program.features(X)
    driver = DRIVER.replace("NAME_input", f"{program.name}_input").replace("NAME_", "@")
    upper = ("CLASSES", "FEATURES")
    for word in upper:
        driver = driver.replace(f"@{word}", f"{program.name.upper()}_{word}")
    driver = driver.replace("@", f"{program.name}_")
    (folder / "driver.c").write_text(
        f'#include <stdio.h>\n#include "{program.name}.h"\n#define N_ROWS {len(rows)}u\n{driver}'
    )
    got = answers_of(program, rows.tobytes(), folder)
    return np.frombuffer(got, dtype=np.int32).reshape(len(rows), -1)


def assert_exact(program: Program, X: NDArray[Any], folder: Path) -> None:
    answered = run_program(program, X, folder)
    expected = program.model.class_sums(X)  # of the rows as they were given
    np.testing.assert_array_equal(program.device_sums(program.features(X)), expected)
    np.testing.assert_array_equal(answered[:, :-2], expected)
    answers = expected.argmax(axis=1)
    if program.model.early:
        answers = np.searchsorted(program.model.classes, program.model.predict(X))
    np.testing.assert_array_equal(answered[:, -2], answers)
    np.testing.assert_array_equal(answered[:, -1], answers)
