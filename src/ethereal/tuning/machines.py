"""The machines of a setup: trained from several seeds, joined, pruned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import clone

from ethereal.compress import join
from ethereal.compress.curve import Cost, Curve, PruneRows, Teacher, descend
from ethereal.features.booleanizer import Booleanizer
from ethereal.model import Model
from ethereal.train.classifier import EtherealClassifier
from ethereal.tuning.space import Setup

Labelled = tuple[Any, Any]  # rows and labels


def machine(setup: Setup, booleanizer: Booleanizer | None, epochs: int, seed: int) -> EtherealClassifier:
    """The first machine of a setup, not fitted."""
    return EtherealClassifier(
        setup.n_clauses,
        setup.T,
        setup.s,
        epochs=epochs,
        exclude_every=setup.exclude_every,
        literal_budget=setup.literal_budget,
        booleanizer=booleanizer,
        n_jobs=1,  # trials run side by side instead
        random_state=seed,
    )


def committee(first: EtherealClassifier, n_machines: int, train: Labelled, held_out: Labelled) -> Model:
    """The model of the first machine, joined with those of others that start from other seeds."""
    models = [first.model_]
    booleanizer = first.booleanizer_  # the same thresholds for all
    if booleanizer is not None:
        booleanizer = Booleanizer(
            encoding=booleanizer.encoding, thresholds=booleanizer.feature_map_, missing=booleanizer.missing
        )
    for i in range(1, n_machines):
        seed = first.random_state + 1000 * i
        other = clone(first).set_params(booleanizer=booleanizer, random_state=seed)
        models.append(other.fit(*train, validation_set=held_out).model_)
    return join(models) if len(models) > 1 else models[0]


def pruned(
    model: Model,
    train: Labelled,
    held_out: Labelled,
    teacher: Teacher,
    seed: int,
    cost: Callable[[Model], Cost],
) -> Curve[Cost]:
    """The pruning curve of a model."""
    rows, validation = PruneRows.read(model, *train), PruneRows.read(model, *held_out)
    return descend(model, rows, validation, teacher, cost, seed)
