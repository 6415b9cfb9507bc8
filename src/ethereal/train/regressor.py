"""The scikit-learn estimator whose answer is a number."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ethereal.base.checks import check_integer
from ethereal.base.splits import quantile_codes
from ethereal.compress import shorten_on
from ethereal.compress.least_squares import (
    LEAST_SHIFT,
    Votes,
    clause_signs,
    fit_line,
    fit_votes,
    literal_signs,
    outputs_of,
)
from ethereal.compress.task import conformal
from ethereal.features.booleanizer import Booleanizer
from ethereal.features.feature_map import THRESHOLD, FeatureMap
from ethereal.features.packing import pack
from ethereal.features.window_features import WindowFeatures
from ethereal.model import Model, Number
from ethereal.model.clauses import Clauses
from ethereal.model.linear import Linear
from ethereal.train.classifier import EtherealClassifier
from ethereal.train.data import TrainingData, check_booleans, fit_booleanizer, numbers_of, tunable

_LEAST_ROWS = 5
_FOLDS, _FEW_ROWS = 5, 1000  # up to so many rows each is held out once, else a fold is
_EPOCHS, _S = 25, 5.0
_MOST_SLOPES = 1000  # of a linear part
_CLEAR_ERRORS = 2  # standard errors by which held-out rows must gain from it
_LARGEST = 2.0**120  # of a label. Models answer in float32.
_FINEST = 1e3  # steps of float32 that the labels' spread must have


class EtherealRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Tsetlin machine that answers a number, with rules such as "+3.2 degC IF load > 0.4 AND fan <= 2".

    The labels are cut into bins with equally many rows. A machine learns these bins as classes, and a ridge
    regression gives all its clauses one vote each. The number is an offset and the sum of votes.

    A clause cannot extrapolate. Beyond the rows of training the answer stays what it was at their edge.

    Parameters
    ----------
    n_bins
        Bins of the label that clauses are learned from, 2 or more.
    n_clauses
        Clauses per bin.
    linear
        Whether to add a straight line of the features where held-out rows say that it helps. Spectra and
        other smooth labels want it. Beyond the values of training it stays what it was at their edge.
    monotonic
        Features with which the number may only rise (+1) or only fall (-1), by name or column, such as
        `{"load": +1}`. `ethereal.prune` keeps this.
    epochs
        Passes over the training rows.
    s
        Specificity, 1 or more. A larger s gives longer clauses.
    booleanizer
        Makes Booleans of the features, as for `EtherealClassifier`.
    front_end
        A `WindowFeatures`, which is cloned and fitted. X is then windows x samples x axes.
    unit
        Of the label, such as "degC", for rules and explanations.
    n_jobs
        Threads. -1 uses all cores. The result does not depend on it.
    random_state
        Seed. The same seed gives the same model on every machine.

    Attributes
    ----------
    model_
        The `Model`. Its `output` is a `Number`, whose `half_width` is half the interval that holds 90 % of
        the true values, by rows that a machine did not learn from.
    feature_importances_
        How much each column of X decides, as shares of 1.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = EtherealRegressor(random_state=1).fit(X[:300], y[:300])
    >>> bool(reg.score(X[300:], y[300:]) > 0.35)
    True
    >>> inside = np.abs(reg.predict(X[300:]) - y[300:]) <= reg.model_.output.half_width
    >>> bool(inside.mean() > 0.8)
    True
    """

    booleanizer_: Booleanizer | None
    front_end_: WindowFeatures
    model_: Model
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    def __init__(
        self,
        n_bins: int = 8,
        n_clauses: int = 100,
        *,
        linear: bool = False,
        monotonic: Mapping[Any, int] | None = None,
        epochs: int = _EPOCHS,
        s: float = _S,
        booleanizer: Booleanizer | Literal["auto"] | int | None = "auto",
        front_end: WindowFeatures | None = None,
        unit: str = "",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_bins, self.n_clauses, self.linear, self.monotonic = n_bins, n_clauses, linear, monotonic
        self.epochs, self.s = epochs, s
        self.booleanizer, self.front_end, self.unit = booleanizer, front_end, unit
        self.n_jobs, self.random_state = n_jobs, random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        categories: Mapping[int, Sequence[str]] | None = None,
    ) -> EtherealRegressor:
        """Train from the start.

        Parameters
        ----------
        X, y
            Rows x features, or windows x samples x axes with a front end, and a number for each row.
        sample_weight
            How much a row counts, relative to the others.
        categories
            Names of the values 0, 1, ... of columns that are categories. Columns of text in a frame are found
            without it.
        """
        self.check_parameters()
        numeric, names = numbers_of(self, X, reset=True)
        array, labels = validate_data(
            self, numeric, numbers_in(y), reset=True, dtype="numeric", ensure_all_finite=False,
            ensure_min_samples=_LEAST_ROWS,
        )  # fmt: skip
        labels = checked_labels(labels)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, array, ensure_non_negative=True)
            if np.ptp(labels[weights > 0]) == 0 if (weights > 0).any() else True:
                raise ValueError(
                    "sample_weight leaves no rows with different labels. Give more rows a positive weight."
                )
        codes = np.zeros(len(labels), np.int32)
        data = TrainingData(array, codes, np.unique(codes), weights, None, {**names, **(categories or {})})
        self.booleanizer_ = fit_booleanizer(self, data)
        packed = pack(array, codes, self.booleanizer_)
        booleans = array == 1 if self.booleanizer_ is None else self.booleanizer_.transform(array)
        rng = check_random_state(self.random_state)
        seed = int(rng.randint(2**31))
        described = self._described(packed, seed)
        directions = self._directions(described.feature_map)
        signs = literal_signs(described, directions)
        rows = _Rows(booleans, labels, weights, self._columns(array, described.feature_map))
        errors, linear = self._errors(rows, signs, directions, seed, False), False
        if self.linear:
            others = self._errors(rows, signs, directions, seed, True)
            gain = errors**2 - others**2
            if len(gain) and gain.mean() > _CLEAR_ERRORS * gain.std() / np.sqrt(len(gain)):
                errors, linear = others, True
        learned = self._learned(rows, signs, directions, seed, linear)
        half_width = conformal(errors) if len(errors) else float(np.ptp(labels))
        self.model_ = learned.votes.of(described, learned.clauses, learned.line)
        self.model_ = self.model_.with_number(half_width=half_width)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float32]:
        """Return the number of each row, as float32.

        Parameters
        ----------
        X
            Rows with the columns of training, or windows with a front end.
        """
        check_is_fitted(self, "model_")
        numeric, _ = numbers_of(self, X, reset=False)
        array = validate_data(self, numeric, reset=False, dtype="numeric", ensure_all_finite=False)
        if self.booleanizer_ is None and self.booleanizer is not None and array.dtype.kind == "f":
            array = np.where(np.isnan(array), 0, array)  # which is no more above a threshold than NaN is
        is_automatic = self.booleanizer_ is not None and self.booleanizer_.missing == "auto"
        model = self.model_.ignoring_missing() if is_automatic else self.model_
        numbers_found: NDArray[np.float32] = model.predict(array, n_jobs=self.n_jobs)
        return numbers_found

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much each column of X decides in `model_`, as shares of 1: `Model.feature_importances`."""
        check_is_fitted(self, "model_")
        return self.model_.feature_importances()

    def check_parameters(self) -> None:
        """Raise a ValueError or TypeError when a parameter is out of range, as `fit` does.

        >>> EtherealRegressor(n_bins=1).check_parameters()
        Traceback (most recent call last):
            ...
        ValueError: n_bins is 1. It must be an integer from 2 to 256.
        """
        check_integer("n_bins", self.n_bins, 2, 256)
        if not isinstance(self.linear, (bool, np.bool_)):
            raise TypeError(f"linear is {self.linear!r}. It must be True or False.")
        if self.linear and (self.front_end is not None or self.booleanizer is None):
            raise ValueError(
                "linear is True, but a linear part reads columns of numbers. Leave out front_end= or "
                "booleanizer=None, or linear=."
            )
        if not isinstance(self.unit, str) or not self.unit.isprintable():
            raise TypeError(f"unit is {self.unit!r}. It must be a text in one line.")
        if self.monotonic is not None and not isinstance(self.monotonic, Mapping):
            raise TypeError(f'monotonic is {self.monotonic!r}. Give a mapping such as {{"load": 1}}.')
        for name, direction in (self.monotonic or {}).items():
            if isinstance(direction, bool) or direction not in (1, -1):
                raise ValueError(f"monotonic[{name!r}] is {direction!r}. It must be 1 (rises) or -1 (falls).")
        check_booleans(self.get_params(deep=False))
        self._machine(0).check_parameters()

    def set_params(self, **params: Any) -> EtherealRegressor:
        """Set parameters as in scikit-learn, also those of an automatic Booleanizer."""
        super().set_params(**tunable(self.booleanizer, params))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.booleanizer is not None
        return tags

    def _machine(self, seed: int) -> EtherealClassifier:
        """Return the classifier of the bins, which reads Booleans."""
        return EtherealClassifier(
            self.n_clauses, s=self.s, epochs=self.epochs, noise_clauses=0, refit_votes=False,
            validation_fraction=0, booleanizer=None, n_jobs=self.n_jobs, random_state=seed,
        )  # fmt: skip

    def _described(self, packed: Any, seed: int) -> Model:
        """Return the model without clauses: what it reads, and how it was made."""
        names = getattr(self, "feature_names_in_", None)
        kept = {name: getattr(self, name) for name in ("n_bins", "n_clauses", "epochs", "s")}
        if self.monotonic:
            kept["monotonic"] = {str(name): int(way) for name, way in self.monotonic.items()}
        given = self.random_state
        return Model.of(
            Clauses([], [0], np.zeros((0, 1), np.int32), packed.n_booleans),
            output=Number(scale=1.0, unit=self.unit),
            booleanizer=self.booleanizer_,
            front_end=None if self.front_end is None else self.front_end_.front_end_,
            feature_names=None if names is None else list(names),
            boolean_rates=packed.rates,
            typical_rows=packed.sample(),
            provenance={
                "parameters": kept,
                "seed": int(given) if isinstance(given, numbers.Integral) else seed,
                "ethereal": version("ethereal-tm"),
            },
        )

    def _directions(self, feature_map: FeatureMap) -> dict[int, int]:
        """Return the directions of `monotonic` by column."""
        names = getattr(self, "feature_names_in_", None)
        if self.front_end is not None:
            names = self.front_end_.front_end_.names
        known = [] if names is None else list(names)
        ways = {}
        for name, direction in (self.monotonic or {}).items():
            column = known.index(name) if name in known else name
            if isinstance(column, bool) or not isinstance(column, (int, np.integer)):
                raise ValueError(
                    f"monotonic names {name!r}, which is not a feature. The features are "
                    f"{', '.join(map(repr, known[:10])) or f'the columns 0 to {feature_map.n_features - 1}'}."
                )
            if not 0 <= column < feature_map.n_features:
                raise ValueError(
                    f"monotonic names column {column}. The columns are 0 to {feature_map.n_features - 1}."
                )
            of_column = feature_map.feature == column
            if self.booleanizer_ is not None and (feature_map.kind[of_column] != THRESHOLD).any():
                of_values = feature_map.is_binned[column] or column in feature_map.categories
                if of_values:
                    raise ValueError(
                        f"monotonic names {name!r}, whose Booleans are not thresholds that rise. Use "
                        'encoding="thermometer", and numbers in place of categories.'
                    )
            ways[int(column)] = int(direction)
        return ways

    def _columns(self, array: NDArray[Any], of: FeatureMap) -> _Columns | None:
        """Return the values of features that may have a slope."""
        if not self.linear:
            return None
        plain = [f for f in range(of.n_features) if f not in of.categories]
        if len(plain) > _MOST_SLOPES:
            raise ValueError(
                f"linear is True, but there are {len(plain)} columns of numbers. It takes up to "
                f"{_MOST_SLOPES}."
            )
        return _Columns(array, plain)

    def _learned(self, rows: _Rows, signs: NDArray[np.int8], directions: Mapping[int, int], seed: int,
                 linear: bool) -> _Learned:  # fmt: skip
        """Return clauses that were learned from bins of the labels, and their votes for the number.

        With a linear part they learn what it leaves.
        """
        labels, line, least = rows.labels, None, 0.0
        if linear and rows.columns is not None:
            X, plain = rows.columns
            line = fit_line(X, labels, plain, weights=rows.weights, directions=directions)
        if line is not None and rows.columns is not None:
            labels = labels - line.step * line.fine(rows.columns.X)
            least = line.step * 2.0**LEAST_SHIFT
        codes = quantile_codes(labels, self.n_bins)
        if len(np.unique(codes)) < 2:  # one value has nearly all rows
            codes = (labels > labels.min()).astype(np.int64)
        if len(np.unique(codes)) < 2:  # the line leaves nothing
            none = Clauses([], [0], np.zeros((0, 1), np.int32), rows.booleans.shape[1])
            return _Learned(none, Votes(none.weights, least, float(labels[0])), line)
        machine = self._machine(seed).fit(rows.booleans, codes, sample_weight=rows.weights)
        clauses = shorten_on(machine.plain_model_, rows.booleans).clauses
        pool = clauses.voting(np.ones((len(clauses), 1), np.int32))
        of_clauses, may_vote = clause_signs(pool, signs)
        pool, of_clauses = pool.take(np.flatnonzero(may_vote)), of_clauses[may_vote]
        outputs = outputs_of(pool, rows.booleans)
        votes = fit_votes(outputs, labels, weights=rows.weights, signs=of_clauses, least=least)
        return _Learned(pool, votes, line)

    def _errors(self, rows: _Rows, signs: NDArray[np.int8], directions: Mapping[int, int], seed: int,
                linear: bool) -> NDArray[np.float64]:  # fmt: skip
        """Return the absolute errors on rows that a machine did not learn from."""
        order = np.random.default_rng(seed).permutation(len(rows.labels))
        folds = [order[k::_FOLDS] for k in range(_FOLDS)]
        errors = [np.zeros(0)]
        for held_out in folds if len(order) <= _FEW_ROWS else folds[:1]:
            rest = np.setdiff1d(order, held_out)
            learned, others = rows.take(rest), rows.take(held_out)
            if np.ptp(learned.counted) == 0 or len(others.counted) == 0:
                continue
            clauses, votes, line = self._learned(learned, signs, directions, seed, linear)
            sums = outputs_of(clauses, others.booleans).astype(np.float64) @ votes.weights[:, 0]
            answers = votes.offset + votes.scale * sums
            if line is not None and others.columns is not None:
                answers += line.step * line.fine(others.columns.X)
            error = np.abs(others.labels - answers)
            errors.append(error if others.weights is None else error[others.weights > 0])
        return np.concatenate(errors)


class _Columns(NamedTuple):
    """Values of features, and which of them may have a slope."""

    X: NDArray[Any]  # rows x features
    plain: list[int]


class _Learned(NamedTuple):
    """What a machine learned."""

    clauses: Clauses
    votes: Votes
    line: Linear | None


class _Rows(NamedTuple):
    """Rows as clauses read them."""

    booleans: NDArray[np.bool_]
    labels: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    columns: _Columns | None = None

    @property
    def counted(self) -> NDArray[np.float64]:
        """Labels of the rows that have a weight."""
        return self.labels if self.weights is None else self.labels[self.weights > 0]

    def take(self, rows: NDArray[np.intp]) -> _Rows:
        weights = None if self.weights is None else self.weights[rows]
        columns = None if self.columns is None else self.columns._replace(X=self.columns.X[rows])
        return _Rows(self.booleans[rows], self.labels[rows], weights, columns)


def numbers_in(y: Any) -> Any:
    """Return labels as they are, and refuse texts and other things that are not numbers."""
    array = np.asarray(y)
    if array.dtype.kind in "OUST" and array.ndim:
        for i, label in enumerate(array.ravel().tolist()):
            if not isinstance(label, numbers.Real) and label is not None:
                raise ValueError(
                    f"y[{i}] is {label!r}, which is not a number. Give numbers, or learn classes with "
                    "EtherealClassifier. Unknown label type for a regressor."
                )
    elif array.dtype.kind in "Mmc":
        raise ValueError(f"y is of dtype {array.dtype}. Give numbers. Complex data not supported.")
    return y


def checked_labels(labels: ArrayLike) -> NDArray[np.float64]:
    """Return labels as float64, and refuse those that a number in float32 cannot tell apart."""
    y = np.asarray(labels, dtype=np.float64)
    most = float(np.abs(y).max())
    if most > _LARGEST:
        raise ValueError(
            f"y has {y[np.abs(y).argmax()]:g}, which is beyond float32. Give labels of at most 1e36, such as "
            "their logarithm."
        )
    spread = float(np.std(y))
    if np.ptp(y) == 0:
        raise ValueError(f"y is {y[0]:g} in every row. There is nothing to learn. Give labels that differ.")
    if spread < 1 / _LARGEST:
        raise ValueError(f"y varies by {spread:g}, which is too little for float32. Scale it up.")
    if spread < _FINEST * np.spacing(np.float32(most)):
        raise ValueError(
            f"y runs from {y.min():g} to {y.max():g}, which float32 tells apart in a few steps only. "
            f"Subtract {y.min():g} from y."
        )
    return y
