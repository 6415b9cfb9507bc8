"""The scikit-learn estimator: what a user fits."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ethereal import cluster, cluster_training
from ethereal._checks import check_classifier
from ethereal.booleanize import Booleanizer
from ethereal.checkpoint import Checkpoint, Progress, identity
from ethereal.compress.shorten import shorten
from ethereal.inputs import class_codes, refuse_non_numeric_columns
from ethereal.model import Model
from ethereal.progress import EpochProgress
from ethereal.rows import PackedRows, is_boolean, pack
from ethereal.selection import Snapshot, SnapshotSelection, hold_out
from ethereal.training import Step, Training, Watch


class EtherealClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Tsetlin machine with literal exclusion while training (ETHEREAL), or without it (vanilla).

    Parameters
    ----------
    n_clauses
        Clauses per class, both polarities together; even.
    T
        Vote margin that training aims at, 1 or more. Feedback gets rarer as the class sum nears T.
    s
        Specificity, 1 or more: a literal is forgotten with probability 1/s. Larger: longer clauses.
    epochs
        Passes over the training rows.
    exclude_every
        Epochs between two exclusions; None: a vanilla Tsetlin machine.
    boost_true_positive
        Whether a matching clause strengthens true literals always, or with probability (s-1)/s.
    literal_budget
        Most literals a clause may include; None: no bound.
    booleanizer
        "auto": rows of 0 and 1 are taken as they are, other numbers go through `Booleanizer()`. A
        `Booleanizer` of your own is cloned and fitted. None: the rows must be 0 and 1.
    validation_fraction
        Share of the training rows, taken class by class, that is held out to choose the epoch whose model
        is kept: the best validation accuracy, fewer includes on a tie. 0: all rows train, the last
        epoch's model is kept.
    accuracy_tolerance
        Keep the smallest model whose validation accuracy is within this of the best (0.005: half a point).
    shorten
        Whether the clauses of the chosen epoch lose the literals that decide nothing on the rows given to
        `fit` (`ethereal.compress.shorten`): usually a third to a half of the includes, at equal accuracy.
    class_weight
        None, "balanced", or a mapping from label to weight: how often rows of a class are visited.
    n_jobs
        Threads, over classes; -1: all cores. The result does not depend on it.
    random_state
        Seed. The same seed gives the same automata on every machine.
    verbose
        1: a progress bar (a line every few seconds when not on a terminal).

    Attributes
    ----------
    classes_ : labels in the order of the class sums.
    model_ : `Model` of the chosen epoch.
    history_ : list with a dict per epoch and per exclusion: epoch, phase ("train" or "exclude"), includes,
        includes_per_clause, train_accuracy (only with verbose), validation_accuracy, eval_accuracy, seconds.
    ta_states_ : automata after the last epoch, classes x clauses x literals, 0..255, included from 128 on. In
        each class the first half of the clauses votes for it, the second half against it. Literals are the
        Booleans, then their negations. May be assigned to.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = EtherealClassifier(n_clauses=20, T=10, s=3.0, epochs=20, random_state=1).fit(X, y)
    >>> bool(clf.score(X, y) > 0.9)
    True
    """

    classes_: NDArray[Any]
    model_: Model
    history_: list[dict[str, Any]]
    booleanizer_: Booleanizer | None
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    def __init__(
        self,
        n_clauses: int = 100,
        T: int = 15,
        s: float = 5.0,
        *,
        epochs: int = 50,
        exclude_every: int | None = 1,
        boost_true_positive: bool = True,
        literal_budget: int | None = None,
        booleanizer: Booleanizer | Literal["auto"] | None = "auto",
        validation_fraction: float = 0.1,
        accuracy_tolerance: float = 0.0,
        shorten: bool = False,
        class_weight: Literal["balanced"] | dict[Any, float] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clauses = n_clauses
        self.T = T
        self.s = s
        self.epochs = epochs
        self.exclude_every = exclude_every
        self.boost_true_positive = boost_true_positive
        self.literal_budget = literal_budget
        self.booleanizer = booleanizer
        self.validation_fraction = validation_fraction
        self.accuracy_tolerance = accuracy_tolerance
        self.shorten = shorten
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        eval_set: tuple[ArrayLike, ArrayLike] | None = None,
        *,
        validation_set: tuple[ArrayLike, ArrayLike] | None = None,
        sample_weight: ArrayLike | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
    ) -> EtherealClassifier:
        """Train from the start, or go on from a checkpoint.

        `eval_set` is a pair (X, y) whose accuracy is written to `history_`; it is only watched, never used to
        choose. `validation_set`, another pair, takes the place of the rows that `validation_fraction` would
        hold out: give one where rows are related, for example a subject of their own. `sample_weight` says
        how often a row is visited, relative to the others. Ctrl-C ends training at the last whole epoch: the
        estimator is fitted then as if `epochs` had been that number.

        `checkpoint` is a folder in which the training is kept, every few seconds and at the end; with
        `resume` it goes on from there, to the same bits as without the interruption. More `epochs` than
        before may be asked for. It needs a whole number as `random_state`.

        While a Dask client is the default one (`ethereal.cluster.connect`, `ethereal.cluster.start`, or
        `distributed.Client`), the classes are trained by its workers, to the same bits.
        """
        self.check_parameters()
        array, codes, weights = self._read_training_rows(X, y, None, sample_weight)
        learn, held_out = None, None
        if validation_set is None:
            learn, held_out = hold_out(codes, self.validation_fraction, check_random_state(self.random_state))
        self._fit_booleanizer(array, learn)
        train = pack(array, codes, self.booleanizer_, learn)
        validation: PackedRows | None = None
        if validation_set is not None:
            validation = self._read_pair("validation_set", validation_set)
        elif held_out is not None:
            validation = pack(array, codes, self.booleanizer_, held_out)
        watch = Watch(
            validation=validation,
            evaluation=None if eval_set is None else self._read_pair("eval_set", eval_set),
            train=train if self.verbose else None,
        )
        self._start_training(train)
        visits = _visits(weights if weights is None or learn is None else weights[learn])
        selection = SnapshotSelection(None if validation is None else self.accuracy_tolerance)
        kept = None if checkpoint is None else self._open_checkpoint(checkpoint, train, validation, visits)
        if kept is not None and resume:
            self._go_on(kept, selection)
        try:
            with (
                EpochProgress(self.epochs, self.verbose) as progress,
                closing(self._rounds(train, visits, watch)) as rounds,
            ):
                for steps in rounds:
                    for step in steps:
                        self._take(step, selection)
                    record = self.history_[-1]
                    progress.update(record, len(train) / max(record["seconds"], 1e-9))
                    if kept is not None and kept.is_due():
                        kept.save(self._progress(selection))
        finally:
            if selection.kept is not None:
                self._keep(selection.kept)
                if kept is not None:
                    kept.save(self._progress(selection))
                if self.shorten:
                    self.model_ = shorten(self.model_, array)
        return self

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> EtherealClassifier:
        """Train one more epoch on these rows, continuing from where the automata are.

        The first call on a fresh estimator needs `classes`, all labels that will ever come; thresholds of an
        automatic Booleanizer are those of the first call's rows. There is no validation: `model_` is that of
        the newest automata.
        """
        self.check_parameters()
        if self.shorten:
            raise ValueError(
                "shorten=True needs all training rows at once, which partial_fit does not have; train with "
                "shorten=False and call ethereal.compress.shorten(model, rows) at the end"
            )
        first = not hasattr(self, "_training")
        if first and classes is None:
            raise ValueError("classes must be given in the first call of partial_fit: all labels to come")
        if not first and classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes is {classes!r}, but was {list(self.classes_)} in the first call")
        labels = classes if first else self.classes_
        array, codes, weights = self._read_training_rows(X, y, labels, sample_weight)
        if first:
            self._fit_booleanizer(array)
        rows = pack(array, codes, self.booleanizer_)
        if first:
            self._start_training(rows)
        selection = SnapshotSelection(None)
        threads = joblib.effective_n_jobs(self.n_jobs)
        step = self._training.epoch(rows, _visits(weights), self.exclude_every, Watch(), threads)
        self._take(step, selection)
        assert selection.kept is not None
        self._keep(selection.kept)
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Class sums: rows x classes; for two classes the second's less the first's, one per row.

        Whole numbers as float64, because scikit-learn's calibration takes no integers here;
        `model_.class_sums` gives them as int32.
        """
        rows = self._read_prediction_rows(X)
        sums = self.model_.class_sums(rows, n_jobs=self.n_jobs).astype(np.float64)
        return sums[:, 1] - sums[:, 0] if len(self.classes_) == 2 else sums

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Label with the largest class sum of each row; the first of them on a tie."""
        rows = self._read_prediction_rows(X)
        return self.model_.predict(rows, n_jobs=self.n_jobs)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Class sums as shares, rows x classes: monotone but not calibrated.

        Wrap the estimator in scikit-learn's `CalibratedClassifierCV` where probabilities matter.
        """
        rows = self._read_prediction_rows(X)
        return self.model_.predict_proba(rows, n_jobs=self.n_jobs)

    @property
    def ta_states_(self) -> NDArray[np.uint8]:
        """Automata, classes x clauses x literals, 0..255, included from 128 on; a copy."""
        check_is_fitted(self)
        return self._training.states

    @ta_states_.setter
    def ta_states_(self, states: ArrayLike) -> None:
        check_is_fitted(self)
        array = np.asarray(states)
        shape = (len(self.classes_), self.n_clauses, 2 * self.model_.n_booleans)
        if array.dtype != np.uint8 or array.shape != shape:
            raise ValueError(
                f"ta_states_ must be uint8 of shape {shape} (classes, clauses, literals), "
                f"got {array.dtype} of shape {array.shape}"
            )
        most = int((array >= 128).sum(axis=2).max(initial=0))
        if self.literal_budget is not None and most > self.literal_budget:
            raise ValueError(
                f"ta_states_ has a clause of {most} includes; literal_budget is {self.literal_budget}"
            )
        self._training.states = np.ascontiguousarray(array)
        self._keep(self._training.snapshot())

    # -- parts of fit -------------------------------------------------------------------------------

    def check_parameters(self) -> None:
        """Raise a ValueError or TypeError when a parameter is out of range; `fit` does it too.

        >>> EtherealClassifier(n_clauses=7).check_parameters()
        Traceback (most recent call last):
            ...
        ValueError: n_clauses is 7; it must be even: half of a class's clauses vote against it
        """
        check_classifier(self.get_params(deep=False))

    def _read_training_rows(
        self, X: Any, y: Any, classes: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.float64] | None]:
        """Rows as a numeric matrix, class indices, and weights (None: all equal); sets `classes_`."""
        known = hasattr(self, "_training") and classes is not None
        refuse_non_numeric_columns(X)
        array, y = validate_data(
            self, X, y, reset=not known, dtype="numeric", ensure_all_finite=False, ensure_min_samples=1
        )
        check_classification_targets(y)
        self.classes_ = np.unique(y if classes is None else np.asarray(classes))
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class only, {self.classes_.tolist()}; a classifier needs at least two"
            )
        unseen = np.setdiff1d(y, self.classes_)
        if len(unseen):
            raise ValueError(f"y has labels that are not in classes: {unseen[:5].tolist()}")
        codes = np.searchsorted(self.classes_, y).astype(np.int32)
        weights = (
            None
            if sample_weight is None
            else _check_sample_weight(sample_weight, array, ensure_non_negative=True)
        )
        if self.class_weight is not None:
            per_class = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
            weights = per_class[codes] * (1.0 if weights is None else weights)
        if weights is not None and not weights.sum() > 0:
            raise ValueError("sample_weight is zero for every row; give some rows a positive weight")
        return array, codes, weights

    def _fit_booleanizer(self, array: NDArray[Any], learn: NDArray[np.intp] | None = None) -> None:
        """Thresholds from the rows to learn from; what may be missing from all: the split is our own."""
        own: Booleanizer | None = None
        if isinstance(self.booleanizer, Booleanizer):
            own = clone(self.booleanizer)
        elif self.booleanizer == "auto" and not is_boolean(array):
            own = Booleanizer()
        if own is not None:
            own.fit(array if learn is None else array[learn])
            if learn is not None and array.dtype.kind == "f":
                own.layout_ = own.layout_.with_missing([bool(np.isnan(column).any()) for column in array.T])
            if own.layout_.n_booleans == 0:
                raise ValueError("every feature of X is constant: there is nothing to learn from")
        self.booleanizer_ = own

    def _rounds(
        self, rows: PackedRows, visits: NDArray[np.float64] | None, watch: Watch
    ) -> Generator[list[Step], None, None]:
        """Train to the last epoch: one at a time here, or a few at a time on the workers of a Dask client."""
        threads = joblib.effective_n_jobs(self.n_jobs)
        workers = cluster.active()
        if workers is not None:
            yield from cluster_training.rounds(
                self._training, workers, rows, visits, self.epochs, self.exclude_every, watch, threads
            )
        while self._training.epochs_done < self.epochs:
            yield [self._training.epoch(rows, visits, self.exclude_every, watch, threads)]

    def _take(self, step: Step, selection: SnapshotSelection) -> None:
        self.history_ += step.records
        if step.snapshot is not None:
            selection.offer(step.snapshot)
        if step.interrupt is not None:
            raise step.interrupt

    def _open_checkpoint(
        self,
        folder: str | os.PathLike[str],
        train: PackedRows,
        validation: PackedRows | None,
        visits: NDArray[np.float64] | None,
    ) -> Checkpoint:
        if not isinstance(self.random_state, (int, np.integer)):
            raise ValueError(
                f"checkpoint needs a whole number as random_state, not {self.random_state!r}: "
                "without it a training cannot be told from another"
            )
        parameters = self.get_params(deep=False)
        for name in (
            "booleanizer",
            "epochs",
            "n_jobs",
            "verbose",
        ):  # rows tell the first; the rest may change
            del parameters[name]
        return Checkpoint(Path(folder), identity(parameters, train, validation, visits))

    def _go_on(self, checkpoint: Checkpoint, selection: SnapshotSelection) -> None:
        found = checkpoint.load()
        if found is not None:
            self._training.resume(found.states, found.epochs_done)
            self.history_ = found.history
            selection.candidates = found.candidates

    def _progress(self, selection: SnapshotSelection) -> Progress:
        training = self._training
        return Progress(training.states, training.epochs_done, self.history_, selection.candidates)

    def _read_pair(self, name: str, pair: Any) -> PackedRows:
        try:
            X, y = pair
        except (TypeError, ValueError):
            raise ValueError(f"{name} must be a pair (X, y)") from None
        array = self._read_prediction_rows(X)
        y = np.asarray(y)
        if y.shape != (len(array),):
            raise ValueError(f"{name}: X has {len(array)} rows, y has shape {y.shape}")
        codes = class_codes(y, self.classes_)  # -1, what training does not know, is never predicted
        return pack(array, codes.astype(np.int32), self.booleanizer_)

    def _start_training(self, rows: PackedRows) -> None:
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int64).max, dtype=np.int64)
        self._training = Training(
            n_classes=len(self.classes_),
            n_clauses=self.n_clauses,
            n_booleans=rows.n_booleans,
            T=self.T,
            s=self.s,
            boost_true_positive=self.boost_true_positive,
            literal_budget=self.literal_budget,
            seed=int(seed),
        )
        self._boolean_rates = rows.rates
        self._typical_rows = rows.sample()
        self.history_ = []

    def _keep(self, snapshot: Snapshot) -> None:
        names = getattr(self, "feature_names_in_", None)
        parameters = self.get_params(deep=False)
        for name in ("booleanizer", "random_state", "n_jobs", "verbose"):
            del parameters[name]
        if parameters["class_weight"] is not None:
            parameters["class_weight"] = str(parameters["class_weight"])
        self.model_ = Model(
            snapshot.literals,
            snapshot.offsets,
            self._training.votes,
            n_booleans=len(self._boolean_rates),
            classes=self.classes_,
            booleanizer=self.booleanizer_,
            feature_names=None if names is None else list(names),
            boolean_rates=self._boolean_rates,
            typical_rows=self._typical_rows,
            provenance={
                "parameters": parameters,
                "seed": self._training.seed,
                "epochs": self._training.epochs_done,
                "ethereal": version("ethereal-tm"),
            },
        )

    def _read_prediction_rows(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self, "classes_")
        refuse_non_numeric_columns(X)
        array: NDArray[Any] = validate_data(self, X, reset=False, dtype="numeric", ensure_all_finite=False)
        return array

    # -- scikit-learn's and pickle's protocols -------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = not isinstance(self.booleanizer, type(None))
        return tags


def _visits(weights: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    """Mean visits per epoch of each row: as many in all as there are rows."""
    if weights is None:
        return None
    return np.ascontiguousarray(weights * (len(weights) / weights.sum()), dtype=np.float64)
