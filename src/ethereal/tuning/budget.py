"""What a board can give: flash, RAM, instructions per row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ethereal.base.quantities import parse_bytes, parse_count
from ethereal.tuning.bounds import Bounds


@dataclass(frozen=True)
class Budget:
    """Bounds for a model on a core; a bound that is not given is that of the target's chip.

    >>> Budget.of(flash="8k", instructions="20k").describe()
    '8192 bytes of flash, 327680 bytes of RAM and 20000 instructions per row on cortex-m7'
    """

    flash: int  # bytes, code included
    ram: int  # bytes, stack included
    instructions: float  # of the most expensive row, from features to class; inf: no bound
    target: str

    @staticmethod
    def of(
        flash: int | str | None = None,
        ram: int | str | None = None,
        instructions: float | str | None = None,
        target: str = "cortex-m7",
    ) -> Budget:
        """A budget from numbers or texts such as "8k"."""
        from ethereal.device import find_core

        chip = find_core(target)
        return Budget(
            _within("flash", chip.flash_bytes if flash is None else parse_bytes("flash", flash), chip),
            _within("ram", chip.ram_bytes if ram is None else parse_bytes("ram", ram), chip),
            math.inf if instructions is None else parse_count("instructions", instructions),
            chip.name,
        )

    @property
    def bounds(self) -> Bounds:
        """As pruning takes it."""
        return Bounds(self.flash, self.instructions, self.ram)

    def describe(self) -> str:
        """The bounds in words."""
        speed = "" if self.instructions == math.inf else f" and {self.instructions:g} instructions per row"
        between = "," if speed else " and"
        return f"{self.flash} bytes of flash{between} {self.ram} bytes of RAM{speed} on {self.target}"


def _within(name: str, value: int, chip: Any) -> int:
    most = {"flash": chip.flash_bytes, "ram": chip.ram_bytes}[name]
    if value > most:
        raise ValueError(
            f"{name} is {value} bytes, but {chip.name} ({chip.chip}) has {most}; take another target, or less"
        )
    return value
