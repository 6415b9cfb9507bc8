"""The one way to draw random models: `random_clauses`, and models of every kind of Boolean with rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal import Booleanizer, Model
from ethereal.model import Number


def random_clauses(
    rng: np.random.Generator,
    n_booleans: int,
    n_classes: int = 3,
    n_clauses: int = 40,
    *,
    shortest: int = 0,
    longest: int = 6,
    mean_length: float | None = None,  # lengths around it, in place of even ones between the two
    contradictions: bool = False,  # a clause may ask for a Boolean and for its opposite
    heaviest: int = 3,
    zeros: float = 0.6,  # so many votes are 0
    one_class: bool = False,  # a clause votes for one class, in turn
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """Literals, offsets and votes of a machine."""
    most = 2 * n_booleans if contradictions else n_booleans
    clauses = []
    for _ in range(n_clauses):
        if mean_length is None:
            length = rng.integers(shortest, min(longest, most) + 1)
        else:
            length = min(rng.poisson(mean_length), most)
        chosen = rng.choice(most, length, replace=False)
        if not contradictions:
            chosen = chosen + n_booleans * rng.integers(0, 2, length)
        clauses.append(np.sort(chosen))
    votes = rng.integers(-heaviest, heaviest + 1, (n_clauses, n_classes))
    votes[rng.random(votes.shape) < zeros] = 0
    votes[:1, 0] = 1
    if one_class:
        votes[np.arange(n_classes) != np.arange(n_clauses)[:, None] % n_classes] = 0
    literals = np.concatenate([np.empty(0, int), *clauses]).astype(np.int32)
    offsets = np.cumsum([0, *map(len, clauses)], dtype=np.int64)
    return literals, offsets, votes.astype(np.int32)


def random_model(
    seed: int,
    *,
    encoding: str | None = "thermometer",  # None: Boolean input; "mixed": every other feature one-hot
    n_features: int = 6,
    n_bins: int = 4,
    n_classes: int = 3,
    missing: str = "no",  # "no", "some" (a Boolean for it) or "ignore"
    whole_thresholds: bool = False,
    **clauses: Any,
) -> tuple[Model, NDArray[Any]]:
    """A model and rows of its features, on and around its thresholds. `clauses` as for `random_clauses`."""
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
        for f, of_feature in enumerate(thresholds):  # values on a threshold and just beside it
            exact = rng.choice(np.array(of_feature, dtype=np.float32), n_rows)
            beside = np.nextafter(exact, np.float32(rng.choice([-1e9, 1e9])))
            rows[:30, f] = exact[:30]
            rows[30:60, f] = beside[30:60]
        fitted = rows.copy()
        if missing != "no":
            rows[rng.random(rows.shape) < 0.1] = np.nan
        booleanizer.fit(rows if missing == "some" else fitted)
        n_booleans = booleanizer.feature_map_.n_booleans
    model = Model(
        *random_clauses(rng, n_booleans, n_classes, **clauses),
        n_booleans=n_booleans,
        classes=[f"class {i}" for i in range(n_classes)],
        booleanizer=booleanizer,
    )
    return model, rows


NUMBER = Number(scale=0.125, offset=-20.3, half_width=1.5, unit="degC", name="temperature")


def number_model(
    seed: int, number: Number = NUMBER, feature_names: list[str] | None = None, **keywords: Any
) -> tuple[Model, NDArray[Any]]:
    """A model whose answer is a number, and rows. The keywords are those of `random_model`."""
    model, rows = random_model(seed, **{"n_classes": 1, "zeros": 0.1, "heaviest": 40, **keywords})
    return Model.of(model.clauses, output=number, booleanizer=model.fitted, feature_names=feature_names), rows
