"""A binarized network with one hidden layer in C."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.device.forest import support
from ethereal.device.program import CProgram
from ethereal_study.rivals.base import table, template
from ethereal_study.rivals.bnn_classifier import BinaryNetwork


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
