"""A model that knows what is normal: beside its classes, or as all that it answers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.base.splits import deal_rows
from ethereal.features.feature_map import FeatureMap
from ethereal.features.rounding import to_float32
from ethereal.model.checks import Fitted
from ethereal.model.engine import SUPPORTS, input_matrix
from ethereal.model.needs import ANSWERS
from ethereal.model.output import NormalOrNot
from ethereal.model.seen import Seen, rates_of
from ethereal.normal import Normal, NormalOptions, normal_of, separation, without_limit

if TYPE_CHECKING:
    from ethereal.features.front_end import FrontEnd
    from ethereal.model import Model

LABELS = ("normal", "not normal")
_BESIDE = replace(SUPPORTS, consumer="with_normal", outputs=ANSWERS)
_MOST_LEFT_OUT = 6  # classes
_PLAIN = 6  # positions, half a standard deviation
_BETTER = 0.01  # of the area under the curve, for which all features are taken


def normal_model(
    normal: Normal,
    n_features: int,
    *,
    feature_names: Sequence[str] | None = None,
    front_end: FrontEnd | None = None,
    provenance: dict[str, Any] | None = None,
) -> Model:
    """Return the model that answers "normal" or "not normal". It has no clauses."""
    from ethereal.model.model import Model

    feature_map = FeatureMap([], np.zeros(n_features + 1, dtype=np.int64), np.zeros(n_features, dtype=bool))
    model = Model(
        [], [0], np.zeros((0, 2), dtype=np.int32), n_booleans=0, classes=LABELS,
        booleanizer=Fitted(feature_map, None), front_end=front_end, feature_names=feature_names,
        provenance=provenance,
    )  # fmt: skip
    return model._with(output=NormalOrNot(model.classes), normal=normal)


def rows_of(model: Model, X: Any) -> NDArray[np.float32]:
    """Return rows as what is normal reads them."""
    return to_float32(input_matrix(model, X))


def with_normal(
    model: Model, X: Any, y: ArrayLike | None, groups: ArrayLike | None, options: NormalOptions
) -> Model:
    """Return a classifier that knows what is normal, see `Model.with_normal`."""
    if model.output.kind == "normal":
        raise ValueError("the model tells what is normal already. Fit another EtherealDetector.")
    _BESIDE.check(model.needs)
    rows = rows_of(model, X)
    group_of_row = _groups(groups, len(rows))
    labels = np.asarray(model.predict(X)) if y is None else np.asarray(y)
    if len(labels) != len(rows):
        raise ValueError(f"y has {len(labels)} labels for {len(rows)} rows of X. Give one for each row.")
    features = _better_features(model, rows, labels, options)
    normal, spread = normal_of(rows, group_of_row, options, features, labels)
    for doubt in spread.doubts(options.false_alarms):
        warnings.warn(doubt, stacklevel=3)
    none = np.full(model.n_features, np.inf, dtype=np.float32)
    return model._with(normal=normal, seen=Seen(-none, none, 0, rates_of(model, labels)))


def _groups(groups: ArrayLike | None, n_rows: int) -> NDArray[Any] | None:
    if groups is None:
        return None
    array = np.asarray(groups)
    if array.shape != (n_rows,):
        raise ValueError(f"groups has the shape {array.shape} for {n_rows} rows. Give one entry per row.")
    return array


def _better_features(
    model: Model, rows: NDArray[Any], labels: NDArray[Any], options: NormalOptions
) -> NDArray[np.intp]:
    """Return the features that clauses ask for, or all if these tell left-out classes better.

    Categories have no distance, so they are left out.
    """
    all_features = np.setdiff1d(np.arange(model.n_features), list(model.feature_map.categories))
    used = np.intersect1d(np.unique(model.feature_map.feature[model.clauses.boolean]), all_features)
    classes, counts = np.unique(labels, return_counts=True)
    if len(used) in (0, len(all_features)) or len(classes) < 3:
        return all_features if len(used) == 0 else used
    most_frequent = classes[np.argsort(-counts, kind="stable")][:_MOST_LEFT_OUT]
    gain = [
        _told(rows, labels, each, all_features, options) - _told(rows, labels, each, used, options)
        for each in most_frequent
    ]
    return all_features if sum(gain) / len(gain) > _BETTER else used


def _told(
    rows: NDArray[Any],
    labels: NDArray[Any],
    left_out: Any,
    features: NDArray[np.intp],
    options: NormalOptions,
) -> float:
    """Return how well a class that was left out is told from rows of the others that were left out too."""
    known = np.flatnonzero(labels != left_out)
    part = known[deal_rows(labels[known], 5, options.random_state)[0]]
    learn = np.setdiff1d(known, part)
    normal = without_limit(rows[learn], features, options)
    if normal is None:
        return 0.5
    return separation(normal.score(rows[part]), normal.score(rows[labels == left_out]))


@dataclass(frozen=True)
class Unusual:
    """A feature that takes a row away from what is normal."""

    name: str
    value: float
    usual: float  # of the nearest centre
    share: float  # of the score
    spread: float = 0.0  # how far values usually are from another

    def __str__(self) -> str:
        times = self.value / self.usual if abs(self.usual) > self.spread else 0.0  # nothing is 9 times 0
        text = f"{self.name} is {self.value:.4g}, usually about {self.usual:.4g}"
        if times >= 2:
            text = f"{self.name} is {times:.2g} times its usual, {self.value:.4g} instead of {self.usual:.4g}"
        return text


@dataclass(frozen=True)
class NormalExplanation:
    """Why a row is normal or not: its score, the limit, and the features that make the score."""

    score: int
    limit: int
    features: tuple[Unusual, ...]  # those with the largest share first

    @property
    def is_normal(self) -> bool:
        """Whether the row is normal."""
        return self.score <= self.limit

    def __str__(self) -> str:
        head = f"{LABELS[0 if self.is_normal else 1]}: the score is {self.score}, the limit {self.limit}"
        return "\n".join(
            [head, *(f"  {each} ({100 * each.share:.0f} % of the score)" for each in self.features)]
        )


def shares_of(model: Model, X: Any) -> NDArray[np.float64]:
    """Return the share of each feature in the scores of rows or windows, rows x features that tell."""
    normal = normal_in(model)
    positions = normal.positions(rows_of(model, X))
    owners, scores = normal.nearest(positions)
    away = positions.astype(np.int64) - normal.centres[owners]
    return np.asarray(away**2 / np.maximum(1, scores)[:, None])


def explain_normal(model: Model, x: ArrayLike, most: int = 5) -> NormalExplanation:
    """Return which features take a row away from the nearest centre."""
    normal = normal_in(model)
    rows = rows_of(model, np.asarray(x)[None])
    (owner,), (score,) = normal.nearest(normal.positions(rows))
    (shares,) = shares_of(model, np.asarray(x)[None])
    order = np.argsort(-shares, kind="stable")[:most]
    usual = normal.values(normal.centres[owner])
    features = tuple(
        Unusual(
            model.input_names[normal.features[i]],
            float(rows[0, normal.features[i]]),
            float(usual[i]),
            float(shares[i]),
            float(normal.values(normal.centres[owner] + _PLAIN)[i] - usual[i]),
        )
        for i in order.tolist()
        if shares[i]
    )
    return NormalExplanation(int(score), normal.limit, features)


def normal_in(model: Model) -> Normal:
    """Return the record of what is normal, or say how to get one."""
    if model.normal is None:
        raise ValueError(
            "the model does not know what is normal. Give rows: model.with_normal(X, y, groups)."
        )
    return model.normal
