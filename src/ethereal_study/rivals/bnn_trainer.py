"""Training a binarized network in numpy: straight-through estimator, batch normalisation, Adam.

Real weights in [-1, 1] are kept beside. Forward and backward use their signs. The gradient passes the sign as
if it were the identity where its argument lies in [-1, 1] (the straight-through estimator). The hidden sums
are normalised over the batch and shifted, which at the end is one threshold per unit on a whole number.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ethereal.base.calibration import softmax

Array = NDArray[np.float32]
_SPREAD = 1e-3  # times the number of Booleans: keeps the variance of a unit that never changes above 0


def train(
    bits: NDArray[np.bool_],
    codes: NDArray[np.intp],
    n_classes: int,
    n_units: int,
    *,
    seed: int,
    epochs: int = 30,
    batch_size: int = 64,
    learning_rate: float = 0.01,
) -> tuple[NDArray[np.int8], NDArray[np.int32], NDArray[np.int8]]:
    """Return hidden weights, thresholds and output weights of a `BinaryNetwork`.

    >>> import numpy as np
    >>> bits = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 20, dtype=bool)
    >>> hidden, thresholds, output = train(bits, np.array([0, 1, 1, 0] * 20), 2, 16, seed=0)
    >>> hidden.shape, thresholds.shape, output.shape
    ((2, 16), (16,), (16, 2))
    """
    rng = np.random.default_rng(seed)
    n, n_booleans = bits.shape
    X = np.where(bits, np.float32(1), np.float32(-1))  # rows x Booleans
    hidden = rng.uniform(-1, 1, (n_booleans, n_units)).astype(np.float32)
    output = rng.uniform(-1, 1, (n_units, n_classes)).astype(np.float32)
    shift = np.zeros(n_units, dtype=np.float32)
    adam = _Adam([hidden, output, shift])
    n_batches = max(n // batch_size, 1)
    for epoch in range(epochs):
        # Shuffled rows in batches of about equal size: a last one of a few rows would have no variance.
        for batch, rows in enumerate(np.array_split(rng.permutation(n), n_batches)):
            done = (epoch * n_batches + batch) / (epochs * n_batches)
            gradients = _gradients(X[rows], codes[rows], hidden, output, shift)
            adam.step(gradients, rate=learning_rate * 0.5 * (1 + np.cos(np.pi * done)))
            np.clip(hidden, -1, 1, out=hidden)
            np.clip(output, -1, 1, out=output)
    # (sum - mean) / deviation + shift >= 0, for a whole sum, is sum >= ceil(mean - shift * deviation).
    # Mean and deviation are over all rows now.
    sums = X @ _sign(hidden)
    deviation = np.sqrt(sums.var(axis=0, dtype=np.float64) + _SPREAD * n_booleans)
    thresholds = np.ceil(sums.mean(axis=0, dtype=np.float64) - shift * deviation)
    return (
        _sign(hidden).astype(np.int8),
        np.clip(thresholds, -n_booleans, n_booleans + 1).astype(np.int32),
        _sign(output).astype(np.int8),
    )


def _gradients(
    x: Array,
    codes: NDArray[np.intp],
    hidden: Array,
    output: Array,
    shift: Array,
    sign: Callable[[Array], Array] | None = None,
) -> list[Array]:
    """Gradients of the mean cross-entropy of one batch for hidden, output and shift.

    `sign` is the binarization. With the clip to [-1, 1] in its place, of which the straight-through estimator
    takes the derivative, they are the true gradients: that is how they are tested.
    """
    sign = sign or _sign
    scale = np.float32(len(output) ** -0.5)  # class sums of size 1 or so: the softmax is not saturated
    b1, b2 = sign(hidden), sign(output)
    sums = x @ b1  # batch x units
    deviation = np.sqrt(sums.var(axis=0) + np.float32(_SPREAD * x.shape[1]))
    normal = (sums - sums.mean(axis=0)) / deviation
    active = normal + shift
    units = sign(active)
    g = softmax((units @ b2) * scale)  # batch x classes
    g[np.arange(len(x)), codes] -= 1
    g *= scale / np.float32(len(x))
    g_active = (g @ b2.T) * (np.abs(active) <= 1)
    g_sums = (g_active - g_active.mean(axis=0) - normal * (g_active * normal).mean(axis=0)) / deviation
    return [x.T @ g_sums, units.T @ g, g_active.sum(axis=0)]


class _Adam:
    """Adam on parameters that it changes in place."""

    def __init__(self, parameters: list[Array]) -> None:
        self.parameters = parameters
        self.first = [np.zeros_like(p) for p in parameters]
        self.second = [np.zeros_like(p) for p in parameters]
        self.count = 0

    def step(self, gradients: list[Array], rate: float) -> None:
        self.count += 1
        unbias1, unbias2 = 1 - 0.9**self.count, 1 - 0.999**self.count
        for p, g, m, v in zip(self.parameters, gradients, self.first, self.second, strict=True):
            m += np.float32(0.1) * (g - m)
            v += np.float32(0.001) * (g * g - v)
            p -= np.float32(rate / unbias1) * m / (np.sqrt(v / np.float32(unbias2)) + np.float32(1e-8))


def _sign(v: Array) -> Array:
    return np.where(v >= 0, np.float32(1), np.float32(-1))
