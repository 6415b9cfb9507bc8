"""ethereal: Tsetlin machines, trained fast, compressed, and put on microcontrollers.

Importing it is quick: each part is loaded when it is first used, because scikit-learn alone takes about a
second.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ethereal.features.booleanizer import Booleanizer
    from ethereal.features.window_features import WindowFeatures
    from ethereal.model import Clause, Model
    from ethereal.runs.run import Run, run
    from ethereal.train.classifier import EtherealClassifier
    from ethereal.train.detector import EtherealDetector
    from ethereal.train.machine import Machine
    from ethereal.train.regressor import EtherealRegressor
    from ethereal.trees.importing import from_trees
    from ethereal.tuning import frontier, prune, tune

    __version__: str

_HOMES = {
    "Booleanizer": "ethereal.features.booleanizer",
    "Clause": "ethereal.model.clauses",
    "EtherealClassifier": "ethereal.train.classifier",
    "EtherealDetector": "ethereal.train.detector",
    "EtherealRegressor": "ethereal.train.regressor",
    "Machine": "ethereal.train.machine",
    "Model": "ethereal.model.model",
    "Run": "ethereal.runs.run",
    "WindowFeatures": "ethereal.features.window_features",
    "from_trees": "ethereal.trees.importing",
    "frontier": "ethereal.tuning",
    "prune": "ethereal.tuning",
    "run": "ethereal.runs.run",
    "tune": "ethereal.tuning",
}
_PACKAGES = {"cluster", "compress", "datasets", "device", "export"}

__all__ = [
    "Booleanizer",
    "Clause",
    "EtherealClassifier",
    "EtherealDetector",
    "EtherealRegressor",
    "Machine",
    "Model",
    "Run",
    "WindowFeatures",
    "__version__",
    "from_trees",
    "frontier",
    "prune",
    "run",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _PACKAGES:
        return import_module(f"ethereal.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("ethereal-tm")
    raise AttributeError(f"module 'ethereal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
