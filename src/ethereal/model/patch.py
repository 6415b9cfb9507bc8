"""The part of a row that a clause looks at, when it may look anywhere.

A row is a grid of cells: the frames of a recording, or the pixels of an image. A cell has some Booleans, and
a Boolean of all cells is a plane. A clause is an AND over a patch, and it fires if the patch matches at any
position. A machine whose clauses look at whole rows has no patch. It is as if its rows had one cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.checks import check_integer
from ethereal.features.feature_map import FeatureMap, encodings_of
from ethereal.features.matrices import is_frame

MAX_CELLS = 2**24
MAX_BOOLEANS = 2**24  # of a patch
OVER = {1: "frames", 2: "images"}  # dimensions -> what such rows are called


@dataclass(frozen=True)
class Patch:
    """Shape of rows and of the patch that clauses are over.

    Boolean `b` of a row is Boolean `b % n_planes` of cell `b // n_planes`, and cells are counted along the
    last axis first. Boolean `b` of a clause is that of the same cell of the patch. Behind these stand the
    Booleans of the place, with `places`: for each axis, whether the position is above 0, above 1, and so on.

    Parameters
    ----------
    shape
        Cells of a row along each axis: (frames,) or (height, width).
    size
        Cells of the patch along each axis, at most as many.
    n_planes
        Booleans of a cell.
    places
        Whether clauses may ask where they are.

    Examples
    --------
    >>> patch = Patch(shape=(5,), size=(2,), n_planes=3)
    >>> patch.n_positions, patch.n_booleans, patch.n_row_booleans
    (4, 6, 15)
    >>> Patch((28, 28), (10, 10), 1, places=True).n_booleans
    136
    """

    shape: tuple[int, ...]
    size: tuple[int, ...]
    n_planes: int
    places: bool = False

    def __post_init__(self) -> None:
        """Check everything, because it may come from a file."""
        shape, size = (_lengths(name, getattr(self, name)) for name in ("shape", "size"))
        vars(self).update(shape=shape, size=size)
        if len(shape) != len(size):
            raise ValueError(
                f"patch has the size {size} and rows have the shape {shape}. Give a length for each axis."
            )
        if any(part > whole for part, whole in zip(size, shape, strict=True)):
            raise ValueError(
                f"patch has the size {size}, which is larger than a row of {shape}. Make it smaller."
            )
        n_planes = check_integer("n_planes", self.n_planes, 1, MAX_BOOLEANS)
        vars(self).update(n_planes=n_planes)
        if not isinstance(self.places, (bool, np.bool_)):
            raise TypeError(f"places is {self.places!r}. It must be True or False.")
        is_large = math.prod(shape) > MAX_CELLS or self.n_row_booleans > 2**28
        if is_large or self.n_booleans > MAX_BOOLEANS or self.n_cells * self.n_places > 2**30:
            raise ValueError(
                f"rows of {shape} cells and patches of {size} with {n_planes} Booleans each are too large. "
                "Use fewer thresholds, smaller rows, a smaller patch, or no places."
            )

    @property
    def over(self) -> str:
        """What rows are: "frames" or "images"."""
        return OVER[len(self.shape)]

    @property
    def n_cells(self) -> int:
        """Cells of a row."""
        return math.prod(self.shape)

    @property
    def n_row_booleans(self) -> int:
        """Booleans of a row."""
        return self.n_cells * self.n_planes

    @property
    def positions(self) -> tuple[int, ...]:
        """Positions along each axis."""
        return tuple(whole - part + 1 for whole, part in zip(self.shape, self.size, strict=True))

    @property
    def n_positions(self) -> int:
        """Positions of the patch in a row."""
        return math.prod(self.positions)

    @property
    def n_content(self) -> int:
        """Booleans of a clause that are about cells."""
        return math.prod(self.size) * self.n_planes

    @property
    def n_places(self) -> int:
        """Booleans of a clause that are about its place."""
        return sum(self.positions) - len(self.shape) if self.places else 0

    @property
    def n_booleans(self) -> int:
        """Booleans that a clause's literals are about."""
        return self.n_content + self.n_places

    def windows(self, booleans: NDArray[np.bool_]) -> Iterator[NDArray[np.bool_]]:
        """Yield what a clause sees of rows at each position, rows x Booleans of a clause.

        >>> patch = Patch((3,), (2,), 1, places=True)
        >>> [window.astype(int).tolist() for window in patch.windows(np.array([[True, False, True]]))]
        [[[1, 0, 0]], [[0, 1, 1]]]
        """
        n = len(booleans)
        cells = booleans.reshape(n, *self.shape, self.n_planes)
        for position in product(*map(range, self.positions)):
            part = tuple(slice(p, p + size) for p, size in zip(position, self.size, strict=True))
            content = cells[(slice(None), *part)].reshape(n, -1)
            place = [p > k for p, n_of in zip(position, self.positions, strict=True) for k in range(n_of - 1)]
            told = np.tile(np.array(place, dtype=bool), (n, 1))
            yield np.concatenate([content, told], axis=1) if self.places else content

    def native(self) -> tuple[int, int, int, int, int, bool]:
        """Return the numbers for the native engine and trainer, which know two axes."""
        shape, size = (1,) * (2 - len(self.shape)), (1,) * (2 - len(self.size))
        return (*shape, *self.shape, *size, *self.size, self.n_planes, bool(self.places))  # type: ignore

    def as_dict(self) -> dict[str, Any]:
        """Return its parts, for JSON."""
        parts = {"shape": list(self.shape), "size": list(self.size), "n_planes": self.n_planes}
        return {**parts, "places": bool(self.places)}


