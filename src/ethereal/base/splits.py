"""Which rows to learn from and which to hold out. Only the published split of the study lives elsewhere.

The rows to learn from have every class, unless whole groups are held out. So a class with one row only is
learned from and never held out. All functions return row numbers or a mask, never rows.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Rows = NDArray[np.intp]  # row numbers


def quantile_codes(y: NDArray[Any], n_bins: int = 8) -> NDArray[np.int64]:
    """Return bins of numbers with about equally many rows, which a split can spread like classes.

    >>> quantile_codes(np.array([1.0, 2.0, 3.0, 4.0]), 2).tolist()
    [0, 0, 1, 1]
    """
    cuts = np.unique(np.quantile(y, np.arange(1, n_bins) / n_bins))
    return np.searchsorted(cuts, y, side="left").astype(np.int64)


def hold_out(
    y: NDArray[Any], share: float, seed: int, groups: NDArray[Any] | None = None
) -> tuple[Rows, Rows]:
    """Return the rows to learn from and the rows held out, both in the order in which they are drawn.

    The same share of every class is held out, as scikit-learn draws it. Where the rows are too few for a row
    of every class on both sides, rows of any class are held out. With `groups`, the share is one of whole
    groups, and classes are not looked at. No row is held out where every class has one row only.

    >>> learn, held_out = hold_out(np.repeat([0, 1, 2], [10, 20, 1]), 0.2, 0)
    >>> len(learn), len(held_out), learn[-1]
    (25, 6, np.int64(30))
    """
    if groups is not None:
        names = np.random.default_rng(seed).permutation(np.unique(groups))
        is_drawn = np.isin(groups, names[: max(1, round(share * len(names)))])
        return np.flatnonzero(~is_drawn), np.flatnonzero(is_drawn)
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    rows, single = np.flatnonzero(counts[codes] > 1), np.flatnonzero(counts[codes] == 1)
    n_held_out = math.ceil(share * len(rows))
    if len(rows) > 0 and (counts > 1).sum() <= min(n_held_out, len(rows) - n_held_out):
        from sklearn.model_selection import train_test_split  # prediction does without scikit-learn

        learn, held_out = train_test_split(rows, test_size=share, stratify=codes[rows], random_state=seed)
    else:
        order = np.random.RandomState(seed).permutation(rows)
        one_of_each = np.unique(codes[order], return_index=True)[1]
        held_out = np.delete(order, one_of_each)[:n_held_out]
        learn = np.setdiff1d(rows, held_out)
    return np.concatenate([learn, single]), held_out


def hold_out_by_class(
    codes: NDArray[Any], share: float, rng: np.random.RandomState
) -> tuple[Rows, Rows] | tuple[None, None]:
    """Return what `EtherealClassifier` learns from and chooses its epoch by, both ascending.

    This is `hold_out` with other draws: one permutation per class from the generator of the classifier. Every
    published model depends on these draws. The result is (None, None) where no row can be held out.

    >>> learn, held_out = hold_out_by_class(np.repeat([0, 1], [10, 20]), 0.1, np.random.RandomState(0))
    >>> len(learn), len(held_out)
    (27, 3)
    """
    chosen = np.zeros(len(codes), dtype=bool)
    for c in np.unique(codes) if share > 0 else ():
        rows = rng.permutation(np.flatnonzero(codes == c))
        chosen[rows[: min(round(share * len(rows)), len(rows) - 1)]] = True
    return (np.flatnonzero(~chosen), np.flatnonzero(chosen)) if chosen.any() else (None, None)


def folds(
    y: NDArray[Any], n_folds: int, share: float, seed: int, groups: NDArray[Any] | None = None
) -> tuple[Rows, ...]:
    """Return the rows that each fold validates on: a share of every class, or equal parts of it.

    One fold validates on the share, several folds on equal parts. With groups these are about so many rows,
    all rows of a group or none. Row numbers are ascending.

    >>> [len(rows) for rows in folds(np.repeat([0, 1], 50), 1, 0.2, 0)]
    [20]
    >>> [len(rows) for rows in folds(np.repeat([0, 1], 50), 4, 0.2, 0)]
    [25, 25, 25, 25]
    >>> folds(np.array([0, 1] * 4), 2, 0.2, 0, np.array([1, 1, 2, 2, 3, 3, 4, 4]))
    (array([2, 3, 4, 5]), array([0, 1, 6, 7]))
    """
    from sklearn.model_selection import StratifiedKFold

    labels, counts = np.unique(y, return_counts=True)
    least = max(2, n_folds)
    if len(labels) < 2:
        raise ValueError(f"y has one class only, {labels.tolist()}. Tuning needs at least two.")
    if counts.min() < least:
        raise ValueError(
            f"label {labels.tolist()[counts.argmin()]!r} has {counts.min()} training rows. "
            f"Every class needs {least} or more to validate on (folds={n_folds})."
        )
    if groups is None:
        if n_folds == 1:
            return (np.sort(hold_out(y, share, seed)[1]),)
        return tuple(
            part for _, part in StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(y, y)
        )
    n_groups = len(np.unique(groups))
    if n_groups < least:
        raise ValueError(
            f"groups has {n_groups} different groups. "
            f"To validate on whole groups, {least} or more are needed (folds={n_folds})."
        )
    n_parts = n_folds if n_folds > 1 else min(n_groups, round(1 / share))
    parts = tuple(_parts_of_groups(y, groups, n_parts, seed))[:n_folds]
    for part in parts:
        lost = np.setdiff1d(y, np.delete(y, part))
        if len(lost):
            raise ValueError(
                f"all rows of label {lost.tolist()[0]!r} are in the groups that validate a fold. Give "
                f"groups in which every label is in {least} groups or more, or no groups."
            )
    return parts


def group_folds(y: NDArray[Any], groups: NDArray[Any] | None, n: int, seed: int) -> list[Rows]:
    """Return the rows of each of `n` folds, whole groups and classes spread as evenly as these allow.

    There are fewer folds when there are fewer groups, or fewer rows of every class, but always two. With less
    than two groups, rows are not related. Unlike in `folds`, a class may be in one fold alone.

    >>> [rows.tolist() for rows in group_folds(np.array([0, 1] * 3), np.array([5, 5, 6, 6, 7, 7]), 9, 0)]
    [[4, 5], [2, 3], [0, 1]]
    """
    group_of_row = np.arange(len(y)) if groups is None or len(np.unique(groups)) < 2 else groups
    n = min(n, len(np.unique(group_of_row)), int(np.unique(y, return_counts=True)[1].max()))
    if n < 2:
        return [np.arange(i, len(y), 2) for i in (0, 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # says that a class is in few rows
        return [rows for rows in _parts_of_groups(y, group_of_row, n, seed) if 0 < len(rows) < len(y)]


def deal_rows(y: NDArray[Any], most: int, seed: int, groups: NDArray[Any] | None = None) -> tuple[Rows, ...]:
    """Deal all rows into parts, each group into one of them. Row numbers are ascending.

    There is a part for each group, and at most `most`. Without groups the rows of each class are dealt.

    >>> deal_rows(np.array([0, 0, 1, 1]), 10, 0, np.array(["b", "b", "a", "c"]))
    (array([2]), array([0, 1]), array([3]))
    >>> [len(part) for part in deal_rows(np.repeat([0, 1], [25, 7]), 10, 0)]
    [4, 4, 3, 3, 3, 3, 3, 3, 3, 3]
    """
    if groups is not None and len(groups) != len(y):
        raise ValueError(f"groups has {len(groups)} entries for {len(y)} rows. Give one for each row.")
    rng = np.random.default_rng(seed)
    if groups is None:
        order = rng.permutation(len(y))
        order = order[np.argsort(np.unique(y[order], return_inverse=True)[1], kind="stable")]
        place = np.empty(len(y), dtype=np.intp)
        place[order] = np.arange(len(y)) % most
    else:
        every_group, codes = np.unique(groups, return_inverse=True)
        if len(every_group) < 2:
            raise ValueError(
                f"All rows are of the group {every_group.tolist()[0]!r}. To leave one out, give two or more."
            )
        n = min(most, len(every_group))
        place = (rng.permutation(len(every_group)) % n if len(every_group) > n else np.arange(n))[codes]
    parts = (np.flatnonzero(place == i) for i in range(place.max() + 1))
    return tuple(part for part in parts if len(part))


def group_split(
    y: ArrayLike, group: ArrayLike, *, test_fraction: float = 0.2, random_state: int | None = 0
) -> NDArray[np.bool_]:
    """Mark test rows so that no group is on both sides, with the classes spread as evenly as groups allow.

    The share of test rows is as near to `test_fraction` as whole groups come.

    >>> y, group = [0, 1] * 10, [i // 4 for i in range(20)]
    >>> test = group_split(y, group)
    >>> int(test.sum()), len({group[i] for i in range(20) if test[i]})
    (4, 1)
    """
    labels, groups = np.asarray(y), np.asarray(group)
    if labels.ndim != 1 or labels.shape != groups.shape:
        raise ValueError(
            f"y and group have the shapes {labels.shape} and {groups.shape}. Give one entry per row."
        )
    if not 0.0 < test_fraction <= 0.5:
        raise ValueError(f"test_fraction is {test_fraction}. It must be a number above 0 and up to 0.5.")
    n_parts, n_groups = round(1 / test_fraction), len(np.unique(groups))
    if n_groups < n_parts:
        raise ValueError(
            f"group has {n_groups} groups, which cannot give a test part of {test_fraction:g}. "
            f"Use test_fraction >= {1 / max(n_groups, 2):g} or more groups."
        )
    wanted = test_fraction * len(labels)
    parts = _parts_of_groups(labels, groups, n_parts, random_state)
    return np.isin(np.arange(len(labels)), min(parts, key=lambda rows: abs(len(rows) - wanted)))


def _parts_of_groups(y: NDArray[Any], groups: NDArray[Any], n: int, seed: int | None) -> list[Rows]:
    from sklearn.model_selection import StratifiedGroupKFold

    return [part for _, part in StratifiedGroupKFold(n, shuffle=True, random_state=seed).split(y, y, groups)]
