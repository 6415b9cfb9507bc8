"""One machine in training: the native automata, exclusion, and a record of every step."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal import _native
from ethereal.features.packing import PackedRows
from ethereal.model.clauses import Clauses, plain_votes
from ethereal.train.selection import Snapshot

_MAX_CHANGES = 100  # that are remembered: a schedule of T may change it at every call


@dataclass(frozen=True)
class Feedback:
    """What decides how automata learn; may change from one epoch to the next."""

    T: int
    s: float
    boost_true_positive: bool
    literal_budget: int | None

    def native(self) -> dict[str, Any]:
        """The same for the native trainer, which knows no None.

        >>> Feedback(5, 3.0, True, None).native()["literal_budget"] == 2**31 - 1
        True
        """
        budget = 2**31 - 1 if self.literal_budget is None else int(self.literal_budget)
        return {**asdict(self), "literal_budget": budget}


@dataclass(frozen=True)
class Watch:
    """Rows whose accuracy is recorded after every step."""

    validation: PackedRows | None = None
    weights: NDArray[np.float64] | None = None  # of the validation rows; None: all equal
    evaluation: PackedRows | None = None
    train: PackedRows | None = None


@dataclass
class Step:
    """What an epoch, and the exclusion before it when one was due, left behind."""

    records: list[dict[str, Any]] = field(default_factory=list)
    snapshot: Snapshot | None = None  # after the epoch
    interrupt: KeyboardInterrupt | None = None  # came during the epoch, which is whole all the same


class Training:
    """The automata of all classes; can be pickled at any moment and goes on with the same bits."""

    def __init__(
        self,
        *,
        n_classes: int,
        n_clauses: int,
        n_booleans: int,
        feedback: Feedback,
        seed: int,
    ) -> None:
        self._parameters = {
            "n_classes": int(n_classes),
            "n_clauses": int(n_clauses),
            "n_booleans": int(n_booleans),
            "seed": int(seed),
            **feedback.native(),
        }
        self.feedback = feedback
        self.changes: list[dict[str, Any]] = []  # what was changed from outside, the newest
        self._trainer = _native.Trainer(**self._parameters)  # type: ignore[arg-type]
        self.votes = plain_votes(n_classes, n_clauses)  # (classes * clauses) x classes

    @property
    def parameters(self) -> dict[str, Any]:
        """What the native trainer was made with."""
        return self._parameters

    @property
    def learning(self) -> dict[str, Any]:
        """The parameters of the estimator that the native trainer has, as it has them."""
        return {"n_clauses": self._parameters["n_clauses"], **asdict(self.feedback)}

    @property
    def seed(self) -> int:
        """Seed of every draw."""
        return int(self._parameters["seed"])

    @property
    def epochs_done(self) -> int:
        """Whole epochs so far."""
        return self._trainer.epochs_done

    @property
    def states(self) -> NDArray[np.uint8]:
        """Automata, classes x clauses x literals, 0..255; a copy."""
        return self._trainer.states

    @states.setter
    def states(self, states: NDArray[np.uint8]) -> None:
        self._trainer.states = states

    @property
    def clauses(self) -> Clauses:
        """Included literals as they are now."""
        return included(self._trainer, self.votes, self._parameters["n_booleans"])

    def learn_by(self, feedback: Feedback) -> None:
        """Go on with other feedback from the same automata."""
        if feedback == self.feedback:
            return
        longest = int(self.clauses.lengths.max(initial=0))
        if feedback.literal_budget is not None and longest > feedback.literal_budget:
            raise ValueError(
                f"literal_budget is {feedback.literal_budget}, but a clause already includes {longest} "
                f"literals; take at least {longest}, or train from the start"
            )
        old, new = asdict(self.feedback), asdict(feedback)
        self.note({name: new[name] for name in new if new[name] != old[name]})
        states, done = self.states, self.epochs_done
        self._parameters.update(feedback.native())
        self.feedback = feedback
        self._trainer = _native.Trainer(**self._parameters)
        self.resume(states, done)

    def note(self, change: dict[str, Any]) -> None:
        """Remember what was changed from outside, and after how many epochs."""
        self.changes = [*self.changes, {"after_epoch": self.epochs_done, **change}][-_MAX_CHANGES:]

    def epoch(
        self,
        rows: PackedRows,
        visits: NDArray[np.float64] | None,
        exclude: bool,
        watch: Watch,
        n_threads: int,
    ) -> Step:
        """Train one epoch, after an exclusion when one is wanted: it ends on training.

        Ctrl-C undoes a long epoch together with the exclusion before it; a short one is finished first.
        """
        step, done = Step(), self.epochs_done
        start = time.perf_counter()
        try:
            if exclude:
                self._trainer.exclude()
                self.record("exclude", done, time.perf_counter() - start, watch, step, n_threads)
                start = time.perf_counter()
            self._trainer.epoch(rows.words, rows.classes, visits, n_threads)
        except KeyboardInterrupt as interrupt:
            if self.epochs_done == done:
                self._trainer.undo_exclusion()
                raise
            step.interrupt = interrupt
        seconds = time.perf_counter() - start
        try:
            self.record("train", done + 1, seconds, watch, step, n_threads)
        except KeyboardInterrupt as interrupt:  # the epoch is done: so is its record
            step.interrupt = interrupt
            self.record("train", done + 1, seconds, watch, step, n_threads)
        return step

    def resume(self, states: NDArray[np.uint8], epochs_done: int) -> None:
        """Put the automata where another training left them after `epochs_done` epochs."""
        self._trainer.states = states
        self._trainer.epochs_done = epochs_done

    def snapshot(self) -> Snapshot:
        """The clauses as they are now."""
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
        """Count and judge the clauses (those of now, unless given) and add that to a step."""
        clauses = self.clauses if clauses is None else clauses.voting(self.votes)
        validation, evaluation, train = _accuracies(clauses, watch, n_threads)
        step.snapshot = Snapshot(clauses, validation or 0.0, epoch)
        step.records.append(
            {
                "epoch": epoch,
                "phase": phase,
                "includes": len(clauses.literals),
                "includes_per_clause": len(clauses.literals) / len(clauses),
                "train_accuracy": train,
                "validation_accuracy": validation,
                "eval_accuracy": evaluation,
                "seconds": seconds,
                "kept": False,
            }
        )

    def class_sums(self, snapshot: Snapshot, rows: PackedRows, n_threads: int) -> NDArray[np.int32]:
        """Votes of a snapshot's clauses, rows x classes."""
        sums = np.empty((len(rows), self.votes.shape[1]), dtype=np.int32)
        _engine(snapshot.clauses).run_packed(rows.words, sums, n_threads)
        return sums

    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self))
        trainer = state.pop("_trainer")
        return {**state, "_states": trainer.states, "_epochs_done": trainer.epochs_done}

    def __setstate__(self, state: dict[str, Any]) -> None:
        states, done = state.pop("_states"), state.pop("_epochs_done")
        vars(self).update(state)
        self._trainer = _native.Trainer(**self._parameters)  # type: ignore[arg-type]
        self.resume(states, done)


