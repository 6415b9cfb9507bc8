"""ethereal: Tsetlin machines, trained fast, compressed, and put on microcontrollers."""

from importlib.metadata import version

from ethereal.booleanize import Booleanizer
from ethereal.model import Clause, Model

__version__ = version("ethereal-tm")
__all__ = ["Booleanizer", "Clause", "Model", "__version__"]
