"""Accuracy on held-out rows against that on test rows. Beyond noise, they say that the rows differ."""

from __future__ import annotations

import math

_LEAST = 0.1  # a smaller difference is none
_NOISE = 4.0  # standard errors of the difference that chance may give


def gap(held_out: float, n_held_out: int, test: float, n_test: int) -> str | None:
    """Say that two accuracies are further apart than chance explains. None when they are not.

    >>> gap(0.63, 200, 0.105, 1000)
    '63.0 % of the held-out rows are right, but 10.5 % of the test rows'
    >>> gap(0.90, 50, 0.80, 50) is None
    True
    """
    if min(n_held_out, n_test) == 0:
        return None
    both = (held_out * n_held_out + test * n_test) / (n_held_out + n_test)
    noise = math.sqrt(both * (1 - both) * (1 / n_held_out + 1 / n_test))
    if abs(held_out - test) <= max(_LEAST, _NOISE * noise):
        return None
    return f"{100 * held_out:.1f} % of the held-out rows are right, but {100 * test:.1f} % of the test rows"


def gap_remark(
    held_out: float, n_held_out: int, test: float, n_test: int, *, is_windows: bool = False
) -> str | None:
    """Return the remark on such a gap with what to do about it. None without a gap."""
    why = gap(held_out, n_held_out, test, n_test)
    if why is None:
        return None
    if held_out < test:
        return (
            f"{why}. The test rows seem to be easier than those to learn from. Look at how they were chosen."
        )
    remedy = "Give group= with the column of the person or recording, and record more of them."
    more = " Other kernels= may carry over better." if is_windows else ""
    return f"{why}. The test rows come from elsewhere than those to learn from. {remedy}{more}"
