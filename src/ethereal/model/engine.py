"""Rows as a model reads them, and their evaluation by the native engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal import _native
from ethereal.base.checks import count_threads
from ethereal.features.categories import to_numbers
from ethereal.features.matrices import (
    boolean_matrix,
    feature_columns,
    feature_matrix,
    is_frame,
    native_numbers,
)
from ethereal.model.needs import EVERY_ANSWER, FRAMED, PATCHES, Supports
from ethereal.model.output import early_answers, parts_of
from ethereal.model.patch import flat_rows

if TYPE_CHECKING:
    from ethereal.model import Model
    from ethereal.model.clauses import Clauses

SUPPORTS = Supports("prediction", front_ends=FRAMED, outputs=EVERY_ANSWER, patches=PATCHES, early=True)
_BLOCK_BYTES = 1 << 24  # of Booleans at a time, for clauses over patches
_NUMBERS = frozenset("?bBhHiIlLqQfd")  # dtype characters that the native engine reads as they are


def features_of(model: Model, X: Any, n_jobs: int | None = None) -> Any:
    """Return the features of raw windows (3-D) for a model with a front end, and anything else as it is.

    Rows of features that were made before are 2-D, as for every model. A model with a patch also takes frames
    or images.
    """
    if is_windows(model, X):
        X = model.front_end.transform(X, n_jobs)  # type: ignore[union-attr]
    return X if model.patch is None else flat_rows(model.patch, model.n_features, X)


def is_windows(model: Model, X: Any) -> bool:
    """Whether these are raw windows for a model with a front end, and not rows of features."""
    front_end = model.front_end
    if front_end is None or is_frame(X) or np.ndim(X) != 3:
        return False
    # Frames that were made before are 3-D, too.
    return front_end.frames is None or np.shape(X)[1:] != (front_end.n_frames, len(front_end.names))


def input_matrix(model: Model, X: Any) -> NDArray[Any]:
    """Rows of what a model reads, checked: numbers, or Booleans when it has no Booleanizer."""
    X = features_of(model, X)
    names = model.feature_names if model.patch is None else None
    if model.fitted is None:
        return boolean_matrix(X, model.clauses.n_row_booleans, names)
    numbers = to_numbers(X, model.feature_map.categories)
    return feature_matrix(numbers, model.n_features, names)


def booleans_of(model: Model, X: Any) -> NDArray[np.bool_]:
    """Booleans of the rows that a model reads, rows x Booleans."""
    matrix = input_matrix(model, X)
    return matrix if model.fitted is None else model.feature_map.booleans(matrix, model.input_names)


class Engine:
    """Evaluates a model on many rows. It is immutable, so any number of threads may use it at once.

    A matrix is read in place, whatever its strides. A frame is read column by column. `n_jobs` is the number
    of threads as in scikit-learn, None for one, -1 for one per core. Small batches use fewer.
    """

    def __init__(self, model: Model) -> None:
        SUPPORTS.check(model.needs)
        self._model = model
        self._is_raw = model.fitted is not None
        if model.patch is not None:
            self._native: Any = engine_of(model.clauses)
            return
        clauses = model.literals, model.offsets, model.weights, model.n_booleans
        if self._is_raw:
            of = model.feature_map
            cuts = of.cuts, of.thresholds_float32, of.threshold_offsets, of.boolean_offsets
            takes_missing = of.missing | of.ignores_missing
            self._native = _native.Engine(*clauses, *cuts, of.missing, of.is_binned, takes_missing)
        else:
            self._native = _native.Engine(*clauses)

    def winners(self, X: Any, n_jobs: int | None = None, *, packed: bool = False) -> NDArray[np.int64]:
        """Return the number of each row's answer: the class with the most votes, the lower on a tie.

        A model with early answers gives those, see `ethereal.model.output`. For "unknown" it is
        the number of classes. Where the answer is a number, it is the sum of votes.
        """
        if self._model.output.kind != "classes":
            return self._model.output.codes(self.class_sums(X, n_jobs, packed=packed))
        if not self._model.early:
            return self._run(X, (), np.int64, n_jobs, packed)
        return early_answers(
            self._model, self._parts, lambda part: part.class_sums(X, packed=packed, n_jobs=n_jobs)
        )[0]

    def class_sums(self, X: Any, n_jobs: int | None = None, *, packed: bool = False) -> NDArray[np.int32]:
        """Return the votes per class, rows x classes. Of a detector they are the limit and the score."""
        if self._model.output.kind == "normal":
            return self._limit_and_score(X, packed)
        return self._run(X, (self._model.n_classes,), np.int32, n_jobs, packed)

    def clause_outputs(self, X: Any, n_jobs: int | None = None, *, packed: bool = False) -> NDArray[np.bool_]:
        """Return which clauses fire, rows x clauses. Empty ones never do."""
        return self._run(X, (self._model.n_clauses,), np.bool_, n_jobs, packed)

    def class_sums_of_booleans(self, booleans: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Return the votes per class of rows that are Booleanized already."""
        sums = np.empty((len(booleans), self._model.n_classes), dtype=np.int32)
        if self._model.patch is not None:
            self._native.run_packed(words_of(booleans), sums, 1)
        else:
            self._native.run_bools(booleans, sums, 1)
        return sums

    def _limit_and_score(self, X: Any, packed: bool) -> NDArray[np.int32]:
        model = self._model
        if packed:
            raise ValueError("the model reads numbers, so that there are no packed rows. Leave packed out.")
        assert model.normal is not None
        rows = input_matrix(model, X)
        if rows.dtype.kind == "f":
            model.feature_map.refuse_unexpected_missing(rows, model.input_names)
        scores = model.normal.score(rows)
        return np.stack([np.full(len(rows), model.normal.limit), scores], axis=1).astype(np.int32)

    @cached_property
    def _parts(self) -> list[Model]:
        return parts_of(self._model)

    def _run(
        self, X: Any, width: tuple[int, ...], dtype: Any, n_jobs: int | None, packed: bool
    ) -> NDArray[Any]:
        """Evaluate into an array of `dtype`, rows x width. Its type says which result is wanted."""
        n_threads = count_threads(n_jobs)
        if self._model.patch is not None:
            return self._run_patches(X, width, dtype, n_threads, packed)
        if packed:
            run, rows = self._native.run_packed, _packed_matrix(X, self._model.n_booleans)
            n_rows = len(rows)
        else:
            X = features_of(self._model, X, n_jobs)
            run, rows, n_rows = self._read(X)
        out = np.empty((n_rows, *width), dtype=dtype)
        if not run(rows, out, n_threads):
            run(self._mend(X, rows), out, n_threads)
        return out

    def _run_patches(
        self, X: Any, width: tuple[int, ...], dtype: Any, n_threads: int, packed: bool
    ) -> NDArray[Any]:
        """Do what `_run` does, for clauses over patches."""
        model = self._model
        rows = _packed_matrix(X, model.clauses.n_row_booleans) if packed else input_matrix(model, X)
        out = np.empty((len(rows), *width), dtype=dtype)
        step = max(64, _BLOCK_BYTES // max(1, model.clauses.n_row_booleans))
        for start in range(0, len(rows), step):
            block = rows[start : start + step]
            if packed:
                words = _as_words(np.ascontiguousarray(block).view(np.uint8))
            elif self._is_raw:
                words = words_of(model.feature_map.booleans(block, model.input_names))
            else:
                words = words_of(block)
            self._native.run_packed(words, out[start : start + step], n_threads)
        return out

    def _read(self, X: Any) -> tuple[Callable[..., bool], Any, int]:
        """Return a function of the native engine, what to give it, and the number of rows."""
        model = self._model
        X = to_numbers(X, model.feature_map.categories)
        is_matrix = type(X) is np.ndarray and X.ndim == 2 and X.shape[1] == model.n_features
        if is_matrix and X.dtype.char in _NUMBERS and X.dtype.isnative:
            rows = X
        elif self._is_raw and is_frame(X):
            columns = feature_columns(X, model.n_features, model.feature_names)
            return self._native.run_columns, columns, len(X)
        else:
            rows = native_numbers(feature_matrix(X, model.n_features, model.feature_names))
        if self._is_raw:
            return self._native.run_raw, rows, len(rows)
        if rows.dtype.itemsize != 1:
            rows = boolean_matrix(rows, model.n_booleans, None)
        return self._native.run_bools, rows, len(rows)

    def _mend(self, X: Any, rows: Any) -> NDArray[Any]:
        """Raise for the value that the native engine refused. Only odd bytes for True can be mended."""
        model = self._model
        if self._is_raw:
            array = rows if isinstance(rows, np.ndarray) else np.column_stack(rows)
            model.feature_map.refuse_unexpected_missing(array, model.input_names)
        booleans = boolean_matrix(X, model.n_booleans, model.feature_names)
        return np.not_equal(booleans.view(np.uint8), 0)


def engine_of(clauses: Clauses) -> Any:
    """Return the native engine of clauses over Booleans, as it takes packed rows."""
    parts = clauses.literals, clauses.offsets, clauses.weights, clauses.n_booleans
    if clauses.patch is not None:
        return _native.PatchEngine(*parts, clauses.patch.native())
    return _native.Engine(*parts)


def words_of(booleans: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return rows of Booleans as bits in words of 64."""
    return _as_words(np.packbits(booleans, axis=1, bitorder="little"))


def _as_words(rows: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return rows of bytes as whole words, filled up with zeros."""
    words = np.zeros((len(rows), (rows.shape[1] + 7) // 8 * 8), dtype=np.uint8)
    words[:, : rows.shape[1]] = rows
    return words.view(np.uint64)


def _packed_matrix(X: Any, n_booleans: int) -> NDArray[Any]:
    if not isinstance(X, np.ndarray) or X.dtype.kind != "u" or X.ndim != 2:
        what = f"an array of dtype {X.dtype} and shape {X.shape}" if isinstance(X, np.ndarray) else type(X)
        raise TypeError(
            f"packed X is {what}. It must be a matrix of unsigned integers, rows x bytes or words. "
            'Make it with numpy.packbits(booleans, axis=1, bitorder="little").'
        )
    n_bits = X.shape[1] * X.dtype.itemsize * 8
    if n_bits < n_booleans:
        raise ValueError(f"a row of packed X has {n_bits} bits. The model has {n_booleans} Booleans.")
    return X if X.shape[1] < 2 or X.strides[1] == X.dtype.itemsize else np.ascontiguousarray(X)
