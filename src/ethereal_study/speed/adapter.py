"""The adapter that drives this package in a process of its own (see `runner.py`).

The time of an epoch is what the classifier's own history says: the training pass, without evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ethereal import EtherealClassifier, __version__

LIBRARY = "ethereal"
VERSION = __version__
ROWS = np.bool_


def train(task: Any) -> Callable[[Any], Any]:
    """Train a vanilla machine on Boolean rows and return its `predict`."""
    machine = EtherealClassifier.paper(
        task.n_clauses,
        task.T,
        task.s,
        epochs=task.epochs,
        exclude_every=None,
        booleanizer=None,
        validation_fraction=0,
        n_jobs=task.threads,
        random_state=task.seed,
    )
    eval_set = (task.rows("test", np.bool_), task.labels("test")) if task.evaluate else None
    machine.fit(task.rows("train", np.bool_), task.labels("train"), eval_set=eval_set)
    for record in machine.history_:
        task.record(record["seconds"], record["includes"], record["eval_accuracy"])
    model = machine.model_
    return lambda rows: model.predict(rows, n_jobs=task.threads)
