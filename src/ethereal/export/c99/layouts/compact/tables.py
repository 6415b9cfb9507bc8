"""Tables of the layout "compact": the compact code of the model's clauses over the Booleans in use."""

from __future__ import annotations

import numpy as np

from ethereal.export.c99.device_rows import Slots
from ethereal.model import Model
from ethereal.model.codes import compact


def compact_stream(slots: Slots) -> compact.Payload:
    """Clauses of `slots` in the compact code, see docs/codes.md."""
    clauses = slots.clauses
    weights = np.zeros((len(clauses), slots.model.n_classes), dtype=np.int32)
    for j, clause in enumerate(clauses):
        for vote in clause.votes:
            weights[j, vote.class_] = vote.weight
    literals = np.array([x for clause in clauses for x in clause.literals], dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(clause.literals) for clause in clauses])]).astype(np.int64)
    classes = np.arange(slots.model.n_classes)
    return compact.payload(Model(literals, offsets, weights, n_booleans=slots.n_booleans, classes=classes))
