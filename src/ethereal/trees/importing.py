"""From an estimator or a file to a Model, and on which rows both are known to answer alike."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.features.matrices import feature_matrix
from ethereal.features.rounding import to_float32
from ethereal.model import Model, checks
from ethereal.trees.clauses import WIDE_VOTE, WIDEST_VOTE, Missing, model_of
from ethereal.trees.plain import Ensemble
from ethereal.trees.read import read_trees

_EPS32, _EPS64 = 2.0**-24, 2.0**-53  # half a unit in the last place of a number from 1 to 2


@dataclass(frozen=True, eq=False)
class TreeImport:
    """A Model that was made of trees, and how its answers compare with theirs on some rows.

    A row is certain when the leading class is ahead by more than all rounding can be, so that both must
    answer alike. A number is certain to be within `bound`, unless float32 takes a value over a threshold. On
    the other rows the answers were only compared. Answers are those of the estimator's own `predict`, or of a
    walk through the trees in float64 where there is no estimator with one.
    """

    model: Model
    source: str  # what the trees are
    n_trees: int
    n_leaves: int
    n_rows: int = 0  # that were compared
    n_certain: int = 0  # of them, equal by the margin
    n_differing: int = 0  # answered otherwise than by the trees, or by more than the bound
    n_ties: int = 0  # of the differing rows, those with two leading classes that only rounding tells apart
    difference: float | None = None  # the largest of the rows, where the answer is a number
    bound: float | None = None  # of such a difference, by the rounding of votes and of sums

    @property
    def certain(self) -> float:
        """Share of the rows on which equality is certain."""
        return self.n_certain / self.n_rows if self.n_rows else 0.0

    def __str__(self) -> str:
        """Return what people want to know, in two lines."""
        leaves = f"{self.n_trees:,} trees with {self.n_leaves:,} leaves"
        first = f"{self.source}: {leaves}, as {self.model.n_clauses:,} clauses"
        if not self.n_rows:
            within = "" if self.bound is None else f"; by rounding within {self.bound:.3g}"
            return f"{first}\nequal answers: not compared, because no rows were given{within}"
        seen = f"certain on {100 * self.certain:.1f} % of {self.n_rows:,} rows, only seen on the others"
        if self.difference is not None:
            return (
                f"{first}\nlargest difference: {self.difference:.3g}; by rounding at most {self.bound:.3g}, "
                f"{seen}; {self.n_differing:,} rows are beyond"
            )
        ties = f", {self.n_ties:,} of them ties" if self.n_ties else ""
        return f"{first}\nequal answers: {seen}; {self.n_differing:,} rows differ{ties}"


def from_trees(
    estimator: Any,
    X: Any = None,
    *,
    classes: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    missing: Missing = "auto",
    votes: int | None = None,
) -> Model:
    """Return trees as a Model: each leaf becomes a clause, and its value becomes votes.

    The model answers as the ensemble does. It can be pruned, exported, measured and proven like any other.
    The number of a regressor is rounded, by at most `provenance["rounding"]` and the rounding of float32.

    Parameters
    ----------
    estimator
        A fitted classifier or regressor of scikit-learn (`DecisionTree`, `ExtraTree`, `RandomForest`,
        `ExtraTrees`, `GradientBoosting`, `HistGradientBoosting`), LightGBM or XGBoost, or an
        `IsolationForest`, whose labels are -1 and 1. Or the path of a file that XGBoost saved as JSON or
        UBJSON, or LightGBM as text. The latter two need the extra `trees`.
    X
        Rows, such as those of training. Exports place tests by them, so programs become quicker. The answers
        are compared on them too, and `provenance["agreement"]` says how they agree.
    classes
        Labels in the order of the classes. By default those of the estimator, or 0, 1, ... of a file.
    feature_names
        Names of the columns, by default those that the estimator or the file knows.
    missing
        Whether rows may have missing values. "auto" allows them in the columns that have some in X. Trees
        that send missing values to the right take more clauses then.
    votes
        The largest vote of a clause, up to 32767. Smaller ones make smaller programs, and more rows may
        differ. By default 8191, or 32767 if labels of rows of X are different with 8191.

    Returns
    -------
    Model
        A clause per leaf. Its labels are those of the estimator. That of a regressor answers a `Number`.

    Warns
    -----
    UserWarning
        If the model and the estimator answer a row of X differently, or numbers differ by more than
        rounding.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import ethereal
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    >>> model = ethereal.from_trees(forest, X)
    >>> bool((model.predict(X) == forest.predict(X)).all())
    True
    """
    result = import_trees(
        estimator, X, classes=classes, feature_names=feature_names, missing=missing, votes=votes
    )
    if result.n_differing:
        ties = f" {result.n_ties:,} of these are ties of two classes." if result.n_ties else ""
        more = " Larger votes may help." if votes is not None and votes < WIDEST_VOTE else ""
        warnings.warn(
            f"The model answers {result.n_differing:,} of {result.n_rows:,} rows otherwise than the "
            f"{result.source}.{ties}{more}",
            stacklevel=2,
        )
    return result.model


def import_trees(
    estimator: Any,
    X: Any = None,
    *,
    classes: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    missing: Missing = "auto",
    votes: int | None = None,
) -> TreeImport:
    """Return what `from_trees` does with how its answers agree on X. The parameters are the same.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> print(import_trees(tree, X))
    DecisionTreeClassifier of scikit-learn: 1 trees with 3 leaves, as 3 clauses
    equal answers: certain on 100.0 % of 150 rows, only seen on the others; 0 rows differ
    """
    ensemble = read_trees(estimator, classes, feature_names)
    rows = None if X is None else _matrix(X, ensemble)
    wanted = None if rows is None or not len(rows) else _answers_of(estimator, X, ensemble, rows)
    widths = (WIDE_VOTE, WIDEST_VOTE) if votes is None else (votes,)
    results = (_compared(ensemble, rows, wanted, missing, width) for width in widths)
    for result in results:
        if result.n_ties == result.n_differing or ensemble.classes is None:
            return result
    return result


def _compared(ensemble: Ensemble, rows: NDArray[Any] | None, wanted: NDArray[Any] | None, missing: Missing,
              votes: int) -> TreeImport:  # fmt: skip
    """Return the Model of trees with votes up to a width, compared with the wanted answers to rows."""
    model = model_of(ensemble, rows, missing=missing, votes=votes)
    known: dict[str, Any] = {"n_trees": len(ensemble.trees), "n_leaves": ensemble.n_leaves}
    agreement: dict[str, Any] = {}
    if ensemble.classes is None:
        known["bound"] = float(model.provenance["rounding"]) + _adding_error(ensemble)
    if rows is not None and wanted is not None:
        if ensemble.whole and (shift := _to_limit(model, rows, wanted, len(ensemble.trees))):
            scale = float(model.provenance["votes_per_unit"])
            moved = replace(ensemble, base=ensemble.base + np.array([shift / scale, 0.0]))
            model = model_of(moved, rows, missing=missing, votes=votes)
        agreement = _agreement(ensemble, model, rows, wanted, known.get("bound", 0.0))
        model = model._with(provenance=checks.provenance({**model.provenance, "agreement": agreement}))
    known |= {name if name == "difference" else f"n_{name}": value for name, value in agreement.items()}
    return TreeImport(model, ensemble.source, **known)


def _agreement(ensemble: Ensemble, model: Model, rows: NDArray[Any], wanted: NDArray[Any],
               bound: float) -> dict[str, Any]:  # fmt: skip
    """Return how the answers of a model compare with the wanted ones."""
    answers, n_rows = model.predict(rows), {"rows": len(rows)}
    if ensemble.classes is None:
        certain = ~_crosses(ensemble, rows)
        differences = np.abs(answers.astype(np.float64) - wanted)
        beyond = int((differences > bound).sum())
        return n_rows | {"certain": int(certain.sum()), "differing": beyond,
                         "difference": float(differences.max())}  # fmt: skip
    differs = np.flatnonzero(answers != wanted)
    certain = certain_rows(ensemble, rows, float(model.provenance["votes_per_unit"]))
    lead, error = _leads(ensemble, rows[differs])
    ties = int((lead <= error).sum())
    return n_rows | {"certain": int(certain.sum()), "differing": len(differs), "ties": ties}


def _to_limit(model: Model, rows: NDArray[Any], wanted: NDArray[Any], n_trees: int) -> int:
    """Return by how many votes the limit of an isolation forest must rise to lie between its rows.

    The limit is often the very score of a row, which whole votes miss. It moves by less than they round.
    """
    ahead, is_normal = model.class_sums(rows)[:, 1].astype(np.int64), wanted == model.classes[1]
    most = int(ahead[~is_normal].max(initial=-n_trees))
    least = int(ahead[is_normal].min(initial=n_trees)) - 1  # a row is normal with one vote or more
    shift = min(max(0, most), least)
    return shift if most <= least and 2 * abs(shift) <= n_trees else 0


def _matrix(X: Any, ensemble: Ensemble) -> NDArray[Any]:
    array = feature_matrix(X, ensemble.n_features, None)
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _answers_of(estimator: Any, X: Any, ensemble: Ensemble, rows: NDArray[Any]) -> NDArray[Any]:
    """Return the answers that the estimator gives, or a walk through its trees."""
    if not hasattr(estimator, "fit"):
        return ensemble.answers(_as_compared(ensemble, rows))
    answers = np.asarray(estimator.predict(X))
    if not hasattr(estimator, "classes_"):
        return answers
    assert ensemble.classes is not None
    return np.asarray(ensemble.classes[np.searchsorted(estimator.classes_, answers)])


def _as_compared(ensemble: Ensemble, rows: NDArray[Any]) -> NDArray[Any]:
    """Return rows as the library compares them."""
    return rows if ensemble.float64_rows else rows.astype(np.float32)


def certain_rows(ensemble: Ensemble, rows: NDArray[Any], votes_per_unit: float) -> NDArray[np.bool_]:
    """Return the rows on which the Model must answer as the trees do, whatever was rounded.

    Each tree rounds the difference between two classes by one vote at most. A library that adds in float32
    rounds at every tree. A value that float32 takes over a threshold makes its row uncertain.
    """
    lead, error = _leads(ensemble, rows)
    certain = (lead - error) * votes_per_unit > len(ensemble.trees) + 1
    return np.asarray(certain & ~_crosses(ensemble, rows))


def _crosses(ensemble: Ensemble, rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Return the rows with a value that float32 takes over a threshold."""
    crosses = np.zeros(len(rows), dtype=bool)
    if ensemble.float64_rows and rows.dtype == np.float64:
        for f in range(ensemble.n_features):
            inner = [(tree, ~tree.is_leaf & (tree.feature == f)) for tree in ensemble.trees]
            cuts = np.unique(np.concatenate([tree.threshold[mask] for tree, mask in inner]))
            exact = np.searchsorted(cuts, rows[:, f])
            crosses |= exact != np.searchsorted(to_float32(cuts), to_float32(rows[:, f]))
    return crosses


def _leads(ensemble: Ensemble, rows: NDArray[Any]) -> tuple[NDArray[np.float64], float]:
    """Return by how much the first class leads in each row, and by how much a library may err in adding."""
    sums = ensemble.sums(_as_compared(ensemble, rows))
    best = np.partition(sums, -2, axis=1)[:, -2:]
    return best[:, 1] - best[:, 0], _adding_error(ensemble)


def _adding_error(ensemble: Ensemble) -> float:
    """Return by how much the sum of a library may err, and that of a Model whose answer is a number."""
    largest = sum(float(np.abs(tree.values).max(initial=0.0)) for tree in ensemble.trees)
    largest += float(np.abs(ensemble.base).max()) if ensemble.base is not None else 0.0
    error = (_EPS32 if ensemble.float32_sums else _EPS64) * 2 * (len(ensemble.trees) + 2) * largest
    return error + (_EPS32 * largest if ensemble.classes is None else 0.0)
