"""What the features of windows cost on a core, kernel by kernel, counted by executing them.

A price is that of a step of the plan: a mean, a magnitude, or a kernel of an axis or pair. A mean and a
magnitude are computed once for all kernels that need them. So a front end costs the sum over its steps.
What a group costs is the cost of the front end less that of the front end without the group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.chips.elf import Elf
from ethereal.chips.targets import find_core
from ethereal.chips.toolchain import compile_elf
from ethereal.device.emulator import EmulatedCore
from ethereal.device.program import CProgram
from ethereal.export.c99.ctext import Tables, filled, read
from ethereal.export.c99.parts.windows import HEADER, functions, ram_of, write_tables, write_waves
from ethereal.export.options import ExportOptions
from ethereal.features.front_end import MAGNITUDE, MEAN, FrontEnd, Group, header
from ethereal.model.needs import NotSupported

_WINDOWS = 3  # that are executed, each louder than the one before
_TABLE_ENTRY = 8  # bytes of the list of tables that the check at start-up reads
_RAM = 1 << 22
_MAIN = """
#include <stdint.h>
#define ET_API
#define MODEL_FEATURES @features@u
@flash@
@tables@
unsigned model_predict(const int16_t *features);
unsigned model_predict(const int16_t *features)
{
    return (uint16_t)features[0];
}
@declared@
@defined@
"""
_MOST_FEATURES = 4096
_VARIABLE_PLAN = """
const uint8_t *price_plan;
unsigned price_steps;
#define et_plan price_plan
#define ET_STEPS price_steps
"""


@dataclass(frozen=True)
class FrontEndCost:
    """What the features of a window take, from the samples to the features."""

    instructions: float
    flash: int  # bytes of code and tables
    ram: int  # bytes of variables, the samples of a window among them, without the stack


@dataclass(frozen=True, eq=False)
class KernelPrices:
    """Instructions of every step that a front end, or a part of it, may have."""

    call: float  # without any step
    steps: Mapping[int, float]  # by the number of the kernel in window_features.h

    def instructions(self, front_end: FrontEnd) -> float:
        """Return the instructions of the features of a window. The kernels are among those with a price."""
        return self.call + sum(self.steps[code] for code in front_end.plan[:, 0].tolist())


def front_end_cost(front_end: FrontEnd, target: str = "cortex-m7") -> FrontEndCost:
    """Return what a front end costs on a core, the stream of samples included.

    >>> own = FrontEnd(("ax", "ay", "az"), 64, (("std", "ax"), ("std", "ay")))
    >>> cost = front_end_cost(own)
    >>> 1500 < cost.instructions < 3000, 300 < cost.flash < 800, cost.ram
    (True, True, 414)
    """
    return FrontEndCost(kernel_prices(front_end, target).instructions(front_end), *_sizes(front_end, target))


def _sizes(front_end: FrontEnd, target: str) -> tuple[int, int]:
    """Return the flash and the RAM of a front end."""
    _refuse_frames(front_end)
    elf = _compiled(_text(front_end), find_core(target).name)
    tables = 1 + (front_end.wave_size > 0) + len(front_end.band_ends)
    flash = elf.code_bytes + elf.table_bytes + front_end.plan.size + _TABLE_ENTRY * tables
    return flash, ram_of(front_end)


def _refuse_frames(front_end: FrontEnd) -> None:
    """Refuse frames, whose features are bits as soon as they are known."""
    if front_end.frames is not None:
        raise NotSupported(
            "prices of kernels are those of whole windows, and this front end has frames. Measure the model."
        )


def group_costs(front_end: FrontEnd, target: str = "cortex-m7") -> dict[Group, FrontEndCost]:
    """Return what each group adds to the cost of all others. A single group has the whole cost.

    >>> own = FrontEnd(("ax", "ay"), 64, (("stats", "ax"), ("std", "ax"), ("std", "ay")))
    >>> costs = group_costs(own)
    >>> costs["std", "ax"].instructions < costs["std", "ay"].instructions  # `stats` gives the mean of ax
    True
    """
    whole = front_end_cost(front_end, target)
    if len(front_end.groups) == 1:
        return {front_end.groups[0]: whole}
    prices, costs = kernel_prices(front_end, target), {}
    for i, group in enumerate(front_end.groups):
        less = front_end.keep(k for k in range(len(front_end.groups)) if k != i)
        flash, ram = _sizes(less, target)
        saved = whole.instructions - prices.instructions(less), whole.flash - flash, whole.ram - ram
        costs[group] = FrontEndCost(*saved)
    return costs


def _text(front_end: FrontEnd, *more: int) -> str:
    """Return C with the kernels of a front end and more steps. The plan is a variable."""
    out = Tables()
    codes = {*front_end.plan[:, 0].tolist(), *more}
    out.define("ET_KERNELS", f"0x{sum(1 << code for code in codes):04X}")
    write_waves(out, front_end)
    return _filled(front_end, out.render() + _VARIABLE_PLAN, _MOST_FEATURES)


def _filled(front_end: FrontEnd, tables: str, n_features: int) -> str:
    plain = replace(front_end, scale=None, units=None)
    declared, defined = functions(plain, ExportOptions(name="model"))
    values = {"features": str(n_features), "flash": read("c99/runtime/flash.h"), "tables": tables}
    return filled(_MAIN, values | {"declared": declared, "defined": defined})


def features_program(front_end: FrontEnd, windows: ArrayLike) -> CProgram:
    """Return the program that computes the features of windows, for what answers by features.

    Its answer is the first feature, as 16 bits without a sign.
    """
    _refuse_frames(front_end)
    out, counts = Tables(), front_end.counts(windows)
    write_tables(out, front_end)
    files = {"model.c": _filled(front_end, out.render(), len(front_end.names)), HEADER: header()}
    first = front_end.transform(counts)[:, 0].astype(np.uint16).astype(np.int64)
    rows = counts.reshape(len(counts), -1)
    return CProgram("features", files, "model_window", rows, first, beside=("model_push",))


@lru_cache(maxsize=256)
def _compiled(text: str, target: str) -> Elf:
    files = {"model.c": text, HEADER: header()}
    return compile_elf(files, find_core(target), ["model_window", "model_push"], optimize="-Os")


def kernel_prices(front_end: FrontEnd, target: str = "cortex-m7") -> KernelPrices:
    """Return the prices of all steps that a front end and its parts may have, counted on made-up windows."""
    _refuse_frames(front_end)
    return _priced(replace(front_end, scale=None, units=None), find_core(target).name)


@lru_cache(maxsize=256)
def _priced(front_end: FrontEnd, target: str) -> KernelPrices:
    chip, n_axes = find_core(target), len(front_end.axes)
    core = EmulatedCore(_compiled(_text(front_end, MEAN), chip.name), chip, ram_bytes=_RAM)
    windows = _windows(front_end.window, n_axes)
    samples = core.buffer(np.zeros(windows[0].size, dtype=np.int16))
    plan = core.buffer(np.zeros(8, dtype=np.uint8))  # of two steps
    core.write(core.elf.symbols["price_plan"].address, np.array([plan], dtype="<u4"))

    def count(*steps: tuple[int, ...]) -> float:
        core.write(core.elf.symbols["price_steps"].address, np.array([len(steps)], dtype="<u4"))
        core.write(plan, np.array(steps, dtype=np.uint8))
        before = core.instructions
        for window in windows:
            core.write(samples, window)
            core.call("model_window", samples)
        return (core.instructions - before) / len(windows)

    call, first = count(), (MEAN, 0, 0, 0)
    steps = {MEAN: count(first) - call}
    first_of = {step[0]: tuple(step) for step in front_end.plan[::-1].tolist()}
    for code in sorted(first_of):
        if code == MAGNITUDE:
            steps[code] = count(first_of[code]) - call
        elif code != MEAN:
            steps[code] = count(first, (code, 0, min(1, n_axes - 1), 0)) - call - steps[MEAN]
    return KernelPrices(call, steps)


def _windows(n: int, n_axes: int) -> NDArray[np.int16]:
    """Return waves with noise, from quiet to loud."""
    rng = np.random.default_rng(0)
    time, loud = np.arange(n)[:, None], 30.0 * 10.0 ** np.arange(_WINDOWS)[:, None, None]
    waves = np.sin(rng.uniform(0.05, 0.6, n_axes) * time) + 0.3 * rng.normal(size=(_WINDOWS, n, n_axes))
    return np.clip(np.rint(loud * waves + 500), -(2**15), 2**15 - 1).astype(np.int16)
