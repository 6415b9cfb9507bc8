"""Arrays and frames to plain matrices, and labels to indices. Errors name the place."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def feature_matrix(X: Any, n_features: int, names: Sequence[str] | None) -> NDArray[Any]:
    """Numeric matrix of raw features, rows x features, uncopied where it is one already."""
    refuse_other_names(X, names)
    refuse_non_numeric_columns(X)
    array = _frame_matrix(X) if is_frame(X) else _matrix(X)
    refuse_odd_numbers(array)
    if array.shape[1] != n_features:
        raise ValueError(f"X has {array.shape[1]} features. The model was trained on {n_features}.")
    return array


def _matrix(X: Any) -> NDArray[Any]:
    """Matrix of what is not a frame: the checks of scikit-learn's `check_array`, without its import."""
    try:
        array = np.asarray(dense_rows(X))
        if array.dtype == object:
            array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X is not a matrix of numbers: {error}. Give rows of equal length.") from None
    if array.dtype.kind in "USV":
        raise ValueError(f"X has dtype {array.dtype}, texts. Encode them as numbers or leave them out.")
    if array.ndim != 2:
        raise ValueError(
            f"X is a {array.ndim}D array of shape {array.shape}. It must be a 2D array, rows x features. "
            "Reshape your data. X.reshape(1, -1) makes one row of a list of features."
        )
    return array


def dense_rows(X: Any) -> Any:
    """Return a sparse matrix as a dense one, and anything else as it is.

    Where all numbers are 0 and 1 the result is Boolean, a byte per entry. It has the type of X otherwise.
    """
    if not hasattr(X, "toarray"):
        return X
    rows = X.tocsr()  # which adds up entries that occur twice
    values = rows.data
    if values.dtype.kind in "fiu" and ((values == 0) | (values == 1)).all():
        rows = rows.astype(bool)
    return rows.toarray()


def _frame_matrix(X: Any) -> NDArray[Any]:
    """Matrix of a frame of numbers, uncopied where the frame holds one. Missing values become NaN."""
    is_plain = hasattr(X, "get_columns") or all(isinstance(dtype, np.dtype) for dtype in X.dtypes)
    array: NDArray[Any] = X.to_numpy() if is_plain else X.to_numpy(np.float64, na_value=np.nan)
    return array.astype(np.float64) if array.dtype == object else array


def feature_columns(X: Any, n_features: int, names: Sequence[str] | None) -> list[NDArray[Any]]:
    """Columns of a pandas or polars frame, each uncopied where it is an array of numbers without gaps."""
    refuse_other_names(X, names)
    refuse_non_numeric_columns(X)
    if X.shape[1] != n_features:
        raise ValueError(f"X has {X.shape[1]} features. The model was trained on {n_features}.")
    if hasattr(X, "get_columns"):  # polars
        return [native_numbers(series.to_numpy()) for series in X.get_columns()]
    if len(set(X.dtypes)) == 1 and isinstance(X.dtypes.iloc[0], np.dtype):  # pandas holds it as one block
        return [native_numbers(column) for column in X.to_numpy().T]
    return [native_numbers(_frame_matrix(X.iloc[:, [f]])[:, 0]) for f in range(n_features)]


def native_numbers(column: NDArray[Any]) -> NDArray[Any]:
    """Numbers in the processor's own byte order, of a type the native engine reads."""
    refuse_odd_numbers(column)
    if column.dtype == np.float16:
        return column.astype(np.float32)
    return column if column.dtype.isnative else column.astype(column.dtype.newbyteorder("="))


def boolean_matrix(X: Any, n_booleans: int, names: Sequence[str] | None) -> NDArray[np.bool_]:
    """Boolean matrix, rows x Booleans, from Booleans or from numbers that are 0 or 1."""
    array = feature_matrix(X, n_booleans, names)
    if array.dtype == bool:
        return array
    result = array == 1
    wrong = ~result & (array != 0)
    if wrong.any():
        i, f = np.argwhere(wrong)[0]
        raise ValueError(
            f"X[{i}, {f}] is {array[i, f]}. The model has no Booleanizer, so give Booleans or 0 and 1."
        )
    return result  # type: ignore[no-any-return]


