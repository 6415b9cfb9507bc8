"""The scikit-learn estimator: what a user fits."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any, Literal

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ethereal._checks import check_classifier
from ethereal.booleanize import Booleanizer
from ethereal.checkpoint import Checkpoint, identity
from ethereal.compress.shorten import shorten
from ethereal.fitting import Fitting
from ethereal.model import Model
from ethereal.rows import PackedRows, pack
from ethereal.selection import Snapshot, hold_out
from ethereal.training import Training, Watch
from ethereal.training_data import fit_booleanizer, read_pair, read_prediction_rows, read_training_data


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
        if resume and checkpoint is None:
            raise ValueError("resume=True needs the folder to go on from: checkpoint=")
        data = read_training_data(self, X, y, sample_weight)
        self.classes_ = data.classes
        learn, held_out = None, None
        if validation_set is None:
            rng = check_random_state(self.random_state)
            learn, held_out = hold_out(data.codes, self.validation_fraction, rng)
        self.booleanizer_ = fit_booleanizer(
            self.booleanizer, data.array, getattr(self, "feature_names_in_", None), learn
        )
        train = pack(data.array, data.codes, self.booleanizer_, learn)
        validation: PackedRows | None = None
        if validation_set is not None:
            validation = read_pair(self, "validation_set", validation_set)
        elif held_out is not None:
            validation = pack(data.array, data.codes, self.booleanizer_, held_out)
        watch = Watch(
            validation=validation,
            evaluation=None if eval_set is None else read_pair(self, "eval_set", eval_set),
            train=train if self.verbose else None,
        )
        self._start_training(train)
        fitting = Fitting(
            self._training,
            train,
            data.visits(learn),
            watch,
            self.exclude_every,
            tolerance=None if validation is None else self.accuracy_tolerance,
            history=self.history_,
        )
        if checkpoint is not None:
            parts = train, validation, fitting.visits
            fitting.checkpoint = Checkpoint(checkpoint, identity(self._identifying(), *parts))
        if resume:
            fitting.go_on()
        try:
            fitting.run(self.epochs, joblib.effective_n_jobs(self.n_jobs), self.verbose)
        finally:
            if fitting.kept is not None:
                self._keep(fitting.kept)
                if self.shorten:
                    self.model_ = shorten(self.model_, data.array)
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
        data = read_training_data(self, X, y, sample_weight, labels, reset=first)
        if first:
            self.classes_ = data.classes
            names = getattr(self, "feature_names_in_", None)
            self.booleanizer_ = fit_booleanizer(self.booleanizer, data.array, names)
        rows = pack(data.array, data.codes, self.booleanizer_)
        if first:
            self._start_training(rows)
        threads = joblib.effective_n_jobs(self.n_jobs)
        step = self._training.epoch(rows, data.visits(), self.exclude_every, Watch(), threads)
        self.history_ += step.records
        assert step.snapshot is not None
        self._keep(step.snapshot)
        if step.interrupt is not None:
            raise step.interrupt
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Class sums: rows x classes; for two classes the second's less the first's, one per row.

        Whole numbers as float64, because scikit-learn's calibration takes no integers here;
        `model_.class_sums` gives them as int32.
        """
        rows = read_prediction_rows(self, X)
        sums = self.model_.class_sums(rows, n_jobs=self.n_jobs).astype(np.float64)
        return sums[:, 1] - sums[:, 0] if len(self.classes_) == 2 else sums

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Label with the largest class sum of each row; the first of them on a tie."""
        rows = read_prediction_rows(self, X)
        return self.model_.predict(rows, n_jobs=self.n_jobs)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Class sums as shares, rows x classes: monotone but not calibrated.

        Wrap the estimator in scikit-learn's `CalibratedClassifierCV` where probabilities matter.
        """
        rows = read_prediction_rows(self, X)
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

    def check_parameters(self) -> None:
        """Raise a ValueError or TypeError when a parameter is out of range; `fit` does it too.

        >>> EtherealClassifier(n_clauses=7).check_parameters()
        Traceback (most recent call last):
            ...
        ValueError: n_clauses is 7; it must be even: half of a class's clauses vote against it
        """
        check_classifier(self.get_params(deep=False))

    def _identifying(self) -> dict[str, Any]:
        """Parameters that a checkpoint is known by, beside the rows."""
        if not isinstance(self.random_state, (int, np.integer)):
            raise ValueError(
                f"checkpoint needs a whole number as random_state, not {self.random_state!r}: "
                "without it a training cannot be told from another"
            )
        parameters: dict[str, Any] = self.get_params(deep=False)
        for name in ("booleanizer", "epochs", "n_jobs", "verbose"):
            del parameters[name]  # rows tell the first; the rest may change
        return parameters

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.booleanizer is not None
        return tags
