"""How good predictions are on test rows: accuracy with its interval, balanced accuracy, recall per class."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.runs.results import ClassScore, Scores

LEVEL = 0.95
LEAST_GROUPS = 5  # below that nobody can tell how much groups differ
_Z = 1.96  # the normal quantile of LEVEL, both sides
# Right answers of one group are alike. Few groups cannot show how much, so this correlation is assumed at
# least.
_LEAST_CORRELATION = 0.05
_RARE = 0.5  # of an even share of the rows
_LEAST_GAP = 0.1  # a smaller difference is none
_NOISE_OF_GAP = 4.0  # standard errors of the difference that chance may give
_OVERLOOKED = 0.75  # of the accuracy. A rare class that is found less is worth a remark.


def wilson(share: float, n: float, z: float = _Z) -> tuple[float, float]:
    """Return both ends of Wilson's interval for a share of `n` independent cases.

    >>> [round(end, 3) for end in wilson(0.969, 360)], [round(end, 3) for end in wilson(1.0, 48)]
    ([0.946, 0.983], [0.926, 1.0])
    """
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def over_groups(right: NDArray[np.bool_], groups: NDArray[Any]) -> tuple[float, float] | None:
    """Return both ends of an interval for groups that were not seen, or None with fewer than five groups.

    This is Wilson's interval for as many independent rows as would vary like these groups do (the effective
    sample size), with the t quantile of the number of groups. `tests/runs/test_intervals.py` checks how
    often it holds the true accuracy.

    >>> groups = np.repeat(np.arange(6), 50)
    >>> [round(end, 2) for end in over_groups(np.arange(300) % 10 > 0, groups)]
    [0.79, 0.96]
    """
    names, of = np.unique(groups, return_inverse=True)
    n_groups, n_rows = len(names), len(right)
    if n_groups < LEAST_GROUPS:
        return None
    from scipy.stats import t  # type: ignore[import-untyped]  # takes a second to import

    share = float(right.mean())
    rows_of = np.bincount(of)
    off = np.bincount(of, weights=right) - share * rows_of  # right answers above or below the mean
    variance = n_groups / (n_groups - 1) * float((off**2).sum()) / n_rows**2
    mean_size = float((rows_of**2).sum()) / n_rows  # of the group of a row
    effective = n_rows / (1 + (mean_size - 1) * _LEAST_CORRELATION)
    if variance:
        effective = min(effective, share * (1 - share) / variance)
    effective = max(effective, n_rows / mean_size)  # rows of a group that are all the same
    return wilson(share, effective, float(t.ppf((1 + LEVEL) / 2, n_groups - 1)))


def mean_interval(values: NDArray[np.float64], groups: NDArray[Any] | None) -> tuple[float, float] | None:
    """Return both ends of an interval for a mean, over groups where there are some, None with too few.

    >>> low, high = mean_interval(np.array([1.0, 2.0, 3.0] * 50), None)
    >>> round(low, 2), round(high, 2)
    (1.87, 2.13)
    """
    mean, n = float(values.mean()), len(values)
    if n < 2:
        return None
    half = _Z * float(values.std(ddof=1)) / math.sqrt(n)
    if groups is not None:
        names, of = np.unique(groups, return_inverse=True)
        if len(names) < LEAST_GROUPS:
            return None
        from scipy.stats import t

        off = np.bincount(of, weights=values - mean)
        variance = len(names) / (len(names) - 1) * float((off**2).sum()) / n**2
        half = max(half, float(t.ppf((1 + LEVEL) / 2, len(names) - 1)) * math.sqrt(variance))
    return max(0.0, mean - half), mean + half


def scores(predicted: NDArray[Any], y: NDArray[Any], groups: NDArray[Any] | None = None) -> Scores:
    """Return accuracy, its interval, balanced accuracy, and recall and rows of each class.

    `groups` tells which rows belong together. The interval is then over groups, None with too few.

    >>> found = scores(np.array(["a", "a", "b"]), np.array(["a", "b", "b"]))
    >>> found.classes[1], found.balanced
    (ClassScore(label='b', recall=0.5, rows=2), 0.75)
    """
    right = predicted == y
    accuracy = float(right.mean())
    interval = wilson(accuracy, len(y)) if groups is None else over_groups(right, groups)
    classes = []
    for label in np.unique(y):
        of_class = y == label
        name = getattr(label, "item", lambda label=label: label)()
        classes.append(ClassScore(name, float(right[of_class].mean()), int(of_class.sum())))
    return Scores(
        accuracy=accuracy,
        interval=interval,
        interval_level=LEVEL,
        balanced=float(np.mean([one.recall for one in classes])),
        classes=tuple(classes),
        rows=len(y),
        groups=None if groups is None else len(np.unique(groups)),
    )


def accuracy_text(figures: Scores) -> str:
    """Return the accuracy with both ends of its interval, where there is one.

    >>> right = np.arange(1000) >= 31
    >>> accuracy_text(scores(right, np.ones(1000, dtype=bool)))
    '96.9 % (95.6 to 97.8)'
    """
    text = f"{100 * figures.accuracy:.1f} %"
    if figures.interval is None:  # too few groups
        return text
    low, high = figures.interval
    return f"{text} ({100 * low:.1f} to {100 * high:.1f})"


def accuracy_note(figures: Scores, rows_are: str, how: str, groups_are: str = "groups") -> str:
    """Return whose accuracy it is, and what the interval spans.

    >>> y = np.ones(300)
    >>> accuracy_note(scores(y, y, np.zeros(300)), "test rows", "other groups")
    'Accuracy is that of 300 test rows of 1 group (other groups), too few for an interval (5 are needed).'
    >>> accuracy_note(scores(y, y), "test rows", "20 %, seed 0")
    'Accuracy is that of 300 test rows (20 %, seed 0). In brackets is its 95 % confidence interval.'
    """
    one = groups_are.removesuffix("s")
    of = (
        "" if figures.groups is None else f" of {figures.groups} {one if figures.groups == 1 else groups_are}"
    )
    note = f"Accuracy is that of {figures.rows:,} {rows_are}{of} ({how})"
    if figures.interval is None:
        few = figures.groups is not None
        return f"{note}, too few for an interval ({LEAST_GROUPS} are needed)." if few else f"{note}."
    over = "" if figures.groups is None else f". It is for {groups_are} that were never seen"
    return f"{note}. In brackets is its {100 * LEVEL:.0f} % confidence interval{over}."


def weakest(figures: Scores) -> tuple[str, float]:
    """Return the label of the class that is found least, and its recall.

    >>> weakest(scores(np.array([1, 1, 1]), np.array([1, 7, 1])))
    ('class 7', 0.0)
    """
    least = min(figures.classes, key=lambda one: one.recall)
    return class_text(least.label), least.recall


def overlooked(figures: Scores) -> list[ClassScore]:
    """Return the rare classes that are found far less than others, the weakest first.

    A class is rare when it has less than half of an even share of the rows.

    >>> y = np.repeat(["ok", "fault"], [950, 50])
    >>> overlooked(scores(np.where(np.arange(1000) < 977, "ok", "fault"), y))
    [ClassScore(label='fault', recall=0.46, rows=50)]
    """
    few, least = _RARE * figures.rows / len(figures.classes), _OVERLOOKED * figures.accuracy
    rare = (one for one in figures.classes if one.rows < few and one.recall < least)
    return sorted((one for one in rare if one.rows * (1 - one.recall) > 1), key=lambda one: one.recall)


def class_text(label: Any) -> str:
    """Return a label as a text that cannot be read as a figure.

    >>> class_text(3), class_text("3"), class_text("walking")
    ('class 3', 'class 3', 'walking')
    """
    text = str(label)
    return f"class {text}" if text.replace(".", "", 1).lstrip("+-").isdigit() else text


def gap_remark(
    held_out: float, n_held_out: int, test: float, n_test: int, *, is_windows: bool = False
) -> str | None:
    """Say that two accuracies are further apart than chance explains, and what to do. None if they are not.

    Beyond noise, the accuracies on held-out rows and on test rows say that the rows differ.

    >>> gap_remark(0.105, 1000, 0.63, 200)[:66]
    '10.5 % of the held-out rows are right, but 63.0 % of the test rows'
    >>> gap_remark(0.90, 50, 0.80, 50) is None
    True
    """
    if min(n_held_out, n_test) == 0:
        return None
    both = (held_out * n_held_out + test * n_test) / (n_held_out + n_test)
    noise = math.sqrt(both * (1 - both) * (1 / n_held_out + 1 / n_test))
    if abs(held_out - test) <= max(_LEAST_GAP, _NOISE_OF_GAP * noise):
        return None
    why = f"{100 * held_out:.1f} % of the held-out rows are right, but {100 * test:.1f} % of the test rows"
    if held_out < test:
        return (
            f"{why}. The test rows seem to be easier than those to learn from. Look at how they were chosen."
        )
    remedy = "Give group= with the column of the person or recording, and record more of them."
    more = " Other kernels= may carry over better." if is_windows else ""
    return f"{why}. The test rows come from elsewhere than those to learn from. {remedy}{more}"
