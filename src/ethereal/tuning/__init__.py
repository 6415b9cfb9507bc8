"""Fit to a budget: the most accurate model that a board can hold.

Names are loaded at their first use, so that a command knows its options quickly.
"""

from typing import TYPE_CHECKING

from ethereal.base.package import loader

if TYPE_CHECKING:
    from ethereal.base.checks import DoesNotFit
    from ethereal.compress.curve import PrunedModel
    from ethereal.tuning.budget import Budget, Search
    from ethereal.tuning.choice import BudgetError
    from ethereal.tuning.footprint import Footprint, estimate, on_device, priced
    from ethereal.tuning.frontiers import Frontier, FrontierPoint, frontier
    from ethereal.tuning.machines import Setup, Space
    from ethereal.tuning.pruning import Pruning, prune
    from ethereal.tuning.search import BudgetNotMet, Tuning, front_of, tune, tune_windows
    from ethereal.tuning.storage import Trial

__all__ = [
    "Budget", "BudgetError", "BudgetNotMet", "DoesNotFit", "Footprint", "Frontier", "FrontierPoint",
    "PrunedModel", "Pruning", "Search", "Setup", "Space", "Trial", "Tuning", "estimate", "front_of",
    "frontier", "on_device", "priced", "prune", "tune", "tune_windows",
]  # fmt: skip

__getattr__ = loader(
    __name__,
    {
        "budget": "Budget Search",
        "choice": "BudgetError DoesNotFit PrunedModel",
        "footprint": "Footprint estimate on_device priced",
        "frontiers": "Frontier FrontierPoint frontier",
        "pruning": "Pruning prune",
        "machines": "Setup Space",
        "search": "BudgetNotMet Tuning front_of tune tune_windows",
        "storage": "Trial",
    },
)
