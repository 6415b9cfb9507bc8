"""The data of a Model, checked, read-only and comparable. What a Model can do is in `model.py`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.features.feature_map import FeatureMap
from ethereal.features.front_end import FrontEnd
from ethereal.model import checks as checks
from ethereal.model.checks import Fitted
from ethereal.model.clauses import Clause, Clauses
from ethereal.model.deployment import Deployment
from ethereal.model.early import Check, checks_of
from ethereal.model.output import Classes, Output
from ethereal.model.seen import Seen

if TYPE_CHECKING:
    from ethereal.features.booleanizer import Booleanizer

DEFAULT_TEMPERATURE = 5.0  # of models that do not say theirs


class ModelData:
    """Clauses with their Booleanizer, labels and provenance. The parameters are those of `Model`."""

    clauses: Clauses
    output: Output
    fitted: Fitted | None  # thresholds and names of the Booleanizer
    front_end: FrontEnd | None  # makes the features of raw windows
    feature_names: tuple[str, ...] | None
    boolean_rates: NDArray[np.float32] | None
    typical_rows: NDArray[np.uint8] | None
    temperature: float
    provenance: Mapping[str, Any]
    seen: Seen | None  # ranges and rates of the training rows
    early: tuple[Check, ...]  # where a row may be answered without the clauses that follow
    deployment: Deployment | None  # bounds, chip and layout that it was pruned for

    def __init__(
        self,
        literals: ArrayLike,
        offsets: ArrayLike,
        weights: ArrayLike,
        *,
        n_booleans: int,
        classes: ArrayLike,
        booleanizer: Booleanizer | Fitted | None = None,
        front_end: FrontEnd | None = None,
        feature_names: Sequence[str] | None = None,
        boolean_rates: ArrayLike | None = None,
        typical_rows: ArrayLike | None = None,
        temperature: float = DEFAULT_TEMPERATURE,
        provenance: Mapping[str, Any] | None = None,
        early: Iterable[Iterable[int]] = (),
    ) -> None:
        if front_end is not None and feature_names is None:
            feature_names = front_end.names
        fitted = None if booleanizer is None else checks.fitted(booleanizer, feature_names)
        if fitted is not None:
            feature_names = fitted.names or feature_names
        vars(self).update(
            clauses=Clauses(literals, offsets, weights, n_booleans),
            output=Classes(checks.labels(classes)),
            fitted=fitted,
            front_end=front_end,
            feature_names=None if feature_names is None else checks.names(feature_names),
            boolean_rates=None if boolean_rates is None else checks.rates(boolean_rates),
            typical_rows=None if typical_rows is None else checks.bit_rows(typical_rows, n_booleans),
            temperature=checks.temperature(temperature),
            provenance=checks.provenance(provenance or {}),
            seen=None,
            early=(),
            deployment=None,
        )
        vars(self).update(early=checks_of(early, self.n_clauses))
        self._check_sizes()

    @property
    def classes(self) -> NDArray[Any]:
        """Labels in the order of the class axis."""
        return self.output.labels

    @property
    def literals(self) -> NDArray[np.int32]:
        """Literals of all clauses, one clause after the other."""
        return self.clauses.literals

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where the literals of each clause begin, and the end of the last."""
        return self.clauses.offsets

    @property
    def weights(self) -> NDArray[np.int32]:
        """Votes, clauses x classes."""
        return self.clauses.weights

    @property
    def n_booleans(self) -> int:
        """Number of Boolean features."""
        return self.clauses.n_booleans

    @property
    def n_clauses(self) -> int:
        """Clauses of all classes together, empty ones included."""
        return len(self.clauses)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def n_includes(self) -> int:
        """Included literals over all clauses."""
        return len(self.literals)

    @property
    def n_features(self) -> int:
        """Columns of the input, raw features or Booleans when there is no Booleanizer."""
        return self.n_booleans if self.fitted is None else self.fitted.feature_map.n_features

    @cached_property
    def booleanizer(self) -> Booleanizer | None:
        """Booleanizer that turns raw rows into Boolean rows. None when the input is Boolean already."""
        from ethereal.features.booleanizer import Booleanizer  # imports scikit-learn

        return None if self.fitted is None else Booleanizer.from_feature_map(*self.fitted)

    @cached_property
    def feature_map(self) -> FeatureMap:
        """What each Boolean says. Without a Booleanizer each is a feature of its own."""
        return FeatureMap.of_booleans(self.n_booleans) if self.fitted is None else self.fitted.feature_map

    @cached_property
    def input_names(self) -> tuple[str, ...]:
        """Names of the columns of the input, `feature_names` or x0, x1, ... when there are none."""
        return self.feature_names or tuple(f"x{f}" for f in range(self.n_features))

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """Names of the values 0, 1, ... of those features that are categories, by the feature's name.

        >>> ModelData([], [0], np.zeros((0, 1), int), n_booleans=2, classes=[0]).categories
        {}
        """
        return {self.input_names[f]: names for f, names in self.feature_map.categories.items()}

    @property
    def boolean_names(self) -> tuple[str, ...]:
        """Readable names of the Booleans, such as `age>54.5`, or the feature itself when it is Boolean.

        >>> ModelData([], [0], np.zeros((0, 1), int), n_booleans=2, classes=[0]).boolean_names
        ('x0', 'x1')
        """
        names = self.input_names
        return names if self.fitted is None else tuple(self.feature_map.boolean_names(names))

    def _check_sizes(self) -> None:
        self.clauses._check_shape(self.n_classes)
        if self.fitted is not None and self.feature_map.n_booleans != self.n_booleans:
            own = self.feature_map.n_booleans
            raise ValueError(f"booleanizer gives {own} Booleans but n_booleans is {self.n_booleans}")
        if self.feature_names is not None and len(self.feature_names) != self.n_features:
            raise ValueError(f"{len(self.feature_names)} feature_names for {self.n_features} features")
        if self.front_end is not None:
            checks.front_end(self.front_end, self.fitted)
        if self.seen is not None and len(self.seen.low) != self.n_features:
            raise ValueError(f"{len(self.seen.low)} ranges for {self.n_features} features")
        if self.boolean_rates is not None and len(self.boolean_rates) != self.n_booleans:
            raise ValueError(f"{len(self.boolean_rates)} boolean_rates for {self.n_booleans} Booleans")

    def __iter__(self) -> Iterator[Clause]:
        return iter(self.clauses)

    def __repr__(self) -> str:
        return (
            f"<Model: {self.n_classes} classes, {self.n_clauses} clauses, {self.n_includes} includes, "
            f"{self.n_booleans} Booleans>"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ModelData):
            return NotImplemented
        return (
            self.clauses == other.clauses
            and self.early == other.early
            and self.output == other.output
            and self.feature_names == other.feature_names
            and self.front_end == other.front_end
            and (self.fitted is None) == (other.fitted is None)
            and (self.fitted is None or self.feature_map == other.feature_map)
        )

    def __hash__(self) -> int:
        return hash(self.clauses)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"{name} cannot be set, because a Model is immutable. Use with_clauses() or a new Model."
        )
