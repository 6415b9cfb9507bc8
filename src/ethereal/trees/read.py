"""Estimators and files to plain trees. What is refused is refused by name, with what to do instead."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ethereal.base.checks import missing_file
from ethereal.model import checks
from ethereal.trees import boosted, sklearn_trees
from ethereal.trees.plain import Ensemble, refuse_link

_TAKEN = (
    f"a fitted classifier or regressor of scikit-learn ({', '.join(sklearn_trees.STEMS)}), LightGBM or "
    "XGBoost, an IsolationForest, or a file that LightGBM or XGBoost has saved"
)


def read_trees(
    source: Any, classes: ArrayLike | None = None, feature_names: Sequence[str] | None = None
) -> Ensemble:
    """Return the trees of an estimator or of a file.

    Parameters
    ----------
    source
        A fitted estimator, a booster, or the path of a file.
    classes
        Labels in the order of the classes, for sources that do not know them.
    feature_names
        Names of the columns, for sources that do not know them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(*load_iris(return_X_y=True))
    >>> ensemble = read_trees(forest)
    >>> len(ensemble.trees), ensemble.source
    (3, 'RandomForestClassifier of scikit-learn')
    """
    is_path = isinstance(source, (str, os.PathLike))
    ensemble = _of_path(Path(source)) if is_path else _of_estimator(source)
    if classes is not None:
        labels = checks.labels(classes)
        if ensemble.classes is None:
            raise ValueError(f"classes= is given, but {ensemble.source} answers a number. Leave it out.")
        if len(labels) != len(ensemble.classes):
            raise ValueError(
                f"classes has {len(labels)} labels, but {ensemble.source} has {len(ensemble.classes)} classes"
            )
        ensemble = replace(ensemble, classes=labels)
    if feature_names is not None:
        names = checks.names(feature_names)
        if len(names) != ensemble.n_features:
            raise ValueError(
                f"feature_names has {len(names)} names, but {ensemble.source} has "
                f"{ensemble.n_features} features"
            )
        ensemble = replace(ensemble, feature_names=names)
    _check(ensemble)
    return ensemble


def _of_path(path: Path) -> Ensemble:
    if path.is_dir():
        raise ValueError(f"{path} is a folder. Give a file that XGBoost or LightGBM has saved.")
    if not path.exists():
        raise FileNotFoundError(missing_file(path) or f"{path}: there is no such file. Look at the name.")
    return boosted.of_file(path)


def _of_estimator(estimator: Any) -> Ensemble:
    kinds = [(one.__module__.partition(".")[0], one.__name__) for one in type(estimator).__mro__]
    package, kind = kinds[0]
    what = f"{kind} of {'scikit-learn' if package == 'sklearn' else package}"
    if isinstance(estimator, type):
        raise TypeError(f"estimator is the class {estimator.__name__}. Give one that is fitted.")
    for package, name in kinds:
        if package == "sklearn" and name in sklearn_trees.KINDS:
            _check_fitted(estimator, what)
            return sklearn_trees.read(estimator, name)
        if (package, name) == ("xgboost", "Booster"):
            return boosted.of_xgboost(estimator, what)
        if (package, name) == ("lightgbm", "Booster"):
            return boosted.of_lightgbm(estimator, what)
        if (package, name) in (("xgboost", "XGBClassifier"), ("xgboost", "XGBRegressor")):
            _check_fitted(estimator, what)
            return _labelled(boosted.of_xgboost(estimator.get_booster(), what), estimator)
        if (package, name) in (("lightgbm", "LGBMClassifier"), ("lightgbm", "LGBMRegressor")):
            _check_fitted(estimator, what)
            return _labelled(boosted.of_lightgbm(estimator.booster_, what), estimator)
    raise TypeError(_refusal(estimator, what, kind))


def _labelled(ensemble: Ensemble, estimator: Any) -> Ensemble:
    """Return the trees with the labels and names of the estimator around them."""
    names = getattr(estimator, "feature_names_in_", None) if ensemble.feature_names is not None else None
    given = ensemble.feature_names if names is None else tuple(map(str, names))
    if ensemble.classes is not None and not hasattr(estimator, "classes_"):
        refuse_link(ensemble.source, "the logarithm of odds")
    labels = None if ensemble.classes is None else np.asarray(estimator.classes_)
    return replace(ensemble, classes=labels, feature_names=given)


def _check_fitted(estimator: Any, what: str) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(estimator)
    except NotFittedError:
        raise ValueError(f"the {what} is not fitted. Call its fit first.") from None


def _refusal(estimator: Any, what: str, name: str) -> str:
    """Say why something is not read, and what to give instead."""
    if hasattr(estimator, "steps"):
        return f"estimator is a {what}. Give its last step, estimator[-1], and X as that step gets it."
    if hasattr(estimator, "best_estimator_"):
        return f"estimator is a {what}. Give its best_estimator_."
    return f"estimator is {what}, which is not read. Give {_TAKEN}."


def _check(ensemble: Ensemble) -> None:
    """Refuse nodes that make something else than a tree, as in a file that was changed."""
    if not ensemble.n_features:
        raise ValueError(f"{ensemble.source} has no features")
    for i, tree in enumerate(ensemble.trees):
        n, inner = len(tree.left), ~tree.is_leaf
        children = np.concatenate([tree.left[inner], tree.right[inner]])
        wrong = (
            n == 0
            or ((children < 1) | (children >= n)).any()
            or len(np.unique(children)) != len(children)
            or ((tree.feature[inner] < 0) | (tree.feature[inner] >= ensemble.n_features)).any()
            or not np.isfinite(tree.values).all()
        )
        if wrong:
            raise ValueError(
                f"tree {i} of {ensemble.source} has nodes or leaf values that cannot be. Save the file again."
            )
