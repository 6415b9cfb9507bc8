"""Smaller models with the same class sums, without idle literals, equal clauses and unused kernels.

A value of a raw feature lies in one bin, or is missing. So a clause demands a set of states (bins, missing)
of each feature. Two clauses are the same function on reachable input exactly when these sets are the same for
every feature, because features are independent. Each set is written with the fewest literals, always the same
ones. Then equal clauses have equal literals and can be merged.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.features.feature_map import BIN, MISSING, THRESHOLD, FeatureMap, empty_bins, encodings_of
from ethereal.model.checks import Fitted
from ethereal.model.clauses import Clauses
from ethereal.model.needs import EVERY_ANSWER, FRAMED, PATCHES, Supports

if TYPE_CHECKING:
    from ethereal.features.front_end import Group
    from ethereal.model import Model

SUPPORTS = Supports("simplification", front_ends=FRAMED, outputs=EVERY_ANSWER, patches=PATCHES, early=True)


def first_of_equals(feature_map: FeatureMap) -> NDArray[Any]:
    """Return the position of every Boolean, for a threshold that of the first equal one of its feature."""
    thresholds, starts = feature_map.thresholds, feature_map.threshold_offsets
    is_new = np.append(True, thresholds[1:] != thresholds[:-1])[: len(thresholds)]
    is_new[starts[:-1][np.diff(starts) > 0]] = True
    first = np.maximum.accumulate(np.where(is_new, np.arange(len(thresholds)), 0))
    first_of_feature = starts[feature_map.feature]  # Boolean -> first threshold of its feature
    position: NDArray[Any] = feature_map.position.astype(np.int64)
    levels = feature_map.kind == THRESHOLD
    position[levels] = first[(first_of_feature + position)[levels]] - first_of_feature[levels]
    return position


def is_empty(feature_map: FeatureMap) -> NDArray[np.bool_]:
    """Return which Booleans are bins between equal thresholds."""
    result = np.zeros(feature_map.n_booleans, dtype=bool)
    for f in np.flatnonzero(feature_map.is_binned).tolist():
        empty = empty_bins(feature_map.thresholds_of(f))
        result[feature_map.boolean_offsets[f] : feature_map.boolean_offsets[f] + len(empty)] = empty
    return result


def shortest(clauses: Clauses, feature_map: FeatureMap) -> Clauses:
    """Return the clauses with the fewest literals each. Those that never fire have none.

    >>> feature_map = FeatureMap([1.0, 2.0], [0, 2], [False])
    >>> shortest(Clauses([0, 1], [0, 2], [[1]], n_booleans=2), feature_map)[0].literals  # > 1 AND > 2
    (1,)
    """
    demands = _Demands(clauses, feature_map)
    pairs = [(demands.clause[i], literal) for i, literal in demands.literals()]
    clause, literal = (np.concatenate(column) for column in zip(*pairs, strict=True))
    dead = np.zeros(len(clauses), dtype=bool)
    dead[demands.clause[demands.dead]] = True
    live = ~dead[clause]
    return clauses.having(clause[live], literal[live], clauses.n_booleans)


class _Demands:
    """All literals of one clause on one raw feature, as arrays with an entry for each such pair."""

    def __init__(self, clauses: Clauses, feature_map: FeatureMap) -> None:
        self.feature_map, self.n_booleans = feature_map, clauses.n_booleans
        boolean, negated = clauses.boolean, clauses.negated
        pairs = clauses.clause * feature_map.n_features + feature_map.feature[boolean]
        unique, self.of_literal = np.unique(pairs, return_inverse=True)  # literal -> demand
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
        no_bin, n_features = is_empty(feature_map), feature_map.n_features
        features, bins = feature_map.feature[no_bin], feature_map.position[no_bin]
        n_empty, sum_empty = (np.bincount(features, w, n_features).astype(np.int64) for w in (None, bins))
        self.sum_out += sum_empty[self.feature]
        self.n_left = self.top + 1 - n_empty[self.feature] - self.n_out  # for demands of negated bins only
        # A true bin may be denied, too. Only it is left in low..high, so compare with that.
        denied = self._any(self.outside & (position == self.low[self.of_literal])) & self.has_bin
        self.dead = (
            (self.absent & self.known)
            | (~self.absent & ((self.low > self.high) | denied))
            | ((self.n_left <= 0) & ~self.takes_missing)
            | self._any(empty & ~negated)
        )

    def literals(self) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """Return the fewest literals of every demand that can hold, as pairs of demand and literal."""
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


def without_other_groups(model: Model, feature_groups: Collection[Group]) -> Model:
    """Return the model without the literals of other groups of features than these.

    Clauses then fire on more rows, so the votes are no longer right. A clause without a literal never votes.
    """
    assert model.front_end is not None
    kept = np.array([group in feature_groups for group in model.front_end.groups])
    clauses = model.clauses
    stays = np.append(kept[model.front_end.group_of], True)[_channels(model)[clauses.boolean]]
    return model._with(
        clauses=clauses.having(clauses.clause[stays], clauses.literals[stays], clauses.n_booleans)
    )


def _channels(model: Model) -> NDArray[np.int64]:
    """Return the number of the feature of a row or cell of each Boolean of a clause, -1 for its place."""
    n_channels, feature = len(model.channel_names), model.clause_map.feature.astype(np.int64)
    if model.patch is None:
        return feature
    return np.where(np.arange(len(feature)) < model.patch.n_content, feature % n_channels, -1)


def drop_unused_kernels(model: Model) -> tuple[Model, NDArray[np.intp]]:
    """Return the model with those groups of features that a clause uses, and the columns that stay.

    Features of windows are never missing, so the smaller model does not take NaN.
    """
    if model.front_end is None or not (model.n_includes or model.normal is not None):
        return model, np.arange(model.n_features)
    feature_map, clauses, patch = model.feature_map, model.clauses, model.patch
    channels = _channels(model)
    used = channels[clauses.boolean]
    if model.normal is not None:
        used = np.append(used, model.normal.features)
    feature_groups = np.unique(model.front_end.group_of[used[used >= 0]])
    of_channel = np.isin(model.front_end.group_of, feature_groups)
    of_clause = np.flatnonzero(np.append(of_channel, True)[channels])
    is_kept = np.tile(of_channel, 1 if patch is None else patch.n_cells)
    kept = np.flatnonzero(is_kept)
    counts = np.diff(feature_map.threshold_offsets)
    encodings = encodings_of(feature_map.encoding, feature_map.n_features)
    columns = np.flatnonzero(is_kept[feature_map.feature])
    place = np.zeros(clauses.n_booleans, dtype=np.int64)
    place[of_clause] = np.arange(len(of_clause))
    literals = place[clauses.boolean] + len(of_clause) * clauses.negated
    typical, rates = model.typical_rows, model.boolean_rates
    if typical is not None:
        bits = np.unpackbits(typical, axis=1, count=feature_map.n_booleans, bitorder="little")[:, columns]
        typical = np.packbits(bits, axis=1, bitorder="little")
    names = tuple(model.channel_names[f] for f in np.flatnonzero(of_channel))
    smaller = None if patch is None else replace(patch, n_planes=len(columns) // patch.n_cells)
    smaller_map = feature_map.replace(
        thresholds=feature_map.thresholds[np.repeat(is_kept, counts)],
        threshold_offsets=np.concatenate([[0], np.cumsum(counts[kept])]),
        missing=feature_map.missing[kept],
        encoding=[encodings[f] for f in kept],
        missing_policy="raise",
        is_boolean=feature_map.is_boolean[kept],
    )
    return model._with(
        clauses=Clauses(literals, clauses.offsets, clauses.weights, len(of_clause), clauses.meaning, smaller),
        fitted=Fitted(smaller_map, names if patch is None else None),
        front_end=model.front_end.keep(feature_groups.tolist()),
        feature_names=names,
        boolean_rates=None if rates is None else rates[columns],
        typical_rows=typical,
        seen=None if model.seen is None else model.seen.take(kept),
        normal=None if model.normal is None else model.normal.take(kept),
        deployment=model.deployment,
    ), kept


# A pass takes clauses and what their Booleans say, and returns clauses with the same class sums on reachable
# input. A new pass is an entry here and a property test. Merging needs what `shortest` writes.
PASSES = (shortest, lambda clauses, _: clauses.merged())


def simplify(model: Model) -> Model:
    """Drop, shorten and merge clauses without changing a class sum, see `Model.simplify`."""
    SUPPORTS.check(model.needs)
    if model.early or model.output.kind == "normal":  # its clauses stay in their order
        return model
    clauses = model.clauses
    for one in PASSES:
        clauses = one(clauses, model.clause_map)
    return model._with(clauses=clauses, deployment=model.deployment)  # exports simplify it anyway
