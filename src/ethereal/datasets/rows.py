"""Labelled rows in memory, from a data set, a file, an archive or a protocol."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.messages import say
from ethereal.base.splits import group_split, hold_out, quantile_codes

if TYPE_CHECKING:
    from typing_extensions import Self

    from ethereal.features.window_features import WindowFeatures


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with a label each, and what else is known of them.

    >>> rows = Rows(np.eye(3), np.array(["a", "b", "a"]), test=np.array([False, True, False]))
    >>> rows.X_train.tolist(), rows.y_test.tolist()
    ([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], ['b'])
    >>> rows.drawn(np.array([2, 0]), np.array([1]), "drawn").X_train.tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """

    X: NDArray[Any]  # rows x features, or windows x samples x axes
    y: NDArray[Any]  # rows, or empty where no labels are known
    test: NDArray[np.bool_] | None = None  # rows, True for a test row, None if not known
    groups: NDArray[Any] | None = None  # rows, the person, recording or batch of a row
    feature_names: tuple[str, ...] | None = None
    class_names: tuple[str, ...] | None = None  # of the labels 0, 1, ..., None if y has names
    image_shape: tuple[int, int] | None = None  # features are the pixels of such an image
    categories: Mapping[int, Sequence[str]] = field(default_factory=dict)  # names of a feature's 0, 1, ...
    how: str = ""  # how test rows were chosen
    name: str = ""  # of the data set, or of the file without its ending
    front_end: WindowFeatures | None = None  # fitted, makes features of windows
    groups_are: str = "groups"  # what to call the groups
    places: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # of windows: recording, sample, seconds
    is_number: bool = False  # whether the labels are numbers, and not classes
    label: str = ""  # the column of the labels, where it has a name

    @property
    def X_train(self) -> NDArray[Any]:
        """Training rows, all where there are no test rows."""
        return self.X if self.test is None else self.X[~self.test]

    @property
    def y_train(self) -> NDArray[Any]:
        """Labels of the training rows."""
        return self.y if self.test is None else self.y[~self.test]

    @property
    def X_test(self) -> NDArray[Any]:
        """Test rows."""
        return self.X[:0] if self.test is None else self.X[self.test]

    @property
    def y_test(self) -> NDArray[Any]:
        """Labels of the test rows."""
        return self.y[:0] if self.test is None else self.y[self.test]

    @property
    def groups_train(self) -> NDArray[Any] | None:
        """Groups of the training rows, to validate on whole groups."""
        return self.groups if self.groups is None or self.test is None else self.groups[~self.test]

    @property
    def groups_test(self) -> NDArray[Any] | None:
        """Groups of the test rows."""
        return None if self.groups is None or self.test is None else self.groups[self.test]

    @property
    def strata(self) -> NDArray[Any]:
        """What a split spreads evenly: the classes, or bins of the numbers."""
        return quantile_codes(self.y) if self.is_number else self.y

    def drawn(self, learn: NDArray[np.intp], test: NDArray[np.intp], how: str) -> Self:
        """Return these training rows followed by these test rows, both in the order given."""
        order = np.concatenate([learn, test])
        groups = None if self.groups is None else self.groups[order]
        is_test = np.arange(len(order)) >= len(learn)
        return replace(self, X=self.X[order], y=self.y[order], groups=groups, test=is_test, how=how)


@contextmanager
def columns_named(names: Sequence[str] | None) -> Iterator[None]:
    """Name the columns instead of x0, x1 and so on in errors and warnings about features.

    Warnings that differ in their figures only, as those of several parts of the rows do, are shown once.
    """
    shown = set()

    def named(text: object) -> str:
        def column(match: re.Match[str]) -> str:
            f = int(match[1])
            return f"column {names[f]!r}" if names is not None and f < len(names) else match[0]

        return re.sub(r"\bfeature x(\d+)\b", column, str(text))

    def show_once(message: object, *rest: Any, **more: Any) -> None:
        text = named(message)
        alike = "".join(re.findall(r"'[^']*'|\bx\d+|\D", text))  # without figures, but with all names
        if alike not in shown:
            shown.add(alike)
            show(text, *rest, **more)

    show: Callable[..., None] = warnings.showwarning
    try:
        with warnings.catch_warnings():
            warnings.showwarning = show_once
            yield
    except ValueError as error:
        if names is None or named(error) == str(error):
            raise
        raise ValueError(named(error)) from error


