"""The record of a budget that goes with the model which keeps it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ethereal.chips.targets import find_target
from ethereal.model.deployment import BOUNDS, Deployment

if TYPE_CHECKING:
    from ethereal.model import Model
    from ethereal.tuning.budget import Budget
    from ethereal.tuning.footprint import Footprint


def made_for(model: Model, budget: Budget, footprint: Footprint | None) -> Model:
    """Return the model with what it was pruned for, so that its export is the program that was measured.

    Flash and RAM of the whole chip do not count as bounds. Without any bound the record has the core alone.

    >>> from ethereal import Model
    >>> from ethereal.tuning import Budget, Footprint
    >>> model = Model([0], [0, 1], [[1, 0]], n_booleans=1, classes=["a", "b"])
    >>> own = made_for(model, Budget(flash="4k").on_chip(), Footprint(3767, 9000.0, 96, "compact")).deployment
    >>> own.layout, own.flash, own.ram, own.target
    ('compact', 4096, None, 'cortex-m7')
    >>> made_for(model, Budget(), None).deployment.as_dict()
    {'target': 'cortex-m7'}
    """
    chip = find_target(budget.target)
    whole = {"flash": chip.flash_bytes, "ram": chip.ram_bytes}
    given = {name: getattr(budget, name) for name in BOUNDS}
    bounds = {name: value for name, value in given.items() if value < whole.get(name, math.inf)}
    form: dict[str, Any] = {}
    if bounds and footprint is not None and footprint.layout is not None:
        form = {"layout": footprint.layout, "clause_bytes": footprint.clause_bytes, "input": "float"}
    return model.with_deployment(Deployment(target=chip.name, **form, **bounds))
