"""Binarized networks with one hidden layer: FC256 and FC512 of the study, from either of two trainers.

Whichever trainer made it, the result is a `BinaryNetwork` of +-1 weights and whole thresholds, so that one
exporter serves both: a hidden unit is XNOR and popcount against a threshold, a class sum popcount again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ethereal.base.checks import check_integer, check_number


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
            from ethereal_study.rivals.bnn_trainer import train
        else:
            from ethereal_study.rivals.bnn_larq import train
        options = {k: getattr(self, k) for k in ("epochs", "batch_size", "learning_rate")}
        given = {k: v for k, v in options.items() if v is not None}
        hidden, thresholds, output = train(
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
