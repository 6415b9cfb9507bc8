"""ethereal: Tsetlin machines, trained fast, compressed, and put on microcontrollers."""

from importlib.metadata import version

from ethereal.booleanize import Booleanizer
from ethereal.classifier import EtherealClassifier
from ethereal.model import Clause, Model

__version__ = version("ethereal-tm")
__all__ = ["Booleanizer", "Clause", "EtherealClassifier", "Model", "__version__"]
