"""The forest beside a run: it takes no longer than it may, and tells how far it is."""

import numpy as np
import pytest

from ethereal.datasets.rows import Rows
from ethereal.runs import forest


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    return Rows(X, (X[:, 0] > 0).astype(int), test=np.arange(200) >= 150)


@pytest.mark.parametrize(("at_least", "trees"), [(0.0, [5]), (60.0, [5, 10, 25])])
def test_trees_are_added_while_there_is_time(rows, monkeypatch, at_least, trees):
    """Fault N16."""
    monkeypatch.setattr(forest, "_AT_LEAST", at_least)
    shown = []
    grown = forest.grow(rows, 0, 0.0, shown.append)
    assert shown == trees
    assert grown.tuned == (trees[-1] == 25)  # which is chosen last
