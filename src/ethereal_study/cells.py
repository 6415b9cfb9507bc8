"""What is computed for one cell: train, choose, count."""

from __future__ import annotations

import os
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from ethereal import datasets
from ethereal.datasets import Dataset
from ethereal.datasets.rows import Rows
from ethereal.features.booleanizer import Booleanizer
from ethereal.features.feature_map import FeatureMap
from ethereal.features.packing import is_boolean
from ethereal.model import Model
from ethereal.model import codes as encode
from ethereal.train.checkpoint import fit_or_go_on, until_done
from ethereal_study import additions
from ethereal_study.baselines import BNNClassifier, ForestClassifier
from ethereal_study.settings import SETTINGS, Settings
from ethereal_study.store import Cell, Protocol, Store

MACHINES = ("vanilla", "ethereal")
# Networks and their hidden units, by the trainer: this package's own, or the study's library.
NETWORKS = {"own": {"bnn256": 256, "bnn512": 512}, "larq": {"larq256": 256, "larq512": 512}}
BNN_UNITS = NETWORKS["own"] | NETWORKS["larq"]
METHODS = ("forest", *BNN_UNITS, *MACHINES)


def compute(cell: Cell, store: Store, added: additions.Additions | None = None) -> dict[str, Any]:
    """Result of a cell, from the store when it is there. `added` is what another process has to know."""
    if added is not None:
        added.take()
    if cell.method.startswith("board-"):
        from ethereal_study import board  # which is made of these cells

        return board.compute(cell, store)
    if cell.method.startswith("micropython-"):
        from ethereal_study import interpreted

        return interpreted.compute(cell, store)
    if cell.method.startswith("frontier-"):
        from ethereal_study import frontier

        return frontier.compute(cell, store)
    known = [*METHODS, *additions.ADDED.methods]
    if cell.method not in known:
        raise ValueError(f"unknown method {cell.method!r}; there are {', '.join(known)}")
    settings = SETTINGS[cell.dataset]

    def made(rows: StudyRows) -> tuple[dict[str, Any], Model | None]:
        if cell.method in MACHINES:
            return _machine(cell, rows, settings, store.folder / f"{cell.key}.checkpoint")
        if cell.method in additions.ADDED.methods:
            return additions.result_of(cell.method, rows, settings, cell.seed), None
        return _baseline(cell, rows), None

    return kept_or_made(cell, store, basis(cell.dataset) | additions.method_basis(cell.method), made)


def kept_or_made(
    cell: Cell,
    store: Store,
    on: dict[str, Any],
    make: Callable[[StudyRows], tuple[dict[str, Any], Model | None]],
) -> dict[str, Any]:
    """Return the result of a cell that rests on what `on` has, from the store when it is there."""
    kept = store.get(cell, on)
    if kept is not None:
        return kept
    data = additions.load(cell.dataset)
    rows = prepare(data, SETTINGS[cell.dataset], cell.protocol)
    start = time.perf_counter(), _cpu_seconds()
    # One thread: the sums of a network, and with them its bits, must not depend on the number of cores.
    with threadpool_limits(1), until_done(store.folder / f"{cell.key}.checkpoint"):
        result, model = make(rows)
        result |= {"completeness": data.completeness, "seconds": time.perf_counter() - start[0]}
        result["cpu_seconds"] = _cpu_seconds() - start[1]
        store.put(cell, on, result, model)
    return result


def _cpu_seconds() -> float:
    """Return seconds of a core that this process and those it started took. Larq has a process of its own."""
    return sum(os.times()[:4])


def basis(name: str) -> dict[str, Any]:
    """Return what the results on a set rest on, a fingerprint of its data and the study's settings.

    The fingerprint has the check sums that the set's npz file holds, so that no array is read.
    """
    if name not in SETTINGS:
        raise ValueError(f"the study has no settings for {name!r}; it has {', '.join(SETTINGS)}")
    path = additions.path_of(name)
    try:
        with zipfile.ZipFile(str(path)) as file:
            sums = {i.filename: i.CRC for i in file.infolist()}
    except (OSError, zipfile.BadZipFile) as error:
        raise datasets.DatasetError(
            f"{path}: damaged or no npz file ({error}); fetch {name} again"
        ) from error
    return {"data": sums, "settings": SETTINGS[name].training()}


