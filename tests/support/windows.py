"""Windows that are hard on integers, and front ends that have everything."""

import os
from pathlib import Path

import numpy as np

from ethereal.features.window_features import WindowFeatures

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
    return WindowFeatures(kernels | ({"cov": ["axes"]} if n_axes > 1 else {}), **keywords)
