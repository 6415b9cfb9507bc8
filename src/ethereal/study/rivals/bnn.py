"""A binarized network with one hidden layer, from any +-1 weight matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.device.program import CProgram
from ethereal.study.rivals.base import table, template


class Bnn:
    """Inputs and hidden units are +1 or -1.

    A hidden unit is +1 when the sum of its weighted inputs is at least its threshold; the class is the one
    with the highest sum of weighted hidden units plus its bias, the lower one on a tie. Fold batch
    normalization into thresholds and bias; where its scale is negative, negate the unit's weights.

    Parameters
    ----------
    hidden_weights
        Inputs x hidden units, +1 or -1.
    hidden_thresholds
        One per hidden unit.
    output_weights
        Hidden units x classes, +1 or -1.
    output_bias
        One integer per class.

    Examples
    --------
    >>> bnn = Bnn([[1, -1], [1, 1]], [1, 1], [[1, -1], [-1, 1]], [0, 0])
    >>> bnn.predict([[True, True], [False, True]])
    array([0, 1])
    """

    def __init__(
        self,
        hidden_weights: ArrayLike,
        hidden_thresholds: ArrayLike,
        output_weights: ArrayLike,
        output_bias: ArrayLike,
    ) -> None:
        self.hidden_weights = _signs("hidden_weights", hidden_weights)
        self.output_weights = _signs("output_weights", output_weights)
        self.hidden_thresholds = np.asarray(hidden_thresholds, dtype=np.float64)
        self.output_bias = np.asarray(output_bias)
        n_hidden, n_classes = self.output_weights.shape
        if self.hidden_weights.shape[1] != n_hidden or self.hidden_thresholds.shape != (n_hidden,):
            raise ValueError(
                f"hidden_weights has shape {self.hidden_weights.shape} and hidden_thresholds "
                f"{self.hidden_thresholds.shape}, but output_weights has {n_hidden} hidden units"
            )
        if self.output_bias.shape != (n_classes,) or self.output_bias.dtype.kind not in "iu":
            raise ValueError(f"output_bias must be {n_classes} integers, one per class")

    def predict(self, booleans: ArrayLike) -> NDArray[np.int64]:
        """Class indices of Boolean rows, on the host."""
        signs = np.where(np.asarray(booleans, dtype=bool), 1, -1)
        hidden = np.where(signs @ self.hidden_weights >= self.hidden_thresholds, 1, -1)
        sums = hidden @ self.output_weights + self.output_bias
        return np.asarray(sums.argmax(axis=1), dtype=np.int64)

    def program(self, booleans: ArrayLike) -> CProgram:
        """The network in C, with Boolean rows to run it on."""
        n_inputs, n_hidden = self.hidden_weights.shape
        # sum = inputs - 2 * differences >= threshold
        most = np.floor((n_inputs - self.hidden_thresholds) / 2).astype(np.int64)
        hidden, output = _packed(self.hidden_weights.T > 0), _packed(self.output_weights.T > 0)
        source = (
            "#include <stdint.h>\n"
            f"#define INPUT_WORDS {hidden.shape[1]}u\n#define HIDDEN_WORDS {output.shape[1]}u\n"
            f"#define N_HIDDEN {n_hidden}u\n#define N_CLASSES {len(output)}u\n"
            + table("uint32_t", "hidden_weights", hidden)
            + table("int16_t", "most_differences", most)
            + table("uint32_t", "output_weights", output)
            + table("int32_t", "bias", self.output_bias)
            + template("bnn.c")
        )
        rows = np.asarray(booleans, dtype=bool)
        return CProgram(
            "bnn",
            {"bnn.c": source, "support.c": template("support.c")},
            "bnn_predict",
            _packed(rows),
            self.predict(rows),
        )


def _signs(name: str, weights: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(weights)
    if array.ndim != 2 or not np.isin(array, (-1, 1)).all():
        raise ValueError(f"{name} must be a matrix of +1 and -1")
    return array.astype(np.int64)


def _packed(bits: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Rows of bits in words, the first bit lowest; filled up with zeros, which differ from nothing."""
    padded = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 32)))
    return np.ascontiguousarray(np.packbits(padded, axis=1, bitorder="little")).view("<u4")
