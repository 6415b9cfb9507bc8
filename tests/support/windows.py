"""Windows that are hard on integers, and front ends that have everything."""

import os
from pathlib import Path

import numpy as np

from ethereal import Booleanizer, Model
from ethereal.features.window_features import WindowFeatures
from random_models import NUMBER

TIME_DOMAIN = ("stats", "std", "mad", "step", "shape", "parts", "haar")
RAW = Path(os.environ.get("ETHEREAL_DATA", "")) / "raw"


def hard_windows(n, n_axes=6, n_random=20, seed=0):
    """Random, saturated, alternating, constant, still and smooth windows, int16."""
    rng = np.random.default_rng(seed)
    alternating = np.where(np.arange(n) % 2, 32767, -32768)[:, None].repeat(n_axes, axis=1)
    fixed = [np.full((n, n_axes), value) for value in (0, 7, -1, 32767, -32768)]
    steps = np.where(np.arange(n)[:, None] < rng.integers(0, n, n_axes), -32768, 32767)
    still = rng.integers(-4, 5, (n_random, n, n_axes)) + rng.integers(-2000, 2000, (n_random, 1, n_axes))
    waves = 2000 * np.sin(np.arange(n)[:, None] * 3 * rng.random((n_random, 1, n_axes)))
    loud = rng.integers(-32768, 32768, (n_random, n, n_axes))
    edge = rng.choice([-32768, 32767], (n_random, n, n_axes))
    return np.concatenate([[alternating, steps, *fixed], still, waves, loud, edge]).astype(np.int16)


def everything(n_axes=6, **keywords):
    """A transformer with every kernel on every axis and magnitude, but `mel`."""
    extra = ["|a|", "|g|"] if n_axes == 6 else ["|a|"] if n_axes in (2, 3) else []
    kernels = {name: ["axes", *extra] for name in (*TIME_DOMAIN, "bands", "spectrum")}
    return WindowFeatures(kernels | ({"cov": ["axes"], "corr": ["axes"]} if n_axes > 1 else {}), **keywords)


def model_of(extractor, windows, seed=0, n_clauses=60, n_classes=4):
    """A model with random clauses that uses every group of features of a fitted transformer."""
    rng = np.random.default_rng(seed)
    booleanizer = Booleanizer(4).fit(extractor.transform(windows))
    feature_map = booleanizer.feature_map_
    groups = extractor.front_end_.group_of[feature_map.feature]
    first = [rng.choice(np.flatnonzero(groups == g)) for g in np.unique(groups)]
    clauses = [[b, *rng.choice(feature_map.n_booleans, 2)] for b in first]
    clauses += rng.integers(0, feature_map.n_booleans, (n_clauses, 2)).tolist()
    literals = [sorted({int(b) + feature_map.n_booleans * int(rng.integers(2)) for b in c}) for c in clauses]
    return Model(
        np.concatenate(literals),
        np.cumsum([0, *map(len, literals)]),
        rng.integers(-3, 4, (len(literals), n_classes)) * 2 + 1,
        n_booleans=feature_map.n_booleans,
        classes=list("abcdefgh"[:n_classes]),
        booleanizer=booleanizer,
        front_end=extractor.front_end_,
    )


def number_of_windows(sound=False):
    """A model whose answer is a number, and its raw windows, of movement or of sound."""
    n, axes, rate = (2048, ("sound",), 16000) if sound else (64, ("ax", "ay", "az"), 50)
    kernels = {"mel": ["axes"]} if sound else {"stats": ["axes", "|a|"], "bands": ["axes"]}
    windows = hard_windows(n, len(axes), 3 if sound else 10)
    extractor = WindowFeatures(kernels, axes=axes, rate=rate, hop=n // 2).fit(windows)
    model = model_of(extractor, windows, n_classes=1)
    parts = {"booleanizer": model.fitted, "front_end": model.front_end}
    return Model.of(model.clauses, output=NUMBER, **parts), windows
