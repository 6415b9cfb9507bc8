"""The C of models that read frames of raw windows: answers, features and streams are those of the host."""

import itertools
import shutil
import subprocess

import numpy as np
import pytest

import kept_builds
from ethereal import EtherealClassifier, export
from ethereal.device import measure
from ethereal.device.proof import Source, prove
from ethereal.device.worst import worst_case
from ethereal.features.window_features import WindowFeatures
from ethereal.model.needs import NotSupported
from thinned import few
from windows import hard_windows

FLAGS = ["-std=c99", "-pedantic", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wcast-qual",
         "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]  # fmt: skip
# Windows one by one, each with the features of its last frame, and then all samples as a stream.
MAIN = """
#include <stdio.h>
#include "model.h"

int main(void)
{
    static int16_t samples[WINDOWS * MODEL_WINDOW * MODEL_AXES];
    unsigned i;
    int answer;

    if (fread(samples, sizeof samples, 1, stdin) != 1)
        return 1;
    for (i = 0; i < WINDOWS; i++) {
        answer = (int)model_window(samples + i * MODEL_WINDOW * MODEL_AXES);
        fwrite(&answer, sizeof answer, 1, stdout);
        fwrite(model_features(), sizeof(int16_t), MODEL_FRAME_FEATURES, stdout);
    }
    model_reset();
    for (i = 0; i < WINDOWS * MODEL_WINDOW; i++) {
        answer = model_push(samples + i * MODEL_AXES);
        fwrite(&answer, sizeof answer, 1, stdout);
    }
    return 0;
}
"""
BLOCKS, SOUND = ["stats", "step", "cov"], ["sound"]
CASES = {  # kernels, samples, axes, frames, hop
    "blocks": (BLOCKS, 64, 3, (8, 4), 8),
    "some samples left over": (BLOCKS, 67, 2, (10, 5), None),
    "many blocks": (["step"], 400, 1, (9, 9), 360),
    "much sound": (SOUND, 256 * 40, 1, 256, None),
    "sound": (SOUND, 1100, 1, (256, 128), 256),
}


def model_of(name, n_clauses=20):
    kernels, n, axes, frames, hop = CASES[name]
    windows = hard_windows(n, axes, 3 if n > 5000 else 12)
    y = np.random.default_rng(0).integers(0, 3, len(windows))
    front_end = WindowFeatures(kernels, frames=frames, rate=8000, hop=hop)
    clf = EtherealClassifier(n_clauses, 5, 3.0, patch=(3,), epochs=2, front_end=front_end, random_state=1)
    return clf.fit(windows, y).plain_model_, windows


@pytest.mark.parametrize("layout, name", few(list(itertools.product(["patches", "patch_code"], CASES)), 2))
def test_windows_and_streams_are_those_of_the_host(name, layout, tmp_path):
    model, windows = model_of(name)
    front_end = model.drop_unused_kernels().front_end
    folder = tmp_path / "c"
    export.c(model, folder, layout=layout, name="model")
    (folder / "main.c").write_text(MAIN)
    command = ["gcc", *FLAGS, f"-DWINDOWS={len(windows)}u", "main.c", "model.c", "-o", "main"]
    done = kept_builds.build(command, folder, "main")
    assert done.returncode == 0, done.stderr
    data = subprocess.run([folder / "main"], input=windows.tobytes(), capture_output=True, check=True).stdout
    row = np.dtype([("answer", "<i4"), ("features", "<i2", len(front_end.names))])
    rows = np.frombuffer(data, row, len(windows))
    assert np.array_equal(rows["features"], front_end.transform(windows)[:, -1])
    assert np.array_equal(rows["answer"], model.class_sums(windows).argmax(axis=1))
    pushed = np.frombuffer(data, "<i4", offset=len(windows) * row.itemsize)
    stream = np.concatenate(windows)
    every = np.flatnonzero(pushed >= 0)
    assert np.array_equal(every, np.arange(front_end.window - 1, len(stream), front_end.hop))
    assert np.array_equal(pushed[every], model.class_sums(front_end.windows(stream)).argmax(axis=1))


def test_a_project_checks_itself_with_golden_windows(tmp_path):
    model, windows = model_of("blocks")
    export.c(model, tmp_path / "c", rows=windows, majority=3)
    done = kept_builds.build(["make", "test"], tmp_path / "c", "Makefile")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("layout", ["patches", "patch_code"])
def test_a_core_gives_the_answers_of_the_host_within_a_bound(layout):
    model, windows = model_of("blocks", n_clauses=4)
    taken = measure(model, windows[:8], layout=layout)
    assert taken.agreement == 1
    bound = worst_case(model, layout)
    assert taken.instructions_max <= bound.instructions <= 1.5 * taken.instructions_max
    assert bound.calls["model_push"] < bound.instructions


def test_integer_input_is_refused_as_for_other_windows():
    with pytest.raises(ValueError, match="features of windows are int16"):
        export.choose(model_of("blocks")[0], input="uint8")
    with pytest.raises(NotSupported, match="layout fast does not take a front end 'frames'"):
        export.choose(model_of("blocks")[0], "fast")


@pytest.mark.skipif(shutil.which("frama-c") is None, reason="frama-c is not installed")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["some samples left over", "sound"])
def test_windows_and_streams_are_proven(name):
    model, _ = model_of(name, n_clauses=4)
    program = export.choose(model, "patches", majority=3)
    for analysis in prove(Source.of(program), functions=["window", "push"], seconds=200):
        assert analysis.is_proven, analysis
