"""A model of windows without some of its kernels."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ethereal.features.feature_map import FeatureMap, encodings_of
from ethereal.model.checks import Fitted
from ethereal.model.clauses import Clauses

if TYPE_CHECKING:
    from ethereal.features.front_end import Group
    from ethereal.model import Model


def without_other_groups(model: Model, groups: Collection[Group]) -> Model:
    """Return the model without the literals of other groups of features than these.

    Clauses then fire on more rows, so the votes are no longer right. A clause without a literal never votes.
    """
    assert model.front_end is not None
    kept = np.array([group in groups for group in model.front_end.groups])
    clauses = model.clauses
    stays = kept[model.front_end.group_of[model.feature_map.feature[clauses.boolean]]]
    return model._with(
        clauses=clauses.having(clauses.clause[stays], clauses.literals[stays], clauses.n_booleans)
    )


def narrow(model: Model) -> tuple[Model, NDArray[np.intp]]:
    """Return the model with those groups of features that a clause uses, and the columns that stay.

    Features of windows are never missing, so the narrow model does not take NaN.
    """
    everything = np.arange(model.n_features)
    if model.front_end is None or not model.n_includes:
        return model, everything
    own, clauses = model.feature_map, model.clauses
    groups = np.unique(model.front_end.group_of[own.feature[clauses.boolean]])
    kept = everything[np.isin(model.front_end.group_of, groups)]
    counts = np.diff(own.threshold_offsets)
    encodings = encodings_of(own.encoding, own.n_features)
    feature_map = FeatureMap(
        own.thresholds[np.isin(np.repeat(everything, counts), kept)],
        np.concatenate([[0], np.cumsum(counts[kept])]),
        own.missing[kept],
        [encodings[f] for f in kept],
        "raise",
        own.precision,
        own.is_boolean[kept],
    )
    columns = np.flatnonzero(np.isin(own.feature, kept))
    place = np.zeros(own.n_booleans, dtype=np.int64)
    place[columns] = np.arange(len(columns))
    literals = place[clauses.boolean] + len(columns) * clauses.negated
    typical, rates, names = model.typical_rows, model.boolean_rates, model.input_names
    if typical is not None:
        bits = np.unpackbits(typical, axis=1, count=own.n_booleans, bitorder="little")[:, columns]
        typical = np.packbits(bits, axis=1, bitorder="little")
    kept_names = tuple(names[f] for f in kept)
    return model._with(
        clauses=Clauses(literals, clauses.offsets, clauses.weights, len(columns), clauses.meaning),
        fitted=Fitted(feature_map, kept_names),
        front_end=model.front_end.keep(groups.tolist()),
        feature_names=kept_names,
        boolean_rates=None if rates is None else rates[columns],
        typical_rows=typical,
        seen=None if model.seen is None else model.seen.take(kept),
        deployment=model.deployment,
    ), kept
