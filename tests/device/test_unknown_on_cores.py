"""Models that may not answer, and that know their training rows, on every emulated core."""

import numpy as np
import pytest

from ethereal import WindowFeatures, device
from ethereal.device import EmulatedCore, compile_elf, find_target
from ethereal.export import make_program
from old_ranges import with_ranges
from random_models import random_model
from windows import hard_windows, model_of

CORES = ["cortex-m0plus", "cortex-m4", "cortex-m7", "cortex-m33", "riscv32"]


def on_core(program, function, rows, target):
    """What a function returns for each row."""
    chip = find_target(target)
    core = EmulatedCore(compile_elf(program.files, chip, [function], optimize="-Os"), chip)
    address = core.buffer(np.zeros_like(rows[0]))
    collected = []
    for row in rows:
        core.write(address, np.ascontiguousarray(row))
        collected.append(core.call(function, address))
    return collected


@pytest.mark.parametrize("target", CORES)
def test_answers_and_novelty_are_those_of_the_host(target):
    model, X = random_model(31, missing="some")
    model = with_ranges(model.with_unknown(2), X[:30])
    assert device.measure(model, X[:30], target, "compact").agreement == 1.0
    wild = X[:30] * np.where(np.arange(30) % 3, 1, -1e5)[:, None].astype(np.float32)
    program = make_program(model, "straight")
    rows = program.features(wild)
    assert on_core(program, "model_novelty", rows, target) == model.novelty(wild).tolist()
    assert on_core(program, "model_predict", rows, target) == model._engine.winners(wild).tolist()


@pytest.mark.parametrize("target", CORES)
def test_drift_counts_as_the_host_does(target):
    model, X = random_model(31)
    model = with_ranges(model, X)
    chip = find_target(target)
    program = make_program(model, "fast")
    core = EmulatedCore(compile_elf(program.files, chip, ["model_drift"], optimize="-Os"), chip)
    drift, answers = model.drift(), (np.arange(300) // 70 % 3).tolist()
    assert [core.call("model_drift", a) for a in answers] == [drift.add(a) for a in answers]


def test_windows_may_be_unknown_too():
    windows = hard_windows(64, n_axes=3, n_random=4)
    extractor = WindowFeatures(["stats", "haar"], axes=["ax", "ay", "az"]).fit(windows)
    model = model_of(extractor, windows, n_clauses=9).with_unknown(6)
    assert model.n_classes in model._engine.winners(windows)
    assert device.measure(model, windows, "cortex-m0plus").agreement == 1.0
