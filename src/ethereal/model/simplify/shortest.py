"""The fewest literals for what a clause demands of each raw feature.

A value of a raw feature lies in one bin, or is missing. So a clause demands a set of states (bins, missing)
of each feature. Two clauses are the same function on reachable input exactly when these sets are the same for
every feature, because features are independent. Each set is written with the fewest literals, always the same
ones. Then equal clauses have equal literals and can be merged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.features.equal_thresholds import empty_bins_of, first_of_equals, is_empty
from ethereal.features.feature_map import BIN, MISSING, THRESHOLD, FeatureMap
from ethereal.model.clauses import Clauses


def shortest(clauses: Clauses, feature_map: FeatureMap) -> Clauses:
    """Return the clauses with the fewest literals each. Those that never fire have none.

    >>> feature_map = FeatureMap([1.0, 2.0], [0, 2], [False])
    >>> shortest(Clauses([0, 1], [0, 2], [[1]], n_booleans=2), feature_map)[0].literals  # > 1 AND > 2
    (1,)
    """
    groups = _Groups(clauses, feature_map)
    pairs = [(groups.clause[g], literal) for g, literal in groups.literals()]
    clause, literal = (np.concatenate(column) for column in zip(*pairs, strict=True))
    dead = np.zeros(len(clauses), dtype=bool)
    dead[groups.clause[groups.dead]] = True
    live = ~dead[clause]
    return clauses.having(clause[live], literal[live], clauses.n_booleans)


class _Groups:
    """What each group demands, as arrays. A group is all literals of one clause on one raw feature."""

    def __init__(self, clauses: Clauses, feature_map: FeatureMap) -> None:
        self.feature_map, self.n_booleans = feature_map, clauses.n_booleans
        boolean, negated = clauses.boolean, clauses.negated
        pairs = clauses.clause * feature_map.n_features + feature_map.feature[boolean]
        unique, self.of_literal = np.unique(pairs, return_inverse=True)  # literal -> group
        self.clause, self.feature = np.divmod(unique, max(feature_map.n_features, 1))
        self.boolean = boolean
        position, kind = first_of_equals(feature_map)[boolean], feature_map.kind[boolean]
        # A bin between equal thresholds is never true, so a clause need not say so beside anything else.
        empty = (kind == BIN) & is_empty(feature_map)[boolean]
        speaks = np.zeros(len(clauses), dtype=bool)
        speaks[clauses.clause[~(empty & negated)]] = True
        self.alone = empty & negated & ~speaks[clauses.clause]
        self.top = np.diff(feature_map.threshold_offsets)[self.feature]  # the highest bin
        self.is_binned = feature_map.is_binned[self.feature]

        above, below = (kind == THRESHOLD) & ~negated, (kind == THRESHOLD) & negated
        inside, self.outside = (kind == BIN) & ~negated, (kind == BIN) & negated & ~empty
        self.denies_missing = (kind == MISSING) & negated
        # Thresholds and true bins leave the bins low..high.
        self.low, self.high = np.zeros_like(self.top), self.top.copy()
        self._reduce(np.maximum, self.low, above, position + 1)
        self._reduce(np.minimum, self.high, below, position)
        self._reduce(np.maximum, self.low, inside, position)
        self._reduce(np.minimum, self.high, inside, position)
        # The bins that negated bins take away, as their number and the sum of their indices.
        self.n_out, self.sum_out = np.zeros_like(self.top), np.zeros_like(self.top)
        self._reduce(np.add, self.n_out, self.outside, np.ones_like(position))
        self._reduce(np.add, self.sum_out, self.outside, position)

        self.has_bin = self._any(inside)
        self.absent = self._any((kind == MISSING) & ~negated)  # must be missing
        self.known = self._any(above | inside | self.denies_missing)  # must not be missing
        self.takes_missing = feature_map.has_missing_state[self.feature] & ~self.known
        n_empty, sum_empty = empty_bins_of(feature_map)
        self.sum_out += sum_empty[self.feature]
        self.n_left = self.top + 1 - n_empty[self.feature] - self.n_out  # for groups of negated bins only
        # A true bin may be denied, too. Only it is left in low..high, so compare with that.
        denied = self._any(self.outside & (position == self.low[self.of_literal])) & self.has_bin
        self.dead = (
            (self.absent & self.known)
            | (~self.absent & ((self.low > self.high) | denied))
            | ((self.n_left <= 0) & ~self.takes_missing)
            | self._any(empty & ~negated)
        )

    def literals(self) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """Return the fewest literals of every group that can hold, as pairs of group and literal."""
        feature_map, n = self.feature_map, self.n_booleans
        first = feature_map.boolean_offsets[self.feature]
        missing = feature_map.boolean_offsets[self.feature + 1] - 1  # the Boolean, where the feature has one
        live = ~self.dead
        only_missing = live & (self.absent | ((self.n_left == 0) & feature_map.missing[self.feature]))
        valued = live & ~only_missing

        one_left = valued & self.is_binned & ~self.has_bin & (self.n_left == 1) & ~self.takes_missing
        remaining = self.top * (self.top + 1) // 2 - self.sum_out  # number of the one bin left
        true_bin = valued & self.is_binned & self.has_bin
        some_bins = valued & self.is_binned & ~true_bin & ~one_left  # its negated bins stay as they are
        interval = valued & ~self.is_binned
        above, below = interval & (self.low > 0), interval & (self.high < self.top)
        # "Not missing" is said by itself only where no true literal says it already.
        deny = self._any(self.denies_missing) & (some_bins | (interval & (self.low == 0)))
        kept = np.flatnonzero((self.outside & some_bins[self.of_literal]) | self.alone)
        return [
            (np.flatnonzero(only_missing), missing[only_missing]),
            (np.flatnonzero(one_left), (first + remaining)[one_left]),
            (np.flatnonzero(true_bin), (first + self.low)[true_bin]),
            (np.flatnonzero(above), (first + self.low - 1)[above]),
            (np.flatnonzero(below), n + (first + self.high)[below]),
            (np.flatnonzero(deny), n + missing[deny]),
            (self.of_literal[kept], n + self.boolean[kept]),
        ]

    def _reduce(self, ufunc: np.ufunc, result: NDArray[Any], mask: NDArray[np.bool_], values: Any) -> None:
        ufunc.at(result, self.of_literal[mask], values[mask])

    def _any(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        result = np.zeros(len(self.clause), dtype=bool)
        result[self.of_literal[mask]] = True
        return result
