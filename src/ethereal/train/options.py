"""Options of the commands that train a machine, and the classifier that they ask for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ethereal.base.options import option

if TYPE_CHECKING:
    from ethereal.train.classifier import EtherealClassifier


@dataclass(frozen=True)
class TrainingOptions:
    """A machine and its Booleans. See `EtherealClassifier` and `Booleanizer`."""

    clauses: int = option(100, "Clauses per class, an even number.")
    T: int | None = option(None, "Vote margin of training. Default: the root of half the clauses.", "--T")
    s: float = option(5.0, "Specificity: larger gives longer clauses.", "--s")
    epochs: int = option(50, "Passes over the training rows.")
    exclude_every: int = option(1, "Epochs between two exclusions.")
    bins: int = option(10, "Bins per feature, 0 for Boolean data.")
    booleans: str = option("thermometer", "thermometer or onehot.")
    validation: float = option(0.1, "Share of the training rows that chooses the epoch.")
    tolerance: float = option(0.0, "Accuracy given away for a smaller model, 0.005: half a point.")
    balanced: bool = option(False, "Visit rare classes as often as frequent ones.", "--balanced")
    seed: int = option(0, "The same seed gives the same model.")
    jobs: int = option(-1, "Threads, -1 for one per core.")
    literal_budget: int | None = None
    shorten: bool = False
    vanilla: bool = False

    def classifier(self, verbose: int) -> EtherealClassifier:
        """Return the estimator that the options ask for."""
        from ethereal.features.booleanizer import Booleanizer
        from ethereal.train.classifier import EtherealClassifier

        kind: Literal["thermometer", "onehot"] = "onehot" if self.booleans == "onehot" else "thermometer"
        if self.booleans != kind:
            raise ValueError(f"--booleans is {self.booleans!r}. It must be thermometer or onehot.")
        return EtherealClassifier(
            self.clauses,
            max(1, round(math.sqrt(self.clauses / 2))) if self.T is None else self.T,
            self.s,
            epochs=self.epochs,
            exclude_every=None if self.vanilla else self.exclude_every,
            literal_budget=self.literal_budget,
            booleanizer=None if self.bins == 0 else Booleanizer(n_bins=self.bins, encoding=kind),
            validation_fraction=self.validation,
            accuracy_tolerance=self.tolerance,
            shorten=self.shorten,
            class_weight="balanced" if self.balanced else None,
            n_jobs=self.jobs,
            random_state=self.seed,
            verbose=verbose,
        )


@dataclass(frozen=True)
class TrainOptions(TrainingOptions):
    """Options of `ethereal train`, which trains one machine."""

    literal_budget: int | None = option(None, "Most literals a clause may include.")
    shorten: bool = option(False, "Drop the literals that decide nothing on the training rows.", "--shorten")
    vanilla: bool = option(False, "Train without exclusion.", "--vanilla")


@dataclass(frozen=True)
class RunOptions(TrainingOptions):
    """Options of `ethereal run`, which trains a vanilla machine and one with exclusion."""

    tolerance: float = option(0.005, "Accuracy given away for a smaller model, 0.005: half a point.")
