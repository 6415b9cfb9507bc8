"""What a model was pruned for: the bounds, the chip and the form of its program."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

BOUNDS = ("flash", "ram", "instructions", "worst_instructions")


@dataclass(frozen=True)
class Deployment:
    """The record that `prune`, `tune` and `run` leave in a model. None is what was not bounded or chosen.

    Exports and measurements keep it unless other options are given. The record says nothing of how the model
    answers, so it does not count when models are compared. A model with other clauses loses it.

    >>> Deployment(target="cortex-m7", layout="compact", flash=4096).describe()
    '4,096 bytes of flash on a cortex-m7'
    """

    target: str | None = None  # core
    layout: str | None = None  # of the C that kept the bounds
    clause_bytes: int | None = None  # of that layout
    input: str | None = None  # number type of the features
    flash: float | None = None  # bytes
    ram: float | None = None  # bytes, stack included
    instructions: float | None = None  # of the most expensive held-out row
    worst_instructions: float | None = None  # of any row

    def __post_init__(self) -> None:
        """Check what a file may hold."""
        for name in ("target", "layout", "input"):
            if not isinstance(getattr(self, name), (str, type(None))):
                raise TypeError(f"{name} of the deployment is {getattr(self, name)!r}. It must be a text.")
        for name in (*BOUNDS, "clause_bytes"):
            value = getattr(self, name)
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if value is not None and not (is_number and 0 <= value < math.inf):
                raise ValueError(f"{name} of the deployment is {value!r}. It must be a number from 0 on.")
        if isinstance(self.clause_bytes, float):
            raise TypeError(f"clause_bytes of the deployment is {self.clause_bytes!r}. It must be whole.")

    @property
    def _bounds(self) -> dict[str, float]:
        return {name: value for name in BOUNDS if (value := getattr(self, name)) is not None}

    def as_dict(self) -> dict[str, Any]:
        """Return what is not None, for JSON."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def describe(self) -> str:
        """Return the bounds and the core in words."""
        *amounts, last = [_amount(name, value) for name, value in self._bounds.items()] or ["no bound"]
        bounds = f"{', '.join(amounts)} and {last}" if amounts else last
        return bounds + ("" if self.target is None else f" on a {self.target}")

    def exceeded(self, **takes: float | None) -> list[str]:
        """Return a sentence for each bound that a program exceeds, by the names of the bounds."""
        return [
            f"It takes {_amount(name, used)}, more than the {_amount(name, bound)} that the model was "
            "pruned for."
            for name, bound in self._bounds.items()
            if (used := takes.get(name)) is not None and used > bound
        ]


def _amount(name: str, value: float) -> str:
    unit = {"flash": "bytes of flash", "ram": "bytes of RAM", "instructions": "instructions"}
    return f"{value:,.0f} {unit.get(name, 'instructions in the worst case')}"
