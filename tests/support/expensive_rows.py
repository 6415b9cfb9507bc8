"""Search for rows that take many instructions, to compare them with a bound that should hold for all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.chips.elf import Elf
from ethereal.chips.targets import Target
from ethereal.device.emulator import EmulatedCore
from ethereal.device.program import CProgram

_ROWS = 32  # of a call of a program that takes many
_RAM = 1 << 20


def most_expensive(
    elf: Elf, chip: Target, program: CProgram, calls: int = 2000, seed: int = 0
) -> tuple[int, int]:
    """Return the most instructions per row, and the stack, found by changing rows feature by feature.

    It begins with random rows and keeps each change that takes more instructions. `calls` bounds the
    executions. Of a program of 32 rows it is the mean of the rows of a call. Of a program of raw windows,
    stretches of samples are changed.
    """
    rng = np.random.default_rng(seed)
    if program.row:
        return _most_of_windows(EmulatedCore(elf, chip, ram_bytes=_RAM), program, calls, rng)
    assert program.stand_ins is not None
    values = program.stand_ins
    n_rows = _ROWS if program.call == "batch" else 1
    core = EmulatedCore(elf, chip, ram_bytes=_RAM)
    for each in program.assumed.get(program.function, [[]])[0]:
        if not each.points_to:  # as learned votes, which only count once there are some
            where = elf.symbols[each.variable].address + each.offset
            core.write(where, np.array(each.values[-1:], dtype=f"<u{each.width}"))
    at = core.buffer(_random(rng, values, n_rows))
    more = [n_rows, core.buffer(np.zeros(n_rows, np.uint16), writable=True)] if n_rows > 1 else []

    def cost(rows: NDArray[Any]) -> int:
        core.write(at, rows)
        before = core.instructions
        core.call(program.function, at, *more)
        return core.instructions - before

    most, left = 0, calls
    while left > 0:
        rows = _random(rng, values, n_rows)
        best, left, is_better = cost(rows), left - 1, True
        while is_better and left > 0:  # until no feature of the row can be changed with a gain
            is_better = False
            for f in rng.permutation(len(values)):
                for value in values[f][: max(left, 0)]:
                    other = rows.copy()
                    other[rng.random(n_rows) < 0.7 if n_rows > 1 else 0, f] = value
                    counted, left = cost(other), left - 1
                    if counted > best:
                        rows, best, is_better = other, counted, True
        most = max(most, best)
    return -(-most // n_rows), core.stack_bytes


def _random(rng: np.random.Generator, values: tuple[NDArray[Any], ...], n_rows: int) -> NDArray[Any]:
    return np.stack([rng.choice(of_feature, n_rows) for of_feature in values], axis=1)


def _most_of_windows(
    core: EmulatedCore, program: CProgram, calls: int, rng: np.random.Generator
) -> tuple[int, int]:
    size, most, left = program.rows.shape[1], 0, calls
    at = core.buffer(np.zeros(size, np.int16))

    def cost(samples: NDArray[np.int16]) -> int:
        core.write(at, samples)
        before = core.instructions
        core.call(program.function, at)
        return core.instructions - before

    for kind in range(_KINDS):
        samples = _samples(rng, size, kind)
        best, left = cost(samples), left - 1
        for _ in range(max(1, calls // _KINDS)):
            other, begin = samples.copy(), int(rng.integers(size))
            stretch = slice(begin, begin + int(rng.integers(1, size + 1)), int(rng.integers(1, 8)))
            other[stretch] = _samples(rng, size, int(rng.integers(_KINDS)))[stretch]
            counted, left = cost(other), left - 1
            if counted > best:
                samples, best = other, counted
            if left <= 0:
                break
        most = max(most, best)
    return most, core.stack_bytes


_KINDS = 7


def _samples(rng: np.random.Generator, size: int, kind: int) -> NDArray[np.int16]:
    """Return samples: random, at the ends, alternating, constant, still, smooth, or as low as can be."""
    i = np.arange(size)
    made = (
        rng.integers(-32768, 32768, size),
        rng.choice([-32768, 32767], size),
        np.where(i // int(rng.integers(1, 8)) % 2, 32767, -32768),
        np.full(size, rng.integers(-32768, 32768)),
        rng.integers(-4, 5, size) + rng.integers(-2000, 2000),
        32767 * rng.random() * np.sin(i * 3 * rng.random()),
        np.full(size, -32768),
    )
    return np.asarray(made[kind]).astype(np.int16)
