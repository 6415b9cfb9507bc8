"""Where trials are kept: an Optuna study, in memory or in any storage that Optuna can use."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ethereal.base.atomic import only_one
from ethereal.base.package import lacks
from ethereal.tuning.footprint import Footprint
from ethereal.tuning.machines import Setup, Space

if TYPE_CHECKING:
    from ethereal.tuning.search import Outcome, Trial

_SQLITE = "sqlite:///"
STUDY = "tune"  # name of the first study in a storage
_FINGERPRINT, _BATCH = "ethereal", "batch"  # user attributes of the study and of a batch's last trial
_DIRECTIONS = ("maximize", "minimize", "minimize")  # accuracy, bytes of flash, instructions per row


@dataclass(frozen=True)
class Proposal:
    """What to try next. It is stored before it is tried, so that an interrupted search finishes its batch."""

    setup: Setup
    floor: float | None  # accuracy after a quarter of the epochs below which it is hopeless
    trial: Any  # Optuna's


class Storage:
    """An Optuna study. One of other data, another budget or another program is refused."""

    def __init__(
        self,
        where: str | os.PathLike[str] | None,
        name: str | None,
        fingerprint: Mapping[str, str],
        seed: int,
    ) -> None:
        self._optuna = _import_optuna()
        self._seed = seed
        self._where = "memory" if where is None else str(where)
        self._file = _file_of(where)
        self._locks = ExitStack()  # on a file, while the search lasts
        with self._one_at_a_time():
            self.name = self._own_name(where, dict(fingerprint)) if name is None else name
            self._hold()
            try:
                self._study = self._open(where, self.name)
                with self._errors_named():
                    self._check(self.name, dict(fingerprint))
                    self._unfinished = self._find_unfinished()
            except BaseException:
                self.close()
                raise
        done = self._states.COMPLETE, self._states.PRUNED
        self.trials: tuple[Trial, ...] = tuple(
            _trial(i, t.user_attrs["outcome"])
            for i, t in enumerate(self._study.get_trials(deepcopy=False, states=done))
        )

    @contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        """Wait while another search opens the same file, because both would make its tables."""
        file = self._file
        with nullcontext() if file is None else only_one(file.with_name(f".{file.name}.opening")):
            yield

    def _hold(self) -> None:
        """Keep the study for this search until `close`, because two would finish each other's trials."""
        if self._file is None:
            return
        study = "".join(c if c.isalnum() else "_" for c in self.name)
        try:
            lock = self._file.with_name(f".{self._file.name}.{study}.lock")
            self._locks.enter_context(only_one(lock, wait=False))
        except BlockingIOError:
            raise ValueError(
                f"storage {self._where}: another search is at work on the study {self.name!r} there. Wait "
                "until it ends. Or give another storage= or another study=."
            ) from None

    def close(self) -> None:
        """Let other searches have the study."""
        self._locks.close()

    @property
    def _states(self) -> Any:
        return self._optuna.trial.TrialState

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
        with self._errors_named():
            return self._propose(space, count, floor)

    def _propose(self, space: Space, count: int, floor: float | None) -> list[Proposal]:
        starts, proposals = space.starts(), []
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

    def tell(self, proposal: Proposal, outcome: Outcome) -> None:
        """Keep the outcome of a proposal."""
        trial = proposal.trial
        excess = float(min(outcome.excess, 1e9))  # JSON has no infinity
        names = "accuracy", "includes", "clauses", "early", "rows", "cost"
        record = {name: getattr(outcome, name) for name in names}
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
        self.trials = (*self.trials, _trial(len(self.trials), record))

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        """Name the storage in errors such as a full disk or a lost connection."""
        try:
            yield
        except Exception as error:
            if not _is_the_storages(error):
                raise
            first = _first_line(error.__cause__ or error)
            raise OSError(
                f"storage {self._where} cannot be written ({first}). Finished trials are kept there. Repeat "
                "the same search to continue from them."
            ) from error

    def _sampler(self, n: int) -> Any:
        return self._optuna.samplers.TPESampler(
            seed=(self._seed * 1_000_003 + n) % 2**32,
            n_startup_trials=12,
            constant_liar=True,  # so that the proposals of a batch differ
        )

    def _own_name(self, where: str | os.PathLike[str] | None, fingerprint: dict[str, str]) -> str:
        """Return the name of this search's study: tune, or tune-2, ... if other searches have the name."""
        if where is None:
            return STUDY
        with self._opened():
            url = _url(where)
            others = set(self._optuna.get_all_study_names(storage=url))
            for name in itertools.chain([STUDY], (f"{STUDY}-{n}" for n in itertools.count(2))):
                if name not in others:
                    return name
                study = self._optuna.load_study(study_name=name, storage=url)
                if study.user_attrs.get(_FINGERPRINT) == fingerprint:
                    return name
        raise AssertionError  # there is no last number

    def _open(self, where: str | os.PathLike[str] | None, name: str) -> Any:
        with self._opened():
            return self._optuna.create_study(
                storage=_url(where), study_name=name, directions=_DIRECTIONS, load_if_exists=True
            )

    @contextmanager
    def _opened(self) -> Iterator[None]:
        """Name the storage in the error if it cannot be opened."""
        try:
            yield
        except Exception as error:
            if not _is_the_storages(error) and not isinstance(error, (ValueError, OSError, ImportError)):
                raise
            raise ValueError(
                f"storage {self._where} cannot be used ({_first_line(error)}). Give the path of a new file, "
                "or an Optuna storage URL."
            ) from error

    def _check(self, name: str, fingerprint: dict[str, str]) -> None:
        kept = self._study.user_attrs.get(_FINGERPRINT)
        if kept is None and not self._study.get_trials(deepcopy=False):
            directions = [d.name.lower() for d in self._study.directions]
            if directions == list(_DIRECTIONS):
                self._study.set_user_attr(_FINGERPRINT, fingerprint)
                return
        if kept == fingerprint:
            return
        if isinstance(kept, dict):
            why = "with other " + " and ".join(k for k, v in fingerprint.items() if kept.get(k) != v)
        else:
            why = "by another program"
        raise ValueError(
            f"storage {self._where}: the study {name!r} there was written by another study, {why}. "
            "Give another storage= or another study=."
        )


def _url(where: str | os.PathLike[str] | None) -> str | None:
    """Return Optuna's name of a storage, which is a URL or the path of an SQLite file."""
    url = None if where is None else str(where)
    return url if url is None or "://" in url else f"{_SQLITE}{os.path.abspath(url)}"


def _file_of(where: str | os.PathLike[str] | None) -> Path | None:
    """Return the file of a storage, None for one in memory or on a server."""
    url = _url(where) or ""
    name = url.removeprefix(_SQLITE)
    return Path(name) if url.startswith(_SQLITE) and name and ":" not in name and "?" not in name else None


def _trial(number: int, record: dict[str, Any]) -> Trial:
    from ethereal.tuning.search import Trial

    took = None if record["footprint"] is None else Footprint(**record["footprint"])
    return Trial(number, **{**record, "setup": _setup(record["setup"]), "footprint": took})


def _setup(record: Mapping[str, Any]) -> Setup:
    return Setup(**{**record, "bins": tuple(record["bins"]), "encodings": tuple(record["encodings"])})


def _is_the_storages(error: Exception) -> bool:
    return type(error).__module__.startswith(("sqlalchemy", "optuna", "redis", "grpc"))


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
