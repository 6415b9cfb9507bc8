"""A training on its way to a model: epoch after epoch, the choice among them, and its checkpoint."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal import cluster, cluster_training
from ethereal.checkpoint import Checkpoint, Progress
from ethereal.progress import EpochProgress
from ethereal.rows import PackedRows
from ethereal.selection import Snapshot, SnapshotSelection
from ethereal.training import Step, Training, Watch


@dataclass
class Fitting:
    """The training, what it has shown so far, and the snapshots that may still be chosen."""

    training: Training
    rows: PackedRows
    visits: NDArray[np.float64] | None  # per row, on average in an epoch; None: one each
    watch: Watch
    exclude_every: int | None
    tolerance: float | None  # of `SnapshotSelection`; None: the last epoch is kept
    checkpoint: Checkpoint | None = None
    history: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._selection = SnapshotSelection(self.tolerance)

    @property
    def kept(self) -> Snapshot | None:
        """The choice so far; None before the first epoch."""
        return self._selection.kept

    def go_on(self) -> None:
        """Start where the checkpoint stands, if there is one."""
        found = None if self.checkpoint is None else self.checkpoint.load()
        if found is not None:
            self.training.resume(found.states, found.epochs_done)
            self.history[:] = found.history
            self._selection.candidates = found.candidates

    def run(self, epochs: int, n_threads: int, verbose: int) -> None:
        """Train up to so many epochs; whatever ends it, the whole epochs so far are kept."""
        try:
            with (
                EpochProgress(epochs, verbose) as progress,
                closing(self._rounds(epochs, n_threads)) as rounds,
            ):
                for steps in rounds:
                    for step in steps:
                        self._take(step)
                    record = self.history[-1]
                    progress.update(record, len(self.rows) / max(record["seconds"], 1e-9))
                    if self.checkpoint is not None and self.checkpoint.is_due():
                        self._save()
        finally:
            if self.kept is not None:
                self._save()

    def _take(self, step: Step) -> None:
        """Take an epoch into account; an interrupt that came during it is raised now."""
        self.history += step.records
        if step.snapshot is not None:
            self._selection.offer(step.snapshot)
        if step.interrupt is not None:
            raise step.interrupt

    def _rounds(self, epochs: int, n_threads: int) -> Generator[list[Step], None, None]:
        """Epochs one at a time here, or a few at a time on the workers of a Dask client."""
        training, workers = self.training, cluster.active()
        if workers is not None:
            yield from cluster_training.rounds(
                training, workers, self.rows, self.visits, epochs, self.exclude_every, self.watch, n_threads
            )
        while training.epochs_done < epochs:
            yield [training.epoch(self.rows, self.visits, self.exclude_every, self.watch, n_threads)]

    def _save(self) -> None:
        if self.checkpoint is not None:
            training = self.training
            self.checkpoint.save(
                Progress(training.states, training.epochs_done, self.history, self._selection.candidates)
            )
