"""Small data sets with the names of the study's."""

import numpy as np

from ethereal.datasets.catalogue import Dataset


def small_set(name, *, n_rows=120, n_features=6, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = (np.arange(n_rows) % n_classes).astype(np.int16)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    X[:, 0] += y
    X[:, 1] -= 2 * (y == 1)
    test = rng.random(n_rows) < 0.25
    names = tuple(f"f{i}" for i in range(n_features))
    classes = tuple(f"c{i}" for i in range(n_classes))
    return Dataset(X, y, test, feature_names=names, class_names=classes, name=name)
