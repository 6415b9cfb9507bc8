"""A random forest whose size and depth are chosen from the study's grid.

The study chose them by the test accuracy. Here cross-validation on the training rows chooses, which is the
honest way. scikit-learn's trees are stronger than the study's own, so its published forests are lower.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.utils.validation import check_is_fitted, validate_data

from ethereal.base.checks import check_integer
from ethereal.features.matrices import class_codes


class ForestClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """scikit-learn's RandomForestClassifier, its trees and depth chosen from a grid.

    Parameters
    ----------
    trees, depths
        The grid: numbers of trees and maximal depths to choose from.
    cv
        Folds of the cross-validation on the training rows.
    max_rows
        Most rows of the cross-validation, drawn by class. The choice is fitted to all rows. None is all.
    random_state
        Seed of the folds and of every forest.
    n_jobs
        Threads for growing a forest.

    Attributes
    ----------
    n_trees_, depth_
        The choice by the best mean accuracy. A tie gives fewer trees, then the lower depth.
    scores_
        Mean accuracy, depths x trees.
    forest_
        The RandomForestClassifier of the choice, fitted to all training rows.

    Examples
    --------
    >>> from ethereal import datasets
    >>> digits = datasets.load("digits")
    >>> forest = ForestClassifier(trees=(5, 15), depths=(4, 8)).fit(digits.X_train, digits.y_train)
    >>> forest.n_trees_, forest.depth_
    (15, 8)
    >>> bool(forest.score(digits.X_test, digits.y_test) > 0.85)
    True
    """

    def __init__(
        self,
        trees: Sequence[int] = (5, 10, 15, 20, 25, 30),
        depths: Sequence[int] = (2, 4, 6, 8, 10, 12, 14, 16, 18, 20),
        *,
        cv: int = 3,
        max_rows: int | None = 20_000,
        random_state: int | None = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.trees = trees
        self.depths = depths
        self.cv = cv
        self.max_rows = max_rows
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self, X: ArrayLike, y: ArrayLike, choose_on: tuple[ArrayLike, ArrayLike] | None = None
    ) -> ForestClassifier:
        """Choose from the grid and fit the choice to all rows. NaN counts as missing.

        `choose_on` are rows and labels to choose by instead of cross-validation. Test rows here make the
        study's own protocol, which leaks.
        """
        for name in ("trees", "depths"):
            values = getattr(self, name)
            if len(values) == 0:
                raise ValueError(f"{name} is empty; give at least one number to choose from")
            for i, value in enumerate(values):
                check_integer(f"{name}[{i}]", value, 1, 10**6)
        rows, labels = validate_data(self, X, y, ensure_all_finite="allow-nan")
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class only, {self.classes_.tolist()}; a classifier needs at least two"
            )
        trees, depths = sorted(self.trees), sorted(self.depths)
        if choose_on is None:
            some, some_codes = rows, codes
            if self.max_rows is not None and len(rows) > self.max_rows:
                some, _, some_codes, _ = train_test_split(
                    rows, codes, train_size=self.max_rows, stratify=codes, random_state=self.random_state
                )
            smallest = int(np.bincount(some_codes).min())
            if not 2 <= self.cv <= smallest:
                raise ValueError(
                    f"cv is {self.cv}; it must be from 2 to {smallest}, the rows of the rarest class"
                )
            folds = StratifiedKFold(self.cv, shuffle=True, random_state=self.random_state)
            parts = [
                (some[a], some_codes[a], some[b], some_codes[b]) for a, b in folds.split(some, some_codes)
            ]
        else:
            other = validate_data(self, choose_on[0], reset=False, ensure_all_finite="allow-nan")
            parts = [(rows, codes, other, class_codes(choose_on[1], self.classes_))]
        scores = [self._prefix_scores(part, trees, depth) for part in parts for depth in depths]
        self.scores_ = np.reshape(scores, (len(parts), len(depths), len(trees))).mean(axis=0)
        best = [(int(t), int(d)) for d, t in np.argwhere(self.scores_ >= self.scores_.max() - 1e-12)]
        t, d = min(best)
        self.n_trees_, self.depth_ = trees[t], depths[d]
        self.forest_ = self._forest(self.n_trees_, self.depth_).fit(rows, codes)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The labels."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Mean of the trees' class shares, rows x classes."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, ensure_all_finite="allow-nan")
        return np.asarray(self.forest_.predict_proba(rows))

    def _forest(self, n_trees: int, depth: int) -> RandomForestClassifier:
        return RandomForestClassifier(
            n_trees, max_depth=depth, random_state=self.random_state, n_jobs=self.n_jobs
        )

    def _prefix_scores(self, part: tuple[Any, ...], trees: list[int], depth: int) -> list[float]:
        """Accuracy with the first so many trees: those of the smaller forest of the same seed."""
        X, y, X_held, y_held = part
        forest = self._forest(trees[-1], depth).fit(X, y)
        X_held = np.ascontiguousarray(X_held, dtype=np.float32)  # what trees compare, converted once
        votes = np.cumsum([tree.predict_proba(X_held) for tree in forest.estimators_], axis=0)
        return [float((forest.classes_[votes[t - 1].argmax(axis=1)] == y_held).mean()) for t in trees]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
