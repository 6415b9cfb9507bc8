"""The scikit-learn estimator: what a user fits, what it has learnt so far, and the model that it keeps."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cache, cached_property, partial
from importlib.metadata import version
from typing import Any, Literal

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ethereal.base.checks import count_threads
from ethereal.base.splits import hold_out_by_class
from ethereal.compress import shorten
from ethereal.features.booleanizer import Booleanizer
from ethereal.features.packing import PackedRows, pack
from ethereal.features.window_features import WindowFeatures
from ethereal.model import Model
from ethereal.train.automata import EpochClock, Feedback, Snapshot, Training, Watch, after_fit, mark_kept
from ethereal.train.checkpoint import Checkpoint, identifying, identity
from ethereal.train.data import (
    TrainingData,
    check_classifier,
    fit_booleanizer,
    read_pair,
    read_prediction_rows,
    read_training_data,
    tunable,
    validation_rows,
)
from ethereal.train.fitting import Fitting
from ethereal.train.grids import literal_budget, patch_of
from ethereal.train.machine import Machine
from ethereal.train.paper import paper_keywords
from ethereal.train.rules import OnEpoch, Rule, checked_states, rule_name
from ethereal.train.unknown import calibrate
from ethereal.train.votes import improve, noise_clauses

_MAX_RECORDS = 10_000  # newest ones of history_ that partial_fit keeps, because a stream has no end
_ONLY_IN_FIT = (  # parameters that `partial_fit` has no use for
    *("validation_fraction", "keep", "patience", "accuracy_tolerance"),
    *("noise_clauses", "refit_votes", "shorten"),
)
# These change neither the automata nor the choice of the epoch, or the model has them itself.
_NOT_RECORDED = ("booleanizer", "front_end", "random_state", "n_jobs", "verbose", "keep_states", "machine")


def _can_continue(clf: EtherealClassifier) -> bool:
    """Hide `partial_fit` of estimators with `shorten=True`."""

    if clf.shorten:
        raise AttributeError(
            "shorten=True needs all training rows at once, which partial_fit does not have. Train with "
            "shorten=False and call ethereal.compress.shorten(model, rows) at the end."
        )
    return True


class EtherealClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Tsetlin machine, by default with the settings that were measured to be best (lab/notes/defaults.md).

    The default does no exclusion, because `ethereal.prune` afterwards gives smaller models that are as
    accurate. `EtherealClassifier.paper("statlog")` trains as the paper did on that set, with exclusion.

    Parameters
    ----------
    n_clauses
        Clauses per class. Half of them vote for the class, half against it. An odd one votes for it.
    T
        Vote margin that training aims at, 1 or more. Feedback gets rarer as the class sum nears T. None takes
        the root of half the clauses.
    s
        Specificity, 1 or more. A literal is forgotten with probability 1/s, so a larger s gives longer
        clauses.
    epochs
        Passes over the training rows. None takes 10 per class, at least 40 and at most 200.
    exclude_every
        Epochs between two exclusions (ETHEREAL). None trains a vanilla Tsetlin machine.
    exclude
        What an exclusion takes out. "shared" is the paper's rule: literals that clauses of both polarities of
        a class include. A function of your own gets the includes, bool, classes x clauses x literals like
        `ta_states_`. It returns as many, True for each include to take out.
    init
        Where automata start. "middle" is just below the middle, so that all exclude. "random" is just below
        or just above it, as the paper writes. An array like `ta_states_` is a warm start, which needs the
        same Booleans.
    boost_true_positive
        Whether a matching clause always strengthens true literals. False: with probability (s-1)/s.
    literal_budget
        Most literals that a clause may include. None sets no bound. With a patch, None is 16, and a clause
        with more literals only forgets, so some clauses have a few more.
    patch
        Cells of a patch, when clauses shall find a pattern anywhere in a row. `patch=(8,)` is for frames, and
        X is rows x frames x channels. `patch=(10, 10)` is for images, and X is rows x height x width, and may
        have channels as a last axis. A channel has the same thresholds in all cells, and 4 bins unless
        `booleanizer` says otherwise. None is for rows of features.
    places
        Whether a clause may ask where its patch is. "auto" lets clauses over images ask.
    machine
        A `Machine`, which has weighted or coalesced clauses, or trains in other ways that the field knows. It
        has no noise clauses unless `noise_clauses` gives a number. None is the plain machine.
    booleanizer
        "auto" takes rows of 0 and 1 as they are and sends other numbers through
        `Booleanizer("auto", missing="auto")`. A number does the same with so many bins. A `Booleanizer` of
        your own is cloned and fitted. With None, the rows must be 0 and 1. Setting a parameter such as
        `booleanizer__n_bins` turns "auto" into a Booleanizer.
    front_end
        A `WindowFeatures`, which is cloned and fitted. X is then windows x samples x axes.
    validation_fraction
        Share of each class's training rows that is held out. These rows choose the votes, and the epoch where
        the best one is kept. A row counts as much as its weight.
    keep
        "last" keeps the last epoch. "best" keeps the epoch with the best accuracy on held-out rows, and the
        one with fewer includes on a tie. Without held-out rows, or if all weigh nothing, it is the last.
    patience
        End training after so many epochs without a better validation accuracy, and keep the best epoch.
    accuracy_tolerance
        Keep the smallest epoch whose validation accuracy is within this of the best (0.005: half a point).
    noise_clauses
        Clauses per class beside the machine's own. They learn slowly, which helps where labels are wrong.
        "auto" takes a sixth of `n_clauses`, 0 none.
    refit_votes
        Whether a logistic regression on the clause outputs may replace the votes. It does where the held-out
        rows get a lower log loss, so never without such rows.
    shorten
        Whether the chosen clauses lose the literals that decide nothing on the training rows. That is usually
        a third to a half of the includes, at equal accuracy. See `ethereal.compress.shorten`.
    class_weight
        How often rows of a class are visited: None, "balanced", or a mapping from label to weight.
    epoch_rows
        Rows that make an epoch for `partial_fit`. With None, an epoch ends when its first rows come again.
    keep_states
        Whether `fit` keeps the automata of the chosen epoch as `best_ta_states_`. That takes classes x
        clauses x literals bytes, and during training as much again for every epoch that may still be chosen.
    n_jobs
        Threads, over classes. -1 uses all cores. The result does not depend on it.
    random_state
        Seed. The same seed gives the same automata on every machine. The model's provenance has it as "seed",
        also the one that is drawn for None.
    verbose
        1 shows a progress bar, or a line every few seconds when not on a terminal.

    Attributes
    ----------
    classes_
        Labels in the order of the class sums.
    model_
        `Model` that predicts: the chosen epoch, its noise clauses and the best votes. Its `provenance` has
        the parameters that training really used, the epochs trained ("epochs"), the epoch chosen
        ("best_epoch"), how the votes were found ("votes"), and what was changed on the way by `set_params`
        or by assigning automata ("changes", the newest 100).
    plain_model_
        `Model` of the chosen epoch alone, without noise clauses and with the votes of training. Prune this
        one for a board, where noise clauses and fitted votes bring nothing.
    feature_importances_
        How much each column of X decides, shares of 1. See `Model.feature_importances`.
    best_epoch_
        The epoch that `model_` is of, from 1 on. After `partial_fit` it is the number of calls.
    history_
        List with a dict per epoch and per exclusion: epoch, phase ("train" or "exclude"), includes,
        includes_per_clause, train_accuracy (only with verbose), validation_accuracy, eval_accuracy,
        seconds, kept (True for the epoch that `model_` is of). `partial_fit` keeps the newest 10,000 of
        them.
    ta_states_
        Automata after the LAST epoch, usually not the chosen one. They are classes x clauses x literals,
        0..255, included from 128 on. In each class the first half of the clauses votes for it, the second
        half against it. Those of noise clauses are not here. Literals are the Booleans, then their negations.
        Assigning automata makes `model_` theirs.
    best_ta_states_
        Automata of the epoch that `model_` is of. They are known with `keep_states`, or when the last epoch
        was chosen.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = EtherealClassifier(random_state=1).fit(X, y)
    >>> bool(clf.score(X, y) > 0.95)
    True
    """

    random_state: Any
    classes_: NDArray[Any]
    history_: list[dict[str, Any]]
    best_epoch_: int
    booleanizer_: Booleanizer | None
    row_shape_: tuple[int, ...]  # cells of a row along each axis, where there is a patch
    front_end_: WindowFeatures
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    _training: Training
    _clock: EpochClock  # of `partial_fit`
    _seed: Any  # random state of the training
    _used: dict[str, Any]  # parameters of the last training
    _temperature: float  # of the next model
    _lazy: _LazyModel  # what predicts
    _plain: _LazyModel  # the machine alone
    _best_states: NDArray[np.uint8] | None

    def __init__(
        self,
        n_clauses: int = 600,
        T: int | None = None,
        s: float = 5.0,
        *,
        epochs: int | None = None,
        exclude_every: int | None = None,
        exclude: Literal["shared"] | Rule = "shared",
        init: Literal["middle", "random"] | NDArray[np.uint8] = "middle",
        boost_true_positive: bool = True,
        literal_budget: int | None = None,
        patch: tuple[int, ...] | None = None,
        places: bool | Literal["auto"] = "auto",
        machine: Machine | None = None,
        booleanizer: Booleanizer | Literal["auto"] | int | None = "auto",
        front_end: WindowFeatures | None = None,
        validation_fraction: float = 0.1,
        keep: Literal["last", "best"] = "last",
        patience: int | None = None,
        accuracy_tolerance: float = 0.0,
        noise_clauses: int | Literal["auto"] = "auto",
        refit_votes: bool = True,
        shorten: bool = False,
        class_weight: Literal["balanced"] | dict[Any, float] | None = None,
        epoch_rows: int | None = None,
        keep_states: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clauses, self.T, self.s = n_clauses, T, s
        self.epochs, self.exclude_every, self.epoch_rows = epochs, exclude_every, epoch_rows
        self.exclude, self.init = exclude, init
        self.boost_true_positive, self.literal_budget = boost_true_positive, literal_budget
        self.patch, self.places, self.machine = patch, places, machine
        self.booleanizer, self.front_end, self.class_weight = booleanizer, front_end, class_weight
        self.validation_fraction, self.accuracy_tolerance = validation_fraction, accuracy_tolerance
        self.keep, self.patience = keep, patience
        self.noise_clauses, self.refit_votes = noise_clauses, refit_votes
        self.shorten, self.keep_states = shorten, keep_states
        self.n_jobs, self.random_state, self.verbose = n_jobs, random_state, verbose

    @classmethod
    def paper(cls, *settings: Any, **keywords: Any) -> EtherealClassifier:
        """Return an estimator that trains as the paper does, with literal exclusion.

        `paper("statlog")` has the paper's clauses, T, s, epochs, exclusion and bins for that data set. The
        others are emg, gas, gesture, har, mammography, sensorless, sports and mnist. `paper()` is for other
        data: 100 clauses, T 15, s 5, exclusion after every epoch, 10 bins and 50 epochs. Both keep the epoch
        with the best validation accuracy, have no noise clauses, and leave the votes as they are trained.

        Keywords are those of the class, and replace any of these. Without a name, `n_clauses`, `T`, `s` and
        `exclude_every` may be given by position. `exclude_every=None` gives the paper's vanilla machine.

        >>> EtherealClassifier.paper("statlog").T, EtherealClassifier.paper(exclude_every=3).exclude_every
        (16, 3)
        """
        return cls(**paper_keywords(settings, keywords))

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        eval_set: tuple[ArrayLike, ArrayLike] | None = None,
        *,
        validation_set: tuple[ArrayLike, ArrayLike] | None = None,
        sample_weight: ArrayLike | None = None,
        categories: Mapping[int, Sequence[str]] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
        on_epoch: OnEpoch | None = None,
    ) -> EtherealClassifier:
        """Train from the start, or continue from a checkpoint.

        Ctrl-C ends training at the last whole epoch, as if `epochs` were that number. `model_` is then the
        machine alone, without noise clauses and with the votes of training. While a Dask client is the
        default one (`ethereal.cluster.connect`, `ethereal.cluster.start`, or `distributed.Client`), the
        classes are trained by its workers, to the same bits.

        Parameters
        ----------
        X, y
            Rows x features, or windows x samples x axes with a front end, and a label for each row.
        eval_set
            A pair (X, y) whose accuracy is written to `history_` and never used to choose.
        validation_set
            A pair (X, y) that replaces the rows of `validation_fraction`. Give one where rows are related,
            for example the rows of one subject.
        sample_weight
            How often a row is visited, relative to the others.
        categories
            Names of the values 0, 1, ... of columns that are categories. Columns of text in a frame are found
            without it.
        checkpoint
            A folder that keeps the training, every few seconds and at the end. It needs a whole number as
            `random_state`.
        resume
            Continue from the checkpoint, to the same bits as without the interruption. `epochs` may be larger
            than before, but not smaller than the checkpoint has. A checkpoint with other rows or parameters
            is always refused, so that it is not lost. Without `resume` training starts again, and replaces
            the checkpoint once it has got as far.
        on_epoch
            `on_epoch(automata, record)` is called after every epoch and every exclusion with the new record
            of `history_`. It may return True to end training, after an exclusion with the epoch that follows.
            It may assign `automata.states`, which adds a record of the phase "set". An epoch's model is of
            the automata before that. To resume to the same bits, what it does must depend on its arguments
            alone.
        """
        self.check_parameters()
        if on_epoch is not None and not callable(on_epoch):
            raise TypeError(f"on_epoch is {on_epoch!r}. It must be a function of automata and a record.")
        if resume and checkpoint is None:
            raise ValueError("resume=True needs a folder to continue from. Give checkpoint=FOLDER.")
        if self.patience is not None and self.validation_fraction == 0 and validation_set is None:
            raise ValueError(
                f"patience is {self.patience}, but no rows are held out. Give a validation_set, or a "
                "validation_fraction above 0."
            )
        data = read_training_data(self, X, y, sample_weight, categories=categories)
        fitting = self._start_fitting(data, eval_set, validation_set, on_epoch)
        epochs = usual_epochs(len(self.classes_)) if self.epochs is None else self.epochs
        if checkpoint is not None:
            parts = fitting.rows, fitting.watch.validation, fitting.visits, fitting.watch.weights
            parameters = identifying(self.get_params(deep=False))
            shape = {} if self.patch is None else {"row_shape": self.row_shape_}
            training_id = identity(parameters | shape, *parts)
            fitting.look_at(Checkpoint(checkpoint, training_id), epochs, resume)
        try:
            fitting.run(epochs, count_threads(self.n_jobs), self.verbose)
        finally:
            if fitting.kept is not None:
                self._clock = after_fit(self._training.epochs_done, fitting.rows)
                self._used = self._recorded(unused=("epoch_rows",))
                self._temperature = fitting.temperature
                self._keep(fitting.kept)
                if self.shorten:
                    self._lazy = self._plain = _LazyModel.of(shorten(self.model_, data.array))
        n_noise = noise_clauses(self.noise_clauses, self._training.parameters["n_clauses"])
        if self.noise_clauses == "auto" and (self.patch, self.machine) != (None, None):  # not measured there
            n_noise = 0
        if n_noise > 0 or self.refit_votes:
            n_threads = count_threads(self.n_jobs)
            better = improve(self.plain_model_, fitting, n_noise, self.refit_votes, n_threads, self.verbose)
            self.model_ = shorten(better, data.array) if self.shorten else better
        return self

    @available_if(_can_continue)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> EtherealClassifier:
        """Train once more on these rows, continuing from where the automata are.

        The first call on a fresh estimator needs `classes`, all labels that will ever come. Its rows give the
        thresholds of an automatic Booleanizer, and its seed stays. Nothing is validated: `model_` is that of
        the newest automata, and is made when it is asked for. There are no noise clauses, and the votes
        stay as they are trained.

        An exclusion comes after `exclude_every` epochs, and an epoch is a pass over the training rows. It is
        over when a call brings the same rows as the call that it began with, in any order. So calls with the
        whole training set give the bits of `fit` with `validation_fraction=0`. If several batches are
        repeated again and again, an epoch is one round through all of them. A stream whose rows never come
        again has no exclusion, unless `epoch_rows` says how many rows make an epoch. Take many more rows than
        a call has, because excluded literals must be learnt anew.

        `set_params` takes effect from the next call on, and the model's provenance records it. Only
        `n_clauses`, `init` and `booleanizer` cannot change. An estimator with `shorten=True` has no
        `partial_fit`, because shortening needs all training rows at once. Call `ethereal.compress.shorten` at
        the end.
        """
        self.check_parameters()
        first = not hasattr(self, "_training")
        if first and classes is None:
            raise ValueError("The first call of partial_fit needs classes. Give all labels to come.")
        if not first and classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes is {classes!r}, but was {list(self.classes_)} first. Leave it out.")
        labels = classes if first else self.classes_
        data = read_training_data(self, X, y, sample_weight, labels, reset=first)
        if first:
            self.classes_ = data.classes
            self.booleanizer_ = fit_booleanizer(self, data)
        rows = pack(data.array, data.codes, self.booleanizer_)
        visits = data.visits()
        if first:
            self._seed = _usable_seed(self.random_state)
            self._start_training(rows)
        else:
            self._apply_changes()
        clock, exclude = self._clock.call(rows, self.epoch_rows, self.exclude_every)
        step = self._training.epoch(rows, visits, exclude, Watch(), count_threads(self.n_jobs), self._rule)
        self._clock = clock
        self.history_ += step.records
        del self.history_[:-_MAX_RECORDS]
        self._used = self._recorded(unused=_ONLY_IN_FIT)
        assert step.snapshot is not None
        self._keep(step.snapshot)
        if step.interrupt is not None:
            raise step.interrupt
        return self

    def calibrate_unknown(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        accuracy: float | None = None,
        answered: float | None = None,
        categories: Mapping[int, Sequence[str]] | None = None,
    ) -> EtherealClassifier:
        """Let `model_` answer "unknown" where its first class leads by too few votes: `calibration_.margin`.

        Up to ten more machines are trained, each without a part of the groups, and answer that part.

        Parameters
        ----------
        X, y, categories
            Those of `fit`.
        groups
            What rows have in common, such as the person. Whole groups are left out in turn.
        accuracy
            Share of the answers that shall be right, such as 0.95.
        answered
            Share of the rows that shall be answered, in place of `accuracy`.
        """
        self.model_, self.calibration_ = calibrate(
            self, X, y, groups, accuracy=accuracy, answered=answered, categories=categories
        )
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return class sums, rows x classes. For two classes it is the second's less the first's, per row.

        They are float64, because scikit-learn's calibration takes no integers.
        """
        rows = read_prediction_rows(self, X)
        sums = self._answering.class_sums(rows, n_jobs=self.n_jobs).astype(np.float64)
        return sums[:, 1] - sums[:, 0] if len(self.classes_) == 2 else sums

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the label with the largest class sum of each row, the first of them on a tie.

        Parameters
        ----------
        X
            Rows with the columns of training, or windows with a front end.
        """
        rows = read_prediction_rows(self, X)
        return self._answering.predict(rows, n_jobs=self.n_jobs)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return class sums as shares of 1, rows x classes, like `Model.predict_proba`.

        `fit` finds their one scale on the validation rows of the chosen epoch. Use scikit-learn's
        `CalibratedClassifierCV` if you need better probabilities.
        """
        rows = read_prediction_rows(self, X)
        return self._answering.predict_proba(rows, n_jobs=self.n_jobs)

    @property
    def model_(self) -> Model:
        """What predicts: the model of the chosen epoch with its noise clauses and the votes that are best."""
        check_is_fitted(self, "_lazy")
        return self._lazy.model

    @model_.setter
    def model_(self, model: Model) -> None:
        self._lazy = _LazyModel.of(model)

    @property
    def _answering(self) -> Model:
        """`model_`, or a tolerant one if nobody asked for an error about values that are missing.

        So a missing value does not stop cross-validation, whichever fold it is in.
        """
        check_is_fitted(self, "_lazy")
        is_automatic = self.booleanizer_ is not None and self.booleanizer_.missing == "auto"
        return self._lazy.tolerant if is_automatic else self._lazy.model

    @property
    def plain_model_(self) -> Model:
        """The machine of the chosen epoch alone, with the votes that it was trained with."""
        check_is_fitted(self, "_lazy")
        return self._plain.model

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much each column of X decides in `model_`, as shares of 1: `Model.feature_importances`."""
        return self.model_.feature_importances()

    @property
    def best_ta_states_(self) -> NDArray[np.uint8]:
        """Automata of the epoch that `model_` is of, like `ta_states_`, as a copy."""
        check_is_fitted(self, "_lazy")
        if self._best_states is not None:
            return self._best_states.copy()
        if self.best_epoch_ != self._training.epochs_done:
            raise AttributeError(f"Epoch {self.best_epoch_} was not kept. Fit with keep_states=True.")
        return self.ta_states_

    @property
    def ta_states_(self) -> NDArray[np.uint8]:
        """Automata after the last epoch, classes x clauses x literals, included from 128 on, as a copy."""
        check_is_fitted(self)
        return self._training.states

    @ta_states_.setter
    def ta_states_(self, states: ArrayLike) -> None:
        check_is_fitted(self)
        training = self._training
        training.states = checked_states("ta_states_", states, training)
        training.note_assigned()
        self._keep(training.snapshot())
        mark_kept(self.history_, None)  # no record is of these automata

    def check_parameters(self) -> None:
        """Raise a ValueError or TypeError when a parameter is out of range, as `fit` does.

        >>> EtherealClassifier(keep="first").check_parameters()
        Traceback (most recent call last):
            ...
        ValueError: keep is 'first'. It must be "last" or "best".
        """
        check_classifier(self.get_params(deep=False))

    def set_params(self, **params: Any) -> EtherealClassifier:
        """Set parameters as in scikit-learn, also those of an automatic Booleanizer.

        >>> EtherealClassifier().set_params(booleanizer__n_bins=5).booleanizer
        Booleanizer(missing='auto', n_bins=5)
        """
        super().set_params(**tunable(self.booleanizer, params))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.booleanizer is not None
        return tags

    def _start_fitting(
        self, data: TrainingData, eval_set: Any, validation_set: Any, on_epoch: OnEpoch | None
    ) -> Fitting:
        """Return a new machine with its rows to learn from and rows to choose by."""
        self._seed = _usable_seed(self.random_state)
        self.classes_ = data.classes
        learn, held_out = None, None
        if validation_set is None:
            rng = check_random_state(self._seed)
            learn, held_out = hold_out_by_class(data.codes, self.validation_fraction, rng)
        self.booleanizer_ = fit_booleanizer(self, data, learn)
        train = pack(data.array, data.codes, self.booleanizer_, learn)
        validation, weights = validation_rows(self, data, validation_set, held_out)
        evaluation = None if eval_set is None else read_pair(self, "eval_set", eval_set)
        watch = Watch(validation, weights, evaluation, train if self.verbose else None)
        visits = data.visits(learn)
        self._start_training(train)
        keeps_best = self.keep == "best" or self.patience is not None or self.accuracy_tolerance > 0
        return Fitting(
            training=self._training,
            rows=train,
            visits=visits,
            watch=watch,
            exclude_every=self.exclude_every,
            tolerance=self.accuracy_tolerance if validation is not None and keeps_best else None,
            history=self.history_,
            keep_states=self.keep_states,
            patience=self.patience,
            rule=self._rule,
            on_epoch=on_epoch,
        )

    @property
    def _rule(self) -> Rule | None:
        """The rule of exclusion, None for the paper's."""
        return None if isinstance(self.exclude, str) else self.exclude

    def _start_training(self, rows: PackedRows) -> None:
        seed = int(check_random_state(self._seed).randint(np.iinfo(np.int64).max, dtype=np.int64))
        patch = patch_of(self, rows.n_booleans)
        self._training = Training(
            n_classes=len(self.classes_),
            n_clauses=self.n_clauses,
            n_booleans=rows.n_booleans if patch is None else patch.n_booleans,
            feedback=self._feedback(),
            seed=seed,
            random_start=isinstance(self.init, str) and self.init == "random",
            patch=patch,
            machine=self.machine,
        )
        if not isinstance(self.init, str):
            self._training.states = checked_states("init", self.init, self._training)
        self._boolean_rates = rows.rates
        self._typical_rows = rows.sample()
        self._given_booleanizer = _described(self.booleanizer)
        self._given_init = _start_name(self.init)
        self._clock = EpochClock()
        self._temperature = self._training.feedback.T / 3  # as of sums that were never compared with labels
        self.history_ = []

    def _feedback(self) -> Feedback:
        budget = literal_budget(self.literal_budget, self.patch)
        # The vote margin that suits a number of clauses is the root of half of them.
        T = max(1, round(math.sqrt(self.n_clauses / 2))) if self.T is None else int(self.T)
        return Feedback(T, float(self.s), bool(self.boost_true_positive), budget)

    def _keep(self, snapshot: Snapshot) -> None:
        """Keep the model of this snapshot. It is made at its first use."""
        names = getattr(self, "feature_names_in_", None)
        training, seed = self._training, self._seed
        provenance = {  # the trainer's own parameters replace the estimator's
            "parameters": {**self._used, **training.learning, "epochs": training.epochs_done},
            "seed": int(seed) if isinstance(seed, numbers.Integral) else None,  # None for a RandomState
            "epochs": training.epochs_done,
            "best_epoch": snapshot.epoch,
            "ethereal": _version("ethereal-tm"),
            **({"changes": list(training.changes)} if training.changes else {}),
        }
        self.best_epoch_ = snapshot.epoch
        self._best_states = snapshot.states
        mark_kept(self.history_, snapshot.epoch)
        make = partial(
            Model.of,
            snapshot.clauses,
            classes=self.classes_,
            booleanizer=self.booleanizer_,
            front_end=None if self.front_end is None else self.front_end_.front_end_,
            feature_names=None if names is None else list(names),
            boolean_rates=self._boolean_rates,
            typical_rows=self._typical_rows,
            temperature=self._temperature,
            provenance=provenance,
        )
        self._lazy = self._plain = _LazyModel(make)

    def _apply_changes(self) -> None:
        """Give changed parameters to the trainer, and refuse those that cannot change."""
        n_clauses = self._training.learning["n_clauses"]
        if n_clauses != self.n_clauses:
            raise ValueError(
                f"n_clauses is {self.n_clauses}, but this machine has {n_clauses} clauses per class. Set it "
                "back, or train a new estimator."
            )
        if self._training.machine != (self.machine or Machine()):
            raise ValueError(
                "machine was changed after the first call. Set it back, or train a new estimator."
            )
        if self._given_booleanizer != _described(self.booleanizer):
            raise ValueError(
                "booleanizer was changed, but the automata belong to the thresholds of the first call. Set "
                "it back, or train a new estimator."
            )
        if self._given_init != _start_name(self.init):
            raise ValueError(
                f"init is {_start_name(self.init)!r}, but the automata have started as {self._given_init!r}. "
                "Set it back, or train a new estimator."
            )
        before = self._training.feedback.T
        self._training.learn_by(self._feedback())
        self._temperature *= self._training.feedback.T / before

    def _recorded(self, unused: tuple[str, ...]) -> dict[str, Any]:
        """Return the parameters for a model's provenance, without those that had no effect."""
        parameters = self.get_params(deep=False)
        record = {name: value for name, value in parameters.items() if name not in (*_NOT_RECORDED, *unused)}
        if self.exclude_every is None:
            del record["exclude"]
        else:
            record["exclude"] = rule_name(self.exclude)
        record["init"] = _start_name(self.init)
        if self.class_weight is not None:
            record["class_weight"] = str(self.class_weight)
        if self.patch is None:
            del record["patch"], record["places"]
        record |= {} if self.machine is None else {"machine": asdict(self.machine)}
        return record


