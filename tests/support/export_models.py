"""Models for the tests of the exporter: random ones, of every kind of Boolean."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal import Booleanizer, Model


def random_model(
    seed: int,
    *,
    encoding: str | None = "thermometer",  # None: Boolean input; "mixed": every other feature one-hot
    n_features: int = 6,
    n_bins: int = 4,
    n_classes: int = 3,
    n_clauses: int = 40,
    longest: int = 6,
    heaviest: int = 3,
    missing: str = "no",  # "no", "some" (a Boolean for it) or "ignore"
    whole_thresholds: bool = False,
) -> tuple[Model, NDArray[Any]]:
    """A model and rows of its features, on and around its thresholds."""
    rng = np.random.default_rng(seed)
    booleanizer = None
    n_rows = 100
    if encoding is None:
        rows: NDArray[Any] = rng.random((n_rows, n_features)) < 0.5
        n_booleans = n_features
    else:
        thresholds = [
            np.unique(
                rng.integers(-40, 40, rng.integers(1, n_bins)) + (0.0 if whole_thresholds else 0.25)
            ).tolist()
            for _ in range(n_features)
        ]
        booleanizer = Booleanizer(
            encoding=["onehot" if f % 2 else "thermometer" for f in range(n_features)]
            if encoding == "mixed"
            else encoding,  # type: ignore[arg-type]
            thresholds=thresholds,
            missing="ignore" if missing == "ignore" else "raise",
        )
        rows = rng.integers(-45, 45, (n_rows, n_features)).astype(np.float32)
        for f, own in enumerate(thresholds):  # values on a threshold and just beside it
            exact = rng.choice(np.array(own, dtype=np.float32), n_rows)
            beside = np.nextafter(exact, np.float32(rng.choice([-1e9, 1e9])))
            rows[:30, f] = exact[:30]
            rows[30:60, f] = beside[30:60]
        fitted = rows.copy()
        if missing != "no":
            rows[rng.random(rows.shape) < 0.1] = np.nan
        booleanizer.fit(rows if missing == "some" else fitted)
        n_booleans = booleanizer.feature_map_.n_booleans
    literals, offsets = [], [0]
    for _ in range(n_clauses):
        k = int(rng.integers(0, min(longest, n_booleans) + 1))
        chosen = rng.choice(n_booleans, k, replace=False)
        literals += sorted((chosen + n_booleans * rng.integers(0, 2, k)).tolist())
        offsets.append(len(literals))
    weights = rng.integers(-heaviest, heaviest + 1, (n_clauses, n_classes))
    weights[rng.random(weights.shape) < 0.6] = 0
    weights[0, 0] = 1
    model = Model(
        literals,
        offsets,
        weights,
        n_booleans=n_booleans,
        classes=[f"class {i}" for i in range(n_classes)],
        booleanizer=booleanizer,
    )
    return model, rows
