"""Labelled rows in folds, and the machines of a setup that learn from them, joined and pruned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from ethereal.base.matrices import refuse_non_numeric_columns
from ethereal.compress import join
from ethereal.compress.curve import SWEEPS, Cost, Curve, PruneRows, Teacher, prune_path
from ethereal.features.booleanizer import Booleanizer
from ethereal.features.front_end import FrontEnd
from ethereal.features.window_features import WindowFeatures
from ethereal.model import Model
from ethereal.train.classifier import EtherealClassifier
from ethereal.tuning.space import Setup

Labelled = tuple[Any, Any]  # rows and labels
VALIDATION = 0.2  # share of the rows that validates, of one fold


def labelled(
    X: ArrayLike, y: ArrayLike, groups: ArrayLike | None, name: str
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Check and return rows, labels and groups of rows as arrays. `name` is that of the groups."""
    rows, labels = matrix(X), np.asarray(y)
    if labels.shape != (len(rows),):
        raise ValueError(f"y has shape {labels.shape}. It must have one label for each of {len(rows)} rows.")
    together = None if groups is None else np.asarray(groups)
    if together is not None and together.shape != labels.shape:
        raise ValueError(f"{name} has shape {together.shape}. Give one group for each of {len(rows)} rows.")
    return rows, labels, together


def matrix(X: Any) -> NDArray[Any]:
    """Check and return rows of numbers as an array."""
    refuse_non_numeric_columns(X)
    rows = np.asarray(X)
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":
        raise ValueError(f"X has dtype {rows.dtype} and shape {rows.shape}. It must be a matrix of numbers.")
    return rows


def parts(X: NDArray[Any], y: NDArray[Any], held_out: NDArray[np.intp]) -> tuple[Labelled, Labelled]:
    """Return the rows to train on and the rows to validate on."""
    train = np.ones(len(y), dtype=bool)
    train[held_out] = False
    return (X[train], y[train]), (X[held_out], y[held_out])


def machine(
    setup: Setup,
    booleanizer: Booleanizer | None,
    epochs: int,
    seed: int,
    front_end: FrontEnd | None = None,
) -> EtherealClassifier:
    """Return the first machine of a setup, not fitted."""
    return EtherealClassifier.paper(
        setup.n_clauses,
        setup.T,
        setup.s,
        epochs=epochs,
        exclude_every=setup.exclude_every,
        literal_budget=setup.literal_budget,
        booleanizer=booleanizer,
        front_end=None if front_end is None else WindowFeatures.from_front_end(front_end),
        n_jobs=1,  # trials run side by side instead
        random_state=seed,
    )


@dataclass(frozen=True)
class Machines:
    """How the machines of a setup learn."""

    setup: Setup
    booleanizer: Booleanizer | None
    epochs: int
    seed: int
    categories: Mapping[int, Sequence[str]] = field(default_factory=dict)  # names of columns of texts
    front_end: FrontEnd | None = None  # of windows

    def first(self, epochs: int) -> EtherealClassifier:
        """Return the first machine, not fitted."""
        return machine(self.setup, self.booleanizer, epochs, self.seed, self.front_end)

    def joined(self, train: Labelled, held_out: Labelled) -> Model:
        """Return the joined model of all machines. The held-out rows choose the epochs."""
        first = self.first(self.epochs)
        first.fit(*train, validation_set=held_out, categories=self.categories)
        return self.committee(first, train, held_out)

    def committee(self, first: EtherealClassifier, train: Labelled, held_out: Labelled) -> Model:
        """Return the model of the first machine, joined with those of machines from other seeds."""
        return committee(first, train, self.setup.machines, self.categories, held_out)


def committee(
    first: EtherealClassifier,
    train: Labelled,
    n_machines: int,
    categories: Mapping[int, Sequence[str]] | None = None,
    held_out: Labelled | None = None,
) -> Model:
    """Return the model of a fitted machine, joined with those of machines from other seeds.

    All learn from the same rows and have the same thresholds. The held-out rows choose the epochs, if given.
    """
    models, booleanizer = [first.plain_model_], first.booleanizer_
    if n_machines == 1:
        return models[0]
    if booleanizer is not None:
        booleanizer = Booleanizer(
            encoding=booleanizer.feature_map_.encoding,  # one-hot for categories
            thresholds=booleanizer.feature_map_,
            missing=booleanizer.missing,
        )
    for i in range(1, n_machines):
        other = clone(first).set_params(booleanizer=booleanizer, random_state=first.random_state + 1000 * i)
        other.fit(*train, validation_set=held_out, categories=categories)
        models.append(other.plain_model_)
    return join(models)


def pruned(
    model: Model,
    train: Labelled,
    held_out: Labelled,
    teacher: Teacher,
    seed: int,
    cost: Callable[[Model], Cost],
    sweeps: int = SWEEPS,
) -> Curve[Cost]:
    """Return the pruning curve of a model."""
    rows, validation = PruneRows.read(model, *train), PruneRows.read(model, *held_out)
    return prune_path(model, rows, validation, teacher, cost, seed, sweeps=sweeps)
