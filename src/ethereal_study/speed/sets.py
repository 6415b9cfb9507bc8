"""The study's shapes: Boolean rows of the real data when it is at hand, else synthetic ones."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.npz import write_arrays
from ethereal.datasets.rows import Rows
from ethereal.features.packing import is_boolean
from ethereal_study.additions import ADDED
from ethereal_study.sets.npz import read_npz
from ethereal_study.settings import SETTINGS, Settings
from ethereal_study.speed.protocol import Request


@dataclass(frozen=True)
class Shape:
    """The size of one set of the study, and how far its synthetic rows spread."""

    name: str
    n_train: int
    n_test: int
    n_booleans: int
    n_classes: int
    noise: float = 0.8  # spread of rows around their centre, in units of the centres' own spread

    @property
    def settings(self) -> Settings:
        """The machine's parameters and the Booleanizer, as in the study."""
        return SETTINGS[self.name]


# Sizes are those of the complete sets. The noise gives synthetic rows about the accuracy of the real ones.
SHAPES: dict[str, Shape] = {
    shape.name: shape
    for shape in (
        Shape("mnist", 60000, 10000, 784, 10),
        Shape("emg", 10923, 2756, 160, 8),
        Shape("har", 7352, 2947, 560, 6, noise=0.9),
        Shape("sports", 80256, 20064, 45, 19, noise=0.5),
        Shape("gas", 11130, 2780, 128, 6),
        Shape("gesture", 7920, 1981, 180, 5),
        Shape("mammography", 768, 193, 15, 2),
        Shape("sensorless", 46807, 11702, 144, 11),
        Shape("statlog", 676, 170, 342, 4),
    )
}


@dataclass(frozen=True, eq=False)
class ShapedRows(Rows):
    """Boolean rows of one set with labels 0 to n_classes - 1."""

    shape: Shape = SHAPES["mnist"]
    real: bool = False

    @property
    def n_booleans(self) -> int:
        """Number of Boolean features."""
        return int(self.X.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes: the highest label and those below."""
        return int(self.y.max()) + 1

    def save(self, path: Path) -> None:
        """Write the rows for a baseline's process, eight Booleans to a byte."""
        write_arrays(
            path,
            {
                "X_train": np.packbits(self.X_train, axis=1),
                "y_train": self.y_train,
                "X_test": np.packbits(self.X_test, axis=1),
                "y_test": self.y_test,
            },
        )

    def request(self, data: Path, **asked: Any) -> Request:
        """Return a request for the rows in `data`, with the study's machine unless another is asked for."""
        s = self.shape.settings
        given = {"n_clauses": s.n_clauses, "threads": 1, "evaluate": True, "predict_rows": 0} | asked
        return Request(str(data), self.n_booleans, self.n_classes, T=s.T, s=s.s, **given)


def shape_named(name: str) -> Shape:
    """Return the shape of a set.

    >>> shape_named("emg").settings.n_clauses
    300
    """
    if name in ADDED.sets:
        data = read_npz(ADDED.sets[name].path, name)
        return _real(Shape(name, 0, 0, 0, data.n_classes), ADDED.sets[name].path).shape
    if name not in SHAPES:
        raise ValueError(
            f"unknown set {name!r}; there are {', '.join(SHAPES)}; a file ends with .npz or .csv"
        )
    return SHAPES[name]


def load(name: str, *, folder: Path | None = None, max_rows: int | None = None, seed: int = 0) -> ShapedRows:
    """Load a set from `folder` (default: ETHEREAL_DATA), or make synthetic rows when it is not there.

    `max_rows` keeps that many training rows and a quarter as many test rows.

    >>> rows = load("emg", folder=Path("nowhere"), max_rows=400)
    >>> rows.real, rows.X_train.shape, rows.X_test.shape, rows.n_classes
    (False, (400, 160), (100, 160), 8)
    """
    shape = shape_named(name)
    if max_rows is not None and max_rows < 4 * shape.n_classes:
        raise ValueError(f"rows is {max_rows}; {name} needs {4 * shape.n_classes} or more, four per class")
    if folder is None and os.environ.get("ETHEREAL_DATA"):
        folder = Path(os.environ["ETHEREAL_DATA"])
    file = None if folder is None else folder / f"{name}.npz"
    if name in ADDED.sets:
        file = ADDED.sets[name].path
    rows = _real(shape, file) if file is not None and file.exists() else synthetic(shape, seed=seed)
    if max_rows is None:
        return rows
    assert rows.test is not None
    train, test = np.flatnonzero(~rows.test), np.flatnonzero(rows.test)
    return rows.drawn(
        train[_of_every_class(rows.y_train, max_rows)], test[_of_every_class(rows.y_test, max_rows // 4)], ""
    )


def _of_every_class(y: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the indices of `count` rows, the first ones of every class in turn."""
    order = np.argsort(y, kind="stable")
    rank = np.empty(len(y), dtype=np.int64)  # of a row within its class
    rank[order] = np.arange(len(y)) - np.searchsorted(y[order], y[order])
    return np.sort(np.argsort(rank, kind="stable")[:count])


def _real(shape: Shape, file: Path) -> ShapedRows:
    data = read_npz(file, shape.name)
    X = data.X[:, : shape.settings.n_features]
    if not is_boolean(X):
        # Quantiles over all rows, as the study took them: every baseline sees the same bits.
        X = shape.settings.booleanizer().fit_transform(X)
    bits, y = np.ascontiguousarray(X, dtype=bool), data.y.astype(np.int64)
    n_test, n_booleans = int(data.test.sum()), bits.shape[1]
    if shape.n_booleans == 0:  # a set of your own, whose size is known only now
        shape = replace(shape, n_train=len(y) - n_test, n_test=n_test, n_booleans=n_booleans)
    return ShapedRows(bits, y, data.test, shape=shape, real=True)


def synthetic(shape: Shape, *, seed: int = 0) -> ShapedRows:
    """Make rows of the given shape, the same for the same seed.

    A row is a point near one of its class's few centres in a space of few dimensions, and each Boolean says
    on which side of a plane it lies: so Booleans depend on each other, as those of real sensors do.

    >>> rows = synthetic(SHAPES["mammography"])
    >>> rows.X_train.shape, rows.y_train[:5]
    ((768, 15), array([0, 1, 0, 1, 0]))
    """
    rng = np.random.default_rng([seed, shape.n_booleans, shape.n_classes])
    n_dimensions, n_centres = 16, 4
    centres = rng.normal(size=(shape.n_classes, n_centres, n_dimensions)).astype(np.float32)
    directions = rng.normal(size=(n_dimensions, shape.n_booleans)).astype(np.float32)
    offsets = np.sqrt(n_dimensions) * rng.normal(size=shape.n_booleans).astype(np.float32)

    def draw(n_rows: int) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        y = np.arange(n_rows, dtype=np.int64) % shape.n_classes
        points = centres[y, rng.integers(n_centres, size=n_rows)]
        points = points + shape.noise * rng.standard_normal(points.shape, dtype=np.float32)
        return points @ directions > offsets, y

    X, y = (np.concatenate(parts) for parts in zip(draw(shape.n_train), draw(shape.n_test), strict=True))
    return ShapedRows(X, y, np.arange(len(y)) >= shape.n_train, shape=shape)
