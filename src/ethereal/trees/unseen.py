"""What learners answer to rows that they did not see: a teacher that is as sure as it can be, and not surer.

A model knows the rows that it learned from, so its answers there are close to the labels. A fifth of the rows
is left out in turn, and a forest and boosted trees that learned from the others answer them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.splits import deal_rows, quantile_codes
from ethereal.compress.curve import PruneRows
from ethereal.features.packing import evenly
from ethereal.model import Model
from ethereal.model.calibration import softmax
from ethereal.trees.grow import Codes, Floats, Ground, Shape, boosted, standardised

_FOLDS = 5
_SHAPE = Shape(20, 8, 0.35)
_FOREST, _MOST_ROWS = 30, 6000  # trees, and rows that each learner sees


def with_unseen(model: Model, rows: PruneRows, seed: int) -> PruneRows:
    """Return rows of a model with the answers that the teacher "unseen" takes."""
    codes = Ground.like(model, rows.raw).codes(rows.raw)
    n_classes = None if model.is_number else model.n_classes
    return replace(rows, unseen=unseen_answers(codes, rows.codes, n_classes, rows.groups, seed))


def unseen_answers(codes: Codes, targets: NDArray[Any], n_classes: int | None, groups: NDArray[Any] | None,
                   seed: int) -> Floats:  # fmt: skip
    """Return what learners answer to rows they did not see: shares of the classes, or numbers.

    `targets` has the class of each row, or with `n_classes` None its number. The answers have a column for
    each class, or one. Whole groups are left out where there are several.
    """
    several = groups if groups is not None and len(np.unique(groups)) > 1 else None
    answers = np.zeros((len(targets), n_classes or 1))
    strata = targets if n_classes is not None else quantile_codes(targets)
    for part in deal_rows(strata, _FOLDS, seed % 2**32, several):
        rest = np.setdiff1d(np.arange(len(targets)), part)
        some = rest[evenly(len(rest), _MOST_ROWS)]
        given = codes[some], targets[some], codes[part]
        answers[part] = _numbers(*given, seed) if n_classes is None else _shares(*given, n_classes, seed)
    return answers


def _shares(known: Codes, targets: NDArray[Any], unknown: Codes, n_classes: int, seed: int) -> Floats:
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(_FOREST, random_state=seed % 2**32, n_jobs=1).fit(known, targets)
    shares = np.zeros((len(unknown), n_classes))
    shares[:, forest.classes_] = forest.predict_proba(unknown)
    return np.asarray((shares + softmax(_of_trees(known, np.eye(n_classes)[targets], unknown, seed))) / 2)


def _numbers(known: Codes, targets: NDArray[Any], unknown: Codes, seed: int) -> Floats:
    from sklearn.ensemble import RandomForestRegressor

    wanted, mean, spread = standardised(targets)
    forest = RandomForestRegressor(_FOREST, random_state=seed % 2**32, n_jobs=1).fit(known, wanted[:, 0])
    both = forest.predict(unknown)[:, None] + _of_trees(known, wanted, unknown, seed)
    return np.asarray(mean + spread * both / 2)


def _of_trees(known: Codes, wanted: Floats, unknown: Codes, seed: int) -> Floats:
    """Return the sums of boosted trees that learned what is wanted."""
    trees = boosted(known, wanted, _SHAPE.for_columns(known.shape[1]), seed % 2**31)
    sums = np.zeros((len(unknown), wanted.shape[1]))
    for tree, values in trees:
        sums += values[tree.apply(unknown)]
    return sums