class _LazyModel:
    """A model that is made at its first use, so that a stream of rows does not make one at every call."""

    def __init__(self, make: Callable[[], Model]) -> None:
        self._make = make

    @cached_property
    def model(self) -> Model:
        return self._make()

    @cached_property
    def tolerant(self) -> Model:
        """The same model, which also answers rows with missing values where training had none."""
        return self.model.ignoring_missing()

    @staticmethod
    def of(model: Model) -> _LazyModel:
        return _LazyModel(lambda: model)

    def __reduce__(self) -> tuple[Any, ...]:
        return _LazyModel.of, (self.model,)


def usual_epochs(n_classes: int) -> int:
    """Return the epochs that suit a number of classes. A class learns from fewer rows when there are many."""
    return min(200, max(40, 10 * n_classes))


def _start_name(init: Any) -> str:
    """Return what `init` says, or "given" for automata."""
    return init if isinstance(init, str) else "given"


def _usable_seed(random_state: Any) -> Any:
    """Return a random state as it was given, and for None a seed that can be given again."""
    return int(check_random_state(None).randint(2**31)) if random_state is None else random_state


_version = cache(version)  # reads a file, which takes as long as a short epoch


def _described(booleanizer: Any) -> Any:
    """Return a hash of the parameters of a Booleanizer, and anything else as it is."""
    return joblib.hash(booleanizer.get_params()) if isinstance(booleanizer, Booleanizer) else booleanizer
