"""Recordings to rows, by pooling and by sliding windows with a majority label.

A *recording* is an array of steps x channels with one label per step. Both transformers take a list of
recordings of any lengths (a 3-D array is a list of equal ones). `transform` cuts the signals and
`transform_labels` their labels. `groups` says which recording each row came from, to keep related rows on one
side of a split.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from ethereal.base.checks import check_integer

Pooling = Literal["mean", "max", "rms", "rss", "mav"]
_MOST = 2**31 - 1  # steps or rows
# Of windows x length x channels, over the length.
_POOLINGS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "mean": lambda w: w.mean(axis=1),
    "max": lambda w: w.max(axis=1),
    "rms": lambda w: np.sqrt(np.square(w).mean(axis=1)),
    "rss": lambda w: np.sqrt(np.square(w).sum(axis=1)),
    "mav": lambda w: np.abs(w).mean(axis=1),
}


class WindowPooling(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Pool every `length` steps of a recording into one. Steps left over at the end are dropped.

    Parameters
    ----------
    length
        Steps per window. Windows do not overlap.
    how
        "mean", "max", "rms" (root of the mean square), "rss" (root of the sum of squares, which the study
        calls RMS), or "mav" (mean absolute value).
    drop_last
        Leave out the last whole window, too. In the study, 125 steps in tens give 11 windows.

    Examples
    --------
    >>> recording = [[1.0, 0.0], [3.0, 4.0], [5.0, 0.0], [7.0, 0.0], [9.0, 9.0]]
    >>> pool = WindowPooling(2, how="mean")
    >>> pool.transform([recording])[0].tolist()
    [[2.0, 2.0], [6.0, 0.0]]
    >>> pool.transform_labels([[0, 0, 1, 1, 1]])[0].tolist()
    [0, 1]
    """

    def __init__(self, length: int, how: Pooling = "mean", *, drop_last: bool = False) -> None:
        self.length, self.how, self.drop_last = length, how, drop_last

    def fit(self, recordings: Any = None, y: Any = None) -> WindowPooling:
        """Check the parameters. Nothing is learnt from the data."""
        check_integer("length", self.length, 1, _MOST)
        if self.how not in _POOLINGS:
            raise ValueError(f"how is {self.how!r}. It must be one of {', '.join(map(repr, _POOLINGS))}.")
        return self

    def transform(self, recordings: Sequence[ArrayLike]) -> list[NDArray[Any]]:
        """Pool the recordings: each steps x channels becomes windows x channels."""
        self.fit()
        pooled = []
        for signal in _signals(recordings):
            n = self._windows(len(signal))
            # Integers would overflow when squared and be cut off as means, so they become float64.
            values = signal if signal.dtype.kind == "f" else signal.astype(np.float64)
            windows = values[: n * self.length].reshape(n, self.length, values.shape[1])
            pooled.append(_POOLINGS[self.how](windows))
        return pooled

    def transform_labels(self, labels: Sequence[ArrayLike]) -> list[NDArray[np.int64]]:
        """Return the majority label of every window, per recording."""
        self.fit()
        tracks = ((track, self._windows(len(track))) for track in _label_tracks(labels))
        return [majority(track[: n * self.length].reshape(n, self.length)) for track, n in tracks]

    def _windows(self, steps: int) -> int:
        return max(0, steps // self.length - bool(self.drop_last))


class SlidingWindows(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Cut recordings into overlapping windows and lay each out as one row, step after step.

    Parameters
    ----------
    length
        Steps per window. A shorter recording gives no row.
    stride
        Steps from one window's start to the next.

    Examples
    --------
    >>> windows = SlidingWindows(length=3, stride=2)
    >>> recordings = [[[0], [1], [2], [3], [4]], [[7], [8], [9]]]
    >>> windows.transform(recordings).tolist()
    [[0, 1, 2], [2, 3, 4], [7, 8, 9]]
    >>> windows.transform_labels([[0, 0, 1, 1, 1], [2, 2, 0]]).tolist()
    [0, 1, 2]
    >>> windows.groups(recordings).tolist()
    [0, 0, 1]
    """

    def __init__(self, length: int, stride: int = 1) -> None:
        self.length, self.stride = length, stride

    def fit(self, recordings: Any = None, y: Any = None) -> SlidingWindows:
        """Check the parameters. Nothing is learnt from the data."""
        check_integer("length", self.length, 1, _MOST)
        check_integer("stride", self.stride, 1, _MOST)
        return self

    def transform(self, recordings: Sequence[ArrayLike]) -> NDArray[Any]:
        """Return the rows of all recordings in order, windows x (length * channels)."""
        self.fit()
        rows = []
        for signal in _signals(recordings):
            channels = signal.shape[1]
            if len(signal) < self.length:
                rows.append(np.empty((0, self.length * channels), dtype=signal.dtype))
                continue
            view = sliding_window_view(signal, self.length, axis=0)[:: self.stride]  # its steps come last
            rows.append(view.swapaxes(1, 2).reshape(len(view), self.length * channels))
        return np.concatenate(rows)

    def transform_labels(self, labels: Sequence[ArrayLike]) -> NDArray[np.int64]:
        """Return the majority label of every row."""
        self.fit()
        rows = [
            majority(sliding_window_view(track, self.length)[:: self.stride])
            for track in _label_tracks(labels)
            if len(track) >= self.length
        ]
        return np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)

    def groups(self, recordings: Sequence[ArrayLike]) -> NDArray[np.int64]:
        """The number of the recording that each row came from."""
        self.fit()
        counts = [max(0, (len(np.asarray(r)) - self.length) // self.stride + 1) for r in recordings]
        return np.repeat(np.arange(len(counts)), counts)


def majority(labels: ArrayLike) -> NDArray[np.int64]:
    """Return the most frequent label of every row, the smaller label on a tie.

    >>> majority([[3, 1, 1], [2, 0, 5]]).tolist()
    [1, 0]
    """
    array = np.asarray(labels)
    if array.ndim != 2:
        raise ValueError(f"labels has shape {array.shape}. It must be windows x steps.")
    if array.dtype.kind not in "iub" or (array.size and array.min() < 0):
        raise ValueError("labels must be whole numbers from 0 on. Encode other labels first.")
    if array.size == 0:
        return np.zeros(len(array), dtype=np.int64)
    n_labels = int(array.max()) + 1
    flat = array.astype(np.int64) + n_labels * np.arange(len(array))[:, None]
    counts = np.bincount(flat.ravel(), minlength=n_labels * len(array)).reshape(len(array), n_labels)
    return np.asarray(counts.argmax(axis=1), dtype=np.int64)


def _signals(recordings: Sequence[ArrayLike]) -> list[NDArray[Any]]:
    signals = [np.asarray(r) for r in recordings]
    if not signals:
        raise ValueError("recordings is empty. Give at least one recording.")
    for i, signal in enumerate(signals):
        if signal.ndim != 2 or signal.dtype.kind not in "fiub":
            what = f"dtype {signal.dtype} and shape {signal.shape}"
            raise ValueError(f"recordings[{i}] has {what}. It must be numbers, steps x channels.")
        n, first = signal.shape[1], signals[0].shape[1]
        if n != first:
            raise ValueError(f"recordings[{i}] has {n} channels, but recordings[0] has {first}")
    return signals


def _label_tracks(labels: Sequence[ArrayLike]) -> list[NDArray[Any]]:
    tracks = [np.asarray(track) for track in labels]
    for i, track in enumerate(tracks):
        if track.ndim != 1:
            raise ValueError(f"labels[{i}] has shape {track.shape}. It must be one label per step.")
    return tracks
