"""What people would gain who teach their board: accuracy before and after, on later rows of a person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.adapt.learning import Learning, State
from ethereal.features.packing import evenly
from ethereal.model import Model

EXAMPLES = (1, 2, 5, 10, 20)
WRONG = 0.2  # labels that are wrong in the trial of that
_MOST_TESTS = 500  # rows of one person that test
_MOST_OTHERS = 300  # rows of other people that test
HEADS = ("rows per class", "accuracy", "gain (s.e.)", "worst person", "1 in 5 wrong", "other people")
_LIMITS = (
    "Labels must be right, and rows should be shown at the rates of daily use. A state is one person's. "
    "{others} Rows were tested that came soon after those taught. Another day was not."
)


@dataclass(frozen=True)
class Trial:
    """Accuracy of each person, as shares of 1. Keys of the dictionaries are examples per class."""

    people: tuple[str, ...]
    before: NDArray[np.float64]
    after: dict[int, NDArray[np.float64]]
    after_wrong: dict[int, NDArray[np.float64]]  # one label in five is wrong
    others: dict[int, NDArray[np.float64]]  # what other people gain or lose

    def gain(self, n: int, *, wrong: bool = False) -> NDArray[np.float64]:
        """Return what each person gains by n examples per class."""
        return (self.after_wrong if wrong else self.after)[n] - self.before

    @property
    def is_worth_it(self) -> bool:
        """Whether the mean gain of some number of examples is a point, and above two standard errors."""
        gains = [self.gain(n) for n in self.after]
        return any(gain.mean() >= 0.01 and gain.mean() > 2 * standard_error(gain) for gain in gains)

    @property
    def lines(self) -> list[list[str]]:
        """A line of the table under `HEADS` for each number of examples."""
        lines = []
        for n in self.after:
            gain, wrong = self.gain(n), self.gain(n, wrong=True)
            gains = f"{100 * gain.mean():+.1f} ({100 * standard_error(gain):.1f})", f"{100 * gain.min():+.1f}"
            others = f"{100 * wrong.mean():+.1f}", f"{100 * self.others[n].mean():+.1f}"
            lines.append([str(n), f"{100 * self.after[n].mean():.1f} %", *gains, *others])
        return lines

    @property
    def verdict(self) -> str:
        """What the figures say."""
        if self.is_worth_it:
            best = max(self.after, key=lambda n: float(self.gain(n).mean()))
            gained = 100 * self.gain(best).mean()
            by = f"{gained:.1f} points by {best} rows of each class, mean over people"
            return f"Teaching is worth it: {by}."
        return "Nothing is to be gained that can be distinguished from zero. Leave the model as it is."

    @property
    def limits(self) -> str:
        """What the figures do not say, and what other people gain or lose by the state."""
        means = [round(100 * float(gains.mean()), 1) for gains in self.others.values()]  # as the table rounds
        most, others = max(means, default=0.0), "Other people neither gain nor lose by it."
        if min(means, default=0.0) < 0:
            others = "Other people lose by it."
        if most > 0:
            others = (
                f"Here other people gain by it too, up to {most:.1f} points. So training on such rows may "
                "serve everybody better."
            )
        return _LIMITS.format(others=others)


def standard_error(values: NDArray[np.float64]) -> float:
    """Return the standard error of a mean, 0 for a single value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def try_teaching(
    model: Model,
    X: ArrayLike,
    y: ArrayLike,
    people: ArrayLike,
    *,
    examples: Sequence[int] = EXAMPLES,
    on_person: Callable[[str], object] | None = None,
    **learn: Any,
) -> Trial:
    """Teach each person's first rows of every class, and test on the later rows of the same person.

    At most half of the rows of a class are taught. Rows must be in the order of time, and the people ones
    that the model has not seen. `learn` are the parameters of `Learning.of`.
    """
    learning = Learning.of(model, **learn)
    labels, who = np.asarray(y), np.asarray(people)
    known = learning.general.classes.tolist()
    classes = np.array([known.index(label) if label in known else -1 for label in labels.tolist()])
    if (classes < 0).any():
        strange = labels[classes < 0][0]
        raise ValueError(f"The label {strange!r} is not a class of the model. Leave its rows out.")
    bits = learning.bits(X)
    names = [name for name in np.unique(who).tolist() if np.bincount(classes[who == name]).max() >= 4]
    if not names:
        raise ValueError("No person has four rows of some class. Give more rows per person.")
    after, after_wrong, others = ({n: np.zeros(len(names)) for n in examples} for _ in range(3))
    trial = Trial(tuple(map(str, names)), np.zeros(len(names)), after, after_wrong, others)
    for p, name in enumerate(names):
        if on_person is not None:
            on_person(str(name))
        _one(learning, bits, classes, np.flatnonzero(who == name), np.flatnonzero(who != name), trial, p)
    return trial


def _one(
    learning: Learning,
    bits: list[bytes],
    classes: NDArray[np.int64],
    rows: NDArray[np.intp],
    strangers: NDArray[np.intp],
    trial: Trial,
    p: int,
) -> None:
    """Fill in what person `p` gains."""
    by_class = [rows[classes[rows] == c] for c in np.unique(classes[rows])]
    taught = [of_class[: min(max(trial.after), len(of_class) // 2)] for of_class in by_class]
    tests = np.setdiff1d(rows, np.concatenate(taught))
    tests, strangers = tests[evenly(len(tests), _MOST_TESTS)], strangers[evenly(len(strangers), _MOST_OTHERS)]
    general = State(learning)
    trial.before[p] = _accuracy(general, bits, classes, tests)
    others = _accuracy(general, bits, classes, strangers)
    for n in trial.after:
        in_turn = [int(of_class[i]) for i in range(n) for of_class in taught if i < len(of_class)]
        state = _taught(learning, bits, [(i, int(classes[i])) for i in in_turn])
        trial.after[n][p] = _accuracy(state, bits, classes, tests)
        trial.others[n][p] = _accuracy(state, bits, classes, strangers) - others
        state = _taught(learning, bits, _spoilt(in_turn, classes, learning.general.n_classes))
        trial.after_wrong[n][p] = _accuracy(state, bits, classes, tests)


def _spoilt(rows: list[int], classes: NDArray[np.int64], n_classes: int) -> list[tuple[int, int]]:
    """Return rows with their classes, a fifth of them wrong."""
    rng = np.random.default_rng(len(rows))
    wrong = set(rng.choice(rows, round(WRONG * len(rows)), replace=False).tolist()) if rows else set()
    shift = rng.integers(1, max(n_classes, 2), len(rows)).tolist()
    return [
        (i, int(classes[i] + by) % n_classes if i in wrong else int(classes[i]))
        for i, by in zip(rows, shift, strict=True)
    ]


def _taught(learning: Learning, bits: list[bytes], rows: list[tuple[int, int]]) -> State:
    state = State(learning)
    for i, class_ in rows:
        state.keep(class_, bits[i])
    state.adapt()
    return state


def _accuracy(state: State, bits: list[bytes], classes: NDArray[np.int64], rows: NDArray[np.intp]) -> float:
    if len(rows) == 0:
        return 0.0
    return float(np.mean([int(state.sums(bits[i]).argmax()) == classes[i] for i in rows]))
