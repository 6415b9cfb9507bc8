"""Prices of kernels are those of whole programs, and what is shared is counted once."""

import numpy as np
import pytest

from ethereal.device import (
    EmulatedCore,
    compile_elf,
    find_target,
    from_samples,
    front_end_cost,
    group_costs,
    kernel_prices,
    measure,
)
from ethereal.export.c99.choose import choose
from ethereal.features.front_end import KERNELS
from ethereal.features.window_features import WindowFeatures
from thinned import few, thinned
from windows import everything, model_of

CORES = ["cortex-m7", "cortex-m0plus", "riscv32"]
FEW = {"stats": ["ax", "gy"], "haar": ["az"], "bands": ["ax", "gx"], "cov": ["ax*ay"], "parts": ["|a|"]}


def movements(n, n_axes=6, rows=12, seed=1):
    """Windows of other amplitudes and frequencies than those that prices are counted on."""
    rng = np.random.default_rng(seed)
    loud = 10.0 ** rng.uniform(1, 3.5, (rows, 1, n_axes))
    waves = np.sin(np.arange(n)[:, None] * rng.uniform(0.02, 1, (rows, 1, n_axes)))
    noise = rng.normal(0, 0.1, (rows, n, n_axes))
    return np.clip(loud * (waves + noise), -32768, 32767).astype(np.int16)


def executed(extractor, windows, target):
    """Instructions and flash of the features alone, in a whole program, and its RAM."""
    chip, program = (
        find_target(target),
        choose(model_of(extractor, windows, n_clauses=3), "fast", target=target),
    )
    assert program.model.front_end == extractor.front_end_
    counts, elfs = [], []
    for function, rows, roots in (
        ("model_window", windows, ["model_push"]),
        ("model_predict", extractor.transform(windows), []),
    ):
        elfs.append(compile_elf(program.files, chip, [function, *roots], optimize="-Os"))
        core = EmulatedCore(elfs[-1], chip, ram_bytes=1 << 22)
        counts.append(core.call_by_row(function, rows)[1].mean())
    flash = [elf.code_bytes + elf.table_bytes for elf in elfs]
    return counts[0] - counts[1], flash[0] - flash[1], elfs[0].ram_bytes


@pytest.mark.parametrize("kernels, n, target", thinned(["everything", "few"], [100, 128], CORES, one_in=3))
def test_prices_are_those_of_whole_programs(kernels, n, target):
    windows = movements(n)
    extractor = (everything() if kernels == "everything" else WindowFeatures(FEW)).fit(windows)
    instructions, flash, ram = executed(extractor, windows, target)
    cost = front_end_cost(extractor.front_end_, target)
    assert cost.instructions == pytest.approx(instructions, rel=0.05)
    assert cost.flash == pytest.approx(flash, rel=0.05)
    assert cost.ram == pytest.approx(ram, rel=0.02)


@pytest.mark.parametrize("target", few(CORES))
def test_a_program_of_features_pays_for_them_when_it_gets_windows(target):
    windows = movements(100)
    extractor = WindowFeatures(FEW).fit(windows)
    model = model_of(extractor, windows, n_clauses=3)
    whole = measure(model, windows, target, "fast")
    alone = measure(model, extractor.transform(windows), target, "fast")
    measured = from_samples(alone, extractor.front_end_, windows)
    assert measured.agreement == alone.agreement == 1
    assert measured.total_instructions == pytest.approx(whole.total_instructions, rel=0.01)
    assert measured.estimated_cycles == pytest.approx(whole.estimated_cycles, rel=0.01)
    assert measured.ram_bytes >= whole.ram_bytes
    assert measured.stack_bytes == pytest.approx(whole.stack_bytes, abs=100)
    features = front_end_cost(extractor.front_end_, target).flash
    assert measured.flash_bytes - alone.flash_bytes == pytest.approx(features, rel=0.05)


def test_sound_has_a_price():
    windows = movements(2048, 1, 4)
    extractor = WindowFeatures(["mel"], rate=8000, hop=256).fit(windows)
    instructions, flash, ram = executed(extractor, windows, "cortex-m7")
    cost = front_end_cost(extractor.front_end_)
    assert cost.instructions == pytest.approx(instructions, rel=0.1)
    assert cost.flash == pytest.approx(flash, rel=0.05)
    assert cost.ram == pytest.approx(ram, rel=0.02)


@pytest.mark.parametrize(
    "dropped",
    [
        *(("std", "ax"), ("haar", "|a|")),
        *(pytest.param(group, marks=pytest.mark.slow) for group in (("cov", "ax*ay"), ("spectrum", "gz"))),
    ],
)
def test_a_group_costs_what_the_front_end_saves_without_it(dropped):
    windows = movements(64)
    kernels = {"stats": ["ax"], "std": ["ax", "ay"], "haar": ["|a|"], "step": ["|a|"], "cov": ["ax*ay"]}
    kernels |= {"bands": ["gz"], "spectrum": ["gz"]}
    extractor = WindowFeatures(kernels).fit(windows)
    groups = extractor.front_end_.groups
    less = extractor.front_end_.keep(i for i, group in enumerate(groups) if group != dropped)
    whole, rest = (
        executed(WindowFeatures.from_front_end(one), windows, "cortex-m7")
        for one in (extractor.front_end_, less)
    )
    cost = group_costs(extractor.front_end_)[dropped]
    assert cost.instructions == pytest.approx(whole[0] - rest[0], abs=0.02 * whole[0])
    assert cost.flash == pytest.approx(whole[1] - rest[1], abs=60)
    assert cost.ram == whole[2] - rest[2]


def test_what_is_shared_is_counted_once():
    extractor = WindowFeatures({"std": ["ax", "|a|"], "mad": ["ax"], "step": ["|a|"], "cov": ["ax*ay"]})
    front_end = extractor.fit(movements(64, 3)).front_end_
    prices, costs = kernel_prices(front_end), group_costs(front_end)
    step = {name: prices.steps[k.code] for name, k in KERNELS.items() if k.code in prices.steps}
    mean = prices.steps[0]
    assert costs["std", "ax"].instructions == pytest.approx(step["std"])  # mad needs the mean too
    assert costs["std", "|a|"].instructions == pytest.approx(step["std"] + mean)  # step needs the magnitude
    assert costs["cov", "ax*ay"].instructions == pytest.approx(step["cov"] + mean)  # of ay
    alone = front_end.keep([front_end.groups.index(("std", "ax"))])
    assert group_costs(alone)["std", "ax"] == front_end_cost(alone)


def test_an_avr_is_refused_by_name():
    front_end = WindowFeatures(["std"]).fit(movements(64, 3)).front_end_
    with pytest.raises(ValueError, match="is an AVR"):
        front_end_cost(front_end, "atmega328p")
