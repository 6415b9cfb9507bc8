"""How good predictions are on test rows: accuracy with its interval, balanced accuracy, recall per class."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Z = 1.96  # of an interval that holds the true value in 95 of 100 cases
_IGNORED = 1 / 3  # of the mean recall. A class below is as good as not learned.


def half_width(right: float, n_rows: int) -> float:
    """Return half of Wilson's interval for a share of right answers, at 95 %.

    >>> round(half_width(0.9, 100), 4), round(half_width(1.0, 10), 4)
    (0.0596, 0.1388)
    """
    within = right * (1 - right) / n_rows + _Z**2 / (4 * n_rows**2)
    return _Z * math.sqrt(within) / (1 + _Z**2 / n_rows)


def scores(predicted: NDArray[Any], y: NDArray[Any]) -> dict[str, Any]:
    """Return accuracy, its interval, balanced accuracy, and label, recall and rows of each class.

    >>> found = scores(np.array(["a", "a", "b"]), np.array(["a", "b", "b"]))
    >>> found["classes"], found["balanced"]
    ([['a', 1.0, 1], ['b', 0.5, 2]], 0.75)
    """
    right = predicted == y
    classes = [[label, float(right[y == label].mean()), int((y == label).sum())] for label in np.unique(y)]
    return {
        "accuracy": float(right.mean()),
        "interval": half_width(float(right.mean()), len(y)),
        "balanced": float(np.mean([recall for _, recall, _ in classes])),
        "classes": [[getattr(label, "item", lambda label=label: label)(), *rest] for label, *rest in classes],
        "rows": len(y),
    }


def weakest(found: Mapping[str, Any]) -> tuple[str, float]:
    """Return the label of the class that is found least, and its recall.

    >>> weakest({"classes": [["a", 1.0, 1], [7, 0.5, 2]]})
    ('class 7', 0.5)
    """
    label, recall, _ = min(found["classes"], key=lambda one: one[1])
    return class_text(label), float(recall)


def ignored(found: Mapping[str, Any]) -> list[str]:
    """Return the classes whose recall is below a third of the mean.

    >>> ignored({"classes": [["a", 0.9, 90], ["fault", 0.1, 9]], "balanced": 0.5})
    ['fault']
    """
    least = _IGNORED * found["balanced"]
    return [class_text(label) for label, recall, _ in found["classes"] if recall < least]


def class_text(label: Any) -> str:
    """Return a label as a text that cannot be read as a figure.

    >>> class_text(3), class_text("3"), class_text("walking")
    ('class 3', 'class 3', 'walking')
    """
    text = str(label)
    return f"class {text}" if text.replace(".", "", 1).lstrip("+-").isdigit() else text
