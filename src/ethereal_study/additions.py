"""Data sets and methods of your own beside those of the study.

A script adds them, and then every cell, table and figure of the study takes their names::

    from ethereal_study import additions

    machine = Settings(n_clauses=100, T=15, s=5.0, epochs=50, exclude_every=1, n_bins=10)
    additions.add_set("mine", rows, machine)
    additions.add_method("neighbours", lambda rows, settings, seed: ...)      # returns the accuracy

A process or a worker that computes a cell gets what the cell needs of this with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ethereal import datasets
from ethereal.datasets import Dataset
from ethereal.datasets.rows import Rows
from ethereal.train.rules import fingerprint
from ethereal_study.sets.npz import read_npz, write_npz
from ethereal_study.sets.registry import SOURCES
from ethereal_study.settings import SETTINGS, Settings

# Gets the rows of a set under a protocol (`StudyRows`), its settings and a seed. Returns the accuracy on the
# test rows, or a dict with "accuracy" and other figures. "includes" and "clauses" are shown, too.
Method = Callable[[Any, Settings, int], float | Mapping[str, Any]]
_MOST_CLASSES = 2**15


@dataclass(frozen=True)
class OwnSet:
    """A set that a script or a command added."""

    path: Path  # of an npz file with X, y and test
    settings: Settings
    n_rows: int
    n_features: int


@dataclass(frozen=True)
class Additions:
    """What a worker needs to know to compute a cell."""

    sets: Mapping[str, OwnSet] = field(default_factory=dict)
    methods: Mapping[str, Method] = field(default_factory=dict)

    def take(self) -> None:
        """Make these sets and methods known in this process."""
        ADDED.sets.update(self.sets)  # type: ignore[attr-defined]
        ADDED.methods.update(self.methods)  # type: ignore[attr-defined]
        SETTINGS.update({name: one.settings for name, one in self.sets.items()})

    def of(self, dataset: str, method: str) -> Additions:
        """Return what a cell of this set and method needs."""
        return Additions(
            {name: one for name, one in self.sets.items() if name == dataset},
            {name: one for name, one in self.methods.items() if name == method},
        )


ADDED = Additions({}, {})  # of this process


def add_set(name: str, rows: Rows, settings: Settings, folder: str | Path = "study/sets") -> None:
    """Make rows known to the study by a name. They are kept in FOLDER/NAME.npz, where workers read them.

    `rows` needs numbers as features, a label per row and test rows, for example from
    `ethereal.datasets.files.read_table`. Adding a name again replaces the set.
    """
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise ValueError(f"{name!r} cannot name a set. Use letters, digits, points, - and _.")
    if name in SOURCES:
        raise ValueError(f"{name!r} is a set of the study. Give yours another name.")
    if rows.test is None or rows.test.all() or not rows.test.any():
        raise ValueError(f"{name}: test rows are not known. Mark some rows, but not all, in Rows.test.")
    if rows.categories:
        names = rows.feature_names or [str(i) for i in range(rows.X.shape[1])]
        texts = ", ".join(repr(names[i]) for i in sorted(rows.categories)[:5])
        raise ValueError(
            f"{name}: the columns {texts} hold texts. Leave them out, or encode them as numbers."
        )
    labels, codes = np.unique(rows.y, return_inverse=True)
    if not 2 <= len(labels) <= _MOST_CLASSES:
        raise ValueError(f"{name}: y has {len(labels)} labels. The study takes 2 to {_MOST_CLASSES}.")
    absent = np.setdiff1d(rows.y_test, rows.y_train)
    if len(absent):
        raise ValueError(
            f"{name}: test rows have the labels {absent[:5].tolist()}, but training rows do not. "
            "Split the rows again."
        )
    numbered = tuple(f"x{i}" for i in range(rows.X.shape[1]))
    data = Dataset(
        name=name,
        X=rows.X,
        y=codes.astype(np.int16),
        test=rows.test,
        feature_names=tuple(rows.feature_names or numbered),
        class_names=tuple(map(str, rows.class_names or labels.tolist())),
        completeness=f"complete: {len(rows.y)} rows of your own",
        how=rows.how,
    )
    path = Path(folder).absolute() / f"{name}.npz"
    write_npz(path, data)
    Additions({name: OwnSet(path, settings, len(rows.y), data.n_features)}).take()


def add_method(name: str, method: Method) -> None:
    """Make a method known to the study by a name.

    `method(rows, settings, seed)` trains on `rows.X_train` and `rows.y_train`, and returns the accuracy on
    `rows.X_test` and `rows.y_test`. It may return a dict with "accuracy" and other figures. `rows.bits()` has
    all rows as Booleans. The test rows must choose nothing.
    """
    from ethereal_study.cells import METHODS

    if name in METHODS or not re.fullmatch(r"\w[\w.]*", name):
        raise ValueError(f"{name!r} cannot name a method of your own. Take a word that no other method has.")
    if not callable(method):
        raise TypeError(
            f"The method {name!r} is {method!r}. It must be a function of rows, settings and seed."
        )
    Additions({}, {name: method}).take()


def load(name: str) -> Dataset:
    """Return a set by name, of your own or of the study."""
    one = ADDED.sets.get(name)
    return datasets.load(name) if one is None else read_npz(one.path, name)


def path_of(name: str) -> Path | None:
    """Return the npz file of a set, fetched when it is not there."""
    if name in ADDED.sets:
        return ADDED.sets[name].path
    datasets.fetch(name)
    return datasets.status(name).path


def size_of(name: str) -> tuple[int, int]:
    """Return rows and features of a set, the original's for one of the study."""
    if name in ADDED.sets:
        return ADDED.sets[name].n_rows, ADDED.sets[name].n_features
    return SOURCES[name].rows, SOURCES[name].features


def result_of(name: str, rows: Any, settings: Settings, seed: int) -> dict[str, Any]:
    """Return what a method of your own found."""
    returned = ADDED.methods[name](rows, settings, seed)
    result = dict(returned) if isinstance(returned, Mapping) else {"accuracy": returned}
    accuracy = result.get("accuracy")
    if (
        isinstance(accuracy, bool)
        or not isinstance(accuracy, (int, float, np.number))
        or not 0 <= accuracy <= 1
    ):
        raise ValueError(
            f"The method {name!r} returned the accuracy {accuracy!r}. It must be a number from 0 to 1."
        )
    return {key: value.item() if isinstance(value, np.generic) else value for key, value in result.items()}


def method_basis(name: str) -> dict[str, Any]:
    """Return what identifies a method of your own, nothing for one of the study."""
    return {"method": fingerprint(ADDED.methods[name])} if name in ADDED.methods else {}
