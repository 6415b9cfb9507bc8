"""Pruning of clauses over patches: moves count the right rows, and the result is smaller and exact."""

from __future__ import annotations

import numpy as np
import pytest

from ethereal import EtherealClassifier, _native, export, prune
from ethereal.model import Clauses, Model
from ethereal.model.calibration import softmax
from ethereal.model.engine import booleans_of
from random_patches import random_patch_model


def pruner_of(model: Model, booleans: np.ndarray, targets: np.ndarray, scale: float):
    """The native descent of a model."""
    features = model.clause_map.feature
    return _native.Pruner(booleans, features, targets.astype(np.float32), model.literals, model.offsets,
                          model.weights, scale, 1, model.patch.native())  # fmt: skip


def loss_of(model: Model, clauses: Clauses, booleans: np.ndarray, targets: np.ndarray, scale: float) -> float:
    shares = softmax(scale * (clauses.fires(booleans) @ clauses.weights))
    return float(-(targets * np.log(np.maximum(shares, 1e-30))).sum())


@pytest.mark.parametrize("first", [0, 8, 16])
def test_the_loss_after_a_descent_is_that_of_the_clauses_it_returns(first):
    n_shorter = 0
    for seed in range(first, first + 8):
        model, X = random_patch_model(seed, n_classes=3)
        model = model.with_clauses(model.literals, model.offsets, np.sign(model.weights))
        booleans = booleans_of(model, X)
        rng = np.random.default_rng(seed)
        targets = np.eye(3)[rng.integers(3, size=len(X))]
        pruner = pruner_of(model, booleans, targets, 0.4)
        for price in (0.01, 0.03, 0.1):
            pruner.sweep(price, (3.0, 4.0, 1.0, 4.0, 1.0))
            literals, offsets, votes = pruner.clauses()
            clauses = Clauses(literals, offsets, votes.reshape(-1, 3), model.n_booleans, patch=model.patch)
            expected = loss_of(model, clauses, booleans, targets, 0.4)
            assert pruner.loss == pytest.approx(expected, rel=1e-5)
        n_shorter += len(literals) < len(model.literals)
    assert n_shorter == 8


def test_a_pruned_model_is_exported_and_small():
    rng = np.random.default_rng(0)
    X, y = (rng.random((500, 9, 9)) < 0.1).astype(np.uint8), rng.integers(2, size=500)
    for image, label in zip(X, y, strict=True):
        a, b = rng.integers(6), rng.integers(9)
        image[(slice(a, a + 3), b) if label else (b, slice(a, a + 3))] = 1
    clf = EtherealClassifier(20, T=8, s=5.0, patch=(3, 3), places=False, epochs=15, random_state=0).fit(X, y)
    pruned = prune(clf.plain_model_, X, y)
    assert pruned.model.n_includes < 0.7 * clf.plain_model_.n_includes
    assert pruned.accuracy >= pruned.curve[0].accuracy
    small = prune(clf.plain_model_, X, y, flash=900)
    assert small.footprint.bytes <= 900
    assert small.model.deployment.layout in ("patches", "patch_code")
    assert export.choose(small.model).layout == small.model.deployment.layout


def test_the_native_pruner_checks_its_patch():
    model, X = random_patch_model(6)
    booleans = booleans_of(model, X)
    targets = np.full((len(X), 3), 1 / 3)
    with pytest.raises(ValueError, match="not those of the patch"):
        pruner_of(model, booleans[:, 1:], targets, 0.4)
