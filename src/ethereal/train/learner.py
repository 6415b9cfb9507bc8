"""What an estimator has learnt so far: automata, the kept model, and its provenance."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from functools import cache, cached_property, partial
from importlib.metadata import version
from typing import Any, Literal

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ethereal.base.calibration import expected_temperature
from ethereal.base.splits import hold_out_by_class
from ethereal.features.booleanizer import Booleanizer
from ethereal.features.packing import PackedRows, pack
from ethereal.features.window_features import WindowFeatures
from ethereal.model import Model
from ethereal.train.automata import Feedback, Snapshot, Training, Watch, mark_kept
from ethereal.train.data import TrainingData, fit_booleanizer, read_pair, validation_rows
from ethereal.train.fitting import Fitting
from ethereal.train.rules import Rule, checked_states, rule_name
from ethereal.train.stream import EpochClock

# These change neither the automata nor the choice of the epoch, or the model has them itself.
_NOT_RECORDED = ("booleanizer", "front_end", "random_state", "n_jobs", "verbose", "keep_states")


class LazyModel:
    """A model that is made at its first use, so that a stream of rows does not make one at every call."""

    def __init__(self, make: Callable[[], Model]) -> None:
        self._make = make

    @cached_property
    def model(self) -> Model:
        """The model, always the same one."""
        return self._make()

    @cached_property
    def tolerant(self) -> Model:
        """The same model, which also answers rows with missing values where training had none."""
        return self.model.ignoring_missing()

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_model, (self.model,)


def _of_model(model: Model) -> LazyModel:
    """Wrap a model."""
    return LazyModel(lambda: model)


class Learner:
    """The automata of an estimator and the model that is kept of them."""

    n_clauses: int
    T: int | None
    s: float
    boost_true_positive: bool
    literal_budget: int | None
    booleanizer: Any
    front_end: Any
    random_state: Any
    exclude_every: int | None
    exclude: Literal["shared"] | Rule
    init: Literal["middle", "random"] | NDArray[np.uint8]
    validation_fraction: float
    accuracy_tolerance: float
    keep: str
    patience: int | None
    keep_states: bool
    class_weight: Any
    verbose: int

    classes_: NDArray[Any]
    history_: list[dict[str, Any]]
    best_epoch_: int
    booleanizer_: Booleanizer | None
    front_end_: WindowFeatures
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    _training: Training
    _clock: EpochClock  # of `partial_fit`
    _seed: Any  # random state of the training
    _used: dict[str, Any]  # parameters of the last training
    _temperature: float  # of the next model
    _lazy: LazyModel  # what predicts
    _plain: LazyModel  # the machine alone
    _best_states: NDArray[np.uint8] | None

    @property
    def model_(self) -> Model:
        """What predicts: the model of the chosen epoch with its bank and the votes that are best."""
        check_is_fitted(self, "_lazy")
        return self._lazy.model

    @model_.setter
    def model_(self, model: Model) -> None:
        self._lazy = _of_model(model)

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

    @plain_model_.setter
    def plain_model_(self, model: Model) -> None:
        self._plain = _of_model(model)

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

    def _start_fitting(self, data: TrainingData, eval_set: Any, validation_set: Any) -> Fitting:
        """Return a new machine with its rows to learn from and rows to choose by."""
        self._seed = usable_seed(self.random_state)
        self.classes_ = data.classes
        learn, held_out = None, None
        if validation_set is None:
            rng = check_random_state(self._seed)
            learn, held_out = hold_out_by_class(data.codes, self.validation_fraction, rng)
        self.booleanizer_ = fit_booleanizer(
            self.booleanizer, data.array, getattr(self, "feature_names_in_", None), learn, data.categories
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
            tolerance=self.accuracy_tolerance if validation is not None and self._keeps_best else None,
            history=self.history_,
            keep_states=self.keep_states,
            patience=self.patience,
            rule=self._rule,
        )

    @property
    def _keeps_best(self) -> bool:
        """Whether validation rows choose the epoch, which patience and a tolerance ask for, too."""
        return self.keep == "best" or self.patience is not None or self.accuracy_tolerance > 0

    @property
    def _rule(self) -> Rule | None:
        """The rule of exclusion, None for the paper's."""
        return None if isinstance(self.exclude, str) else self.exclude

    def _start_training(self, rows: PackedRows) -> None:
        seed = check_random_state(self._seed).randint(np.iinfo(np.int64).max, dtype=np.int64)
        self._training = Training(
            n_classes=len(self.classes_),
            n_clauses=self.n_clauses,
            n_booleans=rows.n_booleans,
            feedback=self._feedback(),
            seed=int(seed),
            random_start=isinstance(self.init, str) and self.init == "random",
        )
        if not isinstance(self.init, str):
            self._training.states = checked_states("init", self.init, self._training)
        self._boolean_rates = rows.rates
        self._typical_rows = rows.sample()
        self._given_booleanizer = _described(self.booleanizer)
        self._given_init = start_name(self.init)
        self._clock = EpochClock()
        self._temperature = expected_temperature(self._training.feedback.T)
        self.history_ = []

    def _feedback(self) -> Feedback:
        budget = None if self.literal_budget is None else int(self.literal_budget)
        T = usual_T(self.n_clauses) if self.T is None else int(self.T)
        return Feedback(T, float(self.s), bool(self.boost_true_positive), budget)

    def _keep(self, snapshot: Snapshot) -> None:
        """Keep the model of this snapshot. It is made at its first use."""
        names = getattr(self, "feature_names_in_", None)
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
            provenance=_provenance(self._training, self._used, self._seed, snapshot.epoch),
        )
        self._lazy = self._plain = LazyModel(make)

    def _take_changes(self) -> None:
        """Give changed parameters to the trainer, and refuse those that cannot change."""
        n_clauses = self._training.learning["n_clauses"]
        if n_clauses != self.n_clauses:
            raise ValueError(
                f"n_clauses is {self.n_clauses}, but this machine has {n_clauses} clauses per class. Set it "
                "back, or train a new estimator."
            )
        if self._given_booleanizer != _described(self.booleanizer):
            raise ValueError(
                "booleanizer was changed, but the automata belong to the thresholds of the first call. Set "
                "it back, or train a new estimator."
            )
        if self._given_init != start_name(self.init):
            raise ValueError(
                f"init is {start_name(self.init)!r}, but the automata have started as {self._given_init!r}. "
                "Set it back, or train a new estimator."
            )
        before = self._training.feedback.T
        self._training.learn_by(self._feedback())
        self._temperature *= self._training.feedback.T / before