def _lengths(name: str, values: Any) -> tuple[int, ...]:
    """Return whole numbers from 1 on, one or two of them."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__") or len(values) not in OVER:
        raise ValueError(f"{name} is {values!r}. Give one whole number for frames, or two for images.")
    return tuple(check_integer(f"{name}[{i}]", value, 1, MAX_CELLS) for i, value in enumerate(values))


def tiled(feature_map: FeatureMap, n: int) -> FeatureMap:
    """Return the map of n cells in a row, each with the features of this map.

    >>> tiled(FeatureMap([1.5], [0, 1], [False]), 3)
    <FeatureMap: 3 features, 3 thresholds, 3 Booleans, thermometer>
    """
    counts = np.tile(np.diff(feature_map.threshold_offsets), n)
    return feature_map.replace(
        thresholds=np.tile(feature_map.thresholds, n),
        threshold_offsets=np.concatenate([[0], np.cumsum(counts)]),
        missing=np.tile(feature_map.missing, n),
        encoding=encodings_of(feature_map.encoding, feature_map.n_features) * n,
        is_boolean=np.tile(feature_map.is_boolean, n),
        categories={},
    )


def cell_map(patch: Patch, feature_map: FeatureMap) -> FeatureMap:
    """Return the map of one cell. All cells of the row's map must be alike."""
    n = feature_map.n_features // patch.n_cells
    encoding = encodings_of(feature_map.encoding, feature_map.n_features)
    end = feature_map.threshold_offsets[n]
    cell = feature_map.replace(
        thresholds=feature_map.thresholds[:end],
        threshold_offsets=feature_map.threshold_offsets[: n + 1],
        missing=feature_map.missing[:n],
        encoding=encoding[:n],
        is_boolean=feature_map.is_boolean[:n],
        categories={},
    )
    if n * patch.n_cells != feature_map.n_features or feature_map.categories:
        raise ValueError(
            f"the booleanizer has {feature_map.n_features} features, which are not as many numbers for each "
            f"of {patch.n_cells} cells, or some of them are categories"
        )
    if tiled(cell, patch.n_cells) != feature_map:
        raise ValueError("the booleanizer has other thresholds in some cells. A patch needs the same in all.")
    return cell


def clause_map(patch: Patch, feature_map: FeatureMap) -> FeatureMap:
    """Return what the Booleans of a clause say: about the cells of the patch, then about its place."""
    content = tiled(cell_map(patch, feature_map), math.prod(patch.size))
    if not patch.places:
        return content
    counts = [n - 1 for n in patch.positions]
    first = content.threshold_offsets[-1]
    none = np.zeros(len(counts), dtype=bool)
    return content.replace(
        thresholds=np.concatenate([content.thresholds, *(np.arange(n) + 0.5 for n in counts)]),
        threshold_offsets=np.concatenate([content.threshold_offsets, first + np.cumsum(counts)]),
        missing=np.concatenate([content.missing, none]),
        encoding=[*encodings_of(content.encoding, content.n_features), *["thermometer"] * len(counts)],
        is_boolean=np.concatenate([content.is_boolean, none]),
    )


def clause_names(patch: Patch, channels: Sequence[str]) -> tuple[str, ...]:
    """Return names of the features of `clause_map`. The place within the patch stands in brackets.

    >>> clause_names(Patch((5,), (2,), 1, places=True), ["loud", "high"])
    ('loud[0]', 'high[0]', 'loud[1]', 'high[1]', 'frame')
    """
    names = []
    for place in product(*map(range, patch.size)):
        names += [f"{name}[{', '.join(map(str, place))}]" for name in channels]
    places = ("frame",) if len(patch.shape) == 1 else ("row", "column")
    return (*names, *(places if patch.places else ()))


def flat_rows(patch: Patch, n_features: int, X: Any) -> Any:
    """Return rows of cells as rows of numbers, cell after cell. A matrix or a frame stays as it is."""
    if is_frame(X) or np.ndim(X) == 2:
        return X
    array, n_channels = np.asarray(X), n_features // patch.n_cells
    shape = patch.shape if array.ndim == len(patch.shape) + 1 else (*patch.shape, n_channels)
    if array.shape[1:] != shape or math.prod(shape) != n_features:
        wanted = " x ".join(map(str, (*patch.shape, n_channels)))
        raise ValueError(
            f"X has the shape {array.shape}. The model takes rows x {wanted}, as in training, or rows of "
            f"{n_features} numbers."
        )
    return array.reshape(len(array), n_features)
