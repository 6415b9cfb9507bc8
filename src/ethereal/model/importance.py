"""How much each raw feature decides, and which rules speak most, on typical rows.

Counting literals would give a rule that never fires as much weight as one that always does. Therefore a
feature counts by the votes that move when it takes the value of another typical row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ethereal.model.needs import ANSWERS, WINDOWS, Supports

if TYPE_CHECKING:
    from ethereal.model import Model

SUPPORTS = Supports("feature importances", front_ends=WINDOWS, outputs=ANSWERS)
_BLOCK_BYTES = 1 << 24  # of rows x literals at a time


def feature_importances(model: Model) -> NDArray[np.float64]:
    """Return the share of each raw feature in the votes that can move, see `Model.feature_importances`."""
    SUPPORTS.check(model.needs)
    clauses, n_features = model.clauses, model.n_features
    moved = np.zeros(n_features)
    if not len(clauses.literals):
        return moved
    pair_of_literal = clauses.clause * n_features + model.feature_map.feature[clauses.boolean]
    order = np.argsort(pair_of_literal, kind="stable")
    pairs, starts = np.unique(pair_of_literal[order], return_index=True)  # (clause, feature), ascending
    clause, feature = np.divmod(pairs, n_features)
    votes = clauses.weights.astype(np.float64)
    # Votes that every class gets alike decide nothing.
    decisive = np.ptp(votes, axis=1) if model.n_classes > 1 else np.abs(votes[:, 0])
    flips = np.ones(len(pairs)) if model.typical_rows is None else _flips(model, order, starts, clause)
    np.add.at(moved, feature, flips * decisive[clause])
    total = moved.sum()
    return moved / total if total > 0 else moved


def _flips(
    model: Model, order: NDArray[np.intp], starts: NDArray[np.intp], clause: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return how often a clause changes its vote when one of its features takes a value of another row.

    There is one number per pair of clause and feature. `starts` are the pairs' places in `order`.
    """
    assert model.typical_rows is not None
    clauses, n_rows = model.clauses, len(model.typical_rows)
    boolean, negated = clauses.boolean[order], clauses.negated[order]
    first = np.flatnonzero(np.diff(clause, prepend=-1))  # pair that begins each clause that has one
    of_pair = np.cumsum(np.diff(clause, prepend=-1) != 0) - 1
    held, alone_true, alone_false = np.zeros((3, len(starts)))
    step = max(1, _BLOCK_BYTES // len(order))
    for start in range(0, n_rows, step):
        rows = np.unpackbits(model.typical_rows[start : start + step], axis=1, bitorder="little")
        holds = np.logical_and.reduceat(rows[:, boolean] != negated, starts, axis=1)  # rows x pairs
        broken = np.add.reduceat(~holds, first, axis=1, dtype=np.int32)[:, of_pair]
        held += holds.sum(axis=0)
        alone_true += (broken == 0).sum(axis=0)  # the clause fires
        alone_false += ((broken == 1) & ~holds).sum(axis=0)  # this feature alone keeps it from firing
    share = held / max(n_rows, 1)
    return (alone_true * (1 - share) + alone_false * share) / max(n_rows, 1)


def firing_rates(model: Model) -> NDArray[np.float64]:
    """Return the share of typical rows on which each clause fires, 1 for all when there are no such rows."""
    if model.typical_rows is None or not len(model.typical_rows):
        return np.ones(model.n_clauses)
    return np.asarray(model.clause_outputs(model.typical_rows, packed=True).mean(axis=0))
