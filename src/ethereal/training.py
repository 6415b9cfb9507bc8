"""One machine in training: the native automata, exclusion, and a record of every step."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal import _native
from ethereal.clauses import plain_votes
from ethereal.rows import PackedRows
from ethereal.selection import Snapshot

Clauses = tuple[NDArray[np.int32], NDArray[np.int64]]  # included literals, offsets


@dataclass(frozen=True)
class Watch:
    """Rows whose accuracy is recorded after every step."""

    validation: PackedRows | None = None
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
        T: int,
        s: float,
        boost_true_positive: bool,
        literal_budget: int | None,
        seed: int,
    ) -> None:
        self._parameters = {
            "n_classes": int(n_classes),
            "n_clauses": int(n_clauses),
            "n_booleans": int(n_booleans),
            "T": int(T),
            "s": float(s),
            "boost_true_positive": bool(boost_true_positive),
            "literal_budget": 2**31 - 1 if literal_budget is None else int(literal_budget),
            "seed": int(seed),
        }
        self._trainer = _native.Trainer(**self._parameters)  # type: ignore[arg-type]
        self.votes = plain_votes(n_classes, n_clauses)  # (classes * clauses) x classes

    @property
    def parameters(self) -> dict[str, Any]:
        """What the native trainer was made with."""
        return self._parameters

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

    def epoch(
        self,
        rows: PackedRows,
        visits: NDArray[np.float64] | None,
        exclude_every: int | None,
        watch: Watch,
        n_threads: int,
    ) -> Step:
        """Train one epoch, after an exclusion when `exclude_every` epochs are done: it ends on training.

        Ctrl-C undoes a long epoch together with the exclusion before it; a short one is finished first.
        """
        step, done = Step(), self.epochs_done
        start = time.perf_counter()
        try:
            if excludes_after(done, exclude_every):
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
        """Included literals as they are now."""
        return Snapshot(*self._trainer.clauses())

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
        literals, offsets = self._trainer.clauses() if clauses is None else clauses
        engine = _native.Engine(literals, offsets, self.votes, int(self._parameters["n_booleans"]))
        validation, evaluation, train = (
            None if rows is None else _accuracy(engine, rows, n_threads)
            for rows in (watch.validation, watch.evaluation, watch.train)
        )
        step.snapshot = Snapshot(literals, offsets, validation or 0.0)
        step.records.append(
            {
                "epoch": epoch,
                "phase": phase,
                "includes": len(literals),
                "includes_per_clause": len(literals) / len(self.votes),
                "train_accuracy": train,
                "validation_accuracy": validation,
                "eval_accuracy": evaluation,
                "seconds": seconds,
            }
        )

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


def _accuracy(engine: _native.Engine, rows: PackedRows, n_threads: int) -> float:
    winners = np.empty(len(rows), dtype=np.int64)
    engine.run_packed(rows.words, winners, n_threads)
    return float((winners == rows.classes).mean())
