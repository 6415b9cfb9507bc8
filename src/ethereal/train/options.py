"""Options of the commands that train a machine, and the classifier that they ask for."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from ethereal.base.options import option

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ethereal.train.classifier import EtherealClassifier
    from ethereal.train.regressor import EtherealRegressor


# From how many classes on they share so many clauses, where none are asked for: lab/notes/performance.md.
# Options that mean something to `EtherealRegressor`.
_OF_NUMBERS = (
    "clauses",
    "s",
    "epochs",
    "bins",
    "booleans",
    "seed",
    "jobs",
    "missing",
    "shorten",
    "noise_clauses",
    "refit",
)
_MANY_CLASSES, _SHARED_CLAUSES, _LEAST_OF_CLASS = 26, 15_000, 50


@dataclass(frozen=True)
class TrainingOptions:
    """A machine and its Booleans. See `EtherealClassifier`, whose defaults stand for None."""

    clauses: int | None = option(
        None, "Clauses per class. Default: 600, and fewer from 26 classes on, 150 of 100 classes."
    )
    T: int | None = option(None, "Vote margin of training. Default: the root of half the clauses.", "--T")
    s: float = option(5.0, "Specificity: larger gives longer clauses.", "--s")
    epochs: int | None = option(
        None, "Passes over the training rows. Default: 10 per class, at least 40 and at most 200."
    )
    exclude_every: int | None = option(None, "Epochs between two exclusions. Default: no exclusion.")
    bins: int | None = option(None, "Bins per feature, 0 for Boolean data. Default: up to 64.")
    booleans: str = option("thermometer", "thermometer or onehot.")
    validation: float = option(0.1, "Share of the training rows that chooses votes and epoch.")
    tolerance: float = option(0.0, "Accuracy given away for a smaller model, 0.005: half a point.")
    balanced: bool = option(False, "Visit rare classes as often as frequent ones.", "--balanced")
    seed: int = option(0, "The same seed gives the same model.")
    jobs: int = option(-1, "Threads, -1 for one per core.")
    patience: int | None = None
    noise_clauses: int | None = None
    refit: bool | None = None
    paper: bool = False
    literal_budget: int | None = None
    machine: str | None = None
    shorten: bool = False
    vanilla: bool = False
    boost: bool = True
    init: str = "middle"
    missing: Literal["auto", "ignore"] = "auto"  # of the Booleanizer

    def meeting(self, X: NDArray[Any], y: NDArray[Any]) -> TrainingOptions:
        """Return the options for all rows of a table, test rows among them.

        A model for a table that misses values answers such rows, whichever rows it was trained on. Many
        classes have fewer clauses each, because that is quicker and more accurate.
        """
        import numpy as np

        options, n_classes = self, len(np.unique(y))
        if X.dtype.kind == "f" and np.isnan(X).any():
            options = replace(options, missing="ignore")
        if options.clauses is None and not options.paper and n_classes >= _MANY_CLASSES:
            options = replace(options, clauses=max(_LEAST_OF_CLASS, _SHARED_CLAUSES // n_classes))
        return options

    def regressor(self) -> EtherealRegressor:
        """Return the estimator of a number that the options ask for. Options of classes alone are refused."""
        from ethereal.features.booleanizer import Booleanizer
        from ethereal.train.regressor import EtherealRegressor

        for each in fields(self):
            if each.name not in _OF_NUMBERS and getattr(self, each.name) != each.default:
                raise ValueError(
                    f"{each.name}= is for classes, but the label is a number. Leave it out, or give "
                    "task=class."
                )
        wanted = {"n_clauses": self.clauses, "epochs": self.epochs}
        encoding: Any = self.booleans
        bins: Any = "auto" if self.bins is None else self.bins
        return EtherealRegressor(
            **{name: value for name, value in wanted.items() if value is not None},  # type: ignore[arg-type]
            s=self.s,
            booleanizer=None if bins == 0 else Booleanizer(bins, encoding, missing=self.missing),
            n_jobs=self.jobs,
            random_state=self.seed,
        )

    def classifier(self, verbose: int) -> EtherealClassifier:
        """Return the estimator that the options ask for."""
        from ethereal.features.booleanizer import Booleanizer
        from ethereal.train.classifier import EtherealClassifier
        from ethereal.train.machine import Machine

        for name, known in (("booleans", ("thermometer", "onehot")), ("init", ("middle", "random"))):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is {getattr(self, name)!r}. It must be {' or '.join(known)}.")
        n_bins: Any = (10 if self.paper else "auto") if self.bins is None else self.bins
        encoding: Any = self.booleans
        unless_none = {"n_clauses": self.clauses, "refit_votes": self.refit, "init": self.init}
        for name in ("T", "epochs", "exclude_every", "noise_clauses"):
            unless_none[name] = getattr(self, name)
        parameters: dict[str, Any] = {n: value for n, value in unless_none.items() if value is not None}
        if self.vanilla:
            parameters["exclude_every"] = None
        return (EtherealClassifier.paper if self.paper else EtherealClassifier)(
            **parameters,
            s=self.s,
            boost_true_positive=self.boost,
            literal_budget=self.literal_budget,
            machine=None if self.machine is None else Machine.read(self.machine),
            booleanizer=None if n_bins == 0 else Booleanizer(n_bins, encoding, missing=self.missing),
            validation_fraction=self.validation,
            patience=self.patience,
            accuracy_tolerance=self.tolerance,
            shorten=self.shorten,
            class_weight="balanced" if self.balanced else None,
            n_jobs=self.jobs,
            random_state=self.seed,
            verbose=verbose,
        )


@dataclass(frozen=True)
class UnknownOptions:
    """When a model leaves a row unanswered. Up to ten more machines are trained to find that out."""

    unknown: float | None = option(
        None,
        'Accuracy that answers shall have, such as 0.95. Other rows are "unknown". Trains ten times more.',
    )
    answered: float | None = option(None, "Share of rows to answer, such as 0.9, in place of --unknown.")

    novelty: bool = option(
        False, "Let the model know what is normal, for NAME_is_normal() and NAME_drift() in C.", "--novelty"
    )

    def __post_init__(self) -> None:
        """Check that one of them is given at most."""
        if self.unknown is not None and self.answered is not None:
            raise ValueError("unknown= and answered= are both given. Give one of them.")

    def refuse_numbers(self) -> None:
        """Refuse all of them, because a number is never unknown."""
        for name, value in (
            ("unknown", self.unknown),
            ("answered", self.answered),
            ("novelty", self.novelty),
        ):
            if value:
                raise ValueError(f"{name}= is for classes, but the label is a number. Leave it out.")

    @property
    def wanted(self) -> dict[str, float | None] | None:
        """What is asked for, as `calibrate_unknown` takes it, None for an answer to every row."""
        if self.unknown is None and self.answered is None:
            return None
        return {"accuracy": self.unknown, "answered": self.answered}


@dataclass(frozen=True)
class TrainOptions(TrainingOptions):
    """Options of `ethereal train`, which trains one machine."""

    patience: int | None = option(
        None, "Stop after so many epochs without a better validation accuracy, and keep the best epoch."
    )
    noise_clauses: int | None = option(
        None,
        "Noise clauses per class, for labels that are wrong. 0 for none. Default: a sixth of the clauses.",
    )
    refit: bool | None = option(
        None, "Fit the votes again where held-out rows gain by it. Default: yes.", "--refit/--no-refit"
    )
    paper: bool = option(
        False,
        "The paper's settings as defaults: 100 clauses, T 15, exclusion every epoch, 50 epochs of which the "
        "best is kept, 10 bins, no noise clauses, no refit.",
        "--paper",
    )
    literal_budget: int | None = option(None, "Most literals a clause may include.")
    machine: str | None = option(
        None,
        "Another machine of the field: parts such as weighted or coalesced,drop_clauses=0.1. The others are "
        "negated_literals=no, focused_negatives and drop_literals.",
    )
    shorten: bool = option(False, "Drop the literals that decide nothing on the training rows.", "--shorten")
    vanilla: bool = option(False, "Train without exclusion, also with --paper.", "--vanilla")
    boost: bool = option(
        True,
        "Whether a matching clause always strengthens true literals. If not, with probability (s-1)/s.",
        "--boost/--no-boost",
    )
    init: str = option(
        "middle", "Where automata start: middle (all exclude) or random (on either side of it)."
    )
