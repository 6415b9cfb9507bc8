"""The scikit-learn estimator that learns what is normal from normal rows alone."""

from __future__ import annotations

import warnings
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ethereal.features import matrices
from ethereal.features.window_features import WindowFeatures
from ethereal.model.normal import normal_model
from ethereal.normal import NormalOptions, normal_of


class EtherealDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Tell rows that are not normal, from normal rows alone.

    Some centres stand for what is normal. A row is scored by its squared distance to the nearest of them, in
    whole numbers, which a board computes with the same result. The limit comes from rows that were left out
    in turn.

    Parameters
    ----------
    false_alarms
        Share of normal rows that may be called not normal.
    n_centres
        Centres. "auto" takes four for each feature, at most 32 and 920 bytes of them. Few rows get fewer.
    n_features
        Features at most. Those that say most about all the others are taken. Each takes a byte per centre.
    front_end
        A `WindowFeatures`, which is cloned and fitted. X is then windows x samples x axes.
    random_state
        Seed of the draws. The same rows and seed give the same bits everywhere.

    Attributes
    ----------
    model_
        The `Model` to save and to export. It answers "normal" or "not normal".
    offset_
        What `decision_function` takes off the score: the limit with a minus.
    spread_
        How far the rate of false alarms may be trusted: `alarms` has the share of each group's rows that
        are alarms for a detector of the others. `drift` is not None if later rows differ from earlier ones.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> detector = EtherealDetector(false_alarms=0.05).fit(X)
    >>> detector.predict([[0, 0, 0, 0], [9, -9, 9, 9]])
    array([ 1, -1])
    >>> detector.model_.predict([[9.0, -9.0, 9.0, 9.0]])
    array(['not normal'], dtype='<U10')
    """

    def __init__(
        self,
        false_alarms: float = 0.01,
        n_centres: int | Literal["auto"] = "auto",
        *,
        n_features: int = 40,
        front_end: WindowFeatures | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.false_alarms, self.n_centres, self.n_features = false_alarms, n_centres, n_features
        self.front_end, self.random_state = front_end, random_state

    def fit(self, X: Any, y: Any = None, groups: ArrayLike | None = None) -> EtherealDetector:
        """Learn what is normal.

        Parameters
        ----------
        X
            Normal rows, or windows if there is a front end. Rows that are not normal must not be among them.
        y
            Not used.
        groups
            The machine, person or recording of each row. They are left out in turn for the limit, so that the
            share of false alarms holds for others of the kind. A warning says when there are too few.
        """
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        options = NormalOptions(self.false_alarms, self.n_centres, self.n_features, int(seed))
        rows = self._rows(X, reset=True)
        group_of_row = None if groups is None else np.asarray(groups)
        if group_of_row is not None and group_of_row.shape != (len(rows),):
            raise ValueError(
                f"groups has the shape {group_of_row.shape} for {len(rows)} rows of X. Give one each."
            )
        normal, self.spread_ = normal_of(rows, group_of_row, options)
        for doubt in self.spread_.doubts(self.false_alarms):
            warnings.warn(doubt, stacklevel=2)
        front_end = self.front_end_.front_end_ if self.front_end is not None else None
        names = getattr(self, "feature_names_in_", None)
        about = {"false_alarms": self.false_alarms, "n_rows": len(rows), "seed": int(seed),
                 "package": f"ethereal-tm {version('ethereal-tm')}"}  # fmt: skip
        self.model_ = normal_model(
            normal, rows.shape[1], feature_names=None if names is None else list(names), front_end=front_end,
            provenance=about,
        )  # fmt: skip
        self.offset_ = -float(normal.limit)
        return self

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return the score of each row with a minus, so that lower is less normal."""
        check_is_fitted(self)
        assert self.model_.normal is not None
        return -self.model_.normal.score(self._rows(X, reset=False)).astype(np.float64)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score less `offset_`: below 0 is not normal."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return 1 for normal rows and -1 for others."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def _rows(self, X: Any, *, reset: bool) -> NDArray[Any]:
        """Return rows of numbers. Windows become their features."""
        if self.front_end is not None:
            if reset:
                self.front_end_ = clone(self.front_end).fit(X)
            X = self.front_end_.transform(X)
            self.n_features_in_ = X.shape[1]
            return np.asarray(X)
        matrices.refuse_non_numeric_columns(X)
        return np.asarray(validate_data(self, X, reset=reset, dtype="numeric", ensure_all_finite=True))