def frozen(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Read-only copy of an array."""
    array = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array


def class_codes(y: Any, classes: NDArray[Any]) -> NDArray[np.int64]:
    """Index of each label among the classes, -1 for one that is not there."""
    index = {label: c for c, label in enumerate(classes.tolist())}
    return np.array([index.get(label, -1) for label in np.asarray(y).tolist()], dtype=np.int64)


def refuse_other_names(X: Any, names: Sequence[str] | None) -> None:
    """Refuse a frame whose columns are not the named ones in their order."""
    if names is None or not is_frame(X):
        return
    columns = [str(column) for column in X.columns]
    if columns != list(names):
        at = next((i for i, (a, b) in enumerate(zip(columns, names, strict=False)) if a != b), None)
        what = f"X has {len(columns)} columns where the model expects {len(names)}"
        if at is not None:
            what = f"column {at} of X is {columns[at]!r} where the model expects {names[at]!r}"
        raise ValueError(f"{what}. Give the columns under the names and in the order of training.")


def refuse_non_numeric_columns(X: Any) -> None:
    """Refuse columns of a frame, or an entry of an object array, that hold no numbers."""
    if is_frame(X):
        columns = zip(X.columns, X.dtypes, strict=True)
        bad = [f"{name!r} ({dtype})" for name, dtype in columns if not is_numeric(dtype)]
        if bad:
            some = ", ".join(bad[:10]) + ", ..." * (len(bad) > 10)
            raise ValueError(f"X has columns that are not numeric: {some}. Encode them or leave them out.")
    elif isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2:
        for (i, f), value in np.ndenumerate(X):
            if isinstance(value, (str, bytes)):
                raise ValueError(f"X[{i}, {f}] is {value!r}, a text. Encode column {f} or leave it out.")


def refuse_levels_of_columns(X: Any) -> None:
    """Refuse a frame whose columns have several levels of names, which would be lost."""
    levels = getattr(getattr(X, "columns", None), "nlevels", 1)
    if levels > 1:
        raise ValueError(
            f"the columns of X have {levels} levels of names (a pandas MultiIndex). Give each column one "
            "name: X.columns = ['_'.join(map(str, column)) for column in X.columns]"
        )


def refuse_odd_labels(y: Any, name: str = "y") -> None:
    """Refuse labels of which one is missing, or of which some are texts and others numbers."""
    labels = np.asarray(y)
    has_gap = labels.dtype.kind == "f" and bool(np.isnan(labels).any())
    if labels.ndim != 1 or not (has_gap or labels.dtype == object):
        return
    for i, label in enumerate(labels.tolist()):
        if not isinstance(label, (str, bytes, numbers.Number, np.generic)) or label != label:
            raise ValueError(
                f"{name}[{i}] is {label!r}. Labels are texts, numbers or Booleans. "
                "Leave out rows without a label."
            )
        if isinstance(label, str) != isinstance(labels[0], str):
            raise ValueError(
                f"{name}[0] is {labels[0]!r} and {name}[{i}] is {label!r}. Labels must be all texts or all "
                f"numbers. Use for example [str(label) for label in {name}]."
            )


def refuse_odd_numbers(array: NDArray[Any]) -> None:
    """Take Booleans, integers and floats of at most 64 bits, nothing that would be rounded silently."""
    if array.dtype.kind not in "fiub":
        raise TypeError(f"X has dtype {array.dtype}. It must hold numbers or Booleans.")
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        raise TypeError(f"X has dtype {array.dtype}. Convert it with X.astype(numpy.float64).")


def is_frame(X: Any) -> bool:
    """Whether X is a pandas or polars frame."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def is_numeric(dtype: Any) -> bool:
    """Whether a column of a frame holds numbers or Booleans, by its type."""
    if hasattr(dtype, "is_numeric"):  # polars
        return bool(dtype.is_numeric() or str(dtype) in ("Boolean", "Null"))
    return getattr(dtype, "kind", "O") in "fiub"  # numpy's, or that of a pandas extension type
