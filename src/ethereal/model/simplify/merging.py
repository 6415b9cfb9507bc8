"""One clause for all that have the same literals."""

from __future__ import annotations

from ethereal.features.feature_map import FeatureMap
from ethereal.model.clauses import Clauses


def merging(clauses: Clauses, feature_map: FeatureMap) -> Clauses:
    """Each clause once, with the votes of all its copies; those without a literal or a vote are gone."""
    return clauses.merged()
