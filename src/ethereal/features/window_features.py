"""The scikit-learn transformer from raw windows to features, before a `Booleanizer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ethereal.features.front_end import KERNELS, FrontEnd, Group, sources_of, to_counts

DEFAULT_KERNELS = ("stats", "parts", "haar", "bands", "cov")
FRAME_KERNELS = ("stats", "step")  # in place of these, with frames
_ALL_AXES = ("ax", "ay", "az", "gx", "gy", "gz", "mx", "my", "mz")
_USUAL_AXES = {1: ("x",)} | {n: _ALL_AXES[:n] for n in (2, 3, 6, 9)}


class WindowFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Features of windows of samples, in integers, with the same bits on the computer and on a board.

    Windows are windows x samples x axes, of int16 counts as the sensor sends them. Features are int16. Sizes
    that need more bits are squashed to an exponent and nine bits of mantissa, which keeps their order.

    Parameters
    ----------
    kernels
        Names of kernels, each computed on every axis that it can be computed on. Or a mapping from kernels to
        the axes, magnitudes and pairs they are computed on: `{"stats": ["ax", "|a|"], "cov": ["ax*ay"]}`.
        `"axes"` in such a list stands for all axes. The kernels are:

        - "stats": mean, min, max and range
        - "std", "mad": root mean square and mean size of the deviations from the mean
        - "step": mean size of the differences between samples
        - "shape": how often the signal crosses its mean, and how often it turns
        - "parts": means of eight parts less the mean, which is the course of a gesture
        - "haar": mean size of Haar differences at five levels
        - "bands": energy in eight bands below an eighth of the rate, after sums of four samples
        - "spectrum": energy in eight bands below half the rate, about three times as expensive
        - "cov", "corr": covariance and correlation of two axes
        - "mel": for sound, 16 mel bands in ten parts of what is not silent, without the loudness
        - "sound": with `frames`, 16 mel bands of every frame

        A name alone does not include magnitudes. Ask for them by name: `|a|` is |ax| + |ay| + |az|.
    axes
        Names of the axes. By default they are ax, ay, az, gx, gy, gz, as many as there are.
    window
        Samples of a window. By default what `fit` sees.
    hop
        Samples from one window to the next in a stream, which a board needs. By default a whole window.
    rate
        Samples per second. Names of bands and the mel bands need it.
    frames
        Samples of a frame, and from one frame to the next, such as (8, 4). The kernels are then computed on
        every frame, and features are windows x frames x features of a frame, as a machine with `patch=` takes
        them. By default the kernels are "stats" and "step" then. For sound the kernel is "sound", and a frame
        has 256 samples. Samples that are left over stand before the first frame.
    scale
        Counts per unit, one number or one per axis: 1000 when 1 g is sent as 1000. Windows of floats need it.
    units
        Unit of the samples, one text or one per axis, for rules.
    n_jobs
        Threads. -1 uses all cores. The result does not depend on it.

    Attributes
    ----------
    front_end_
        The immutable `FrontEnd` that a model keeps.

    Examples
    --------
    >>> windows = np.zeros((5, 64, 3), dtype=np.int16)
    >>> features = WindowFeatures(["std", "haar"], rate=50, scale=1000, units="g").fit(windows)
    >>> features.transform(windows).shape
    (5, 18)
    >>> features.get_feature_names_out()[:3]
    array(['ax.std', 'ax.haar1', 'ax.haar2'], dtype=object)
    """

    def __init__(
        self,
        kernels: Sequence[str] | Mapping[str, Sequence[str]] = DEFAULT_KERNELS,
        *,
        axes: Sequence[str] | None = None,
        window: int | None = None,
        hop: int | None = None,
        rate: float | None = None,
        frames: tuple[int, int] | None = None,
        scale: float | Sequence[float] | None = None,
        units: str | Sequence[str] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernels, self.axes, self.window, self.hop = kernels, axes, window, hop
        self.rate, self.scale, self.units, self.n_jobs = rate, scale, units, n_jobs
        self.frames = frames

    def fit(self, X: ArrayLike, y: Any = None) -> WindowFeatures:
        """Take the number of samples and axes from windows, and check all parameters against them."""
        array = _windows(X, self.window)
        n_axes = array.shape[2]
        names = self.axes if self.axes is not None else _USUAL_AXES.get(n_axes)
        axes = tuple(names) if names is not None else tuple(f"c{i}" for i in range(n_axes))
        if len(axes) != n_axes:
            raise ValueError(f"X has {n_axes} axes, but axes has {len(axes)} names. Give one each.")
        scale = _one_each("scale", self.scale, n_axes, float)
        units = _one_each("units", self.units, n_axes, str)
        hop, rate = self.hop or 0, None if self.rate is None else float(self.rate)
        frames, kernels = _pair_of_frames(self.frames), self.kernels
        if frames is not None and kernels == DEFAULT_KERNELS:
            kernels = FRAME_KERNELS
        groups = groups_of(kernels, axes)
        self.front_end_ = FrontEnd(axes, array.shape[1], groups, hop, rate, scale, units, frames)
        to_counts(array[:1], scale)  # says at once when floats have no scale
        self.n_features_in_ = n_axes
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.int16]:
        """Return the features, windows x features, or windows x frames x features of a frame."""
        check_is_fitted(self, "front_end_")
        return self.front_end_.transform(_windows(X, self.front_end_.window), self.n_jobs)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the features, such as `az.haar2`."""
        check_is_fitted(self, "front_end_")
        return np.array(self.front_end_.names, dtype=object)

    @staticmethod
    def from_front_end(front_end: FrontEnd) -> WindowFeatures:
        """Return a fitted transformer of a front end, such as `model.front_end`."""
        kernels: dict[str, list[str]] = {}
        for kernel, source in front_end.groups:
            kernels.setdefault(kernel, []).append(source)
        same = ("axes", "window", "hop", "rate", "scale", "units", "frames")
        made = WindowFeatures(kernels, **{name: getattr(front_end, name) for name in same})
        made.front_end_, made.n_features_in_ = front_end, len(front_end.axes)
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array, tags.input_tags.two_d_array = True, False
        return tags


def groups_of(kernels: Sequence[str] | Mapping[str, Sequence[str]], axes: Sequence[str]) -> tuple[Group, ...]:
    """Return the groups that names of kernels, or a mapping of them, ask for.

    >>> groups_of({"std": ["|a|"], "step": ["axes"]}, ["ax", "ay"])
    (('std', '|a|'), ('step', 'ax'), ('step', 'ay'))
    """
    if isinstance(kernels, str):
        raise TypeError(f"kernels is {kernels!r}. Give a list such as [{kernels!r}], or a mapping.")
    wanted = kernels if isinstance(kernels, Mapping) else {str(name): ["axes"] for name in kernels}
    groups: list[Group] = []
    for name, sources in wanted.items():
        if name not in KERNELS:
            raise ValueError(f"kernel {name!r} does not exist. Kernels are {', '.join(KERNELS)}.")
        if isinstance(sources, str):
            raise TypeError(f"kernels[{name!r}] is {sources!r}. Give a list such as [{sources!r}].")
        for source in sources:
            every = [each for each in sources_of(KERNELS[name], axes) if not each.startswith("|")]
            groups += [(name, each) for each in (every if source == "axes" else [str(source)])]
    return tuple(dict.fromkeys(groups))


def _windows(X: ArrayLike, window: int | None) -> NDArray[Any]:
    array = np.asarray(X)
    if array.ndim == 2:  # one axis
        array = array[:, :, None]
    if array.ndim != 3:
        raise ValueError(f"X has shape {array.shape}. It must be windows x samples x axes.")
    if window is not None and array.shape[1] != window:
        raise ValueError(f"X has windows of {array.shape[1]} samples, but window is {window}. Cut them anew.")
    if len(array) == 0:
        raise ValueError("X has no windows. Give at least one.")
    return array


def _pair_of_frames(value: Any) -> tuple[int, int] | None:
    """Return the samples of a frame and from one to the next. One number is both."""
    if value is None:
        return None
    if isinstance(value, (str, bytes)) or np.ndim(value) > 1 or np.size(value) > 2:
        raise TypeError(
            f"frames is {value!r}. Give samples of a frame and from one to the next, such as (8, 4)."
        )
    pair = np.broadcast_to(np.asarray(value, dtype=object), 2).tolist()
    return pair[0], pair[1]


def _one_each(name: str, value: Any, n: int, kind: Any) -> tuple[Any, ...] | None:
    if value is None:
        return None
    if isinstance(value, str) or np.ndim(value) == 0:
        value = [value] * n
    try:
        return tuple(kind(one) for one in value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}. Give one {kind.__name__}, or one per axis.") from None
