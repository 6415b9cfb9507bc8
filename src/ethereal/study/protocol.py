"""What only the study does to its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def relabel_unmarked(bits: ArrayLike, y: ArrayLike, *, unmarked: int = 0) -> NDArray[Any]:
    """Give an unmarked row the label of the marked rows with the same bits, the most frequent one.

    The study does this to its EMG windows before it splits them, test rows included: a window outside every
    marked gesture that looks exactly like a marked one counts as that gesture. Other rows keep their label.

    >>> relabel_unmarked([[1, 0], [1, 0], [1, 1]], [0, 3, 0]).tolist()
    [3, 3, 0]
    """
    rows, labels = np.asarray(bits, dtype=np.bool_), np.array(y)
    if rows.ndim != 2 or labels.shape != rows.shape[:1]:
        raise ValueError(
            f"bits and y have the shapes {rows.shape} and {labels.shape}; they must be rows x Booleans and "
            "one label per row"
        )
    keys = np.packbits(rows, axis=1)
    _, pattern = np.unique(keys, axis=0, return_inverse=True)
    pattern = pattern.reshape(-1)  # numpy 2.0 returns a column here
    classes, code = np.unique(labels, return_inverse=True)
    counts = np.zeros((int(pattern.max(initial=-1)) + 1, len(classes)), dtype=np.int64)
    np.add.at(counts, (pattern, code), 1)
    counts[:, classes == unmarked] = 0
    found = (labels == unmarked) & (counts.sum(axis=1) > 0)[pattern]
    labels[found] = classes[counts.argmax(axis=1)[pattern[found]]]
    return labels
