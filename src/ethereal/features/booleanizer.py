"""Raw features to Boolean features by thresholds. `FeatureMap` says which Booleans there are.

The host and every export compare alike: a value is rounded to float32 and compared with a float32 threshold.
A threshold lies between two neighbouring values of the fitted rows, on the number that needs the fewest
significant bits, so that it is short in C and in rules. Whole numbers get whole thresholds, so that `> 3`
separates 4 from 3 on a device that holds integers, too.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from ethereal.base.checks import check_integer
from ethereal.features.categories import to_numbers
from ethereal.features.feature_map import Encoding, FeatureMap, Missing, encodings_of
from ethereal.features.matrices import (
    dense_rows,
    refuse_levels_of_columns,
    refuse_non_numeric_columns,
    refuse_odd_numbers,
)
from ethereal.features.rounding import shortest_between, to_float32

# Columns that `fit` copies at a time. One column of a row-major matrix touches the cache lines of 8 to 64, so
# several at once are quicker. The number of values bounds the memory.
_BLOCK_COLUMNS, _BLOCK_VALUES = 32, 1 << 23
_MAX_BINS = 1 << 16
_FEW_FEATURES, _MOST_BOOLEANS = 16, 4096  # of rows whose number of bins is automatic
_FEW_STEPS = 64  # of float32 within a bin. With fewer, and values that become equal, `fit` warns.


class Booleanizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn numbers into Booleans by thresholds, at quantiles of the fitted rows or fixed.

    Parameters
    ----------
    n_bins
        Bins per feature, one number or one per feature, 2 or more. The thresholds lie just above the
        quantiles 1/n_bins, 2/n_bins, ... of the fitted values, before the next larger value. Equal ones
        collapse. One at the maximum, whose Boolean would never be true, is left out or moved below it.
        Constant features get none. "auto" takes 64 for at most 16 features, and from 32 down to 8 for more.
    encoding
        "thermometer" has one Boolean per threshold (`age>54.5`), "onehot" one per bin (`age in (3, 7]`). One
        for all features, or a list with one each. Two bins give one Boolean, `value > threshold`, in either.
    thresholds
        Fixed thresholds instead of quantiles: one number or one ascending list for all features, or one
        ascending list per feature, or those of another Booleanizer's `feature_map_`. They are rounded to
        float32. `n_bins` is not used then.
    keep_equal
        Give every feature one Boolean per bin, as the study of ETHEREAL did. Equal quantiles do not collapse,
        and one at the maximum stays. In the thermometer encoding one more Boolean, which comes first, is true
        for every fitted value. Two bins still give one Boolean.
    missing
        What NaN means in a feature that had none while fitting. "raise" raises an error, "ignore" makes all
        Booleans of the feature false. "auto" ignores it where another feature had NaN while fitting, and
        otherwise raises. A feature that had NaN while fitting has its own Boolean for it.

    Attributes
    ----------
    feature_map_
        Which Booleans there are: an immutable `FeatureMap`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 7.0], [2.0, np.nan], [3.0, 8.0], [4.0, 9.0]])
    >>> booleanizer = Booleanizer(n_bins=2).fit(X)
    >>> booleanizer.get_feature_names_out()
    array(['x0>2', 'x1>8', 'x1 is missing'], dtype=object)
    >>> booleanizer.transform(X).astype(int)
    array([[0, 0, 0],
           [0, 0, 1],
           [1, 0, 0],
           [1, 1, 0]])
    """

    feature_map_: FeatureMap
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    def __init__(
        self,
        n_bins: int | Sequence[int] | Literal["auto"] = 10,
        encoding: Encoding | Sequence[Encoding] = "thermometer",
        *,
        thresholds: float | Sequence[float] | Sequence[Sequence[float]] | FeatureMap | None = None,
        keep_equal: bool = False,
        missing: Missing | Literal["auto"] = "raise",
    ) -> None:
        self.n_bins, self.encoding, self.thresholds = n_bins, encoding, thresholds
        self.keep_equal, self.missing = keep_equal, missing

    @classmethod
    def from_feature_map(
        cls, feature_map: FeatureMap, feature_names: Sequence[str] | None = None
    ) -> Booleanizer:
        """Make a fitted Booleanizer from its feature map.

        >>> a = Booleanizer(thresholds=[0.5, 1.5]).fit([[1.0, 2.0]])
        >>> b = Booleanizer.from_feature_map(a.feature_map_, ["width", "height"])
        >>> b.feature_map_ == a.feature_map_
        True
        >>> b.get_feature_names_out()[:2]
        array(['width>0.5', 'width>1.5'], dtype=object)
        """
        if feature_names is not None and len(feature_names) != feature_map.n_features:
            raise ValueError(f"{len(feature_names)} feature_names for {feature_map.n_features} features")
        missing = feature_map.missing_policy
        booleanizer = cls(encoding=feature_map.encoding, thresholds=feature_map, missing=missing)
        booleanizer.feature_map_ = feature_map
        booleanizer.n_features_in_ = feature_map.n_features
        if feature_names is not None:
            booleanizer.feature_names_in_ = np.array(feature_names, dtype=object)
        return booleanizer

    def fit(self, X: ArrayLike, y: object = None) -> Booleanizer:
        """Find the thresholds of each feature. `y` is not used."""
        return self.fit_named(X, None)

    def fit_named(self, X: ArrayLike, names: Sequence[str] | None) -> Booleanizer:
        """Do what `fit` does, with names of the features for messages when X has none."""
        if self.missing not in ("raise", "ignore", "auto"):
            raise ValueError(f'missing is {self.missing!r}. It must be "raise", "ignore" or "auto".')
        if not isinstance(self.keep_equal, (bool, np.bool_)):
            raise ValueError(f"keep_equal is {self.keep_equal!r}. It must be True or False.")
        array = self._read(X, reset=True)
        n_features = array.shape[1]
        if names is None:
            names = getattr(self, "feature_names_in_", None)
        bins = _bins_per_feature(self.n_bins, n_features)
        encodings = encodings_of(self.encoding, n_features)
        fixed = None if self.thresholds is None else _fixed_thresholds(self.thresholds, n_features)
        thresholds: list[NDArray[Any]] = []
        missing, is_boolean = np.zeros((2, n_features), dtype=bool)
        step = max(1, min(_BLOCK_COLUMNS, _BLOCK_VALUES // len(array)))
        for start in range(0, n_features, step):
            block = np.array(array[:, start : start + step].T, dtype=np.float64, order="C")
            for f, column in enumerate(block, start):
                absent = np.isnan(column)
                missing[f] = absent.any()
                if fixed is not None:
                    thresholds.append(fixed[f])
                else:
                    values = column[~absent] if missing[f] else column
                    ascending = np.sort(to_float32(values))
                    name = f"x{f}" if names is None else repr(str(names[f]))
                    _check_precision(values, ascending, bins[f], name)
                    quantiles = _every_quantile if self.keep_equal else _quantiles
                    thresholds.append(quantiles(ascending, bins[f], is_onehot=encodings[f] == "onehot"))
                    is_boolean[f] = _is_boolean(values, thresholds[f])
        given: dict[str, Any] = {"is_boolean": is_boolean}
        if isinstance(self.thresholds, FeatureMap):
            same = "precision", "is_boolean", "categories"
            given = {name: getattr(self.thresholds, name) for name in same}
        self.feature_map_ = FeatureMap(
            thresholds=np.concatenate(thresholds),
            threshold_offsets=np.cumsum([0, *map(len, thresholds)]),
            missing=missing,
            encoding=encodings,
            missing_policy=self._policy(missing),
            **given,
        )
        if self.feature_map_.n_booleans == 0:
            why = "every feature is constant in the fitted rows, so there are no Booleans"
            warnings.warn(f"{why}. Fit on rows that differ, or give thresholds.", UserWarning, stacklevel=2)
        return self

    def look_for_missing(self, X: NDArray[Any], *, learn: bool) -> None:
        """Look for NaN in more rows of training. With `learn` a feature that has it gets its own Boolean."""
        if X.dtype.kind == "f":
            absent = np.array([np.isnan(column).any() for column in X.T])
            policy = self._policy(self.feature_map_.missing | absent)
            self.feature_map_ = self.feature_map_.with_missing(absent & learn, policy)

    def _policy(self, missing: NDArray[np.bool_]) -> Missing:
        return ("ignore" if missing.any() else "raise") if self.missing == "auto" else self.missing

    def transform(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Return the Booleans of the rows of `X`, rows x Booleans."""
        check_is_fitted(self)
        return self.feature_map_.booleans(self._read(X, reset=False), _check_feature_names_in(self, None))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return readable names of the Booleans, such as `age>54.5`, `age in (3, 7]`, `age is missing`."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.array(self.feature_map_.boolean_names(names), dtype=object)

    def _read(self, X: Any, *, reset: bool) -> NDArray[Any]:
        """Check names and shape and return a numeric matrix, uncopied where it is one already."""
        refuse_levels_of_columns(X)
        X = X if reset else to_numbers(X, self.feature_map_.categories)
        refuse_non_numeric_columns(X)
        taken: dict[str, Any] = {"ensure_all_finite": False, "ensure_min_samples": int(reset)}
        array = validate_data(self, dense_rows(X), reset=reset, dtype="numeric", **taken)
        refuse_odd_numbers(array)
        return array  # type: ignore[no-any-return]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []  # the result is bool whatever comes in
        return tags


def _is_boolean(values: NDArray[np.float64], thresholds: NDArray[Any]) -> bool:
    """Whether the values are 0 and 1, both of them and nothing else, and one threshold separates them."""
    if len(thresholds) != 1 or not 0 <= float(thresholds[0]) < 1:
        return False
    n_ones = int((values == 1).sum())
    return 0 < n_ones < len(values) and n_ones + int((values == 0).sum()) == len(values)


def _every_quantile(ascending: NDArray[np.float32], n_bins: int, *, is_onehot: bool) -> NDArray[np.float32]:
    """Return a threshold for each of the quantiles i / n_bins, equal ones included.

    >>> _every_quantile(np.float32([1, 2, 2, 2, 2, 3]), 4, is_onehot=False).tolist()
    [0.0, 2.0, 2.0, 2.0]
    """
    if len(ascending) == 0:
        return np.empty(0, dtype=np.float32)
    thresholds = _after(ascending[(len(ascending) - 1) * np.arange(1, n_bins) // n_bins], ascending)
    if is_onehot or n_bins == 2:
        return thresholds
    # Every bin has a Boolean. That of the lowest one is true for every fitted value.
    limit = float(np.finfo(np.float32).max)
    low, high = (float(np.clip(end, -limit, limit)) for end in ascending[[0, -1]])
    start = to_float32([max(low - max(high - low, 1.0, abs(low) * 2.0**-20), -limit)])
    return np.append(_after(start, np.append(start, ascending)), thresholds)


def _after(below: NDArray[np.float32], ascending: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return finite thresholds between values and the next larger ones. One at the maximum stays there."""
    top = len(ascending) - 1
    above = ascending[np.minimum(np.searchsorted(ascending, below, side="right"), top)]
    # A threshold is finite. Only +inf is above the largest number, all but -inf above the smallest.
    limit = np.finfo(np.float32).max
    below, above = np.clip(below, -limit, limit), np.clip(above, -limit, limit)
    thresholds = np.where(below < above, shortest_between(below, above), below)
    if (ascending == np.floor(ascending)).all():  # whole numbers get whole thresholds
        thresholds = np.where(thresholds == np.floor(thresholds), thresholds, below)
    return thresholds


def _quantiles(ascending: NDArray[np.float32], n_bins: int, *, is_onehot: bool) -> NDArray[np.float32]:
    """Return distinct finite thresholds after the quantiles i / n_bins, none when all values are equal."""
    if len(ascending) == 0 or ascending[0] == ascending[-1]:
        return np.empty(0, dtype=np.float32)
    top = ascending[-1]
    below = np.unique(ascending[(len(ascending) - 1) * np.arange(1, n_bins) // n_bins])
    # No fitted value is above a threshold at the maximum, so its Boolean would be constant. In the one-hot
    # encoding it stays beside others, because without it the bin below would have no upper end.
    keeps_top = is_onehot and len(below) > 1 and below[-1] == top
    below = below[below < top]
    if len(below) == 0:  # most values are the largest one, so separate it from the rest
        below = ascending[[np.searchsorted(ascending, top) - 1]]
    return np.unique(_after(np.append(below, top) if keeps_top else below, ascending))


def _check_precision(
    values: NDArray[np.float64], ascending: NDArray[np.float32], n_bins: int, name: str
) -> None:
    """Warn when float32 loses much of a feature. Refuse a feature of which nothing is left."""
    if len(ascending) == 0:
        return

    def warn(what: str) -> None:
        warnings.warn(f"feature {name} has {what}. {remedy}.", UserWarning, stacklevel=4)

    low, high = float(values.min()), float(values.max())
    remedy = "Subtract or divide by a constant before training and on the device, or leave the column out"
    if ascending[0] == ascending[-1]:
        # A difference of less than 2**-40 is noise of a computation, so the feature is constant.
        if high - low > 2.0**-40 * max(abs(low), abs(high)):
            raise ValueError(
                f"feature {name} has values from {low:.17g} to {high:.17g}, which are all the same number in "
                f"float32, the precision of the device. {remedy}."
            )
        return
    n_infinite = int(np.isinf(ascending).sum())
    if n_lost := n_infinite - int(np.isinf(values).sum()) if n_infinite else 0:
        beyond = f"{n_lost} values beyond 3.4e38, the largest number in float32, the precision of the device"
        return warn(f"{beyond}. They count as infinite")
    first, last = (float(ascending[(len(ascending) - 1) * i // n_bins]) for i in (1, n_bins - 1))
    step = float(np.spacing(np.float32(min(max(abs(first), abs(last)), 3e38))))
    if last - first < _FEW_STEPS * n_bins * step:
        kept, different = len(np.unique(ascending)), len(np.unique(values))
        if kept < different:
            most = f"{different} different values up to {high:.17g}"
            warn(f"{most}, of which float32, the precision of the device, keeps {kept}")


def automatic_bins(n_features: int) -> int:
    """Return the number of bins that gives many features few Booleans each.

    >>> [automatic_bins(n) for n in (4, 16, 17, 256, 560)]
    [64, 64, 32, 16, 8]
    """
    if n_features <= _FEW_FEATURES:
        return 64
    return min(32, max(8, _MOST_BOOLEANS // n_features))


def _bins_per_feature(n_bins: Any, n_features: int) -> list[int]:
    if isinstance(n_bins, str) and n_bins == "auto":
        return [automatic_bins(n_features)] * n_features
    several = np.ndim(n_bins) > 0
    values = list(n_bins) if several else [n_bins] * n_features
    for f, value in enumerate(values):
        check_integer(f"n_bins[{f}]" if several else "n_bins", value, 2, _MAX_BINS)
    if len(values) != n_features:
        raise ValueError(f"n_bins has {len(values)} entries but X has {n_features} features. Give one each.")
    return [int(v) for v in values]


def _fixed_thresholds(thresholds: Any, n_features: int) -> list[NDArray[np.float64]]:
    if isinstance(thresholds, FeatureMap):
        per_feature = [thresholds.thresholds_of(f) for f in range(thresholds.n_features)]
        if len(per_feature) == n_features:
            return per_feature
        thresholds = per_feature
    if isinstance(thresholds, (numbers.Number, str)):
        return [_ascending([thresholds], "thresholds")] * n_features
    if not any(isinstance(t, (Sequence, np.ndarray)) for t in thresholds):
        return [_ascending(thresholds, "thresholds")] * n_features
    if len(thresholds) != n_features:
        what = f"thresholds has {len(thresholds)} lists but X has {n_features} features"
        remedy = "Give one flat list for all, or one list each. An empty list leaves a feature out."
        raise ValueError(f"{what}. {remedy}")
    return [_ascending(t, f"thresholds[{f}]") for f, t in enumerate(thresholds)]


def _ascending(thresholds: Any, place: str) -> NDArray[np.float64]:
    array = np.asarray(thresholds)
    if array.size and array.dtype.kind not in "fiu":
        raise TypeError(f"{place} is {thresholds!r}. It must be numbers.")
    array = array.astype(np.float64)
    rounded = to_float32(array)
    if array.ndim != 1 or not np.isfinite(rounded).all() or (rounded[1:] <= rounded[:-1]).any():
        wanted = "finite numbers in strictly ascending order, also when they are rounded to float32"
        raise ValueError(f"{place} is {thresholds!r}. It must be {wanted}.")
    return array
