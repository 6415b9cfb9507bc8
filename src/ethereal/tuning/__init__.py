"""Fit to a budget: the most accurate model that a board can hold."""

from ethereal.tuning.budget import Budget
from ethereal.tuning.search import BudgetNotMet, Trial, Tuning, front_of, tune
from ethereal.tuning.space import Setup, Space

__all__ = ["Budget", "BudgetNotMet", "Setup", "Space", "Trial", "Tuning", "front_of", "tune"]
