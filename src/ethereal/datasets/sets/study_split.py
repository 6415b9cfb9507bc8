"""The published split of the study."""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray

from ethereal.base.checks import check_integer


def study_split(n_rows: int) -> NDArray[np.bool_]:
    """Mark the test rows of the study's 80/20 split of `n_rows` rows.

    The study shuffles row numbers with Python's generator seeded by 1 and tests on the last fifth. The same
    rows in the same order give the published split to the row.

    >>> study_split(10).nonzero()[0].tolist()
    [6, 8]
    """
    check_integer("n_rows", n_rows, 1, 2**31 - 1)
    order = random.Random(1).sample(range(n_rows), n_rows)
    test = np.zeros(n_rows, dtype=np.bool_)
    test[order[int(n_rows * 0.8) :]] = True
    return test
