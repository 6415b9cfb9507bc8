"""One machine in training: the native automata, exclusion, a record of every step, and the choice of one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal import _native
from ethereal.features.packing import PackedRows
from ethereal.model.clauses import Clauses, plain_votes
from ethereal.model.engine import engine_of
from ethereal.model.patch import Patch
from ethereal.train.machine import Machine
from ethereal.train.rules import Rule, excluded

_MAX_CHANGES = 100  # that are remembered, because a schedule of T may change it at every call


@dataclass(frozen=True)
class Snapshot:
    """The clauses at one moment of training."""

    clauses: Clauses
    accuracy: float = 0.0  # on validation rows
    epoch: int = 0  # epochs done by then
    states: NDArray[np.uint8] | None = None  # automata, if they are kept

    @property
    def n_includes(self) -> int:
        """Includes of all clauses."""
        return len(self.clauses.literals)


@dataclass
class SnapshotSelection:
    """Keeps the best snapshot seen so far.

    Of the snapshots whose validation accuracy is within `tolerance` of the best, the one with the fewest
    includes is kept. The more accurate one wins a tie, then the earlier one. Without a tolerance the last
    wins.

    >>> choice = SnapshotSelection(tolerance=0.01)
    >>> for accuracy, includes in [(0.90, 50), (0.95, 90), (0.945, 40), (0.93, 10)]:
    ...     clauses = Clauses(np.arange(includes), [0, includes], [[1]], n_booleans=50)
    ...     choice.offer(Snapshot(clauses, accuracy))
    >>> choice.kept.accuracy
    0.945
    """

    tolerance: float | None
    candidates: list[Snapshot] = field(default_factory=list)  # that may still be chosen

    def offer(self, snapshot: Snapshot) -> None:
        """Consider a new snapshot, and drop those that can no longer be chosen."""
        if self.tolerance is None:
            self.candidates = [snapshot]
            return
        best = max(snapshot.accuracy, max((c.accuracy for c in self.candidates), default=0.0))
        alive = [c for c in self.candidates if c.accuracy >= best - self.tolerance]
        if snapshot.accuracy >= best - self.tolerance and not any(_covers(c, snapshot) for c in alive):
            alive = [c for c in alive if not _covers(snapshot, c)] + [snapshot]
        self.candidates = alive

    @property
    def kept(self) -> Snapshot | None:
        """The choice so far, None before the first offer."""
        return min(self.candidates, key=lambda c: (c.n_includes, -c.accuracy), default=None)


def _covers(a: Snapshot, b: Snapshot) -> bool:
    """Return whether `a` is at least as accurate as `b` and at most as large."""
    return a.accuracy >= b.accuracy and a.n_includes <= b.n_includes


@dataclass(frozen=True)
class Feedback:
    """How automata learn. It may change from one epoch to the next."""

    T: int
    s: float
    boost_true_positive: bool
    literal_budget: int | None

    def native(self) -> dict[str, Any]:
        """Return the fields for the native trainer, which does not know None."""
        budget = 2**31 - 1 if self.literal_budget is None else int(self.literal_budget)
        return {**asdict(self), "literal_budget": budget}


@dataclass(frozen=True)
class Watch:
    """Rows whose accuracy is recorded after every step."""

    validation: PackedRows | None = None
    weights: NDArray[np.float64] | None = None  # of the validation rows, None if all are equal
    evaluation: PackedRows | None = None
    train: PackedRows | None = None


@dataclass
class Step:
    """What an epoch, and the exclusion before it when one was due, left behind."""

    records: list[dict[str, Any]] = field(default_factory=list)
    snapshot: Snapshot | None = None  # after the epoch
    interrupt: KeyboardInterrupt | None = None  # came during the epoch, which was finished

    @property
    def trained(self) -> dict[str, Any]:
        """The record of the epoch."""
        return next(record for record in self.records if record["phase"] == "train")


class Training:
    """The automata of all classes. Pickled at any moment, they continue with the same bits."""

    def __init__(
        self,
        *,
        n_classes: int,
        n_clauses: int,
        n_booleans: int,
        feedback: Feedback,
        seed: int,
        random_start: bool = False,
        patch: Patch | None = None,
        machine: Machine | None = None,
    ) -> None:
        self.machine = Machine() if machine is None else machine
        shape = {"n_classes": int(n_classes), "n_clauses": int(n_clauses), "n_booleans": int(n_booleans)}
        start = {"seed": int(seed), "random_start": bool(random_start)}
        anywhere = {} if patch is None else {"patch": patch.native()}
        # Those of the native trainer.
        kind = {**feedback.native(), **anywhere, **self.machine.native()}
        self.parameters: dict[str, Any] = {**shape, **start, **kind}
        self.patch = patch  # None where clauses look at whole rows
        self.feedback = feedback
        self.changes: list[dict[str, Any]] = []  # what was changed from outside, the newest
        self._trainer = _native.Trainer(**self.parameters)
        self._plain_votes = plain_votes(n_classes, n_clauses)

    @property
    def votes(self) -> NDArray[np.int32]:
        """Votes of all clauses, clauses x classes."""
        learned = self.learned_votes
        if learned is None:
            return self._plain_votes
        if self.machine.coalesced:
            return np.ascontiguousarray(learned.T)
        votes = np.zeros_like(self._plain_votes)
        votes[np.arange(len(votes)), np.repeat(np.arange(len(learned)), learned.shape[1])] = learned.ravel()
        return votes

    @property
    def learned_votes(self) -> NDArray[np.int32] | None:
        """Votes as the trainer has them, classes x clauses, None where they do not learn."""
        return self._trainer.votes if self.machine.has_votes else None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Banks, clauses and literals. There is a bank per class, or one that all classes share."""
        sizes = self.parameters
        n_banks = 1 if self.machine.coalesced else sizes["n_classes"]
        return n_banks, sizes["n_clauses"], 2 * sizes["n_booleans"]

    @property
    def learning(self) -> dict[str, Any]:
        """Parameters of the estimator as the native trainer has them."""
        return {"n_clauses": self.parameters["n_clauses"], **asdict(self.feedback)}

    @property
    def seed(self) -> int:
        """Seed of every draw."""
        return int(self.parameters["seed"])

    @property
    def epochs_done(self) -> int:
        """Whole epochs so far."""
        return self._trainer.epochs_done

    @property
    def states(self) -> NDArray[np.uint8]:
        """Automata, classes x clauses x literals, 0..255, as a copy."""
        return self._trainer.states

    @states.setter
    def states(self, states: NDArray[np.uint8]) -> None:
        self._trainer.states = states

    @property
    def clauses(self) -> Clauses:
        """Included literals as they are now."""
        return self.voting(included(self._trainer, self.votes, self.parameters["n_booleans"]))

    def voting(self, clauses: Clauses) -> Clauses:
        """Return clauses from here, a file or a worker with their patch, and their votes or those of now."""
        kind = clauses.n_booleans, clauses.meaning, self.patch
        votes = clauses.weights if clauses.weights.shape[1] else self.votes
        return Clauses._trusted(clauses.literals, clauses.offsets, votes, *kind)

    def learn_by(self, feedback: Feedback) -> None:
        """Continue with other feedback from the same automata."""
        if feedback == self.feedback:
            return
        longest = int(self.clauses.lengths.max(initial=0))
        if feedback.literal_budget is not None and longest > feedback.literal_budget:
            raise ValueError(
                f"literal_budget is {feedback.literal_budget}, but a clause already includes {longest} "
                f"literals. Take at least {longest}, or train from the start."
            )
        old, new = asdict(self.feedback), asdict(feedback)
        self.note({name: new[name] for name in new if new[name] != old[name]})
        position = self.states, self.epochs_done, self.learned_votes
        self.parameters.update(feedback.native())
        self.feedback = feedback
        self._trainer = _native.Trainer(**self.parameters)
        self.resume(*position)

    def note(self, change: dict[str, Any]) -> None:
        """Remember what was changed from outside, and after how many epochs."""
        self.changes = [*self.changes, {"after_epoch": self.epochs_done, **change}][-_MAX_CHANGES:]

    def note_assigned(self, epoch: int | None = None) -> None:
        """Remember that automata were assigned from outside, after an epoch or now."""
        self.note({"ta_states_": "assigned"} | ({} if epoch is None else {"after_epoch": epoch}))

    def epoch(
        self,
        rows: PackedRows,
        visits: NDArray[np.float64] | None,
        exclude: bool,
        watch: Watch,
        n_threads: int,
        rule: Rule | None = None,
        seen: Callable[[Step], None] | None = None,
    ) -> Step:
        """Train one epoch, after an exclusion when one is wanted.

        Ctrl-C undoes a long epoch together with the exclusion before it. A short epoch is finished first.
        """
        step, done = Step(), self.epochs_done
        # The native trainer remembers its own rule's exclusions only.
        before = self.states if exclude and (rule is not None or seen is not None) else None
        start = time.perf_counter()
        try:
            if exclude:
                self.exclude(watch, step, n_threads, rule, seen)
                start = time.perf_counter()
            self._trainer.epoch(rows.words, rows.classes, visits, n_threads)
        except BaseException as error:
            if self.epochs_done == done:
                self._trainer.undo_exclusion()
                if before is not None:
                    self.resume(before, done)
            if self.epochs_done == done or not isinstance(error, KeyboardInterrupt):
                raise
            step.interrupt = error
        seconds = time.perf_counter() - start
        try:
            self.record("train", done + 1, seconds, watch, step, n_threads)
        except KeyboardInterrupt as interrupt:  # the epoch is done, so record it
            step.interrupt = interrupt
            self.record("train", done + 1, seconds, watch, step, n_threads)
        return step

    def exclude(
        self, watch: Watch, step: Step, n_threads: int, rule: Rule | None, seen: Callable[[Step], None] | None
    ) -> None:
        """Take literals out by a rule, None for the paper's, record it, and show the step to `seen`."""
        start = time.perf_counter()
        if rule is None:
            self._trainer.exclude()
        else:
            self.states = excluded(self.states, rule)
        self.record("exclude", self.epochs_done, time.perf_counter() - start, watch, step, n_threads)
        if seen is not None:
            seen(step)

    def resume(
        self, states: NDArray[np.uint8], epochs_done: int, votes: NDArray[np.int32] | None = None
    ) -> None:
        """Put the automata where another training left them after `epochs_done` epochs, and its votes."""
        self._trainer.states = states
        self._trainer.epochs_done = epochs_done
        if votes is not None:
            self._trainer.votes = votes

    def snapshot(self) -> Snapshot:
        """Return the clauses as they are now."""
        return Snapshot(self.clauses, epoch=self.epochs_done)

    def record(
        self,
        phase: str,
        epoch: int,
        seconds: float,
        watch: Watch,
        step: Step,
        n_threads: int,
        clauses: Clauses | None = None,
    ) -> None:
        """Add a record and a snapshot of `clauses`, or of those of now, to a step."""
        clauses = self.clauses if clauses is None else self.voting(clauses)
        validation, evaluation, train = _accuracies(clauses, watch, n_threads)
        step.snapshot = Snapshot(clauses, validation or 0.0, epoch)
        n_includes = len(clauses.literals)
        size = {"includes": n_includes, "includes_per_clause": n_includes / len(clauses)}
        known = {"train_accuracy": train, "validation_accuracy": validation, "eval_accuracy": evaluation}
        times = {"seconds": seconds, "kept": False}
        step.records.append({"epoch": epoch, "phase": phase, **size, **known, **times})

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name != "_trainer"}
        return {**state, "_position": (self.states, self.epochs_done, self.learned_votes)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        position = state.pop("_position")
        vars(self).update(state)
        self._trainer = _native.Trainer(**self.parameters)
        self.resume(*position)


def excludes_after(done: int, exclude_every: int | None) -> bool:
    """Return whether an exclusion comes between `done` epochs and the next. Training ends on an epoch."""
    return exclude_every is not None and done > 0 and done % exclude_every == 0


def mark_kept(history: list[dict[str, Any]], epoch: int | None) -> None:
    """Mark only the record of the epoch whose model is kept. None means that no record is of that model."""
    for record in reversed(history):  # in a stream both are among the last
        if record["kept"]:
            record["kept"] = False
            break
    for record in reversed(history):
        if record["epoch"] == epoch and record["phase"] == "train":
            record["kept"] = True
            break


def included(trainer: _native.Trainer, votes: NDArray[np.int32], n_booleans: int) -> Clauses:
    """Return what a trainer includes now, as clauses with these votes."""
    return Clauses._trusted(*trainer.clauses(), votes, n_booleans)


def _accuracies(clauses: Clauses, watch: Watch, n_threads: int) -> list[float | None]:
    """Return the accuracy on validation, evaluation and training rows, or None without such rows."""
    watched = (watch.validation, watch.weights), (watch.evaluation, None), (watch.train, None)
    engine = None if all(rows is None for rows, _ in watched) else engine_of(clauses)
    accuracies: list[float | None] = [None] * len(watched)
    for i, (rows, weights) in enumerate(watched):
        if engine is not None and rows is not None:
            winners = np.empty(len(rows), dtype=np.int64)
            engine.run_packed(rows.words, winners, n_threads)
            accuracies[i] = float(np.average(winners == rows.classes, weights=weights))
    return accuracies


@dataclass(frozen=True)
class EpochClock:
    """Where a training stands within its epoch.

    An epoch is a pass over the training rows. It is over when the rows of its first call come again, in any
    order. A stream whose rows never come again has no epochs, unless the caller says how many rows make one.
    """

    epochs: int = 0  # that are over
    rows: int = 0  # seen in the epoch under way
    first: tuple[int, int] | None = None  # fingerprint of the call that began it, None before the first call
    from_fit: bool = False  # begun by `fit`, whose rows need not come again

    def call(
        self, rows: PackedRows, epoch_rows: int | None, exclude_every: int | None
    ) -> tuple[EpochClock, bool]:
        """Return the clock after a call with these rows, and whether an exclusion comes before the call."""
        mark = _fingerprint(rows)
        if self.first is None:
            return EpochClock(0, len(rows), mark), False
        # A single row may come again within a pass, so a call must show two classes to begin a pass.
        again = mark == self.first and bool((rows.classes != rows.classes[0]).any())
        is_over = again if epoch_rows is None else self.rows >= epoch_rows
        if not (is_over or self.from_fit):
            return replace(self, rows=self.rows + len(rows)), False
        clock = EpochClock(self.epochs + 1, len(rows), mark)
        # Other rows than those of `fit` may be too few to learn anew from.
        return clock, (again or not self.from_fit) and excludes_after(clock.epochs, exclude_every)


def after_fit(epochs: int, rows: PackedRows) -> EpochClock:
    """Return the clock after `fit` with `epochs` epochs over these rows."""
    return EpochClock(epochs - 1, len(rows), _fingerprint(rows), from_fit=True)


def _fingerprint(rows: PackedRows) -> tuple[int, int]:
    """Return a hash of rows and labels that does not depend on their order."""
    factors = _factors(rows.words.shape[1] + 1)
    marks = rows.words @ factors[1:] + rows.classes.astype(np.uint64) * factors[0]
    marks ^= marks >> np.uint64(32)
    marks *= factors[0]
    marks ^= marks >> np.uint64(29)
    return len(rows), int(marks.sum(dtype=np.uint64))


@lru_cache(maxsize=8)
def _factors(n: int) -> NDArray[np.uint64]:
    return np.random.default_rng(0).integers(2**64, size=n, dtype=np.uint64) | np.uint64(1)
