"""Rows as the trainer wants them: one bit per literal, packed into 64-bit words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal import _native

if TYPE_CHECKING:  # pays for scikit-learn, which the workers of a cluster need not
    from ethereal.features.booleanizer import Booleanizer

# Rows are Booleanized in blocks, so that there is no second copy of the data at a byte per Boolean.
_BLOCK_BYTES = 1 << 22


@dataclass(frozen=True)
class PackedRows:
    """Rows x words. Bit `i` of word `w` is literal `64 * w + i`, first the Booleans, then their negations."""

    words: NDArray[np.uint64]
    classes: NDArray[np.int32]  # class index of each row
    n_booleans: int
    rates: NDArray[np.float32]  # share of rows in which each Boolean is true

    def __len__(self) -> int:
        return len(self.words)

    def sample(self, most_rows: int = 256, most_bytes: int = 1 << 16) -> NDArray[np.uint8]:
        """Return the Booleans of some rows, evenly from the whole, as bits, rows x bytes.

        >>> pack(np.array([[1, 0, 1]]), np.array([0], np.int32), None).sample()
        array([[5]], dtype=uint8)
        """
        n_bytes = (self.n_booleans + 7) // 8
        n_rows = min(len(self), most_rows, max(1, most_bytes // max(n_bytes, 1)))
        chosen = self.words[evenly(len(self), n_rows)]
        sample = chosen.astype("<u8").view(np.uint8)[:, :n_bytes].copy()
        if self.n_booleans % 8:  # the negations follow
            sample[:, -1] &= (1 << self.n_booleans % 8) - 1
        return sample


def evenly(n_rows: int, most: int) -> NDArray[np.intp]:
    """Return indices of at most `most` of so many rows, evenly from the whole.

    >>> evenly(10, 4), evenly(2, 4)
    (array([0, 3, 6, 9]), array([0, 1]))
    """
    return np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.intp)


def is_boolean(array: NDArray[Any]) -> bool:
    """Whether all values are 0 or 1.

    >>> is_boolean(np.array([[0, 1], [1, 1]])), is_boolean(np.array([[0.0, 0.5]]))
    (True, False)
    """
    return array.dtype == bool or bool(((array == 0) | (array == 1)).all())


def pack(
    array: NDArray[Any],
    classes: NDArray[np.int32],
    booleanizer: Booleanizer | None,
    rows: NDArray[np.intp] | None = None,
) -> PackedRows:
    """Booleanize and pack these rows. Without a Booleanizer the values are 0 and 1 already.

    >>> packed = pack(np.array([[1, 0, 1]]), np.array([0], np.int32), None)
    >>> f"{packed.words[0, 0]:06b}", packed.n_booleans
    ('010101', 3)
    """
    n_rows = len(array) if rows is None else len(rows)
    n_booleans = array.shape[1] if booleanizer is None else booleanizer.feature_map_.n_booleans
    words = np.empty((n_rows, (2 * n_booleans + 63) // 64), dtype=np.uint64)
    counts = np.zeros(n_booleans, dtype=np.int64)
    step = max(64, _BLOCK_BYTES // max(n_booleans, 1))
    for start in range(0, n_rows, step):
        block = array[start : start + step] if rows is None else array[rows[start : start + step]]
        booleans = _as_boolean(block, start) if booleanizer is None else booleanizer.transform(block)
        words[start : start + step] = _native.pack_literals(booleans)
        counts += booleans.sum(axis=0)
    rates = (counts / max(n_rows, 1)).astype(np.float32)
    return PackedRows(words, classes if rows is None else classes[rows], n_booleans, rates)


def _as_boolean(block: NDArray[Any], start: int) -> NDArray[np.bool_]:
    if block.dtype == bool:
        return block
    booleans: NDArray[np.bool_] = block == 1
    odd = ~booleans & (block != 0)
    if odd.any():
        row, column = np.argwhere(odd)[0]
        raise ValueError(
            f"X[{start + row}, {column}] is {block[row, column]}. This classifier takes rows of 0 and 1, "
            "like its training rows. For other numbers give booleanizer=Booleanizer()."
        )
    return booleans
