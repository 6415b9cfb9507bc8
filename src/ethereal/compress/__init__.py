"""Model to smaller Model."""

from ethereal.compress.footprint import Footprint, estimate
from ethereal.compress.prune import BudgetError, PrunedModel, Pruning, prune
from ethereal.compress.shorten import shorten
from ethereal.compress.simplify import simplify

__all__ = [
    "BudgetError",
    "Footprint",
    "PrunedModel",
    "Pruning",
    "estimate",
    "prune",
    "shorten",
    "simplify",
]
