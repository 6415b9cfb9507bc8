"""Random models whose clauses are over patches, with rows that lie on thresholds as often as beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal import Booleanizer
from ethereal.model import Clauses, Model, Patch
from ethereal.model.patch import tiled


def random_patch_model(
    seed: int, *, widest: int = 70, n_clauses: int = 12, n_classes: int = 3
) -> tuple[Model, NDArray[Any]]:
    """Return a model over frames or images, and rows of its numbers. Some models take Booleans."""
    rng = np.random.default_rng(seed)
    shape = (rng.integers(1, widest + 1),) if seed % 2 else (rng.integers(1, 9), rng.integers(1, widest // 3))
    size = [int(rng.integers(1, min(length, 6) + 1)) for length in shape]
    n_channels = int(rng.integers(1, 4))
    n_cells = int(np.prod(shape))
    thresholds = [np.sort(rng.choice([-2.5, 0.0, 1.0, 1.5, 7.0], rng.integers(1, 4), replace=False)).tolist()
                  for _ in range(n_channels)]  # fmt: skip
    booleanizer = None
    n_planes = n_channels
    if seed % 5:
        fitted = Booleanizer(thresholds=thresholds).fit(np.zeros((2, n_channels)))
        n_planes = fitted.feature_map_.n_booleans
        booleanizer = Booleanizer.from_feature_map(tiled(fitted.feature_map_, n_cells))
    patch = Patch(tuple(map(int, shape)), tuple(size), n_planes, places=bool(seed % 3))
    n = patch.n_booleans
    clauses = [np.sort(rng.choice(2 * n, min(2 * n, rng.integers(0, 7)), replace=False))
               for _ in range(n_clauses)]  # fmt: skip
    weights = rng.integers(-5, 6, (n_clauses, n_classes))
    if seed % 4 == 0:  # one class each
        weights *= np.arange(n_classes) == rng.integers(n_classes, size=(n_clauses, 1))
    if seed % 7 == 0:
        weights *= 100  # more than a byte holds
    offsets = np.cumsum([0, *map(len, clauses)])
    made = Clauses(np.concatenate(clauses).astype(int), offsets, weights, n, "and", patch)
    model = Model.of(made, classes=list("abcdef"[:n_classes]), booleanizer=booleanizer)
    if booleanizer is None:
        return model, rng.random((40, n_cells * n_channels)) < 0.5
    values = np.array([-2.5, -2.4999998, -0.0, 0.0, 1.0, 1.25, 1.5, 2.0, 7.0, 8.0], dtype=np.float32)
    return model, rng.choice(values, (40, n_cells * n_channels))
