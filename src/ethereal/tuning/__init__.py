"""Fit to a budget: the most accurate model that a board can hold.

Its names are loaded when they are first used, so that a command's options are known quickly.
"""

from typing import TYPE_CHECKING

from ethereal.base.lazy import loader

if TYPE_CHECKING:
    from ethereal.tuning.bounds import BudgetError, PrunedModel
    from ethereal.tuning.budget import Budget
    from ethereal.tuning.footprint import Footprint, estimate, on_device
    from ethereal.tuning.pruning import Pruning, prune
    from ethereal.tuning.search import BudgetNotMet, Trial, Tuning, front_of, tune
    from ethereal.tuning.space import Setup, Space

__all__ = [
    "Budget",
    "BudgetError",
    "BudgetNotMet",
    "Footprint",
    "PrunedModel",
    "Pruning",
    "Setup",
    "Space",
    "Trial",
    "Tuning",
    "estimate",
    "front_of",
    "on_device",
    "prune",
    "tune",
]

__getattr__ = loader(
    __name__,
    {
        "bounds": "BudgetError PrunedModel",
        "budget": "Budget",
        "footprint": "Footprint estimate on_device",
        "pruning": "Pruning prune",
        "search": "BudgetNotMet Trial Tuning front_of tune",
        "space": "Setup Space",
    },
)
