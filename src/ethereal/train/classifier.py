"""The scikit-learn estimator: what a user fits."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from ethereal.base.checks import count_threads
from ethereal.compress.shortening import shorten
from ethereal.features.booleanizer import Booleanizer
from ethereal.features.packing import pack
from ethereal.features.window_features import WindowFeatures
from ethereal.train.automata import Watch
from ethereal.train.checkpoint import Checkpoint, identifying, identity
from ethereal.train.data import (
    TrainingData,
    check_classifier,
    fit_booleanizer,
    read_prediction_rows,
    read_training_data,
    tunable,
)
from ethereal.train.fitting import Fitting
from ethereal.train.learner import Learner, recorded, usable_seed, usual_epochs
from ethereal.train.paper import paper_keywords
from ethereal.train.rules import OnEpoch, Rule
from ethereal.train.stream import MAX_RECORDS, ONLY_IN_FIT, after_fit, unless_shortened
from ethereal.train.unknown import calibrate
from ethereal.train.votes import improve, noise_clauses


class EtherealClassifier(ClassifierMixin, Learner, BaseEstimator):  # type: ignore[misc]
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
        Most literals that a clause may include. None sets no bound.
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
        Clauses per class of a bank beside the machine. They learn slowly, which helps where labels are wrong.
        "auto" takes a sixth of `n_clauses`, 0 leaves the bank out.
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
        `Model` that predicts: the chosen epoch, its bank and the best votes. Its `provenance` has the
        parameters that training really used, the epochs trained ("epochs"), the epoch chosen
        ("best_epoch"), how the votes were found ("votes"), and what was changed on the way by `set_params`
        or by assigning automata ("changes", the newest 100).
    plain_model_
        `Model` of the chosen epoch alone, without bank and with the votes of training. Prune this one for a
        board, where bank and fitted votes bring nothing.
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
        half against it. Those of the bank are not here. Literals are the Booleans, then their negations.
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
        data: 100 clauses, T 15, s 5, exclusion after every epoch, 10 bins and 50 epochs. In both the epoch
        with the best validation accuracy is kept, there is no bank, and votes stay as they are trained.

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
        machine alone, without bank and with the votes of training. While a Dask client is the default one
        (`ethereal.cluster.connect`, `ethereal.cluster.start`, or `distributed.Client`), the classes are
        trained by its workers, to the same bits.

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
        fitting = self._start_fitting(data, eval_set, validation_set)
        fitting.on_epoch = on_epoch
        epochs = usual_epochs(len(self.classes_)) if self.epochs is None else self.epochs
        if checkpoint is not None:
            watch = fitting.watch
            parts = fitting.rows, watch.validation, fitting.visits, watch.weights
            kept = Checkpoint(checkpoint, identity(identifying(self.get_params(deep=False)), *parts))
            fitting.look_at(kept, epochs, resume)
        try:
            fitting.run(epochs, count_threads(self.n_jobs), self.verbose)
        finally:
            if fitting.kept is not None:
                self._clock = after_fit(self._training.epochs_done, fitting.rows)
                self._used = recorded(self.get_params(deep=False), unused=("epoch_rows",))
                self._temperature = fitting.temperature
                self._keep(fitting.kept)
                if self.shorten:
                    self.model_ = self.plain_model_ = shorten(self.model_, data.array)
        self._improve(fitting, data)
        return self

    def _improve(self, fitting: Fitting, data: TrainingData) -> None:
        """Add the bank and choose the votes, after the machine's last epoch."""
        n_noise = noise_clauses(self.noise_clauses, fitting.training.parameters["n_clauses"])
        if n_noise == 0 and not self.refit_votes:
            return
        options = {"n_threads": count_threads(self.n_jobs), "verbose": self.verbose}
        better = improve(self.plain_model_, fitting, n_noise, refit=self.refit_votes, **options)
        self.model_ = shorten(better, data.array) if self.shorten else better

    @unless_shortened
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
        the newest automata, and is made when it is asked for. There is no bank for noise, and the votes
        stay as they are trained.

        An exclusion comes after `exclude_every` epochs, and an epoch is a pass over the training rows. It is
        over when a call brings the same rows as the call that it began with, in any order. So calls with the
        whole training set give the bits of `fit` with `validation_fraction=0`, and batches that come in turn
        have one exclusion per turn. A stream whose rows never come again has no exclusion, unless
        `epoch_rows` says how many rows make an epoch. Take many more rows than a call has, because excluded
        literals must be learnt anew.

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
            own = self.booleanizer, data.array, getattr(self, "feature_names_in_", None)
            self.booleanizer_ = fit_booleanizer(*own, categories=data.categories)
        rows = pack(data.array, data.codes, self.booleanizer_)
        visits = data.visits()
        if first:
            self._seed = usable_seed(self.random_state)
            self._start_training(rows)
        else:
            self._take_changes()
        clock, exclude = self._clock.call(rows, self.epoch_rows, self.exclude_every)
        threads = count_threads(self.n_jobs)
        step = self._training.epoch(rows, visits, exclude, Watch(), threads, self._rule)
        self._clock = clock
        self.history_ += step.records
        del self.history_[:-MAX_RECORDS]
        self._used = recorded(self.get_params(deep=False), unused=ONLY_IN_FIT)
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
        own = {"accuracy": accuracy, "answered": answered, "categories": categories}
        self.model_, self.calibration_ = calibrate(self, X, y, groups, **own)
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