@dataclass(frozen=True, eq=False)
class StudyRows(Rows):
    """A set as a protocol gives it to every method."""

    booleanizer: Booleanizer | None = None  # to be fitted to training rows, None where X is Boolean

    def bits(self) -> NDArray[np.bool_]:
        """All rows, Booleanized."""
        if self.booleanizer is None:
            return self.X.astype(bool)
        return self.booleanizer.fit(self.X_train).transform(self.X)


def prepare(data: Dataset, settings: Settings, protocol: Protocol) -> StudyRows:
    """The rows under a protocol.

    Under `honest`, thresholds will come from training rows, and a missing value has a Boolean of its own.
    Under `paper`, all rows fix the thresholds, test rows included. Every bin has a Boolean, equal quantiles
    included, and a missing value is in the middle bin. Unmarked rows are left out of the quantiles and take
    the label of marked rows with the same bits.
    """
    X = data.X if settings.n_features is None else data.X[:, : settings.n_features]
    if is_boolean(X):
        return StudyRows(X.astype(bool), data.y, data.test)
    booleanizer, y = settings.booleanizer(keep_equal=protocol == "paper"), data.y
    if protocol == "paper":
        fitted = booleanizer.fit(X if settings.unmarked is None else X[y != settings.unmarked])
        if np.isnan(X).any():
            X, fitted = in_the_middle_bin(X, fitted.feature_map_)
        booleanizer = Booleanizer(encoding=settings.encoding, thresholds=fitted.feature_map_)
        if settings.unmarked is not None:
            y = relabel_unmarked(fitted.transform(X), y, unmarked=settings.unmarked)
    return StudyRows(X, y, data.test, booleanizer=booleanizer)


def _machine(cell: Cell, rows: StudyRows, settings: Settings, kept: Path) -> tuple[dict[str, Any], Model]:
    epochs = settings.epochs if cell.epochs is None else cell.epochs
    clf = settings.machine(
        epochs=epochs,
        exclude_every=settings.exclude_every if cell.method == "ethereal" else None,
        booleanizer=rows.booleanizer,
        random_state=cell.seed,
    )
    train, test = (rows.X_train, rows.y_train), (rows.X_test, rows.y_test)
    if cell.protocol == "paper":  # the epoch with the best TEST accuracy
        fit_or_go_on(clf, *train, kept, validation_set=test)
    else:  # the test rows are only watched, for the figures
        fit_or_go_on(clf, *train, kept, eval_set=test)
    model, history = clf.model_, clf.history_
    simple = model.simplify()
    sums = model.class_sums(test[0])
    if not np.array_equal(simple.class_sums(test[0]), sums):
        raise RuntimeError(f"{cell.key}: the simplified model has other class sums than the model")
    seconds = {
        phase: sum(r["seconds"] for r in history if r["phase"] == phase) for phase in ("train", "exclude")
    }
    n_learnt = round((1.0 if cell.protocol == "paper" else 0.9) * len(train[1]))
    return {
        "accuracy": float((model.output.answers(sums) == test[1]).mean()),
        "includes": model.n_includes,
        "clauses": model.n_clauses,
        "simplified": {"includes": simple.n_includes, "clauses": simple.n_clauses},
        "bytes": {"model": encode.sizes(model), "simplified": encode.sizes(simple)},
        "history": _history(history, "validation" if cell.protocol == "paper" else "eval"),
        "rows_per_second": epochs * n_learnt / seconds["train"],
        "exclusion_share": seconds["exclude"] / seconds["train"],
    }, model


def _history(records: list[dict[str, Any]], test: str) -> dict[str, list[Any]]:
    """Return columns with one entry per epoch and exclusion. `chosen_by` is the accuracy that chooses."""
    columns = {"epoch": "epoch", "phase": "phase", "includes": "includes"}
    columns |= {"chosen_by": "validation_accuracy", "test": f"{test}_accuracy"}
    return {name: [record[key] for record in records] for name, key in columns.items()}


