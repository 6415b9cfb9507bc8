"""How good predictions are on test rows: accuracy with its interval, balanced accuracy, recall per class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.runs.intervals import LEAST_GROUPS, LEVEL, over_groups, wilson

_RARE = 0.5  # of an even share of the rows
_OVERLOOKED = 0.75  # of the accuracy. A rare class that is found less is worth a remark.


def scores(predicted: NDArray[Any], y: NDArray[Any], groups: NDArray[Any] | None = None) -> dict[str, Any]:
    """Return accuracy, its interval, balanced accuracy, and label, recall and rows of each class.

    `groups` tells which rows belong together. The interval is then over groups, None with too few.

    >>> found = scores(np.array(["a", "a", "b"]), np.array(["a", "b", "b"]))
    >>> found["classes"], found["balanced"]
    ([['a', 1.0, 1], ['b', 0.5, 2]], 0.75)
    """
    right = predicted == y
    classes = [[label, float(right[y == label].mean()), int((y == label).sum())] for label in np.unique(y)]
    accuracy = float(right.mean())
    interval = wilson(accuracy, len(y)) if groups is None else over_groups(right, groups)
    return {
        "accuracy": accuracy,
        "interval": None if interval is None else list(interval),
        "interval_level": LEVEL,
        "balanced": float(np.mean([recall for _, recall, _ in classes])),
        "classes": [[getattr(label, "item", lambda label=label: label)(), *rest] for label, *rest in classes],
        "rows": len(y),
        "groups": None if groups is None else len(np.unique(groups)),
    }


def accuracy_text(found: Mapping[str, Any]) -> str:
    """Return the accuracy with both ends of its interval, where there is one.

    >>> accuracy_text({"accuracy": 0.969, "interval": [0.9462, 0.9826]}), accuracy_text({"accuracy": 0.937})
    ('96.9 % (94.6 to 98.3)', '93.7 %')
    """
    text, ends = f"{100 * found['accuracy']:.1f} %", found.get("interval")
    if not isinstance(ends, list):  # too few groups, or a run of an earlier version
        return text
    return f"{text} ({100 * ends[0]:.1f} to {100 * ends[1]:.1f})"


def accuracy_note(found: Mapping[str, Any], rows_are: str, how: str, groups_are: str = "groups") -> str:
    """Return whose accuracy it is, and what the interval spans.

    >>> accuracy_note({"rows": 300, "groups": 1, "interval": None}, "test rows", "other groups")
    'Accuracy is that of 300 test rows of 1 group (other groups), too few for an interval (5 are needed).'
    >>> accuracy_note({"rows": 69, "groups": None, "interval": [0.8, 0.9]}, "test rows", "20 %, seed 0")
    'Accuracy is that of 69 test rows (20 %, seed 0). In brackets is its 95 % confidence interval.'
    """
    n_groups, level = found.get("groups"), f"{100 * LEVEL:.0f} % confidence interval"
    one = groups_are.removesuffix("s")
    of = "" if n_groups is None else f" of {n_groups} {one if n_groups == 1 else groups_are}"
    note = f"Accuracy is that of {found['rows']:,} {rows_are}{of} ({how})"
    if n_groups is not None and found["interval"] is None:
        return f"{note}, too few for an interval ({LEAST_GROUPS} are needed)."
    if not isinstance(found["interval"], list):
        return f"{note}."
    over = "" if n_groups is None else f". It is for {groups_are} that were never seen"
    return f"{note}. In brackets is its {level}{over}."


def weakest(found: Mapping[str, Any]) -> tuple[str, float]:
    """Return the label of the class that is found least, and its recall.

    >>> weakest({"classes": [["a", 1.0, 1], [7, 0.5, 2]]})
    ('class 7', 0.5)
    """
    label, recall, _ = min(found["classes"], key=lambda one: one[1])
    return class_text(label), float(recall)


def overlooked(found: Mapping[str, Any]) -> list[tuple[str, float, int]]:
    """Return label, recall and rows of rare classes that are found far less than others, the weakest first.

    A class is rare when it has less than half of an even share of the rows.

    >>> overlooked({"classes": [["ok", 0.99, 950], ["fault", 0.54, 50]], "accuracy": 0.97, "rows": 1000})
    [('fault', 0.54, 50)]
    """
    few = _RARE * found["rows"] / len(found["classes"])
    least = _OVERLOOKED * found["accuracy"]
    rare = [one for one in found["classes"] if one[2] < few and one[1] < least and one[2] * (1 - one[1]) > 1]
    return [(class_text(label), recall, n) for label, recall, n in sorted(rare, key=lambda one: one[1])]


def class_text(label: Any) -> str:
    """Return a label as a text that cannot be read as a figure.

    >>> class_text(3), class_text("3"), class_text("walking")
    ('class 3', 'class 3', 'walking')
    """
    text = str(label)
    return f"class {text}" if text.replace(".", "", 1).lstrip("+-").isdigit() else text
