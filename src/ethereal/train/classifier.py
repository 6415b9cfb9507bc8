"""The scikit-learn estimator: what a user fits."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from ethereal.base.checks import count_threads
from ethereal.base.splits import hold_out_by_class
from ethereal.compress.shortening import shorten
from ethereal.features.booleanizer import Booleanizer
from ethereal.features.packing import pack
from ethereal.train.automata import Watch
from ethereal.train.checkpoint import Checkpoint, identity
from ethereal.train.data import (
    TrainingData,
    fit_booleanizer,
    read_pair,
    read_prediction_rows,
    read_training_data,
    validation_rows,
)
from ethereal.train.fitting import Fitting
from ethereal.train.learner import Learner, recorded
from ethereal.train.parameters import check_classifier
from ethereal.train.stream import MAX_RECORDS, after_fit

_ONLY_IN_FIT = ("validation_fraction", "accuracy_tolerance", "shorten")
_Method = TypeVar("_Method", bound=Callable[..., Any])


def _can_go_on(clf: EtherealClassifier) -> bool:
    if clf.shorten:
        raise AttributeError(
            "shorten=True needs all training rows at once, which partial_fit does not have; train with "
            "shorten=False and call ethereal.compress.shortening(model, rows) at the end"
        )
    return True


def _unless_shortened(method: _Method) -> _Method:
    """A method that an estimator with `shorten=True` does not have."""
    return cast(_Method, available_if(_can_go_on)(method))


class EtherealClassifier(ClassifierMixin, Learner, BaseEstimator):  # type: ignore[misc]
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
        Epochs between two exclusions; None: a vanilla Tsetlin machine. `partial_fit` says what an epoch is
        there.
    boost_true_positive
        Whether a matching clause strengthens true literals always, or with probability (s-1)/s.
    literal_budget
        Most literals a clause may include; None: no bound.
    booleanizer
        "auto": rows of 0 and 1 are taken as they are, other numbers go through `Booleanizer()`. A
        `Booleanizer` of your own is cloned and fitted. None: the rows must be 0 and 1.
    validation_fraction
        Share of the training rows, taken class by class, that is held out to choose the epoch whose model
        is kept: the best validation accuracy, fewer includes on a tie. A row counts as much as its weight,
        from `sample_weight` and `class_weight`. 0, or no held-out row of a positive weight: the last epoch's
        model is kept.
    accuracy_tolerance
        Keep the smallest model whose validation accuracy is within this of the best (0.005: half a point).
    shorten
        Whether the clauses of the chosen epoch lose the literals that decide nothing on the rows given to
        `fit` (`ethereal.compress.shortening`): usually a third to a half of the includes, at equal accuracy.
    class_weight
        None, "balanced", or a mapping from label to weight: how often rows of a class are visited.
    epoch_rows
        Rows that make an epoch for `partial_fit`. None: an epoch is over when the rows that it began with
        come again. `fit` does not need it.
    keep_states
        Whether `fit` keeps the automata of the chosen epoch as `best_ta_states_`: a byte for each of classes
        x clauses x literals, and during training as much again for every epoch that may still be chosen.
    n_jobs
        Threads, over classes; -1: all cores. The result does not depend on it.
    random_state
        Seed. The same seed gives the same automata on every machine.
    verbose
        1: a progress bar (a line every few seconds when not on a terminal).

    Attributes
    ----------
    classes_ : labels in the order of the class sums.
    model_ : `Model` of the chosen epoch. Its `provenance` has the parameters that training really used, the
        epochs trained ("epochs"), the epoch chosen ("best_epoch"), and what was changed on the way by
        `set_params` or by assigning automata ("changes", the newest 100).
    best_epoch_ : the epoch that `model_` is of, from 1 on; after `partial_fit` the number of calls.
    history_ : list with a dict per epoch and per exclusion: epoch, phase ("train" or "exclude"), includes,
        includes_per_clause, train_accuracy (only with verbose), validation_accuracy, eval_accuracy, seconds,
        kept (True for the epoch that `model_` is of). `partial_fit` keeps the newest 10,000 of them.
    ta_states_ : automata after the LAST epoch, which is not the chosen one, as a rule. Classes x clauses x
        literals, 0..255, included from 128 on. In each class the first half of the clauses votes for it, the
        second half against it. Literals are the Booleans, then their negations. May be assigned to: then
        `model_` is that of these automata.
    best_ta_states_ : automata of the epoch that `model_` is of, where they are known: with `keep_states`, or
        when the last epoch was chosen.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = EtherealClassifier(n_clauses=20, T=10, s=3.0, epochs=20, random_state=1).fit(X, y)
    >>> bool(clf.score(X, y) > 0.9)
    True
    """

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
        epoch_rows: int | None = None,
        keep_states: bool = False,
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
        self.epoch_rows = epoch_rows
        self.keep_states = keep_states
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

        `checkpoint` is a folder in which the training is kept, every few seconds and at the end. It needs a
        whole number as `random_state`. With `resume` training goes on from there, to the same bits as without
        the interruption. More `epochs` than before may be asked for; fewer than the checkpoint has are
        refused. The checkpoint of a training with other rows or parameters is refused with and without
        `resume`, so that it is not lost. Without `resume` the same training starts again, and the checkpoint
        is replaced once training has got as far.

        While a Dask client is the default one (`ethereal.cluster.connect`, `ethereal.cluster.start`, or
        `distributed.Client`), the classes are trained by its workers, to the same bits.
        """
        self.check_parameters()
        if resume and checkpoint is None:
            raise ValueError("resume=True needs the folder to go on from: checkpoint=")
        data = read_training_data(self, X, y, sample_weight)
        fitting = self._start_fitting(data, eval_set, validation_set)
        if checkpoint is not None:
            watch = fitting.watch
            parts = fitting.rows, watch.validation, fitting.visits, watch.weights
            kept = Checkpoint(checkpoint, identity(self._identifying(), *parts))
            fitting.look_at(kept, self.epochs, resume)
        try:
            fitting.run(self.epochs, count_threads(self.n_jobs), self.verbose)
        finally:
            if fitting.kept is not None:
                self._clock = after_fit(self._training.epochs_done, fitting.rows)
                self._used = recorded(self.get_params(deep=False), unused=("epoch_rows",))
                self._temperature = fitting.temperature
                self._keep(fitting.kept)
                if self.shorten:
                    self.model_ = shorten(self.model_, data.array)
        return self

    def _start_fitting(self, data: TrainingData, eval_set: Any, validation_set: Any) -> Fitting:
        """Thresholds, rows to learn from, rows to choose by, and a machine that has learnt nothing yet."""
        self.classes_ = data.classes
        learn, held_out = None, None
        if validation_set is None:
            rng = check_random_state(self.random_state)
            learn, held_out = hold_out_by_class(data.codes, self.validation_fraction, rng)
        self.booleanizer_ = fit_booleanizer(
            self.booleanizer, data.array, getattr(self, "feature_names_in_", None), learn
        )
        train = pack(data.array, data.codes, self.booleanizer_, learn)
        validation, weights = validation_rows(self, data, validation_set, held_out)
        watch = Watch(
            validation=validation,
            weights=weights,
            evaluation=None if eval_set is None else read_pair(self, "eval_set", eval_set),
            train=train if self.verbose else None,
        )
        visits = data.visits(learn)
        self._start_training(train)
        return Fitting(
            self._training,
            train,
            visits,
            watch,
            self.exclude_every,
            tolerance=None if validation is None else self.accuracy_tolerance,
            history=self.history_,
            keep_states=self.keep_states,
        )

    @_unless_shortened
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> EtherealClassifier:
        """Train once more on these rows, continuing from where the automata are.

        The first call on a fresh estimator needs `classes`, all labels that will ever come; thresholds of an
        automatic Booleanizer are those of the first call's rows. There is no validation: `model_` is that of
        the newest automata, and it is made when it is asked for. The seed is that of the first call.

        An exclusion comes after `exclude_every` epochs, and an epoch is a pass over the training rows. It is
        over when a call brings the same rows as the call that it began with, in any order. So calls with the
        whole training set give the bits of `fit` with `validation_fraction=0`, and batches that come in turn
        are excluded once per turn. A stream whose rows never come again has no epochs: nothing is excluded,
        unless `epoch_rows` says how many rows make one. Literals that are taken out must be learnt anew, so
        give it many more rows than a call has.

        `set_params` between two calls takes effect from the next call on, and the model's provenance tells
        it. Only `n_clauses` and `booleanizer` cannot change. An estimator with `shorten=True` has no
        `partial_fit`, because shortening needs all training rows at once: shorten the model at the end with
        `ethereal.compress.shortening`.
        """
        self.check_parameters()
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
        visits = data.visits()
        if first:
            self._start_training(rows)
        else:
            self._take_changes()
        clock, exclude = self._clock.call(rows, self.epoch_rows, self.exclude_every)
        step = self._training.epoch(rows, visits, exclude, Watch(), count_threads(self.n_jobs))
        self._clock = clock
        self.history_ += step.records
        del self.history_[:-MAX_RECORDS]
        self._used = recorded(self.get_params(deep=False), unused=_ONLY_IN_FIT)
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
        """Class sums as shares of 1, rows x classes: `Model.predict_proba`.

        `fit` finds the one number that they are scaled by on the validation rows of the chosen epoch. Wrap
        the estimator in scikit-learn's `CalibratedClassifierCV` where more is asked of probabilities.
        """
        rows = read_prediction_rows(self, X)
        return self.model_.predict_proba(rows, n_jobs=self.n_jobs)

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
        for name in ("booleanizer", "epochs", "epoch_rows", "n_jobs", "verbose"):
            del parameters[name]  # rows tell the first; the rest may change
        return parameters

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.booleanizer is not None
        return tags
