"""How our models of the frontier are made on each set of the study.

Test rows choose nothing. The models of a cell are those of `ethereal.frontier`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.compress import curve
from ethereal.compress.curve import TEACHERS, Teacher
from ethereal.datasets import Dataset
from ethereal.features.booleanizer import Booleanizer
from ethereal.tuning import Frontier, Setup, frontier
from ethereal_study import cells
from ethereal_study.board import fingerprint
from ethereal_study.cells import StudyRows
from ethereal_study.settings import SETTINGS
from ethereal_study.store import Cell

_CODE = (
    *(f"ethereal/{x}" for x in ("export", "device", "chips", "model", "compress", "tuning")),
    "ethereal_study/frontier.py",
)
# Bins (None: the features are Boolean, or have one fixed threshold), clauses, T, s, epochs, machines. No
# exclusion: pruning shortens clauses anyway. Chosen by validation rows: lab/notes/tuning.md.
PLANS: dict[str, tuple[int | None, int, int, float, int, int]] = {
    "statlog": (64, 300, 16, 3.0, 100, 4),
    "mammography": (8, 50, 7, 3.0, 60, 4),
    "har": (16, 200, 14, 3.0, 60, 4),
    "gas": (8, 300, 12, 5.0, 60, 4),
    "emg": (8, 300, 14, 3.75, 60, 4),
    "sensorless": (10, 300, 15, 5.0, 60, 4),
    "sports": (8, 150, 12, 3.0, 20, 1),
    "gesture": (32, 500, 25, 9.0, 60, 4),
    "mnist": (None, 1000, 50, 10.0, 40, 1),
}
# Validations where rows or groups are few, else one.
SPLITS = {"statlog": 10, "mammography": 10, "har": 3, "gas": 4}
# What pruning learns from, else all: "blends" gives nothing where rows are alike, and doubles the time.
LESSONS: dict[str, tuple[Teacher, ...]] = {
    **dict.fromkeys(("mnist", "sensorless"), ("votes",)),
    **dict.fromkeys(("emg", "gesture", "sports"), ("votes", "labels")),
}
SWEEPS = {"har": 6}  # of pruning per price, else 2
MOST_SEEDS = {"mnist": 3}  # of sets that take long


def seeds(name: str, asked: int) -> int:
    """Return how many seeds of a set are computed.

    >>> seeds("har", 5), seeds("mnist", 5)
    (5, 3)
    """
    return min(asked, MOST_SEEDS.get(name, asked))


def basis(name: str) -> dict[str, Any]:
    """Return what our models on a set and their costs rest on."""
    if name not in PLANS:
        raise ValueError(f"Models are not planned for {name!r}. There are {', '.join(PLANS)}")
    plan = {"plan": PLANS[name], "splits": SPLITS.get(name, 1), "teachers": LESSONS.get(name, TEACHERS)}
    plan["sweeps"] = SWEEPS.get(name, curve.SWEEPS)
    return cells.basis(name) | plan | {"code": fingerprint(_CODE)}


def groups_of(data: Dataset) -> NDArray[Any] | None:
    """Return the groups of training rows to validate on, None where rows of all groups are in the test.

    Where test rows come from people or times that training rows do not have, so do validation rows.
    """
    groups = data.groups_train
    if data.groups is None or groups is None or np.isin(data.groups[data.test], groups).all():
        return None
    return groups


def models_of(cell: Cell, data: Dataset, rows: StudyRows) -> Frontier:
    """Our models, from large to small. No test row is seen."""
    bins, n_clauses, T, s, epochs, machines = PLANS[cell.dataset]
    X, settings = rows.X_train, SETTINGS[cell.dataset]
    booleanizer = None if settings.threshold is None else Booleanizer(thresholds=settings.threshold)
    if bins is not None:
        booleanizer = Booleanizer(bins, missing="ignore" if np.isnan(X).any() else "raise")
    return frontier(
        X,
        rows.y_train,
        Setup((), (), n_clauses, T, s, None, None, machines, "votes", 0.0),
        splits=SPLITS.get(cell.dataset, 1),
        teachers=LESSONS.get(cell.dataset, TEACHERS),
        groups=groups_of(data),
        epochs=epochs if cell.epochs is None else cell.epochs,
        booleanizer=booleanizer,
        sweeps=SWEEPS.get(cell.dataset, curve.SWEEPS),
        random_state=cell.seed,
    )
