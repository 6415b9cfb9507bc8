"""Labelled rows in memory, from a data set, a file, an archive or a protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

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
    y: NDArray[Any]  # rows
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

    def of_features(self) -> Self:
        """Return rows of features, made of the windows where there are windows."""
        return self if self.front_end is None else replace(self, X=self.front_end.transform(self.X))

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

    def drawn(self, learn: NDArray[np.intp], test: NDArray[np.intp], how: str) -> Self:
        """Return these training rows followed by these test rows, both in the order given."""
        order = np.concatenate([learn, test])
        return replace(
            self,
            X=self.X[order],
            y=self.y[order],
            groups=None if self.groups is None else self.groups[order],
            test=np.arange(len(order)) >= len(learn),
            how=how,
        )
