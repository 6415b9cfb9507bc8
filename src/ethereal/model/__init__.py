"""The trained machine: clauses that vote, and everything that can be said of them without a device.

Loaded when it is first used: a program that only predicts must not wait for what it does not use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ethereal.model.clauses import Clause, Clauses
    from ethereal.model.model import Model

__all__ = ["Clause", "Clauses", "Model"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("ethereal.model.model"), name)
    raise AttributeError(f"module 'ethereal.model' has no attribute {name!r}")
