"""Where trials are kept: an Optuna study, in memory or in any storage that Optuna can use."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ethereal.base.atomic import only_one
from ethereal.base.package import lacks
from ethereal.tuning.footprint import Footprint
from ethereal.tuning.machines import Setup, Space

_SQLITE = "sqlite:///"
STUDY = "tune"  # name of the first study in a storage
_FINGERPRINT, _BATCH = "ethereal", "batch"  # user attributes of the study and of a batch's last trial
_DIRECTIONS = ("maximize", "minimize", "minimize")  # accuracy, bytes of flash, instructions per row


@dataclass(frozen=True)
class Result:
    """What a trial found, as it is kept."""

    accuracy: float  # on validation rows, mean over the folds, or that when it was stopped
    early: float  # validation accuracy of the machine after a quarter of the epochs, first fold
    footprint: Footprint | None = None  # None if it was stopped
    excess: float = 0.0  # how many times the tightest bound is used
    includes: int = 0
    clauses: int = 0
    rows: int = 0  # that it was validated on, in all folds, 0 if unknown
    cost: float = 0.0  # see `Budget.cost`

    @property
    def fits(self) -> bool:
        """Whether the model keeps the budget."""
        return self.footprint is not None and self.excess <= 1


@dataclass(frozen=True, kw_only=True)
class Trial(Result):
    """A finished trial."""

    number: int
    setup: Setup

    @classmethod
    def of(cls, number: int, record: dict[str, Any]) -> Trial:
        """Return the trial of a record in the storage."""
        took = None if record["footprint"] is None else Footprint(**record["footprint"])
        return cls(number=number, **{**record, "setup": _setup(record["setup"]), "footprint": took})


@dataclass(frozen=True)
class Proposal:
    """What to try next. It is stored before it is tried, so that an interrupted search finishes its batch."""

    setup: Setup
    floor: float | None  # accuracy after a quarter of the epochs below which it is hopeless
    trial: Any  # Optuna's


class Storage:
    """An Optuna study. One of other data, another budget or another program is refused."""

    def __init__(
        self, where: str | os.PathLike[str] | None, name: str | None, fingerprint: dict[str, str], seed: int
    ) -> None:
        self._optuna, self._seed = _import_optuna(), seed
        self._states = self._optuna.trial.TrialState
        self._where = "memory" if where is None else str(where)
        self._url: str | None = None  # Optuna's name of the storage, and its file if it is one
        self._file: Path | None = None
        if where is not None:
            self._url = self._where if "://" in self._where else f"{_SQLITE}{os.path.abspath(self._where)}"
            path = self._url.removeprefix(_SQLITE)
            if self._url.startswith(_SQLITE) and path and ":" not in path and "?" not in path:
                self._file = Path(path)
        file, self._locks = self._file, ExitStack()  # the locks are on a file, while the search lasts
        # Another search waits that opens the same file, because both would make its tables.
        with nullcontext() if file is None else only_one(file.with_name(f".{file.name}.opening")):
            self.name = self._own_name(fingerprint) if name is None else name
            self._hold()
            try:
                with self._errors_named(opening=True):
                    self._study = self._optuna.create_study(
                        storage=self._url, study_name=self.name, directions=_DIRECTIONS, load_if_exists=True
                    )
                with self._errors_named():
                    self._check(fingerprint)
                    self._unfinished = self._find_unfinished()
            except BaseException:
                self.close()
                raise
        done = self._study.get_trials(deepcopy=False, states=(self._states.COMPLETE, self._states.PRUNED))
        self.trials = tuple(Trial.of(i, t.user_attrs["outcome"]) for i, t in enumerate(done))

    def _hold(self) -> None:
        """Keep the study for this search until `close`, because two would finish each other's trials."""
        if self._file is None:
            return
        study = "".join(c if c.isalnum() else "_" for c in self.name)
        lock = self._file.with_name(f".{self._file.name}.{study}.lock")
        try:
            self._locks.enter_context(only_one(lock, wait=False))
        except BlockingIOError:
            raise ValueError(
                f"storage {self._where}: another search is at work on the study {self.name!r} there. Wait "
                "until it ends. Or give another storage= or another study=."
            ) from None

    def close(self) -> None:
        """Let other searches have the study."""
        self._locks.close()

    def _find_unfinished(self) -> list[Proposal]:
        """Return the rest of an interrupted batch. A batch that was not proposed as a whole is dropped."""
        while self._study.get_trials(deepcopy=False, states=(self._states.WAITING,)):
            self._study.ask()  # takes the waiting one
        running = self._study.get_trials(deepcopy=False, states=(self._states.RUNNING,))
        if not running or _BATCH not in running[-1].user_attrs:
            for trial in running:
                self._study.tell(trial.number, state=self._states.FAIL)
            return []
        batch, again = running[-1].user_attrs[_BATCH], self._optuna.trial.Trial
        return [
            Proposal(_setup(batch["setups"][str(t.number)]), batch["floor"], again(self._study, t._trial_id))
            for t in running
        ]

    def ask(self, space: Space, count: int, floor: float | None) -> list[Proposal]:
        """Return at most `count` proposals: the rest of an interrupted batch, or new ones."""
        if self._unfinished:
            proposals, self._unfinished = self._unfinished[:count], self._unfinished[count:]
            return proposals
        starts, proposals = space.starts(), []
        with self._errors_named():
            for n in range(len(self.trials), len(self.trials) + count):
                self._study.sampler = self._sampler(n)
                if n < len(starts):
                    self._study.enqueue_trial(starts[n])
                trial = self._study.ask()
                proposals.append(Proposal(space.ask(trial), floor, trial))
            # One write, at the last trial, so that the batch is proposed as a whole or not at all.
            setups = {str(p.trial.number): asdict(p.setup) for p in proposals}
            proposals[-1].trial.set_user_attr(_BATCH, {"setups": setups, "floor": floor})
        return proposals

    def tell(self, proposal: Proposal, outcome: Result) -> None:
        """Keep the outcome of a proposal."""
        trial = proposal.trial
        excess = float(min(outcome.excess, 1e9))  # JSON has no infinity
        record = {each.name: getattr(outcome, each.name) for each in fields(Result)}
        took = None if outcome.footprint is None else asdict(outcome.footprint)
        record |= {"setup": asdict(proposal.setup), "footprint": took, "excess": excess}
        with self._errors_named():
            trial.set_user_attr("outcome", record)
            if not trial.constraints:  # else an interrupted search has set it
                trial.set_constraint("budget", excess - 1.0)  # 0 or less if the budget is kept
            if outcome.footprint is None:
                self._study.tell(trial, state=self._states.PRUNED)
            else:
                values = outcome.accuracy, outcome.footprint.bytes, outcome.footprint.instructions
                self._study.tell(trial, values)
        self.trials = (*self.trials, Trial.of(len(self.trials), record))

    @contextmanager
    def _errors_named(self, opening: bool = False) -> Iterator[None]:
        """Name the storage in errors such as a full disk, a lost connection, or a file of something else."""
        try:
            yield
        except Exception as error:
            is_its_own = type(error).__module__.startswith(("sqlalchemy", "optuna", "redis", "grpc"))
            if opening and (is_its_own or isinstance(error, (ValueError, OSError, ImportError))):
                raise ValueError(
                    f"storage {self._where} cannot be used ({_first_line(error)}). Give the path of a new "
                    "file, or an Optuna storage URL."
                ) from error
            if not is_its_own:
                raise
            first = _first_line(error.__cause__ or error)
            raise OSError(
                f"storage {self._where} cannot be written ({first}). Finished trials are kept there. Repeat "
                "the same search to continue from them."
            ) from error

    def _sampler(self, n: int) -> Any:
        # The constant liar makes the proposals of a batch differ.
        seed = (self._seed * 1_000_003 + n) % 2**32
        return self._optuna.samplers.TPESampler(seed=seed, n_startup_trials=12, constant_liar=True)

    def _own_name(self, fingerprint: Mapping[str, str]) -> str:
        """Return the name of this search's study: tune, or tune-2, ... if other searches have the name."""
        if self._url is None:
            return STUDY
        names = itertools.chain([STUDY], (f"{STUDY}-{n}" for n in itertools.count(2)))
        with self._errors_named(opening=True):
            others = set(self._optuna.get_all_study_names(storage=self._url))

            def is_free(name: str) -> bool:
                if name not in others:
                    return True
                study = self._optuna.load_study(study_name=name, storage=self._url)
                return bool(study.user_attrs.get(_FINGERPRINT) == fingerprint)

            return next(filter(is_free, names))

    def _check(self, fingerprint: Mapping[str, str]) -> None:
        """Refuse a study of another search. A new one is marked as this search's."""
        kept = self._study.user_attrs.get(_FINGERPRINT)
        directions = tuple(d.name.lower() for d in self._study.directions)
        if kept is None and directions == _DIRECTIONS and not self._study.get_trials(deepcopy=False):
            self._study.set_user_attr(_FINGERPRINT, fingerprint)
            return
        if kept == fingerprint:
            return
        why = "by another program"
        if isinstance(kept, dict):
            why = "with other " + " and ".join(k for k, v in fingerprint.items() if kept.get(k) != v)
        raise ValueError(
            f"storage {self._where}: the study {self.name!r} there was written by another study, {why}. "
            "Give another storage= or another study=."
        )


def _setup(record: Mapping[str, Any]) -> Setup:
    return Setup(**{**record, "bins": tuple(record["bins"]), "encodings": tuple(record["encodings"])})


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or repr(error)).splitlines()[0]


def _import_optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise ModuleNotFoundError(lacks("Tuning", "Optuna", "tune")) from error
    import warnings

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    return optuna
