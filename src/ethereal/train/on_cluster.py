"""Training on the workers of a cluster, to the same bits as on one machine.

A class learns from the rows, the seed and its own automata alone. So a task is a pure function of its
classes, automata and epochs, and a task whose worker died is run again on another. Votes are counted here, by
the code that counts them without a cluster, which takes a hundredth of the time of training.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal import _native
from ethereal.cluster import Cluster, Shared
from ethereal.model.clauses import Clauses
from ethereal.train.automata import Step, excludes_after, included

if TYPE_CHECKING:
    from ethereal.train.fitting import Fitting

# A task takes about this long. That is long beside the ten milliseconds of sending it, and short beside a
# training, so that workers end together and little is lost with one of them.
_TASK_SECONDS = 0.5
_RANGES_PER_SLOT = 3  # of classes. More are more even, but each draws the order of rows anew.
_ROUNDS_AHEAD = 2  # that a range of classes may be before the slowest


@dataclass(frozen=True)
class Part:
    """What a task leaves: automata of its classes, and clauses and seconds of every step."""

    states: NDArray[np.uint8]
    clauses: list[Clauses]  # without votes
    seconds: list[float]


def train_classes(
    data: tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.float64] | None],
    parameters: dict[str, Any],
    classes: tuple[int, int],
    states: NDArray[np.uint8],
    epochs: tuple[int, int],
    exclude_every: int | None,
) -> Part:
    """Train the classes from first to end over the epochs from first to end, on a worker."""
    trainer = _native.Trainer(**parameters, only=classes)
    trainer.states = states
    trainer.epochs_done = epochs[0]
    no_votes = np.zeros((len(states) * parameters["n_clauses"], 0), dtype=np.int32)
    words, labels, visits = data
    clauses: list[Clauses] = []
    seconds: list[float] = []

    def keep(start: float) -> None:
        seconds.append(time.perf_counter() - start)
        clauses.append(included(trainer, no_votes, parameters["n_booleans"]))

    for done in range(*epochs):
        if excludes_after(done, exclude_every):
            start = time.perf_counter()
            trainer.exclude()
            keep(start)
        start = time.perf_counter()
        trainer.epoch(words, labels, visits, 1)
        keep(start)
    return Part(trainer.states, clauses, seconds)


def rounds(
    fitting: Fitting, workers: Cluster, epochs: int, n_threads: int
) -> Generator[list[Step], None, None]:
    """Train up to `epochs` epochs, and yield a few epochs at a time, when all classes have finished them.

    The training then stands after these epochs. A record's seconds are its share of the time that passed.
    """
    training, exclude_every = fitting.training, fitting.exclude_every
    one_at_a_time = fitting.keep_states or fitting.patience is not None
    data, class_ranges = _shared(fitting, workers, _RANGES_PER_SLOT * workers.slots)
    plan = [training.epochs_done]  # ends of the rounds
    arrived: dict[int, dict[tuple[int, int], Part]] = {}  # by round and range, until a round is whole
    states = training.states
    newest = {
        class_range: (0, states[slice(*class_range)]) for class_range in class_ranges
    }  # rounds that a range has done
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
                    flow.submit(
                        (class_range, done),
                        train_classes,
                        data,
                        training.parameters,
                        class_range,
                        automata,
                        span,
                        exclude_every,
                    )

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


def in_turn(
    fitting: Fitting, workers: Cluster, epochs: int, n_threads: int
) -> Generator[list[Step], None, None]:
    """Train up to `epochs` epochs, one at a time, with the exclusion that is due before each.

    No class runs ahead, because a rule of exclusion, or whoever sees the step, may change all automata.
    """
    training = fitting.training
    data, class_ranges = _shared(fitting, workers, workers.slots)
    while (done := training.epochs_done) < epochs:
        step, before = Step(), training.states
        try:
            fitting.exclude_if_due(step)
            states, start = training.states, time.perf_counter()
            with workers.flow() as flow:
                for class_range in class_ranges:
                    automata = states[slice(*class_range)]
                    span = done, done + 1
                    flow.submit(
                        class_range,
                        train_classes,
                        data,
                        training.parameters,
                        class_range,
                        automata,
                        span,
                        None,
                    )
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
    return data, _class_ranges(rows.classes, int(fitting.training.parameters["n_classes"]), n_ranges)


def _judge(fitting: Fitting, parts: list[Part], done: int, seconds: float, n_threads: int) -> list[Step]:
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
    """Return first and end of ranges of neighbouring classes with about the same number of events.

    >>> _class_ranges(np.array([0, 0, 0, 0, 0, 0, 1, 2, 3, 4], np.int32), 5, 2)
    [(0, 2), (2, 5)]
    """
    # A row is an event of its own class and of another.
    events = np.bincount(labels, minlength=n_classes) + len(labels) / n_classes
    ends = np.cumsum(events)
    wanted = max(1, min(wanted, n_classes))
    cuts = np.searchsorted(ends, ends[-1] * np.arange(1, wanted) / wanted) + 1
    edges = [0, *sorted({int(c) for c in cuts if c < n_classes}), n_classes]
    return list(pairwise(edges))