def split(rows: Rows, test: float = 0.2, random_state: int = 0) -> Rows:
    """Mark test rows as the data says, else a stratified random share, of whole groups if there are any.

    The result keeps its groups only where test rows come from other groups than training rows.

    >>> rows = Rows(np.zeros((10, 1)), np.arange(10) % 2)
    >>> split(rows, 0.4).y_test.tolist(), split(rows, 0.4).how
    ([0, 1, 1, 0], '40% of the rows, stratified, seed 0')
    """
    if rows.test is not None:
        return _marked(rows, rows.test, "the data's own split")
    if not 0 <= test < 1:
        raise ValueError(f"test is {test}; it must be at least 0 and less than 1")
    if test == 0:
        return replace(rows, how="no test rows")
    if rows.groups is not None:
        _check_groups(rows, test)
        marks = group_split(rows.strata, rows.groups, test_fraction=test, random_state=random_state)
        if rows.front_end is not None:
            _check_learned(rows, marks)
        return _marked(rows, marks, f"other {rows.groups_are}, seed {random_state}")
    how = f"{test:.0%} of the rows, stratified, seed {random_state}"
    if rows.is_number:
        how = f"{test:.0%} of the rows, seed {random_state}"
    else:
        _check_rows(rows, test)
    return rows.drawn(*hold_out(rows.strata, test, random_state), how)


def _check_groups(rows: Rows, test: float) -> None:
    """Refuse so few groups that none could be kept for the test."""
    n_groups = len(np.unique(rows.groups))  # type: ignore[arg-type]
    if n_groups >= max(2, round(1 / test)):
        return
    is_column, what = rows.groups_are == "groups", f"there are {n_groups} {rows.groups_are}"
    if n_groups == 1 and is_column:
        raise ValueError("The column of group= has one value only. Name another, or leave it out")
    remedy = "Record each class several times"
    if n_groups > 1:
        remedy = f"Give test={min(0.5, 1 / n_groups):.2g}"
    what = f"group= has {n_groups} different values" if is_column else what
    raise ValueError(f"{what}, too few for test={test}. {remedy}.")


def _check_rows(rows: Rows, test: float) -> None:
    """Refuse so few rows that a part would lack a label. Labels with one row only are not tested."""
    labels, counts = np.unique(rows.y, return_counts=True)
    n_more, n_rows = int((counts > 1).sum()), int(counts[counts > 1].sum())
    n_test = math.ceil(test * n_rows)
    if n_rows == 0:
        why = "so that none can be kept for the test"
        raise ValueError(f"Every label has one row only, {why}. Add rows of each label")
    if min(n_test, n_rows - n_test) < n_more:
        enough = math.ceil(100 * n_more / n_rows) / 100 if n_test < n_more else 0.5  # at most a half
        raise ValueError(
            f"test={test} makes {n_test} of {n_rows} rows test rows, but there are {len(labels)} labels, and "
            f"both parts need a row of each. Give test={enough:g}, or add rows of each label"
        )
    if n_rows < len(rows.y):
        names = ", ".join(map(repr, labels[counts == 1].tolist()[:5]))
        say(f"note: labels with one row only are not tested: {names}", err=True)


def _check_learned(rows: Rows, test: NDArray[np.bool_]) -> None:
    """Refuse a split of recordings that leaves nothing of a class to learn from."""
    lost = np.setdiff1d(rows.y, rows.y[~test])
    if len(lost):
        kind = rows.groups_are
        n = len(np.unique(rows.groups[rows.y == lost[0]])) if rows.groups is not None else 0
        raise ValueError(
            f"label {lost.tolist()[0]!r} is in {n} of the {kind}. None is left to learn from, because "
            f"whole {kind} are kept for the test. Add {kind} of it, or give another random_state= or test=."
        )


def _marked(rows: Rows, test: NDArray[np.bool_], how: str) -> Rows:
    groups = rows.groups
    if groups is not None and np.isin(groups[test], groups[~test]).all():
        groups = None  # nothing says that other groups will come
    return replace(rows, test=test, groups=groups, how=how)
