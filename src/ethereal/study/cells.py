"""What is computed for one cell: train, choose, count."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal import datasets, encode
from ethereal.baselines import BNNClassifier, ForestClassifier
from ethereal.booleanize import Booleanizer
from ethereal.classifier import EtherealClassifier
from ethereal.datasets import Dataset
from ethereal.model import Model
from ethereal.study.settings import SETTINGS, Settings
from ethereal.study.store import Cell, Store

MACHINES = ("vanilla", "ethereal")
BNN_UNITS = {"bnn256": 256, "bnn512": 512}
METHODS = ("forest", *BNN_UNITS, *MACHINES)


def compute(cell: Cell, store: Store) -> dict[str, Any]:
    """Result of a cell, from the store when it is there."""
    if cell.method not in METHODS:
        raise ValueError(f"unknown method {cell.method!r}; there are {', '.join(METHODS)}")
    found = store.get(cell)
    if found is not None:
        return found
    data, settings = load(cell.dataset)
    start = time.perf_counter()
    if cell.method in MACHINES:
        result, model = _machine(cell, data, settings)
        model.save(store.model_path(cell))
    else:
        result = _rival(cell, data, settings)
    result["seconds"] = time.perf_counter() - start
    store.put(cell, result)
    return result


def load(name: str) -> tuple[Dataset, Settings]:
    """A data set of the study with the study's settings, only the features that it used."""
    data = datasets.load(name)
    if name not in SETTINGS:
        raise ValueError(f"the study has no settings for {name!r}; it has {', '.join(SETTINGS)}")
    return data, SETTINGS[name]


def raw_rows(data: Dataset, settings: Settings) -> NDArray[Any]:
    """Raw features that the study used, all rows."""
    return data.X if settings.n_features is None else data.X[:, : settings.n_features]


def boolean_rows(data: Dataset, settings: Settings) -> NDArray[np.bool_]:
    """Booleans as the study made them: thresholds from all rows, a missing value in the middle bin."""
    X = raw_rows(data, settings)
    if X.dtype == bool or set(np.unique(X[:100])) <= {0, 1}:
        return X.astype(bool)
    if np.isnan(X).any():
        X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    return settings.booleanizer().fit(X).transform(X)


def _machine(cell: Cell, data: Dataset, settings: Settings) -> tuple[dict[str, Any], Model]:
    clf = EtherealClassifier(
        settings.n_clauses,
        settings.T,
        settings.s,
        epochs=settings.epochs if cell.epochs is None else cell.epochs,
        exclude_every=settings.exclude_every if cell.method == "ethereal" else None,
        booleanizer=None,
        random_state=cell.seed,
    )
    train, test = ~data.test, data.test
    if cell.protocol == "paper":
        # The study's way: thresholds from all rows, the epoch with the best TEST accuracy.
        X = boolean_rows(data, settings)
        clf.fit(X[train], data.y[train], validation_set=(X[test], data.y[test]))
    else:
        X = raw_rows(data, settings)
        clf.booleanizer = _booleanizer(X, settings)
        clf.fit(X[train], data.y[train])
    model = clf.model_
    simple = model.simplify()
    accuracy = float((model.predict(X[test]) == data.y[test]).mean())
    agree = np.array_equal(simple.class_sums(X[test]), model.class_sums(X[test]))
    epochs = [r for r in clf.history_ if r["phase"] == "train"]
    return {
        "accuracy": accuracy,
        "includes": model.n_includes,
        "clauses": model.n_clauses,
        "includes_per_clause": model.n_includes / model.n_clauses,
        "simplified": {
            "includes": simple.n_includes,
            "clauses": simple.n_clauses,
            "same_sums_on_test_rows": agree,
        },
        "bytes": {"model": _sizes(model), "simplified": _sizes(simple)},
        "epochs": [
            {
                "epoch": r["epoch"],
                "includes_per_clause": r["includes_per_clause"],
                "accuracy": r["validation_accuracy"],
            }
            for r in epochs
        ],
        "rows_per_second": len(epochs) * int(train.sum()) / sum(r["seconds"] for r in epochs),
        "exclusion_share": sum(r["seconds"] for r in clf.history_ if r["phase"] == "exclude")
        / sum(r["seconds"] for r in epochs),
    }, model


def _booleanizer(X: NDArray[Any], settings: Settings) -> Booleanizer | None:
    return None if set(np.unique(X[:100])) <= {0, 1} else settings.booleanizer()


def _sizes(model: Model) -> dict[str, float]:
    return {name: float(size) for name, size in encode.sizes(model).items()}


def _rival(cell: Cell, data: Dataset, settings: Settings) -> dict[str, Any]:
    """Forest on raw features, or binarized network on the machine's Booleans."""
    train, test = ~data.test, data.test
    X: NDArray[Any] = raw_rows(data, settings)
    clf: Any
    if cell.method == "forest":
        clf = ForestClassifier(random_state=cell.seed)
    else:
        clf = BNNClassifier(n_units=BNN_UNITS[cell.method], random_state=cell.seed)
        if cell.epochs is not None:
            clf.epochs = cell.epochs
        if cell.protocol == "paper":
            X = boolean_rows(data, settings)
        else:
            own = _booleanizer(X, settings)
            X = X.astype(bool) if own is None else own.fit(X[train]).transform(X)
    if cell.method == "forest" and cell.protocol == "paper":
        clf.fit(X[train], data.y[train], choose_on=(X[test], data.y[test]))
    else:
        clf.fit(X[train], data.y[train])
    result: dict[str, Any] = {"accuracy": float(clf.score(X[test], data.y[test]))}
    if cell.method == "forest":
        result |= {"trees": int(clf.n_trees_), "depth": int(clf.depth_)}
    return result
