"""Binarized networks with one hidden layer: FC256 and FC512 of the study, from either of two trainers.

Whichever trainer made it, the result is a `BinaryNetwork` of +-1 weights and whole thresholds, so that one
exporter serves both: a hidden unit is XNOR and popcount against a threshold, a class sum popcount again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ethereal.base.checks import check_integer, check_number
from ethereal.device.baselines import support
from ethereal.device.program import CProgram
from ethereal.model.calibration import softmax
from ethereal_study.baselines.base import table, template

Array = NDArray[np.float32]
_SPREAD = 1e-3  # times the number of Booleans: keeps the variance of a unit that never changes above 0


@dataclass(frozen=True, eq=False)
class BinaryNetwork:
    """The trained network: all of it that a device needs.

    Booleans enter as +1 and -1. Unit `j` gives +1 when `inputs @ hidden[:, j] >= thresholds[j]`, else -1; the
    class sums are `units @ output`. The largest wins, the lower class on a tie.

    Examples
    --------
    >>> import numpy as np
    >>> both = BinaryNetwork(np.array([[1], [1]]), np.array([2]), np.array([[-1, 1]]), np.array(["n", "y"]))
    >>> both.predict([[0, 0], [0, 1], [1, 0], [1, 1]]).tolist()
    ['n', 'n', 'n', 'y']
    >>> both.class_sums([[1, 1]]).tolist()
    [[-1, 1]]
    """

    hidden: NDArray[np.int8]  # Booleans x units, +1 or -1
    thresholds: NDArray[np.int32]  # units
    output: NDArray[np.int8]  # units x classes, +1 or -1
    classes: NDArray[Any]  # labels

    def class_sums(self, bits: ArrayLike) -> NDArray[np.int32]:
        """Whole numbers, rows x classes."""
        inputs = np.where(np.asarray(bits, dtype=np.bool_), np.float32(1), np.float32(-1))
        # float32 is exact for whole numbers below 2**24, and multiplies much faster than integers.
        units = np.where(
            inputs @ self.hidden.astype(np.float32) >= self.thresholds, np.float32(1), np.float32(-1)
        )
        return np.asarray(units @ self.output.astype(np.float32), dtype=np.int32)

    def predict(self, bits: ArrayLike) -> NDArray[Any]:
        """The labels of Boolean rows."""
        return np.asarray(self.classes[self.class_sums(bits).argmax(axis=1)])

    @property
    def n_bytes(self) -> int:
        """Bytes of the weights at one bit each and the thresholds at two."""
        return -(-self.hidden.size // 8) + -(-self.output.size // 8) + 2 * len(self.thresholds)


class BNNClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A binarized network on Boolean features.

    Parameters
    ----------
    n_units
        Hidden units: 256 for the study's FC256, 512 for FC512.
    epochs, batch_size, learning_rate
        Of the training with Adam. None: what suits the backend (numpy: 30, 64, 0.01, the rate falling to 0;
        larq: the study's 100, 32, 0.001).
    backend
        "numpy": the trainer of this package, with batch normalisation folded into the thresholds. "larq": the
        study's library and layout, run in its own Python environment (see `bnn_larq.py`).
    random_state
        Seed of the weights and of the order of rows.

    Attributes
    ----------
    network_
        The `BinaryNetwork`.

    Examples
    --------
    >>> from ethereal import datasets
    >>> digits = datasets.load("digits")
    >>> bnn = BNNClassifier(n_units=64, epochs=15).fit(digits.X_train > 7, digits.y_train)
    >>> bool(bnn.score(digits.X_test > 7, digits.y_test) > 0.8)
    True
    >>> bnn.network_.hidden.shape, bnn.network_.output.shape
    ((64, 64), (64, 10))
    """

    def __init__(
        self,
        n_units: int = 256,
        *,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        backend: Literal["numpy", "larq"] = "numpy",
        random_state: int = 0,
    ) -> None:
        self.n_units = n_units
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.backend = backend
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> BNNClassifier:
        """Train on Boolean rows."""
        for name, lowest in (("n_units", 1), ("epochs", 1), ("batch_size", 2)):
            value = getattr(self, name)
            if value is not None:
                check_integer(name, value, lowest, 10**6)
        if self.learning_rate is not None:
            check_number("learning_rate", self.learning_rate, 1e-9, 1)
        if self.backend not in ("numpy", "larq"):
            raise ValueError(f'backend is {self.backend!r}; it must be "numpy" or "larq"')
        rows, labels = validate_data(self, X, y)
        bits = _bits(rows)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class only, {self.classes_.tolist()}; a classifier needs at least two"
            )
        if self.backend == "numpy":
            train_network = train
        else:
            from ethereal_study.baselines.bnn_larq import train as train_network
        options = {k: getattr(self, k) for k in ("epochs", "batch_size", "learning_rate")}
        given = {k: v for k, v in options.items() if v is not None}
        hidden, thresholds, output = train_network(
            bits, codes, len(self.classes_), int(self.n_units), seed=int(self.random_state), **given
        )
        self.network_ = BinaryNetwork(hidden, thresholds, output, self.classes_)
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.int32]:
        """Class sums, rows x classes."""
        check_is_fitted(self)
        return self.network_.class_sums(_bits(validate_data(self, X, reset=False)))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The labels of Boolean rows."""
        sums = self.decision_function(X)
        return np.asarray(self.classes_[sums.argmax(axis=1)])


def _bits(X: NDArray[Any]) -> NDArray[np.bool_]:
    if X.dtype != np.bool_ and not ((X == 0) | (X == 1)).all():
        raise ValueError("X must be Booleans, or 0 and 1; make them with ethereal.Booleanizer")
    return X.astype(np.bool_)


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


def bnn(network: BinaryNetwork, booleans: ArrayLike) -> CProgram:
    """Return the network in C, with Boolean rows to run it on.

    >>> network = BinaryNetwork(np.array([[1, -1], [1, 1]]), np.array([1, 1]), np.array([[1, -1], [-1, 1]]),
    ...                         np.array(["a", "b"]))
    >>> bnn(network, [[True, True], [False, True]]).expected
    array([0, 1])
    """
    for name in ("hidden", "output"):
        if not np.isin(getattr(network, name), (-1, 1)).all():
            raise ValueError(f"{name} must be a matrix of +1 and -1")
    n_inputs, n_hidden = network.hidden.shape
    # sum = inputs - 2 * differences >= threshold
    most = np.floor((n_inputs - network.thresholds) / 2).astype(np.int64)
    hidden, output = _packed(network.hidden.T > 0), _packed(network.output.T > 0)
    source = (
        "#include <stdint.h>\n"
        f"#define INPUT_WORDS {hidden.shape[1]}u\n#define HIDDEN_WORDS {output.shape[1]}u\n"
        f"#define N_HIDDEN {n_hidden}u\n#define N_CLASSES {len(output)}u\n"
        + table("uint32_t", "hidden_weights", hidden)
        + table("int16_t", "most_differences", most)
        + table("uint32_t", "output_weights", output)
        + table("int32_t", "bias", np.zeros(len(output), dtype=np.int64))  # that a network usually has
        + template("bnn.c")
    )
    rows = np.asarray(booleans, dtype=bool)
    files = {"bnn.c": source, "support.c": support()}
    return CProgram("bnn", files, "bnn_predict", _packed(rows), network.class_sums(rows).argmax(axis=1))


def _packed(bits: NDArray[Any]) -> NDArray[np.uint32]:
    """Return rows of bits in words, the first bit lowest. Zeros fill the last word and never differ."""
    padded = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 32)))
    return np.ascontiguousarray(np.packbits(padded, axis=1, bitorder="little")).view("<u4")
