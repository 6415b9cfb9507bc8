"""The trained machine, whose clauses vote. Its names are loaded when they are first used."""

from typing import TYPE_CHECKING

from ethereal.base.package import loader

if TYPE_CHECKING:
    from ethereal.model.clauses import Clause, Clauses
    from ethereal.model.model import Model
    from ethereal.model.output import Number
    from ethereal.model.patch import Patch

__all__ = ["Clause", "Clauses", "Model", "Number", "Patch"]

__getattr__ = loader(
    __name__, {"clauses": "Clause Clauses", "model": "Model", "output": "Number", "patch": "Patch"}
)
