"""Training and test rows as the options of a command ask for them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from ethereal.base.messages import say

if TYPE_CHECKING:  # imported where they are used: `ethereal --help` should not pay for numpy
    import numpy as np
    from numpy.typing import NDArray

    from ethereal.datasets.rows import Rows


def split(rows: Rows, test_share: float, seed: int) -> Rows:
    """Mark test rows as the data says, else a stratified random share, of groups if it has any.

    The result keeps its groups only where test rows come from other groups than training rows.
    """
    import numpy as np

    from ethereal.base.splits import group_split, hold_out

    if rows.test is not None:
        return _marked(rows, rows.test, "the data's own split")
    if not 0 <= test_share < 1:
        raise ValueError(f"--test is {test_share}; it must be at least 0 and less than 1")
    if test_share == 0:
        return replace(rows, how="no test rows")
    if rows.groups is not None:
        n_groups = len(np.unique(rows.groups))
        if n_groups < max(2, round(1 / test_share)):
            is_column, what = rows.groups_are == "groups", f"there are {n_groups} {rows.groups_are}"
            if n_groups == 1 and is_column:
                raise ValueError("The column of --group has one value only. Name another, or leave it out")
            remedy = "Record each class several times"
            if n_groups > 1:
                remedy = f"Give --test {min(0.5, 1 / n_groups):.2g}"
            raise ValueError(
                f"{f'--group has {n_groups} different values' if is_column else what}, too few for "
                f"--test {test_share}. {remedy}."
            )
        test = group_split(rows.y, rows.groups, test_fraction=test_share, random_state=seed)
        if rows.front_end is not None:
            _check_learned(rows, test)
        return _marked(rows, test, f"other {rows.groups_are}, seed {seed}")
    labels, counts = np.unique(rows.y, return_counts=True)
    n_more, n_rows = int((counts > 1).sum()), int(counts[counts > 1].sum())
    n_test = math.ceil(test_share * n_rows)
    if n_rows == 0:
        raise ValueError(
            "Every label has one row only, so that none can be kept for the test. Add rows of each label"
        )
    if min(n_test, n_rows - n_test) < n_more:
        enough = math.ceil(100 * n_more / n_rows) / 100 if n_test < n_more else 0.5  # at most a half
        raise ValueError(
            f"--test {test_share} makes {n_test} of {n_rows} rows test rows, but there are {len(labels)} "
            f"labels, and both parts need a row of each. Say --test {enough:g}, "
            "or add rows of each label"
        )
    if n_rows < len(rows.y):
        names = ", ".join(map(repr, labels[counts == 1].tolist()[:5]))
        say(f"note: labels with one row only are not tested: {names}", err=True)
    how = f"{test_share:.0%} of the rows, stratified, seed {seed}"
    return rows.drawn(*hold_out(rows.y, test_share, seed), how)


def _check_learned(rows: Rows, test: NDArray[np.bool_]) -> None:
    """Refuse a split of recordings that leaves nothing of a class to learn from."""
    import numpy as np

    lost = np.setdiff1d(rows.y, rows.y[~test])
    if len(lost):
        kind = rows.groups_are
        n = len(np.unique(rows.groups[rows.y == lost[0]])) if rows.groups is not None else 0
        raise ValueError(
            f"label {lost.tolist()[0]!r} is in {n} of the {kind}. None is left to learn from, because "
            f"whole {kind} are kept for the test. Add {kind} of it, or give another --seed or --test."
        )


def _marked(rows: Rows, test: NDArray[np.bool_], how: str) -> Rows:
    import numpy as np

    groups = rows.groups
    if groups is not None and np.isin(groups[test], groups[~test]).all():
        groups = None  # nothing says that other groups will come
    return replace(rows, test=test, groups=groups, how=how)