def excludes_after(done: int, exclude_every: int | None) -> bool:
    """Whether an exclusion comes between so many epochs and the next: never last, so it ends on training.

    >>> [done for done in range(8) if excludes_after(done, 3)]
    [3, 6]
    """
    return exclude_every is not None and done > 0 and done % exclude_every == 0


def mark_kept(history: list[dict[str, Any]], epoch: int | None) -> None:
    """Mark the record of the epoch whose model is kept, and no other; None: no record is of that model.

    >>> history = [{"epoch": e, "phase": "train", "kept": e == 1} for e in (1, 2)]
    >>> mark_kept(history, 2)
    >>> [record["kept"] for record in history]
    [False, True]
    """
    for record in reversed(history):  # in a stream both are among the last
        if record["kept"]:
            record["kept"] = False
            break
    for record in reversed(history):
        if record["epoch"] == epoch and record["phase"] == "train":
            record["kept"] = True
            break


def included(trainer: _native.Trainer, votes: NDArray[np.int32], n_booleans: int) -> Clauses:
    """What a trainer includes now, as clauses with these votes."""
    return Clauses._trusted(*trainer.clauses(), votes, n_booleans)


def _engine(clauses: Clauses) -> _native.Engine:
    return _native.Engine(clauses.literals, clauses.offsets, clauses.weights, clauses.n_booleans)


def _accuracies(clauses: Clauses, watch: Watch, n_threads: int) -> list[float | None]:
    """Accuracy on validation, evaluation and training rows; None where there are none."""
    watched = (watch.validation, watch.weights), (watch.evaluation, None), (watch.train, None)
    if all(rows is None for rows, _ in watched):
        return [None] * len(watched)
    engine = _engine(clauses)
    return [
        None if rows is None else _accuracy(engine, rows, weights, n_threads) for rows, weights in watched
    ]


def _accuracy(
    engine: _native.Engine, rows: PackedRows, weights: NDArray[np.float64] | None, n_threads: int
) -> float:
    winners = np.empty(len(rows), dtype=np.int64)
    engine.run_packed(rows.words, winners, n_threads)
    return float(np.average(winners == rows.classes, weights=weights))
