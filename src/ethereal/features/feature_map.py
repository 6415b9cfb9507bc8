"""The structure of a Booleanizer's output: which Boolean says what about which raw feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.features import categories as category_names
from ethereal.features.matrices import frozen
from ethereal.features.rounding import cuts_of, round_down, to_float32

Encoding = Literal["thermometer", "onehot"]
Missing = Literal["raise", "ignore"]
Precision = Literal["float32", "float64"]
THRESHOLD, BIN, MISSING = 0, 1, 2  # kinds of Booleans
# Values per block of rows, few enough that its input, comparisons and output stay in the cache.
_BLOCK_VALUES = 1 << 18


def format_thresholds(thresholds: NDArray[np.float64]) -> list[str]:
    """Write the thresholds of a feature with as few digits as keep different ones apart, but at least 6.

    >>> format_thresholds(np.array([0.1 + 0.2, 54.5, 1200000.0]))
    ['0.3', '54.5', '1200000']
    >>> format_thresholds(np.array([1.00000001, 1.00000002]))
    ['1.00000001', '1.00000002']
    """
    n_different = len(np.unique(thresholds))
    whole = [t == round(t) and abs(t) < 1e15 for t in thresholds.tolist()]
    for digits in range(6, 18):
        pairs = zip(thresholds.tolist(), whole, strict=True)
        texts = [str(int(t)) if is_whole else f"{t:.{digits}g}" for t, is_whole in pairs]
        if len(set(texts)) == n_different:
            break
    return texts


def empty_bins(thresholds: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which bins between ascending thresholds no value can be in, those between equal ones.

    >>> empty_bins(np.array([1.0, 3.0, 3.0])).tolist()
    [False, False, True, False]
    """
    return np.concatenate([[False], thresholds[1:] == thresholds[:-1], [False][: len(thresholds)]])


