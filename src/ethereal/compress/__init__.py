"""Model to smaller Model."""

from ethereal.compress.bounds import BudgetError, PrunedModel
from ethereal.compress.footprint import Footprint, estimate, on_device
from ethereal.compress.join import join
from ethereal.compress.prune import Pruning, prune
from ethereal.compress.shorten import shorten
from ethereal.compress.simplify import simplify

__all__ = [
    "BudgetError",
    "Footprint",
    "PrunedModel",
    "Pruning",
    "estimate",
    "join",
    "on_device",
    "prune",
    "shorten",
    "simplify",
]
