"""Models for the tests of MicroPython packages: trained ones, and of any shape."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris

import strategies
from ethereal import Booleanizer, EtherealClassifier, Model
from random_models import random_clauses


def train(X, y, **parameters):
    parameters = {"n_clauses": 20, "T": 10, "s": 4.0, "epochs": 10, "random_state": 1} | parameters
    return EtherealClassifier.paper(**parameters).fit(X, y).model_


def digits():
    """Floats, more than 254 literals, integer labels."""
    X, y = load_digits(return_X_y=True)
    return train(X, y, booleanizer=Booleanizer(n_bins=4)), X


def iris():
    """Missing values, one-hot bins, labels of text."""
    X, y = load_iris(return_X_y=True)
    X[::7, 1] = np.nan
    names = np.array(["setosa", "versicolor", "virgi\"n'ica ü"])
    return train(X, names[y], booleanizer=Booleanizer(n_bins=5, encoding="onehot")), X


def expected(model, rows):
    """Class sums and labels, as lists."""
    return model.class_sums(rows).tolist(), model.predict(rows).tolist()


@st.composite
def models_and_rows(draw):
    """Any model, with rows or without."""
    feature_map = draw(st.none() | strategies.feature_maps())
    model = draw(strategies.models_of(feature_map))
    if feature_map is None:
        rows = draw(st.lists(st.lists(st.booleans(), min_size=model.n_booleans, max_size=model.n_booleans)))
        return model, np.array(rows, dtype=bool).reshape(len(rows), model.n_booleans)
    return model, draw(strategies.raw_rows(feature_map, max_rows=12))


def model_of_shape(seed, n_booleans, n_classes, n_clauses, longest=8, heaviest=3):
    """A model of Boolean rows, and rows."""
    rng = np.random.default_rng(seed)
    kind = {"longest": longest, "heaviest": heaviest, "zeros": 0.7}
    clauses = random_clauses(rng, n_booleans, n_classes, n_clauses, **kind)
    rates = rng.random(n_booleans)
    model = Model(*clauses, n_booleans=n_booleans, classes=np.arange(n_classes) - 3, boolean_rates=rates)
    return model, rng.random((40, n_booleans)) < rates


SHAPES = [  # Booleans, classes, clauses, literals, weights: around the steps of 255, long clauses
    (1, 1, 3, 1, 1), (126, 2, 40, 5, 1), (127, 3, 60, 5, 1), (128, 3, 60, 5, 30000), (254, 2, 50, 250, 2),
    (255, 5, 200, 6, 1), (700, 17, 300, 9, 3), (2000, 255, 20, 3, 1), (600, 2, 400, 300, 1),
]  # fmt: skip
