"""The trained machine: clauses that vote, and everything that can be said of them without a device.

Loaded when it is first used: a program that only predicts must not wait for what it does not use.
"""

from typing import TYPE_CHECKING

from ethereal.base.lazy import loader

if TYPE_CHECKING:
    from ethereal.model.clauses import Clause, Clauses
    from ethereal.model.model import Model

__all__ = ["Clause", "Clauses", "Model"]

__getattr__ = loader(__name__, {"data": "Clause", "model": "Model"})