def usual_T(n_clauses: int) -> int:
    """Return the vote margin that suits a number of clauses: the root of half of them.

    >>> usual_T(600), usual_T(1)
    (17, 1)
    """
    return max(1, round(math.sqrt(n_clauses / 2)))


def usual_epochs(n_classes: int) -> int:
    """Return the epochs that suit a number of classes. A class learns from fewer rows when there are many.

    >>> usual_epochs(2), usual_epochs(10), usual_epochs(100)
    (40, 100, 200)
    """
    return min(200, max(40, 10 * n_classes))


def recorded(parameters: dict[str, Any], unused: tuple[str, ...]) -> dict[str, Any]:
    """Return the parameters of an estimator for a model's provenance, without those that had no effect."""
    found = {name: value for name, value in parameters.items() if name not in (*_NOT_RECORDED, *unused)}
    if found["exclude_every"] is None:
        del found["exclude"]
    else:
        found["exclude"] = rule_name(found["exclude"])
    found["init"] = start_name(found["init"])
    if found["class_weight"] is not None:
        found["class_weight"] = str(found["class_weight"])
    return found


def start_name(init: Any) -> str:
    """Return what `init` says, or "given" for automata.

    >>> start_name("random"), start_name(np.zeros((2, 10, 4), np.uint8))
    ('random', 'given')
    """
    return init if isinstance(init, str) else "given"


def usable_seed(random_state: Any) -> Any:
    """Return a random state as it was given, and for None a seed that can be given again."""
    return int(check_random_state(None).randint(2**31)) if random_state is None else random_state


def _provenance(training: Training, parameters: dict[str, Any], seed: Any, epoch: int) -> dict[str, Any]:
    """Return how the model of an epoch was made. The trainer's own parameters replace the estimator's."""
    return {
        "parameters": {**parameters, **training.learning, "epochs": training.epochs_done},
        "seed": int(seed) if isinstance(seed, numbers.Integral) else None,  # None for a RandomState
        "epochs": training.epochs_done,
        "best_epoch": epoch,
        "ethereal": _version(),
        **({"changes": list(training.changes)} if training.changes else {}),
    }


@cache
def _version() -> str:
    return version("ethereal-tm")  # reads a file, which takes as long as a short epoch


def _described(booleanizer: Booleanizer | str | None) -> str | None:
    """Return a hash of a Booleanizer's parameters."""
    return joblib.hash(booleanizer.get_params()) if isinstance(booleanizer, Booleanizer) else booleanizer