class FeatureMap:
    """Immutable description of the Booleans, in the order of the Booleanizer's columns.

    The Booleans of raw feature `f` are the columns `boolean_offsets[f]:boolean_offsets[f + 1]`. First come
    those of its value in ascending order, then, where `missing[f]`, the one that says the value is missing.
    With `k` thresholds a feature has `k` Booleans of kind THRESHOLD (`value > threshold j`). In the one-hot
    encoding, with `k` above 1, it has `k + 1` of kind BIN (`threshold j - 1 < value <= threshold j`). All
    Booleans but the missing one are false for a missing value.

    Parameters
    ----------
    thresholds
        The thresholds of all features, one after the other, finite, ascending within a feature. Equal ones
        have equal Booleans, and a bin between them is never true.
    threshold_offsets
        `thresholds[threshold_offsets[f]:threshold_offsets[f + 1]]` are those of feature `f`.
    missing
        Whether each feature has a Boolean for a missing value.
    encoding
        "thermometer" or "onehot", for all features or one each.
    missing_policy
        What NaN does in a feature without that Boolean. "ignore" makes all its Booleans false.
    precision
        What a value is rounded to before it is compared: "float32", as on every device, or "float64" in model
        files that were written before this was settled. With "float32" the thresholds are rounded as well.
    is_boolean
        Whether each feature is 0 or 1 and keeps its name as a Boolean. By default none is. Such a feature has
        one threshold, from 0 up to below 1. This is for readers only, so equal maps may differ in it.
    categories
        Names of the values 0, 1, ... of the features that are categories. Their thresholds are 0.5, 1.5, ...,
        and NaN, which stands for any other value, makes all their Booleans false.

    Attributes
    ----------
    cuts
        The thresholds for values that are still float64: `value > cut` says what the rounded value says.
    boolean_offsets
        Where the Booleans of each feature begin, features + 1.
    feature, kind, position
        The raw feature of each Boolean, its kind (THRESHOLD, BIN or MISSING), and the number of its threshold
        or bin within the feature (0 for MISSING).

    Examples
    --------
    >>> feature_map = FeatureMap([1.5, 3.0, 7.0], [0, 1, 3], [False, True], "onehot")
    >>> feature_map.boolean_names(["height", "age"])
    ['height>1.5', 'age<=3', 'age in (3, 7]', 'age>7', 'age is missing']
    >>> feature_map.boolean_offsets.tolist(), feature_map.kind.tolist(), feature_map.position.tolist()
    ([0, 1, 5], [0, 1, 1, 1, 2], [0, 0, 1, 2, 0])
    """

    def __init__(
        self,
        thresholds: ArrayLike,
        threshold_offsets: ArrayLike,
        missing: ArrayLike,
        encoding: Encoding | Sequence[Encoding] = "thermometer",
        missing_policy: Missing = "raise",
        precision: Precision = "float32",
        is_boolean: ArrayLike | None = None,
        categories: Mapping[int, Sequence[str]] | None = None,
    ) -> None:
        self.precision: Precision = precision
        rounded = to_float32(thresholds) if precision == "float32" else thresholds
        self.thresholds: NDArray[np.float64] = frozen(rounded, np.float64)
        self.threshold_offsets: NDArray[np.int64] = frozen(threshold_offsets, np.int64)
        self.missing: NDArray[np.bool_] = frozen(missing, np.bool_)
        one_each = encodings_of(encoding, self.missing.size)
        # One where all are the same, so that equal feature maps compare equal.
        self.encoding: Encoding | tuple[Encoding, ...] = one_each[0] if len(set(one_each)) == 1 else one_each
        self.missing_policy: Missing = missing_policy
        none = np.zeros(self.missing.shape)
        self.is_boolean: NDArray[np.bool_] = frozen(none if is_boolean is None else is_boolean, np.bool_)
        self.categories = category_names.checked(categories, self.missing.size)
        self._validate()

        counts = np.diff(self.threshold_offsets)  # thresholds per feature
        is_onehot = np.fromiter(map("onehot".__eq__, one_each), bool, len(one_each))[: self.n_features]
        self.is_binned: NDArray[np.bool_] = frozen((counts > 1) & is_onehot, np.bool_)
        is_category = np.isin(np.arange(self.n_features), list(self.categories))
        self.ignores_missing: NDArray[np.bool_] = frozen(is_category | (missing_policy == "ignore"), np.bool_)
        if not self.is_binned[is_category & (counts > 1)].all():
            raise ValueError("features that are categories must be encoded one-hot")
        n_values = counts + self.is_binned  # Booleans per feature without the one for missing
        n_per_feature = n_values + self.missing
        ends = np.concatenate([[0], np.cumsum(n_per_feature)])
        self.boolean_offsets: NDArray[np.int64] = frozen(ends, np.int64)
        feature = np.repeat(np.arange(self.n_features), n_per_feature)
        position = np.arange(self.n_booleans) - self.boolean_offsets[feature]
        is_missing = position == n_values[feature]
        kind = np.where(is_missing, MISSING, np.where(self.is_binned[feature], BIN, THRESHOLD))
        self.feature: NDArray[np.int32] = frozen(feature, np.int32)
        self.kind: NDArray[np.uint8] = frozen(kind, np.uint8)
        self.position: NDArray[np.int32] = frozen(np.where(is_missing, 0, position), np.int32)

    @classmethod
    def of_booleans(cls, n_booleans: int) -> FeatureMap:
        """Return the map of Boolean input. Each Boolean is the test `value > 0.5` of a feature.

        >>> FeatureMap.of_booleans(3)
        <FeatureMap: 3 features, 3 thresholds, 3 Booleans, thermometer>
        """
        never = np.zeros(n_booleans, dtype=bool)
        return cls(np.full(n_booleans, 0.5), np.arange(n_booleans + 1), never, is_boolean=~never)

    def with_missing(self, missing: ArrayLike, policy: Missing | None = None) -> FeatureMap:
        """Return the same thresholds, with a Boolean for a missing value of these features, too.

        >>> FeatureMap([0.5], [0, 1, 1], [True, False]).with_missing([False, True]).missing.tolist()
        [True, True]
        """
        both = self.missing | np.asarray(missing, dtype=bool)
        return self.replace(missing=both, missing_policy=policy or self.missing_policy)

    def in_float32(self) -> FeatureMap:
        """Return the same Booleans, compared in float32. A fitted value on a threshold stays there.

        >>> FeatureMap([0.1], [0, 1], [False], precision="float64").in_float32().precision
        'float32'
        """
        return self.replace(precision="float32")

    def with_categories(self, categories: Mapping[int, Sequence[str]]) -> FeatureMap:
        """Return the map in which these features are categories, with a Boolean for each of their names.

        >>> feature_map = FeatureMap([3.0], [0, 0, 1], [False, False])
        >>> feature_map.with_categories({0: "a b c".split()}).boolean_names(["k", "x"])
        ['k is a', 'k is b', 'k is c', 'x>3']
        """
        if not categories:
            return self
        every = {**self.categories, **categories}
        encodings = list(encodings_of(self.encoding, self.n_features))
        thresholds = [self.thresholds_of(f) for f in range(self.n_features)]
        for f, names in every.items():
            encodings[f], thresholds[f] = "onehot", category_names.thresholds_between(len(names))
        return self.replace(
            thresholds=np.concatenate(thresholds),
            threshold_offsets=np.cumsum([0, *map(len, thresholds)]),
            encoding=encodings,
            is_boolean=self.is_boolean & ~np.isin(np.arange(self.n_features), list(every)),
            categories=every,
        )

    def replace(self, **parts: Any) -> FeatureMap:
        """Return the map with other arguments of the constructor, given by name."""
        return FeatureMap(**{**self._arguments(), **parts})

    def _validate(self) -> None:
        offsets = self.threshold_offsets
        if self.precision not in ("float32", "float64"):
            raise ValueError(f'precision is {self.precision!r}. It must be "float32" or "float64".')
        if self.missing_policy not in ("raise", "ignore"):
            raise ValueError(f'missing_policy is {self.missing_policy!r}. It must be "raise" or "ignore".')
        if self.thresholds.ndim != 1 or not np.isfinite(self.thresholds).all():
            raise ValueError("thresholds must be one flat list of finite numbers")
        n = self.missing.size
        if self.missing.ndim != 1 or offsets.shape != (n + 1,):
            what = f"threshold_offsets has shape {offsets.shape}"
            raise ValueError(f"{what}. {n} features need {n + 1} entries.")
        if offsets[0] != 0 or offsets[-1] != len(self.thresholds) or (np.diff(offsets) < 0).any():
            raise ValueError(f"threshold_offsets must ascend from 0 to {len(self.thresholds)}")
        starts = np.zeros(len(self.thresholds) + 1, dtype=bool)
        starts[offsets] = True  # a threshold may be below its predecessor only where a feature starts
        if ((self.thresholds[1:] < self.thresholds[:-1]) & ~starts[1:-1]).any():
            raise ValueError("thresholds must be ascending within a feature")
        for f, n in ((f, len(names)) for f, names in self.categories.items()):
            if not np.array_equal(self.thresholds_of(f), category_names.thresholds_between(n)):
                raise ValueError(f"feature {f} has {n} categories, which its thresholds do not separate")
        if self.is_boolean.shape != self.missing.shape:
            raise ValueError(f"is_boolean has shape {self.is_boolean.shape}. Give one for each feature.")
        first = offsets[:-1][self.is_boolean]
        is_single = (np.diff(offsets)[self.is_boolean] == 1).all()
        if not is_single or not ((self.thresholds[first] >= 0) & (self.thresholds[first] < 1)).all():
            raise ValueError("a feature with is_boolean needs one threshold, from 0 up to below 1")

    @property
    def n_features(self) -> int:
        """Number of raw features."""
        return len(self.missing)

    @property
    def n_booleans(self) -> int:
        """Number of Booleans."""
        return int(self.boolean_offsets[-1])

    @cached_property
    def thresholds_float32(self) -> NDArray[np.float32]:
        """Thresholds for float32 values. Those of precision "float64" are rounded down.

        >>> feature_map = FeatureMap([0.1], [0, 1], [False], precision="float64")
        >>> float(feature_map.thresholds_float32[0]) < 0.1 < float(np.float32(0.1))
        True
        """
        return frozen(round_down(self.thresholds), np.float32)

    @cached_property
    def cuts(self) -> NDArray[np.float64]:
        """Thresholds for float64 values. `value > cut` exactly where the value rounded to float32 is above.

        >>> feature_map = FeatureMap([0.1], [0, 1], [False])
        >>> bool(0.1 > feature_map.cuts[0]), bool(0.10000001 > feature_map.cuts[0])
        (False, True)
        """
        if self.precision == "float64":
            return self.thresholds
        return frozen(cuts_of(self.thresholds_float32), np.float64)

    def thresholds_of(self, feature: int) -> NDArray[np.float64]:
        """Ascending thresholds of one feature."""
        return self.thresholds[self.threshold_offsets[feature] : self.threshold_offsets[feature + 1]]

    def accepts_missing(self, feature: int) -> bool:
        """Whether NaN is a value like any other for the feature, and not an error.

        >>> feature_map = FeatureMap([0.5, 1.5], [0, 1, 2], [True, False])
        >>> feature_map.accepts_missing(0), feature_map.accepts_missing(1)
        (True, False)
        """
        return bool(self.missing[feature] or self.ignores_missing[feature])

    @cached_property
    def has_missing_state(self) -> NDArray[np.bool_]:
        """Whether the Booleans of a missing value differ from those of every other value, for each feature.

        Without a Boolean for it they differ only where NaN is ignored, and only in the one-hot encoding. In
        the thermometer encoding all Booleans are false for a value in the lowest bin, too.

        >>> FeatureMap([0.5], [0, 1], [False], missing_policy="ignore").has_missing_state
        array([False])
        """
        return frozen(self.missing | (self.is_binned & self.ignores_missing), np.bool_)

    def states(self, feature: int) -> NDArray[np.bool_]:
        """Return all that the feature's Booleans can say. A row is a bin, the last one missing if it can be.

        >>> FeatureMap([3.0, 7.0], [0, 2], [True]).states(0).astype(int)
        array([[0, 0, 0],
               [1, 0, 0],
               [1, 1, 0],
               [0, 0, 1]])
        """
        kinds = self.is_binned, self.missing, self.has_missing_state
        return _states(len(self.thresholds_of(feature)), *(bool(kind[feature]) for kind in kinds))

    def states_of(self, feature: int, booleans: ArrayLike, negated: ArrayLike) -> NDArray[np.bool_]:
        """Return which states of the feature make all these literals, Booleans negated or not, true.

        >>> FeatureMap([1.0, 2.0], [0, 2], [False]).states_of(0, [0, 1], [False, True])  # > 1 AND NOT > 2
        array([False,  True, False])
        """
        column = np.asarray(booleans, dtype=np.int64) - self.boolean_offsets[feature]
        return np.asarray((self.states(feature)[:, column] != np.asarray(negated, dtype=bool)).all(axis=1))

    def boolean_names(self, feature_names: Sequence[str]) -> list[str]:
        """Return readable names of the Booleans, given the names of the features."""
        names: list[str] = []
        for f, name in enumerate(feature_names):
            t = format_thresholds(self.thresholds_of(f))
            if (of_values := self.categories.get(f)) is not None:  # two have the Boolean of the second name
                names += [f"{name} is {value}" for value in of_values[len(of_values) == 2 :]]
            elif self.is_binned[f]:
                inner = [f"{name} in ({low}, {high}]" for low, high in pairwise(t)]
                names += [f"{name}<={t[0]}", *inner, f"{name}>{t[-1]}"]
            elif self.is_boolean[f]:
                names.append(name)
            else:
                names += [f"{name}>{low}" for low in t]
            if self.missing[f]:
                names.append(f"{name} is missing")
        return names

    def booleans(self, array: NDArray[Any], feature_names: Sequence[str]) -> NDArray[np.bool_]:
        """Return the Booleans of a numeric matrix. The names are for the error about a missing value.

        >>> FeatureMap([2.5], [0, 1], [True]).booleans(np.array([[1.0], [3.0], [np.nan]]), ["age"])
        array([[False, False],
               [ True, False],
               [False,  True]])
        """
        if array.dtype.kind == "f":
            self.refuse_unexpected_missing(array, feature_names)
        result = np.empty((len(array), self.n_booleans), dtype=bool)
        step = max(1, _BLOCK_VALUES // max(self.n_features, len(self.thresholds), self.n_booleans, 1))
        for start in range(0, len(array), step):
            self.encode(array[start : start + step], result[start : start + step])
        return result

    def refuse_unexpected_missing(self, array: NDArray[Any], feature_names: Sequence[str]) -> None:
        """Raise when a feature that does not take it is NaN somewhere in a float matrix."""
        if self.ignores_missing.all():
            return
        # The sum of a column is NaN when it holds one (or both infinities), which is cheap to see.
        with np.errstate(invalid="ignore", over="ignore"):
            suspects = np.flatnonzero(np.isnan(array.sum(axis=0)) & ~self.missing & ~self.ignores_missing)
        for f in suspects.tolist():
            rows = np.flatnonzero(np.isnan(array[:, f]))
            if len(rows):
                raise ValueError(
                    f"feature {feature_names[f]!r} (column {f}) is missing (NaN) in {len(rows)} of "
                    f"{len(array)} rows, first in row {rows[0]}, but had no missing value in fit. Fill it, "
                    'fit on rows that miss it, too, or use Booleanizer(missing="ignore").'
                )

    def encode(self, rows: NDArray[Any], result: NDArray[np.bool_]) -> None:
        """Write the Booleans of raw `rows` (rows x features, numbers) into `result` (rows x Booleans)."""
        counts = np.diff(self.threshold_offsets)
        compared = rows if (counts == 1).all() else np.repeat(rows, counts, axis=1)
        above = np.greater(compared, self.cuts)  # rows x thresholds, false where missing
        if not self.is_binned.any() and not self.missing.any():
            result[:] = above
            return
        absent = np.isnan(rows) if rows.dtype.kind == "f" else np.zeros(rows.shape, dtype=bool)
        first = self.threshold_offsets[self.feature]  # Boolean -> first threshold of its feature
        is_threshold = self.kind == THRESHOLD
        result[:, is_threshold] = above[:, (first + self.position)[is_threshold]]
        result[:, self.kind == MISSING] = absent[:, self.missing]
        # Bin j is above the threshold before it (or present, for the first bin) and not above its own.
        n_thresholds = counts[self.feature]
        is_bin = self.kind == BIN
        after_first = is_bin & (self.position > 0)
        before_last = is_bin & (self.position < n_thresholds)
        result[:, is_bin & ~after_first] = ~absent[:, self.is_binned]
        result[:, after_first] = above[:, (first + self.position - 1)[after_first]]
        result[:, before_last] &= ~above[:, (first + self.position)[before_last]]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FeatureMap):
            return NotImplemented
        ours, others = self._arguments(), other._arguments()
        return all(name == "is_boolean" or np.array_equal(ours[name], others[name]) for name in ours)

    def __hash__(self) -> int:
        return hash((self.thresholds.tobytes(), self.threshold_offsets.tobytes(), self.encoding))

    def __repr__(self) -> str:
        encoding = self.encoding if isinstance(self.encoding, str) else "mixed"
        counts = f"{self.n_features} features, {len(self.thresholds)} thresholds, {self.n_booleans} Booleans"
        return f"<FeatureMap: {counts}, {encoding}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(FeatureMap, **self._arguments()), ()  # so that copies are checked and read-only, too

    def _arguments(self) -> dict[str, Any]:
        names = "thresholds threshold_offsets missing encoding missing_policy precision is_boolean"
        parts = {name: getattr(self, name) for name in names.split()}
        return parts | {"categories": dict(self.categories)}


