"""The epochs of a training, the choice among them, and its checkpoint."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal import cluster
from ethereal.base import messages
from ethereal.features.packing import PackedRows
from ethereal.model.calibration import fit_temperature
from ethereal.train import on_cluster
from ethereal.train.automata import Snapshot, SnapshotSelection, Step, Training, Watch, excludes_after
from ethereal.train.checkpoint import Checkpoint, CheckpointError, Progress
from ethereal.train.rules import Automata, OnEpoch, Rule, asks_to_stop


@dataclass
class Fitting:
    """The training, what it has shown so far, and the snapshots that may still be chosen."""

    training: Training
    rows: PackedRows
    visits: NDArray[np.float64] | None  # per row, on average in an epoch, None for one each
    watch: Watch
    exclude_every: int | None
    tolerance: float | None  # of `SnapshotSelection`, None to keep the last epoch
    checkpoint: Checkpoint | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    keep_states: bool = False  # whether the automata of snapshots are kept with them
    patience: int | None = None  # epochs without a better validation accuracy that end training
    rule: Rule | None = None  # of exclusion, None for the paper's
    on_epoch: OnEpoch | None = None  # sees every record

    def __post_init__(self) -> None:
        self._selection = SnapshotSelection(self.tolerance)
        self._stops = False  # whether training ends after the epoch under way
        self._is_whole = True  # whether `on_epoch` has seen every epoch, so that a checkpoint may be written

    @property
    def kept(self) -> Snapshot | None:
        """The choice so far, None before the first epoch."""
        return self._selection.kept

    @property
    def temperature(self) -> float:
        """Scale of the choice's shares, fitted on validation rows, or T/3 without such rows."""
        rows, weights, T = self.watch.validation, self.watch.weights, self.training.feedback.T
        if rows is None or self.kept is None:
            return T / 3
        sums = self.training.class_sums(self.kept, rows, 1)
        known = rows.classes >= 0  # no clause votes for a label that training does not know
        return fit_temperature(
            sums[known], rows.classes[known], T, None if weights is None else weights[known]
        )

    def look_at(self, checkpoint: Checkpoint, epochs: int, resume: bool) -> None:
        """Keep the training in `checkpoint`, and continue from it with `resume`.

        The checkpoint of another training is refused, so that nothing is written over it.
        """
        self.checkpoint = checkpoint
        progress = checkpoint.load()
        if progress is None or not resume:
            return
        if progress.epochs_done > epochs:
            raise CheckpointError(
                f"{checkpoint.path.parent} holds a training of {progress.epochs_done} epochs, but epochs is "
                f"{epochs}. Ask for {progress.epochs_done} epochs or more, or give another folder."
            )
        self.training.resume(progress.states, progress.epochs_done)
        self.history[:] = progress.history
        for record in progress.history:
            if record["phase"] == "set":
                self.training.note_assigned(record["epoch"])
        votes = self.training.votes
        self._selection.candidates = [
            replace(one, clauses=one.clauses.voting(votes)) for one in progress.candidates
        ]

    def run(self, epochs: int, n_threads: int, verbose: int, name: str = "epoch") -> None:
        """Train up to `epochs` epochs, called `name`. Whatever ends training, its whole epochs are kept."""
        try:
            with (
                messages.progress(name, epochs, quiet=not verbose, at_ends=True) as show,
                closing(self._rounds(epochs, n_threads)) as rounds,
            ):
                for steps in rounds:
                    for step in steps:
                        self._take(step)
                    record = steps[-1].trained
                    told = _in_words(record, len(self.rows) / max(record["seconds"], 1e-9))
                    show(record["epoch"], f"{record['epoch']}/{epochs}  {told}")
                    if self.checkpoint is not None and self.checkpoint.is_due():
                        self._save()
        finally:
            if self.kept is not None and self._is_whole:
                self._save()

    def _take(self, step: Step) -> None:
        """Consider an epoch, then raise an interrupt that came during it."""
        self.history += step.records
        if step.snapshot is not None:
            states = self.training.states if self.keep_states else None
            self._selection.offer(replace(step.snapshot, states=states))
        if step.interrupt is not None:
            raise step.interrupt
        if self.on_epoch is not None:
            n_seen = len(step.records)
            self._is_whole = False  # until `on_epoch` returns
            self._show(step)
            self._is_whole = True
            self.history += step.records[n_seen:]
            if self._stops:
                step.trained["stopped"] = True

    def _show(self, step: Step) -> None:
        """Show the newest record to `on_epoch`, and record the automata that it sets."""
        if self.on_epoch is None:
            return
        automata, record = Automata(self.training), step.records[-1]
        self._stops |= asks_to_stop(self.on_epoch, automata, record)
        if automata.was_set:
            self.training.note_assigned(record["epoch"])
            self.training.record("set", record["epoch"], 0.0, self.watch, step, 1)

    def exclude_if_due(self, step: Step) -> None:
        """Exclude when it is due, and show it."""
        if excludes_after(self.training.epochs_done, self.exclude_every):
            self.training.exclude(self.watch, step, 1, self.rule, self._show)

    def _rounds(self, epochs: int, n_threads: int) -> Generator[list[Step], None, None]:
        """Yield epochs one at a time, or a few at a time from the workers of a Dask client."""
        training, workers = self.training, cluster.active()
        if workers is not None and not self._is_over():
            is_changed = self.rule is not None or self.on_epoch is not None  # between epochs, from outside
            rounds_of = on_cluster.in_turn if is_changed else on_cluster.rounds
            with closing(rounds_of(self, workers, epochs, n_threads)) as rounds:
                for steps in rounds:
                    yield steps
                    if self._is_over():
                        return
        seen = None if self.on_epoch is None else self._show
        while training.epochs_done < epochs and not self._is_over():
            exclude = excludes_after(training.epochs_done, self.exclude_every)
            yield [training.epoch(self.rows, self.visits, exclude, self.watch, n_threads, self.rule, seen)]

    def _is_over(self) -> bool:
        """Whether `on_epoch` ended training, or the best validation accuracy is `patience` epochs ago."""
        has_patience = self.patience is not None and self.watch.validation is not None
        if self.on_epoch is None and not has_patience:
            return False
        trained = [r for r in self.history if r["phase"] == "train"]
        if not trained:
            return False
        if self.on_epoch is not None and trained[-1].get("stopped"):
            return True
        accuracies = [r["validation_accuracy"] for r in trained] if has_patience else []
        return has_patience and len(accuracies) - 1 - int(np.argmax(accuracies)) >= (self.patience or 0)

    def _save(self) -> None:
        if self.checkpoint is not None:
            training = self.training
            self.checkpoint.save(
                Progress(training.states, training.epochs_done, self.history, self._selection.candidates)
            )


def _in_words(record: dict[str, Any], rows_per_second: float) -> str:
    """One line: the accuracy known first among validation, eval set and training rows.

    >>> _in_words({"validation_accuracy": 0.912, "includes_per_clause": 7.25}, 123456.0)
    'validation 91.2 %  literals 7.25  123,456 rows/s'
    """
    parts = [
        f"{kind} {100 * record[f'{kind}_accuracy']:.1f} %"
        for kind in ("validation", "eval", "train")
        if record.get(f"{kind}_accuracy") is not None
    ]
    parts.append(f"literals {record['includes_per_clause']:.2f}")
    parts.append(f"{rows_per_second:,.0f} rows/s")
    return "  ".join(parts)
