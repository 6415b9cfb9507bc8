"""What a model was pruned for: the bounds, the chip and the form of its program."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ethereal.model import Model

BOUNDS = ("flash", "ram", "instructions", "worst_instructions")
_TEXTS = ("target", "layout", "input")


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
        for name in _TEXTS:
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
    def is_bounded(self) -> bool:
        """Whether anything was bounded. A model that was pruned without a bound has a record, too."""
        return any(getattr(self, name) is not None for name in BOUNDS)

    def as_dict(self) -> dict[str, Any]:
        """Return what is not None, for JSON."""
        return {own.name: value for own in fields(self) if (value := getattr(self, own.name)) is not None}

    def describe(self) -> str:
        """Return the bounds and the core in words."""
        told = [_amount(name, value) for name in BOUNDS if (value := getattr(self, name)) is not None]
        bounds = ", ".join(told[:-1]) + (" and " if told[1:] else "") + told[-1] if told else "no bound"
        return bounds + ("" if self.target is None else f" on a {self.target}")

    def exceeded(self, **takes: float | None) -> list[str]:
        """Return a sentence for each bound that a program exceeds, by the names of the bounds.

        >>> Deployment(flash=4096, ram=200).exceeded(flash=4000, ram=212, instructions=900)
        ['It takes 212 bytes of RAM, more than the 200 bytes of RAM that the model was pruned for.']
        """
        bounds = {name: getattr(self, name) for name in BOUNDS}
        over = [
            (name, used)
            for name, bound in bounds.items()
            if bound is not None and (used := takes.get(name)) is not None and used > bound
        ]
        return [
            f"It takes {_amount(name, used)}, more than the {_amount(name, bounds[name])} that the model was "
            "pruned for."
            for name, used in over
        ]


def _amount(name: str, value: float) -> str:
    unit = {"flash": "bytes of flash", "ram": "bytes of RAM", "instructions": "instructions"}
    return f"{value:,.0f} {unit.get(name, 'instructions in the worst case')}"


class KnowsBoard:
    """The part of a `Model` that knows what it was pruned for."""

    deployment: Deployment | None  # None if it was not pruned, or has other clauses since

    def with_deployment(self: Any, deployment: Deployment | None) -> Model:
        """Return the model with another record of what it was pruned for, or none.

        `prune`, `tune` and `run` write the record. `ethereal.export` and `ethereal.device.measure` keep its
        chip, its layout and its bound on flash unless they are given others.

        >>> from ethereal import Model
        >>> model = Model([0], [0, 1], [[1]], n_booleans=1, classes=["x"])
        >>> model.with_deployment(Deployment(layout="compact", flash=4096)).deployment.layout
        'compact'
        """
        return self._with(deployment=deployment)  # type: ignore[no-any-return]
