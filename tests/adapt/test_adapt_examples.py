"""Examples of the helpers of `ethereal/adapt`, as doctests."""

# ruff: noqa: F401

import numpy as np

from ethereal.adapt.learn_options import LearnOptions, check_learning
from ethereal.adapt.learning import packed

__test__ = {
    "check_learning": """
    >>> check_learning(LearnOptions(learn_rows=5))
    Traceback (most recent call last):
        ...
    ValueError: learn_rows is 5, but nothing learns. Give learn="votes" too.
    """,
    "packed": r"""
    >>> packed(np.array([[True, False, True]]))
    [b'\x05']
    """,
}