def encodings_of(encoding: object, n_features: int) -> tuple[Encoding, ...]:
    """Return the encoding of each feature, from one for all or one each.

    >>> encodings_of("onehot", 2)
    ('onehot', 'onehot')
    >>> encodings_of(["onehot", "unary"], 2)
    Traceback (most recent call last):
      ...
    ValueError: encoding[1] is 'unary'. It must be "thermometer" or "onehot".
    """
    several = isinstance(encoding, (Sequence, np.ndarray)) and not isinstance(encoding, str)
    values = tuple(cast(Sequence[Any], encoding)) if several else (encoding,)
    for f, value in enumerate(values):
        if value not in ("thermometer", "onehot"):
            place = f"encoding[{f}]" if several else "encoding"
            raise ValueError(f'{place} is {value!r}. It must be "thermometer" or "onehot".')
    if several and len(values) != n_features:
        what = f"encoding has {len(values)} entries but there are {n_features} features"
        raise ValueError(f"{what}. Give one each.")
    each = tuple(cast(Encoding, str(value)) for value in values)
    return each if several else each * max(n_features, 1)


@lru_cache(maxsize=256)
def _states(n_thresholds: int, is_binned: bool, has_missing: bool, tells_missing: bool) -> NDArray[np.bool_]:
    n_bins = n_thresholds + 1
    values = np.eye(n_bins, dtype=bool) if is_binned else np.tri(n_bins, n_thresholds, -1, dtype=bool)
    states = np.zeros((n_bins + tells_missing, values.shape[1] + has_missing), dtype=bool)
    states[:n_bins, : values.shape[1]] = values
    states[n_bins:, values.shape[1] :] = True
    return frozen(states, np.bool_)