def _baseline(cell: Cell, rows: StudyRows) -> dict[str, Any]:
    """Forest on raw features, or binarized network on the machine's Booleans."""
    if cell.method == "forest":
        forest, test = ForestClassifier(random_state=cell.seed), (rows.X_test, rows.y_test)
        forest.fit(rows.X_train, rows.y_train, choose_on=test if cell.protocol == "paper" else None)
        accuracy = float(forest.score(*test))
        return {"accuracy": accuracy, "trees": int(forest.n_trees_), "depth": int(forest.depth_)}
    rows = replace(rows, X=rows.bits())
    bnn = BNNClassifier(
        n_units=BNN_UNITS[cell.method],
        epochs=cell.epochs,
        backend="larq" if cell.method in NETWORKS["larq"] else "numpy",
        random_state=cell.seed,
    )
    bnn.fit(rows.X_train, rows.y_train)
    return {"accuracy": float(bnn.score(rows.X_test, rows.y_test)), "bytes": bnn.network_.n_bytes}


def relabel_unmarked(bits: ArrayLike, y: ArrayLike, *, unmarked: int = 0) -> NDArray[Any]:
    """Give an unmarked row the label of the marked rows with the same bits, the most frequent one.

    The study does this to its EMG windows before it splits them, test rows included: a window outside every
    marked gesture that looks exactly like a marked one counts as that gesture. Other rows keep their label.

    >>> relabel_unmarked([[1, 0], [1, 0], [1, 1]], [0, 3, 0]).tolist()
    [3, 3, 0]
    """
    rows, labels = np.asarray(bits, dtype=np.bool_), np.array(y)
    if rows.ndim != 2 or labels.shape != rows.shape[:1]:
        raise ValueError(
            f"bits and y have the shapes {rows.shape} and {labels.shape}; they must be rows x Booleans and "
            "one label per row"
        )
    keys = np.packbits(rows, axis=1)
    _, pattern = np.unique(keys, axis=0, return_inverse=True)
    pattern = pattern.reshape(-1)  # numpy 2.0 returns a column here
    classes, code = np.unique(labels, return_inverse=True)
    counts = np.zeros((int(pattern.max(initial=-1)) + 1, len(classes)), dtype=np.int64)
    np.add.at(counts, (pattern, code), 1)
    counts[:, classes == unmarked] = 0
    is_relabelled = (labels == unmarked) & (counts.sum(axis=1) > 0)[pattern]
    labels[is_relabelled] = classes[counts.argmax(axis=1)[pattern[is_relabelled]]]
    return labels


def in_the_middle_bin(X: NDArray[Any], feature_map: FeatureMap) -> tuple[NDArray[Any], Booleanizer]:
    """Fill in missing values so that they lie in the middle bin of their feature, as in the study.

    A middle bin between equal thresholds has no room for a value. There the upper threshold, and those equal
    to it, move halfway to the next larger value of the feature, and the bin holds the missing values alone.

    >>> equal = FeatureMap([3, 3], [0, 2], [False], "onehot")
    >>> X, booleanizer = in_the_middle_bin(np.array([[3.0], [np.nan], [4.0]]), equal)
    >>> booleanizer.transform(X).astype(int).tolist()
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    filled, thresholds = X.copy(), feature_map.thresholds.copy()
    for f in np.flatnonzero(np.isnan(X).any(axis=0)).tolist():
        absent = np.isnan(X[:, f])
        of_feature = thresholds[feature_map.threshold_offsets[f] : feature_map.threshold_offsets[f + 1]]
        middle = len(of_feature) // 2  # the bin below this threshold
        if middle > 0 and of_feature[middle] == of_feature[middle - 1]:
            larger = X[~absent & (X[:, f] > of_feature[middle]), f]
            end = float(larger.min()) if len(larger) else float(of_feature[middle]) + 2.0
            upper = of_feature[middle:]
            upper[upper == of_feature[middle]] = (float(of_feature[middle]) + end) / 2
        filled[absent, f] = of_feature[middle]
    exact = FeatureMap(thresholds, feature_map.threshold_offsets, np.zeros(X.shape[1]), feature_map.encoding)
    return filled, Booleanizer.from_feature_map(exact)
