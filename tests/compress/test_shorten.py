"""Shortening: fewer literals, the same outputs on the rows given."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethereal import Model, _native
from ethereal.compress import shorten
from random_models import random_clauses
from reference import clause_fires
from strategies import models
from thinned import examples


def greedy_cover(literals, rows):
    """Literals in the order of the rows that they are false on first; plain and slow."""
    n = rows.shape[1]
    false_on = {k: {i for i, row in enumerate(rows.tolist()) if not clause_fires([k], row)} for k in literals}
    left, kept = set.union(set(), *false_on.values()), []
    while left or (not kept and literals):
        best = max(literals, key=lambda k: (len(false_on[k] & left), -literals.index(k)))
        kept.append(best)
        left -= false_on[best]
        literals = [k for k in literals if k != best]
    assert all(k < 2 * n for k in kept)
    return sorted(kept)


@given(st.integers(0, 2**32 - 1))
def test_shorten_is_the_greedy_cover(seed):
    rng = np.random.default_rng(seed)
    literals, offsets, _ = random_clauses(rng, 6, n_clauses=8, shortest=1, longest=4, contradictions=True)
    rows = rng.random((rng.integers(1, 130), 6)) < rng.random(6)
    short, short_offsets = _native.shorten(rows, literals, offsets)
    for j in range(len(offsets) - 1):
        of_clause = literals[offsets[j] : offsets[j + 1]].tolist()
        assert short[short_offsets[j] : short_offsets[j + 1]].tolist() == greedy_cover(of_clause, rows)


@examples(50)
@given(models(), st.integers(0, 2**32 - 1))
def test_shorten_keeps_the_class_sums_of_its_rows(model, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(20, model.n_features)) * 3
    if model.booleanizer is None:
        rows = rows > 0
    smaller = shorten(model, rows)
    assert smaller.n_includes <= model.simplify().n_includes
    assert np.array_equal(smaller.class_sums(rows), model.class_sums(rows))


def test_shorten_needs_rows():
    model = Model([0], [0, 1], [[1]], n_booleans=1, classes=["x"])
    with pytest.raises(ValueError, match="X has no rows"):
        shorten(model, np.zeros((0, 1), bool))
