"""Examples of the helpers of `ethereal/features`, as doctests."""

# ruff: noqa: F401

import numpy as np

from ethereal.features.matrices import (
    boolean_matrix,
    class_codes,
    dense_rows,
    feature_columns,
    feature_matrix,
    refuse_odd_labels,
)

__test__ = {
    "boolean_matrix": """
    >>> boolean_matrix([[1, 0]], 2, None)
    array([[ True, False]])
    """,
    "class_codes": """
    >>> class_codes(["b", "c", "a"], np.array(["a", "b"]))
    array([ 1, -1,  0])
    """,
    "dense_rows": """
    >>> from scipy.sparse import csr_array
    >>> dense_rows(csr_array([[0.0, 1.0]])), dense_rows(csr_array([[0, 2]])), dense_rows([[5]])
    (array([[False,  True]]), array([[0, 2]]), [[5]])
    """,
    "feature_columns": """
    >>> import pandas as pd
    >>> feature_columns(pd.DataFrame({"a": [1, 2], "b": [0.5, None]}), 2, ["a", "b"])
    [array([1, 2]), array([0.5, nan])]
    """,
    "feature_matrix": """
    >>> feature_matrix([[1, 2]], 2, None)
    array([[1, 2]])
    """,
    "refuse_odd_labels": """
    >>> refuse_odd_labels(np.array(["a", None], dtype=object))
    Traceback (most recent call last):
        ...
    ValueError: y[1] is None. Labels are texts, numbers or Booleans. Leave out rows without a label.
    """,
}
