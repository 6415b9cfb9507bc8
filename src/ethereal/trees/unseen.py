"""What learners answer to rows that they did not see: a teacher that is as sure as it can be, and not surer.

A model knows the rows that it learned from, so its answers there are close to the labels. A fifth of the rows
is left out in turn, and a forest and boosted trees that learned from the others answer them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.splits import deal_rows
from ethereal.compress.curve import PruneRows
from ethereal.features.packing import evenly
from ethereal.model import Model
from ethereal.model.calibration import softmax
from ethereal.trees.grow import Codes, Floats, Ground, Shape, boosted

_FOLDS = 5
_SHAPE = Shape(20, 8, 0.35)
_FOREST, _MOST_ROWS = 30, 6000  # trees, and rows that each learner sees


def with_unseen(model: Model, rows: PruneRows, seed: int) -> PruneRows:
    """Return rows of a model with the answers that the teacher "unseen" takes."""
    codes = Ground.like(model, rows.raw).codes(rows.raw)
    return replace(rows, unseen=unseen_shares(codes, rows.codes, model.n_classes, rows.groups, seed))


def unseen_shares(codes: Codes, targets: NDArray[Any], n_classes: int, groups: NDArray[Any] | None,
                  seed: int) -> Floats:  # fmt: skip
    """Return the shares of the classes, rows x classes, that learners give to rows they did not see.

    `targets` has the class of each row. Whole groups are left out where there are several.
    """
    several = groups if groups is not None and len(np.unique(groups)) > 1 else None
    shares = np.zeros((len(targets), n_classes))
    for part in deal_rows(targets, _FOLDS, seed % 2**32, several):
        rest = np.setdiff1d(np.arange(len(targets)), part)
        some = rest[evenly(len(rest), _MOST_ROWS)]
        shares[part] = _answers(codes[some], targets[some], codes[part], n_classes, seed)
    return shares


def _answers(known: Codes, targets: NDArray[Any], unknown: Codes, n_classes: int, seed: int) -> Floats:
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(_FOREST, random_state=seed % 2**32, n_jobs=1).fit(known, targets)
    answers = np.zeros((len(unknown), n_classes))
    answers[:, forest.classes_] = forest.predict_proba(unknown)
    trees = boosted(known, np.eye(n_classes)[targets], _SHAPE.for_columns(known.shape[1]), seed % 2**31)
    sums = np.zeros_like(answers)
    for tree, values in trees:
        sums += values[tree.apply(unknown)]
    return np.asarray((answers + softmax(sums)) / 2)
