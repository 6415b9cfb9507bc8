"""The epochs of a training, the choice among them, and its checkpoint.

The workers of a cluster train to the same bits as one machine. A class learns from the rows, the seed and its
own automata alone. So a task is a pure function of its classes, automata and epochs, and a task whose worker
died is run again on another. Votes are counted here, which takes a hundredth of the time of training.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal import _native, cluster
from ethereal.base import messages
from ethereal.cluster import Cluster, Shared
from ethereal.features.packing import PackedRows
from ethereal.model.calibration import fit_temperature
from ethereal.model.clauses import Clauses
from ethereal.model.engine import engine_of
from ethereal.train.automata import (
    Snapshot,
    SnapshotSelection,
    Step,
    Training,
    Watch,
    excludes_after,
    included,
)
from ethereal.train.checkpoint import Checkpoint, CheckpointError, Progress
from ethereal.train.rules import Automata, OnEpoch, Rule, asks_to_stop

# A task takes about this long. That is long beside the ten milliseconds of sending it, and short beside a
# training, so that workers end together and little is lost with one of them.
_TASK_SECONDS = 0.5
_RANGES_PER_SLOT = 3  # of classes. More are more even, but each draws the order of rows anew.
_ROUNDS_AHEAD = 2  # that a range of classes may be before the slowest

Rounds = Generator[list[Step], None, None]


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
        sums = np.empty((len(rows), self.training.votes.shape[1]), dtype=np.int32)
        engine_of(self.kept.clauses).run_packed(rows.words, sums, 1)
        known = rows.classes >= 0  # no clause votes for a label that training does not know
        weights = None if weights is None else weights[known]
        return fit_temperature(sums[known], rows.classes[known], T, weights)

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
        self.training.resume(progress.states, progress.epochs_done, progress.votes)
        self.history[:] = progress.history
        for record in progress.history:
            if record["phase"] == "set":
                self.training.note_assigned(record["epoch"])
        candidates = [replace(one, clauses=self.training.voting(one.clauses)) for one in progress.candidates]
        self._selection.candidates = candidates

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

    def _rounds(self, epochs: int, n_threads: int) -> Rounds:
        """Yield epochs one at a time, or a few at a time from the workers of a Dask client."""
        training, workers = self.training, cluster.active()
        if workers is not None and training.machine.classes_apart and not self._is_over():
            is_changed = self.rule is not None or self.on_epoch is not None  # between epochs, from outside
            rounds_of = _in_turn if is_changed else _rounds_ahead
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
        trained = [r for r in self.history if r["phase"] == "train"]
        if self.on_epoch is not None and trained and trained[-1].get("stopped"):
            return True
        if not trained or self.patience is None or self.watch.validation is None:
            return False
        accuracies = [r["validation_accuracy"] for r in trained]
        return len(accuracies) - 1 - int(np.argmax(accuracies)) >= self.patience

    def _save(self) -> None:
        if self.checkpoint is not None:
            training, candidates = self.training, self._selection.candidates
            position = training.states, training.epochs_done, self.history, candidates
            self.checkpoint.save(Progress(*position, training.learned_votes))


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


@dataclass(frozen=True)
class _Part:
    """What a task leaves: automata of its classes, and clauses and seconds of every step."""

    states: NDArray[np.uint8]
    clauses: list[Clauses]  # without votes
    seconds: list[float]


def _train_classes(
    data: tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.float64] | None],
    parameters: dict[str, Any],
    classes: tuple[int, int],
    states: NDArray[np.uint8],
    epochs: tuple[int, int],
    exclude_every: int | None,
) -> _Part:
    """Train the classes from first to end over the epochs from first to end, on a worker."""
    trainer = _native.Trainer(**parameters, only=classes)
    trainer.states = states
    trainer.epochs_done = epochs[0]
    no_votes = np.zeros((len(states) * parameters["n_clauses"], 0), dtype=np.int32)
    words, labels, visits = data
    train = partial(trainer.epoch, words, labels, visits, 1)
    part = _Part(states, [], [])
    for done in range(*epochs):
        steps: list[Callable[[], object]] = [train]
        if excludes_after(done, exclude_every):
            steps.insert(0, trainer.exclude)
        for step in steps:
            start = time.perf_counter()
            step()
            part.seconds.append(time.perf_counter() - start)
            part.clauses.append(included(trainer, no_votes, parameters["n_booleans"]))
    return replace(part, states=trainer.states)


def _rounds_ahead(fitting: Fitting, workers: Cluster, epochs: int, n_threads: int) -> Rounds:
    """Train up to `epochs` epochs, and yield a few epochs at a time, when all classes have finished them.

    The training then stands after these epochs. A record's seconds are its share of the time that passed.
    """
    training, exclude_every = fitting.training, fitting.exclude_every
    one_at_a_time = fitting.keep_states or fitting.patience is not None
    data, class_ranges = _shared(fitting, workers, _RANGES_PER_SLOT * workers.slots)
    plan = [training.epochs_done]  # ends of the rounds
    arrived: dict[int, dict[tuple[int, int], _Part]] = {}  # by round and range, until a round is whole
    states = training.states
    # Rounds that a range has done, and its automata.
    newest = {class_range: (0, states[slice(*class_range)]) for class_range in class_ranges}
    idle, whole, epoch_seconds = set(class_ranges), 0, _TASK_SECONDS
    last = time.perf_counter()

    with workers.flow() as flow:

        def send() -> None:
            for class_range in sorted(idle):
                done, automata = newest[class_range]
                if done - whole > _ROUNDS_AHEAD:
                    continue
                if done + 1 == len(plan):  # the first to get there says how long the round is
                    length = 1 if one_at_a_time else max(1, int(_TASK_SECONDS / epoch_seconds))
                    plan.append(min(epochs, plan[-1] + length))
                span = plan[done], plan[done + 1]
                if span[0] < span[1]:
                    idle.remove(class_range)
                    task = data, training.parameters, class_range, automata, span, exclude_every
                    flow.submit((class_range, done), _train_classes, *task)

        send()
        for (class_range, number), part in flow:
            newest[class_range] = number + 1, part.states
            idle.add(class_range)
            arrived.setdefault(number, {})[class_range] = part
            epoch_seconds = max(1e-3, sum(part.seconds) / (plan[number + 1] - plan[number]))
            send()
            while len(arrived.get(whole, ())) == len(class_ranges):
                parts = [arrived[whole][class_range] for class_range in class_ranges]
                now = time.perf_counter()
                steps = _judge(fitting, parts, plan[whole], now - last, n_threads)
                training.resume(np.concatenate([part.states for part in parts]), plan[whole + 1])
                del arrived[whole]
                whole, last = whole + 1, now
                send()
                yield steps


def _in_turn(fitting: Fitting, workers: Cluster, epochs: int, n_threads: int) -> Rounds:
    """Train up to `epochs` epochs, one at a time, with the exclusion that is due before each.

    No class runs ahead, because a rule of exclusion, or whoever sees the step, may change all automata.
    """
    training = fitting.training
    data, class_ranges = _shared(fitting, workers, workers.slots)
    while (done := training.epochs_done) < epochs:
        step, before = Step(), training.states
        try:
            if excludes_after(done, fitting.exclude_every):
                training.exclude(fitting.watch, step, 1, fitting.rule, fitting._show)
            states, start = training.states, time.perf_counter()
            with workers.flow() as flow:
                for class_range in class_ranges:
                    automata, span = states[slice(*class_range)], (done, done + 1)
                    task = data, training.parameters, class_range, automata, span, None
                    flow.submit(class_range, _train_classes, *task)
                parts = dict(flow)
        except BaseException:
            training.resume(before, done)
            raise
        training.resume(np.concatenate([parts[class_range].states for class_range in class_ranges]), done + 1)
        seconds = time.perf_counter() - start
        training.record("train", done + 1, seconds, fitting.watch, step, n_threads)
        yield [step]


def _shared(fitting: Fitting, workers: Cluster, n_ranges: int) -> tuple[Shared, list[tuple[int, int]]]:
    """Return the rows on the workers, and ranges of neighbouring classes."""
    rows = fitting.rows
    data = workers.share((rows.words, rows.classes, fitting.visits))
    n_classes = int(fitting.training.parameters["n_classes"])
    return data, _class_ranges(rows.classes, n_classes, n_ranges)


def _judge(fitting: Fitting, parts: list[_Part], done: int, seconds: float, n_threads: int) -> list[Step]:
    """Return the steps of a round, from the parts of all classes in order."""
    work = [sum(part.seconds[i] for part in parts) for i in range(len(parts[0].seconds))]
    steps: list[Step] = []
    step = Step()
    for i, share in enumerate(work):
        before = not step.records and excludes_after(done, fitting.exclude_every)
        phase, epoch = ("exclude", done) if before else ("train", done + 1)
        clauses = Clauses.concatenate([part.clauses[i] for part in parts])
        seconds_of_step = seconds * share / sum(work)
        fitting.training.record(phase, epoch, seconds_of_step, fitting.watch, step, n_threads, clauses)
        if phase == "train":
            steps.append(step)
            step, done = Step(), done + 1
    return steps


def _class_ranges(labels: NDArray[np.int32], n_classes: int, wanted: int) -> list[tuple[int, int]]:
    """Return first and end of ranges of neighbouring classes with about the same number of events."""
    # A row is an event of its own class and of another.
    events = np.bincount(labels, minlength=n_classes) + len(labels) / n_classes
    ends = np.cumsum(events)
    wanted = max(1, min(wanted, n_classes))
    cuts = np.searchsorted(ends, ends[-1] * np.arange(1, wanted) / wanted) + 1
    edges = [0, *sorted({int(c) for c in cuts if c < n_classes}), n_classes]
    return list(pairwise(edges))
