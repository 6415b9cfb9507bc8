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
    executions. Of a program of 32 rows it is the mean of the rows of a call.
    """
    assert program.stand_ins is not None
    rng, values = np.random.default_rng(seed), program.stand_ins
    n_rows = _ROWS if program.call == "batch" else 1
    core = EmulatedCore(elf, chip, ram_bytes=_RAM)
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
        best, left = cost(rows), left - 1
        for f in rng.permutation(len(values)):
            if left <= 0:
                break
            for value in values[f]:
                other = rows.copy()
                other[rng.random(n_rows) < 0.7 if n_rows > 1 else 0, f] = value
                found, left = cost(other), left - 1
                if found > best:
                    rows, best = other, found
        most = max(most, best)
    return -(-most // n_rows), core.stack_bytes


def _random(rng: np.random.Generator, values: tuple[NDArray[Any], ...], n_rows: int) -> NDArray[Any]:
    return np.stack([rng.choice(own, n_rows) for own in values], axis=1)
